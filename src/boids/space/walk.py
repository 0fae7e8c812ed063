"""Random points of a polytope in the unit cube: hit-and-run walks that start deep inside.

R. L. Smith, "Efficient Monte Carlo procedures for generating points uniformly distributed over bounded regions",
Operations Research 32 (1984): each step draws a direction, and then a point of the chord that the polytope cuts out of
that line. Three kinds of directions take turns, since each is good where the others hardly move:

* those of few columns: a sweep cuts all columns into random groups, each just large enough to move within the equations
  (on a simplex of n columns, n log n such steps are enough: A. Smith, "A Gibbs sampler on the n-simplex", Annals of
  Applied Probability 24, 2014);
* those of all columns that change a single row, for an order x0 ≤ x1 ≤ x2 …;
* those of all columns that change no row, for narrow bands.

A log-scaled column has the density 1 / (y + offset), from which a slice step along the chord draws (Neal, "Slice
sampling", Annals of Statistics 31, 2003).

======  ==============================================================================  ================
symbol  meaning                                                                         shape
======  ==============================================================================  ================
c       number of walks, all taken at once
k, f    number of columns, and of those that can move
s       number of columns that a step moves
y       points of the cube                                                              (c, k) or (c, f)
G, g    inequalities, one-sided: G y ≤ g                                                (m, f), (m,)
E, e    equations: E y = e                                                              (n, k), (n,)
Q       orthonormal basis of the directions across the equations                        (f, r)
S       orthonormal basis of the directions across equations and rows                   (f, at most r + m)
d       directions; a step goes to y + t d                                              (…, s)
======  ==============================================================================  ================
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from scipy.linalg import orth
from scipy.optimize import linprog
from scipy.sparse import csr_array, diags_array, hstack, vstack

from boids.records import BoolArray, FloatArray, IntArray
from boids.space.polytope import TOLERANCE, Polytope

# A walk takes so many sweeps: more of them where columns are few, which costs little and helps in slim polytopes.
_SWEEPS, _MORE_SWEEPS = 20, 60
# Steps of all columns after each sweep: as many as there are rows, within limits.
_LEAST_WIDE, _MOST_WIDE = 4, 32
# What is left of a vector of length 1 when it depends on others.
_DEPENDENT = 1e-10


@final
@dataclass(frozen=True, slots=True, eq=False)
class Walk:
    """A polytope, its grids ignored, made ready for random points.

    Attributes
    ----------
    center
        The point farthest from all inequalities, (k,).
    moving
        The columns that can take more than one value, (f,).
    rows, bounds
        G and g over these columns; those of the cube are left out.
    across
        Q.
    singles
        Directions within the equations that change one row each, (m, f).
    across_rows
        S.
    """

    center: FloatArray
    moving: IntArray
    rows: FloatArray
    bounds: FloatArray
    across: FloatArray
    singles: FloatArray
    across_rows: FloatArray

    @classmethod
    def of(cls, polytope: Polytope) -> Walk | None:
        """Return the walk in a polytope, or None if the polytope is empty."""
        k, equation = len(polytope.steps), polytope.equations
        above, below = np.isfinite(polytope.upper) & ~equation, np.isfinite(polytope.lower) & ~equation
        rows = np.concatenate([polytope.rows[above], -polytope.rows[below]])
        cube = diags_array(np.ones(k))
        matrix = csr_array(vstack([csr_array(rows), cube, -cube]))
        bounds = np.concatenate([polytope.upper[above], -polytope.lower[below], np.ones(k), np.zeros(k)])
        equations, values = csr_array(polytope.rows[equation]), polytope.lower[equation]
        deepest = _deepest(matrix, bounds, equations, values)
        if deepest is None:
            return None
        tight = np.zeros(len(bounds), dtype=bool)
        if deepest[1] < TOLERANCE:  # the polytope is flat: some inequalities are equations in disguise
            tight = _always_tight(matrix, bounds, equations, values)
            equations = csr_array(vstack([equations, matrix[tight]]))
            values = np.concatenate([values, bounds[tight]])
            deepest = _deepest(matrix[~tight], bounds[~tight], equations, values) or deepest
        center = np.clip(deepest[0], 0.0, 1.0)
        is_tight, high, low = np.split(tight, [len(rows), len(rows) + k])
        moving = np.flatnonzero(~(high | low))
        at_rest = np.delete(rows, moving, axis=1) @ np.delete(center, moving)  # what the other columns contribute
        free_rows = rows[np.ix_(~is_tight, moving)]
        across = orth(equations[:, moving].toarray().T, rcond=_DEPENDENT)
        within = free_rows - (free_rows @ across) @ across.T
        return cls(
            center=center,
            moving=moving,
            rows=free_rows,
            bounds=(bounds[: len(rows)] - at_rest)[~is_tight],
            across=across,
            singles=np.linalg.pinv(within, rcond=_DEPENDENT).T,
            across_rows=orth(np.concatenate([across, within.T], axis=1), rcond=_DEPENDENT),
        )

    def sample(self, count: int, offsets: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Return `count` random points (count, k), one walk each; `offsets` (k,) is inf where y is to be uniform."""
        points = np.tile(self.center, (count, 1))
        f, r = self.across.shape
        if count == 0 or f == r:  # the polytope is a single point
            return points
        y, offset = points[:, self.moving], offsets[self.moving]
        by_column = np.ascontiguousarray(self.rows.T)
        slack = self.bounds - y @ by_column
        for _ in range(_SWEEPS + _MORE_SWEEPS // f):
            groups = rng.permutation(f)[: f - f % (r + 1)].reshape(-1, r + 1)
            d = _orthogonal(rng.standard_normal(groups.shape), self.across[groups])
            _sweep(y, groups, d, slack, np.einsum("gs,gsm->gm", d, by_column[groups]), offset, rng)
            for _ in range(min(max(len(self.rows), _LEAST_WIDE), _MOST_WIDE)):
                d = self._wide(count, rng)
                _step(y, d, slack, d @ by_column, offset, rng)
        # Rounding has moved the walks off the equations by some 1e-14.
        y -= ((y - self.center[self.moving]) @ self.across) @ self.across.T
        points[:, self.moving] = np.clip(y, 0.0, 1.0)
        return points

    def _wide(self, count: int, rng: np.random.Generator) -> FloatArray:
        """Return directions (c, f) of all columns: that change one row each, or none."""
        f, s = self.across_rows.shape
        r = self.across.shape[1]
        if rng.random() < (s - r) / (f - r):  # in proportion to the dimensions of the two
            return self.singles[rng.integers(len(self.singles), size=count)]
        d = rng.standard_normal((count, f))
        d -= (d @ self.across_rows) @ self.across_rows.T
        return d


def _deepest(matrix: Any, bounds: FloatArray, equations: Any, values: FloatArray) -> tuple[FloatArray, float] | None:
    """Return the y of G y ≤ g, E y = e with the largest least slack, and that slack, or None if there is no y."""
    costs = np.zeros(matrix.shape[1] + 1)
    costs[-1] = -1.0
    found = _least(
        costs,
        hstack([matrix, csr_array(np.ones((len(bounds), 1)))]),
        bounds,
        hstack([equations, csr_array((len(values), 1))]),
        values,
    )
    return None if found is None else (found[:-1], float(found[-1]))


def _always_tight(matrix: Any, bounds: FloatArray, equations: Any, values: FloatArray) -> BoolArray:
    """Return which inequalities G y ≤ g have no slack at any point that satisfies all of them and the equations."""
    doubtful = np.ones(len(bounds), dtype=bool)
    while doubtful.any():
        # Where the total slack of the doubtful ones is largest, at least one of them has some, if any ever has.
        found = _least(matrix[doubtful].sum(axis=0), matrix, bounds, equations, values)
        cleared = np.zeros_like(doubtful) if found is None else doubtful & (bounds - matrix @ found > TOLERANCE)
        if not cleared.any():
            break
        doubtful &= ~cleared
    return doubtful


def _least(costs: FloatArray, matrix: Any, bounds: FloatArray, equations: Any, values: FloatArray) -> FloatArray | None:
    """Return the point of the cube with G y ≤ g, E y = e and the least costs, or None if there is none."""
    found = linprog(
        costs,
        A_ub=matrix,
        b_ub=bounds,
        A_eq=equations,
        b_eq=values,
        bounds=(0.0, 1.0),
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    point: FloatArray | None = found.x
    return point


def _orthogonal(d: FloatArray, across: FloatArray) -> FloatArray:
    """Return directions (g, s) made orthogonal to the columns of (g, s, r), by Gram and Schmidt's method."""
    basis = []
    for i in range(across.shape[2]):
        b = across[:, :, i]
        length = np.sqrt(np.sum(b * b, axis=1, keepdims=True))
        b = b / np.where(length > _DEPENDENT, length, np.inf)
        basis.append(b)
        across = across - np.einsum("gs,gsr->gr", b, across)[:, None, :] * b[:, :, None]
    before = np.abs(d).max(axis=1, keepdims=True)
    for b in basis + basis:  # the second time for the digits that the first one has cost
        d = d - np.sum(d * b, axis=1, keepdims=True) * b
    return np.where(np.abs(d).max(axis=1, keepdims=True) > _DEPENDENT * before, d, 0.0)


def _sweep(
    y: FloatArray,
    groups: IntArray,
    d: FloatArray,
    slack: FloatArray,
    rates: FloatArray,
    offset: FloatArray,
    rng: np.random.Generator,
) -> None:
    """Move each of the disjoint groups of columns (g, s) along its direction (g, s), in place, in all walks y (c, f).

    A move by t uses up t rates (g, m) of the slack (c, m), which is all that the groups have to do with each other.
    """
    at = y[:, groups]
    low, high = _chord(at, d)
    starts, is_log = at + offset[groups], np.any(np.isfinite(offset[groups]), axis=1).tolist()
    if rates.any():
        t = np.empty_like(low)
        shares = rng.random(t.shape)
        for i, rate in enumerate(rates):
            touched = np.flatnonzero(rate)
            rate = rate[touched]
            ends = slack[:, touched] / rate
            lowest = np.maximum(low[:, i], np.where(rate < 0.0, ends, -np.inf).max(axis=1, initial=-np.inf))
            highest = np.minimum(high[:, i], np.where(rate > 0.0, ends, np.inf).min(axis=1, initial=np.inf))
            if is_log[i]:
                t[:, i] = _slice(starts[:, i], d[i], lowest, highest, rng)
            else:
                t[:, i] = lowest + shares[:, i] * (highest - lowest)
            slack[:, touched] = np.maximum(slack[:, touched] - t[:, i, None] * rate, 0.0)
    else:
        t = _slice(starts, d, low, high, rng)
    y[:, groups] = np.clip(at + t[..., None] * d, 0.0, 1.0)


def _step(
    y: FloatArray, d: FloatArray, slack: FloatArray, rates: FloatArray, offset: FloatArray, rng: np.random.Generator
) -> None:
    """Move all columns y (c, f) along directions (c, f), in place; a move by t uses up t rates (c, m) of the slack."""
    low, high = _chord(y, d)
    low, high = np.maximum(low, -_first(slack, -rates)), np.minimum(high, _first(slack, rates))
    t = _slice(y + offset, d, low, high, rng)[:, None]
    np.clip(y + t * d, 0.0, 1.0, out=y)
    np.maximum(slack - t * rates, 0.0, out=slack)


def _chord(y: FloatArray, d: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return between which t the points y + t d, along the last axis, are in the cube."""
    up, speed = d > 0.0, np.abs(d)
    high, low = _first(np.where(up, 1.0 - y, y), speed), -_first(np.where(up, y, 1.0 - y), speed)
    # A direction of which orthogonalisation has left nothing meets no end: it goes nowhere.
    return np.where(np.isfinite(low), low, 0.0), np.where(np.isfinite(high), high, 0.0)


def _first(slack: FloatArray, rates: FloatArray) -> FloatArray:
    """Return when the first of several slacks, along the last axis, is used up; inf for never."""
    ends = np.full(slack.shape, np.inf)
    with np.errstate(over="ignore"):  # a rate next to nothing
        np.divide(np.maximum(slack, 0.0), rates, out=ends, where=rates > 0.0)
    first: FloatArray = ends.min(axis=-1, initial=np.inf)
    return first


def _slice(at: FloatArray, d: FloatArray, low: FloatArray, high: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Return a random t of each chord [low, high] with the density Π 1 / (at + t d), infinite factors left out."""
    t: FloatArray = rng.uniform(low, high)
    logarithmic = np.isfinite(at)
    if not logarithmic.any():
        return t
    at, d = np.where(logarithmic, at, 1.0), np.where(logarithmic, d, 0.0)

    def log_density(t: FloatArray) -> FloatArray:
        density: FloatArray = -np.log(np.maximum(at + t[..., None] * d, 1e-300)).sum(axis=-1)
        return density

    level = log_density(np.zeros_like(t)) - rng.standard_exponential(t.shape)
    for _ in range(100):
        missed = log_density(t) < level
        if not missed.any():
            return t
        # Cut the chord off at t; where the walk stands, t = 0, is always inside the slice.
        low, high = np.where(missed & (t < 0.0), t, low), np.where(missed & (t >= 0.0), t, high)
        t = np.where(missed, rng.uniform(low, high), t)
    return np.where(missed, 0.0, t)
