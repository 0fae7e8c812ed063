"""A Gaussian process whose kernel weighs whole directions: its likelihood, its fit and a Laplace approximation.

Letham, Calandra, Rai & Bakshy, *Re-Examining Linear Embeddings for High-Dimensional Bayesian Optimization*, NeurIPS
2020, section 5: what looks axis-aligned in the input space is rotated and stretched in a linear embedding.

Notation
--------
Y, v    inputs (n, d), outputs (n,)
U       upper triangular, Γ = UᵀU                     (d, d)
A       Y Uᵀ                                          (n, d)
k       s² exp(-½ ‖a - a'‖²) = s² exp(-½ (y - y')ᵀ Γ (y - y'))
V       known noise variances                         (n,)
K       k(A, A) + σ² I + diag(V)                      (n, n)
θ       (the d (d + 1) / 2 entries of U row by row, log s², log σ² if it is free)

With W = αα ᵀ - K⁻¹ and M = W ∘ k the gradient in U is -Aᵀ (diag(M 1) - M) Y: two matrix products, whatever d.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import final

import numpy as np
from scipy.optimize import Bounds, minimize

from boids.gp.linalg import blas_threads, cholesky, inverse_from_cholesky, squared_distances
from boids.records import FloatArray, IntArray

#: Bounds of the signal variance, for outputs of unit variance; the original has none.
SIGNAL_BOUNDS = (1e-3, 1e3)
#: Bounds of the noise variance where it is free.
NOISE_BOUNDS = (1e-6, 2.0)
#: The noise variance of observations that are said to have none (original).
LEAST_NOISE = 1e-7
#: Subtracted from the second derivatives of the log likelihood per datum, which may be zero (original).
LEAST_CURVATURE = 1e-3


@cache
def entries(dim: int) -> tuple[IntArray, IntArray]:
    """Return the rows and columns of the entries of an upper triangular matrix."""
    rows, columns = np.triu_indices(dim)
    return rows, columns


def triangle(flat: FloatArray, dim: int) -> FloatArray:
    """Return the upper triangular matrices (..., d, d) with the given entries (..., d (d + 1) / 2)."""
    matrix = np.zeros((*flat.shape[:-1], dim, dim))
    matrix[(..., *entries(dim))] = flat
    return matrix


@final
@dataclass(frozen=True, slots=True)
class MahalanobisFit:
    """Fitted numbers: the entries of U, s², σ² and the constant mean, and how uncertain the entries are."""

    entries: FloatArray
    signal_variance: float
    noise_variance: float
    mean: float
    deviations: FloatArray

    @property
    def dim(self) -> int:
        """d."""
        return math.isqrt(2 * len(self.entries))

    def samples(self, count: int, rng: np.random.Generator) -> FloatArray:
        """Return the fitted U and `count` - 1 draws from its Laplace approximation (count, d, d)."""
        drawn = np.tile(self.entries, (count, 1))
        drawn[1:] += self.deviations * rng.standard_normal((count - 1, len(self.entries)))
        return triangle(drawn, self.dim)


@final
@dataclass(frozen=True)
class MahalanobisLikelihood:
    """log p(v | Y, θ) with the best constant mean, for fixed data; per datum, as in GPyTorch."""

    inputs: FloatArray
    outputs: FloatArray
    known_noise: FloatArray | None = None
    free_noise: bool = False

    def __call__(self, theta: FloatArray) -> tuple[float, FloatArray, float]:
        """Return the value, its gradient, and the mean (generalised least squares, where the derivative is zero)."""
        n, dim = self.inputs.shape
        size = len(entries(dim)[0])
        u = triangle(theta[:size], dim)
        signal, noise = self.variances(theta)
        scaled = self.inputs @ u.T
        q = squared_distances(scaled, scaled)
        q.flat[:: n + 1] = 0.0
        q *= -0.5
        signal_part = np.exp(q, out=q)
        signal_part *= signal
        covariance = signal_part.copy()
        covariance.flat[:: n + 1] += noise
        if self.known_noise is not None:
            covariance.flat[:: n + 1] += self.known_noise
        factor = cholesky(covariance)
        inverse = inverse_from_cholesky(factor)
        weights = inverse.sum(axis=0)
        mean = float(weights @ self.outputs / weights.sum())
        residual = self.outputs - mean
        alpha = inverse @ residual
        value = (
            -0.5 * float(residual @ alpha)
            - float(np.log(np.diagonal(factor)).sum())
            - 0.5 * n * math.log(2.0 * math.pi)
        )
        w = inverse
        np.negative(w, out=w)
        w += np.outer(alpha, alpha)
        gradient = np.zeros_like(theta)
        if self.free_noise:
            gradient[size + 1] = 0.5 * noise * float(np.trace(w))
        w *= signal_part
        gradient[size] = 0.5 * float(w.sum())
        by_u = (scaled.T @ w - (scaled * w.sum(axis=1)[:, None]).T) @ self.inputs
        gradient[:size] = by_u[entries(dim)]
        return value / n, gradient / n, mean

    def variances(self, theta: FloatArray) -> tuple[float, float]:
        """Return s² and σ²."""
        size = len(entries(self.inputs.shape[1])[0])
        noise = math.exp(theta[size + 1]) if self.free_noise else LEAST_NOISE
        return math.exp(theta[size]), noise

    def theta(self, u: FloatArray, signal_variance: float = 1.0, noise_variance: float = 0.01) -> FloatArray:
        """Return θ of the given numbers."""
        logs = [math.log(signal_variance)] + [math.log(noise_variance)] * self.free_noise
        return np.concatenate([u[entries(len(u))], logs])


def fit_mahalanobis(
    likelihood: MahalanobisLikelihood, starts: Sequence[FloatArray], max_evaluations: int, full_laplace: bool = False
) -> MahalanobisFit:
    """Return the best local maximiser over the starts θ, with the Laplace approximation around it.

    Parameters
    ----------
    max_evaluations
        Of the likelihood, per start.
    full_laplace
        Whether the approximation is that of the likelihood, or of its n-th root, n times as wide (original).
    """
    n, dim = likelihood.inputs.shape
    size = len(entries(dim)[0])
    logs = np.log([SIGNAL_BOUNDS, NOISE_BOUNDS][: 1 + likelihood.free_noise])
    low = np.concatenate([np.full(size, -np.inf), logs[:, 0]])
    high = np.concatenate([np.full(size, np.inf), logs[:, 1]])
    best = (math.inf, np.clip(starts[0], low, high))

    def loss(theta: FloatArray) -> tuple[float, FloatArray]:
        nonlocal best
        value, gradient, _ = likelihood(theta)
        if -value < best[0]:
            best = (-value, theta.copy())
        return -value, -gradient

    with blas_threads(n):
        for start in starts:
            minimize(
                loss,
                np.clip(start, low, high),
                jac=True,
                method="L-BFGS-B",
                bounds=Bounds(low, high),
                options={"maxfun": max_evaluations, "maxiter": max_evaluations, "ftol": 1e-7, "gtol": 1e-5},
            )
        theta = best[1]
        deviations = laplace_deviations(likelihood, theta) / (math.sqrt(n) if full_laplace else 1.0)
        mean = likelihood(theta)[2]
    signal, noise = likelihood.variances(theta)
    return MahalanobisFit(theta[:size].copy(), signal, noise, mean, deviations)


def laplace_deviations(likelihood: MahalanobisLikelihood, theta: FloatArray) -> FloatArray:
    """Return one standard deviation for every entry of U: 1/√|H_ii|, H by forward differences of the gradient.

    The original lets a positive H_ii through as a negative variance; here its size counts, as in the singular value
    decomposition that the original's sampler goes through.
    """
    size = len(entries(likelihood.inputs.shape[1])[0])
    _, gradient, _ = likelihood(theta)
    curvature = np.empty(size)
    for i in range(size):
        step = 1e-4 + 1e-3 * abs(theta[i])
        moved = theta.copy()
        moved[i] += step
        curvature[i] = (likelihood(moved)[1][i] - gradient[i]) / step
    return np.asarray(1.0 / np.sqrt(np.maximum(np.abs(curvature - LEAST_CURVATURE), LEAST_CURVATURE)))
