"""What is written down of a run while it goes: a row per trial, and how far the method has come; all plain data.

An optimizer hands every change to its journal before it takes effect. Whoever keeps a journal writes a change as a
whole or not at all, so that what is found after a crash is a run between two calls.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, final

from boids.records import FloatArray, MemoValue, TrialState


@final
@dataclass(frozen=True, slots=True, eq=False)
class TrialRow:
    """A trial as it is written down.

    Attributes
    ----------
    number
        Of the trial in its run, from 0.
    unit, aimed
        The point in the signed cube (D,), and where the method had aimed at if that is another one.
    memo
        What the method must know when the outcome comes; empty once it has come.
    info
        The method's diagnostics, JSON-able.
    state
        "pending", "done" or "failed".
    value, constraints, noise_variance, error
        The outcome; None as long as there is none, and where there is nothing to say. A pending trial has an outcome
        if that has arrived but is still to be told, after those of other trials.
    started, ended
        Seconds since the epoch.
    attempts
        How often the evaluation was begun; 0 for a trial that was added with its outcome.
    asked, told
        Places of its two events among all events of the run, from 0; `told` is None while it is pending.
    """

    number: int
    unit: FloatArray
    aimed: FloatArray | None
    memo: Mapping[str, MemoValue]
    info: Mapping[str, Any]
    state: TrialState
    value: float | None
    constraints: tuple[float, ...] | None
    noise_variance: float | None
    error: str | None
    started: float
    ended: float | None
    attempts: int
    asked: int
    told: int | None


@final
@dataclass(frozen=True, slots=True)
class Snapshot:
    """How far a run has come, beside its trials.

    Attributes
    ----------
    state
        The state of the method, packed; see `boids.packing`.
    asked, told, failed, added
        How many trials there are, how many of them have been told, how many of these failed, and how many were added
        with their outcomes rather than evaluated.
    best
        The value of the best trial, None before the first success.
    feasible
        Whether the best trial satisfies the black-box constraints; None before the first success.
    exhausted
        Whether no untried point was left.
    times
        Seconds spent in each phase.
    """

    state: bytes
    asked: int
    told: int
    failed: int
    added: int
    best: float | None
    feasible: bool | None
    exhausted: bool
    times: Mapping[str, float]


class Journal(Protocol):
    """Where a run is written down."""

    def write(self, rows: Sequence[TrialRow], snapshot: Snapshot) -> None:
        """Write new or changed trials together with the snapshot after them, or raise a `StoreError`."""

    def close(self) -> None:
        """Write no more."""
