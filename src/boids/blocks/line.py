"""A line through a point of the cube [-1, 1]^d, and the piece of it that stays inside.

Notation
--------
x       point on the line, inside the cube           (..., d)
v       unit direction                               (..., d)
t       parameter of the point x + t v
[t_lo, t_hi]   the chord: all t for which x + t v is in the cube; it contains 0
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import DTypeLike, NDArray

from boids.records import FloatArray


@final
@dataclass(frozen=True, slots=True)
class Lines:
    """m lines: `origins` (m, d), unit `directions` (m, d), chords `low` and `high` (m,)."""

    origins: FloatArray
    directions: FloatArray
    low: FloatArray
    high: FloatArray

    @classmethod
    def through(cls, origins: FloatArray, vectors: FloatArray) -> Lines:
        """Return the lines through `origins` along `vectors`, which must not be zero."""
        directions = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        low, high = chord(origins, directions)
        return cls(origins, directions, low, high)

    def one_sided(self) -> Lines:
        """Return the rays that start at the origins."""
        return Lines(self.origins, self.directions, np.zeros_like(self.low), self.high)

    def parameters(self, count: int, rng: np.random.Generator) -> FloatArray:
        """Return `count` uniform parameters t on every chord (m, count)."""
        return rng.uniform(self.low[:, None], self.high[:, None], (len(self.low), count))

    def sample(self, i: int, count: int, rng: np.random.Generator, dtype: DTypeLike = np.float64) -> NDArray[Any]:
        """Return `count` uniform points of the chord of line i, in the given precision."""
        t = rng.uniform(self.low[i], self.high[i], count).astype(dtype)
        points: NDArray[Any] = np.multiply.outer(t, self.directions[i].astype(dtype))
        points += self.origins[i].astype(dtype)
        # Rounding can put a point outside the cube by one unit in the last place.
        return np.clip(points, -1.0, 1.0, out=points)


def chord(origins: FloatArray, directions: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return [t_lo, t_hi] for each row: the slabs -1 ≤ x + t v ≤ 1 of all coordinates, intersected."""
    moving = directions != 0.0
    safe = np.where(moving, directions, 1.0)
    with np.errstate(over="ignore"):
        one = (-1.0 - origins) / safe
        other = (1.0 - origins) / safe
    low = np.where(moving, np.minimum(one, other), -np.inf).max(axis=-1)
    high = np.where(moving, np.maximum(one, other), np.inf).min(axis=-1)
    # The origin is inside, so 0 belongs to the chord; rounding must not move it out.
    return np.minimum(low, 0.0), np.maximum(high, 0.0)
