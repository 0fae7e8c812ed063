"""An objective that takes many points at once: on a GPU, or as a batch of jobs."""

import sys

import numpy as np

import boids

budget = int(sys.argv[1]) if len(sys.argv) > 1 else 120
calls = []


def simulate(points):
    """Return the values of all rows of a (q, 50) matrix."""
    calls.append(len(points))
    return np.sum((points - 0.1) ** 2, axis=1)


# The initial design comes as one matrix; after that, eight rows at a time.
result = boids.minimize(simulate, [(-1, 1)] * 50, budget, seed=0, vectorized=True, n_workers=8)
print(f"{result.fun:.4f} with {len(calls)} calls of {calls} rows")
