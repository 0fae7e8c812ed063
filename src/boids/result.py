"""What a run found, in the form that SciPy's optimisers return."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, final

import numpy as np
from scipy.optimize import OptimizeResult

from boids.drive import StopReason
from boids.optimizer import Optimizer
from boids.records import FloatArray, Trial


@final
class Result(OptimizeResult):
    """The outcome of `boids.minimize`; its fields are attributes and keys.

    Attributes
    ----------
    x
        The best point in the user's units, None if every evaluation failed.
    fun
        Its value, nan if every evaluation failed.
    nfev
        Number of evaluations made, the failed ones included.
    success
        Whether at least one evaluation succeeded.
    status
        Why the run ended, in a word: "budget", "target", "timeout", "stagnation", "callback" or "interrupted".
    message
        The same in full.
    trials
        All trials, in the order in which they were asked for.
    history
        The best value so far after each evaluation, nan until the first success (nfev,).
    method, seed
        What it takes to repeat the run.
    times
        Seconds spent in each phase.
    """

    x: Any
    fun: float
    nfev: int
    success: bool
    status: str
    message: str
    trials: tuple[Trial, ...]
    history: FloatArray
    method: str
    seed: int
    times: dict[str, float]

    @classmethod
    def of(cls, optimizer: Optimizer, reason: StopReason) -> Result:
        """Return what an optimizer has found so far, and why it stopped."""
        best, trials = optimizer.best, optimizer.trials
        make: Any = cls  # a dict, which SciPy's type stubs do not show
        result: Result = make(
            x=None if best is None else _copied(best.params),
            fun=np.nan if best is None else best.value,
            nfev=optimizer.n_told,
            success=best is not None,
            status=reason.value,
            message=_message(optimizer, reason),
            trials=trials,
            history=_best_so_far(trials),
            method=optimizer.method,
            seed=optimizer.seed,
            times=optimizer.times,
        )
        return result

    def __repr__(self) -> str:
        """Return a few lines, however many trials and parameters there are."""
        names = ("message", "success", "status", "fun", "x", "nfev", "method", "seed")
        return "\n".join(f"{name:>9}: {_shown(self[name])}" for name in names if name in self)


def _message(optimizer: Optimizer, reason: StopReason) -> str:
    """Say why the run ended and how it went."""
    told, failed = optimizer.n_told, optimizer.n_failed
    if optimizer.best is not None:
        return reason.sentence + (f" {failed} of {told} evaluations failed." if failed else "")
    if not told:
        return f"{reason.sentence} No evaluation was finished."
    first = next(trial.error for trial in optimizer.trials if trial.failed)
    return f"{reason.sentence} All {told} evaluations failed; the first error was: {first}"


def _best_so_far(trials: tuple[Trial, ...]) -> FloatArray:
    """Return the running minimum over the finished trials, in the order in which they were asked for."""
    values = [np.nan if trial.value is None else trial.value for trial in trials if trial.state != "pending"]
    best: FloatArray = np.fmin.accumulate(np.array(values, dtype=float))
    return best


def _copied(params: Any) -> Any:
    """Return a point that its owner may change."""
    if isinstance(params, dict):
        return {name: _copied(value) for name, value in params.items()}
    return params.copy() if isinstance(params, np.ndarray) else params


def _shown(value: Any, limit: int = 6) -> str:
    """Return a value as text of a few items."""
    if isinstance(value, np.ndarray):
        return np.array2string(value, threshold=limit, edgeitems=limit // 2, precision=6, max_line_width=200)
    if isinstance(value, Mapping):
        items = [f"{key!r}: {_shown(item)}" for key, item in list(value.items())[:limit]]
        more = [f"… {len(value) - limit} more"] if len(value) > limit else []
        return "{" + ", ".join(items + more) + "}"
    return str(value)
