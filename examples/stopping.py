"""Stop at a target, after a time, after stagnation, or when a callback says so; the message tells which it was."""

import sys

import numpy as np

import boids

budget = int(sys.argv[1]) if len(sys.argv) > 1 else 200


def sphere(x):
    """Return the squared distance to the best point."""
    return float(np.sum((x - 0.25) ** 2))


def settled(optimizer, trial):
    """Stop when the subspace has grown to the whole space; called after every evaluation."""
    return optimizer.diagnostics["subspace_dim"] == optimizer.space.dim


for limits in ({"target": 0.5}, {"timeout": 5.0}, {"patience": 15}, {"callback": settled}):
    result = boids.minimize(sphere, [(-1, 1)] * 60, budget, seed=0, **limits)
    print(f"{next(iter(limits)):>8}: {result.status}, {result.nfev} evaluations, {result.fun:.3f}. {result.message}")
