"""TuRBO: one or several local searches in trust regions, each with a model of its own.

Eriksson, Pearce, Gardner, Turner & Poloczek, *Scalable Global Optimization via Local Bayesian Optimization*, NeurIPS
2019. Everything takes place in the unit cube, as in the paper, whose numbers are for it.

Notation
--------
D       dimension               m       trust regions, which do not share data
X, y    points of a region in [0, 1]^D (n, D) and their values (n,)
L       side length of a region
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, cast, final

import numpy as np

from boids.algorithms.boids_models import Data
from boids.algorithms.boids_training import Fit
from boids.algorithms.thompson import Model, ThompsonSettings, is_improvement, with_guest
from boids.blocks.candidates import choose, perturbed_candidates
from boids.blocks.design import DESIGNS, DesignName
from boids.blocks.stopwatch import Stopwatch
from boids.blocks.trust_region import RegionRules, Rounds, TrustRegion, region_failure_tolerance
from boids.errors import MethodError
from boids.gp.model import Surrogate
from boids.records import Domain, FloatArray, History, IntArray, Outcome, Proposal
from boids.settings import setting

#: Designs take at most this share of the budget, unless `n_init` says otherwise.
DESIGN_SHARE = 0.2


@final
@dataclass(frozen=True, slots=True)
class Region:
    """A local search between two proposals."""

    restarts: int
    queue: FloatArray  # design points not handed out yet (k, D)
    rows: IntArray  # rows of the history that the region's model learns from (n,)
    trust: TrustRegion
    rounds: Rounds
    fit: Fit | None


@final
@dataclass(frozen=True, slots=True)
class TurboState:
    """All regions, and the random seed of the candidates of the present round."""

    budget: int
    asked: int
    known: int  # outcomes that the present round is based on
    seed: int
    regions: tuple[Region, ...]


@final
@dataclass(frozen=True)
class Turbo(ThompsonSettings):
    """TuRBO-1, or with `regions` above 1 TuRBO-m."""

    name: ClassVar[str] = "turbo"
    summary: ClassVar[str] = "Thompson sampling in trust regions (TuRBO-1; TuRBO-m with `regions`)"
    reference: ClassVar[str] = "Eriksson, Pearce, Gardner, Turner & Poloczek, NeurIPS 2019"
    considers: ClassVar[tuple[str, ...]] = ("noise", "pending", "earlier")
    State: ClassVar[type[TurboState]] = TurboState

    surrogate: Surrogate = setting(
        Surrogate(lengthscale_bounds=(0.005, 2.0)), "original: Matérn-5/2 ARD, boxes for inputs in [0, 1]^D, no priors"
    )
    regions: int = setting(1, "original: m = 1 (TuRBO-1) or more (TuRBO-m)", least=1)
    n_init: int | None = setting(
        None, "original: given, 2 D recommended, for every region; None: that, within a fifth of the budget", least=1
    )
    design: DesignName = setting("latin-hypercube", "original")
    perturbed: float = setting(20.0, "original: coordinates of a candidate that differ from the best's", least=1)
    length_initial: float = setting(0.8, "paper: L_init = 0.8", least=1e-9, most=1e9)
    length_max: float = setting(1.6, "paper: L_max = 1.6", least=1e-9, most=1e9)
    length_min: float = setting(2.0**-7, "paper: L_min = 2^-7", least=1e-9, most=1e9)
    success_tolerance: int = setting(3, "paper: tau_succ = 3", least=1)
    failure_tolerance: int | None = setting(
        None, "original: max(4, D) points without success, max(5, D) with several regions", least=1
    )
    success_threshold: float = setting(1e-3, "original: better by more than 0.1 % of |best|", least=0)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_lengths(self.length_min, self.length_initial, self.length_max)

    @property
    def rules(self) -> RegionRules:
        """The constants of a trust region."""
        return RegionRules(self.length_initial, self.length_max, self.length_min, self.success_tolerance)

    def init(self, domain: Domain, budget: int, rng: np.random.Generator) -> TurboState:
        """Draw the designs of all regions."""
        regions, left = [], budget
        for _ in range(self.regions):
            regions.append(self._fresh(domain, budget, left, 0, rng))
            left -= len(regions[-1].queue)
        return TurboState(budget=budget, asked=0, known=-1, seed=0, regions=tuple(regions))

    def ready(self, state: TurboState) -> int:
        """The rest of the designs can be evaluated at once."""
        return max(1, sum(len(region.queue) for region in state.regions))

    def ask(
        self, state: TurboState, history: History, pending: Sequence[Proposal], rng: np.random.Generator
    ) -> tuple[TurboState, Proposal]:
        """Propose a design point, or the lowest point of a draw over all regions."""
        state = replace(state, asked=state.asked + 1)
        for i, region in enumerate(state.regions):
            if len(region.queue):
                state = _with(state, i, replace(region, queue=region.queue[1:].copy()))
                return state, self._proposal(state, i, 2.0 * region.queue[0] - 1.0, "design")
        if not any(len(region.rows) for region in state.regions):
            # Every design point is still being evaluated: one more of its kind.
            return state, self._proposal(state, 0, history.domain.sample(1, rng)[0], "design")
        if state.known != len(history):
            # Proposals made from the same outcomes are draws at the same candidates.
            state = replace(state, known=len(history), seed=int(rng.integers(2**62)))

        watch = Stopwatch()
        draws, images, owners, to_beat = [], [], [], []
        for i, region in enumerate(state.regions):
            if not len(region.rows):
                continue
            with watch.phase("fit"):
                fit, model = Model.learn(self, self._data(region, history), region.fit, rng)
                state = _with(state, i, replace(region, fit=fit))
            with watch.phase("select"):
                points = self._candidates(region, model, np.random.default_rng([state.seed, i]))
                image = 2.0 * points - 1.0
                if history.domain.snapping is not None:
                    image = np.asarray(history.domain.snapping(image))
                    points = 0.5 * (image + 1.0)
                # In the objective's own units, for regions compete with each other.
                draws.append(model.draw(points, rng))
                images.append(image)
                owners.append(np.full(len(image), i))
                to_beat.append(np.full(len(image), model.to_beat))
        with watch.phase("select"):
            units = np.concatenate(images)
            row = choose(np.concatenate(draws), units, pending, history)
            i = int(np.concatenate(owners)[row])
        region = state.regions[i]
        state = _with(state, i, replace(region, rounds=region.rounds.asked(len(history))))
        beaten = float(np.concatenate(to_beat)[row]) if history.domain.noisy else None
        proposal = self._proposal(state, i, units[row], "search", known=len(history), to_beat=beaten)
        return state, replace(proposal, times=watch.seconds)

    def tell(
        self, state: TurboState, history: History, proposal: Proposal, outcome: Outcome, rng: np.random.Generator
    ) -> TurboState:
        """Give the outcome to its region; a region that has shrunk too far begins again elsewhere."""
        if proposal.is_guest:
            first = state.regions[0]
            return _with(state, 0, replace(first, rows=with_guest(first.rows, history)))
        memo = proposal.memo
        i = cast(int, memo["region"])
        region = state.regions[i]
        if memo["restarts"] != region.restarts:
            return state  # from before a restart: the history has it, this search does not
        known, earlier = memo["known"], region.rows
        region = replace(region, rows=np.append(earlier, len(history) - 1))
        if not isinstance(known, int):
            return _with(state, i, region)  # of the design
        improved = is_improvement(proposal, outcome, history, earlier, self.success_threshold)
        rounds, size, success = region.rounds.told(known, improved)
        region = replace(region, rounds=rounds)
        if size:
            tolerance = self.failure_tolerance or region_failure_tolerance(history.domain.dim, self.regions)
            region = replace(region, trust=region.trust.update(success, size, tolerance, self.rules))
        if region.trust.exhausted(self.rules):
            left = state.budget - state.asked
            region = self._fresh(history.domain, state.budget, left, region.restarts + 1, rng)
        return _with(state, i, region)

    def diagnostics(self, state: TurboState) -> dict[str, Any]:
        """Return where every region stands."""
        return {
            "regions": [
                {
                    "restarts": region.restarts,
                    "evaluations": len(region.rows),
                    "length": region.trust.length,
                    "successes": region.trust.successes,
                    "failures": region.trust.failures,
                    "signal_variance": None if region.fit is None else region.fit.hyper.signal_variance,
                    "noise_variance": None if region.fit is None else region.fit.hyper.noise_variance,
                    "lengthscales": None if region.fit is None else region.fit.hyper.lengthscales.tolist(),
                }
                for region in state.regions
            ]
        }

    def _fresh(self, domain: Domain, budget: int, left: int, restarts: int, rng: np.random.Generator) -> Region:
        """Return a region that has only a design to begin with, cut to what is left of the budget."""
        count = self.n_init or max(2, min(2 * domain.dim, int(DESIGN_SHARE * budget / self.regions)))
        queue = 0.5 * (DESIGNS[self.design](min(count, max(left, 0)), domain.dim, rng) + 1.0)
        if domain.sampling is not None:
            queue = 0.5 * (domain.sample(len(queue), rng) + 1.0)
        rows = np.empty(0, dtype=np.int64)
        return Region(restarts, queue, rows, TrustRegion.fresh(self.rules), Rounds.none(), None)

    def _data(self, region: Region, history: History) -> Data:
        rows = region.rows
        noise = None if history.noise is None else history.noise[rows]
        return Data(0.5 * (history.units[rows] + 1.0), history.values[rows], None, noise, history.domain.noisy)

    def _candidates(self, region: Region, model: Model, rng: np.random.Generator) -> FloatArray:
        """Return candidates in the region: around its best point, longer where the model varies slowly."""
        low, high = region.trust.box(model.centre, model.lengthscales, 0.0, 1.0)
        return perturbed_candidates(model.centre, low, high, self.count(len(low)), self.perturbed, rng)

    def _proposal(
        self,
        state: TurboState,
        i: int,
        unit: FloatArray,
        phase: str,
        known: int | None = None,
        to_beat: float | None = None,
    ) -> Proposal:
        region = state.regions[i]
        return Proposal(
            unit=unit,
            memo={"region": i, "restarts": region.restarts, "known": known, "to_beat": to_beat},
            info={"phase": phase, "region": i, "restarts": region.restarts, "length": region.trust.length},
        )


def check_lengths(smallest: float, initial: float, largest: float) -> None:
    """Raise an error unless the side lengths of a trust region are in order."""
    if not smallest <= initial <= largest:
        raise MethodError(
            f"length_min ≤ length_initial ≤ length_max must hold; got {smallest:g}, {initial:g}, {largest:g}."
        )


def _with(state: TurboState, i: int, region: Region) -> TurboState:
    """Return the state with another region i."""
    return replace(state, regions=(*state.regions[:i], region, *state.regions[i + 1 :]))
