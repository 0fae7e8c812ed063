"""A file with runs: list them, read one, begin a new one, go on with one, delete one."""

from __future__ import annotations

import os
import sqlite3
import weakref
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from types import TracebackType
from typing import Any, final

from boids.errors import StoreError, did_you_mean, shown
from boids.journal import Snapshot, TrialRow
from boids.store import locks
from boids.store.following import RunNews, read_news, read_some
from boids.store.location import Location, check_pages
from boids.store.making import check_folder, make
from boids.store.reading import Entry, Root, read_entries, read_root, read_run
from boids.store.rows import text, to_json, trial_cells
from boids.store.runs import RunHead, RunSummary, StoredRun
from boids.store.tables import TRIALS, blob_place, trial_place
from boids.store.writing import RunWriter, enter_run, put_root, transaction

_MAKING = 0  # the lock for making the store


@final
class Store:
    """A file with runs; it is not touched before it is needed.

    Several processes may use one store at the same time, each run is written to by at most one of them. What is read
    is checked down to the last bit, as of one moment; reading does not change the file.

    Parameters
    ----------
    path
        Of the file. Beside it lie ``PATH-lock`` and, while runs are written, ``PATH-wal`` and ``PATH-shm``, which
        belong to it.
    timeout
        Seconds to wait for other programs that have locked the file.
    """

    def __init__(self, path: str | os.PathLike[str], *, timeout: float = 10.0) -> None:
        self.path = path
        self._location = Location(path, timeout)
        self._writers: weakref.WeakSet[RunWriter] = weakref.WeakSet()

    def runs(self) -> list[RunSummary]:
        """Return all runs, oldest first."""
        return [self._summary(entry) for entry in self._location.consult(read_entries).values()]

    def find(self, run_id: str) -> str:
        """Return the full id of the run that is meant by its id, or by its beginning or end if no other has that."""
        return self._find(self._location.consult(read_entries), run_id)

    def read(self, run_id: str) -> StoredRun:
        """Return all of a run."""
        return self._location.consult(lambda db: read_run(db, self._entry(read_entries(db), run_id)))

    def news(self, run_id: str, known: int = 0, waiting: Iterable[int] = ()) -> RunNews:
        """Return what is new of a run for those who follow it.

        Parameters
        ----------
        known
            How many trials they know already.
        waiting
            The numbers of those whose outcomes they do not know.
        """
        numbers = tuple(waiting)

        def read(db: sqlite3.Connection) -> RunNews:
            entry = self._entry(read_entries(db), run_id)
            return read_news(db, entry, self._summary(entry), known, numbers)

        return self._location.consult(read)

    def trials(self, run_id: str, numbers: Iterable[int]) -> tuple[TrialRow, ...]:
        """Return some trials of a run, by number, without reading the others."""
        wanted = tuple(numbers)
        return self._location.consult(lambda db: read_some(db, self._entry(read_entries(db), run_id), wanted))

    def is_active(self, run_id: str) -> bool:
        """Whether somebody carries a run out right now."""
        entry = self._entry(self._location.consult(read_entries), run_id)
        return locks.is_taken(self._location.lock, entry.run)

    def create(
        self,
        head: RunHead,
        snapshot: Snapshot,
        *,
        meta: Mapping[str, Any] | None = None,
        memory: Any = None,
        rows: Sequence[TrialRow] = (),
    ) -> RunWriter:
        """Begin a run, and return its journal; the file is made if it is not there."""
        kept = None if memory is None else to_json(memory, "memory").encode()
        noted = dict(meta or {})
        to_json(noted, "meta")
        if self._location.is_blank():
            check_folder(self._location)
            making = self._lock(head.id, _MAKING, self._location.timeout)
            try:
                make(self._location)
            finally:
                making.release()
        if text(head.id) in self._location.consult(_checked_entries):
            raise self._exists(head.id)
        db = self._location.connect()
        with ExitStack() as undo:
            undo.callback(self._location.disconnect, db)
            with transaction(db, self._location):
                root = read_root(db)
                if text(head.id) in read_entries(db):  # begun by somebody else since the check
                    raise self._exists(head.id)
                lock = self._lock(head.id, root.next)
                undo.callback(lock.release)
                sealed = [TRIALS.seal(trial_cells(root.next, row, head.dim)) for row in rows]
                enter_run(db, root, head, snapshot, noted, kept, sealed)
            undo.pop_all()
        return self._writer(db, lock, root.next, head)

    def resume(self, run_id: str) -> tuple[StoredRun, RunWriter]:
        """Return all of a run, and its journal to go on with; refused while somebody else carries it out."""
        entry = self._entry(self._location.consult(read_entries), run_id)
        self._location.check_writable()
        lock = self._lock(run_id, entry.run)
        try:
            stored = self._location.consult(lambda db: self._read_locked(db, run_id, entry))
            return stored, self._writer(self._location.connect(), lock, entry.run, stored.head)
        except BaseException:
            lock.release()
            raise

    def delete(self, run_id: str) -> None:
        """Delete a run; refused while somebody carries it out."""
        entry = self._entry(self._location.consult(read_entries), run_id)
        self._location.check_writable()
        with ExitStack() as undo:
            undo.callback(self._lock(run_id, entry.run).release)
            self._location.consult(lambda db: self._read_locked(db, run_id, entry))
            db = self._location.connect()
            undo.callback(self._location.disconnect, db)
            with transaction(db, self._location):
                root = read_root(db)
                now = self._entry(read_entries(db), run_id)
                places = trial_place(now.run, 0), trial_place(now.run + 1, 0) - 1
                db.execute("DELETE FROM trials WHERE place BETWEEN ? AND ?", places)
                db.execute(
                    "DELETE FROM blobs WHERE place BETWEEN ? AND ?", (blob_place(now.run, 0), blob_place(now.run, 3))
                )
                db.execute("DELETE FROM progress WHERE run = ?", (now.run,))
                db.execute("DELETE FROM runs WHERE run = ?", (now.run,))
                put_root(db, Root(root.runs - 1, root.next, root.total - now.weight))

    def close(self) -> None:
        """Close the journals that came from here."""
        for writer in list(self._writers):
            writer.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _summary(self, entry: Entry) -> RunSummary:
        head, progress = entry.head, entry.progress
        return RunSummary(
            id=head.id,
            created=head.created,
            updated=progress.updated,
            method=head.method,
            problem=head.problem,
            dim=head.dim,
            budget=head.budget,
            seed=head.seed,
            status=progress.status,
            nfev=progress.told - progress.added,
            asked=progress.asked,
            failed=progress.failed,
            fun=progress.best,
            feasible=progress.feasible,
            added=progress.added,
            repeated=progress.repeated,
            active=locks.is_taken(self._location.lock, entry.run),
        )

    def _find(self, entries: Mapping[str, Entry], run_id: str) -> str:
        if run_id in entries:
            return run_id
        meant = [name for name in entries if run_id and (name.startswith(run_id) or name.endswith(run_id))]
        if len(meant) == 1:
            return meant[0]
        if meant:
            some = ", ".join(map(repr, meant[:3])) + (" …" if len(meant) > 3 else "")
            raise StoreError(f"Several runs begin or end with {shown(run_id)}: {some}; write more of the id.")
        raise self._unknown(entries, run_id)

    def _entry(self, entries: Mapping[str, Entry], run_id: str) -> Entry:
        if run_id not in entries:
            raise self._unknown(entries, run_id)
        return entries[run_id]

    def _unknown(self, entries: Mapping[str, Entry], run_id: str) -> StoreError:
        hint = did_you_mean(str(run_id), entries, f"there are {len(entries)}.")
        return StoreError(f"There is no run {shown(run_id)} in {self._location.shown}; {hint}")

    def _exists(self, run_id: str) -> StoreError:
        return StoreError(
            f"There is a run {run_id!r} in {self._location.shown} already; resume it, or choose another id."
        )

    def _read_locked(self, db: sqlite3.Connection, run_id: str, locked: Entry) -> StoredRun:
        """Read a run again now that nobody else can write to it, and check the whole file before it is written to."""
        entry = self._entry(_checked_entries(db), run_id)
        if entry.run != locked.run:  # deleted, and begun again under the same name
            raise StoreError(f"Run {run_id!r} was replaced by another one just now; try again.")
        return read_run(db, entry)

    def _lock(self, run_id: str, run: int, patience: float = 0.1) -> locks.RunLock:
        try:
            return locks.take(self._location.lock, run, patience)
        except locks.TakenError as taken:
            who = locks.describe(taken.args[0])
            # In a notebook the object that has it may be forgotten, and the run long finished.
            way = (
                "close() the Optimizer that has it" if locks.is_mine(taken.args[0]) else "wait until it ends, or end it"
            )
            raise StoreError(f"Run {run_id!r} is carried out by {who}; {way}.") from None
        except OSError as error:
            reason = f"{self._location.lock!r}, the file with its locks, cannot be used ({error.strerror or error})"
            raise StoreError(f"The store {self._location.shown} cannot be written: {reason}.") from error

    def _writer(self, db: sqlite3.Connection, lock: locks.RunLock, run: int, head: RunHead) -> RunWriter:
        writer = RunWriter(self._location, db, lock, run, head)
        self._writers.add(writer)
        return writer


def _checked_entries(db: sqlite3.Connection) -> dict[str, Entry]:
    """Return all runs after a check of the whole file, as is due before it is written to."""
    check_pages(db)
    return read_entries(db)
