"""Finding the point of a box with the largest expected improvement: many candidates, a few of them climbed.

Candidates all over the box and around the best points seen, Boltzmann-weighted starts among them, and L-BFGS-B from
each with the gradients of the predicted mean and variance: Balandat et al., *BoTorch*, NeurIPS 2020. In high dimensions
the candidates around the best are essential: Hvarfner, Hellsten & Nardi, ICML 2024. The logarithm of the expected
improvement has a gradient everywhere: Ament et al., NeurIPS 2023.

Notation
--------
μ, s²   predicted mean and variance                     (q,), or (S, q) for S models
y*      best value so far
u       (y* - μ) / s
alpha   acquisition value, to be minimised: -log EI     (q,)

With S models the improvement is the mean of theirs.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeAlias, final

import numpy as np
from scipy.optimize import Bounds, minimize
from scipy.special import logsumexp, ndtr, ndtri

from boids.blocks.acquisition import log_h, log_h_with_slope
from boids.records import BoolArray, FloatArray, IntArray

#: Points (q, d) -> mean and variance.
Moments: TypeAlias = Callable[[FloatArray], tuple[FloatArray, FloatArray]]
#: Points (q, d) -> mean and variance, and their gradients (q, d) or (S, q, d).
MomentSlopes: TypeAlias = Callable[[FloatArray], tuple[FloatArray, FloatArray, FloatArray, FloatArray]]

#: About so many coordinates are changed at a time by every other candidate around the best (BoTorch).
COORDINATES_CHANGED = 20
#: The share of the evaluated points that counts as the best (BoTorch).
BEST_SHARE = 0.05
#: Halvings of the way from a start to a forbidden end.
_HALVINGS = 30


class Acquisition(Protocol):
    """Something to be minimised over points, with gradients."""

    def values(self, points: FloatArray) -> FloatArray:
        """Return alpha (q,)."""

    def slopes(self, points: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return alpha (q,) and its gradients (q, d)."""


