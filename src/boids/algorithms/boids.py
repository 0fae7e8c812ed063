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

With many evaluations per parameter sweeps take the place of the subspaces if their first steps show that parameters
matter each for itself, and with fewer if most of them do: boids_sweeps.py, which is ours. So is beginning anew in small
subspaces where a run with many evaluations per parameter stands still: boids_beginnings.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, TypeVar, cast, final

import numpy as np

from boids.algorithms import boids_guests, boids_rivals, boids_sweeps
from boids.algorithms.boids_beginnings import (
    around_guests,
    first_run,
    in_subspaces,
    patience_rules,
    renewed,
    renews,
    restarted,
    stands_still,
    without_sweeps,
)
from boids.algorithms.boids_climb import Ground, climb_from_line
from boids.algorithms.boids_design import EXTENT_AROUND, laid_through
from boids.algorithms.boids_lines import (
    acquisition_function,
    best_allowed,
    choose_line,
    draw_function,
    optimise_on_line,
    within_limits,
)
from boids.algorithms.boids_models import Beliefs, Data
from boids.algorithms.boids_pending import DESIGN, UnderWay, line_of
from boids.algorithms.boids_settings import BoidsSettings
from boids.algorithms.boids_state import BoidsState
from boids.algorithms.boids_sweeps import modelling, probes_in, sweeps_in
from boids.blocks import schedule
from boids.blocks.line import Lines
from boids.blocks.patience import Patience, PatienceRules
from boids.blocks.stopwatch import Stopwatch
from boids.blocks.swarm import Swarm
from boids.blocks.sweep import Probe, Turn
from boids.errors import MethodError
from boids.records import Domain, FloatArray, History, IntArray, MemoValue, Outcome, Proposal

T = TypeVar("T")

#: The `sweep` of a proposal in a run that has none.
NO_SWEEP = -1


