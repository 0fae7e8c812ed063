"""Stop anywhere and go on, bit for bit as if nothing had happened."""

import sys
import tempfile
from pathlib import Path

import numpy as np

import boids

budget = int(sys.argv[1]) if len(sys.argv) > 1 else 60


def evaluate(x):
    """Return the squared distance to the best point."""
    return float(np.sum((x - 0.3) ** 2))


def go_on(optimizer, count):
    """Make some evaluations."""
    for _ in range(min(count, optimizer.remaining)):
        trial = optimizer.ask()
        optimizer.tell(trial, evaluate(trial.x))
    return optimizer


without_break = go_on(boids.Optimizer([(-1, 1)] * 30, budget=budget, seed=0), budget)

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder, "run.npz")
    go_on(boids.Optimizer([(-1, 1)] * 30, budget=budget, seed=0), budget // 2).save(path)
    resumed = go_on(boids.Optimizer.load(path), budget)  # perhaps tomorrow, on another machine

same = all(np.array_equal(a.unit, b.unit) for a, b in zip(without_break.trials, resumed.trials, strict=True))
print(f"{resumed.n_told} evaluations, best {resumed.best.value:.5f}, the same with and without a break: {same}")
