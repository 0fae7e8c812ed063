"""A desk on which the three functions of a method are called by hand, guests and all."""

import numpy as np

from boids.algorithms import Boids
from boids.blocks.nsga2 import NSGA2
from boids.records import History, Outcome, Proposal

#: Small searches, and subspaces that are left soon, so that short runs see all of them.
QUICK = {
    "sweep_from": None,
    "termination_max": 7,
    "initial_dim": None,
    "search": NSGA2(population=12, offspring=12, generations=3),
    "bandit_candidates": 100,
    "max_candidates": 30,
    "path_features": 32,
}
HASTY = Boids(failure_tolerance="released", n_init=5, particles=4, **QUICK)


class Desk:
    """What the shell keeps: the history and the pending proposals, with a random stream for every call."""

    def __init__(self, algorithm, domain, budget=100, seed=0):
        self.algorithm, self.domain, self.seed = algorithm, domain, seed
        self.pending, self.rows, self.asked = [], [], 0
        self.state = algorithm.init(domain, budget, np.random.default_rng([seed, 0]))

    @property
    def history(self):
        count = self.domain.n_constraints
        return History(
            units=np.array([p.unit for p, _, _ in self.rows]).reshape(-1, self.domain.dim),
            values=np.array([value for _, value, _ in self.rows], dtype=float),
            constraints=np.array([c for _, _, c in self.rows]).reshape(-1, count) if count else None,
            aimed=np.array([p.aim for p, _, _ in self.rows]).reshape(-1, self.domain.dim),
            space=self.domain,
            tried=lambda unit: any(np.array_equal(unit, p.unit) for p in self.known()),
        )

    def known(self):
        return [*(p for p, _, _ in self.rows), *self.pending]

    def place(self, proposal):
        if self.domain.snapping is None:
            return proposal
        unit = np.asarray(self.domain.snapping(proposal.unit))
        return Proposal(unit, proposal.memo, proposal.info, proposal.times, proposal.unit)

    def ask(self):
        """Add the next proposal to the pending ones."""
        rng = np.random.default_rng([self.seed, 1, self.asked])
        self.state, proposal = self.algorithm.ask(self.state, self.history, tuple(self.pending), rng)
        self.asked += 1
        self.pending.append(self.place(proposal))
        return self.pending[-1]

    def guest(self, unit):
        """Add a point of the user's to the pending ones."""
        self.pending.append(self.place(Proposal(np.asarray(unit, dtype=float))))
        return self.pending[-1]

    def tell(self, proposal, value, constraints=None):
        self.pending = [p for p in self.pending if p is not proposal]
        count = self.domain.n_constraints
        given = np.zeros(count) if constraints is None else np.asarray(constraints, dtype=float)
        self.rows.append((proposal, value, np.full(count, np.nan) if np.isnan(value) else given))
        rng = np.random.default_rng([self.seed, 2, len(self.rows)])
        self.state = self.algorithm.tell(self.state, self.history, proposal, Outcome(value), rng)

    def go(self, objective, count):
        for _ in range(count):
            proposal = self.ask()
            self.tell(proposal, objective(proposal.unit))
        return self


def sphere(u):
    return float(np.sum((np.asarray(u) - 0.3) ** 2))
