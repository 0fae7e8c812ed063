"""Wrappers that make a new problem out of a problem; each is a function from `Problem` to `Problem`.

They compose in any order, and take problems of your own as well. Those of this file change the coordinates, and need
a box: `pad`, `permute`, `shift`, `rotate`, `sign_flip`, `clip`. Those of `boids.problems.disturbances`, which are names
of this module too, change how an evaluation goes: `noise`, `count`, `delay`, `fail`.

After any of them the optimum and the minimisers are right, or are gone where nobody knows them any more. There is one
condition: `shift` and `rotate` evaluate the old function outside its box as well, where it must not be smaller than
its optimum. It is met by every function in `boids.problems.synthetic`; for others, `clip` first.

A wrapper's evaluator is a small dataclass that holds the wrapped evaluator: no closures, so that problems can be
pickled. Apply `shift` before `pad`: then a seed's minimiser is the same one, whatever D is.

======  =================================================================
symbol  meaning, shape
======  =================================================================
D       coordinates of the new problem
d_e     coordinates of the wrapped problem
X       q points, (q, D)
======  =================================================================
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike

from boids.errors import ProblemError
from boids.problems.disturbances import count, delay, evaluations, fail, noise
from boids.problems.problem import Evaluator, Problem, integer
from boids.records import FloatArray, IntArray

__all__ = [
    "clip",
    "count",
    "delay",
    "evaluations",
    "fail",
    "noise",
    "pad",
    "permute",
    "random_offset",
    "random_positions",
    "random_rotation",
    "random_signs",
    "rotate",
    "shift",
    "sign_flip",
]

#: By how much of a range rounding may push a minimiser out of the box, to be put back.
ROUNDING = 1e-12


# The evaluators


@final
@dataclass(frozen=True, slots=True, eq=False)
class SelectedColumns:
    """X -> f(X[:, columns]): the other coordinates do not matter."""

    inner: Evaluator
    columns: IntArray

    def __call__(self, x: FloatArray) -> Any:
        """Return what `inner` returns for the selected columns of `x`."""
        # take, not x[:, columns]: it gives C order, hence the same sums for one point as for many.
        return self.inner(np.take(x, self.columns, axis=1))


@final
@dataclass(frozen=True, slots=True, eq=False)
class Shifted:
    """X -> f(X - offset)."""

    inner: Evaluator
    offset: FloatArray

    def __call__(self, x: FloatArray) -> Any:
        """Return what `inner` returns for the points before the shift."""
        return self.inner(x - self.offset)


@final
@dataclass(frozen=True, slots=True, eq=False)
class Mirrored:
    """X -> f(signs · X + offset)."""

    inner: Evaluator
    signs: FloatArray
    offset: FloatArray

    def __call__(self, x: FloatArray) -> Any:
        """Return what `inner` returns for the mirrored points."""
        return self.inner(self.signs * x + self.offset)


@final
@dataclass(frozen=True, slots=True, eq=False)
class Rotated:
    """X -> f(centre + scale · R ((X - centre) / scale))."""

    inner: Evaluator
    rotation: FloatArray
    centre: FloatArray
    scale: FloatArray

    def __call__(self, x: FloatArray) -> Any:
        """Return what `inner` returns for the rotated points."""
        turned = np.empty_like(x)
        # Row by row: a point's value must not depend, in its last digit, on the points it is evaluated with.
        for new, old in zip(turned, (x - self.centre) / self.scale, strict=True):
            new[:] = self.rotation @ old
        return self.inner(self.centre + self.scale * turned)


@final
@dataclass(frozen=True, slots=True, eq=False)
class Clipped:
    """X -> f(the nearest point of the box)."""

    inner: Evaluator
    low: FloatArray
    high: FloatArray

    def __call__(self, x: FloatArray) -> Any:
        """Return what `inner` returns for the nearest points of its box."""
        return self.inner(np.clip(x, self.low, self.high))


# The wrappers


def pad(
    problem: Problem,
    dim: int,
    *,
    positions: Sequence[int] | IntArray | None = None,
    low: float = 0.0,
    high: float = 1.0,
) -> Problem:
    """Add coordinates that do not matter, up to D = `dim` in all.

    Parameters
    ----------
    positions
        Where the coordinates of `problem` go, d_e distinct numbers from 0 to D - 1; None puts them first.
    low, high
        The range of each added coordinate.
    """
    _need_box(problem, "pad")
    dim = integer("dim", dim, problem.dim)
    columns = _checked_positions(range(problem.dim) if positions is None else positions, problem.dim, dim)
    if np.array_equal(columns, np.arange(dim)):  # nothing to add and nothing to move
        return problem
    new_low, new_high = np.full(dim, low, dtype=np.float64), np.full(dim, high, dtype=np.float64)
    minimisers = np.full((len(problem.minimisers), dim), (low + high) / 2)
    new_low[columns], new_high[columns] = problem.low, problem.high
    minimisers[:, columns] = problem.minimisers
    return replace(
        problem,
        evaluate=SelectedColumns(problem.evaluate, columns),
        low=new_low,
        high=new_high,
        minimisers=minimisers,
        active=columns[problem.active],
    )


def permute(problem: Problem, positions: Sequence[int] | IntArray) -> Problem:
    """Reorder the coordinates, with their ranges: coordinate j of `problem` becomes coordinate ``positions[j]``."""
    return pad(problem, problem.dim, positions=positions)


def random_positions(count: int, dim: int, rng: np.random.Generator) -> IntArray:
    """Draw `count` distinct positions out of `dim`, in random order, for `pad` and `permute`."""
    return rng.permutation(dim)[:count].astype(np.int64)


def shift(problem: Problem, offset: ArrayLike) -> Problem:
    """Move the function by `offset` (D,) inside its box: the new value at x is the old one at x - `offset`.

    The box stays. The old function is then needed outside its box too, see the top of this file. If no minimiser is
    known, the optimum of the new problem is not known either: it may have left the box.

    Raises
    ------
    ProblemError
        If minimisers are known and none of them is left in the box.
    """
    _need_box(problem, "shift")
    displacement = _vector("offset", offset, problem)
    inside = _inside(problem, problem.minimisers + displacement)
    if len(problem.minimisers) and not len(inside):
        raise ProblemError(
            f"A shift of problem {problem.name!r} must keep a known minimiser in the box, but this offset "
            "keeps none; take a smaller offset, or draw one with random_offset."
        )
    return replace(
        problem,
        evaluate=Shifted(problem.evaluate, displacement),
        minimisers=inside,
        optimum=problem.optimum if len(inside) else None,
    )


def random_offset(problem: Problem, rng: np.random.Generator, *, central: float = 0.8) -> FloatArray:
    """Draw the offset that takes the first minimiser to a uniform point of each range's `central` part."""
    if not len(problem.minimisers):
        raise ProblemError(
            f"A shift needs a known minimiser, but problem {problem.name!r} has none; leave it unshifted."
        )
    margin = (1 - central) / 2 * (problem.high - problem.low)
    target = rng.uniform(problem.low + margin, problem.high - margin)
    offset: FloatArray = target - problem.minimisers[0]
    return offset


