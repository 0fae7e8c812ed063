"""Read a store and check it: every row, every sum, every count; what does not fit is a `DamageError`."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import dataclass, replace
from typing import Any, cast, final

from boids.journal import TrialRow
from boids.store.rows import Progress, head_of, trial_of
from boids.store.runs import RunHead, StoredRun
from boids.store.tables import (
    MEMORY,
    PROGRESS,
    RUNS,
    SETUP,
    STATE,
    STORE,
    TRIALS,
    Cells,
    DamageError,
    blob_place,
    digest,
    from_total,
    to_total,
    trial_place,
)


@final
@dataclass(frozen=True, slots=True)
class Root:
    """The one row of the table `store`: number of runs, next free key, and the sum over the runs."""

    runs: int
    next: int
    total: int

    def cells(self) -> Cells:
        """Return the row as cells."""
        return 1, self.runs, self.next, from_total(self.total)


@final
@dataclass(frozen=True, slots=True)
class Entry:
    """A run as it stands in the list.

    Attributes
    ----------
    run
        Its key.
    head, setup
        What never changes; the setup is empty in the head, and here is its digest.
    progress
        How far it has come.
    weight
        What it adds to the sum at the top.
    """

    run: int
    head: RunHead
    progress: Progress
    setup: bytes
    weight: int


def read_root(db: sqlite3.Connection) -> Root:
    """Return the row at the top, checked."""
    rows = db.execute(f"{STORE.select} LIMIT 2").fetchall()
    if len(rows) != 1:
        raise DamageError("the row at the top is missing")
    cells, _ = STORE.open(rows[0])
    key, runs, free, total = cast("tuple[Any, ...]", cells)
    if key != 1:
        raise DamageError("the row at the top is not the first")
    return Root(runs, free, to_total(total))


def read_progress(db: sqlite3.Connection, run: int) -> tuple[Progress, int]:
    """Return how far a run has come, checked by itself, and the checksum of the row."""
    row = db.execute(f"{PROGRESS.select} WHERE run = ?", (run,)).fetchone()
    if row is None:
        raise DamageError("the progress of a run is missing")
    cells, weight = PROGRESS.open(row)
    return Progress.of(cells), weight


def read_entries(db: sqlite3.Connection) -> dict[str, Entry]:
    """Return all runs by id, oldest first, after checking that none is missing or stale."""
    root = read_root(db)
    heads = _by_key(db.execute(f"{RUNS.select} ORDER BY run LIMIT ?", (root.runs + 1,)).fetchall(), root.runs)
    rows = _by_key(db.execute(f"{PROGRESS.select} ORDER BY run LIMIT ?", (root.runs + 1,)).fetchall(), root.runs)
    if heads.keys() != rows.keys():
        raise DamageError("heads and progress of the runs do not fit together")
    entries: dict[str, Entry] = {}
    total = 0
    for run, row in heads.items():
        cells, of_head = RUNS.open(row)
        progress, of_progress = PROGRESS.open(rows[run])
        head = head_of(cells, b"")
        weight = of_head + of_progress
        total += weight
        entries[head.id] = Entry(run, head, Progress.of(progress), cast("bytes", cells[-1]), weight)
    if from_total(total) != from_total(root.total) or len(entries) != root.runs or root.next <= max(heads, default=0):
        raise DamageError("a run is missing, or not as it was last written")
    return entries


def _by_key(rows: list[tuple[Any, ...]], count: int) -> dict[int, tuple[Any, ...]]:
    found = {row[0]: row for row in rows}
    if len(rows) != count or len(found) != count:
        raise DamageError(f"there should be {count} runs")
    return found


def read_run(db: sqlite3.Connection, entry: Entry) -> StoredRun:
    """Return all of a run, checked."""
    progress = entry.progress
    setup, state = read_setup(db, entry), read_state(db, entry)
    memory = None
    if progress.memory is not None:
        memory = json.loads(_read_blob(db, entry.run, MEMORY, progress.memory))
    rows = read_trials(db, entry.run, progress)
    head = replace(entry.head, setup=setup)
    return StoredRun(head, progress.status, progress.updated, progress.meta, memory, progress.snapshot(state), rows)


def read_setup(db: sqlite3.Connection, entry: Entry) -> bytes:
    """Return what it takes to set a run up again, checked."""
    return _read_blob(db, entry.run, SETUP, entry.setup)


def read_state(db: sqlite3.Connection, entry: Entry) -> bytes:
    """Return the state of a run's method, checked."""
    return _read_blob(db, entry.run, STATE, entry.progress.state)


def _read_blob(db: sqlite3.Connection, run: int, kind: int, expected: bytes) -> bytes:
    row = db.execute("SELECT data FROM blobs WHERE place = ?", (blob_place(run, kind),)).fetchone()
    if row is None or not isinstance(row[0], bytes) or digest(row[0]) != expected:
        raise DamageError("the setup, the state or the memory of the run is not as it was written")
    return row[0]


def read_trials(db: sqlite3.Connection, run: int, progress: Progress) -> tuple[TrialRow, ...]:
    """Return the trials of a run after checking that they are all there, each once, and as counted."""
    rows: list[TrialRow] = []
    total = 0
    events = bytearray(progress.asked + progress.told)
    query = f"{TRIALS.select} WHERE place BETWEEN ? AND ? ORDER BY place"
    for row in db.execute(query, (trial_place(run, 0), trial_place(run + 1, 0) - 1)):
        cells, weight = TRIALS.open(row)
        trial = trial_of(cells)
        # One after the other, so that pages that point to each other in circles come to an end.
        if cells[:3] != (trial_place(run, len(rows)), run, len(rows)) or len(rows) == progress.asked:
            raise DamageError("trials are missing or doubled")
        rows.append(trial)
        total += weight
        for event in (trial.asked, trial.told):
            if event is not None:
                if not 0 <= event < len(events) or events[event]:
                    raise DamageError("the events of the run are not one sequence")
                events[event] = 1
    told = sum(row.told is not None for row in rows)
    failed = sum(row.state == "failed" for row in rows)
    added = sum(row.attempts == 0 for row in rows)
    repeated = sum(row.attempts > 1 for row in rows)
    counted = progress.asked, progress.told, progress.failed, progress.added, progress.repeated
    if (len(rows), told, failed, added, repeated) != counted:
        raise DamageError("trials are missing, or not as counted")
    if from_total(total) != from_total(progress.trials) or not all(events):
        raise DamageError("a trial is not as it was last written")
    return tuple(rows)
