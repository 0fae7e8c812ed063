"""Random forests of coordinates: functions that are sums over edges and single coordinates, minimised exactly.

Ziomek & Bou-Ammar, *Are Random Decompositions All We Need in High Dimensional Bayesian Optimisation?*, ICML 2023
(random trees); Han, Arora & Scarlett, *High-Dimensional Bayesian Optimization via Tree-Structured Additive Models*,
AAAI 2021 (message passing, zooming). "Forest" as in graph theory: a graph without cycles.

Notation
--------
D, E    coordinates, edges
S       coordinates without an edge
k       values per coordinate among which a minimum is sought
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias, final

import numpy as np

from boids.records import FloatArray, IntArray

#: The tables of a sum: of single coordinates (S, k) and of edges (E, k, k).
Tables: TypeAlias = tuple[FloatArray, FloatArray]


@final
@dataclass(frozen=True)
class Forest:
    """Coordinates 0 … dim - 1, some of them joined by `edges` (E, 2) without a cycle."""

    dim: int
    edges: IntArray

    @classmethod
    def random(cls, dim: int, count: int, rng: np.random.Generator) -> Forest:
        """Draw pairs of coordinates, keeping those not connected yet, until there are `count` edges, D - 1 at most."""
        parent = list(range(dim))

        def root(i: int) -> int:
            while parent[i] != i:
                parent[i] = i = parent[parent[i]]  # halve the path, so that the next look is shorter
            return i

        edges: list[tuple[int, int]] = []
        while len(edges) < min(count, dim - 1):
            i, j = (int(each) for each in rng.integers(dim, size=2))
            a, b = root(i), root(j)
            if a != b:
                parent[a] = b
                edges.append((i, j))
        return cls(dim, np.array(edges, dtype=np.int64).reshape(-1, 2))

    @cached_property
    def singles(self) -> IntArray:
        """The coordinates without an edge (S,)."""
        return np.setdiff1d(np.arange(self.dim), self.edges)

    @cached_property
    def descents(self) -> tuple[tuple[int, int, int, bool], ...]:
        """The edges from the roots outwards, as (edge, parent, child, whether the parent is the table's first axis)."""
        neighbours: dict[int, list[tuple[int, int, bool]]] = {}
        for e, (i, j) in enumerate(self.edges.tolist()):
            neighbours.setdefault(i, []).append((e, j, True))
            neighbours.setdefault(j, []).append((e, i, False))
        seen: set[int] = set()
        found: list[tuple[int, int, int, bool]] = []
        for start in neighbours:
            if start in seen:
                continue
            seen.add(start)
            waiting = [start]
            while waiting:
                parent = waiting.pop()
                for edge, child, is_first in neighbours[parent]:
                    if child not in seen:
                        seen.add(child)
                        found.append((edge, parent, child, is_first))
                        waiting.append(child)
        return tuple(found)

    def minimise(self, tables: Tables) -> IntArray:
        """Return the values (D,), as numbers 0 … k - 1, at which the sum of the tables is least.

        Min-sum dynamic programming: from the leaves to the roots every coordinate reports what its branch costs at
        best for each value of its parent; then the values are read off from the roots to the leaves.
        """
        single, pair = tables
        costs = np.zeros((self.dim, pair.shape[-1]))
        costs[self.singles] = single
        replies: dict[int, IntArray] = {}
        for edge, parent, child, is_first in reversed(self.descents):
            branch = (pair[edge] if is_first else pair[edge].T) + costs[child]
            replies[child] = np.argmin(branch, axis=1)
            costs[parent] += np.min(branch, axis=1)
        chosen = np.argmin(costs, axis=1)
        for _, parent, child, _ in self.descents:
            chosen[child] = replies[child][chosen[parent]]
        return np.asarray(chosen, dtype=np.int64)


def zoom(
    forest: Forest, tables: Callable[[IntArray], Tables], size: int, branching: int, rng: np.random.Generator
) -> IntArray:
    """Return numbers of grid points (D,), 0 … size - 1 in each coordinate, where a sum over the forest is small.

    Every coordinate's grid is cut into `branching` pieces, a random point of each stands for it, the forest is
    minimised over these, and the pieces of the winners are cut again, down to single points.

    Parameters
    ----------
    tables
        Takes numbers of grid points (D, branching) to the tables of the sum at them.
    """
    low = np.zeros(forest.dim, dtype=np.int64)
    high = np.full(forest.dim, size, dtype=np.int64)
    rows = np.arange(forest.dim)
    while True:
        # Pieces differ in length by one at the most; what is shorter than `branching` has empty ones.
        cuts = low[:, None] + (high - low)[:, None] * np.arange(branching + 1) // branching
        begin, end = cuts[:, :-1], cuts[:, 1:]
        full = end > begin
        points = rng.integers(begin, np.where(full, end, begin + 1))
        # An empty piece repeats a full one: it can win nothing that the other does not.
        last = np.broadcast_to((high - 1)[:, None], points.shape)
        begin, points, end = np.where(full, begin, last), np.where(full, points, last), np.where(full, end, last + 1)
        chosen = forest.minimise(tables(points))
        low, high = begin[rows, chosen], end[rows, chosen]
        if (high - low == 1).all():
            return low
