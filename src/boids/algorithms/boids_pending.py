"""How BOIDS proposes a point while others are being evaluated: elsewhere, and as if their outcomes were known.

Ours; the paper evaluates one point at a time. Three things keep proposals apart: the models are conditioned on
the pending points at their predicted means (Ginsbourger, Le Riche & Carraro, *Kriging is well-suited to parallelize
optimization*, 2010: the "believer"), lines that nobody follows are preferred to others that are hardly better, and
no proposal is nearer than `SEPARATION` to a pending one, if the space has such a point at all.

Notation
--------
D, d    input dimension, subspace dimension
k       pending proposals, of which those in the subspace are known to the models
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import cast, final

import numpy as np

from boids.algorithms.boids_guests import held
from boids.algorithms.boids_state import BoidsState
from boids.blocks.embedding import Embedding
from boids.records import Domain, FloatArray, History, Proposal

#: The `line` of a proposal that belongs to the initial design.
DESIGN = -1

#: In at least one coordinate of [-1, 1]^D a proposal differs from every pending one by so much, 0.05 % of the range.
#: Without a centre the largest difference is the same in the subspace.
SEPARATION = 1e-3
#: Random steps away from a pending point, which grow up to the size of the cube.
_STEPS = 60


@final
@dataclass(frozen=True)
class UnderWay:
    """The pending proposals, as they matter to the next one.

    Attributes
    ----------
    units
        Where they are (k, D).
    known
        Those that the present subspace has: this run's own, and any other that happens to be in it (≤ k, D).
    busy
        The lines that are being followed.
    descents
        How many are steps down the slope that a sweep has shown.
    """

    units: FloatArray
    known: FloatArray
    busy: tuple[int, ...]
    descents: int = 0

    @classmethod
    def of(cls, state: BoidsState, pending: Sequence[Proposal], domain: Domain) -> UnderWay:
        """Sort the pending proposals."""
        units = np.array([proposal.unit for proposal in pending]).reshape(-1, state.input_dim)
        own = np.array([not p.is_guest and p.memo["epoch"] == state.epoch for p in pending], dtype=bool)
        known = own.copy()
        if not own.all():
            known[~own] = held(state.embedding, units[~own], domain)
        mine = [p for p, is_own in zip(pending, own, strict=True) if is_own]
        lines = tuple(line for line in map(line_of, mine) if line != DESIGN)
        return cls(units, units[known], lines, sum(p.memo["turn"] == "descent" for p in mine))

    def near(self, unit: FloatArray) -> bool:
        """Whether a point is nearly the same as a pending one."""
        return bool(len(self.units)) and bool((np.abs(self.units - unit).max(axis=1) < SEPARATION).any())

    def newness(self, history: History, embedding: Embedding) -> Callable[[FloatArray], bool]:
        """Return whether a subspace point leads to one that is neither evaluated nor pending.

        Continuous points, which are hardly ever hit twice, are not looked up among the evaluated ones; and if values
        are noisy, evaluating a point again is worth it.
        """
        snapping = history.domain.snapping

        def is_new(z: FloatArray) -> bool:
            unit = embedding.lift(z)
            if snapping is None:
                return not self.near(unit)
            unit = np.asarray(snapping(unit))
            return (history.domain.noisy or not history.tried(unit)) and not self.near(unit)

        return is_new

    def apart(self, z: FloatArray, history: History, embedding: Embedding, rng: np.random.Generator) -> FloatArray:
        """Return z, or if it leads to a pending point one nearby that does not; z after all if none was found."""
        domain = history.domain
        unit = embedding.lift(z)
        if not self.near(unit if domain.snapping is None else np.asarray(domain.snapping(unit))):
            return z
        is_new = self.newness(history, embedding)
        for size in np.geomspace(2.0 * SEPARATION, 2.0, _STEPS):
            other: FloatArray = np.clip(z + size * rng.uniform(-1.0, 1.0, len(z)), -1.0, 1.0)
            if domain.repairing is not None:
                other = embedding.project(domain.repairing(embedding.lift(other)))
            elif domain.violating is not None and domain.violating(embedding.lift(other)[None])[0] > 0.0:
                continue
            if is_new(other):
                return other
        return z


def line_of(proposal: Proposal) -> int:
    """Return the line that a proposal of the method's own was found on, or `DESIGN`."""
    return cast(int, proposal.memo["line"])
