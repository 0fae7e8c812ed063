"""Who may look: a request must be made to our own address, and from other machines it takes a token.

A page of somebody else's can send requests to 127.0.0.1 under a name of its own (DNS rebinding). Such a request carries
that name in its header ``Host``; addresses in digits cannot be forged so.
"""

from __future__ import annotations

import hmac
import ipaddress
import re
import socket
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from typing import Any, final
from urllib.parse import parse_qs

from boids.errors import InputError, shown

COOKIE = "boids_token"
#: Of a token that the user chooses.
_FEWEST_CHARACTERS = 8
_TOKEN = re.compile(r"[A-Za-z0-9._~-]+")

HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}


def is_loopback(host: str) -> bool:
    """Whether an address belongs to this machine alone."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def checked_token(token: str) -> str:
    """Return a token that is long enough and can stand in an address."""
    if len(token) < _FEWEST_CHARACTERS or not _TOKEN.fullmatch(token):
        raise InputError(
            f"--token must have at least {_FEWEST_CHARACTERS} letters, digits or . _ ~ -, got {shown(token)}; "
            "without --token one is made."
        )
    return token


@final
@dataclass(frozen=True)
class Guard:
    """Lets requests pass to the application, or answers them itself.

    Attributes
    ----------
    app
        The application (ASGI).
    host
        The address at which it listens.
    token
        What a visitor must know; None if everybody on this machine may look.
    """

    app: Any
    host: str
    token: str | None

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        """Handle a request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        if not self.knows(headers.get("host", "")):
            await _answer(send, 421, "This page is not served under that name; open the address that was printed.")
        elif scope["method"] not in ("GET", "HEAD"):
            await _answer(send, 405, "This page can only be read.")
        elif self.token is None or self._is_told(headers):
            await self.app(scope, receive, _with_headers(send))
        elif self._matches(_last(parse_qs(scope["query_string"].decode("latin-1")).get("token"))):
            # The token moves from the address, which is seen and kept, into a cookie.
            cookie = f"{COOKIE}={self.token}; Path=/; HttpOnly; SameSite=Strict"
            await _answer(send, 303, "", {"location": str(scope["path"]), "set-cookie": cookie})
        else:
            await _answer(send, 403, "A token is needed; open the address that `boids dashboard` has printed.")

    def knows(self, host_header: str) -> bool:
        """Whether a header ``Host`` names this server."""
        name = _without_port(host_header).lower().rstrip(".")
        if is_loopback(self.host):
            return is_loopback(name)
        try:
            ipaddress.ip_address(name)
        except ValueError:
            own = {self.host, "localhost", socket.gethostname(), socket.getfqdn()}
            return name in {each.lower() for each in own}
        return True

    def _is_told(self, headers: dict[str, str]) -> bool:
        scheme, _, told = headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer" and self._matches(told.strip()):
            return True
        try:
            cookie = SimpleCookie(headers.get("cookie", "")).get(COOKIE)
        except CookieError:
            return False
        return cookie is not None and self._matches(cookie.value)

    def _matches(self, told: str) -> bool:
        return self.token is not None and hmac.compare_digest(told.encode(), self.token.encode())


def _without_port(host_header: str) -> str:
    if host_header.startswith("["):
        return host_header[1:].partition("]")[0]
    return host_header.partition(":")[0]


def _last(values: list[str] | None) -> str:
    return values[-1] if values else ""


def _with_headers(send: Any) -> Any:
    async def sent(message: dict[str, Any]) -> None:
        if message["type"] == "http.response.start":
            present = {name for name, _ in message["headers"]}
            more = [(name.encode(), value.encode()) for name, value in HEADERS.items() if name.encode() not in present]
            message = {**message, "headers": [*message["headers"], *more]}
        await send(message)

    return sent


async def _answer(send: Any, status: int, text: str, headers: dict[str, str] | None = None) -> None:
    pairs = {"content-type": "text/plain; charset=utf-8", **HEADERS, **(headers or {})}
    listed = [(name.encode(), value.encode("latin-1")) for name, value in pairs.items()]
    await send({"type": "http.response.start", "status": status, "headers": listed})
    await send({"type": "http.response.body", "body": f"{text}\n".encode()})
