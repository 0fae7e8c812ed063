"""`minimize`: the whole thing as one call, in the style of SciPy."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from boids import drive, recording
from boids.algorithms import Algorithm
from boids.drive import Lost, check_lost
from boids.errors import StoreError, shown
from boids.optimizer import Optimizer
from boids.records import Trial
from boids.result import Result
from boids.setup import Setup
from boids.stopping import Callback, StopReason, check_limits
from boids.values import positive_int
from boids.workers import ProcessWorkers, Workers, workers_for

_log = logging.getLogger("boids")

#: When so many evaluations have failed and none has succeeded, people hear of it.
ALARMING = 3


def minimize(
    fun: Callable[[Any], Any],
    space: Any,
    budget: int,
    *,
    method: str | Algorithm[Any] = "boids",
    seed: int | None = None,
    n_workers: int = 1,
    executor: Any = None,
    asynchronous: bool = False,
    vectorized: bool = False,
    noisy: bool = False,
    n_constraints: int = 0,
    linear_constraints: Any = (),
    penalty: float | None = None,
    x0: Any = None,
    trials: Any = None,
    eval_timeout: float | None = None,
    lost: Lost = "retry",
    timeout: float | None = None,
    target: float | None = None,
    patience: int | None = None,
    callback: Callback | None = None,
    store: str | os.PathLike[str] | None = None,
    run_id: str | None = None,
    progress: bool | None = None,
) -> Result:
    """Minimise an expensive function with exactly `budget` evaluations, or fewer if told to stop early.

    An evaluation that raises, or returns nan, ±inf, `boids.FAILED` or something that is not a number, counts as a
    failed evaluation, and the run goes on. Ctrl-C ends the run and returns what was found.

    Parameters
    ----------
    fun
        The objective: gets a point, returns a number. A point is a float array, or a dict for a named space. With
        constraints it returns ``(number, [c1, …])``; a `boids.Measurement` will do in any case.
    space
        A list of (low, high) pairs, a `scipy.optimize.Bounds` or a `boids.Space`.
    budget
        Number of evaluations.
    method
        A name such as "boids", or an algorithm with its settings such as ``boids.algorithms.Boids(particles=30)``.
    seed
        A non-negative integer makes the run reproducible; None draws one, which is in the result.
    n_workers
        How many evaluations to make at a time, each in a process of its own: any function will do, also a lambda, and
        one that crashes is a failed evaluation. With `executor`, 1 means as many as that has workers. Rows per call
        of a vectorised objective, after the initial design.
    executor
        Where to evaluate instead: an executor in the style of `concurrent.futures`, or that of a Dask client,
        ``client.get_executor()``. It is not shut down.
    asynchronous
        If true, a worker that is free gets a new point at once, so that the course of the run depends on timing. If
        false, points come in batches, and the run depends on its seed and `n_workers` alone.
    vectorized
        If true, `fun` gets q points as a (q, D) matrix, or for a named space as a dict of columns, and returns q
        numbers.
    noisy
        Whether two evaluations of one point may differ. Then the result is the point with the lowest posterior mean;
        otherwise no point is evaluated twice.
    n_constraints
        Number of black-box constraints, feasible where all are ≤ 0.
    linear_constraints
        Linear constraints on the parameters, which every proposal satisfies: `scipy.optimize.LinearConstraint`, or
        text such as "x[0] <= x[1]" in a box, or "tip <= root" and "sum(w) == 1" with names, or a list of these.
    penalty
        If given, black-box constraints are not modelled: the method minimises value + penalty · Σ max(0, c).
    x0
        A point, or a list of points, to evaluate first, such as the present design.
    trials
        What was evaluated before: finished trials, an earlier `Result`, or pairs (point, outcome). The method learns
        from them, and they do not count in the budget.
    eval_timeout
        Seconds that an evaluation may take; then it is ended and has failed. It takes place in another process.
    lost
        What to do about an evaluation whose worker was lost: "retry" makes it once more, "fail" counts it as failed.
    timeout
        Seconds after which no further evaluation is begun.
    target
        Stop at a value as low as this.
    patience
        Stop after so many evaluations without improvement.
    callback
        Called as ``callback(optimizer, trial)`` after every evaluation. Returning True or raising StopIteration stops
        the run; other exceptions are passed on.
    store
        A file to keep the run in, before and after every evaluation; see `boids.Store`.
    run_id
        What the run is called in the store; None makes a name. If it is there already, it is carried on with, or if it
        is finished its result is returned: the same call after a crash loses nothing.
    progress
        Whether to show a live line with the best value on standard error; off unless True.

    Returns
    -------
    Result
        The best point `x`, its value `fun`, all trials, and why the run ended; see `Result`.

    Examples
    --------
    >>> result = minimize(lambda x: float(x @ x), [(-5, 5)] * 2, 40, method="random", seed=0)
    >>> result.nfev, result.status
    (40, 'budget')
    """
    if not callable(fun):
        raise ValueError(f"fun must be callable, got {shown(fun)}.")
    placing = Placing(n_workers, executor, asynchronous, vectorized, eval_timeout, lost)
    placing.check(fun)
    check_limits(timeout, target, patience, callback)
    setup = Setup.of(space, budget, method, seed, noisy, n_constraints, linear_constraints, penalty, x0)
    with ExitStack() as stack:
        # Before anything that starts a thread: workers are forked.
        workers = placing.workers(fun, setup.budget)
        if workers is not None:
            stack.enter_context(workers)
        memory = fun if getattr(fun, "stateful", False) else None
        optimizer = _optimizer(setup, seed, trials, store, run_id, memory)
        if progress:
            from boids.progress import Progress  # only here, for it imports rich

            callback = _showing(stack.enter_context(Progress()), callback)
        reason: StopReason | None = None
        callback = _with_an_alarm(callback)
        try:
            reason = drive.run(
                optimizer,
                fun,
                workers=workers,
                vectorized=vectorized,
                # What the user has said does not depend on how many workers of a cluster have come by now.
                batch=n_workers if workers is None or n_workers > 1 else max(1, workers.size),
                asynchronous=asynchronous,
                lost=lost,
                timeout=timeout,
                target=target,
                patience=patience,
                callback=callback,
            )
        finally:
            _close(optimizer, reason)
    optimizer.run.release()
    return Result.of(optimizer, reason)


@final
@dataclass(frozen=True)
class Placing:
    """Where evaluations take place; see `minimize` for what the fields mean."""

    n_workers: Any
    executor: Any
    asynchronous: Any
    vectorized: Any
    eval_timeout: Any
    lost: Any

    def check(self, fun: Any) -> None:
        """Refuse what does not go together."""
        check_lost(self.lost)
        for name in ("asynchronous", "vectorized"):
            if not isinstance(getattr(self, name), (bool, np.bool_)):
                raise ValueError(f"{name} must be True or False, got {shown(getattr(self, name))}.")
        elsewhere = positive_int(self.n_workers, "n_workers") > 1 or self.executor is not None
        if elsewhere and getattr(fun, "stateful", False):
            raise ValueError(
                f"n_workers={self.n_workers} does not go with an objective that remembers its evaluations, "
                "whose values would depend on their order; use n_workers=1."
            )
        if self.vectorized:
            for name in ("executor", "eval_timeout"):
                if getattr(self, name) is not None:
                    raise ValueError(f"vectorized=True does not go with {name}, which is for one point at a time.")
            if getattr(fun, "stateful", False):
                raise ValueError("vectorized=True does not go with an objective that remembers its evaluations.")
            if self.asynchronous:
                raise ValueError("vectorized=True does not go with asynchronous=True: rows come together.")

    def workers(self, fun: Callable[[Any], Any], budget: int) -> Workers | None:
        """Return the workers, None for this process; not more processes than there will be evaluations."""
        if self.executor is not None:
            return workers_for(self.executor, fun, None if self.n_workers == 1 else self.n_workers, self.eval_timeout)
        if self.vectorized or (self.n_workers == 1 and self.eval_timeout is None):
            return None
        return ProcessWorkers(fun, min(self.n_workers, budget), timeout=self.eval_timeout)


def _optimizer(
    setup: Setup, seed: int | None, trials: Any, store: str | os.PathLike[str] | None, run_id: str | None, memory: Any
) -> Optimizer:
    """Return a new optimizer, or if the store has a run of this name that one.

    `memory` is the objective if it remembers its evaluations: what it remembers is kept with the run, and it is made
    to remember what it did when the run stopped.
    """
    if run_id is not None and store is None:
        raise ValueError(f"run_id={shown(run_id)} names a run in a store; say which with store=FILE.")
    known = None if store is None or run_id is None else recording.known(store, run_id, setup.algorithm)
    if store is not None and run_id is not None and known is not None:
        difference = setup.difference(known, ignored=() if seed is not None else ("seed",))
        if difference is not None:
            raise StoreError(
                f"The run {run_id!r} in {os.fspath(store)!r} has another {difference}; give the same arguments to go "
                "on with it, or another run_id for a new run, which can learn from this one's (trials=)."
            )
        optimizer = Optimizer.resume(store, run_id, method=setup.algorithm)
        if memory is not None and optimizer.kept is not None:
            if optimizer.kept.memory is not None:
                memory.restore(optimizer.kept.memory)
            optimizer.kept.remember(memory.state)
        return optimizer
    optimizer = Optimizer.of(setup)
    if trials is not None:
        optimizer.add_trials(trials)
    if store is not None:
        optimizer.keep(store, run_id=run_id, memory=None if memory is None else memory.state)
    return optimizer


def _close(optimizer: Optimizer, reason: StopReason | None) -> None:
    """Let go of the store; if that fails, everything before it is there, and the result is not to be lost."""
    try:
        optimizer.close("running" if reason is None else reason.value)
    except StoreError as error:
        optimizer.trouble = error


def _with_an_alarm(callback: Callback | None) -> Callback:
    """Return a callback that says in the log why evaluations fail, once, if the first ones all do.

    A mistake in the objective should not take a budget of hours to be noticed.
    """
    seen = 0

    def look(optimizer: Optimizer, trial: Trial) -> Any:
        nonlocal seen
        seen += 1
        if seen == ALARMING and all(each.failed for each in optimizer.trials if each.state != "pending"):
            _log.warning(
                "The first %d evaluations have all failed, the last one with %s. The run goes on; Ctrl-C ends it.",
                seen,
                (trial.error or "no value").rstrip("."),
            )
        return None if callback is None else callback(optimizer, trial)

    return look


def _showing(line: Any, callback: Callback | None) -> Callback:
    """Return a callback that updates the progress line before it calls the user's own."""

    def update(optimizer: Optimizer, trial: Trial) -> Any:
        line.update(optimizer, trial)
        return None if callback is None else callback(optimizer, trial)

    return update
