"""Where a store is: what lies at a path, connections to it, and one clear sentence for whatever goes wrong.

A store that nobody writes to has no file ``PATH-wal`` beside it. It is read as it lies there, without locks and
without leaving files behind, also in a folder that cannot be written to; if it turns out to have changed meanwhile,
the answer is thrown away. In all other cases SQLite's own locks give the view of one moment. Python itself never opens
the file: closing it again would drop the locks that SQLite holds for this process.
"""

from __future__ import annotations

import os
import sqlite3
import stat
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TypeVar, final

from boids.errors import StoreError
from boids.store.tables import APPLICATION, SCHEMA, VERSION, DamageError

_Answer = TypeVar("_Answer")
_Look = tuple[int, int, int, int, bool]

#: What damaged content can raise on its way from SQLite's pages to Python's objects.
_FAULTS = (
    sqlite3.Error, sqlite3.Warning, DamageError, UnicodeError, ValueError, TypeError, KeyError, IndexError,
    OverflowError, MemoryError, RecursionError,
)  # fmt: skip

# SQLite keeps one account of a file's locks for the whole process. A forked child inherits the account but not the
# locks, so what its parent was writing to is out of bounds for it.
_in_use: Counter[str] = Counter()
_inherited: set[str] = set()


def _inherit() -> None:
    _inherited.update(path for path, count in _in_use.items() if count)
    _in_use.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_inherit)


