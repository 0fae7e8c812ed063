"""Write a run down, one transaction for each change.

When is a change safe? As soon as `RunWriter.write` returns, no end of the process, however violent, takes it back:
the system has it. Against a failure of the power it must also have reached the disk, and waiting for that takes
milliseconds, many times what the rest of a change takes. So SQLite is told to wait (synchronous = FULL) if it has not
done so for half a second, or if the change brings an outcome that took that long to compute; otherwise it is not
(NORMAL). Slow evaluations are always on the disk, fast ones stay fast, and what a power cut can take is less than
half a second of computing for each worker. Whatever it takes, it takes from the end.
"""

from __future__ import annotations

import math
import os
import sqlite3
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from types import TracebackType
from typing import Any, final

from boids.errors import StoreError
from boids.journal import Snapshot, TrialRow
from boids.store.location import Location
from boids.store.locks import RunLock
from boids.store.reading import Root, read_progress, read_root
from boids.store.rows import Progress, head_cells, to_json, trial_cells
from boids.store.runs import RUNNING, RunHead
from boids.store.tables import (
    MEMORY,
    PROGRESS,
    RUNS,
    SETUP,
    STATE,
    STORE,
    TRIALS,
    Cells,
    blob_place,
    digest,
    trial_place,
    weight,
)

#: Seconds of work that a power cut may take back; see the top of the file.
UNSYNCED = 0.5

# A fork in the middle of another thread's transaction would leave the child with half of it; so forks wait.
_turn = threading.RLock()


def _before_fork() -> None:
    _turn.acquire()


def _after_fork() -> None:
    _turn.release()


def _in_child() -> None:
    global _turn
    _turn = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_in_child)


@contextmanager
def transaction(db: sqlite3.Connection, location: Location, *, sync: bool = True) -> Iterator[None]:
    """Do all of the block's changes, or none of them."""
    with _turn, location.speaking("written"):
        if db.in_transaction:  # an interrupt came while the last one was taken back
            db.execute("ROLLBACK")
        location.set_log(db)
        db.execute(f"PRAGMA synchronous = {'FULL' if sync else 'NORMAL'}")
        try:
            db.execute("BEGIN IMMEDIATE")
            yield
            db.execute("COMMIT")
        finally:
            if db.in_transaction:
                with suppress(sqlite3.Error):  # on a disk that fails, SQLite has done it already
                    db.execute("ROLLBACK")


@final
class RunWriter:
    """The journal of one run, which nobody else writes to as long as this is open.

    A write that fails changes nothing, and the writer can be used again: once there is room on the disk, say.

    Attributes
    ----------
    id
        The run's.
    memory
        If set, the function that gives the objective's memory, JSON-able; it is written together with each outcome.
    """

    memory: Callable[[], Any] | None = None

    def __init__(self, location: Location, db: sqlite3.Connection, lock: RunLock, run: int, head: RunHead) -> None:
        self.id = head.id
        self._location, self._db, self._run, self._dim = location, db, run, head.dim
        self._pid = os.getpid()
        self._synced = -math.inf
        self._end = weakref.finalize(self, _let_go, location, db, lock, self._pid)

    def write(self, rows: Sequence[TrialRow], snapshot: Snapshot) -> None:
        """Write new or changed trials together with the snapshot after them, or raise a `StoreError`."""
        sealed = [TRIALS.seal(trial_cells(self._run, row, self._dim)) for row in rows]
        memory = None
        if self.memory is not None and any(row.ended is not None for row in rows):
            memory = to_json(self.memory(), "memory").encode()
        with self._transaction(slow=any(map(_is_slow, rows))) as (before, old):
            trials = enter_trials(self._db, before, sealed)
            after = replace(trials, updated=time.time()).after(snapshot)
            _check_counts(trials, snapshot)
            if after.state != before.state:
                _put_blob(self._db, self._run, STATE, snapshot.state)
            if memory is not None and (kept := digest(memory)) != before.memory:
                _put_blob(self._db, self._run, MEMORY, memory)
                after = replace(after, memory=kept)
            self._put(after, old)

    def set_status(self, status: str) -> None:
        """Say how the run stands: "running", or the word for why it ended."""
        with self._transaction(slow=True) as (before, old):
            self._put(replace(before, status=str(status), updated=time.time()), old)

    def set_meta(self, meta: Mapping[str, Any]) -> None:
        """Note something else about the run, instead of what was noted before; JSON-able."""
        to_json(meta, "meta")
        with self._transaction(slow=True) as (before, old):
            self._put(replace(before, meta=dict(meta), updated=time.time()), old)

    def close(self) -> None:
        """Write no more, and let others have the run."""
        with _turn:
            self._end()

    def __enter__(self) -> RunWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @contextmanager
    def _transaction(self, *, slow: bool) -> Iterator[tuple[Progress, int]]:
        """Begin with how far the run has come, read anew, so that there is nothing to get out of step."""
        if os.getpid() != self._pid:
            raise StoreError(f"Run {self.id!r} belongs to the parent of this process, so it cannot be written here.")
        if not self._end.alive:
            raise StoreError(f"The journal of run {self.id!r} is closed.")
        now = time.monotonic()
        sync = slow or now - self._synced >= UNSYNCED
        with transaction(self._db, self._location, sync=sync):
            yield read_progress(self._db, self._run)
        if sync:
            self._synced = now

    def _put(self, after: Progress, old: int) -> None:
        root = read_root(self._db)
        sealed = PROGRESS.seal(after.cells())
        self._db.execute(PROGRESS.put, sealed)
        put_root(self._db, replace(root, total=root.total - old + weight(sealed)))


