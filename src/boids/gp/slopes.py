"""Mean and variance of a posterior together with their gradients in x, for searches that climb.

Rasmussen & Williams, eqs. 2.23-2.24, differentiated.

Notation
--------
κ       s² k(‖x - z‖²), covariances between the training inputs and a z      (n,)
w       K⁻¹κ, so that variance(z) = s² - κᵀw                                 (n,)
∂mean/∂z = Σ_j α_j ∂κ_j/∂z,   ∂variance/∂z = -2 Σ_j w_j ∂κ_j/∂z,   ∂κ_j/∂z = 2 s² k'(q_j) (z - x_j) / ℓ²

One point at a time, the cost is that of reading K⁻¹: half of what its two triangular factors would take. The noise in K
keeps its condition, and so the rounding errors, far below what a variance can come to.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from boids.gp.cross import CrossCorrelation
from boids.gp.kernels import Kernel
from boids.gp.posterior import Posterior
from boids.records import FloatArray


@final
@dataclass(frozen=True)
class Slopes:
    """What the gradients need, laid out once: a search asks for them one point at a time, hundreds of times.

    It is called inside other loops and leaves the number of BLAS threads to them.
    """

    kernel: Kernel
    cross: CrossCorrelation
    mean: float
    signal_variance: float
    weights: FloatArray
    precision: FloatArray

    @classmethod
    def of(cls, posterior: Posterior) -> Slopes:
        """Lay out the posterior of one function."""
        signal = posterior.hyper.signal_variance
        return cls(
            kernel=posterior.surrogate.correlation,
            cross=posterior.cross(),
            mean=float(posterior.hyper.mean),
            signal_variance=signal,
            weights=signal * posterior.alpha,
            precision=signal * signal * posterior.precision,
        )

    def __call__(self, points: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Return mean and variance (q,) at the rows of `points` and their gradients (q, d)."""
        scaled = self.cross.scale(points)
        correlation, slope = self.kernel.value_and_slope(self.cross.between(scaled))
        explained = correlation @ self.precision
        means = correlation @ self.weights + self.mean
        # Rounding can push the variance at a data point below zero.
        variances = np.maximum(self.signal_variance - np.einsum("ij,ij->i", explained, correlation), 1e-12)
        slope *= 2.0
        mean_slopes = self._contract(scaled, slope * self.weights)
        explained *= slope
        variance_slopes = self._contract(scaled, explained)
        return means, variances, mean_slopes, -2.0 * variance_slopes

    def _contract(self, scaled: FloatArray, weights: FloatArray) -> FloatArray:
        """Return Σ_j w_ij (z_i - x_j) / ℓ² (q, d)."""
        sums = weights.sum(axis=1)[:, None] * scaled - weights @ self.cross.scaled_inputs
        return np.asarray(sums * self.cross.inverse_lengthscales)
