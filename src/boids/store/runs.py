"""What a store hands out: a run's head, its line in the list of runs, and all of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, final

from boids.journal import Snapshot, TrialRow

#: The status of a run that has not ended; if nobody carries it out either, it was killed.
RUNNING = "running"


@final
@dataclass(frozen=True, slots=True)
class RunHead:
    """What never changes of a run.

    Attributes
    ----------
    id
        The name of the run, unique in its store.
    created
        Seconds since the epoch.
    method, problem
        Their names, for the list of runs.
    dim, budget, seed
        D, the number of evaluations, and the seed, which may be longer than 64 bits.
    setup
        All that is needed to set the run up again, packed; the store does not look into it.
    """

    id: str
    created: float
    method: str
    problem: str
    dim: int
    budget: int
    seed: int
    setup: bytes


@final
@dataclass(frozen=True, slots=True)
class RunSummary:
    """One line of the list of runs.

    Attributes
    ----------
    id, created, method, problem, dim, budget, seed
        As in `RunHead`.
    updated
        When the run was last written to, in seconds since the epoch.
    status
        "running", or the word for why it ended.
    nfev, asked, failed
        How many evaluations have been made, how many trials there are, and how many failed.
    fun, feasible
        The best value, and whether its constraints hold; None before the first success.
    added, repeated
        How many trials were added with their outcomes rather than evaluated, and how many were begun more than once.
    active
        Whether somebody carries the run out right now.
    """

    id: str
    created: float
    updated: float
    method: str
    problem: str
    dim: int
    budget: int
    seed: int
    status: str
    nfev: int
    asked: int
    failed: int
    fun: float | None
    feasible: bool | None
    added: int
    repeated: int
    active: bool


@final
@dataclass(frozen=True, slots=True, eq=False)
class StoredRun:
    """All of a run, checked.

    Attributes
    ----------
    head
        What never changes.
    status
        "running", or the word for why it ended.
    updated
        When it was last written to, in seconds since the epoch.
    meta
        What else was noted about the run; JSON-able.
    memory
        The memory of the objective after the last outcome, if it has one; JSON-able.
    snapshot, rows
        How far the run has come, and its trials by number.
    """

    head: RunHead
    status: str
    updated: float
    meta: Mapping[str, Any]
    memory: Any
    snapshot: Snapshot
    rows: tuple[TrialRow, ...]