@final
class Location:
    """The path of a store.

    Attributes
    ----------
    path
        Absolute and without links, so that it stays the same when the process changes its directory.
    shown
        The path as the user gave it, for messages.
    timeout
        How many seconds to wait for other programs.
    """

    def __init__(self, path: str | os.PathLike[str], timeout: float) -> None:
        self.shown = repr(os.fspath(path))
        self.timeout = timeout
        try:
            self.path = os.path.realpath(path)
        except (OSError, ValueError) as error:  # a ValueError for a name that no file can have
            raise StoreError(f"The store {self.shown} cannot be opened: {_reason(error)}.") from None

    @property
    def lock(self) -> str:
        """The path of the file with the locks of the runs."""
        return f"{self.path}-lock"

    def look(self) -> _Look:
        """Return what identifies the present content; a `StoreError` if there is nothing to read."""
        found = self._stat()
        if found is None:
            raise StoreError(f"There is no store {self.shown}.")
        if not found.st_size:
            raise StoreError(f"The file {self.shown} is empty; it holds no runs.")
        if not os.access(self.path, os.R_OK):
            raise StoreError(f"The store {self.shown} cannot be read: no permission.")
        wal = os.path.exists(f"{self.path}-wal")
        return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, wal

    def is_blank(self) -> bool:
        """Whether there is no file yet, or an empty one."""
        found = self._stat()
        return found is None or not found.st_size

    def _stat(self) -> os.stat_result | None:
        try:
            found = os.stat(self.path)
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            raise StoreError(f"The store {self.shown} cannot be opened: {_reason(error)}.") from None
        if stat.S_ISDIR(found.st_mode):
            raise StoreError(f"{self.shown} is a folder, not a store; name a file in it.")
        if not stat.S_ISREG(found.st_mode):
            raise StoreError(f"{self.shown} is not a file, so it cannot be a store.")
        return found

    def consult(self, work: Callable[[sqlite3.Connection], _Answer]) -> _Answer:
        """Return the result of reading, in one transaction; `work` may be called twice."""
        self._check_process()
        before = self.look()
        if not before[-1]:
            try:
                answer = self._consult("mode=ro&immutable=1", work)
            except StoreError:
                if self.look() == before:
                    raise
            else:
                if self.look() == before:
                    return answer
        return self._consult("mode=ro", work)

    def _consult(self, how: str, work: Callable[[sqlite3.Connection], _Answer]) -> _Answer:
        with self.speaking("read"), closing(self._connect(how)) as db:
            db.execute("PRAGMA query_only = ON")
            db.execute("BEGIN")
            check_format(db, self.shown)
            if "immutable" in how:
                self._check_size(db)
            elif db.execute("PRAGMA journal_mode").fetchone() != ("wal",):
                raise DamageError("its header does not fit the file beside it")
            return work(db)

    def _check_size(self, db: sqlite3.Connection) -> None:
        """Check a file that nobody writes to; SQLite would take the missing end of its last page for zeros."""
        (pages,), (size,) = (db.execute(f"PRAGMA {name}").fetchone() for name in ("page_count", "page_size"))
        found = self._stat()
        if found is None or found.st_size < pages * size:
            raise DamageError("it was cut short")

    def connect(self) -> sqlite3.Connection:
        """Return a connection for writing to a store that was found to be in order; end it with `disconnect`."""
        self._check_process()
        self.check_writable()
        with self.speaking("written"):
            db = self._connect("mode=rw")
        _in_use[self.path] += 1
        return db

    def check_writable(self) -> None:
        """Check that the system would let us write."""
        for path, what in ((self.path, "file"), (os.path.dirname(self.path), "folder")):
            if not os.access(path, os.W_OK):
                raise StoreError(f"The store {self.shown} cannot be written: its {what} is read-only.")

    def disconnect(self, db: sqlite3.Connection) -> None:
        """End a connection for writing."""
        with suppress(sqlite3.Error):  # what was committed stays committed
            db.close()
        _in_use[self.path] -= 1

    def _check_process(self) -> None:
        if self.path in _inherited:
            raise StoreError(
                f"The store {self.shown} was being written to when this process was forked, so it cannot be used here; "
                "use it in the parent, or start processes by 'spawn'."
            )

    def set_log(self, db: sqlite3.Connection) -> None:
        """Make sure of the write-ahead log before a transaction: a copy made by SQLite's own tools comes without."""
        if db.execute("PRAGMA journal_mode = WAL").fetchone() != ("wal",):
            reason = "its file system has no shared memory; put it on a local disk"
            raise StoreError(f"The store {self.shown} cannot be written: {reason}.")

    def _connect(self, how: str) -> sqlite3.Connection:
        # Any thread may write; the writer sees to it that they take turns.
        db = sqlite3.connect(
            f"{Path(self.path).as_uri()}?{how}",
            uri=True,
            timeout=self.timeout,
            isolation_level=None,
            check_same_thread=False,
        )
        for pragma in ("trusted_schema = OFF", "cell_size_check = ON", "mmap_size = 0"):
            db.execute(f"PRAGMA {pragma}")
        return db

    @contextmanager
    def speaking(self, what: str) -> Iterator[None]:
        """Turn everything that can go wrong while the store is read or written into a `StoreError`."""
        try:
            yield
        except _FAULTS as error:
            raise StoreError(self._sentence(error, what)) from error

    def _sentence(self, error: Exception | sqlite3.Warning, what: str) -> str:
        code = getattr(error, "sqlite_errorcode", None)
        primary = code & 0xFF if isinstance(code, int) else None
        cannot = f"The store {self.shown} cannot be {what}"
        match primary:
            case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED | sqlite3.SQLITE_PROTOCOL:
                return f"{cannot}: another program has kept it locked for {self.timeout:g} s; try again later."
            case sqlite3.SQLITE_FULL:
                return f"{cannot}: there is no room left on the disk; what was written before is kept."
            case sqlite3.SQLITE_READONLY:
                return f"{cannot}: the file or its folder is read-only."
            case sqlite3.SQLITE_IOERR if what == "written":
                return f"{cannot}: the disk is full or failing ({error}); what was written before is kept."
            case sqlite3.SQLITE_IOERR | sqlite3.SQLITE_PERM | sqlite3.SQLITE_AUTH:
                return f"{cannot}: {error}."
            case sqlite3.SQLITE_CANTOPEN:
                return (
                    f"{cannot}: no permission for it or for its folder; if the folder is read-only, copy the file "
                    "together with the one that ends in -wal elsewhere."
                )
            case sqlite3.SQLITE_NOTADB:
                return f"The file {self.shown} is not a store of boids."
        if isinstance(error, MemoryError) and what == "written":
            return f"{cannot}: there is not enough memory."
        return f"The store {self.shown} is damaged ({_reason(error)}); restore it from a copy."


def check_format(db: sqlite3.Connection, shown: str) -> None:
    """Check that a file is a store of this version, and has our tables and nothing else."""
    if db.execute("PRAGMA application_id").fetchone() != (APPLICATION,):
        raise StoreError(f"The file {shown} belongs to another program; it is not a store of boids.")
    (version,) = db.execute("PRAGMA user_version").fetchone()
    if version > VERSION:
        raise StoreError(f"The store {shown} was written by a newer boids (format {version}, not {VERSION}); upgrade.")
    if version != VERSION:
        raise DamageError(f"its format is {version}, not {VERSION}")
    found = db.execute("SELECT type, name, tbl_name, sql FROM sqlite_master").fetchall()
    if sorted(map(repr, found)) != sorted(repr(("table", name, name, sql)) for name, sql in SCHEMA.items()):
        raise DamageError("its tables are not those of a store")


def check_pages(db: sqlite3.Connection) -> None:
    """Let SQLite check the structure of the whole file."""
    answers = db.execute("PRAGMA quick_check(1)").fetchall()
    if answers != [("ok",)]:
        raise DamageError(str(answers[0][0]).splitlines()[-1] if answers else "no answer from quick_check")


def _reason(error: BaseException) -> str:
    text = str(getattr(error, "strerror", None) or error) or type(error).__name__
    return " ".join(text.split()).rstrip(".")[:200]
