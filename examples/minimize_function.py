"""A function of 100 numbers, in one call."""

import sys

import numpy as np

import boids

budget = int(sys.argv[1]) if len(sys.argv) > 1 else 150
best = np.linspace(-2.0, 2.0, 100)


def simulate(x):
    """Return the misfit of a model with 100 coefficients, of which the first ten matter most."""
    weights = np.where(np.arange(100) < 10, 1.0, 0.01)
    return float(weights @ (x - best) ** 2)


result = boids.minimize(simulate, [(-5, 5)] * 100, budget, seed=0, progress=True)
print(result)
print(f"best value after 20 evaluations {result.history[min(19, budget - 1)]:.3f}, at the end {result.fun:.3f}")