def rotate(problem: Problem, rotation: ArrayLike) -> Problem:
    """Rotate the function about its first known minimiser, which stays where it is; the box does not turn.

    With u the point seen from the minimiser, in units of half the box's widths, the new value at u is the old one at
    R u. So the new box holds a turned piece of the old function: corners of the old box leave it, and places outside
    the old box come in, see the top of this file. Other minimisers are kept where they stay in the box. If no minimiser
    is known, the centre of the box takes its place, and the optimum of the new problem is not known: it may have left
    the box.

    Parameters
    ----------
    rotation
        R, an orthogonal matrix (D, D); it may have reflections in it. See `random_rotation`.
    """
    _need_box(problem, "rotate")
    matrix = _array(rotation)
    if matrix.shape != (problem.dim, problem.dim) or not np.allclose(matrix @ matrix.T, np.eye(problem.dim)):
        raise ProblemError(
            f"rotation must be an orthogonal matrix of shape {(problem.dim, problem.dim)}, but got one of shape "
            f"{matrix.shape} or one that is not orthogonal; draw one with random_rotation."
        )
    known = len(problem.minimisers) > 0
    centre = problem.minimisers[0] if known else (problem.low + problem.high) / 2
    scale = (problem.high - problem.low) / 2
    turned = centre + scale * ((problem.minimisers - centre) / scale @ matrix)  # rows times R: the inverse of R
    return replace(
        problem,
        evaluate=Rotated(problem.evaluate, matrix, centre, scale),
        minimisers=_inside(problem, turned),
        optimum=problem.optimum if known else None,
        active=np.arange(problem.dim),
    )


