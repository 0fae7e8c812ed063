"""A run as arrays, one entry per finished evaluation, in the order in which the points were asked for.

======  ============================================================
symbol  meaning
======  ============================================================
n       number of finished evaluations, the failed ones included
D       number of encoded coordinates
======  ============================================================
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from boids.importance import Importance, bars, parameter_importance
from boids.records import FloatArray, IntArray

#: The line of an evaluation that belongs to an initial design, and of one that is on no line, but part of a sweep.
DESIGN, SWEEP = -1, -2
_SWEPT = ("coordinate", "descent")
#: Larger values are drawn as if they were as large as this: the length of an axis must not overflow.
_LARGEST = 1e300


@final
@dataclass(frozen=True, eq=False)
class RunRecord:
    """What there is to draw of a run; nan marks what an evaluation does not have.

    Attributes
    ----------
    units, values
        The points (n, D) and their values (n,), nan for failures.
    failed, infeasible
        Which evaluations failed, and which broke a constraint (n,).
    best
        The best feasible value so far (n,), nan until there is one.
    estimate
        The model's value of the best point if the objective is noisy, nan otherwise.
    dims, factors, lines, restarts
        The subspace's dimension, the termination factor K, the line (or `DESIGN`, or `SWEEP`) and the number of
        restarts so far (n,).
    n_lines
        Number of lines to choose from, or up to the last one that was chosen if that is all there is to know.
    labels, owner
        Names of the coordinates (D,), and which parameter each belongs to (D,).
    times
        Seconds by phase.
    method
        The method's name.
    """

    units: FloatArray
    values: FloatArray
    failed: NDArray[np.bool_]
    infeasible: NDArray[np.bool_]
    best: FloatArray
    estimate: float
    dims: FloatArray
    factors: FloatArray
    lines: FloatArray
    restarts: FloatArray
    n_lines: int
    labels: tuple[str, ...]
    owner: IntArray
    times: Mapping[str, float]
    method: str

    @classmethod
    def of(cls, result: Any, space: Any = None) -> RunRecord:
        """Return the record of a result."""
        trials = [trial for trial in result.trials if trial.state != "pending"]
        failed = np.array([trial.failed for trial in trials], dtype=bool)
        infeasible = np.array([getattr(trial, "feasible", None) is False for trial in trials], dtype=bool) & ~failed
        values = np.array([np.nan if trial.value is None else trial.value for trial in trials], dtype=float)
        values = np.clip(np.where(np.isfinite(values) & ~failed, values, np.nan), -_LARGEST, _LARGEST)
        space = getattr(result, "space", None) if space is None else space
        units = np.array([trial.unit for trial in trials], dtype=float)
        dim = units.shape[1] if trials else 0 if space is None else space.dim
        labels, owner = _parameters(space, dim)

        def facts(key: str) -> FloatArray:
            return np.array([_number(trial.info.get(key)) for trial in trials], dtype=float)

        swept = np.array([trial.info.get("phase") in _SWEPT for trial in trials], dtype=bool)
        lines = np.where(swept, float(SWEEP), facts("line"))
        moves = getattr(result, "diagnostics", {}).get("line_moves", ())
        return cls(
            units=units.reshape(len(trials), dim),
            values=values,
            failed=failed | np.isnan(values),
            infeasible=infeasible,
            best=_best_so_far(np.where(infeasible, np.nan, values)),
            estimate=_estimate(result),
            dims=facts("dim"),
            factors=facts("K"),
            lines=lines,
            restarts=facts("restarts"),
            n_lines=max([len(moves) if np.any(lines >= 0) else 0, *(lines[lines >= 0].astype(int) + 1).tolist()]),
            labels=labels,
            owner=owner,
            times=dict(getattr(result, "times", {})),
            method=str(getattr(result, "method", "")),
        )

    @property
    def n(self) -> int:
        """Number of finished evaluations."""
        return len(self.values)

    @property
    def count(self) -> IntArray:
        """1 … n: the axis of the run."""
        return np.arange(1, self.n + 1)

    @property
    def improved(self) -> NDArray[np.bool_]:
        """Which evaluations were better than all before (n,)."""
        before = np.concatenate([[np.nan], self.best[:-1]]) if self.n else self.best
        better: NDArray[np.bool_] = ~np.isnan(self.best) & (np.isnan(before) | (self.best < before))
        return better

    @property
    def has_factor(self) -> bool:
        """Whether the method has a termination factor K."""
        return bool(np.isfinite(self.factors).any())

    @property
    def restarted(self) -> IntArray:
        """Numbers of the evaluations, from 1, before which the method started again."""
        return 2 + np.flatnonzero(np.diff(self.restarts) > 0) if self.n > 1 else np.empty(0, dtype=np.int64)

    @property
    def headline(self) -> str:
        """The run in a line."""
        parameters = len(bars(self.labels, self.owner)[1])
        parts = [self.method] if self.method else []
        parts += [f"{parameters} parameter{'s' * (parameters != 1)}"] if parameters else []
        evaluations = f"{self.n} evaluation{'s' * (self.n != 1)}"
        found = self.best[np.isfinite(self.best)]
        if found.size:
            is_noisy = bool(np.isfinite(self.estimate))
            value = minus(f"{self.estimate if is_noisy else found[-1]:.6g}")
            parts.append(f"{'best estimate' if is_noisy else 'best'} {value} after {evaluations}")
        elif self.n and self.failed.all():
            parts.append(f"all {evaluations} failed" if self.n > 1 else "the only evaluation failed")
        else:
            parts.append(f"no feasible point in {evaluations}" if self.infeasible.any() else evaluations)
        if self.failed.any() and not self.failed.all():
            parts.append(f"{int(self.failed.sum())} failed")
        return "  ·  ".join(parts)

    def shows(self, part: str) -> bool:
        """Whether the run has something to show in a panel."""
        if part == "subspace":
            return bool(np.isfinite(self.dims).any())
        if part == "lines":
            return self.n_lines > 0
        if part == "time":
            return any(seconds > 0.0 for seconds in self.times.values())
        return True

    def importance(self) -> Importance:
        """Return how much each parameter mattered."""
        return parameter_importance(self.units, self.values, self.labels, self.owner)


def minus(text: str) -> str:
    """Return a number's text with the minus sign of print."""
    return text.replace("-", "\N{MINUS SIGN}")


def _number(value: Any) -> float:
    return float(value) if isinstance(value, (int, float, np.number)) else np.nan


def _estimate(result: Any) -> float:
    """Return the value that a model gives to the best point of a noisy run, nan without noise."""
    value, observed = getattr(result, "fun", np.nan), getattr(result, "observed", np.nan)
    return float(value) if np.isfinite(value) and np.isfinite(observed) and value != observed else np.nan


def _best_so_far(values: FloatArray) -> FloatArray:
    best: FloatArray = np.fmin.accumulate(values)
    return best


def _parameters(space: Any, dim: int) -> tuple[tuple[str, ...], IntArray]:
    """Return the coordinates' names, and which parameter each belongs to; those of a plain box without a space."""
    labels, owner = tuple(map(str, getattr(space, "labels", ()))), np.asarray(getattr(space, "owner", ()))
    if len(labels) != dim or owner.shape != (dim,):
        return tuple(f"x[{i}]" for i in range(dim)), np.arange(dim)
    return labels, owner
