"""Minimising a function with gradients inside a symmetric polytope, from several starts in lock-step.

A logarithmic barrier whose weight μ goes down in stages (Nocedal & Wright, *Numerical Optimization*, 2006, chapter 19).
Of the barrier both derivatives are exact, so that its walls do not slow the search down; the Hessian of the function
itself is learnt by damped BFGS updates (their section 18.3).

Notation
--------
f       the function, for R points at once                     (R,)
P       the polytope is { y : -1 ≤ P y ≤ 1 }                   (D, d)
φ(y)    f(y) - μ Σ_i log(1 - (P y)_i²)
B       approximations of the Hessian of f, positive definite  (R, d, d)
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from boids.records import BoolArray, FloatArray

#: μ, for functions that change by about 1 over the polytope, as log EI does by more.
BARRIERS = (1e-2, 1e-5)
#: The share of the way to the wall that one step may take.
TO_THE_WALL = 0.95
#: Sufficient decrease (Armijo).
DECREASE = 1e-4
#: Attempts at a step, each shorter than the last.
BACKTRACKS = 6
#: Of the Hessian's diagonal, added to it.
RIDGE = 1e-12
#: What the first estimate of the curvature may be.
CURVATURES = (1e-8, 1e12)
#: A step so short that rounding decides what the gradient changes by teaches nothing.
SMALLEST_STEP = 1e-12
#: What the Hessian of a point grows by that has not found a step down.
SHORTER = 4.0


def minimise_inside(
    function: Callable[[FloatArray], tuple[FloatArray, FloatArray]],
    polytope: FloatArray,
    starts: FloatArray,
    steps: int = 30,
) -> tuple[FloatArray, FloatArray]:
    """Return the best points (R, d) met on the way from each start, which must be strictly inside, and f there.

    Parameters
    ----------
    function
        Takes points (R, d) to f (R,) and its gradients (R, d).
    steps
        At the most, for each weight of the barrier.
    """
    y = np.array(starts, dtype=np.float64)
    count, dim = y.shape
    f, g = function(y)
    best, least = y.copy(), f.copy()
    hessian = np.tile(np.eye(dim), (count, 1, 1))
    hessian *= np.maximum(np.linalg.norm(g, axis=1), 1e-8)[:, None, None]
    fresh = np.ones(count, dtype=bool)
    for weight in BARRIERS:
        for _ in range(steps):
            walls, slope, bend = _barrier(polytope, y)
            phi, gradient = f + weight * walls, g + weight * slope
            direction = _downhill(hessian + weight * bend, gradient)
            descent = np.einsum("rd,rd->r", gradient, direction)
            if np.all(-descent <= 1e-2 * weight):  # in units of f; the next μ will move it further
                break
            length = np.minimum(1.0, TO_THE_WALL * _room(polytope, y, direction))
            moving = -descent > 1e-12
            y_next, f_next, g_next = y, f, g
            for _ in range(BACKTRACKS):
                trial = y + np.where(moving, length, 0.0)[:, None] * direction
                f_trial, g_trial = function(trial)
                phi_trial = f_trial + weight * _barrier_value(polytope, trial)
                accepted = moving & (phi_trial <= phi + DECREASE * length * descent)
                y_next = np.where(accepted[:, None], trial, y_next)
                f_next = np.where(accepted, f_trial, f_next)
                g_next = np.where(accepted[:, None], g_trial, g_next)
                moving &= ~accepted
                # A straggler or two are not worth an evaluation of all; their next step will be shorter.
                if np.count_nonzero(moving) * 4 <= count:
                    break
                length = np.where(moving, 0.4 * length, length)
            hessian, fresh = _updated(hessian, fresh, y_next - y, g_next - g)
            hessian = np.where(moving[:, None, None], SHORTER * hessian, hessian)
            y, f, g = y_next, f_next, g_next
            better = f < least
            best[better], least[better] = y[better], f[better]
    return best, least


def _downhill(hessian: FloatArray, gradient: FloatArray) -> FloatArray:
    """Return Newton's directions (R, d), or where rounding has spoilt the Hessian the steepest descent."""
    size = np.abs(np.einsum("rii->ri", hessian)).max(axis=1)
    # Near a data point with hardly any noise log EI bends so much in one direction that the others vanish beside it.
    ridge = RIDGE * size[:, None, None] * np.eye(gradient.shape[1])
    steepest = np.asarray(-gradient / np.maximum(size, CURVATURES[0])[:, None])
    try:
        newton = -np.linalg.solve(hessian + ridge, gradient[:, :, None])[:, :, 0]
    except np.linalg.LinAlgError:
        return steepest
    downhill = np.einsum("rd,rd->r", gradient, newton) < 0.0
    return np.asarray(np.where(downhill[:, None], newton, steepest), dtype=np.float64)


