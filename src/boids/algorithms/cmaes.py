"""CMA-ES: an evolution strategy that learns the shape of its sampling distribution; the work is pycma's.

Hansen & Ostermeier, *Completely Derandomized Self-Adaptation in Evolution Strategies*, Evolutionary Computation 2001.
Restarts with a growing population: Auger & Hansen, *A Restart CMA Evolution Strategy With Increasing Population Size*,
CEC 2005.

A generation ends as soon as λ of its samples have values, whichever these are: with more evaluations under way than
λ, more than λ samples are made, and the last to come back are too late to be learnt from.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, cast, final

import numpy as np

from boids.algorithms.pycma_replay import Evolution, Strategy, cma, default_population, replayed
from boids.records import Domain, FloatArray, History, IntArray, Outcome, Proposal
from boids.settings import check_settings, setting


@final
@dataclass(frozen=True, slots=True)
class CmaesState:
    """Where the strategy stands.

    Attributes
    ----------
    seed
        Of all strategies of the run.
    population
        λ of the present one, or of the next one if `evolution` is None.
    evolution
        The present strategy; None until it has a place to start from.
    restarts
        How many there were before it.
    asked
        Samples of the present generation that were handed out.
    members, rows
        Samples of the present generation that have been told: their numbers, and their rows of the history.
    """

    seed: int
    population: int
    evolution: Evolution | None
    restarts: int
    asked: int
    members: IntArray
    rows: IntArray


_NOTHING = np.empty(0, dtype=np.int64)


@final
@dataclass(frozen=True)
class CMAES:
    """CMA-ES with bounds; see the fields for its settings."""

    name: ClassVar[str] = "cmaes"
    summary: ClassVar[str] = "evolution strategy with covariance matrix adaptation (pycma)"
    reference: ClassVar[str] = "Hansen & Ostermeier, Evolutionary Computation 2001"
    considers: ClassVar[tuple[str, ...]] = ("earlier",)
    State: ClassVar[type[CmaesState]] = CmaesState
    extra: ClassVar[str] = "cma"

    sigma: float = setting(0.3, "BOIDS paper: the first step size, of the width of the box", least=1e-6, most=10)
    population: int | None = setting(None, "pycma: λ = 4 + ⌊3 ln D⌋; a number fixes it", least=3)
    start: Literal["random", "centre"] = setting(
        "random", "ours: the first mean, unless a point is known; the papers do not say"
    )
    start_at_best: bool = setting(True, "ours: the first mean is the best of the points known beforehand, if any")
    population_growth: float = setting(
        2.0,
        "pycma's fmin (IPOP): after a restart λ is so many times as large",
        least=1,
        most=10,
    )

    def __post_init__(self) -> None:
        check_settings(self)

    def init(self, domain: Domain, budget: int, rng: np.random.Generator) -> CmaesState:
        """Choose the random stream; the start waits until the first proposal, when the user's points are known."""
        cma()  # to fail now rather than later
        size = default_population(domain.dim) if self.population is None else self.population
        return CmaesState(int(rng.integers(2**48)), size, None, 0, 0, _NOTHING, _NOTHING)

    def ready(self, state: CmaesState) -> int:
        """The rest of the generation."""
        return max(1, state.population - state.asked)

    def ask(
        self, state: CmaesState, history: History, pending: Sequence[Proposal], rng: np.random.Generator
    ) -> tuple[CmaesState, Proposal]:
        """Draw the next sample of the present generation, of a new strategy if the last one has stopped."""
        state, evolution = self._begun(state, history, pending, rng)
        with replayed(evolution, _teller(evolution)) as strategy:
            stopped, sample = bool(strategy.stopped), strategy.sample(state.asked)
            step_size = strategy.step_size
        if stopped:
            return self.ask(self._restarted(state), history, pending, rng)
        proposal = Proposal(
            unit=2.0 * sample - 1.0,
            memo={"restarts": state.restarts, "generation": len(evolution), "member": state.asked},
            info={"generation": len(evolution), "restarts": state.restarts, "sigma": step_size},
        )
        return replace(state, asked=state.asked + 1), proposal

    def tell(
        self, state: CmaesState, history: History, proposal: Proposal, outcome: Outcome, rng: np.random.Generator
    ) -> CmaesState:
        """Count the sample in; the λ-th ends the generation."""
        evolution, memo = state.evolution, proposal.memo
        if not memo or evolution is None:
            return state  # not a sample: the history has it, in case there is a start to come
        if (memo["restarts"], memo["generation"]) != (state.restarts, len(evolution)):
            return state  # too late
        members = np.append(state.members, cast(int, memo["member"]))
        rows = np.append(state.rows, len(history) - 1)
        if len(members) < state.population:
            return replace(state, members=members, rows=rows)
        order = np.argsort(members)  # whoever came first
        told = evolution.told(members[order], history.values[rows[order]])
        return replace(state, evolution=told, asked=0, members=_NOTHING, rows=_NOTHING)

    def diagnostics(self, state: CmaesState) -> dict[str, Any]:
        """Return where the strategy stands."""
        generations = 0 if state.evolution is None else len(state.evolution)
        return {"generation": generations, "population": state.population, "restarts": state.restarts}

    def _begun(
        self, state: CmaesState, history: History, pending: Sequence[Proposal], rng: np.random.Generator
    ) -> tuple[CmaesState, Evolution]:
        """Return the state with a strategy in it."""
        evolution = state.evolution
        if evolution is None:
            unit = self._start(state, history, pending, rng)
            seed = int(np.random.SeedSequence([state.seed, state.restarts]).generate_state(1)[0])
            evolution = Evolution.at(unit, self.sigma, state.population, seed)
            state = replace(state, evolution=evolution)
        return state, evolution

    def _start(
        self, state: CmaesState, history: History, pending: Sequence[Proposal], rng: np.random.Generator
    ) -> FloatArray:
        if state.restarts == 0 and self.start_at_best:
            if not np.isnan(history.values).all():
                return np.asarray(history.units[int(np.nanargmin(history.values))])
            guests = [proposal.unit for proposal in pending if proposal.is_guest]
            if guests:
                return guests[0]
        if state.restarts == 0 and self.start == "centre":
            return np.zeros(history.domain.dim)
        return np.asarray(history.domain.sample(1, rng)[0])

    def _restarted(self, state: CmaesState) -> CmaesState:
        """Forget the strategy that has stopped."""
        size = round(self.population_growth * state.population)
        return CmaesState(state.seed, size, None, state.restarts + 1, 0, _NOTHING, _NOTHING)


def _teller(evolution: Evolution) -> Callable[[Strategy, int], None]:
    def tell(strategy: Strategy, generation: int) -> None:
        strategy.tell_samples(evolution.members[generation], evolution.values[generation])

    return tell
