"""Small methods for tests of the shell: one with a rich state, and some that misbehave."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from boids.records import Domain, FloatArray, History, IntArray, Outcome, Proposal


@dataclass(frozen=True, slots=True)
class Memory:
    """A nested part of the state."""

    point: FloatArray
    value: float
    tag: str


@dataclass(frozen=True, eq=False)
class WandererState:
    """One field of every kind that a state may have."""

    dim: int
    asked: int
    temperature: float
    mood: Literal["calm", "eager"]
    last: Memory | None
    memories: tuple[Memory, ...]
    pair: tuple[int, str]
    visits: dict[str, int]
    mask: NDArray[np.bool_]
    small: NDArray[np.float32]
    order: IntArray
    nothing: None = None


@dataclass(frozen=True)
class Wanderer:
    """Steps from the best point, by amounts that depend on the state, the history, the pending points and rng."""

    step: float = 0.3
    modes: tuple[str, ...] = ("a", "b")

    name: ClassVar[str] = "wanderer"
    summary: ClassVar[str] = "for tests"
    reference: ClassVar[str] = "none"
    State: ClassVar[type[WandererState]] = WandererState

    def init(self, domain: Domain, budget: int, rng: np.random.Generator) -> WandererState:
        dim = domain.dim
        return WandererState(
            dim=dim,
            asked=0,
            temperature=float("inf"),
            mood="calm",
            last=None,
            memories=(),
            pair=(0, "start"),
            visits={},
            mask=rng.random(dim) < 0.5,
            small=rng.random(3).astype(np.float32),
            order=rng.permutation(dim),
        )

    def ready(self, state: WandererState) -> int:
        return max(1, 3 - state.asked)

    def ask(
        self, state: WandererState, history: History, pending: Sequence[Proposal], rng: np.random.Generator
    ) -> tuple[WandererState, Proposal]:
        if state.asked < 3:  # a design: no proposal depends on a value
            unit = rng.uniform(-1, 1, state.dim)
        else:
            centre = np.zeros(state.dim) if state.last is None else state.last.point
            crowd = sum((p.memo["z"] for p in pending), np.zeros(state.dim))
            noise = rng.normal(size=state.dim) * np.where(state.mask, self.step, 0.1)
            total = np.nansum(np.arctan(history.values))
            unit = np.tanh(centre + noise[state.order] + 0.01 * crowd + 1e-3 * np.sin(total) + state.small.mean())
        memo = {
            "z": 0.5 * unit,
            "asked": state.asked,
            "weight": float("nan"),
            "mode": self.modes[state.asked % len(self.modes)],
            "first": state.asked == 0,
            "parent": None,
            "index": state.order,
        }
        info = {"n_pending": len(pending), "nested": {"list": [1, 2.5, None]}}
        state = replace(state, asked=state.asked + 1, pair=(state.asked, memo["mode"]))
        return state, Proposal(unit, memo, info, {"fit": 1e-4})

    def tell(
        self,
        state: WandererState,
        history: History,
        proposal: Proposal,
        outcome: Outcome,
        rng: np.random.Generator,
    ) -> WandererState:
        tag = str(proposal.memo["mode"])
        visits = {**state.visits, tag: state.visits.get(tag, 0) + 1}
        if outcome.failed:
            return replace(state, visits=visits, mood="calm")
        memory = Memory(2 * proposal.memo["z"], outcome.value, tag)
        better = state.last is None or outcome.value < state.last.value
        return replace(
            state,
            temperature=min(state.temperature, abs(outcome.value)) + rng.random(),
            mood="eager",
            last=memory if better else state.last,
            memories=(*state.memories, memory)[-4:],
            visits=visits,
            small=np.roll(state.small, len(history)),
        )

    def diagnostics(self, state: WandererState) -> dict[str, Any]:
        return {"mood": state.mood, "temperature": np.float64(1.0), "order": state.order}


@dataclass(frozen=True)
class ToyState:
    count: int


@dataclass(frozen=True)
class Toy:
    """A method with a plug for each behaviour that a test wants to see."""

    on_ask: Any = None
    on_tell: Any = None

    name: ClassVar[str] = "toy"
    summary: ClassVar[str] = "for tests"
    reference: ClassVar[str] = "none"
    State: ClassVar[type[ToyState]] = ToyState

    def init(self, domain: Domain, budget: int, rng: np.random.Generator) -> ToyState:
        return ToyState(0)

    def ready(self, state: ToyState) -> int:
        return 1

    def ask(self, state: Any, history: History, pending: Any, rng: Any) -> tuple[ToyState, Proposal]:
        return ToyState(state.count + 1), Proposal(self.on_ask(state, history, pending, rng))

    def tell(self, state: Any, history: History, proposal: Any, outcome: Any, rng: Any) -> ToyState:
        if self.on_tell is not None:
            self.on_tell(state, history, proposal, outcome, rng)
        return state

    def diagnostics(self, state: ToyState) -> dict[str, Any]:
        return {"count": state.count}
