"""Who carries out which run: a lock for each run, in a file beside the store that is never removed.

The locks are POSIX record locks, which the system releases when the process ends, however it ends, and which a forked
child does not inherit. They have one trap: closing any descriptor of a file drops all locks that the process has on
it. So a process opens the file once, however many runs it carries out, and closes it after the last of them.

Run k has the lock on byte LOCKS + k, far behind the end of the file, and for people a note of who holds it in the
256 bytes from 256·k; the note may be stale, the lock decides. Lock 0 is for making the store.
"""

from __future__ import annotations

import errno
import json
import os
import socket
import struct
import sys
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, final

LOCKS = 1 << 40
_NOTE = 256
#: A look at a lock by somebody else lasts microseconds; only who finds it taken for longer gives up.
_PATIENCE = 0.1
_PAUSE = 0.005


class TakenError(Exception):
    """Somebody else has the lock; the argument is the note that they left."""


@dataclass
class _LockFile:
    descriptor: int
    held: set[int] = field(default_factory=set)


_files: dict[tuple[int, int], _LockFile] = {}  # by device and inode
_guard = threading.Lock()


def _forget() -> None:
    """Begin anew in a forked child, which has none of its parent's locks."""
    global _guard
    _guard = threading.Lock()
    _files.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


@final
class RunLock:
    """A lock that this process holds."""

    def __init__(self, key: tuple[int, int], place: int) -> None:
        self._key, self._place, self._pid = key, place, os.getpid()

    def release(self) -> None:
        """Let go of the lock, once; does nothing in a forked child."""
        with _guard:
            file = _files.get(self._key)
            if os.getpid() != self._pid or file is None or self._place not in file.held:
                return
            file.held.remove(self._place)
            _unlock(file.descriptor, self._place)
            if not file.held:
                del _files[self._key]
                os.close(file.descriptor)


def take(path: str, place: int, patience: float = _PATIENCE) -> RunLock:
    """Return the lock at a place, or raise a `TakenError`; an `OSError` if the file cannot be used."""
    limit = time.monotonic() + patience
    while True:
        with _guard:
            key, file = _open(path)
            try:
                if place not in file.held and lock(file.descriptor, place):
                    file.held.add(place)
                    _write_note(file.descriptor, place)
                    return RunLock(key, place)
                note = _read_note(file.descriptor, place)
            finally:
                if not file.held:
                    del _files[key]
                    os.close(file.descriptor)
        if time.monotonic() >= limit:
            raise TakenError(note)
        time.sleep(_PAUSE)


def is_taken(path: str, place: int) -> bool:
    """Whether somebody has the lock, be it this process."""
    with _guard:
        try:
            found = os.stat(path)
            file = _files.get((found.st_dev, found.st_ino))
            if file is not None:
                if place in file.held:
                    return True
                return not _probe(file.descriptor, place)
            descriptor = os.open(path, _flags(os.O_RDONLY))
        except OSError:
            return False  # no file, no lock
        try:
            return not _probe(descriptor, place)
        except OSError:
            return False
        finally:
            os.close(descriptor)


def describe(note: Mapping[str, Any]) -> str:
    """Return who left a note: "process 12 on host since 2026-01-01 12:00:00"."""
    try:
        since = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(note["since"]))
        where = "this process" if is_mine(note) else f"process {int(note['pid'])} on {str(note['host'])!r}"
        return f"{where} since {since}"
    except (KeyError, TypeError, ValueError, OverflowError, OSError):
        return "another process"


def is_mine(note: Mapping[str, Any]) -> bool:
    """Whether this process left a note."""
    return bool(note.get("pid") == os.getpid() and note.get("host") == socket.gethostname())


def _open(path: str) -> tuple[tuple[int, int], _LockFile]:
    """Return the one lock file of this process at a path."""
    try:
        found = os.stat(path)
        key = found.st_dev, found.st_ino
        if key in _files:
            return key, _files[key]
    except FileNotFoundError:
        pass
    descriptor = os.open(path, _flags(os.O_RDWR | os.O_CREAT), 0o666)
    found = os.fstat(descriptor)
    key = found.st_dev, found.st_ino
    if key in _files:  # made by another thread's open just now; a second descriptor must stay open
        return key, _files[key]
    return key, _files.setdefault(key, _LockFile(descriptor))


def _flags(flags: int) -> int:
    return flags | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)


def _write_note(descriptor: int, place: int) -> None:
    note = json.dumps({"pid": os.getpid(), "host": socket.gethostname()[:100], "since": time.time()})
    _at(descriptor, place, note.encode().ljust(_NOTE))


def _read_note(descriptor: int, place: int) -> dict[str, Any]:
    try:
        note = json.loads(_at(descriptor, place, None))
    except ValueError:
        return {}
    return note if isinstance(note, dict) else {}


def _at(descriptor: int, place: int, data: bytes | None) -> bytes:
    """Read or write the note of a place; where that fails, the lock still holds."""
    try:
        os.lseek(descriptor, place * _NOTE, os.SEEK_SET)
        if data is None:
            return os.read(descriptor, _NOTE)
        os.write(descriptor, data)
    except OSError:  # the disk is full
        pass
    return b""


if sys.platform == "win32":  # not tried: there was no such machine at hand
    import msvcrt

    def lock(descriptor: int, place: int) -> bool:
        """Take the lock at a place of an open file, and return whether that was possible."""
        os.lseek(descriptor, LOCKS + place, os.SEEK_SET)
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError as error:
            if error.errno in (errno.EACCES, errno.EAGAIN, errno.EDEADLK):
                return False
            raise
        return True

    def _unlock(descriptor: int, place: int) -> None:
        os.lseek(descriptor, LOCKS + place, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)

    def _probe(descriptor: int, place: int) -> bool:
        free = lock(descriptor, place)
        if free:
            _unlock(descriptor, place)
        return free

else:
    import fcntl

    def lock(descriptor: int, place: int, kind: int = fcntl.LOCK_EX) -> bool:
        """Take the lock at a place of an open file, and return whether that was possible."""
        try:
            fcntl.lockf(descriptor, kind | fcntl.LOCK_NB, 1, LOCKS + place)
        except OSError as error:
            if error.errno in (errno.EACCES, errno.EAGAIN):
                return False
            raise
        return True

    def _unlock(descriptor: int, place: int) -> None:
        fcntl.lockf(descriptor, fcntl.LOCK_UN, 1, LOCKS + place)

    # The fields of C's `struct flock`: where, how many bytes, and the type, which becomes F_UNLCK if nobody has a lock.
    _FIELDS = {"linux": ("hhqqi4x", 0), "darwin": ("qqihh", 3)}.get(sys.platform if sys.maxsize > 1 << 32 else "")

    def _probe(descriptor: int, place: int) -> bool:
        """Return whether a lock is free; looking at it does not get in the way of anybody."""
        if _FIELDS is not None:
            form, kind = _FIELDS
            question = [fcntl.F_WRLCK, os.SEEK_SET, LOCKS + place, 1, 0]
            if kind:
                question = [LOCKS + place, 1, 0, fcntl.F_WRLCK, os.SEEK_SET]
            answer = fcntl.fcntl(descriptor, fcntl.F_GETLK, struct.pack(form, *question))
            return bool(struct.unpack(form, answer)[kind] == fcntl.F_UNLCK)
        free = lock(descriptor, place, fcntl.LOCK_SH)
        if free:
            _unlock(descriptor, place)
        return free
