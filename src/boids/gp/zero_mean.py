"""Maximum likelihood for a process of mean zero, from the current values: what GPy's `optimize` does by default.

No prior and no start but the last fit, so that the outcome depends on the scale of the outputs; methods whose
originals work with raw values need it.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import Bounds, minimize

from boids.gp.likelihood import MarginalLikelihood
from boids.gp.linalg import blas_threads
from boids.gp.model import Hyperparameters
from boids.records import FloatArray


def fit_zero_mean(
    likelihood: MarginalLikelihood, start: Hyperparameters, max_evaluations: int = 200
) -> Hyperparameters:
    """Return the local maximiser of log p(y | θ, μ = 0) that L-BFGS-B finds from `start`, within the bounds."""
    surrogate = likelihood.surrogate
    n, dim = likelihood.inputs.shape
    low, high = surrogate.theta_bounds(dim)

    def loss(theta: FloatArray) -> tuple[float, FloatArray]:
        evaluation = likelihood(theta, mean=0.0)
        return -evaluation.value, -evaluation.gradient

    with blas_threads(n):
        found = minimize(
            loss,
            surrogate.pack(surrogate.clipped(start)),
            jac=True,
            method="L-BFGS-B",
            bounds=Bounds(low, high),
            options={"maxfun": max_evaluations, "maxiter": max_evaluations},
        )
    return surrogate.unpack(np.clip(found.x, low, high), 0.0)
