"""The generic loop: run an optimizer on a callable until its budget ends or something else stops it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence, Set
from enum import StrEnum
from typing import Any

import numpy as np

from boids.errors import TellError
from boids.optimizer import Optimizer
from boids.records import Trial
from boids.values import describe_error, positive_int, real_number

#: Called as ``callback(optimizer, trial)`` after every evaluation; True, or raising StopIteration, stops the run.
Callback = Callable[[Optimizer, Trial], Any]


#: Rows of a matrix at the most when nobody asked for a number, so that limits and Ctrl-C get their turn.
MOST_ROWS = 100


class StopReason(StrEnum):
    """Why a run ended; the value is the word users see, `sentence` says it in full."""

    BUDGET = "budget"
    TARGET = "target"
    TIMEOUT = "timeout"
    STAGNATION = "stagnation"
    CALLBACK = "callback"
    INTERRUPTED = "interrupted"

    @property
    def sentence(self) -> str:
        """The reason as a sentence."""
        return _SENTENCES[self]


_SENTENCES = {
    StopReason.BUDGET: "All evaluations of the budget were made.",
    StopReason.TARGET: "The target value was reached.",
    StopReason.TIMEOUT: "The time limit was reached.",
    StopReason.STAGNATION: "The best value has not improved for as many evaluations as `patience` allows.",
    StopReason.CALLBACK: "The callback stopped the run.",
    StopReason.INTERRUPTED: "The run was interrupted.",
}


def run(
    optimizer: Optimizer,
    fun: Callable[[Any], Any],
    *,
    vectorized: bool = False,
    batch: int = 1,
    timeout: float | None = None,
    target: float | None = None,
    patience: int | None = None,
    callback: Callback | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> StopReason:
    """Evaluate what the optimizer asks for until there is a reason to stop, and return the reason.

    Trials that were pending before, from an interrupted run say, are evaluated first. An evaluation that raises, or
    returns something that is not a number, is told as a failure. Ctrl-C leaves the trial it hits pending.

    Parameters
    ----------
    fun
        The objective. It gets a point in the user's units and returns a number; see `vectorized`.
    vectorized
        If true, `fun` gets q points at once, as a (q, D) matrix or for a named space as a dict of columns, and
        returns q numbers.
    batch
        How many trials to ask for at a time. With `vectorized` and 1, points that do not wait for a value, such as an
        initial design, come together.
    timeout
        Seconds after which no further evaluation is begun.
    target
        Stop at a value as low as this.
    patience
        Stop after so many evaluations without improvement.
    callback
        Called as ``callback(optimizer, trial)`` after every evaluation, once its value has been told. Returning True
        or raising StopIteration stops the run; other exceptions are passed on.
    clock
        Where the time comes from, in seconds.
    """
    _check_limits(batch, timeout, target, patience, callback)
    begun, stale = clock(), _stale(optimizer)
    queue = list(optimizer.pending)
    try:
        while True:
            # In this order: a run whose last evaluation reaches the target has reached the target.
            if target is not None and optimizer.best is not None and _value(optimizer.best) <= target:
                return StopReason.TARGET
            if not queue and not optimizer.remaining:
                return StopReason.BUDGET
            if patience is not None and stale >= patience:
                return StopReason.STAGNATION
            if timeout is not None and clock() - begun >= timeout:
                return StopReason.TIMEOUT
            if not queue:
                free = min(optimizer.ready, MOST_ROWS) if vectorized and batch == 1 else 1
                queue = optimizer.ask(max(batch, free))
            group = queue if vectorized else queue[:1]
            queue = queue[len(group) :]

            best = optimizer.best
            done = _evaluate(optimizer, fun, group, vectorized)
            for trial in done:
                improved = not trial.failed and (best is None or _value(trial) < _value(best))
                best, stale = (trial, 0) if improved else (best, stale + 1)
            if callback is not None:
                answers = [_stops(callback, optimizer, trial) for trial in done]  # all of them, also after a yes
                if any(answers):
                    return StopReason.CALLBACK
    except KeyboardInterrupt:
        return StopReason.INTERRUPTED


def _evaluate(
    optimizer: Optimizer, fun: Callable[[Any], Any], trials: Sequence[Trial], vectorized: bool
) -> list[Trial]:
    """Call the objective on some trials and tell what it returns, or that it failed."""
    # The points are decoded anew, for an objective may work in place, and the trials' own are read-only.
    units = [trial.unit for trial in trials]
    points = optimizer.space.decode_many(units) if vectorized else optimizer.space.decode(units[0])
    begun, error, values = time.perf_counter(), None, []
    try:
        values = _rows(fun(points), len(trials)) if vectorized else [fun(points)]
    except (Exception, SystemExit) as caught:  # sys.exit in a simulator's wrapper is a failed run, not our end
        error = describe_error(caught)
    finally:
        optimizer.add_time("evaluate", time.perf_counter() - begun)
    if error is not None:
        return [optimizer.tell(trial, error=error) for trial in trials]
    return [_tell(optimizer, trial, value) for trial, value in zip(trials, values, strict=True)]


def _tell(optimizer: Optimizer, trial: Trial, value: Any) -> Trial:
    try:
        return optimizer.tell(trial, value)
    except TellError as error:  # not a number
        return optimizer.tell(trial, error=error)


def _rows(values: Any, count: int) -> list[Any]:
    """Return what a vectorised objective returned as a list of `count` values."""
    try:
        rows = list(values)
    except TypeError:  # a bare number, which will do for a single row
        rows = [values]
    if len(rows) != count or isinstance(values, (str, bytes, Mapping, Set)):
        got = f"{type(values).__name__} with {len(rows)}"
        raise ValueError(f"a vectorized objective must return one value per row, {count} here, got {got}")
    return rows


def _check_limits(batch: Any, timeout: Any, target: Any, patience: Any, callback: Any) -> None:
    positive_int(batch, "batch")
    if timeout is not None and real_number(timeout, "timeout") <= 0:
        raise ValueError(f"timeout must be a positive number of seconds, got {timeout!r}.")
    if target is not None:
        real_number(target, "target")
    if patience is not None:
        positive_int(patience, "patience")
    if callback is not None and not callable(callback):
        raise ValueError(f"callback must be callable, got {callback!r}.")


def _stops(callback: Callback, optimizer: Optimizer, trial: Trial) -> bool:
    try:
        answer = callback(optimizer, trial)
    except StopIteration:
        return True
    return isinstance(answer, (bool, np.bool_)) and bool(answer)


def _value(trial: Trial) -> float:
    return float("inf") if trial.value is None else trial.value


def _stale(optimizer: Optimizer) -> int:
    """Return how many evaluations have been made since the best one."""
    first = 0 if optimizer.best is None else optimizer.best.id + 1
    return sum(trial.state != "pending" for trial in optimizer.trials[first:])
