"""CMA-ES, PSO, Sobol and random search at 1000 evaluations, next to what their libraries reached there.

The expected values were measured with pycma and pyswarms themselves (bounds [0, 1], step size 0.3, 20 particles;
10 to 30 seeds). Run by hand: ``python experiments/evolution_baselines.py --seeds 20``.
"""

from __future__ import annotations

import argparse

import numpy as np

import boids
from boids.algorithms import CMAES, PSO, RandomSearch, Sobol

PROBLEMS = {"ackley": 100, "branin": 500, "hartmann": 500}
BUDGET, MARKS = 1000, (200, 500, 1000)

#: method: problem: what is expected at the marks, and the standard error of the last one.
EXPECTED = {
    "cmaes, random start": {
        "ackley": (21.04, 20.91, 20.60, 0.05),
        "branin": (0.527, 0.439, 0.418, 0.005),
        "hartmann": (-2.69, -2.90, -2.947, 0.044),
    },
    "cmaes, centre": {
        "ackley": (20.77, 20.66, 19.99, 0.14),
        "branin": (0.569, 0.470, 0.423, 0.007),
        "hartmann": (-2.52, -2.92, -3.028, 0.031),
    },
    "pso": {
        "ackley": (20.67, 20.25, 19.78, 0.06),
        "branin": (0.661, 0.464, 0.411, 0.005),
        "hartmann": (-2.51, -2.87, -3.095, 0.017),
    },
    "pso, nearest": {
        "ackley": (None, None, 20.70, 0.02),
        "branin": (None, None, 0.3979, 0.0),
        "hartmann": (None, None, -3.107, 0.071),
    },
    "random": {
        "ackley": (None, None, 20.85, 0.01),
        "branin": (None, None, 0.452, 0.010),
        "hartmann": (None, None, -2.688, 0.041),
    },
}
METHODS = {
    "cmaes, random start": CMAES(start="random"),
    "cmaes, centre": CMAES(start="centre"),
    "pso": PSO(),
    "pso, nearest": PSO(bounds="nearest"),
    "random": RandomSearch(),
    "sobol": Sobol(),
}


def history(method: object, name: str, dim: int, seed: int) -> list[float]:
    """Return the best value at the marks."""
    problem = boids.problems.make(name, dim=dim, seed=seed)
    found = boids.minimize(problem, problem.space, BUDGET, method=method, seed=seed, progress=False)
    return [float(found.history[mark - 1]) for mark in MARKS]


def main() -> None:
    """Print one line per method and problem."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--only", default="", help="methods whose names begin so")
    arguments = parser.parse_args()
    print(f"{'method':<20} {'problem':<12} {'@200':>8} {'@500':>8} {'@1000 ± s.e.':>18} {'expected':>18} {'sigmas':>7}")
    for label, method in METHODS.items():
        if not label.startswith(arguments.only):
            continue
        for name, dim in PROBLEMS.items():
            runs = np.array([history(method, name, dim, seed) for seed in range(arguments.seeds)])
            mean, error = runs.mean(axis=0), float(runs[:, -1].std(ddof=1) / np.sqrt(len(runs)))
            line = f"{label:<20} {name}-{dim:<6} {mean[0]:8.3f} {mean[1]:8.3f} {mean[2]:9.4f} ± {error:.4f}"
            if label in EXPECTED:
                *_, value, deviation = EXPECTED[label][name]
                combined = np.hypot(error, deviation) or 1.0
                line += f"  {value:9.4f} ± {deviation:.4f} {(mean[2] - value) / combined:7.1f}"
            print(line, flush=True)


if __name__ == "__main__":
    main()
