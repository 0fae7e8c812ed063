"""Values with noise: the point that is reported has the lowest posterior mean, not the luckiest value."""

import sys

import numpy as np

import boids

budget = int(sys.argv[1]) if len(sys.argv) > 1 else 120
rng = np.random.default_rng(0)


def truth(x):
    """Return what an infinitely long simulation would."""
    return float(np.sum((x - 0.4) ** 2))


def simulate(x):
    """Return the mean of a few noisy runs, and how uncertain it is."""
    runs = truth(x) + rng.normal(0.0, 0.5, size=5)
    return boids.Measurement(runs.mean(), noise_variance=0.5**2 / 5)


result = boids.minimize(simulate, [(-1, 1)] * 25, budget, seed=0, noisy=True)
print(result.message)
print(f"posterior mean {result.fun:.3f}, measured {result.observed:.3f}, truth {truth(result.x):.3f}")
print(f"the luckiest value was {min(trial.value for trial in result.trials):.3f}")
