"""Evaluations that raise, return nan, hang, or take the whole process down; the run goes on and learns from it."""

import os
import sys
import time

import numpy as np

import boids

budget = int(sys.argv[1]) if len(sys.argv) > 1 else 80


def simulate(x):
    """Fail in four ways, each in its own corner."""
    if x[0] > 0.8:
        raise ValueError("the mesh is inside out")
    if x[1] > 0.9:
        return float("nan")
    if x[2] > 0.95:
        time.sleep(3600)  # hangs
    if x[3] > 0.95:
        os.abort()  # as a segmentation fault in a library does
    return float(np.sum((x - np.linspace(0.2, 0.7, 20)) ** 2))


# `isolate` runs the function in a process of its own, with a limit on its time.
with boids.isolate(simulate, timeout=0.5) as isolated:
    result = boids.minimize(isolated, [(0, 1)] * 20, budget, seed=0)

print(result.message)
for trial in result.trials:
    if trial.failed:
        print(f"  trial {trial.id}: {trial.error}")
print(f"best value {result.fun:.4f}")
