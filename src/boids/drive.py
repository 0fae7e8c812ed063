"""The generic loop: run an optimizer on a callable until its budget ends or something else stops it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence, Set
from enum import StrEnum
from typing import Any

import numpy as np

from boids.errors import SpaceExhausted, TellError, shown
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
    SPACE = "space"
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
    StopReason.SPACE: "No untried point of the space could be found, so the run ended before its budget.",
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
        The objective. It gets a point in the user's units and returns a number, with black-box constraints
        ``(number, [c1, …])``, or a `boids.Measurement`; see `vectorized`.
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
            if target is not None and _reached(optimizer, target):
                return StopReason.TARGET
            if not queue and not optimizer.remaining:
                return StopReason.BUDGET if optimizer.n_asked == optimizer.budget else StopReason.SPACE
            if patience is not None and stale >= patience:
                return StopReason.STAGNATION
            if timeout is not None and clock() - begun >= timeout:
                return StopReason.TIMEOUT
            if not queue:
                free = min(optimizer.ready, MOST_ROWS) if vectorized and batch == 1 else 1
                try:
                    queue = optimizer.ask(max(batch, free))
                except SpaceExhausted:
                    return StopReason.SPACE
            group = queue if vectorized else queue[:1]
            queue = queue[len(group) :]

            former = optimizer.best
            done = _evaluate(optimizer, fun, group, vectorized)
            best = optimizer.best
            stale += len(done)
            if best is not None and (former is None or best.id != former.id):
                # A better point, or with noise one that looks better by now.
                stale = sum(trial.id > best.id for trial in done) if best.id >= done[0].id else 0
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
        values = _rows(fun(points), len(trials), optimizer.n_constraints) if vectorized else [fun(points)]
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


def _rows(values: Any, count: int, n_constraints: int) -> list[Any]:
    """Return what a vectorised objective returned as a list of `count` results.

    With constraints it may be a pair of all values and a (q, C) matrix, as well as a list of q pairs.
    """
    if n_constraints and isinstance(values, tuple) and len(values) == 2 and _is_table(values[1], n_constraints):
        numbers = _rows(values[0], count, 0)
        return list(zip(numbers, _rows(values[1], count, 0), strict=True))
    try:
        rows = list(values)
    except TypeError:  # a bare number, which will do for a single row
        rows = [values]
    if len(rows) != count or isinstance(values, (str, bytes, Mapping, Set)):
        got = f"{type(values).__name__} with {len(rows)}"
        raise ValueError(f"a vectorized objective must return one value per row, {count} here, got {got}")
    return rows


def _is_table(constraints: Any, n_constraints: int) -> bool:
    """Whether this is a matrix with a row of constraints for every point; an array of numbers if there is only one."""
    try:
        array = np.asarray(constraints, dtype=float)
    except (TypeError, ValueError):
        return False
    return array.ndim == 2 or (n_constraints == 1 and array.ndim == 1 and isinstance(constraints, np.ndarray))


def _check_limits(batch: Any, timeout: Any, target: Any, patience: Any, callback: Any) -> None:
    positive_int(batch, "batch")
    if timeout is not None and real_number(timeout, "timeout") <= 0:
        raise ValueError(f"timeout must be a positive number of seconds, got {shown(timeout)}.")
    if target is not None:
        real_number(target, "target")
    if patience is not None:
        positive_int(patience, "patience")
    if callback is not None and not callable(callback):
        raise ValueError(f"callback must be callable, got {shown(callback)}.")


def _stops(callback: Callback, optimizer: Optimizer, trial: Trial) -> bool:
    try:
        answer = callback(optimizer, trial)
    except StopIteration:
        return True
    return isinstance(answer, (bool, np.bool_)) and bool(answer)


def _reached(optimizer: Optimizer, target: float) -> bool:
    """Whether a feasible point is as good as the target."""
    best, value = optimizer.best, optimizer.estimate
    return best is not None and value is not None and bool(best.feasible) and value <= target


def _stale(optimizer: Optimizer) -> int:
    """Return how many evaluations have been made since the best one."""
    first = 0 if optimizer.best is None else optimizer.best.id + 1
    return sum(trial.state != "pending" for trial in optimizer.trials[first:])
