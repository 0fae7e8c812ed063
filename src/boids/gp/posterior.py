"""The posterior of a Gaussian process: mean, variance, their gradients, draws and fantasies.

Rasmussen & Williams, eqs. 2.23-2.24.

Notation
--------
X       training inputs                                   (n, d)
Z       points to predict                                 (q, d)
κ       s² k(‖x - z‖²), covariances between X and a z     (n,)
L       lower Cholesky factor of K = s² k + σ² I + diag(V) (n, n)
α       K⁻¹ (y - μ)                                       (n,), or (n, C) for C functions with one kernel
mean(z) = μ + κᵀα,   variance(z) = s² - ‖L⁻¹κ‖²           (q,) or (q, C), and (q,) in either case

With the inverse factor L⁻¹ cached, the variances of q points are one matrix product. Cost of q predictions:
q n d + q n² / 2 multiply-adds.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, final

import numpy as np
from numpy.typing import DTypeLike, NDArray

from boids.gp.cross import CrossCorrelation
from boids.gp.linalg import (
    blas_threads,
    cholesky,
    inverse_from_inverse_factor,
    solve_cholesky,
    squared_distances,
    triangular_inverse,
    triangular_product,
)
from boids.gp.model import Hyperparameters, Mean, Surrogate
from boids.records import FloatArray

#: Rows predicted at a time: a block of kernel values stays in the cache and memory stays flat.
BLOCK_ROWS = 512


@final
@dataclass(frozen=True)
class Posterior:
    """A Gaussian process conditioned on data."""

    surrogate: Surrogate
    hyper: Hyperparameters
    inputs: FloatArray
    outputs: FloatArray
    factor: FloatArray
    alpha: FloatArray
    known_noise: FloatArray | None = None

    @classmethod
    def condition(
        cls,
        surrogate: Surrogate,
        hyper: Hyperparameters,
        inputs: FloatArray,
        outputs: FloatArray,
        known_noise: FloatArray | None = None,
        refit_mean: bool = False,
    ) -> Posterior:
        """Condition the process with these hyper-parameters on data.

        Parameters
        ----------
        known_noise
            Noise variances V of the outputs.
        refit_mean
            Take the best constant means for these outputs (generalised least squares) instead of the given ones.
        """
        n = len(inputs)
        with blas_threads(n):
            scaled = inputs / hyper.lengthscales
            q = squared_distances(scaled, scaled)
            q.flat[:: n + 1] = 0.0
            covariance = surrogate.correlation.value(q)
            covariance *= hyper.signal_variance
            covariance.flat[:: n + 1] += hyper.noise_variance
            if known_noise is not None:
                covariance.flat[:: n + 1] += known_noise
            factor = cholesky(covariance)
            if refit_mean:
                weights = solve_cholesky(factor, np.ones(n))
                hyper = replace(hyper, mean=np.asarray(weights @ outputs / weights.sum()))
            alpha = solve_cholesky(factor, outputs - hyper.mean)
        return cls(surrogate, hyper, inputs, outputs, factor, alpha, known_noise)

    def fantasise(self, points: FloatArray) -> Posterior:
        """Return the posterior as if `points` had been observed at their predicted means."""
        if len(points) == 0:
            return self
        means, _ = self.predict(points)
        noise = None if self.known_noise is None else np.append(self.known_noise, np.zeros(len(points)))
        inputs, outputs = np.vstack([self.inputs, points]), np.concatenate([self.outputs, means])
        return Posterior.condition(self.surrogate, self.hyper, inputs, outputs, noise)

    @cached_property
    def inverse_factor(self) -> FloatArray:
        """L⁻¹, computed once."""
        with blas_threads(len(self.inputs)):
            return triangular_inverse(self.factor)

    @cached_property
    def precision(self) -> FloatArray:
        """K⁻¹, computed once."""
        with blas_threads(len(self.inputs)):
            return inverse_from_inverse_factor(self.inverse_factor)

    def predict(self, points: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return mean and variance of the noise-free function at the rows of `points`."""
        return self.predictor(np.float64)(points)

    def predictor(self, dtype: DTypeLike = np.float64, centre: FloatArray | None = None) -> Predictor:
        """Return a fast function Z -> (mean, variance) in the given precision, most exact around `centre`."""
        signal = self.hyper.signal_variance
        return Predictor(
            cross=self.cross(dtype, centre),
            mean=self.hyper.mean,
            signal_variance=signal,
            weights=(signal * self.alpha).astype(dtype),
            root=np.asarray(signal * self.inverse_factor, dtype=dtype, order="F"),
        )

    @cached_property
    def exact_cross(self) -> CrossCorrelation:
        """The correlations in double precision, laid out once for all who need them."""
        return CrossCorrelation.of(self.surrogate.correlation, self.hyper.lengthscales, self.inputs, np.float64)

    def cross(self, dtype: DTypeLike = np.float64, centre: FloatArray | None = None) -> CrossCorrelation:
        """Return the correlations with the training inputs as a function."""
        if centre is None and np.dtype(dtype) == np.float64:
            return self.exact_cross
        return CrossCorrelation.of(self.surrogate.correlation, self.hyper.lengthscales, self.inputs, dtype, centre)

    def leave_one_out(self) -> FloatArray:
        """Return by how much each output differs from what the others predict (R&W eq. 5.12), shaped as the outputs."""
        with blas_threads(len(self.inputs)):
            # The diagonal of K⁻¹ = L⁻ᵀL⁻¹.
            precision = np.einsum("ij,ij->j", self.inverse_factor, self.inverse_factor)
        return np.asarray((self.alpha.T / precision).T)

    def mean_gradient(self, points: FloatArray) -> FloatArray:
        """Return the gradients (q, d) of the mean in x at the rows of `points`."""
        return self._contract(points, np.broadcast_to(self.alpha, (len(points), len(self.alpha))))

    def variance_gradient(self, points: FloatArray) -> FloatArray:
        """Return the gradients (q, d) of the variance in x: -2 (K⁻¹κ)ᵀ ∂κ/∂z."""
        cross = self.cross()
        kappa = self.hyper.signal_variance * cross(cross.scale(points))
        return -2.0 * self._contract(points, solve_cholesky(self.factor, kappa.T).T)

    def _contract(self, points: FloatArray, weights: FloatArray) -> FloatArray:
        """Return Σ_j w_ij ∂κ_j/∂z at each point i: ∂q_ij/∂z = 2 (z - x_j) / ℓ²."""
        cross = self.cross()
        scaled = cross.scale(points)
        _, slope = self.surrogate.correlation.value_and_slope(cross.between(scaled))
        w = (2.0 * self.hyper.signal_variance) * slope * weights
        return np.asarray((w.sum(axis=1)[:, None] * scaled - w @ cross.scaled_inputs) / self.hyper.lengthscales)


@final
@dataclass(frozen=True)
class Predictor:
    """Everything that predictions need, laid out once, in one precision."""

    cross: CrossCorrelation
    mean: Mean
    signal_variance: float
    weights: NDArray[Any]
    root: NDArray[Any]

    def __call__(self, points: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return mean and variance of the noise-free function at the rows of `points`."""
        means = np.empty((len(points), *self.weights.shape[1:]), dtype=self.root.dtype)
        variances = np.empty(len(points), dtype=self.root.dtype)
        with blas_threads(len(self.root)):
            for begin in range(0, len(points), BLOCK_ROWS):
                rows = slice(begin, begin + BLOCK_ROWS)
                correlation = self.cross(self.cross.scale(points[rows]))
                means[rows] = correlation @ self.weights
                explained = triangular_product(self.root, correlation.T)
                variances[rows] = np.einsum("ji,ji->i", explained, explained)
        means += np.asarray(self.mean, dtype=means.dtype)
        np.subtract(self.signal_variance, variances, out=variances)
        # Rounding can push the variance at a data point below zero.
        np.maximum(variances, 1e-12, out=variances)
        return means, variances
