"""Where BOIDS had better not go: modelled black-box constraints and failures, weighed against the objective.

The paper has neither. Constraints are modelled one by one, as in Eriksson & Poloczek, *Scalable Constrained Bayesian
Optimization*, AISTATS 2021, rather than as a penalty in the objective, whose kinks no Gaussian process follows; but
with one kernel for all of them, so that dozens share a factorisation and cost little more than one, and weighed in as
an exact penalty, whose weight grows while nothing feasible is found.

Failures are a further function, +1 where an evaluation failed and -1 where it did not. Crashes that fill a region are
avoided so; crashes that strike at random, which no model explains, leave the function below zero almost everywhere.

Notation
--------
Z       successful rows of the current run, in the subspace                        (n, d)
c_j     constraint j in units of its standard deviation, feasible where c_j ≤ 0    (n, C)
m_j     margin: half the error of the latest leave-one-out predictions             (C,)
ρ       weight of violations, in standard deviations of the objective              scalar
v(z)    ρ Σ_j max(0, c_j(z) + m_j) + W max(0, failure(z))                          (q,)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
from numpy.typing import DTypeLike, NDArray

from boids.blocks.merit import violations
from boids.gp.model import Surrogate
from boids.gp.paths import Path, mean_path
from boids.gp.posterior import Posterior
from boids.records import BoolArray, FloatArray

#: The constraints' process: the objective's default, which has been tried more than any other.
CONSTRAINTS = Surrogate.regularised()
#: The process of failures: labels that chance decides are all noise, so the noise is free.
FAILURES = replace(Surrogate.regularised(), noise_bounds=(1e-3, 2.0), noise_prior="none")

_LARGEST = float(np.finfo(float).max)
#: ρ to begin with, and the number of evaluations in a row without a feasible point that doubles it. A small weight
#: lets the objective lead at first: the way to good feasible points is shorter from good infeasible ones.
_FIRST_WEIGHT, _DOUBLING = 0.3, 30.0
#: m_j in errors of the latest predictions, and how many these are.
_MARGIN, _LATEST = 0.5, 20
#: W, in standard deviations of the objective: a failure teaches nothing about it.
_FAILURE_WEIGHT = 10.0
#: The least chance of a success that is believed in.
_LEAST_CHANCE = 1e-3
#: A constraint whose larger values, among the less infeasible half of the rows, stay so many standard deviations below
#: zero is not at stake, and has no say in the kernel.
_AT_STAKE, _LARGER = -0.5, 0.9


def scaled(constraints: FloatArray, like: FloatArray | None = None) -> FloatArray:
    """Return c: every constraint in units of its standard deviation, or of that of `like`; 0 where it was 0."""
    # Divided by the largest magnitude first, so that squares neither overflow nor underflow.
    like = constraints if like is None else like
    size = np.abs(like).max(axis=0)
    size = np.where(size > 0.0, size, 1.0)
    spread = (like / size).std(axis=0)
    with np.errstate(over="ignore"):  # of a few, when others are larger by hundreds of orders of magnitude
        c = constraints / size / np.where(spread > 1e-14, spread, 1.0)
    return np.asarray(np.clip(c, -_LARGEST, _LARGEST))


def at_stake(c: FloatArray) -> BoolArray:
    """Return which constraints are violated, or nearly so, where it matters; all if none is."""
    total = violations(c)
    better = c[np.argsort(total, kind="stable")[: max(10, len(c) // 2)]]
    mask = np.quantile(better, _LARGER, axis=0) > _AT_STAKE
    return np.asarray(mask if mask.any() else ~mask)


def penalty_weight(c: FloatArray, design: int) -> float:
    """Return ρ after these rows, of which the first `design` are the initial design."""
    infeasible = violations(c[design:]) > 0.0
    feasible = np.flatnonzero(~infeasible)
    since = len(infeasible) - (int(feasible[-1]) + 1 if len(feasible) else 0)
    return float(_FIRST_WEIGHT * 2.0 ** min(since / _DOUBLING, 20.0))


def margins(posterior: Posterior) -> FloatArray:
    """Return m: the safety distance that the latest mistakes call for."""
    latest = posterior.leave_one_out()[-_LATEST:]
    return np.asarray(_MARGIN * np.sqrt((latest * latest).mean(axis=0)))


@final
@dataclass(frozen=True)
class Limit:
    """weight · Σ max(0, mean(z)) for one function or several."""

    mean: Path
    weight: float

    def cost(self, means: NDArray[Any], ndim: int) -> NDArray[Any]:
        """Return the weighted violation for means that have `ndim` dimensions, and one more if they are several."""
        positive = np.maximum(means, 0.0)
        total: NDArray[Any] = positive.sum(axis=-1) if positive.ndim > ndim else positive
        total *= self.weight
        return total

    def slopes(self, points: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the weighted violation (q,) and its gradients (q, d): of the functions that are above zero."""
        means, by_update = self.mean.with_slopes(points)
        means = means.reshape(len(points), -1)
        above = means > 0.0
        cost = self.weight * np.where(above, means, 0.0).sum(axis=1)
        return cost, self.weight * by_update(above)


@final
@dataclass(frozen=True)
class Limits:
    """v(z), the modelled cost of violating constraints and of failing."""

    constraints: Limit | None
    failures: Limit | None

    @property
    def parts(self) -> tuple[Limit, ...]:
        """Those that there are."""
        return tuple(part for part in (self.constraints, self.failures) if part is not None)

    @classmethod
    def of(
        cls,
        constraints: Posterior | None,
        margin: float | FloatArray,
        weight: float,
        failures: Posterior | None,
        dtype: DTypeLike,
        centre: FloatArray,
    ) -> Limits | None:
        """Return v for the models that there are, most exact around `centre`; None if there is none."""
        if constraints is None and failures is None:
            return None
        first = second = None
        if constraints is not None:
            mean = mean_path(constraints, dtype, centre)
            first = Limit(replace(mean, mean=np.asarray(mean.mean) + margin), weight)
        if failures is not None:
            second = Limit(mean_path(failures, dtype, centre), _FAILURE_WEIGHT)
        return cls(first, second)

    def __call__(self, points: NDArray[Any]) -> NDArray[Any]:
        """Return v at points (q, d)."""
        return _sum([part.cost(part.mean(points), 1) for part in self.parts])

    def log_success(self, points: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return log p (q,) and its gradients (q, d), where p = (1 - failure(z)) / 2 is the chance of a success."""
        if self.failures is None:
            return np.zeros(len(points)), np.zeros_like(points)
        label, slope = self.failures.mean.with_slopes(points)
        chance = 0.5 * (1.0 - label[:, 0])
        inside = (chance > _LEAST_CHANCE) & (chance < 1.0)
        gradient = -0.5 * slope(inside[:, None]) / np.maximum(chance, _LEAST_CHANCE)[:, None]
        return np.log(np.clip(chance, _LEAST_CHANCE, 1.0)), gradient

    def on_lines(self, origins: FloatArray, directions: FloatArray, t: FloatArray) -> NDArray[Any]:
        """Return v at origins[i] + t[i, j] directions[i], (m, k)."""
        return _sum([part.cost(part.mean.on_lines(origins, directions, t), 2) for part in self.parts])


def _sum(costs: Sequence[NDArray[Any]]) -> NDArray[Any]:
    total: NDArray[Any] = costs[0]
    for cost in costs[1:]:
        total = total + cost
    return total
