"""Pareto order of objective vectors: dominance, non-dominated ranks, crowding distance; minimisation throughout.

Reference: Deb, Pratap, Agarwal & Meyarivan, "A fast and elitist multiobjective genetic algorithm: NSGA-II", IEEE
Transactions on Evolutionary Computation 6 (2002), sections III-A and III-B.

======  =======================================================  =========
symbol  meaning                                                  shape
======  =======================================================  =========
n, k    number of points, number of objectives
values  objective vectors, one per row                           (n, k)
ranks   front of each point: 0 is dominated by nobody, 1 only
        by rank 0, and so on                                     (n,)
======  =======================================================  =========

A value may be +inf; nan counts as +inf, the worst there is. Equal vectors do not dominate each other.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from boids.records import FloatArray, IntArray

Floats: TypeAlias = NDArray[np.floating[Any]]
Booleans: TypeAlias = NDArray[np.bool_]

#: Rows of the dominance matrix handled at once: the most whose column sums still fit into a byte, which NumPy adds
#: up an order of magnitude faster than it counts booleans into 64-bit integers.
_BLOCK = 255
_UPPER = np.triu(np.ones((_BLOCK, _BLOCK), dtype=bool), 1)


def nan_as_worst(values: Floats) -> Floats:
    """Return `values` with every nan replaced by +inf."""
    missing = np.isnan(values)
    return np.where(missing, np.inf, values) if missing.any() else values


def non_dominated_ranks(values: Floats, enough: int | None = None) -> IntArray:
    """Return the non-dominated rank of every point.

    Time is O(k n²) whatever the number of fronts, and memory n² bytes, in vectorised passes.

    Parameters
    ----------
    values
        Objective vectors, shape (n, k).
    enough
        Stop once the fronts found hold at least that many points; all others share the next rank.

    Returns
    -------
    ndarray of int
        Ranks from 0, shape (n,).
    """
    n, k = values.shape
    if n == 0:
        return np.zeros(0, dtype=np.int64)
    values = nan_as_worst(values)
    # In lexicographic order a point can only be dominated by an earlier one, and equal points are neighbours.
    order = np.lexsort(values.T[::-1])
    columns = values.T.take(order, axis=1)  # contiguous, unlike values.T[:, order]: the comparisons vectorise
    is_new = np.ones(n, dtype=bool)
    is_new[1:] = (columns[:, 1:] != columns[:, :-1]).any(axis=0)
    group = np.cumsum(is_new) - 1
    copies = np.bincount(group)
    wanted = n if enough is None else min(enough, n)
    if k == 1:
        complete = int(np.searchsorted(np.cumsum(copies), wanted)) + 1
        distinct_ranks = np.minimum(np.arange(len(copies)), complete)
    else:
        distinct_ranks = _peel(columns.compress(is_new, axis=1), copies, wanted)
    ranks = np.empty(n, dtype=np.int64)
    ranks[order] = distinct_ranks[group]
    return ranks


def _peel(columns: Floats, copies: IntArray, wanted: int) -> IntArray:
    """Take off front after front of distinct, lexicographically sorted points, given as (k, n) columns."""
    dominance, dominators = _dominance(columns)
    ranks = np.full(len(copies), len(copies), dtype=np.int64)
    rank, found = 0, 0
    front = np.flatnonzero(dominators == 0)
    while True:
        ranks[front] = rank
        rank += 1
        found += int(copies[front].sum())
        if found >= wanted:
            return np.minimum(ranks, rank)
        # The first point left over is always non-dominated, so everything before front[0] is done.
        start = front[0]
        dominators[front] = -1
        for i in range(0, len(front), _BLOCK):
            dominators[start:] -= _column_sums(dominance[front[i : i + _BLOCK], start:])
        front = start + np.flatnonzero(dominators[start:] == 0)


def _dominance(columns: Floats) -> tuple[Booleans, NDArray[np.int32]]:
    """Return who dominates whom, (n, n) with the dominator as row, and the number of dominators of each, (n,)."""
    n = columns.shape[1]
    dominance = np.zeros((n, n), dtype=bool)
    dominators = np.zeros(n, dtype=np.int32)
    for start in range(0, n, _BLOCK):
        stop = min(start + _BLOCK, n)
        block = dominance[start:stop, start:]
        # The order settles the first objective, and distinctness the "somewhere better".
        np.less_equal(columns[1, start:stop, None], columns[1, start:], out=block)
        for column in columns[2:]:
            block &= column[start:stop, None] <= column[start:]
        block[:, : stop - start] &= _UPPER[: stop - start, : stop - start]
        dominators[start:] += _column_sums(block)
    return dominance, dominators


def _column_sums(block: Booleans) -> NDArray[np.uint8]:
    """Return the number of true entries per column of at most `_BLOCK` rows."""
    sums: NDArray[np.uint8] = np.add.reduce(block.view(np.uint8), axis=0, dtype=np.uint8)
    return sums


def crowding_distance(values: Floats, ranks: IntArray | None = None) -> FloatArray:
    """Return how far every point is from its neighbours in its own front.

    It is the mean over the objectives of the gap between a point's two neighbours in that objective, relative to
    the range of the front. The ends of a range get +inf, as does everybody in a front of one or two; an objective
    that is constant on a front adds nothing there. An infinite value counts as the nearest finite value of that
    objective among all points.

    Parameters
    ----------
    values
        Objective vectors, shape (n, k).
    ranks
        The front of each point, shape (n,); by default all points are one front.
    """
    n, k = values.shape
    if n == 0:
        return np.zeros(0)
    columns = np.ascontiguousarray(_finite(values.astype(np.float64)).T)
    fronts = np.zeros(n, dtype=np.int64) if ranks is None else ranks
    # Sort every objective within its front: the fronts are the same stretches of every row of `order`.
    order = np.lexsort((columns, np.broadcast_to(fronts, (k, n))))
    rows = np.arange(k)[:, None]
    ordered = columns[rows, order]
    sorted_fronts = fronts[order[0]]
    is_first = np.ones(n, dtype=bool)
    is_first[1:] = sorted_fronts[1:] != sorted_fronts[:-1]
    first = np.flatnonzero(is_first)
    last = np.concatenate((first[1:], [n])) - 1
    size = last - first + 1

    gap = np.full((k, n), np.inf)
    gap[:, 1:-1] = ordered[:, 2:] - ordered[:, :-2]
    gap[:, first] = gap[:, last] = np.inf
    span = np.repeat(ordered[:, last] - ordered[:, first], size, axis=1)
    share = np.zeros((k, n))
    share[rows, order] = np.divide(gap, span, out=np.zeros((k, n)), where=span > 0)
    distance: FloatArray = share.sum(axis=0) / k
    distance[order[0, np.repeat(size <= 2, size)]] = np.inf
    return distance


def _finite(values: FloatArray) -> FloatArray:
    """Return `values` with infinities moved to the nearest finite value of their column, and nan to the largest."""
    finite = np.isfinite(values)
    if finite.all():
        return values
    low = np.min(values, axis=0, where=finite, initial=np.inf)
    high = np.max(values, axis=0, where=finite, initial=-np.inf)
    nothing = ~finite.any(axis=0)
    low[nothing] = high[nothing] = 0.0
    return np.clip(nan_as_worst(values), low, high)
