"""Why a run ends: the reasons, each with its sentence, and the limits that a user may set."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum
from typing import Any, final

import numpy as np

from boids.errors import shown
from boids.optimizer import Optimizer
from boids.records import Trial
from boids.values import positive_int, real_number

#: Called as ``callback(optimizer, trial)`` after every evaluation; True, or raising StopIteration, stops the run.
Callback = Callable[[Optimizer, Trial], Any]


class StopReason(StrEnum):
    """Why a run ended; the value is the word users see, `sentence` says it in full."""

    BUDGET = "budget"
    SPACE = "space"
    TARGET = "target"
    TIMEOUT = "timeout"
    STAGNATION = "stagnation"
    CALLBACK = "callback"
    INTERRUPTED = "interrupted"
    WORKERS = "workers"
    STORE = "store"
    RUNNING = "running"

    @property
    def sentence(self) -> str:
        """The reason as a sentence."""
        return _SENTENCES[self]

    @property
    def is_final(self) -> bool:
        """Whether nothing is left to do; the time limit of any other run begins anew when it is resumed."""
        return self in (StopReason.BUDGET, StopReason.SPACE, StopReason.TARGET, StopReason.STAGNATION)


_SENTENCES = {
    StopReason.BUDGET: "All evaluations of the budget were made.",
    StopReason.SPACE: "No untried point of the space could be found, so the run ended before its budget.",
    StopReason.TARGET: "The target value was reached.",
    StopReason.TIMEOUT: "The time limit was reached.",
    StopReason.STAGNATION: "The best value has not improved for as many evaluations as `patience` allows.",
    StopReason.CALLBACK: "The callback stopped the run.",
    StopReason.INTERRUPTED: "The run was interrupted.",
    StopReason.WORKERS: "There are no workers left that could evaluate.",
    StopReason.STORE: "The run could not be saved any more.",
    StopReason.RUNNING: "The run has not come to an end.",
}

_ONLY_DESIGN = "All of them were initial points, from which nothing has been learnt yet: take a larger budget."


def in_full(reason: StopReason, trials: Iterable[Trial]) -> str:
    """Return the reason as a sentence, and a second one if the method has learnt nothing before the budget's end."""
    phases = {trial.info.get("phase") for trial in trials if trial.attempts}
    if reason is StopReason.BUDGET and "design" in phases and phases <= {"x0", "design"}:
        return f"{reason.sentence} {_ONLY_DESIGN}"
    return reason.sentence


def check_limits(timeout: Any, target: Any, patience: Any, callback: Any) -> None:
    """Refuse limits that are none."""
    if timeout is not None and real_number(timeout, "timeout") <= 0:
        raise ValueError(f"timeout must be a positive number of seconds, got {shown(timeout)}.")
    if target is not None:
        real_number(target, "target")
    if patience is not None:
        positive_int(patience, "patience")
    if callback is not None and not callable(callback):
        raise ValueError(f"callback must be callable, got {shown(callback)}.")


@final
class Limits:
    """What stops a run before its budget; see `boids.drive.run` for what the arguments mean."""

    def __init__(
        self,
        optimizer: Optimizer,
        *,
        timeout: float | None,
        target: float | None,
        patience: int | None,
        callback: Callback | None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        check_limits(timeout, target, patience, callback)
        self._optimizer = optimizer
        self._target = target
        self._patience = patience
        self._callback = callback
        self._timeout = timeout
        self._clock = clock
        self._begun = clock()
        self._best = optimizer.best
        self._stale = self._since_best()
        self._said_stop = False

    @property
    def is_late(self) -> bool:
        """Whether no further evaluation may begin."""
        return self._timeout is not None and self._clock() - self._begun >= self._timeout

    def reached(self) -> StopReason | None:
        """Return why the run should stop now, None if it should not.

        In this order: a run whose last evaluation reaches the target has reached the target, whatever else is true.
        """
        if self._said_stop:
            return StopReason.CALLBACK
        best, value = self._optimizer.best, self._optimizer.estimate
        if self._target is None or best is None or value is None or not best.feasible:
            return None
        return StopReason.TARGET if value <= self._target else None

    def used_up(self) -> StopReason | None:
        """Return why no further evaluation should begin though there is budget left, None if one should."""
        if self._patience is not None and self._stale >= self._patience:
            return StopReason.STAGNATION
        return StopReason.TIMEOUT if self.is_late else None

    def note(self, done: Sequence[Trial]) -> None:
        """Take note of trials that have just been told, and show them to the callback."""
        if not done:
            return
        best, former = self._optimizer.best, self._best
        self._best = best
        self._stale += len(done)
        if best is not None and (former is None or best.id != former.id):
            # A better point, or with noise one that looks better by now.
            is_new = any(trial.id == best.id for trial in done)
            self._stale = sum(trial.id > best.id for trial in done) if is_new else 0
        if self._callback is not None:
            answers = [_stops(self._callback, self._optimizer, trial) for trial in done]  # all, also after a yes
            self._said_stop |= any(answers)

    def _since_best(self) -> int:
        """Return how many evaluations have been made since the best one."""
        if self._patience is None:
            return 0
        first = 0 if self._best is None else self._best.id + 1
        return sum(trial.state != "pending" and trial.attempts > 0 for trial in self._optimizer.trials[first:])


def _stops(callback: Callback, optimizer: Optimizer, trial: Trial) -> bool:
    try:
        answer = callback(optimizer, trial)
    except StopIteration:
        return True
    return isinstance(answer, (bool, np.bool_)) and bool(answer)