@final
@dataclass(frozen=True)
class LogImprovement:
    """alpha = -log EI; its minimiser is that of -EI, without the plains of zero gradient.

    `best` is y*, or each model's own (S, 1).
    """

    moments: Moments
    moment_slopes: MomentSlopes
    best: float | FloatArray

    def values(self, points: FloatArray) -> FloatArray:
        """Return alpha (q,)."""
        mean, variance = self.moments(points)
        deviation = np.sqrt(variance)
        log_ei = log_h((self.best - mean) / deviation) + np.log(deviation)
        return -log_ei if log_ei.ndim == 1 else np.asarray(math.log(len(log_ei)) - logsumexp(log_ei, axis=0))

    def slopes(self, points: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return alpha (q,) and its gradients (q, d)."""
        mean, variance, mean_slope, variance_slope = self.moment_slopes(points)
        deviation = np.sqrt(variance)
        u = (self.best - mean) / deviation
        # log EI = log h(u) + log s: ∂/∂μ = -r/s and ∂/∂s² = (1 - u r) / (2 s²) with r = d log h / du
        log_ei, ratio = log_h_with_slope(u)
        log_ei = log_ei + np.log(deviation)
        by_mean = -ratio / deviation
        by_variance = 0.5 * (1.0 - u * ratio) / variance
        slope = by_mean[..., None] * mean_slope + by_variance[..., None] * variance_slope
        if log_ei.ndim == 1:
            return -log_ei, -slope
        total = logsumexp(log_ei, axis=0)
        shares = np.exp(log_ei - total)
        return np.asarray(math.log(len(log_ei)) - total), -np.einsum("sq,sqd->qd", shares, slope)


def best_rows(values: FloatArray, share: float = BEST_SHARE) -> IntArray:
    """Return the indices of the best `share` of the values, at least one, best first."""
    count = max(1, math.ceil(share * len(values)))
    return np.argsort(values, kind="stable")[:count].astype(np.int64)


def around(
    best: FloatArray, count: int, rng: np.random.Generator, spread: float = 0.2, low: float = -1.0, high: float = 1.0
) -> FloatArray:
    """Return points around random rows of `best` (k, d): normal with deviation `spread`, cut off at the box.

    The first half differ in every coordinate, the others in about `COORDINATES_CHANGED` of them.
    """
    centres = np.clip(best[rng.integers(len(best), size=count)], low, high)
    below, above = ndtr((low - centres) / spread), ndtr((high - centres) / spread)
    drawn = centres + spread * ndtri(below + (above - below) * rng.random(centres.shape))
    dim = centres.shape[1]
    if dim > COORDINATES_CHANGED:
        changed = rng.random(centres.shape) < COORDINATES_CHANGED / dim
        changed[np.arange(count), rng.integers(dim, size=count)] = True
        changed[: count // 2] = True
        drawn = np.where(changed, drawn, centres)
    return np.clip(drawn, low, high)


def boltzmann(values: FloatArray, count: int, rng: np.random.Generator) -> IntArray:
    """Return the indices of `count` different rows: the least value, and others with weights exp(-standardised)."""
    values = np.where(np.isfinite(values), values, np.inf)
    count = min(count, len(values))
    finite = values[np.isfinite(values)]
    spread = float(finite.std()) if len(finite) else 0.0
    keys = -(values - finite.mean()) / spread if spread else np.where(np.isfinite(values), 0.0, -np.inf)
    # The largest of logarithmic weight + Gumbel noise are a draw without replacement.
    keys = keys + rng.gumbel(size=len(values))
    keys[np.argmin(values)] = np.inf
    return np.argsort(-keys, kind="stable")[:count].astype(np.int64)


def climb(
    acquisition: Acquisition,
    start: FloatArray,
    max_evaluations: int,
    low: float | FloatArray = -1.0,
    high: float | FloatArray = 1.0,
) -> tuple[FloatArray, float]:
    """Return where L-BFGS-B gets to from a start (d,) inside the box, and alpha there."""

    def loss(point: FloatArray) -> tuple[float, FloatArray]:
        value, slope = acquisition.slopes(point[None, :])
        return float(value[0]), slope[0]

    found = minimize(
        loss,
        start,
        jac=True,
        method="L-BFGS-B",
        bounds=Bounds(np.broadcast_to(low, start.shape), np.broadcast_to(high, start.shape)),
        options={"maxfun": max_evaluations, "maxiter": max_evaluations, "ftol": 1e-6, "gtol": 1e-5},
    )
    return np.clip(found.x, low, high), float(found.fun)


def maximise(
    acquisition: Acquisition,
    candidates: FloatArray,
    rng: np.random.Generator,
    starts: int = 4,
    max_evaluations: int = 200,
    low: float = -1.0,
    high: float = 1.0,
    allowed: Callable[[FloatArray], BoolArray] | None = None,
    greedy: bool = False,
) -> FloatArray:
    """Return the best point (d,) found from the candidates (q, d).

    Parameters
    ----------
    starts
        How many candidates are climbed from.
    max_evaluations
        Of alpha and its gradient, per start.
    allowed
        Which points (q, d) of a convex part of the box may be proposed; None if all. A climb that leaves it is cut
        short where it does.
    greedy
        Whether the best candidates are climbed from, rather than Boltzmann-weighted ones.
    """
    if allowed is not None:
        inside = candidates[allowed(candidates)]
        candidates = inside if len(inside) else candidates
    values = acquisition.values(candidates)
    values = np.where(np.isnan(values), np.inf, values)
    chosen = np.argsort(values, kind="stable")[:starts] if greedy else boltzmann(values, starts, rng)
    best, least = candidates[chosen[0]], float(values[chosen[0]])
    for start in candidates[chosen]:
        point, value = climb(acquisition, start, max_evaluations, low, high)
        if allowed is not None and not allowed(point[None, :])[0]:
            point = cut_short(start, point, allowed)
            value = float(acquisition.values(point[None, :])[0])
        if value < least:
            best, least = point, value
    return np.asarray(best)


def cut_short(start: FloatArray, end: FloatArray, allowed: Callable[[FloatArray], BoolArray]) -> FloatArray:
    """Return the last allowed point on the way from an allowed start to an end that is not."""
    inside, outside = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = 0.5 * (inside + outside)
        if allowed((start + middle * (end - start))[None, :])[0]:
            inside = middle
        else:
            outside = middle
    return np.asarray(start + inside * (end - start))
