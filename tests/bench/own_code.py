"""A problem and methods as users write them, for experiments that name them as bench.own_code:NAME."""

import os
import signal
import time
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from boids.problems import Problem, make
from boids.problems.wrappers import fail
from boids.records import Proposal


def _sphere(x):
    return np.sum(x**2, axis=1)


def sphere(dim=None, seed=None, scale=1.0):
    return Problem("sphere", _sphere, low=-scale * np.ones(dim), high=scale * np.ones(dim), optimum=0.0)


def noisy(dim=None, seed=None):
    return make("ackley", dim=dim, seed=seed, noise=0.5)


def crashing(dim=None, seed=None):
    return fail(make("ackley", dim=dim, seed=seed), 0.3, how="nan", seed=seed)


def constrained(dim=None, seed=None):
    return make("mopta") if dim is None else Problem(
        "disc", _disc, low=-np.ones(dim), high=np.ones(dim), n_constraints=1
    )  # fmt: skip


def _disc(x):
    return np.column_stack([x[:, 0], np.sum(x**2, axis=1) - 0.5])


@dataclass(frozen=True)
class State:
    count: int = 0


@dataclass(frozen=True)
class Odd:
    """Random search that does something odd at its tenth proposal."""

    name: ClassVar[str] = "odd"
    State: ClassVar[type[State]] = State
    manner: str = "raise"

    def init(self, domain, budget, rng):
        return State()

    def ready(self, state):
        return 1

    def ask(self, state, history, pending, rng):
        if state.count == 10:
            if self.manner == "raise":
                raise RuntimeError("ten is enough")
            if self.manner == "die":
                os.kill(os.getpid(), signal.SIGKILL)
            if self.manner == "hang":
                time.sleep(1000)
            if self.manner == "stumble" and not os.path.exists("stumbled"):
                open("stumbled", "w").close()
                raise RuntimeError("only once")
        return State(state.count + 1), Proposal(rng.uniform(-1, 1, history.domain.dim))

    def tell(self, state, history, proposal, outcome, rng):
        return state

    def diagnostics(self, state):
        return {}


@dataclass(frozen=True)
class Slow:
    """Random search that takes its time."""

    name: ClassVar[str] = "slow"
    State: ClassVar[type[State]] = State
    seconds: float = 0.05

    init, ready, tell, diagnostics = Odd.init, Odd.ready, Odd.tell, Odd.diagnostics

    def ask(self, state, history, pending, rng):
        time.sleep(float(os.environ.get("SLOWLY", self.seconds)))
        return State(state.count + 1), Proposal(rng.uniform(-1, 1, history.domain.dim))
