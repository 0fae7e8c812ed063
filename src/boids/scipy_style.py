"""`minimize`: the whole thing as one call, in the style of SciPy."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from boids import drive
from boids.algorithms import Algorithm
from boids.drive import Callback
from boids.errors import shown
from boids.optimizer import Optimizer
from boids.records import Trial
from boids.result import Result
from boids.values import positive_int


def minimize(
    fun: Callable[[Any], Any],
    space: Any,
    budget: int,
    *,
    method: str | Algorithm[Any] = "boids",
    seed: int | None = None,
    n_workers: int = 1,
    vectorized: bool = False,
    noisy: bool = False,
    n_constraints: int = 0,
    linear_constraints: Any = (),
    penalty: float | None = None,
    timeout: float | None = None,
    target: float | None = None,
    patience: int | None = None,
    callback: Callback | None = None,
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
        Rows per call of a vectorised objective, after the initial design.
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
        text such as "x1 <= x2" or "sum(w) == 1", or a list of these.
    penalty
        If given, black-box constraints are not modelled: the method minimises value + penalty · Σ max(0, c).
    timeout
        Seconds after which no further evaluation is begun.
    target
        Stop at a value as low as this.
    patience
        Stop after so many evaluations without improvement.
    callback
        Called as ``callback(optimizer, trial)`` after every evaluation. Returning True or raising StopIteration stops
        the run; other exceptions are passed on.
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
    if positive_int(n_workers, "n_workers") > 1 and not vectorized:
        raise ValueError(
            f"n_workers={n_workers} needs vectorized=True, an objective that takes several points at once."
        )
    if n_workers > 1 and getattr(fun, "stateful", False):
        raise ValueError(
            f"n_workers={n_workers} does not go with an objective that remembers its evaluations, "
            "whose values would depend on their order; use n_workers=1."
        )
    optimizer = Optimizer(
        space,
        budget=budget,
        method=method,
        seed=seed,
        noisy=noisy,
        n_constraints=n_constraints,
        linear_constraints=linear_constraints,
        penalty=penalty,
    )
    with ExitStack() as stack:
        if progress:
            from boids.progress import Progress  # only here, for it imports rich

            callback = _showing(stack.enter_context(Progress()), callback)
        reason = drive.run(
            optimizer,
            fun,
            vectorized=vectorized,
            batch=n_workers,
            timeout=timeout,
            target=target,
            patience=patience,
            callback=callback,
        )
    return Result.of(optimizer, reason)


def _showing(line: Any, callback: Callback | None) -> Callback:
    """Return a callback that updates the progress line before it calls the user's own."""

    def update(optimizer: Optimizer, trial: Trial) -> Any:
        line.update(optimizer, trial)
        return None if callback is None else callback(optimizer, trial)

    return update
