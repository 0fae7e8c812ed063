"""Begin with what you know: the present design, and evaluations that were made before.

python examples/warm_start.py [evaluations]
"""

import sys

import numpy as np

import boids

BUDGET = int(sys.argv[1]) if len(sys.argv) > 1 else 60
SPACE = [(-5, 10)] * 100
OPTIMUM = np.random.default_rng(1).uniform(-4, 9, 100)


def simulate(x):
    """Return the squared distance to the best point."""
    return float(((x - OPTIMUM) ** 2).sum())


def main():
    """Run the example."""
    scratch = boids.minimize(simulate, SPACE, BUDGET, seed=0)
    print(f"from scratch:               {scratch.fun:8.1f}")

    # A design that somebody has tuned by hand: it is evaluated first, and the search goes through it.
    design = np.clip(OPTIMUM + np.random.default_rng(2).normal(0.0, 1.0, 100), -5, 10)
    result = boids.minimize(simulate, SPACE, BUDGET, seed=0, x0=design)
    print(f"from a design worth {simulate(design):6.1f}: {result.fun:8.1f}")

    # Earlier evaluations, as pairs, trials or a whole result; they do not count in the budget.
    more = boids.minimize(simulate, SPACE, BUDGET, seed=1, trials=result)
    print(f"and once more with all that:{more.fun:8.1f}  ({more.nfev} evaluations, {len(more.trials)} trials)")


if __name__ == "__main__":
    main()
