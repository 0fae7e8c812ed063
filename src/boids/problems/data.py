"""Files that problems need and the package may not ship: where to look for them, how to download and check them.

A file is looked for in the folder that the environment variable ``BOIDS_DATA`` names, then in the user's cache;
`fetch` downloads into the cache and keeps a file only if its SHA-256 is the expected one.
"""

from __future__ import annotations

import hashlib
import os
import platform
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import BinaryIO, TypeAlias, final

from boids.errors import ProblemError

#: Called with the bytes received so far and the bytes expected in all, None if the server does not say.
Progress: TypeAlias = Callable[[int, int | None], None]

BLOCK = 1 << 16
#: A server that sends more than this sends something else.
MAXIMUM_BYTES = 1 << 28
#: Seconds without a byte after which an address is given up.
PATIENCE = 30.0


@final
@dataclass(frozen=True, slots=True)
class Download:
    """A file with public addresses.

    Attributes
    ----------
    file
        Its name, there and here.
    sha256
        The checksum of its content, in hexadecimal digits.
    addresses
        Where to download it, tried in this order.
    system
        The operating system and the processor it runs on, as `this_system` says them; None for plain data.
    """

    file: str
    sha256: str
    addresses: tuple[str, ...]
    system: tuple[str, str] | None = None


def _mopta(file: str, sha256: str, system: tuple[str, str]) -> Download:
    # The second address is not encrypted; the checksum guards both.
    hosts = ("https://mopta.papenmeier.io", "http://mopta-executables.s3-website.eu-north-1.amazonaws.com")
    return Download(file, sha256, tuple(f"{host}/{file}" for host in hosts), system)


#: What `fetch` can download: for each problem one file per system.
DOWNLOADS: dict[str, tuple[Download, ...]] = {
    "mopta": (
        _mopta(
            "mopta08_elf64.bin",
            "2ad78a256980134c2a84debd4ff15a53534c812f48175577f9155cdd22d6ffb5",
            ("linux", "x86_64"),
        ),
        _mopta(
            "mopta08_amd64.exe",
            "dffab0f371747c55cb386c580e4980ce822db9d113d711359c7fb0856da39ecd",
            ("win32", "x86_64"),
        ),
        _mopta(
            "mopta08_macos_arm64.bin",
            "7499786d2514af2256fa18489e657e7cae84d1909dc0710e6ae240f31a50efac",
            ("darwin", "arm64"),
        ),
    ),
}


# Finding


def cache_folder() -> Path:
    """Return the folder for downloads, by the platform's convention; it need not exist."""
    given = os.environ.get("XDG_CACHE_HOME", "")
    if os.path.isabs(given):  # the XDG specification: relative paths are invalid and should be ignored
        return Path(given) / "boids"
    try:
        if sys.platform == "win32":
            return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "boids"
        return Path.home() / ("Library/Caches" if sys.platform == "darwin" else ".cache") / "boids"
    except RuntimeError:  # a container's user without a home
        raise ProblemError(
            "The user's cache folder should be below the home folder, but this user has none; "
            "set XDG_CACHE_HOME to a folder for caches."
        ) from None


def data_folder() -> Path | None:
    """Return the folder that ``BOIDS_DATA`` names, None if it is not set."""
    given = os.environ.get("BOIDS_DATA", "")
    return Path(os.path.expanduser(given)).absolute() if given else None


def find(file: str, sha256: str | None = None) -> Path | None:
    """Return where a file is, the data folder first, then the cache; None if it is in neither.

    Raises
    ------
    ProblemError
        If the file is there, but not with the content whose checksum is `sha256`.
    """
    sound, broken = _search(file, sha256)
    if sound is None and broken:
        raise ProblemError(
            f"{broken[0]} must have the SHA-256 {sha256}, but has {checksum(broken[0])}; delete it and fetch it again."
        )
    return sound


def places() -> str:
    """Say where `find` looks, for error messages."""
    folder = data_folder()
    state = "is not set" if folder is None else f"is {folder}" + ("" if folder.is_dir() else ", which is no folder")
    try:
        cache = str(cache_folder())
    except ProblemError:
        cache = "of which this user has none"
    return f"the folder that BOIDS_DATA names (it {state}) and the cache ({cache})"


def checksum(path: Path) -> str:
    """Return the SHA-256 of a file's content, in hexadecimal digits."""
    try:
        state = path.stat()
        return _checksum(path, state.st_size, state.st_mtime_ns)
    except OSError as error:
        raise ProblemError(
            f"{path} should be readable, but {error.strerror or error}; check its permissions."
        ) from None


