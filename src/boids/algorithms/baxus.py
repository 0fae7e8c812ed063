"""BAxUS: a trust region in a random subspace that is split into finer and finer ones.

Papenmeier, Nardi & Poloczek, *Increasing the Scope as You Learn: Adaptive Bayesian Optimization in Nested Subspaces*,
NeurIPS 2022.

Notation
--------
D, d    input dimension, subspace dimension
Z, y    points of the subspace cube [-1, 1]^d (n, d) and their values (n,)
L       side length of the trust region, relative to the cube's: its half-width is w L
b       new bins per split
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, final

import numpy as np

from boids.algorithms.boids_guests import held
from boids.algorithms.boids_models import Data
from boids.algorithms.boids_training import Fit
from boids.algorithms.thompson import Model, ThompsonSettings, is_improvement, with_guest
from boids.algorithms.turbo import check_lengths
from boids.blocks import schedule
from boids.blocks.candidates import choose, perturbed_candidates
from boids.blocks.design import DESIGNS, DesignName
from boids.blocks.embedding import Embedding
from boids.blocks.stopwatch import Stopwatch
from boids.blocks.trust_region import RegionRules, Rounds, TrustRegion
from boids.gp.fit import ReleasedTraining
from boids.records import BoolArray, Domain, FloatArray, History, IntArray, Outcome, Proposal
from boids.settings import setting


@final
@dataclass(frozen=True, slots=True)
class BaxusState:
    """A run between two proposals."""

    budget: int
    initial_dim: int
    splits: int
    asked: int
    restarts: int
    embedding: Embedding
    queue: FloatArray  # design points not handed out yet (k, d)
    rows: IntArray  # rows of the history since the last restart (n,)
    guests: IntArray  # rows of others since then, in the subspace or not
    trust: TrustRegion
    rounds: Rounds
    fit: Fit | None
    known: int  # outcomes that the present round of proposals is based on
    seed: int  # of the candidates of that round


@final
@dataclass(frozen=True)
class Baxus(ThompsonSettings):
    """The method; the model lives in the subspace cube [-1, 1]^d."""

    name: ClassVar[str] = "baxus"
    summary: ClassVar[str] = "a trust region in nested random subspaces of growing dimension"
    reference: ClassVar[str] = "Papenmeier, Nardi & Poloczek, NeurIPS 2022"
    considers: ClassVar[tuple[str, ...]] = ("noise", "pending", "earlier")
    State: ClassVar[type[BaxusState]] = BaxusState

    n_init: int = setting(10, "paper's experiments: 10; original's default: d + 1", least=1)
    design: DesignName = setting("latin-hypercube", "original")
    acquisition: Literal["ts", "ei"] = setting("ts", "paper: Thompson sampling; the original offers EI as well")
    ei_candidates: int = setting(100, "original: all over the region, and ours: as many around the best", least=1)
    ei_starts: int = setting(20, "original: climbs by L-BFGS-B", least=1)
    perturbed: float = setting(20.0, "original: coordinates of a candidate that differ from the best's", least=1)
    # Nested subspaces
    new_bins: int = setting(3, "paper: b = 3", least=1)
    initial_dim: int | None = setting(None, "paper: the d_0 whose splits end closest to D; a number fixes it", least=1)
    budget_until_input_dim: int | None = setting(None, "paper: the whole budget unless given", least=1)
    # Trust region
    length_initial: float = setting(0.8, "paper: L_init = 0.8", least=1e-9, most=1e9)
    length_max: float = setting(1.6, "paper: L_max = 1.6", least=1e-9, most=1e9)
    length_min: float = setting(2.0**-7, "paper: L_min = 2^-7", least=1e-9, most=1e9)
    success_tolerance: int = setting(3, "paper: tau_succ = 3", least=1)
    success_threshold: float = setting(1e-3, "original: better by more than 0.1 % of |best|", least=0)
    # Training by Adam
    configurations: int = setting(100, "paper's experiments: 100; original's default: 50 (training by Adam)", least=1)
    trained: int = setting(10, "paper's experiments: the 10 best of them; original's default: 5", least=1)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_lengths(self.length_min, self.length_initial, self.length_max)

    @property
    def procedure(self) -> ReleasedTraining:
        """The constants of the training by Adam."""
        return ReleasedTraining(self.configurations, self.trained)

    @property
    def rules(self) -> RegionRules:
        """The constants of the trust region."""
        return RegionRules(self.length_initial, self.length_max, self.length_min, self.success_tolerance)

    def init(self, domain: Domain, budget: int, rng: np.random.Generator) -> BaxusState:
        """Draw the first subspace and its design."""
        dim = domain.dim
        start, splits = schedule.initial_dimension(dim, self.new_bins)
        if domain.repairing is not None:
            # Equations between the parameters: a random subspace has hardly a point in common with them.
            start, splits = dim, 0
        elif self.initial_dim is not None:
            start = min(self.initial_dim, dim)
            splits = schedule.splits_from(start, dim, self.new_bins)
        embedding = Embedding.random(dim, start, rng)
        fresh = self._fresh(embedding, domain, budget, rng)
        return BaxusState(budget=budget, initial_dim=start, splits=splits, asked=0, restarts=0, **fresh)

    def ready(self, state: BaxusState) -> int:
        """The rest of the design can be evaluated at once."""
        return max(1, len(state.queue))

    def ask(
        self, state: BaxusState, history: History, pending: Sequence[Proposal], rng: np.random.Generator
    ) -> tuple[BaxusState, Proposal]:
        """Propose a design point, or the best point of the trust region."""
        state, embedding = replace(state, asked=state.asked + 1), state.embedding
        if len(state.queue):
            z = state.queue[0]
            return replace(state, queue=state.queue[1:].copy()), self._proposal(state, embedding.lift(z), "design")
        rows = self._rows(state, history)
        if not len(rows):  # every design point is still being evaluated: one more of its kind
            return state, self._proposal(state, embedding.lift(rng.uniform(-1.0, 1.0, embedding.dim)), "design")
        if state.known != len(history):
            # Proposals made from the same outcomes are draws at the same candidates.
            state = replace(state, known=len(history), seed=int(rng.integers(2**62)))

        watch = Stopwatch()
        with watch.phase("fit"):
            noise = None if history.noise is None else history.noise[rows]
            points = _placed(embedding, history.units[rows], history.domain)
            data = Data(points, history.values[rows], None, noise, history.domain.noisy)
            fit, model = Model.learn(self, data, state.fit, rng)
            state = replace(state, fit=fit)
        with watch.phase("select" if self.acquisition == "ts" else "optimise"):
            low, high = state.trust.box(model.centre, model.lengthscales, -1.0, 1.0)
            best = self._drawn if self.acquisition == "ts" else self._improving
            unit = best(state, model, low, high, history, pending, rng)
        state = replace(state, rounds=state.rounds.asked(len(history)))
        beaten = model.to_beat if history.domain.noisy else None
        proposal = self._proposal(state, unit, "search", known=len(history), to_beat=beaten)
        return state, replace(proposal, times=watch.seconds)

    def tell(
        self, state: BaxusState, history: History, proposal: Proposal, outcome: Outcome, rng: np.random.Generator
    ) -> BaxusState:
        """Grow or shrink the trust region; when it is too small go on in a finer subspace, or begin again."""
        if proposal.is_guest:
            return replace(state, guests=with_guest(state.guests, history))
        memo, earlier = proposal.memo, self._rows(state, history)
        if memo["restarts"] != state.restarts:
            return state  # from before a restart: the history has it, this run does not
        state, known = replace(state, rows=np.append(state.rows, len(history) - 1)), memo["known"]
        if not isinstance(known, int) or memo["dim"] != state.embedding.dim:
            return state  # of the design, or of a coarser subspace: it says nothing about how this one fares
        improved = is_improvement(proposal, outcome, history, earlier, self.success_threshold)
        rounds, size, success = state.rounds.told(known, improved)
        state = replace(state, rounds=rounds)
        if size:
            trust = state.trust.update(success, size, self.tolerance(state), self.rules)
            state = replace(state, trust=trust)
        if not state.trust.exhausted(self.rules):
            return state
        if state.embedding.splittable:
            return self._split(state, rng)
        embedding = Embedding.identity(history.domain.dim)
        fresh = self._fresh(embedding, history.domain, state.budget - state.asked, rng)
        return replace(state, restarts=state.restarts + 1, **fresh)

    def diagnostics(self, state: BaxusState) -> dict[str, Any]:
        """Return where the run stands."""
        hyper = None if state.fit is None else state.fit.hyper
        return {
            "subspace_dim": state.embedding.dim,
            "restarts": state.restarts,
            "evaluations_in_run": len(state.rows),
            "guests": len(state.guests),
            "length": state.trust.length,
            "successes": state.trust.successes,
            "failures": state.trust.failures,
            "failure_tolerance": self.tolerance(state),
            "signal_variance": None if hyper is None else hyper.signal_variance,
            "noise_variance": None if hyper is None else hyper.noise_variance,
            "lengthscales": None if hyper is None else hyper.lengthscales.tolist(),
        }

    def tolerance(self, state: BaxusState) -> int:
        """Return tau_fail for the present subspace."""
        total = (self.budget_until_input_dim or state.budget) - self.n_init
        embedding = state.embedding
        return schedule.baxus_failure_tolerance(
            embedding.dim, embedding.input_dim, state.initial_dim, state.splits, self.new_bins, max(total, 1)
        )

    # ------------------------------------------------------------------------------------------ the next point

    def _drawn(
        self,
        state: BaxusState,
        model: Model,
        low: FloatArray,
        high: FloatArray,
        history: History,
        pending: Sequence[Proposal],
        rng: np.random.Generator,
    ) -> FloatArray:
        """Return the image of the candidate at which a draw is lowest."""
        embedding, snapping, seeded = state.embedding, history.domain.snapping, np.random.default_rng(state.seed)
        points = perturbed_candidates(model.centre, low, high, self.count(len(low)), self.perturbed, seeded)
        images = embedding.lift(points)
        if snapping is not None:
            images = np.asarray(snapping(images))
            points = embedding.average(images)
        return np.array(images[choose(model.draw(points, rng), images, pending, history)])

    def _improving(
        self,
        state: BaxusState,
        model: Model,
        low: FloatArray,
        high: FloatArray,
        history: History,
        pending: Sequence[Proposal],
        rng: np.random.Generator,
    ) -> FloatArray:
        """Return the image of the point of greatest expected improvement."""
        embedding, violating = state.embedding, history.domain.violating
        units = np.array([proposal.unit for proposal in pending]).reshape(-1, history.domain.dim)
        known = _placed(embedding, units[held(embedding, units, history.domain)], history.domain)

        def allowed(points: FloatArray) -> BoolArray:
            return np.asarray(violating(embedding.lift(points)) == 0.0) if violating else np.ones(len(points), bool)

        limit = None if violating is None else allowed
        return embedding.lift(model.most_improving(low, high, known, rng, self.ei_candidates, self.ei_starts, limit))

    # ------------------------------------------------------------------------------------------ nested subspaces

    def _rows(self, state: BaxusState, history: History) -> IntArray:
        """Return the rows that the model learns from: the run's own, and those of others that the subspace has."""
        guests = state.guests
        if len(guests):
            guests = guests[held(state.embedding, history.units[guests], history.domain)]
        return np.sort(np.concatenate([state.rows, guests]))

    def _split(self, state: BaxusState, rng: np.random.Generator) -> BaxusState:
        """Go on in a finer subspace, which has all points of the coarser one."""
        order = np.zeros(state.embedding.dim) if state.fit is None else state.fit.hyper.lengthscales
        embedding, parent = state.embedding.split(order, self.new_bins, rng)
        return replace(
            state,
            embedding=embedding,
            trust=TrustRegion.fresh(self.rules),
            rounds=Rounds.none(),
            fit=None if state.fit is None else state.fit.carried(self.surrogate, parent),
        )

    def _fresh(self, embedding: Embedding, domain: Domain, left: int, rng: np.random.Generator) -> dict[str, Any]:
        """Return the fields of a state that has only a design to begin with, cut to what is left of the budget."""
        nothing = np.empty(0, dtype=np.int64)
        count = min(self.n_init, max(left, 0))
        is_input = domain.sampling is not None and not embedding.splittable
        return {
            "embedding": embedding,
            "queue": domain.sample(count, rng) if is_input else DESIGNS[self.design](count, embedding.dim, rng),
            "rows": nothing,
            "guests": nothing,
            "trust": TrustRegion.fresh(self.rules),
            "rounds": Rounds.none(),
            "fit": None,
            "known": -1,
            "seed": 0,
        }

    def _proposal(
        self, state: BaxusState, unit: FloatArray, phase: str, known: int | None = None, to_beat: float | None = None
    ) -> Proposal:
        dim = state.embedding.dim
        return Proposal(
            unit=unit,
            memo={"dim": dim, "restarts": state.restarts, "known": known, "to_beat": to_beat},
            info={"phase": phase, "dim": dim, "length": state.trust.length, "restarts": state.restarts},
        )


def _placed(embedding: Embedding, units: FloatArray, domain: Domain) -> FloatArray:
    """Return where evaluated points are in the subspace, though they may have been moved since they were lifted."""
    is_moved = domain.snapping is not None or domain.violating is not None
    return embedding.average(units) if is_moved else embedding.project(units)
