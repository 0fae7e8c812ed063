"""Every proposal satisfies linear constraints on the parameters, those of the initial design included."""

import sys

import numpy as np
from scipy.optimize import LinearConstraint

import boids
from boids import Float, Int, Space

budget = int(sys.argv[1]) if len(sys.argv) > 1 else 100
space = Space({"begin": Float(0, 10), "end": Float(0, 10), "workers": Int(1, 50), "share": Float(0, 1, shape=30)})


def cost(params):
    """Return the cost of a schedule and of how the work is shared."""
    span = params["end"] - params["begin"]
    return (span - 2) ** 2 + 0.01 * params["workers"] + float(((params["share"] - np.linspace(0, 0.06, 30)) ** 2).sum())


result = boids.minimize(
    cost,
    space,
    budget,
    seed=0,
    # The shares add up to one: a simplex. A text may chain comparisons, as in "0 <= end - begin <= 5".
    linear_constraints=["begin + 0.5 <= end", "sum(share) == 1", "workers + 3 * end <= 40"],
)
for trial in result.trials:
    assert trial.x["begin"] + 0.5 <= trial.x["end"] + 1e-9
    assert abs(trial.x["share"].sum() - 1) < 1e-6
print(f"{result.fun:.4f}, shares add up to {result.x['share'].sum():.9f}")

# A plain box takes SciPy's object, too: here the coordinates must not decrease.
matrix = np.eye(20, k=1)[:-1] - np.eye(20)[:-1]
ordered = LinearConstraint(matrix, lb=0.0)
result = boids.minimize(
    lambda x: float(np.sum((x - 0.3) ** 2)), [(0, 1)] * 20, max(10, budget // 2), seed=0, linear_constraints=ordered
)
print(f"{result.fun:.4f}, ordered: {bool(np.all(np.diff(result.x) >= -1e-9))}")
