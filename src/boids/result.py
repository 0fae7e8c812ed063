"""What a run found, in the form that SciPy's optimisers return."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, final

import numpy as np
from scipy.optimize import OptimizeResult

from boids.optimizer import Optimizer
from boids.records import FloatArray, Trial
from boids.space import Space
from boids.stopping import StopReason, in_full

#: Characters of a message at the most; an error may be as long as a log file.
_LONGEST = 500


@final
class Result(OptimizeResult):
    """The outcome of `boids.minimize`; its fields are attributes and keys.

    Attributes
    ----------
    x
        The best point in the user's units, None if every evaluation failed. With constraints it is the best feasible
        point, or the least infeasible one if none is feasible; with noise the one of the lowest posterior mean.
    fun
        Its value, nan if every evaluation failed; with noise its posterior mean (`observed` is what was measured).
    nfev
        Number of evaluations made, the failed ones included.
    success
        Whether a feasible point was found; without constraints, whether at least one evaluation succeeded.
    status
        Why the run ended, in a word: "budget", "space", "target", "timeout", "stagnation", "callback", "interrupted",
        "workers" or "store"; "running" if it has not.
    message
        The same in full.
    trials
        All trials, in the order in which they were asked for.
    history
        The best feasible value observed so far after each evaluation, nan until the first one (nfev,).
    method, seed
        What it takes to repeat the run.
    times
        Seconds spent in each phase.
    observed
        The value measured at `x`; differs from `fun` only with noise.
    constraints, feasible
        The black-box constraints' values at `x` (None without any), and whether all are ≤ 0.
    space
        The search space.
    diagnostics
        The method's own facts at the end of the run.
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
    observed: float
    constraints: FloatArray | None
    feasible: bool
    space: Space
    diagnostics: dict[str, Any]

    @classmethod
    def of(cls, optimizer: Optimizer, reason: StopReason) -> Result:
        """Return what an optimizer has found so far, and why it stopped."""
        best, trials = optimizer.best, optimizer.trials
        make: Any = cls  # a dict, which SciPy's type stubs do not show
        result: Result = make(
            x=None if best is None else _copied(best.params),
            fun=np.nan if best is None else optimizer.estimate,
            nfev=optimizer.n_told,
            success=best is not None and bool(best.feasible),
            status=reason.value,
            message=_message(optimizer, reason),
            trials=trials,
            history=_best_so_far(trials),
            method=optimizer.method,
            seed=optimizer.seed,
            times=optimizer.times,
            observed=np.nan if best is None else best.value,
            constraints=None if best is None or best.constraints is None else np.array(best.constraints),
            feasible=best is not None and bool(best.feasible),
            space=optimizer.space,
            diagnostics=optimizer.diagnostics,
        )
        return result

    @classmethod
    def load(cls, store: str | os.PathLike[str], run_id: str) -> Result:
        """Return what a run in a store has found so far, also while it is carried out."""
        optimizer, status = Optimizer.stored(store, run_id)
        optimizer.run.release()
        known = {reason.value: reason for reason in StopReason}
        return cls.of(optimizer, known.get(status, StopReason.RUNNING))

    def plot(self, path: str | os.PathLike[str] | None = None, **options: Any) -> Any:
        """Draw the run, and return the Matplotlib figure: convergence, subspaces, lines, importance, times.

        Needs the extra ``plot``. See `boids.plots.plot` for the options; `path` saves the figure.
        """
        from boids.plots import plot  # only here, for it imports Matplotlib

        return plot(self, path=path, **options)

    def __repr__(self) -> str:
        """Return a few lines, however many trials and parameters there are."""
        names = ["message", "success", "status", "fun", "x", "nfev", "method", "seed"]
        names += ["feasible"] * (self.get("constraints") is not None)
        return "\n".join(f"{name:>9}: {_shown(self[name])}" for name in names if name in self)


def _message(optimizer: Optimizer, reason: StopReason) -> str:
    """Say why the run ended and how it went."""
    told, failed, best = optimizer.n_told, optimizer.n_failed, optimizer.best
    sentences = [in_full(reason, optimizer.trials), *([] if optimizer.trouble is None else [str(optimizer.trouble)])]
    if best is None:
        if not told:
            return " ".join([*sentences, "No evaluation was finished."])
        first = next(trial.error for trial in optimizer.trials if trial.failed and trial.attempts)
        words = " ".join([*sentences, f"All {told} evaluations failed; the first error was: {first}"])
        return words if len(words) <= _LONGEST else words[: _LONGEST - 1] + "…"
    if failed:
        sentences.append(f"{failed} of {told} evaluations failed.")
    if not best.feasible:
        broken = sum(each > 0.0 for each in best.constraints or ())
        sentences.append(
            f"No feasible point was found; the least infeasible one violates {broken} of {optimizer.n_constraints} "
            f"constraints, by {best.violation:.3g} in all."
        )
    if optimizer.noisy:
        sentences.append(
            "x has the lowest posterior mean among the evaluated points, and fun is that mean, not a measured value."
        )
    return " ".join(sentences)


def _best_so_far(trials: tuple[Trial, ...]) -> FloatArray:
    """Return the running minimum after each evaluation, in the order in which they were asked for.

    Trials that were added with their outcomes take part in it, but are no evaluations.
    """
    finished = [trial for trial in trials if trial.state != "pending"]
    values = [trial.value if trial.feasible and trial.value is not None else np.nan for trial in finished]
    best: FloatArray = np.fmin.accumulate(np.array(values, dtype=float))
    return best[[trial.attempts > 0 for trial in finished]]


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
