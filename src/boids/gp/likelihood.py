"""The log marginal likelihood of a Gaussian process and its gradient, as contractions.

Rasmussen & Williams, eqs. 5.8 and 5.9. With W = αα ᵀ - K⁻¹ every derivative is ½ Σ W ∘ ∂K/∂θ; for the length scales
the sum over pairs becomes one matrix product, so no (n, n, d) tensor is ever built.

Notation
--------
X, Y    inputs (n, d), outputs (n,) or (n, C): C functions that share one kernel
A       X / ℓ                                  (n, d)
V       known noise variances                  (n,)
K       s² k(q) + σ² I + diag(V)               (n, n)
α       K⁻¹ (Y - μ)                            (n, C)

The log likelihoods of C functions add up: W = Σ_c α_c α_cᵀ - C K⁻¹. Cost of one evaluation: n³ + n² (2 d + 2 C)
multiply-adds, three n×n matrices of memory; the functions share the factorisation, so that dozens cost little more
than one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import numpy as np

from boids.gp.linalg import cholesky, inverse_from_cholesky, squared_distances
from boids.gp.model import Mean, Surrogate
from boids.records import FloatArray


@dataclass(frozen=True, slots=True)
class Evaluation:
    """log p(y | θ) (without priors), its gradient in θ and in μ, and the mean it was evaluated at."""

    value: float
    gradient: FloatArray
    mean: Mean
    mean_gradient: float


@final
@dataclass(frozen=True)
class MarginalLikelihood:
    """log p(Y | X, θ) for fixed data."""

    surrogate: Surrogate
    inputs: FloatArray
    outputs: FloatArray
    known_noise: FloatArray | None = None

    def __call__(self, theta: FloatArray, mean: float | None = None) -> Evaluation:
        """Evaluate at θ; `mean=None` uses the best constant mean (one per function) for this θ.

        The best mean is available in closed form (generalised least squares), and at it the derivative in μ is zero,
        so the gradient in θ needs no extra term.
        """
        n, dim = self.inputs.shape
        hyper = self.surrogate.unpack(theta)
        scaled = self.inputs / hyper.lengthscales
        q = squared_distances(scaled, scaled)
        q.flat[:: n + 1] = 0.0
        correlation, slope = self.surrogate.correlation.value_and_slope(q)
        covariance = correlation
        covariance *= hyper.signal_variance
        covariance.flat[:: n + 1] += hyper.noise_variance
        if self.known_noise is not None:
            covariance.flat[:: n + 1] += self.known_noise
        factor = cholesky(covariance)
        inverse = inverse_from_cholesky(factor)
        best_mean: Mean
        if mean is None:
            weights = inverse.sum(axis=0)
            means = weights @ self.outputs / weights.sum()
            best_mean = float(means) if self.outputs.ndim == 1 else means
        else:
            best_mean = mean
        residual = self.outputs - best_mean
        alpha = inverse @ residual
        functions = self.outputs.size // n
        value = -0.5 * float(np.vdot(residual, alpha)) - functions * (
            float(np.log(np.diagonal(factor)).sum()) + 0.5 * n * math.log(2.0 * math.pi)
        )

        # 2 ∂log p / ∂K, built in the inverse's memory.
        w = inverse
        np.negative(w, out=w)
        if alpha.ndim == 1:
            w += np.outer(alpha, alpha)
        else:
            w *= functions
            w += alpha @ alpha.T
        gradient = np.empty_like(theta)
        trace = float(np.trace(w))
        gradient[-1] = 0.5 * hyper.noise_variance * trace
        if self.surrogate.signal_variance is None:
            known = 0.0 if self.known_noise is None else float(np.diagonal(w) @ self.known_noise)
            gradient[dim] = 0.5 * (float(np.vdot(w, covariance)) - hyper.noise_variance * trace - known)
        # ∂q_ij/∂log ℓ_k = -2 (a_ik - a_jk)²; expand the square: row sums and one product.
        w *= slope
        w *= hyper.signal_variance
        gradient[:dim] = -2.0 * (w.sum(axis=1) @ (scaled * scaled) - np.einsum("ik,ik->k", scaled, w @ scaled))
        return Evaluation(value, gradient, best_mean, float(alpha.sum()))
