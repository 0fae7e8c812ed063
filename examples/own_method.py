"""A method of your own under the same shell: a (1+1) evolution strategy with the 1/5 rule, in a page.

The shell brings mixed spaces, constraints, failures, saving and the command line's displays along.
"""

import sys
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

import boids
from boids.records import FloatArray, Proposal


@dataclass(frozen=True)
class State:
    """Everything that changes: plain data, so that a run can be saved."""

    centre: FloatArray
    value: float
    step: float


@dataclass(frozen=True)
class OnePlusOne:
    """Settings in its fields; `init`, `ask` and `tell` are pure functions."""

    first_step: float = 0.3

    name: ClassVar[str] = "one-plus-one"
    summary: ClassVar[str] = "(1+1) evolution strategy"
    reference: ClassVar[str] = "Rechenberg, 1973"
    State: ClassVar[type[State]] = State

    def init(self, domain, budget, rng):
        """Begin at a random allowed point of the cube [-1, 1]^D."""
        return State(domain.sample(1, rng)[0], np.inf, self.first_step)

    def ready(self, state):
        """Say how many proposals can be made at once."""
        return 1

    def ask(self, state, history, pending, rng):
        """Propose a step; the first proposal is the beginning itself."""
        step = state.step * rng.standard_normal(state.centre.shape) if len(history) else 0.0
        return state, Proposal(np.clip(state.centre + step, -1.0, 1.0))

    def tell(self, state, history, proposal, outcome, rng):
        """Go there if it is better (nan, a failure, is not), and adapt the step."""
        if outcome.value < state.value:
            return State(proposal.unit, outcome.value, state.step * np.exp(0.8))
        return replace(state, step=state.step * np.exp(-0.2))

    def diagnostics(self, state):
        """Return what people want to know."""
        return {"step": state.step}


if __name__ == "__main__":
    budget = int(sys.argv[1]) if len(sys.argv) > 1 else 500
    problem = boids.problems.make("sphere", dim=20, shift=True)
    for method in (OnePlusOne(), "random"):
        result = boids.minimize(problem, problem.space, budget, method=method, seed=0)
        print(f"{result.method}: {result.fun:.4f}")
