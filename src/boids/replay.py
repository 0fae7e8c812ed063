"""Make a recorded run's proposals again: every ask and every tell in the recorded order, and compare.

A run depends on its seed and on the order in which outcomes came back, and on nothing else. If that order was left to
timing, as in an asynchronous run, the record of it is what makes the run reproducible; nothing is evaluated.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from boids import plain
from boids.earlier import Earlier
from boids.errors import SpaceExhausted, StoreError
from boids.journal import TrialRow
from boids.run import Run
from boids.setup import Setup
from boids.trial_rows import Held, outcome_of


@final
@dataclass(frozen=True)
class Replay:
    """What came of a replay.

    Attributes
    ----------
    proposals
        How many proposals were made again.
    differs
        The number of the first trial that came out differently, None if all are the same.
    distance
        By how much in the coordinate in which that differs most, in the signed cube.
    """

    proposals: int
    differs: int | None = None
    distance: float = 0.0


def replay(setup: Setup, rows: Sequence[TrialRow]) -> Replay:
    """Make a run's proposals again, up to the first one that differs.

    Parameters
    ----------
    setup
        What the run is.
    rows
        Its trials, by number.
    """
    run, made = Run.fresh(setup), 0
    for row, is_new in _events(rows):
        outcome = outcome_of(row, setup.n_constraints)
        if row.attempts == 0:
            if is_new and outcome is not None and row.ended is not None:
                run.add(Earlier(row.unit, row.started, Held(outcome, row.ended)))
        elif is_new:
            try:
                trial = run.ask(1)[0]
            except SpaceExhausted:
                return Replay(made, row.number, np.inf)
            if not np.array_equal(trial.unit, row.unit) or _text(trial.info) != _text(row.info):
                return Replay(made, row.number, float(np.max(np.abs(trial.unit - row.unit))))
            made += 1
        elif outcome is None or row.ended is None:
            raise StoreError(f"trial {row.number} was told, but has no outcome")
        else:
            run.tell(row.number, Held(outcome, row.ended))
    return Replay(made)


def _events(rows: Sequence[TrialRow]) -> Iterator[tuple[TrialRow, bool]]:
    """Yield each row twice, when it was asked for and when it was told, in the order in which that happened."""
    events = [(row.asked, row, True) for row in rows]
    events += [(row.told, row, False) for row in rows if row.told is not None]
    for _, row, is_new in sorted(events, key=lambda event: event[0]):
        yield row, is_new


def _text(info: object) -> str:
    """Return a proposal's facts for comparison, as they are written down."""
    return json.dumps(plain.jsonable(info, "info"), sort_keys=True)
