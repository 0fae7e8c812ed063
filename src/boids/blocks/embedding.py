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
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from boids.records import FloatArray, IntArray


@final
@dataclass(frozen=True, slots=True)
class Embedding:
    """A linear map of the cube [-1, 1]^d into the cube [-1, 1]^D."""

    bins: IntArray
    signs: FloatArray
    dim: int

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

    def lift(self, z: NDArray[Any]) -> NDArray[Any]:
        """Return the images of subspace points, given as (..., d), in their precision."""
        return np.asarray(self.signs.astype(z.dtype, copy=False) * z[..., self.bins])

    def project(self, units: FloatArray) -> FloatArray:
        """Return the subspace points (..., d) of images (..., D); exact for images of this or any coarser embedding.

        All members of a bin carry the same coordinate up to sign, so one of them tells it: no averaging, no rounding.
        """
        representative = np.empty(self.dim, dtype=np.int64)
        representative[self.bins[::-1]] = np.arange(self.input_dim)[::-1]
        return self.signs[representative] * units[..., representative]

    def average(self, units: NDArray[Any]) -> NDArray[Any]:
        """Return the subspace points (..., d) nearest to any points (..., D) of the cube: the means over the bins.

        For points that were moved after they were lifted, to whole integers say; `project` is exact for the others.
        """
        order = np.argsort(self.bins, kind="stable")
        sizes = self.sizes
        starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
        signed = (self.signs.astype(units.dtype) * units)[..., order]
        means: NDArray[Any] = np.add.reduceat(signed, starts, axis=-1) / sizes.astype(units.dtype)
        return means

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
        return Embedding(bins, self.signs, len(parent)), np.array(parent, dtype=np.int64)