def _barrier_value(polytope: FloatArray, y: FloatArray) -> FloatArray:
    """Return -Σ log(1 - p²) (R,), inf outside."""
    gap = 1.0 - (y @ polytope.T) ** 2
    inside = (gap > 0.0).all(axis=1)
    return np.where(inside, -np.log(np.where(gap > 0.0, gap, 1.0)).sum(axis=1), np.inf)


def _barrier(polytope: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return -Σ log(1 - p²), p = P y, its gradients (R, d) and Hessians (R, d, d)."""
    p = y @ polytope.T
    gap = 1.0 - p * p
    second = 2.0 * (1.0 + p * p) / gap**2
    bend = (second[:, None, :] * polytope.T) @ polytope
    return -np.log(gap).sum(axis=1), (2.0 * p / gap) @ polytope, bend


def _room(polytope: FloatArray, y: FloatArray, direction: FloatArray) -> FloatArray:
    """Return how many times its direction every point may go until it meets a wall (R,)."""
    p, way = y @ polytope.T, direction @ polytope.T
    return np.asarray(1.0 / np.maximum((np.sign(way) * way / (1.0 - np.sign(way) * p)).max(axis=1), 1e-300))


def _updated(
    hessian: FloatArray, fresh: BoolArray, step: FloatArray, change: FloatArray
) -> tuple[FloatArray, BoolArray]:
    """Return the damped BFGS updates for steps and changes of the gradient (R, d); points that stay keep theirs."""
    moved = np.einsum("rd,rd->r", step, step) > SMALLEST_STEP**2
    if not moved.any():
        return hessian, fresh
    step = np.where(moved[:, None], step, 0.0)
    curvature = np.einsum("rd,rd->r", step, change)
    # The first update fixes the scale.
    scale = np.einsum("rd,rd->r", change, change) / np.where(curvature > 0.0, curvature, 1.0)
    scale = np.clip(scale, *CURVATURES)
    rescaled = fresh & moved & (curvature > 0.0)
    eye = np.eye(step.shape[1])
    hessian = np.where(rescaled[:, None, None], scale[:, None, None] * eye, hessian)
    pushed = np.einsum("rij,rj->ri", hessian, step)
    along = np.einsum("rd,rd->r", step, pushed)
    moved &= along > 0.0
    along = np.where(moved, along, 1.0)
    # Powell's damping keeps the approximation positive definite where f is concave.
    damped = curvature < 0.2 * along
    blend = np.where(damped, 0.8 * along / np.where(damped, along - curvature, 1.0), 1.0)[:, None]
    change = blend * change + (1.0 - blend) * pushed
    curvature = np.where(moved, np.einsum("rd,rd->r", step, change), 1.0)
    updated = (
        hessian
        - pushed[:, :, None] * pushed[:, None, :] / along[:, None, None]
        + change[:, :, None] * change[:, None, :] / curvature[:, None, None]
    )
    return np.where(moved[:, None, None], updated, hessian), fresh & ~moved