# Downloading


def this_system() -> tuple[str, str]:
    """Return the operating system as `sys.platform` says it, and the processor: "x86_64", "arm64" …"""
    machine = platform.machine().lower()
    return sys.platform, {"amd64": "x86_64", "x64": "x86_64", "aarch64": "arm64"}.get(machine, machine)


def download_for(name: str) -> Download | None:
    """Return what `fetch` would download for problem `name` on this system, None if nothing runs on it."""
    if name not in DOWNLOADS:
        raise ProblemError(f"There is nothing to fetch for {name!r}; what can be fetched is {', '.join(DOWNLOADS)}.")
    return next((each for each in DOWNLOADS[name] if each.system in (None, this_system())), None)


def fetch(name: str, *, progress: Progress | None = None) -> Path:
    """Download what problem `name` needs into the cache, unless it is there already, and return its path.

    Parameters
    ----------
    name
        One of `DOWNLOADS`.
    progress
        Called after every block.

    Raises
    ------
    ProblemError
        If there is nothing for this system, no address can be reached, or none sends the expected content. An
        older file is then left as it was.
    """
    download = download_for(name)
    if download is None:
        known = ", ".join(each.file for each in DOWNLOADS[name])
        raise ProblemError(
            f"Problem {name!r} can be fetched as {known}, but none of them runs on this system, "
            f"{' '.join(this_system())}; fetch it on another one."
        )
    present, _ = _search(download.file, download.sha256)
    if present is not None:
        return present
    target = cache_folder() / download.file
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        # In the same folder, so that the last step is a rename: a file with the right name is always complete.
        handle, partial = tempfile.mkstemp(dir=target.parent, prefix=f".{download.file}.")
    except OSError as error:
        raise ProblemError(
            f"The cache {target.parent} should be a writable folder, but {error.strerror or error}; "
            "set XDG_CACHE_HOME to another folder for caches."
        ) from None
    try:
        with open(handle, "wb") as stream:
            _receive(download, stream, progress)
        os.chmod(partial, 0o644 if download.system is None else 0o755)
        os.replace(partial, target)
    finally:
        Path(partial).unlink(missing_ok=True)
    return target


def _receive(download: Download, stream: BinaryIO, progress: Progress | None) -> None:
    """Write the content from the first address that sends the right one."""
    from http.client import HTTPException

    reasons = []
    for address in download.addresses:
        stream.seek(0)
        stream.truncate()
        try:
            found = _copy(address, stream, progress)
        except (OSError, HTTPException) as error:  # no connection, an HTTP error, a time-out, a full disk …
            reasons.append(f"{address}: {error or type(error).__name__}")
            continue
        if found == download.sha256:
            return
        reasons.append(f"{address}: sent {stream.tell()} bytes with the SHA-256 {found}")
    raise ProblemError(
        f"{download.file} with the SHA-256 {download.sha256} could not be downloaded ({'; '.join(reasons)}); "
        f"try again with a connection, or download it elsewhere and put it into {cache_folder()}."
    )


def _copy(address: str, stream: BinaryIO, progress: Progress | None) -> str:
    """Copy what an address sends, and return its SHA-256."""
    from urllib.request import urlopen  # takes longer to import than everything else here

    digest, received = hashlib.sha256(), 0
    # S310 warns of schemes like file:, which the addresses of DOWNLOADS do not have.
    with urlopen(address, timeout=PATIENCE) as response:  # noqa: S310
        length = response.headers.get("Content-Length") or ""
        expected = int(length) if length.isdecimal() else None
        while received <= MAXIMUM_BYTES and (block := response.read(BLOCK)):
            stream.write(block)
            digest.update(block)
            received += len(block)
            if progress is not None:
                progress(received, expected)
    return digest.hexdigest()


def _search(file: str, sha256: str | None) -> tuple[Path | None, list[Path]]:
    """Return the first sound copy of a file, and the copies before it that have another content."""
    broken: list[Path] = []
    for folder in _folders():
        path = folder / file
        if path.is_file():
            if sha256 is None or checksum(path) == sha256:
                return path, broken
            broken.append(path)
    return None, broken


def _folders() -> list[Path]:
    given = data_folder()
    try:
        cache = [cache_folder()]
    except ProblemError:  # no home: the data folder alone will do
        cache = []
    return cache if given is None else [given, *cache]


@lru_cache(maxsize=32)
def _checksum(path: Path, size: int, modified: int) -> str:
    """Hash a file once per process; size and time of change are there to notice that it has been replaced."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
