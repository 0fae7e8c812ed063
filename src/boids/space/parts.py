"""Linear constraints fall apart into groups of rows that share columns; each group is a polytope of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from boids.errors import SpaceError
from boids.records import FloatArray, IntArray
from boids.space.checks import shorten
from boids.space.polytope import Polytope
from boids.space.walk import Walk

#: Among more rows than this, the culprits of a contradiction are not looked for.
_MANY_ROWS = 50


@final
@dataclass(frozen=True, eq=False)
class Part:
    """Some of the rows and all of their columns.

    Attributes
    ----------
    rows, columns
        Their places among all rows and all columns.
    polytope
        What they cut out of the unit cube.
    anchor
        Some point of the polytope.
    """

    rows: IntArray
    columns: IntArray
    polytope: Polytope
    anchor: FloatArray

    @cached_property
    def _walk(self) -> Walk | None:
        return Walk.of(self.polytope)

    def sample(self, count: int, offsets: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Return `count` random points of the polytope (count, k), with the densities that `Walk.sample` describes."""
        if self._walk is None:  # the polytope is so thin that it is empty for the other solver
            return np.tile(self.anchor, (count, 1))
        points = self._walk.sample(count, offsets, rng)
        discrete, steps = self.polytope.discrete, self.polytope.steps
        if discrete.any():
            points[:, discrete] = np.rint(points[:, discrete] * steps[discrete]) / steps[discrete]
            found = [self.polytope.nearest(point, np.ones_like(point)) for point in points]
            points = np.array([self.anchor if each is None else each for each in found])
        return points

    @property
    def is_thin(self) -> bool:
        """Whether uniform points of the cube have no chance to satisfy the rows."""
        polytope = self.polytope
        named = polytope.rows[polytope.equations] != 0.0
        return bool((named & ~polytope.discrete).any())


def find_parts(polytope: Polytope, texts: Sequence[str]) -> list[Part]:
    """Return the parts of a polytope each of whose columns is named by some row; `texts` name the rows in errors."""
    m, k = polytope.rows.shape
    row, column = np.nonzero(polytope.rows)
    links = csr_array((np.ones(len(row)), (row, m + column)), shape=(m + k, m + k))
    count, labels = connected_components(links, directed=False)
    parts = []
    for label in range(count):
        rows, columns = np.flatnonzero(labels[:m] == label), np.flatnonzero(labels[m:] == label)
        own = polytope.select(rows).over(columns)
        anchor = own.point()
        if anchor is None:
            raise SpaceError(_conflict(own, [texts[each] for each in rows.tolist()]))
        parts.append(Part(rows, columns, own, anchor))
    return parts


def _conflict(polytope: Polytope, texts: Sequence[str]) -> str:
    """Return a sentence that names the rows of an empty polytope: only those in conflict, unless there are many."""
    rows = np.arange(len(texts))
    if len(rows) <= _MANY_ROWS:
        for row in range(len(texts)):  # leave out, one after the other, what the contradiction does not need
            others = rows[rows != row]
            if len(others) and polytope.select(others).point(thorough=False) is None:
                rows = others
    names = shorten(dict.fromkeys(texts[row] for row in rows.tolist()), 8)
    if polytope.discrete.any():  # beyond the limits of the solver it may be there all the same
        return f"No point of the space, with its integers, was found that satisfies the linear constraints {names}."
    return f"No point of the space satisfies the linear constraints {names}; they cannot hold together."
