"""Everything that changes during a run of BOIDS, but for the history; plain data, so that a run can be saved.

Notation
--------
D, d    input dimension, subspace dimension
m       particles
n       rows of the history that belong to the current run
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from boids.algorithms.boids_models import Data, Fits
from boids.blocks.embedding import Embedding
from boids.blocks.merit import violations
from boids.blocks.patience import Patience
from boids.blocks.standstill import Standstill
from boids.blocks.swarm import Swarm
from boids.blocks.sweep import Probe, Sweep, Turns
from boids.records import BoolArray, Domain, FloatArray, History, IntArray, Outcome


@final
@dataclass(frozen=True, slots=True)
class BoidsState:
    """A run between two proposals."""

    input_dim: int
    budget: int
    initial_dim: int
    splits: int
    asked: int
    epoch: int  # restarts so far, new beginnings and a sweep that was given up included
    kept_from: int  # the first epoch whose outcomes are still in use, if only as guests
    embedding: Embedding
    design_size: int
    queue: FloatArray  # design points not handed out yet (k, d)
    rows: IntArray  # rows of the history that belong to the current run, guests in use included (n,)
    swarm: Swarm | None
    moves: IntArray  # how often each line was followed in this run (m,)
    owners: IntArray  # the line that each of these rows was found on, -1 for none (n,)
    homes: IntArray  # where in `rows` each particle began (m,)
    patience: Patience
    standstill: Standstill  # in the whole space
    fits: Fits
    guests: IntArray  # rows that this method did not propose, or in a run that it gave up; in use or not
    to_beat: float  # noisy runs: what a value must be below to count as a success
    sweep: Sweep | None  # None: none in this run
    turns: Turns
    probe: Probe | None  # what will say whether sweeps go on; None: that is settled

    @property
    def of_guests(self) -> BoolArray:
        """Which of `rows` are guests (n,)."""
        return np.isin(self.rows, self.guests)

    @property
    def n_own(self) -> int:
        """How many of `rows` the method has proposed itself."""
        return len(self.rows) - int(np.count_nonzero(self.of_guests))

    def aims(self, history: History, rows: IntArray | None = None) -> FloatArray:
        """Return where proposals were aimed at, which is where particles are; of `rows` or else of the whole run."""
        rows = self.rows if rows is None else rows
        points = self.embedding.project(history.aims[rows])
        guests = np.isin(rows, self.guests)
        if guests.any():
            # Nobody has aimed at them from this subspace: they are where they were evaluated.
            points[guests] = self.place(history.units[rows[guests]], history.domain)
        return points

    def place(self, units: FloatArray, domain: Domain) -> FloatArray:
        """Return where evaluated points are in the subspace, though they may have been moved since they were lifted."""
        return self.embedding.average(units) if _moves(domain) else self.embedding.project(units)

    def data_and_aims(self, history: History) -> tuple[Data, FloatArray]:
        """Return what the models learn from, and where the proposals were aimed at; often the same points."""
        data = self.data(history)
        same = history.aimed is None and not _moves(history.domain)
        return data, data.points if same else self.aims(history)

    def data(self, history: History) -> Data:
        """Return what the models learn from: Z and what came out."""
        rows = self.rows
        return Data(
            points=self.place(history.units[rows], history.domain),
            values=history.values[rows],
            constraints=None if history.constraints is None else history.constraints[rows],
            noise=None if history.noise is None else history.noise[rows],
            noisy=history.domain.noisy,
            own=~self.of_guests,
        )

    def improved(self, history: History, outcome: Outcome, threshold: float, rows: IntArray | None = None) -> bool:
        """Whether the latest outcome beats the best before it, of the run or of `rows`, by a share of that."""
        rows = self.rows if rows is None else rows
        if outcome.failed:
            return False
        if history.domain.noisy and history.constraints is None:
            return outcome.value < self.to_beat
        earlier = history.values[rows]
        if history.constraints is not None:
            violation = violations(history.constraints[rows])
            mine = float(violations(history.constraints[-1:])[0])
            if mine > 0.0:  # less infeasible than all the others
                known = violation[~np.isnan(violation)]
                return not len(known) or mine < float(known.min()) * (1.0 - threshold)
            earlier = earlier[violation == 0.0]
        known = earlier[~np.isnan(earlier)]
        if not len(known):
            return True
        best = float(known.min())
        return outcome.value < best - threshold * abs(best)


def _moves(domain: Domain) -> bool:
    """Whether points may be moved after they were lifted: to whole integers, say."""
    return domain.snapping is not None or domain.violating is not None
