"""A SciPy script that changes one argument: boids as the method of `scipy.optimize.minimize`.

python examples/scipy_minimize.py [evaluations]
"""

import sys

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, NonlinearConstraint, minimize

import boids

BUDGET = int(sys.argv[1]) if len(sys.argv) > 1 else 100
DIM = 40


def cost(thickness, price):
    """Return the price of a made-up shell of forty plates."""
    return price * thickness.sum() + 0.3 * np.abs(np.diff(thickness)).sum()


def strength(thickness):
    """Return how much the shell carries; where it is thin, it buckles."""
    return np.sqrt(thickness).sum() - 2.0 * np.exp(-3.0 * thickness.min())


def main():
    """Run the example."""
    result = minimize(
        cost,
        np.full(DIM, 1.0),  # the present design
        args=(2.0,),
        method=boids.scipy_method,
        bounds=Bounds(0.1, 2.0),
        constraints=[
            NonlinearConstraint(strength, 25.0, np.inf),  # known after an evaluation only
            LinearConstraint(np.eye(1, DIM) - np.eye(1, DIM, DIM - 1), 0.0, np.inf),  # the first is not the thinner one
        ],
        options={"budget": BUDGET, "seed": 0},
    )
    print(result)
    print(f"the present design costs {cost(np.full(DIM, 1.0), 2.0):.1f}, the best one {result.fun:.1f}")


if __name__ == "__main__":
    main()