@final
@dataclass(frozen=True)
class Boids(BoidsSettings):
    """The method; its settings are those of `BoidsSettings`, each with its source."""

    name: ClassVar[str] = "boids"
    summary: ClassVar[str] = "incumbent-guided lines in a nested random subspace (this package's own default)"
    reference: ClassVar[str] = "Ngo, Ha, Chan & Zhang, AAAI 2025"
    considers: ClassVar[tuple[str, ...]] = ("noise", "pending", "earlier", "constraints")
    State: ClassVar[type[BoidsState]] = BoidsState
    models_constraints: ClassVar[bool] = True

    def init(self, domain: Domain, budget: int, rng: np.random.Generator) -> BoidsState:
        """Draw the first subspace and its initial design; with room for sweeps it is the input space."""
        probing, plenty = probes_in(self, domain, budget), sweeps_in(self, domain, budget)
        return BoidsState(
            input_dim=domain.dim,
            budget=budget,
            asked=0,
            epoch=0,
            kept_from=0,
            guests=np.empty(0, dtype=np.int64),
            probe=Probe.first(domain.dim, plenty) if probing else None,
            **first_run(self, domain, budget, rng, probing or plenty),
        )

    def ready(self, state: BoidsState) -> int:
        """The rest of the initial design can be evaluated at once."""
        return 1 if self._compares(state) else max(1, len(state.queue))

    def ask(
        self, state: BoidsState, history: History, pending: Sequence[Proposal], rng: np.random.Generator
    ) -> tuple[BoidsState, Proposal]:
        """Propose a design point, a step of a sweep, or the best point of the best line."""
        domain = history.domain
        if not state.asked and any(proposal.is_guest for proposal in pending):
            state = around_guests(self, state, history, rng)
        if self._compares(state) and not np.isnan(history.values[state.guests]).all():
            return replace(state, asked=1), Proposal(np.zeros(domain.dim), info={"phase": "design"})
        if state.epoch == 0 and len(state.queue) == state.design_size:
            state = self._oriented(state, history, pending, rng)
        state = replace(state, asked=state.asked + 1)
        under_way = UnderWay.of(state, pending, domain)
        if len(state.queue):
            point, rest = under_way.apart(state.queue[0], history, state.embedding, rng), state.queue[1:]
            return replace(state, queue=rest), self._proposal(state, point, DESIGN)
        if not len(state.rows):
            # Every design point is still being evaluated: one more of its kind.
            extent = 1.0 if state.embedding.centre is None else EXTENT_AROUND
            point = rng.uniform(-extent, extent, state.embedding.dim)
            return state, self._proposal(state, under_way.apart(point, history, state.embedding, rng), DESIGN)

        watch = Stopwatch()
        embedding, (data, aims) = state.embedding, state.data_and_aims(history)
        if state.swarm is None:
            homes = self._homes(data, missing=max(0, state.design_size - state.n_own), rng=rng)
            velocity = self._initial_velocity((len(homes), embedding.dim), rng)
            swarm = Swarm.at(aims[homes], data.values[homes], velocity)
            state = replace(state, swarm=swarm, homes=homes, moves=np.zeros(len(homes), dtype=np.int64))
        with watch.phase("fit"):
            fits, beliefs = Beliefs.form(modelling(self, state), data, state.fits, rng, state.swarm)
            judgement = beliefs.judge(data)
            state = replace(state, fits=fits, to_beat=judgement.to_beat)
            n_known = len(beliefs.objective.outputs)
            if len(under_way.known):
                beliefs = beliefs.fantasise(state.place(under_way.known, domain))
        with watch.phase("select"):
            swarm = self._led(state, history, aims, judgement.merits)
            lines = self._lines(swarm, rng)
            draw = draw_function(self, beliefs.objective, swarm.leader, rng)
            limits = beliefs.limits(np.float64, swarm.leader)
            noise_variance = beliefs.objective.hyper.noise_variance
            i, rewards = choose_line(self, draw, noise_variance, lines, under_way.busy, rng, limits)
        turn: Turn = "line"
        notes: dict[str, MemoValue] = {}
        with watch.phase("optimise"):
            is_new = under_way.newness(history, embedding)
            if self.line_search == "climb" and domain.repairing is None:
                # Points under way must be improved upon as well, or they would be proposed again.
                best = beliefs.objective.outputs[n_known:].min(initial=judgement.best_merit)
                ground, merits = Ground(embedding, domain), judgement.merits
                swept = boids_sweeps.swept(
                    state, beliefs.objective, limits, aims, merits, ground, rng, under_way, is_new
                )
                if swept is not None:
                    state, z, turn, notes = swept
                else:
                    z = climb_from_line(
                        self, beliefs.objective, limits, float(best), lines, i, aims, merits, ground, rng, is_new
                    )
            else:
                alpha = acquisition_function(self, beliefs.objective, draw, swarm.leader, judgement.best_target, rng)
                alpha = within_limits(alpha, limits, embedding, domain)
                if domain.repairing is None:
                    n = len(beliefs.objective.inputs)
                    z = optimise_on_line(self, alpha, lines, i, swarm, embedding.sizes, rng, is_new, n)
                else:
                    z = best_allowed(self, alpha, lines, i, swarm, domain.repairing, rng, is_new)
            z = under_way.apart(z, history, embedding, rng)
        with watch.phase("lift"):
            facts = {"reward": float(rewards[i])} if turn == "line" else {}
            proposal = self._proposal(state, z, i, turn, notes, **facts)
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
        if proposal.is_guest and not state.asked and not outcome.failed:
            state = around_guests(self, state, history, rng)
        if state.sweep is not None and history.noise is not None:
            state = without_sweeps(self, state, history, rng)
        if proposal.is_guest:
            return boids_guests.received(state, history)
        if proposal.memo["epoch"] != state.epoch:
            if cast(int, proposal.memo["epoch"]) >= state.kept_from:
                return boids_guests.received(state, history)  # from a run that was given up since
            return state  # from before a restart: the history has it, this run does not
        improved = state.improved(history, outcome, self.success_threshold)
        gained = state.improved(history, outcome, 0.0, np.union1d(state.rows, state.guests))
        line, z = line_of(proposal), state.embedding.project(proposal.aim)
        in_whole_space = not state.embedding.splittable and proposal.memo["dim"] == state.embedding.dim
        moved = line != DESIGN and state.swarm is not None and not outcome.failed
        state = replace(
            state,
            rows=np.append(state.rows, len(history) - 1),
            owners=np.append(state.owners, line if moved else -1),
            standstill=state.standstill.update(gained, in_whole_space and line != DESIGN),
        )
        if line == DESIGN:
            return self._join(state, z, outcome, rng)
        if moved:
            # A failed evaluation moves nobody: nothing is known there but that it failed.
            moves = state.moves.copy()
            moves[line] += proposal.memo["turn"] == "line"
            state = replace(state, swarm=_formed(state.swarm).move(line, z, outcome.value), moves=moves)
        if proposal.memo["dim"] != state.embedding.dim:
            return state  # proposed in a coarser subspace: it says nothing about how this one fares
        state = boids_sweeps.learned(state, history, proposal, improved, rng)
        if state.probe is not None and state.probe.passed is False:
            return in_subspaces(self, state, history, rng)
        patience = state.patience.update(improved, self.tolerance(state), self.rules)
        state = replace(state, patience=patience)
        if stands_still(self, state, history):
            return renewed(self, state, history, rng)
        if not patience.exhausted(self.rules):
            return state
        if boids_sweeps.goes_on(self, state) or renews(self, state, history):
            return replace(state, patience=Patience.fresh(self.rules))
        left = self._split(state, rng) if state.embedding.splittable else restarted(self, state, history.domain, rng)
        return boids_guests.invited(left, history)

    def diagnostics(self, state: BoidsState) -> dict[str, Any]:
        """Return where the run stands."""
        hyper = None if state.fits.objective is None else state.fits.objective.hyper
        return {
            "subspace_dim": state.embedding.dim,
            "restarts": state.epoch,
            "evaluations_in_run": len(state.rows),
            "guests": len(state.guests),
            "guests_in_use": int(np.count_nonzero(state.of_guests)),
            "K": state.patience.factor,
            "successes": state.patience.successes,
            "failures": state.patience.failures,
            "failure_tolerance": self.tolerance(state),
            "line_moves": state.moves.tolist(),
            "signal_variance": None if hyper is None else hyper.signal_variance,
            "noise_variance": None if hyper is None else hyper.noise_variance,
            "prior": boids_rivals.NAMES[boids_rivals.believed(state.fits.rivals)] if state.fits.rivals else None,
            "sweeps": None if state.sweep is None else state.sweep.done,
            "probing": state.probe is not None,
            "lengthscales": None if hyper is None else hyper.lengthscales.tolist(),
        }

    # ------------------------------------------------------------------------------------- the swarm and its lines

    def _homes(self, data: Data, missing: int, rng: np.random.Generator) -> IntArray:
        """Choose where the first particles begin among the evaluated design, of which `missing` points are to come."""
        merits = data.ranked()
        order = rng.permutation(len(merits))
        if self.first_particles == "design" and len(order) > self.particles and not np.isnan(merits).all():
            best = int(np.nanargmin(merits))
            order = np.concatenate([[best], order[order != best]])
        # With fewer points than particles several particles start at one point, with velocities of their own; places
        # are kept for design points that are still being evaluated.
        return np.resize(order, max(min(self.particles, len(merits)), self.particles - missing))

    def _initial_velocity(self, shape: tuple[int, ...], rng: np.random.Generator) -> FloatArray:
        return np.zeros(shape) if self.initial_velocity == "zero" else rng.uniform(-1.0, 1.0, shape)

    def _join(self, state: BoidsState, z: FloatArray, outcome: Outcome, rng: np.random.Generator) -> BoidsState:
        """Take in a design point; after the swarm has formed it becomes a particle, or at least leads if it is best."""
        if state.swarm is None:
            return state
        if len(state.swarm) >= self.particles:
            return replace(state, swarm=state.swarm.follow(z, outcome.value))
        swarm = state.swarm.join(z, outcome.value, self._initial_velocity(z.shape, rng))
        homes = np.append(state.homes, len(state.rows) - 1)
        return replace(state, swarm=swarm, homes=homes, moves=np.append(state.moves, 0))

    def _led(self, state: BoidsState, history: History, aims: FloatArray, merits: FloatArray) -> Swarm:
        """Return the swarm with its incumbents, the leader taken from all data if so configured (paper)."""
        swarm = _formed(state.swarm)
        if history.domain.noisy or history.constraints is not None:
            # What is best may change with every outcome: means do, and so does the first feasible point's arrival.
            swarm = swarm.judged(aims, merits, state.homes, state.owners)
        if self.incumbents == "run" or history.domain.noisy:
            return swarm
        # In the input space older points have a place, too; in a smaller one only those of this run.
        ranked = Data(history.units, history.values, history.constraints, None).ranked().copy()
        if state.embedding.splittable:
            ranked[np.setdiff1d(np.arange(len(ranked)), state.rows)] = np.nan
        if np.isnan(ranked).all():
            return swarm
        best = int(np.nanargmin(ranked))
        return replace(swarm, leader=state.aims(history, np.array([best]))[0], leader_value=float(ranked[best]))

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

    # ------------------------------------------------------------------------------------------ nested subspaces

    def _compares(self, state: BoidsState) -> bool:
        """Whether the first proposal will be the middle of the box, to see whether a guest is any better."""
        return bool(not state.asked and len(state.guests) and self.centred_on_guests and state.embedding.splittable)

    def _oriented(
        self, state: BoidsState, history: History, pending: Sequence[Proposal], rng: np.random.Generator
    ) -> BoidsState:
        """Lay the first subspace through the best point known before the method's first proposal, if there is one."""
        use = self.centred_on_guests and state.embedding.splittable
        centre = boids_guests.best_guest(state, history, pending) if use else None
        if centre is not None:
            embedding, queue = laid_through(self, state.embedding, centre, history.domain, len(state.queue), rng)
            # Nothing but the middle of the box can have been in the subspace until now.
            nothing = np.empty(0, dtype=np.int64)
            state = replace(state, embedding=embedding, queue=queue, rows=nothing, owners=nothing)
        return boids_guests.invited(state, history)

    @property
    def rules(self) -> PatienceRules:
        """The constants of the termination factor."""
        return patience_rules(self)

    def tolerance(self, state: BoidsState) -> int:
        """Return tau_fail for the present subspace."""
        dim = state.embedding.dim
        if self.failure_tolerance == "released":
            return schedule.unit_failure_tolerance(dim, state.input_dim)
        until = state.budget if self.budget_until_input_dim is None else self.budget_until_input_dim
        return schedule.baxus_failure_tolerance(
            dim, state.input_dim, state.initial_dim, state.splits, self.new_bins, max(until - self.n_init, 1)
        )

    def _split(self, state: BoidsState, rng: np.random.Generator) -> BoidsState:
        """Go on in a finer subspace; all data and the whole swarm come along."""
        fit = state.fits.objective
        order = np.zeros(state.embedding.dim) if fit is None else fit.hyper.lengthscales
        embedding, parent = state.embedding.split(order, self.new_bins, rng)
        return replace(
            state,
            embedding=embedding,
            swarm=_formed(state.swarm).reindex(parent),
            patience=Patience.fresh(self.rules),
            fits=state.fits.carried(self, parent),
        )

    def _proposal(
        self,
        state: BoidsState,
        z: FloatArray,
        line: int,
        turn: Turn = "line",
        notes: Mapping[str, MemoValue] | None = None,
        **info: float,
    ) -> Proposal:
        facts = {"dim": state.embedding.dim, "K": state.patience.factor, "restarts": state.epoch}
        return Proposal(
            unit=state.embedding.lift(z),
            memo={
                "line": line,
                "epoch": state.epoch,
                "dim": state.embedding.dim,
                "turn": turn,
                "sweep": NO_SWEEP if state.sweep is None else state.sweep.done,
                **(notes or {}),
            },
            info={"phase": "design" if line == DESIGN else turn, "line": line, **facts, **info},
        )


def _formed(part: T | None) -> T:
    """Return the swarm or the hyper-parameters, which exist from the first proposal after the design on."""
    if part is None:
        raise MethodError("a line's outcome came back before any line was proposed; tell trials to their optimizer.")
    return part
