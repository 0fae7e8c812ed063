"""Random search: independent uniform points. The floor that every other method must beat, and the smallest method."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, final

import numpy as np

from boids.records import Domain, History, Outcome, Proposal


@final
@dataclass(frozen=True, slots=True)
class RandomState:
    """How many proposals are still to come."""

    remaining: int


@final
@dataclass(frozen=True)
class RandomSearch:
    """Uniform points in the box; has no options."""

    name: ClassVar[str] = "random"
    summary: ClassVar[str] = "independent uniform points"
    reference: ClassVar[str] = "Bergstra & Bengio, JMLR 2012"
    considers: ClassVar[tuple[str, ...]] = ()
    State: ClassVar[type[RandomState]] = RandomState

    def init(self, domain: Domain, budget: int, rng: np.random.Generator) -> RandomState:
        """Return the state before the first proposal."""
        return RandomState(remaining=budget)

    def ready(self, state: RandomState) -> int:
        """All remaining points: none of them depends on a value."""
        return max(1, state.remaining)

    def ask(
        self, state: RandomState, history: History, pending: Sequence[Proposal], rng: np.random.Generator
    ) -> tuple[RandomState, Proposal]:
        """Draw the next point."""
        unit = history.domain.sample(1, rng)[0]
        return replace(state, remaining=state.remaining - 1), Proposal(unit)

    def tell(
        self,
        state: RandomState,
        history: History,
        proposal: Proposal,
        outcome: Outcome,
        rng: np.random.Generator,
    ) -> RandomState:
        """Learn nothing."""
        return state

    def diagnostics(self, state: RandomState) -> dict[str, Any]:
        """Nothing to report."""
        return {}