def enter_run(
    db: sqlite3.Connection,
    root: Root,
    head: RunHead,
    snapshot: Snapshot,
    meta: Mapping[str, Any],
    memory: bytes | None,
    rows: Sequence[Cells],
) -> None:
    """Write a new run, within a transaction."""
    run = root.next
    sealed = RUNS.seal(head_cells(run, head))
    db.execute(RUNS.put, sealed)
    _put_blob(db, run, SETUP, head.setup)
    _put_blob(db, run, STATE, snapshot.state)
    kept = None if memory is None else digest(memory)
    if memory is not None:
        _put_blob(db, run, MEMORY, memory)
    blank = Progress(run, RUNNING, time.time(), 0, 0, 0, 0, 0, None, None, False, {}, dict(meta), b"", kept, 0)
    trials = enter_trials(db, blank, rows)
    _check_counts(trials, snapshot)
    progress = PROGRESS.seal(trials.after(snapshot).cells())
    db.execute(PROGRESS.put, progress)
    put_root(db, Root(root.runs + 1, run + 1, root.total + weight(sealed) + weight(progress)))


def enter_trials(db: sqlite3.Connection, progress: Progress, rows: Sequence[Cells]) -> Progress:
    """Write trials, and return the progress with counts and sum brought up to date."""
    asked, told, total = progress.asked, progress.told, progress.trials
    failed, added, repeated = progress.failed, progress.added, progress.repeated
    events: list[int] = []
    for row in rows:
        number, state, attempts = (_of(row, name) for name in ("number", "state", "attempts"))
        begun, ended = _of(row, "asked"), _of(row, "told")
        if number == asked:
            asked += 1
            events.append(begun)
        else:
            found = db.execute(f"{TRIALS.select} WHERE place = ?", (trial_place(progress.run, number),)).fetchone()
            if found is None:
                raise StoreError(f"Trial {number} cannot be written down: it is out of turn, the next one is {asked}.")
            cells, old = TRIALS.open(found)
            if found == row:
                continue
            if _of(cells, "state") != "pending" or _of(cells, "asked") != begun:
                raise StoreError(f"Trial {number} cannot be written down: it has its outcome already.")
            total -= old
            added -= _of(cells, "attempts") == 0
            repeated -= _of(cells, "attempts") > 1
        if ended is not None:
            told += 1
            events.append(ended)
        failed += state == "failed"
        added += attempts == 0
        repeated += attempts > 1
        total += weight(row)
        db.execute(TRIALS.put, row)
    if sorted(events) != list(range(progress.asked + progress.told, asked + told)):
        raise StoreError(
            f"Trials cannot be written down: their events must be those from {progress.asked + progress.told} on, "
            f"got {sorted(events)}."
        )
    return replace(progress, asked=asked, told=told, failed=failed, added=added, repeated=repeated, trials=total)


def put_root(db: sqlite3.Connection, root: Root) -> None:
    """Write the row at the top."""
    db.execute(STORE.put, STORE.seal(root.cells()))


_COLUMN = {column.split()[0]: index for index, column in enumerate(TRIALS.columns)}


def _of(row: Cells, name: str) -> Any:
    return row[_COLUMN[name]]


def _check_counts(progress: Progress, snapshot: Snapshot) -> None:
    """Refuse now what would be taken for damage later."""
    for what in ("asked", "told", "failed", "added"):
        claimed, counted = getattr(snapshot, what), getattr(progress, what)
        if claimed != counted:
            raise StoreError(f"The snapshot counts {claimed} trials {what}, but with these rows there are {counted}.")


def _is_slow(row: TrialRow) -> bool:
    return row.ended is not None and row.ended - row.started >= UNSYNCED


def _put_blob(db: sqlite3.Connection, run: int, kind: int, data: bytes) -> None:
    db.execute("REPLACE INTO blobs VALUES (?, ?)", (blob_place(run, kind), data))


def _let_go(location: Location, db: sqlite3.Connection, lock: RunLock, pid: int) -> None:
    """Close the connection, then release the lock; a forked child leaves both to its parent."""
    if os.getpid() == pid:
        location.disconnect(db)
        lock.release()
