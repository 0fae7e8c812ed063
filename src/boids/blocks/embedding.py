"""The nested sparse embedding of BAxUS: every input dimension belongs to one bin, with a sign.

Papenmeier, Nardi & Poloczek, *Increasing the Scope as You Learn: Adaptive Bayesian Optimization in Nested Subspaces*,
NeurIPS 2022.

An embedding is two arrays instead of a d×D matrix; the matrix S of the papers has S[bins[c], c] = signs[c].

Notation
--------
bins    bin of every input dimension, 0 … d-1      (D,)
signs   +1 or -1 for every input dimension         (D,)
z       point of the subspace cube [-1, 1]^d       (d,)
u       its image signs * z[bins] in [-1, 1]^D     (D,)
c       centre: the image of z = 0, if not 0       (D,)

The papers' subspaces pass through the centre of the box. One that is to pass through a given point c bends every axis
there: v = signs * z[bins] is followed by φ(v) = c + v (1 - c) for v ≥ 0 and c + v (1 + c) for v < 0, so that the whole
range of every coordinate stays within reach. With s = signs * u and k = signs * c, along a bin's coordinate z,

    s = k + z r⁺ for z ≥ 0,  k + z r⁻ for z < 0,  with the room r⁺ = 1 - k on one side of c and r⁻ = 1 + k on the other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from boids.records import BoolArray, FloatArray, IntArray

#: Less room than this between c and the end of a coordinate is none.
_NO_ROOM = 1e-9


@final
@dataclass(frozen=True, slots=True)
class Embedding:
    """A map of the cube [-1, 1]^d into the cube [-1, 1]^D, linear unless it has a centre of its own."""

    bins: IntArray
    signs: FloatArray
    dim: int
    centre: FloatArray | None = None

    @classmethod
    def identity(cls, input_dim: int) -> Embedding:
        """The input space itself."""
        return cls(np.arange(input_dim), np.ones(input_dim), input_dim)

    @classmethod
    def random(cls, input_dim: int, dim: int, rng: np.random.Generator) -> Embedding:
        """Draw the embedding of BAxUS: bins of equal size (give or take one), random members, fair signs."""
        if dim >= input_dim:
            return cls.identity(input_dim)
        bins = np.empty(input_dim, dtype=np.int64)
        for row, members in enumerate(np.array_split(rng.permutation(input_dim), dim)):
            bins[members] = row
        return cls(bins, rng.choice([-1.0, 1.0], input_dim), dim)

    @property
    def input_dim(self) -> int:
        """D."""
        return len(self.bins)

    @property
    def sizes(self) -> IntArray:
        """How many input dimensions each bin holds (d,)."""
        return np.bincount(self.bins, minlength=self.dim)

    @property
    def splittable(self) -> bool:
        """Whether some bin holds two or more input dimensions."""
        return self.dim < self.input_dim

    @property
    def is_identity(self) -> bool:
        """Whether this is the input space itself, coordinate by coordinate."""
        return (
            self.centre is None
            and self.dim == self.input_dim
            and bool((self.signs == 1.0).all())
            and np.array_equal(self.bins, np.arange(self.dim))
        )

    @property
    def bounds(self) -> tuple[FloatArray, FloatArray]:
        """The box (d,), (d,) that has all images: where no member of a bin has room on one side of c, z ends at 0."""
        low, high = -np.ones(self.dim), np.ones(self.dim)
        if self.centre is not None:
            signed = self.signs * self.centre
            low[self._widest(1.0 + signed)[1] < _NO_ROOM] = 0.0
            high[self._widest(1.0 - signed)[1] < _NO_ROOM] = 0.0
        return low, high

    def lift(self, z: NDArray[Any]) -> NDArray[Any]:
        """Return the images of subspace points, given as (..., d), in their precision."""
        v: NDArray[Any] = np.asarray(self.signs.astype(z.dtype, copy=False) * z[..., self.bins])
        if self.centre is None:
            return v
        c = self.centre.astype(z.dtype, copy=False)
        return np.asarray(np.clip(c + np.where(v < 0.0, v * (1.0 + c), v * (1.0 - c)), -1.0, 1.0))

    def project(self, units: FloatArray) -> FloatArray:
        """Return the subspace points (..., d) of images (..., D) of this or any coarser embedding.

        All members of a bin carry the same coordinate up to sign, so one of them tells it: no averaging, and without a
        centre no rounding. With a centre it is the member with the most room on the image's side.
        """
        if self.centre is None:
            if self.is_identity:
                return np.array(units)
            representative = np.empty(self.dim, dtype=np.int64)
            representative[self.bins[::-1]] = np.arange(self.input_dim)[::-1]
            return self.signs[representative] * units[..., representative]
        signed = self.signs * self.centre
        offset = self.signs * (units - self.centre)
        above = self._steps(offset, 1.0 - signed)
        return np.asarray(np.where(above > 0.0, above, np.minimum(self._steps(offset, 1.0 + signed), 0.0)))

    def average(self, units: NDArray[Any]) -> NDArray[Any]:
        """Return the subspace points (..., d) whose images are nearest to any points (..., D) of the cube.

        Without a centre these are the means over the bins. For points that were moved after they were lifted, to
        whole integers say; `project` is exact for the others.
        """
        if self.centre is None:
            means: NDArray[Any] = self._sums(self.signs.astype(units.dtype) * units) / self.sizes.astype(units.dtype)
            return means
        signed = (self.signs * self.centre).astype(units.dtype)
        offset = self.signs.astype(units.dtype) * (units - self.centre.astype(units.dtype))
        above, gain_above = self._nearest(offset, 1.0 - signed)
        below, gain_below = self._nearest(-offset, 1.0 + signed)
        return np.asarray(np.where(gain_above >= gain_below, above, -below))

    def holds(self, units: FloatArray, tolerance: float = 1e-6) -> BoolArray:
        """Return which points (..., D) are images, to within a tolerance in every coordinate."""
        return np.asarray(np.abs(self.lift(self.average(units)) - units).max(axis=-1) <= tolerance)

    def _widest(self, room: FloatArray) -> tuple[IntArray, FloatArray]:
        """Return every bin's member with the most room, and how much that is (d,), (d,)."""
        order = np.argsort(room, kind="stable")
        members = np.empty(self.dim, dtype=np.int64)
        members[self.bins[order]] = order  # the last assignment wins
        return members, room[members]

    def _steps(self, offset: FloatArray, room: FloatArray) -> FloatArray:
        """Return offset / room of every bin's member with the most room (..., d); 0 where none has any."""
        members, widest = self._widest(room)
        usable = widest >= _NO_ROOM
        return np.where(usable, offset[..., members] / np.where(usable, widest, 1.0), 0.0)

    def _nearest(self, offset: NDArray[Any], room: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the z in [0, 1] of least Σ (offset - z room)² in every bin, and by how much it is less than at 0."""
        along = np.maximum(self._sums(offset * room), 0.0)
        squares = self._sums(room * room)
        usable = squares >= _NO_ROOM**2
        z = np.where(usable, along / np.where(usable, squares, 1.0), 0.0)
        return np.minimum(z, 1.0), z * along

    def _sums(self, numbers: NDArray[Any]) -> NDArray[Any]:
        """Return the sums over the bins (..., d) of numbers (..., D)."""
        order = np.argsort(self.bins, kind="stable")
        starts = np.concatenate([[0], np.cumsum(self.sizes)[:-1]])
        sums: NDArray[Any] = np.add.reduceat(numbers[..., order], starts, axis=-1)
        return sums

    def split(self, order: FloatArray, new_bins: int, rng: np.random.Generator) -> tuple[Embedding, IntArray]:
        """Split every bin that can be split, and return the finer embedding and `parent`.

        Parameters
        ----------
        order
            One number per bin (the length scales): bins are split in ascending order, which fixes only the order in
            which the new coordinates are appended.
        new_bins
            b of the paper; d_cur bins become about (b + 1) d_cur.

        Returns
        -------
        embedding, parent
            ``parent[k]`` is the old coordinate that new coordinate k repeats, so that
            ``embedding.lift(z[..., parent]) == self.lift(z)`` exactly: points, incumbents and displacements keep
            their meaning.
        """
        sizes = self.sizes
        candidates = np.flatnonzero(sizes >= 2)
        if len(candidates) == 0:
            return self, np.arange(self.dim)
        pieces = ((new_bins + 1) * self.dim) // len(candidates)
        bins = self.bins.copy()
        parent = list(range(self.dim))
        for row in candidates[np.argsort(order[candidates], kind="stable")]:
            members = rng.permutation(np.flatnonzero(self.bins == row))
            groups = np.array_split(members, min(pieces, len(members)))
            for group in groups[1:]:  # the first group stays in its row
                bins[group] = len(parent)
                parent.append(int(row))
        return Embedding(bins, self.signs, len(parent), self.centre), np.array(parent, dtype=np.int64)
