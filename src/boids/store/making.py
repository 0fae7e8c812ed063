"""Make an empty store: complete beside its place, then moved there, so that nobody ever sees half of one."""

from __future__ import annotations

import os
import secrets
import sqlite3
import stat
from contextlib import closing, suppress

from boids.errors import StoreError
from boids.store.location import Location
from boids.store.reading import Root
from boids.store.tables import APPLICATION, SCHEMA, STORE, VERSION


def make(location: Location) -> None:
    """Make the store unless it is there by now; the caller sees to it that nobody else does the same."""
    if not location.is_blank():
        return
    for ending in ("-wal", "-journal"):
        stray = f"{location.path}{ending}"
        if os.path.exists(stray) and os.stat(stray).st_size:
            raise StoreError(
                f"The store {location.shown} cannot be made: beside it lies {os.path.basename(stray)!r}, the rest of a "
                "store that is gone; restore that one, or move the rest away."
            )
    draft = f"{location.path}.{secrets.token_hex(4)}.tmp"
    try:
        with location.speaking("written"):
            _build(draft)
        if os.path.exists(location.path):
            os.chmod(draft, stat.S_IMODE(os.stat(location.path).st_mode))
        _flush(draft)
        os.replace(draft, location.path)
        if os.name == "posix":  # the directory entry, too
            _flush(os.path.dirname(location.path))
    except OSError as error:
        raise StoreError(f"The store {location.shown} cannot be made: {error.strerror or error}.") from error
    finally:
        for ending in ("", "-journal", "-wal", "-shm"):
            with suppress(OSError):
                os.unlink(f"{draft}{ending}")


def check_folder(location: Location) -> None:
    """Check that a store could be made."""
    folder = os.path.dirname(location.path)
    if not os.path.isdir(folder):
        raise StoreError(f"The store {location.shown} cannot be made: there is no folder {folder!r}; make it first.")
    for path in (folder, location.path):
        if os.path.exists(path) and not os.access(path, os.W_OK):
            raise StoreError(f"The store {location.shown} cannot be made: {path!r} is read-only.")


def _build(path: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        for pragma in (
            "page_size = 4096",
            "auto_vacuum = NONE",
            "encoding = 'UTF-8'",
            f"application_id = {APPLICATION}",
            f"user_version = {VERSION}",
        ):
            db.execute(f"PRAGMA {pragma}")
        db.execute("BEGIN")
        for statement in SCHEMA.values():
            db.execute(statement)
        db.execute(STORE.put, STORE.seal(Root(0, 1, 0).cells()))
        db.execute("COMMIT")
        db.execute("PRAGMA journal_mode = WAL")


def _flush(path: str) -> None:
    descriptor = os.open(path, os.O_RDONLY if os.name == "posix" else os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
