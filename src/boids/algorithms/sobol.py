"""Sobol points: a scrambled low-discrepancy sequence, which covers the box more evenly than random points do.

Sobol', *On the distribution of points in a cube and the approximate evaluation of integrals*, 1967; Owen, *Scrambling
Sobol' and Niederreiter-Xing points*, 1998. The sequence is SciPy's (linear matrix scrambling with a digital shift).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, ClassVar, final

import numpy as np

from boids.errors import MethodError
from boids.records import Domain, FloatArray, History, Outcome, Proposal

#: Points made at a time: a power of two, as the sequence likes it.
BLOCK = 256
#: Points of the sequence that are skipped, at the most, to find one that satisfies linear constraints.
MOST_SKIPPED = 256


@final
@dataclass(frozen=True, slots=True)
class SobolState:
    """The scrambling's seed, the next point of the sequence, and how many proposals are still to come."""

    seed: int
    place: int
    remaining: int


@final
@dataclass(frozen=True)
class Sobol:
    """A scrambled Sobol sequence; has no options."""

    name: ClassVar[str] = "sobol"
    summary: ClassVar[str] = "scrambled Sobol sequence"
    reference: ClassVar[str] = "Sobol', USSR Comput. Math. Math. Phys. 1967; Owen, J. Complexity 1998"
    considers: ClassVar[tuple[str, ...]] = ()
    State: ClassVar[type[SobolState]] = SobolState

    def init(self, domain: Domain, budget: int, rng: np.random.Generator) -> SobolState:
        """Draw the scrambling."""
        from scipy.stats import qmc  # half of the time that importing boids would take

        if domain.dim > qmc.Sobol.MAXDIM:
            raise MethodError(
                f"A Sobol sequence has at most {qmc.Sobol.MAXDIM} dimensions, not {domain.dim}; use 'random'."
            )
        return SobolState(seed=int(rng.integers(2**48)), place=0, remaining=budget)

    def ready(self, state: SobolState) -> int:
        """All remaining points: none of them depends on a value."""
        return max(1, state.remaining)

    def ask(
        self, state: SobolState, history: History, pending: Sequence[Proposal], rng: np.random.Generator
    ) -> tuple[SobolState, Proposal]:
        """Take the next point of the sequence; with linear constraints, the next one that satisfies them."""
        domain, place = history.domain, state.place
        unit = _point(domain.dim, state.seed, place)
        if domain.violating is not None and domain.repairing is None:
            while domain.violating(unit[None])[0] > 0.0 and place - state.place < MOST_SKIPPED:
                place += 1
                unit = _point(domain.dim, state.seed, place)
            if domain.violating(unit[None])[0] > 0.0:
                unit = domain.sample(1, rng)[0]
        return replace(state, place=place + 1, remaining=state.remaining - 1), Proposal(unit)

    def tell(
        self, state: SobolState, history: History, proposal: Proposal, outcome: Outcome, rng: np.random.Generator
    ) -> SobolState:
        """Learn nothing."""
        return state

    def diagnostics(self, state: SobolState) -> dict[str, Any]:
        """How far the sequence has been used."""
        return {"place": state.place}


def _point(dim: int, seed: int, place: int) -> FloatArray:
    """Return one point of the sequence, in the signed cube."""
    block, row = divmod(place, BLOCK)
    return np.asarray(2.0 * _block(dim, seed, block)[row] - 1.0, dtype=np.float64)


@lru_cache(maxsize=4)
def _block(dim: int, seed: int, number: int) -> FloatArray:
    """Return points of the sequence, in the unit cube; kept for the next proposals, but made again at any time."""
    from scipy.stats import qmc

    sequence = qmc.Sobol(dim, rng=np.random.default_rng(seed))
    if number:
        sequence.fast_forward(number * BLOCK)
    return np.asarray(sequence.random(BLOCK), dtype=np.float64)
