"""Wrappers that make a new problem out of a problem; each is a function from `Problem` to `Problem`.

A wrapper's evaluator is a small frozen dataclass that holds the wrapped evaluator: no closures, so that
problems can be pickled. Apply `shift` before `pad`: then a seed's minimiser is the same one, whatever D is.

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
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from boids.errors import ProblemError
from boids.problems.problem import Evaluator, Problem
from boids.records import FloatArray, IntArray


@final
@dataclass(frozen=True, slots=True, eq=False)
class SelectedColumns:
    """X -> f(X[:, columns]): the other coordinates do not matter."""

    evaluate: Evaluator
    columns: IntArray

    def __call__(self, x: FloatArray) -> FloatArray:
        """Return the values (q,) at the rows of `x`."""
        # take, not x[:, columns]: it gives C order, hence the same sums for one point as for many.
        return self.evaluate(np.take(x, self.columns, axis=1))


@final
@dataclass(frozen=True, slots=True, eq=False)
class Shifted:
    """X -> f(X - offset)."""

    evaluate: Evaluator
    offset: FloatArray

    def __call__(self, x: FloatArray) -> FloatArray:
        """Return the values (q,) at the rows of `x`."""
        return self.evaluate(x - self.offset)


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


def random_positions(count: int, dim: int, rng: np.random.Generator) -> IntArray:
    """Draw `count` distinct positions out of `dim`, in random order, for `pad`."""
    return rng.permutation(dim)[:count].astype(np.int64)


def shift(problem: Problem, offset: ArrayLike) -> Problem:
    """Move the function by `offset` (D,) inside its box: the new value at x is the old one at x - `offset`.

    The old function is then needed outside its box too, and the optimum stays right only if the old function
    is nowhere smaller there, as is the case for every function in `boids.problems.synthetic`.

    Raises
    ------
    ProblemError
        If no known minimiser is left in the box.
    """
    displacement = np.array(offset, dtype=np.float64)
    moved = problem.minimisers + displacement
    inside = moved[np.all((moved >= problem.low) & (moved <= problem.high), axis=1)]
    if not len(inside):
        raise ProblemError(
            f"A shift of problem {problem.name!r} must keep a known minimiser in the box, but this offset "
            "keeps none; take a smaller offset, or draw one with random_offset."
        )
    return replace(problem, evaluate=Shifted(problem.evaluate, displacement), minimisers=inside)


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
