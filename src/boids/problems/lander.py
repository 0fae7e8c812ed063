"""Twelve constants of a controller that lands a spacecraft: Gymnasium's LunarLander-v3 (extra `lander`).

The controller is the heuristic that comes with the environment, with its constants as variables; as a benchmark for
optimisers: Eriksson et al., Scalable global optimization via local Bayesian optimization, NeurIPS 2019. They had an
environment with half as much again of initial randomness, so that values cannot be compared with theirs.

The value is minus the mean return of some episodes (50 of them by default) that begin with fixed seeds: a pure function
of x for one version of Gymnasium and Box2D. Reference values: Gymnasium 1.4.0 with Box2D 2.3.10.

The controller sees the position (px, py) relative to the landing pad, the velocity (vx, vy), the angle a, its velocity
va, and whether a leg touches the ground:

    turn = w5 (clip(w1 px + w2 vx, ±w3) - a) - w6 va            w9 on contact
    lift = w7 (w4 |px| - py) - w8 vy                            -w10 vy on contact

It fires the main engine if lift exceeds |turn| and w11, else a side engine if |turn| exceeds w12.

======  =========================================================================
symbol  meaning, shape
======  =========================================================================
D       number of variables, 12
x       q points of [0, 2]^D, (q, D): the constants w1 … w12
======  =========================================================================
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from boids.problems import extras
from boids.problems.problem import Problem, ProblemFactory, integer
from boids.records import FloatArray

DIM = 12
ENVIRONMENT = "LunarLander-v3"

#: The constants of Gymnasium's own heuristic.
HEURISTIC = (0.5, 1.0, 0.4, 0.55, 0.5, 1.0, 0.5, 0.5, 0.0, 0.5, 0.05, 0.05)

NOTHING, LEFT, MAIN, RIGHT = range(4)

SUMMARY = "the constants of a controller that lands a spacecraft; Gymnasium's own heuristic gives -264.63"
REFERENCE = "Eriksson et al., Scalable global optimization via local Bayesian optimization, NeurIPS 2019"
COST = "half a second"


@final
@dataclass(frozen=True, slots=True)
class LandingLoss:
    """x -> minus the mean return over episodes that begin with the seeds 0, 1, …"""

    episodes: int

    def __call__(self, x: FloatArray) -> FloatArray:
        """Return the values (q,) at the rows of `x`; nan if a constant is not finite."""
        # An environment of its own, which costs next to nothing: threads cannot get into each other's way.
        environment = _gymnasium().make(ENVIRONMENT)
        try:
            return np.array([self._value(environment, row) for row in x.tolist()], dtype=np.float64)
        finally:
            environment.close()

    def _value(self, environment: Any, w: Sequence[float]) -> float:
        if not np.all(np.isfinite(w)):  # the controller's comparisons would hide it
            return float("nan")
        return -float(np.mean([episode(environment, w, seed) for seed in range(self.episodes)]))


def episode(environment: Any, w: Sequence[float], seed: int) -> float:
    """Return the sum of the rewards of one landing."""
    observation, _ = environment.reset(seed=seed)
    total, over = 0.0, False
    while not over:
        observation, reward, terminated, truncated, _ = environment.step(engine(w, observation.tolist()))
        total += float(reward)
        over = terminated or truncated
    return total


def engine(w: Sequence[float], observation: Sequence[float]) -> int:
    """Return which engine the controller fires."""
    px, py, vx, vy, a, va, left_contact, right_contact = observation
    if left_contact or right_contact:
        turn, lift = w[8], -w[9] * vy
    else:
        target = min(max(w[0] * px + w[1] * vx, -w[2]), w[2])
        turn = w[4] * (target - a) - w[5] * va
        lift = w[6] * (w[3] * abs(px) - py) - w[7] * vy
    if lift > abs(turn) and lift > w[10]:
        return MAIN
    if turn < -w[11]:
        return RIGHT
    return LEFT if turn > w[11] else NOTHING


def _gymnasium() -> Any:
    """Return Gymnasium, with Box2D imported."""
    with warnings.catch_warnings():
        # Box2D's import warns of its own types, and crashes the interpreter if a warning is turned into an error.
        warnings.simplefilter("ignore")
        extras.load("Box2D", "lander", "lunar-lander")
        extras.load("gymnasium.envs.box2d.lunar_lander", "lander", "lunar-lander")
    return extras.load("gymnasium", "lander", "lunar-lander")


# The problem, as the registry builds it


def lunar_lander(dim: int, seed: int, *, episodes: int = 50) -> Problem:
    """The controller's constants on [0, 2]^12.

    Parameters
    ----------
    episodes
        Number of landings that are averaged, with the seeds 0, 1, …
    """
    del seed  # the landings' seeds are fixed
    number = integer("episodes", episodes, 1)
    _gymnasium()  # what is missing is better said now than in a worker
    return Problem(
        name="lunar-lander",
        evaluate=LandingLoss(number),
        low=np.zeros(dim),
        high=np.full(dim, 2.0),
        summary=f"{SUMMARY}; mean of {number} landings",
        reference=REFERENCE,
        cost=COST,
    )


FACTORIES: dict[str, ProblemFactory] = {
    "lunar-lander": ProblemFactory(
        build=lunar_lander,
        summary=SUMMARY,
        reference=REFERENCE,
        domain="[0, 2]^12",
        default_dim=DIM,
        minimum_dim=DIM,
        optimum=None,
        extra="lander",
        cost=COST,
        kind="simulated",
        dims=(DIM,),
    )
}
