"""The point of a polytope in the unit cube that is nearest to a given point, by Newton's method on the dual.

Minimise ½ Σ w (y - p)² over the cube under l ≤ A y ≤ h. There are few rows and perhaps a thousand columns, so the
multipliers are the better unknowns. For multipliers λ the Lagrangian is least at y(λ) = clip(p - Gᵀλ / w, 0, 1), and
the negative dual, to be minimised over λ ≥ 0 (equations: any λ), is convex and piecewise quadratic, with the gradient
g - G y(λ) and on each piece the Hessian G diag(inside / w) Gᵀ. Newton steps with an exact line search end after
finitely many pieces, at rounding accuracy (Qi & Sun, "A nonsmooth version of Newton's method", Mathematical
Programming 58, 1993).

======  ============================================================================  ==============
symbol  meaning                                                                       shape
======  ============================================================================  ==============
k, m    number of columns and rows
y, p    the point looked for, the point given                                         (k,)
A       the rows; those of a constraint are scaled to Σ_j |A_ij| = 1                  (m, k)
l, h    lower and upper bounds of A y, equal for an equation, perhaps infinite        (m,)
w       weights of the squared distances                                              (k,)
G, g    the same rows one-sided, equations first: G y = g, then G y ≤ g               (r, k), (r,)
λ       multipliers of G                                                              (r,)
free    p - Gᵀλ / w, the point before it is clipped; a column is inside if 0 ≤ free ≤ 1  (k,)
======  ============================================================================  ==============
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import solve_triangular
from scipy.optimize import nnls
from scipy.sparse import csr_array

from boids.records import BoolArray, FloatArray

# Residual of the rows at which the multipliers are good enough; rounding leaves some 1e-16.
_RESIDUAL = 1e-13
# No problem seen so far took more than 40 steps; a polytope that is empty takes all of them.
_STEPS = 100
# Sparse products pay off for so many entries, of which such a share is not zero.
_MANY, _SPARSE = 20_000, 0.1


def project(rows: FloatArray, lower: FloatArray, upper: FloatArray, point: FloatArray, w: FloatArray) -> FloatArray:
    """Return the y nearest to `point`; if no y satisfies the rows, one that violates them as little as was seen."""
    equation = lower == upper
    above, below = np.isfinite(upper) & ~equation, np.isfinite(lower) & ~equation
    matrix = np.concatenate([rows[equation], rows[above], -rows[below]])
    bounds = np.concatenate([upper[equation], upper[above], -lower[below]])
    signed = np.arange(len(matrix)) >= np.count_nonzero(equation)  # λ ≥ 0
    scale = (matrix * matrix) @ (1.0 / w)  # the Hessian's diagonal with every column inside
    scale[scale == 0.0] = 1.0

    is_sparse = matrix.size >= _MANY and np.count_nonzero(matrix) <= _SPARSE * matrix.size
    factors: Any = csr_array(matrix) if is_sparse else matrix

    multipliers = np.zeros(len(matrix))
    best, least, damping = point, np.inf, 1e-6
    for _ in range(_STEPS):
        free = point - (multipliers @ matrix) / w
        y = np.clip(free, 0.0, 1.0)
        gradient = bounds - matrix @ y
        # Slack counts as an error only where a multiplier says that there is none.
        errors = np.where(signed & (multipliers == 0.0), np.minimum(gradient, 0.0), gradient)
        error = float(np.abs(errors).max(initial=0.0))
        if error > 0.1 * least:
            # Rows that depend on each other need the damping; on nearly flat pieces it is what slows us down.
            damping = max(0.1 * damping, 1e-13)
        if error < least:
            best, least = y, error
        if error <= _RESIDUAL:
            break
        inside = (free >= 0.0) & (free <= 1.0)
        product = (factors * np.where(inside, 1.0 / w, 0.0)) @ factors.T
        hessian: FloatArray = product.toarray() if is_sparse else product
        hessian[np.diag_indices_from(hessian)] += damping * scale
        step = _newton_step(hessian, gradient, multipliers, signed)
        length = _exact_length(float(step @ gradient), free, -(step @ matrix) / w, w)
        if length == 0.0:
            break
        multipliers = multipliers + length * step
        multipliers[signed] = np.maximum(multipliers[signed], 0.0)
    return best


def _newton_step(hessian: FloatArray, gradient: FloatArray, multipliers: FloatArray, signed: BoolArray) -> FloatArray:
    """Return the s that minimises ½ sᵀ H s + gradientᵀ s over λ + s ≥ 0 (equations: any s).

    A few exchanges of all multipliers of the wrong sign usually find it (block principal pivoting, Júdice & Pires,
    Computers & Operations Research 21, 1994). They may cycle; then non-negative least squares does it for sure.
    """
    target = hessian @ multipliers - gradient  # in terms of ν = λ + s: H ν = target where ν is not at its bound
    held = signed & (multipliers == 0.0) & (gradient >= 0.0)
    goal = np.zeros_like(target)
    for _ in range(10):
        chosen = np.flatnonzero(~held)
        goal[:] = 0.0
        goal[chosen] = np.linalg.solve(hessian[np.ix_(chosen, chosen)], target[chosen])
        wrong = signed & (np.where(held, hessian @ goal - target, goal) < -1e-14)
        if not wrong.any():
            break
        held ^= wrong
    else:
        root = np.linalg.cholesky(hessian)
        split = np.concatenate([root.T, -root.T[:, ~signed]], axis=1)  # a free multiplier is a difference of two
        parts, _ = nnls(split, solve_triangular(root, target, lower=True))
        goal = parts[: len(target)]
        goal[~signed] -= parts[len(target) :]
    step: FloatArray = np.where(signed, np.maximum(goal, 0.0), goal) - multipliers
    return step


def _exact_length(slope: float, free: FloatArray, change: FloatArray, w: FloatArray) -> float:
    """Return the t in [0, 1] at which the dual is least on a ray with the given slope at t = 0.

    Along the ray the columns run as free + t change, and the slope grows at the rate w change² while a column is
    inside the cube: a sum of ramps, whose root lies between two of their sorted ends.
    """
    moving = change != 0.0
    free, change, rates = free[moving], change[moving], w[moving] * change[moving] ** 2
    with np.errstate(over="ignore"):  # a column that hardly moves never gets there
        ends = np.sort(np.stack([-free / change, (1.0 - free) / change]), axis=0).clip(0.0, 1.0)
    times = np.concatenate([[0.0], ends[0], ends[1], [1.0]])
    order = np.argsort(times, kind="stable")
    times = times[order]
    rate = np.maximum(np.cumsum(np.concatenate([[0.0], rates, -rates, [0.0]])[order]), 0.0)
    slopes = slope + np.concatenate([[0.0], np.cumsum(rate[:-1] * np.diff(times))])
    after = int(np.searchsorted(slopes, 0.0))
    if after == 0 or after == len(slopes):
        return 0.0 if after == 0 else 1.0
    return float(times[after] - slopes[after] / rate[after - 1])
