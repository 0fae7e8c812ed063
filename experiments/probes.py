"""Is a probe of the first sweep worth it with six evaluations per parameter or more, where parameters act together?

    python experiments/probes.py
    python experiments/probes.py --table

Three objectives that nothing else was chosen on, each the weights of a small network with one hidden layer: a pendulum
that has to swing up and stay there, the same with a pole on a cart, and a function of two inputs to be learnt. What a
weight does depends on the others. Every seed has another middle of the box. "probe" is the default, without the new
beginnings of standstill.py; "sweeps" goes on with them whatever their first steps show; "subspaces" has no sweeps.
Results go to probes.jsonl beside this file; runs that are there already are not repeated.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from unittest.mock import patch

import numpy as np
from common import Line, Study, markdown

import boids
from boids.algorithms import Boids
from boids.blocks.sweep import Probe

BUDGET = 400
SEEDS = range(5)
VARIANTS = {
    "probe": {"renew_from": None},
    "sweeps": {"sweep_probe_from": None},
    "subspaces": {"sweep_from": None, "renew_from": None},
}
#: The middle of the box is moved by up to this share of its half side.
MOVED = 0.3


def network(weights: np.ndarray, sizes: tuple[int, ...], inputs: np.ndarray) -> np.ndarray:
    """Return the outputs (q,) of a network with these layers for some inputs (q, sizes[0])."""
    begin = 0
    for layer, (fan_in, fan_out) in enumerate(pairwise(sizes)):
        middle, end = begin + fan_in * fan_out, begin + (fan_in + 1) * fan_out
        inputs = inputs @ weights[begin:middle].reshape(fan_in, fan_out) + weights[middle:end]
        inputs, begin = inputs if layer == len(sizes) - 2 else np.tanh(inputs), end
    return inputs[:, 0]


def pendulum(weights: np.ndarray) -> float:
    """Return the cost of six seconds from four angles, as in Gymnasium's Pendulum."""
    angle, speed, cost = np.array([np.pi, 2.5, -2.0, 1.0]), np.zeros(4), 0.0
    for _ in range(120):
        seen = np.stack([np.cos(angle), np.sin(angle), speed / 4], axis=1)
        torque = 2 * np.tanh(network(weights, (3, 10, 1), seen))
        away = (angle + np.pi) % (2 * np.pi) - np.pi
        cost += float(np.mean(away**2 + 0.1 * speed**2 + 0.001 * torque**2))
        speed = np.clip(speed + (15 * np.sin(angle) + 3 * torque) * 0.05, -8, 8)
        angle = angle + speed * 0.05
    return cost


def cart_pole(weights: np.ndarray) -> float:
    """Return the cost of four and a half seconds from three angles."""
    place, pace, speed, cost = np.zeros(3), np.zeros(3), np.zeros(3), 0.0
    angle = np.array([np.pi, 2.6, -2.9])
    for _ in range(150):
        seen = np.stack([place, pace / 3, np.cos(angle), np.sin(angle), speed / 4], axis=1)
        force = 10 * np.tanh(network(weights, (5, 8, 1), seen))
        sine, cosine = np.sin(angle), np.cos(angle)
        push = (force + 0.05 * speed**2 * sine - 0.98 * sine * cosine) / (1 + 0.1 * sine**2)
        pace = np.clip(pace + push * 0.03, -20, 20)
        place = place + pace * 0.03
        speed = np.clip(speed + (9.8 * sine - push * cosine) / 0.5 * 0.03, -15, 15)
        angle = angle + speed * 0.03
        cost += float(np.mean(1 - np.cos(angle) + 0.1 * np.minimum(place**2, 25)))
    return cost


SAMPLES = np.random.default_rng(0).uniform(-1, 1, (120, 2))
TARGETS = np.sin(3 * SAMPLES[:, 0]) * np.cos(2 * SAMPLES[:, 1])


def regression(weights: np.ndarray) -> float:
    """Return the mean square error of a network that is to learn a function."""
    return float(np.mean((network(weights, (2, 10, 1), SAMPLES) - TARGETS) ** 2))


#: Name: function, number of weights, half the side of their box.
PROBLEMS: dict[str, tuple[Callable[[np.ndarray], float], int, float]] = {
    "pendulum": (pendulum, 51, 2.0),
    "cart-pole": (cart_pole, 57, 2.0),
    "regression": (regression, 41, 3.0),
}


def run(name: str, variant: str, seed: int) -> Line:
    """Run one job and return its line."""
    function, dim, side = PROBLEMS[name]
    middle = np.random.default_rng(100 + seed).uniform(-MOVED * side, MOVED * side, dim)
    failures_to_add_up, judged = [], Probe.judged

    def noted(probe: Probe, expected: float, change: float) -> Probe:
        failures_to_add_up.append(abs(change - expected) / expected)
        return judged(probe, expected, change)

    begin = time.perf_counter()
    with patch.object(Probe, "judged", noted):
        result = boids.minimize(
            lambda x: function(x + middle), [(-side, side)] * dim, BUDGET, method=Boids(**VARIANTS[variant]), seed=seed
        )
    return {
        "problem": name,
        "variant": variant,
        "seed": seed,
        "fun": float(result.fun),
        "apart": failures_to_add_up,
        "seconds": round(time.perf_counter() - begin, 1),
        "version": boids.__version__,
    }


STUDY = Study(Path(__file__).with_suffix(".jsonl"), ("problem", "variant", "seed"), run)


def table() -> str:
    """Return mean ± standard error of the best value, and how far changes were from adding up."""
    rows = STUDY.means(PROBLEMS, VARIANTS)
    for row in rows:
        probed = STUDY.lines(problem=row[0], variant="probe")
        row.append(", ".join(f"{share:.2f}" for line in probed for share in line["apart"]))
    return markdown(["problem", *VARIANTS, "apart"], rows)


if __name__ == "__main__":
    STUDY.main(__doc__, [(p, v, s) for s in SEEDS for p in PROBLEMS for v in VARIANTS], table)
