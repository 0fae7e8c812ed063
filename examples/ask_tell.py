"""Your own loop: ask for points, evaluate them wherever you like, tell the values in any order."""

import sys

import numpy as np

import boids

budget = int(sys.argv[1]) if len(sys.argv) > 1 else 100
optimizer = boids.Optimizer([(0, 1)] * 40, budget=budget, seed=0)


def evaluate(x):
    """Stand for something that takes hours on a cluster."""
    return float(np.sum((x - 0.3) ** 2) + 0.1 * np.sum(np.sin(20 * x[:3])))


while optimizer.remaining:
    batch = optimizer.ask(4)  # four points at once; fewer at the end of the budget
    for trial in reversed(batch):  # the last one may well be the first to finish
        optimizer.tell(trial, evaluate(trial.x))

print(f"trial {optimizer.best.id} of {optimizer.n_told}: {optimizer.best.value:.4f}")
print({key: optimizer.diagnostics[key] for key in ("subspace_dim", "K", "restarts")})