def random_rotation(dim: int, rng: np.random.Generator) -> FloatArray:
    """Draw an orthogonal matrix (D, D) uniformly, for `rotate`."""
    q, r = np.linalg.qr(rng.standard_normal((dim, dim)))
    # Without the signs the distribution would follow LAPACK's conventions, and not be uniform.
    rotation: FloatArray = q * np.where(np.diagonal(r) < 0, -1.0, 1.0)
    return rotation


def sign_flip(problem: Problem, signs: ArrayLike) -> Problem:
    """Mirror the function in the middle of the box along the coordinates where `signs` (D,) is -1, not 1."""
    _need_box(problem, "sign_flip")
    flips = _vector("signs", signs, problem)
    if not np.all(np.abs(flips) == 1):
        raise ProblemError(f"signs must be 1 or -1 each, but got {flips}; draw them with random_signs.")
    offset = np.where(flips < 0, problem.low + problem.high, 0.0)
    return replace(
        problem,
        evaluate=Mirrored(problem.evaluate, flips, offset),
        minimisers=_inside(problem, flips * problem.minimisers + offset),
    )


def random_signs(dim: int, rng: np.random.Generator) -> FloatArray:
    """Draw signs (D,) for `sign_flip`, each of them with probability 1/2."""
    return rng.choice([-1.0, 1.0], dim)


def clip(problem: Problem) -> Problem:
    """Continue the function outside its box by its value at the nearest point of the box.

    Then it may be shifted and rotated whatever it is: it is never evaluated outside the box, and nowhere smaller than
    its optimum.
    """
    _need_box(problem, "clip")
    return replace(problem, evaluate=Clipped(problem.evaluate, problem.low, problem.high))


# Checks


def _need_box(problem: Problem, wrapper: str) -> None:
    if problem.search_space is not None:
        raise ProblemError(
            f"{wrapper} changes the coordinates of a box, but problem {problem.name!r} has named parameters; "
            "noise, count, delay and fail work for it."
        )


def _vector(argument: str, given: ArrayLike, problem: Problem) -> FloatArray:
    vector = _array(given)
    if vector.shape != (problem.dim,) or not np.all(np.isfinite(vector)):
        raise ProblemError(
            f"{argument} must be {problem.dim} finite numbers, one per coordinate of problem {problem.name!r}, "
            f"but got the shape {vector.shape}, or nan or inf; give one number per coordinate."
        )
    return vector


def _array(given: ArrayLike) -> FloatArray:
    """Return an array of numbers, nan if it is none: the caller says what it should be."""
    try:
        return np.array(given, dtype=np.float64)
    except (TypeError, ValueError):
        return np.array(np.nan)


def _inside(problem: Problem, points: FloatArray) -> FloatArray:
    """Return the points that lie in the box, but for rounding."""
    slack = ROUNDING * (problem.high - problem.low)
    inside = np.all((points >= problem.low - slack) & (points <= problem.high + slack), axis=1)
    return np.clip(points[inside], problem.low, problem.high)


def _checked_positions(positions: Sequence[int] | IntArray | range, count: int, dim: int) -> IntArray:
    try:
        given = np.asarray(positions)
    except ValueError:  # rows of unequal length
        given = np.asarray(str(positions))
    if (
        given.shape != (count,)
        or not np.issubdtype(given.dtype, np.integer)
        or given.min() < 0
        or given.max() >= dim
        or np.unique(given).size != count
    ):
        raise ProblemError(
            f"positions must be {count} distinct integers from 0 to {dim - 1}, one per coordinate of the "
            f"function, but got {np.array2string(given, threshold=10)}; or give 'first' or 'random'."
        )
    return given.astype(np.int64)
