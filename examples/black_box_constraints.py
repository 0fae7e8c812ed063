"""Constraints that only the simulator knows: it returns them with the value, and the optimiser models them."""

import sys

import numpy as np

import boids

budget = int(sys.argv[1]) if len(sys.argv) > 1 else 120


def simulate(x):
    """Return the mass of 30 bars, and two constraints, which hold where they are ≤ 0: stress and deflection."""
    mass = float(x.sum())
    stress = float(np.max(1.0 / x[:10])) - 2.0
    deflection = float(np.sum(1.0 / x**2)) / 30 - 3.0
    return mass, [stress, deflection]


result = boids.minimize(simulate, [(0.1, 2)] * 30, budget, seed=0, n_constraints=2)
print(result.message)
print(f"mass {result.fun:.3f}, feasible: {result.feasible}, constraints {result.constraints.round(3)}")

# The alternative is a penalty in the objective; the best feasible point is still the one that is reported.
result = boids.minimize(simulate, [(0.1, 2)] * 30, budget, seed=0, n_constraints=2, penalty=20)
print(f"with a penalty: mass {result.fun:.3f}, feasible: {result.feasible}")
