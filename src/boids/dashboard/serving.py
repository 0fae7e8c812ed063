"""Listen at an address and serve the page until somebody ends it."""

from __future__ import annotations

import contextlib
import os
import secrets
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

from boids.dashboard.guard import checked_token, is_loopback
from boids.dashboard.library import Library
from boids.dashboard.places import Places
from boids.dashboard.server import application, needs_extra
from boids.errors import InputError

#: Where the page is to be found, unless somebody else listens there already.
PORT = 8765


@final
@dataclass(frozen=True)
class Listening:
    """A dashboard that listens, and will answer as soon as it is served.

    Attributes
    ----------
    url
        What to open in a browser, with the token.
    token
        What visitors must know, None if everybody on this machine may look.
    """

    url: str
    token: str | None
    _listener: socket.socket
    _server: Any

    def serve(self) -> None:
        """Answer requests until the process is told to end, or `end` is called."""
        try:
            with contextlib.suppress(KeyboardInterrupt):  # the way to end it
                self._server.run(sockets=[self._listener])
        finally:
            self._listener.close()

    def end(self) -> None:
        """Let `serve` return, in another thread."""
        self._server.should_exit = True


def listen(
    paths: Sequence[str | os.PathLike[str]],
    *,
    host: str = "127.0.0.1",
    port: int | None = None,
    token: str | None = None,
    optional: bool = False,
) -> Listening:
    """Find the runs, and take an address.

    Parameters
    ----------
    paths
        Stores, files of experiments' runs, and folders with them.
    host
        The address; any but this machine's own takes a token.
    port
        0 is any free one; None is the usual one, or any free one if that is taken.
    token
        What visitors must know; None makes one where one is needed.
    optional
        Whether the paths may be made later.
    """
    needs_extra()
    for path in paths:
        if not optional and not Path(path).exists():
            raise InputError(f"There is no file or folder {os.fspath(path)!r}; name a store, or a folder with runs.")
    if token is not None:
        token = checked_token(token)
    elif not is_loopback(host):
        token = secrets.token_urlsafe(24)
    listener = _listener(host, port)
    shown = f"[{host}]" if ":" in host else host
    query = "" if token is None else f"?token={token}"
    url = f"http://{shown}:{listener.getsockname()[1]}/{query}"
    return Listening(url, token, listener, _server(application(Library(Places(paths)), host, token)))


def _server(app: Any) -> Any:
    import uvicorn

    # Streams of events never end by themselves, so they are not waited for.
    config = uvicorn.Config(
        app, log_level="critical", access_log=False, lifespan="off", ws="none", timeout_graceful_shutdown=1
    )
    return uvicorn.Server(config)


def _listener(host: str, port: int | None) -> socket.socket:
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, PORT if port is None else port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        for number in (address[1], 0) if port is None else (address[1],):
            listener = socket.socket(family, kind, protocol)
            if os.name == "posix":
                listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                listener.bind((address[0], number, *address[2:]))
                listener.listen(128)
                return listener
            except OSError:
                listener.close()
                if number == 0 or port is not None:
                    raise
        raise OSError("no port is free")
    except (OSError, OverflowError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(
            f"The dashboard cannot listen at {host}, port {PORT if port is None else port}: {reason}; "
            "choose others with --host and --port."
        ) from error
