"""Particle swarm optimisation with one global best and a periodic box.

Kennedy & Eberhart, *Particle Swarm Optimization*, ICNN 1995; constants of Clerc & Kennedy, *The Particle Swarm:
Explosion, Stability, and Convergence in a Multidimensional Complex Space*, IEEE TEC 2002. The rules, and their order,
are those of the library pyswarms (GlobalBestPSO), the baseline of the BOIDS paper.

An iteration: evaluate all particles; personal bests; global best; velocities; positions. If values are late, those
particles move on whose values are there, and the others follow when theirs have come.

Notation
--------
m       particles
x_i     positions                              (m, D) in the signed cube
v_i     velocities, not changed by wrapping    (m, D)
p_i, g  personal and global bests
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, cast, final

import numpy as np

from boids.blocks.swarm import Swarm
from boids.records import BoolArray, Domain, FloatArray, History, IntArray, Outcome, Proposal
from boids.settings import check_settings, setting

#: The particle of a proposal that was made because all particles were under way.
NOBODY = -1


@final
@dataclass(frozen=True, slots=True)
class PsoState:
    """The swarm.

    Attributes
    ----------
    positions, velocities
        x and v.
    best_rows
        The row of the history with p_i; -1: none yet (m,).
    last_rows
        The row with the value at x_i; -1: not told yet, and the particle does not move (m,).
    moves
        How often each particle has moved (m,).
    queue
        Particles whose present place is still to be handed out, in this order.
    """

    positions: FloatArray
    velocities: FloatArray
    best_rows: IntArray
    last_rows: IntArray
    moves: IntArray
    queue: IntArray


@final
@dataclass(frozen=True)
class PSO:
    """Particle swarm optimisation; see the fields for its settings."""

    name: ClassVar[str] = "pso"
    summary: ClassVar[str] = "particle swarm with one global best"
    reference: ClassVar[str] = "Kennedy & Eberhart, ICNN 1995"
    considers: ClassVar[tuple[str, ...]] = ("earlier",)
    State: ClassVar[type[PsoState]] = PsoState

    particles: int = setting(20, "BOIDS paper: m = 20", least=1)
    inertia: float = setting(0.729, "BOIDS paper: w = 0.729", least=0)
    cognitive: float = setting(2.05 * 0.729, "BOIDS paper: c1 = 2.05 w", least=0)
    social: float = setting(2.05 * 0.729, "BOIDS paper: c2 = 2.05 w", least=0)
    bounds: Literal["periodic", "nearest"] = setting(
        "periodic", "pyswarms: what leaves the box comes in on the other side; nearest: it stays at the bound"
    )
    initial_velocity: Literal["positive", "symmetric", "zero"] = setting(
        "positive", "pyswarms: U[0, 1]^D times the width of the box; symmetric: U[-1, 1]^D times it"
    )

    def __post_init__(self) -> None:
        check_settings(self)

    def init(self, domain: Domain, budget: int, rng: np.random.Generator) -> PsoState:
        """Place the particles at random."""
        m = self.particles
        nothing = np.full(m, -1, dtype=np.int64)
        return PsoState(
            positions=domain.sample(m, rng),
            velocities=self._initial_velocities((m, domain.dim), rng),
            best_rows=nothing,
            last_rows=nothing,
            moves=np.zeros(m, dtype=np.int64),
            queue=np.arange(m, dtype=np.int64),
        )

    def ready(self, state: PsoState) -> int:
        """The rest of the iteration; a whole one if all values are there."""
        if len(state.queue):
            return len(state.queue)
        return len(state.positions) if (state.last_rows >= 0).all() else 1

    def ask(
        self, state: PsoState, history: History, pending: Sequence[Proposal], rng: np.random.Generator
    ) -> tuple[PsoState, Proposal]:
        """Hand out the next particle; at the end of an iteration, move the particles first."""
        if not len(state.queue):
            free = state.last_rows >= 0
            if not free.any():  # more evaluations under way than there are particles
                unit = history.domain.sample(1, rng)[0]
                return state, Proposal(unit, memo={"particle": NOBODY}, info={"particle": NOBODY})
            state = self._moved(state, history, free, rng)
        i = int(state.queue[0])
        info = {"particle": i, "iteration": int(state.moves[i])}
        return replace(state, queue=state.queue[1:].copy()), Proposal(state.positions[i], {"particle": i}, info)

    def tell(
        self, state: PsoState, history: History, proposal: Proposal, outcome: Outcome, rng: np.random.Generator
    ) -> PsoState:
        """Note the value at a particle's place; what nobody proposed may still lead, as all of the history may."""
        if proposal.is_guest or proposal.memo["particle"] == NOBODY:
            return state
        last = state.last_rows.copy()
        last[cast(int, proposal.memo["particle"])] = len(history) - 1
        return replace(state, last_rows=last)

    def diagnostics(self, state: PsoState) -> dict[str, Any]:
        """Return how far the swarm has come and how fast it moves."""
        speed = float(np.sqrt((state.velocities**2).mean())) if state.velocities.size else 0.0
        return {"particles": len(state.positions), "iteration": int(state.moves.max()), "speed": speed}

    def _moved(self, state: PsoState, history: History, free: BoolArray, rng: np.random.Generator) -> PsoState:
        """Update the bests of the free particles, and move and queue them."""
        values = np.where(np.isnan(history.values), np.inf, history.values)
        best_rows = state.best_rows.copy()
        for i in np.flatnonzero(free):
            best, last = best_rows[i], state.last_rows[i]
            # Strictly better, as pyswarms has it; merits may have changed since, so both are looked up now.
            if best < 0 or values[last] < values[best]:
                best_rows[i] = last
        aims = history.aims
        swarm = Swarm(
            positions=state.positions,
            displacements=state.velocities,
            best_positions=np.where((best_rows >= 0)[:, None], aims[np.maximum(best_rows, 0)], state.positions),
            best_values=np.where(best_rows >= 0, values[np.maximum(best_rows, 0)], np.inf),
            leader=aims[int(np.argmin(values))],
            leader_value=float(values.min()),
        )
        if not np.isfinite(swarm.leader_value):  # nothing has worked so far: nowhere to be drawn to
            velocities = self._initial_velocities(state.positions.shape, rng)
        else:
            velocities = swarm.velocities(self.inertia, self.cognitive, self.social, rng)
        velocities = np.where(free[:, None], velocities, state.velocities)
        positions = np.where(free[:, None], self._into_box(state.positions + velocities), state.positions)
        return PsoState(
            positions=positions,
            velocities=velocities,
            best_rows=best_rows,
            last_rows=np.where(free, -1, state.last_rows),
            moves=state.moves + free,
            queue=np.flatnonzero(free),
        )

    def _initial_velocities(self, shape: tuple[int, ...], rng: np.random.Generator) -> FloatArray:
        """Return velocities, in units of the signed cube, whose width is 2."""
        if self.initial_velocity == "zero":
            return np.zeros(shape)
        low = 0.0 if self.initial_velocity == "positive" else -2.0
        return rng.uniform(low, 2.0, shape)

    def _into_box(self, points: FloatArray) -> FloatArray:
        return periodic(points) if self.bounds == "periodic" else np.clip(points, -1.0, 1.0)


def periodic(points: FloatArray) -> FloatArray:
    """Return points wrapped into the signed cube: beyond the upper bound is the lower one, and the other way round."""
    above = -1.0 + np.mod(points - 1.0, 2.0)
    below = 1.0 - np.mod(-1.0 - points, 2.0)
    return np.where(points > 1.0, above, np.where(points < -1.0, below, points))
