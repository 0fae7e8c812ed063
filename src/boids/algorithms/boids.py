"""BOIDS: incumbent-guided direction lines in a growing subspace.

Ngo, Ha, Chan & Zhang, *BOIDS: High-Dimensional Bayesian Optimization via Incumbent-Guided Direction Lines and Subspace
Embeddings*, AAAI 2025. Where the paper and its released code differ, a setting (boids_settings.py) says which.

Notation
--------
D, d    input dimension, subspace dimension (d_A of the paper)
m       particles, each with a line through it
U, y    history: points (n, D) in [-1, 1]^D and values (n,)
Z       the rows of U of the current run, in the subspace      (n, d)
p_i, g  personal and global incumbents                          (d,)
alpha   acquisition value, to be minimised
K       termination factor: the subspace is left when K > K_max
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, TypeVar, cast, final

import numpy as np

from boids.algorithms.boids_lines import acquisition_function, choose_line, draw_function, optimise_on_line
from boids.algorithms.boids_settings import BoidsSettings
from boids.blocks import schedule
from boids.blocks.design import DESIGNS
from boids.blocks.embedding import Embedding
from boids.blocks.line import Lines
from boids.blocks.patience import Patience, PatienceRules
from boids.blocks.scaling import standardise
from boids.blocks.stopwatch import Stopwatch
from boids.blocks.swarm import Swarm
from boids.errors import MethodError
from boids.gp.model import Hyperparameters
from boids.gp.posterior import Posterior
from boids.gp.training import train
from boids.records import FloatArray, History, IntArray, Outcome, Proposal

T = TypeVar("T")

#: The `line` of a proposal that belongs to the initial design.
DESIGN = -1


@final
@dataclass(frozen=True, slots=True)
class BoidsState:
    """Everything that changes during a run, but for the history."""

    input_dim: int
    budget: int
    initial_dim: int
    splits: int
    asked: int
    epoch: int  # restarts so far
    embedding: Embedding
    design_size: int
    queue: FloatArray  # design points not handed out yet (k, d)
    rows: IntArray  # rows of the history that belong to the current run (n,)
    swarm: Swarm | None
    moves: IntArray  # how often each line was followed in this run (m,)
    patience: Patience
    hyper: Hyperparameters | None
    fitted_at: int  # number of rows at the last fit

    def data(self, history: History) -> tuple[FloatArray, FloatArray]:
        """Return Z and y of the current run."""
        return self.embedding.project(history.units[self.rows]), history.values[self.rows]


@final
@dataclass(frozen=True)
class Boids(BoidsSettings):
    """The method; its settings are those of `BoidsSettings`, each with its source."""

    name: ClassVar[str] = "boids"
    summary: ClassVar[str] = "incumbent-guided lines in a nested random subspace (this package's own default)"
    reference: ClassVar[str] = "Ngo, Ha, Chan & Zhang, AAAI 2025"
    State: ClassVar[type[BoidsState]] = BoidsState

    def init(self, dim: int, budget: int, rng: np.random.Generator) -> BoidsState:
        """Draw the first subspace and its initial design."""
        if not self.embedding:
            start, splits = dim, 0
        elif self.initial_dim is not None:
            start = min(self.initial_dim, dim)
            splits = schedule.splits_from(start, dim, self.new_bins)
        else:
            start, splits = schedule.initial_dimension(dim, self.new_bins)
        embedding = Embedding.random(dim, start, rng)
        return BoidsState(
            input_dim=dim,
            budget=budget,
            initial_dim=start,
            splits=splits,
            asked=0,
            epoch=0,
            embedding=embedding,
            **self._fresh_run(embedding, budget, rng),
        )

    def ready(self, state: BoidsState) -> int:
        """The rest of the initial design can be evaluated at once."""
        return max(1, len(state.queue))

    def ask(
        self, state: BoidsState, history: History, pending: Sequence[Proposal], rng: np.random.Generator
    ) -> tuple[BoidsState, Proposal]:
        """Propose a design point, or the best point of the best line."""
        state = replace(state, asked=state.asked + 1)
        if len(state.queue):
            point, rest = state.queue[0], state.queue[1:]
            return replace(state, queue=rest), self._proposal(state, point, DESIGN)
        if not len(state.rows):
            # Every design point is still being evaluated: one more of its kind.
            return state, self._proposal(state, rng.uniform(-1.0, 1.0, state.embedding.dim), DESIGN)

        watch = Stopwatch()
        points, values = state.data(history)
        if state.swarm is None:
            swarm = self._first_swarm(points, values, missing=max(0, state.design_size - len(points)), rng=rng)
            state = replace(state, swarm=swarm, moves=np.zeros(len(swarm), dtype=np.int64))
        with watch.phase("fit"):
            targets = standardise(values, self.standardise, self.flat_spread)
            state, posterior = self._condition(state, points, targets, rng)
            waiting = [p for p in pending if p.memo["epoch"] == state.epoch]
            if waiting:
                posterior = posterior.fantasise(state.embedding.project(np.array([p.unit for p in waiting])))
        with watch.phase("select"):
            swarm = self._led(state, history)
            lines = self._lines(swarm, rng)
            draw = draw_function(self, posterior, swarm.leader, rng)
            busy = [_line_of(p) for p in waiting if _line_of(p) != DESIGN]
            i, rewards = choose_line(self, draw, posterior.hyper.noise_variance, lines, busy, rng)
        with watch.phase("optimise"):
            alpha = acquisition_function(self, posterior, draw, swarm.leader, float(targets.min()), rng)
            z = optimise_on_line(self, alpha, lines, i, swarm, state.embedding.sizes, rng)
        with watch.phase("lift"):
            proposal = self._proposal(state, z, i, reward=float(rewards[i]))
        return state, replace(proposal, times=watch.seconds)

    def tell(
        self,
        state: BoidsState,
        history: History,
        proposal: Proposal,
        outcome: Outcome,
        rng: np.random.Generator,
    ) -> BoidsState:
        """Move the particle of the proposal's line; leave the subspace when patience is exhausted."""
        if proposal.memo["epoch"] != state.epoch:
            return state  # from before a restart: the history has it, this run does not
        earlier = history.values[state.rows]
        row = len(history) - 1
        state = replace(state, rows=np.append(state.rows, row))
        z = state.embedding.project(history.units[row])
        line = _line_of(proposal)
        if line == DESIGN:
            return self._join(state, z, outcome, rng)

        if state.swarm is not None and not outcome.failed:
            # A failed evaluation moves nobody: nothing is known there but that it failed.
            moves = state.moves.copy()
            moves[line] += 1
            state = replace(state, swarm=state.swarm.move(line, z, outcome.value), moves=moves)
        if proposal.memo["dim"] != state.embedding.dim:
            return state  # proposed in a coarser subspace: it says nothing about how this one fares
        patience = state.patience.update(self._improved(earlier, outcome), self.tolerance(state), self.rules)
        state = replace(state, patience=patience)
        if not patience.exhausted(self.rules):
            return state
        return self._split(state, rng) if state.embedding.splittable else self._restart(state, rng)

    def diagnostics(self, state: BoidsState) -> dict[str, Any]:
        """Return where the run stands."""
        hyper = state.hyper
        return {
            "subspace_dim": state.embedding.dim,
            "restarts": state.epoch,
            "evaluations_in_run": len(state.rows),
            "K": state.patience.factor,
            "successes": state.patience.successes,
            "failures": state.patience.failures,
            "failure_tolerance": self.tolerance(state),
            "line_moves": state.moves.tolist(),
            "signal_variance": None if hyper is None else hyper.signal_variance,
            "noise_variance": None if hyper is None else hyper.noise_variance,
            "lengthscales": None if hyper is None else hyper.lengthscales.tolist(),
        }

    # ------------------------------------------------------------------------------------- the swarm and its lines

    def _first_swarm(self, points: FloatArray, values: FloatArray, missing: int, rng: np.random.Generator) -> Swarm:
        """Choose the first particles among the evaluated design, of which `missing` points are yet to come."""
        order = rng.permutation(len(points))
        if self.first_particles == "design" and len(order) > self.particles and not np.isnan(values).all():
            best = int(np.nanargmin(values))
            order = np.concatenate([[best], order[order != best]])
        # With fewer points than particles several particles start at one point, with velocities of their own; places
        # are kept for design points that are still being evaluated.
        wanted = max(min(self.particles, len(points)), self.particles - missing)
        chosen = np.resize(order, wanted)
        return Swarm.at(points[chosen], values[chosen], self._initial_velocity((wanted, points.shape[1]), rng))

    def _initial_velocity(self, shape: tuple[int, ...], rng: np.random.Generator) -> FloatArray:
        return np.zeros(shape) if self.initial_velocity == "zero" else rng.uniform(-1.0, 1.0, shape)

    def _join(self, state: BoidsState, z: FloatArray, outcome: Outcome, rng: np.random.Generator) -> BoidsState:
        """Take in a design point; after the swarm has formed it becomes a particle, or at least leads if it is best."""
        if state.swarm is None:
            return state
        if len(state.swarm) >= self.particles:
            return replace(state, swarm=state.swarm.follow(z, outcome.value))
        swarm = state.swarm.join(z, outcome.value, self._initial_velocity(z.shape, rng))
        return replace(state, swarm=swarm, moves=np.append(state.moves, 0))

    def _led(self, state: BoidsState, history: History) -> Swarm:
        """Return the swarm with its leader taken from all data if so configured (paper), else from the run."""
        swarm = _formed(state.swarm)
        if self.incumbents == "run" or np.isnan(history.values).all():
            return swarm
        # After a restart the subspace is the input space, so that older points have a place in it.
        best = int(np.nanargmin(history.values))
        return swarm.follow(state.embedding.project(history.units[best]), float(history.values[best]))

    def _lines(self, swarm: Swarm, rng: np.random.Generator) -> Lines:
        """Return the m lines: incumbent-guided (Eq. 1), or random in the ablation."""
        if self.guided_lines:
            vectors = swarm.velocities(self.inertia, self.cognitive, self.social, rng)
        else:
            vectors = rng.uniform(-2.0, 2.0, swarm.positions.shape)
        still = ~vectors.any(axis=1)
        if still.any():
            low = 0.0 if self.zero_direction == "positive" else -1.0
            vectors[still] = rng.uniform(low, 1.0, (int(still.sum()), vectors.shape[1]))
        lines = Lines.through(swarm.positions, vectors)
        return lines.one_sided() if self.line_extent == "ray" else lines

    # ------------------------------------------------------------------------------------------------ the surrogate

    def _condition(
        self, state: BoidsState, points: FloatArray, targets: FloatArray, rng: np.random.Generator
    ) -> tuple[BoidsState, Posterior]:
        """Fit the hyper-parameters if it is time to, and condition the process on the data."""
        hyper = train(
            self.training, self.surrogate, points, targets, state.hyper, state.fitted_at, self.refit_fraction, rng
        )
        if hyper is not None:
            state = replace(state, fitted_at=len(points), hyper=hyper)
        return state, Posterior.condition(self.surrogate, _formed(state.hyper), points, targets)

    # ------------------------------------------------------------------------------------------ nested subspaces

    @property
    def rules(self) -> PatienceRules:
        """The constants of the termination factor."""
        return PatienceRules(
            initial=self.termination_initial,
            minimum=self.termination_min,
            maximum=self.termination_max,
            success_tolerance=self.success_tolerance,
            exceed=self.counters == "exceeded",
        )

    def tolerance(self, state: BoidsState) -> int:
        """Return tau_fail for the present subspace."""
        dim = state.embedding.dim
        if self.failure_tolerance == "released":
            return schedule.unit_failure_tolerance(dim, state.input_dim)
        until = state.budget if self.budget_until_input_dim is None else self.budget_until_input_dim
        return schedule.baxus_failure_tolerance(
            dim, state.input_dim, state.initial_dim, state.splits, self.new_bins, max(until - self.n_init, 1)
        )

    def _improved(self, earlier: FloatArray, outcome: Outcome) -> bool:
        """Whether the outcome beats the run's best so far by more than the threshold."""
        if outcome.failed:
            return False
        known = earlier[~np.isnan(earlier)]
        if not len(known):
            return True
        best = float(known.min())
        return outcome.value < best - self.success_threshold * abs(best)

    def _split(self, state: BoidsState, rng: np.random.Generator) -> BoidsState:
        """Go on in a finer subspace; all data and the whole swarm come along."""
        hyper = _formed(state.hyper)
        embedding, parent = state.embedding.split(hyper.lengthscales, self.new_bins, rng)
        # A coordinate that becomes k copies needs √k times its length scale for the same correlations.
        copies = np.bincount(parent, minlength=state.embedding.dim)
        carried = replace(hyper, lengthscales=(hyper.lengthscales * np.sqrt(copies))[parent])
        return replace(
            state,
            embedding=embedding,
            swarm=_formed(state.swarm).reindex(parent),
            patience=Patience.fresh(self.rules),
            hyper=self.surrogate.clipped(carried),
            fitted_at=0,
        )

    def _restart(self, state: BoidsState, rng: np.random.Generator) -> BoidsState:
        """Begin again in the input space; the history stays, this run starts without data."""
        embedding = Embedding.identity(state.input_dim)
        fresh = self._fresh_run(embedding, state.budget - state.asked, rng)
        return replace(state, epoch=state.epoch + 1, embedding=embedding, **fresh)

    def _fresh_run(self, embedding: Embedding, remaining: int, rng: np.random.Generator) -> dict[str, Any]:
        """Return the fields of a state whose run has only an initial design to begin with."""
        count = min(self.n_init, remaining)
        return {
            "design_size": count,
            "queue": DESIGNS[self.design](count, embedding.dim, rng),
            "rows": np.empty(0, dtype=np.int64),
            "swarm": None,
            "moves": np.empty(0, dtype=np.int64),
            "patience": Patience.fresh(self.rules),
            "hyper": None,
            "fitted_at": 0,
        }

    def _proposal(self, state: BoidsState, z: FloatArray, line: int, **info: float) -> Proposal:
        facts = {"dim": state.embedding.dim, "K": state.patience.factor, "restarts": state.epoch}
        return Proposal(
            unit=state.embedding.lift(z),
            memo={"line": line, "epoch": state.epoch, "dim": state.embedding.dim},
            info={"phase": "design" if line == DESIGN else "line", "line": line, **facts, **info},
        )


def _line_of(proposal: Proposal) -> int:
    return cast(int, proposal.memo["line"])


def _formed(part: T | None) -> T:
    """Return the swarm or the hyper-parameters, which exist from the first proposal after the design on."""
    if part is None:
        raise MethodError("a line's outcome came back before any line was proposed; tell trials to their optimizer.")
    return part
