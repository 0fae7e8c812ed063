"""One number per outcome for methods that know nothing of constraints: feasibility first, or a penalty.

Deb, *An efficient constraint handling method for genetic algorithms*, 2000: feasible points are compared by their
values, infeasible ones by their violation, and every feasible point is better than every infeasible one.

======  ==============================================  =======
symbol  meaning                                         shape
======  ==============================================  =======
y       values, nan where the evaluation failed         (n,)
c       constraints, which hold where c ≤ 0             (n, C)
v       violations, Σ max(0, c) over the constraints    (n,)
======  ==============================================  =======
"""

from __future__ import annotations

import numpy as np

from boids.records import FloatArray

#: What a sum beyond the range of floats counts as: merits are finite.
_LARGEST = float(np.finfo(float).max)


def violations(constraints: FloatArray) -> FloatArray:
    """Return v; nan where the evaluation failed."""
    with np.errstate(over="ignore"):
        return np.asarray(np.minimum(np.maximum(constraints, 0.0).sum(axis=1), _LARGEST))


def feasibility_first(values: FloatArray, constraints: FloatArray) -> FloatArray:
    """Return merits in Deb's order: values where feasible, above them the infeasible points by their violation.

    The infeasible points begin one standard deviation of the feasible values above the worst of these and spread over
    as much, so that a model of the merits is not ruined by a cliff.
    """
    v = violations(constraints)
    feasible = v == 0.0
    merits = np.where(feasible, values, np.nan)
    outside = v > 0.0
    if not outside.any():
        return merits
    if not feasible.any():
        merits[outside] = v[outside]
        return merits
    inside = values[feasible]
    size = float(np.abs(inside).max()) or 1.0
    step = float((inside / size).std())  # on the values' own scale, for squares of huge numbers overflow
    step = step if step > 1e-12 else 1.0
    scaled = 1.0 / (1.0 + np.median(v[outside]) / v[outside])  # any size of violation, in (0, 1)
    above = float(inside.max()) / size + step * (1.0 + scaled)
    merits[outside] = np.minimum(above, _LARGEST / size if size > 1.0 else _LARGEST) * size
    return merits


def penalised(values: FloatArray, constraints: FloatArray, weight: float) -> FloatArray:
    """Return y + weight · v, as the paper does for Mopta."""
    with np.errstate(over="ignore"):
        return np.minimum(values + weight * violations(constraints), _LARGEST)
