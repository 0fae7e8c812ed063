"""pycma itself on Hartmann's function, without boids in between, for docs/methods/regression.md.

Run by hand: ``python experiments/pycma_direct.py``.
"""

from __future__ import annotations

import math
import warnings

import cma
import numpy as np

from boids.problems import Problem, make


def best_of(problem: Problem, start: np.ndarray, sigma: float, budget: int, seed: int) -> float:
    """Return the best value of one run in [0, 1]^D."""
    options = {"bounds": [0, 1], "seed": seed, "verbose": -9}
    strategy, best, made = cma.CMAEvolutionStrategy(start, sigma, options), math.inf, 0
    while made < budget:
        points = strategy.ask()
        values = [problem(point) for point in points]
        best = min([best, *values[: budget - made]])
        made += len(points)
        strategy.tell(points, values)
    return best


def main() -> None:
    """Print mean ± standard error of both comparisons."""
    warnings.simplefilter("ignore")
    centred = [
        best_of(make("hartmann", dim=100, positions="random", seed=s), np.full(100, 0.5), 0.25, 200, s + 1)
        for s in range(40)
    ]
    far = make("hartmann", dim=500)
    random = [best_of(far, np.random.default_rng(1000 + s).random(500), 0.3, 1000, s + 1) for s in range(20)]
    for name, values in {"Hartmann-100, centre, 1/4 @200": centred, "Hartmann-500, random @1000": random}.items():
        print(f"{name}: {np.mean(values):.3f} ± {np.std(values, ddof=1) / math.sqrt(len(values)):.3f}")


if __name__ == "__main__":
    main()
