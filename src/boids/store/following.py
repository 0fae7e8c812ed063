"""Follow a run while somebody else carries it out: only what is new of it is read, and checked row by row."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, final

from boids.journal import TrialRow
from boids.store.reading import Entry, read_setup, read_state
from boids.store.rows import trial_of
from boids.store.runs import RunSummary
from boids.store.tables import TRIALS, DamageError, trial_place


@final
@dataclass(frozen=True, slots=True, eq=False)
class RunNews:
    """What is new of a run.

    Attributes
    ----------
    summary
        The run's line in the list of runs.
    times
        Seconds spent in each phase so far.
    meta
        What else was noted about the run; JSON-able.
    setup, state
        What the run is, and the state of its method, packed.
    rows
        The trials that are new, and those that were waiting for their outcomes, by number.
    """

    summary: RunSummary
    times: Mapping[str, float]
    meta: Mapping[str, Any]
    setup: bytes
    state: bytes
    rows: tuple[TrialRow, ...]


def read_news(db: sqlite3.Connection, entry: Entry, summary: RunSummary, known: int, waiting: Iterable[int]) -> RunNews:
    """Return the trials from number `known` on, and those before it that were `waiting` when they were last read."""
    rows = [*read_some(db, entry, (number for number in waiting if number < known))]
    places = trial_place(entry.run, known), trial_place(entry.run + 1, 0) - 1
    for cells in db.execute(f"{TRIALS.select} WHERE place BETWEEN ? AND ? ORDER BY place", places):
        row = trial_of(TRIALS.open(cells)[0])
        if row.number != known or known >= entry.progress.asked:
            raise DamageError("trials are missing or doubled")
        known += 1
        rows.append(row)
    if known < entry.progress.asked:
        raise DamageError("trials are missing")
    progress = entry.progress
    return RunNews(summary, progress.times, progress.meta, read_setup(db, entry), read_state(db, entry), tuple(rows))


def read_some(db: sqlite3.Connection, entry: Entry, numbers: Iterable[int]) -> tuple[TrialRow, ...]:
    """Return the trials with these numbers, each checked by itself; a number that there is not is left out."""
    rows = []
    for number in sorted(set(numbers)):
        if not 0 <= number < entry.progress.asked:
            continue
        found = db.execute(f"{TRIALS.select} WHERE place = ?", (trial_place(entry.run, number),)).fetchone()
        if found is None:
            raise DamageError("trials are missing")
        rows.append(trial_of(TRIALS.open(found)[0]))
    return tuple(rows)
