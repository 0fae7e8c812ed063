"""The posterior averaged over several kernels, as one Gaussian with the same mean and variance.

Letham, Calandra, Rai & Bakshy, NeurIPS 2020, section 5: U is uncertain, so that predictions are averaged over samples.

Notation
--------
U_s     upper triangular, one for each of S models            (S, d, d)
A_s     Y U_sᵀ, inputs as model s sees them                   (S, n, d)
κ       covariances of points with the data                   (S, q, n)
L_s     lower Cholesky factor of K_s                          (S, n, n)
mean = mean_s μ_s,   variance = mean_s (V_s + μ_s²) - mean²   (moment matching)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from boids.gp.linalg import cholesky, solve_cholesky, squared_distances, triangular_inverse
from boids.records import FloatArray

#: Points predicted at a time, so that the kernel values of all models stay in the cache.
BLOCK_ROWS = 128


@final
@dataclass(frozen=True)
class Mixture:
    """S Gaussian processes on the same data with different U; leaves the number of BLAS threads to the caller."""

    triangles: FloatArray
    scaled_inputs: FloatArray
    norms: FloatArray
    alphas: FloatArray
    roots: FloatArray
    mean: float
    signal_variance: float

    @classmethod
    def condition(
        cls,
        triangles: FloatArray,
        inputs: FloatArray,
        outputs: FloatArray,
        noise: FloatArray,
        mean: float,
        signal_variance: float,
    ) -> Mixture:
        """Condition every model on the data, whose noise variances are `noise` (n,)."""
        n = len(inputs)
        scaled = inputs @ np.swapaxes(triangles, 1, 2)
        alphas = np.empty((len(triangles), n))
        roots = np.empty((len(triangles), n, n))
        for s, a in enumerate(scaled):
            covariance = squared_distances(a, a)
            covariance.flat[:: n + 1] = 0.0
            covariance *= -0.5
            np.exp(covariance, out=covariance)
            covariance *= signal_variance
            covariance.flat[:: n + 1] += noise
            factor = cholesky(covariance)
            alphas[s] = solve_cholesky(factor, outputs - mean)
            roots[s] = triangular_inverse(factor)
        return cls(triangles, scaled, np.einsum("snd,snd->sn", scaled, scaled), alphas, roots, mean, signal_variance)

    def __call__(self, points: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return mean and variance (q,) at the rows of `points`."""
        mean, variance = np.empty(len(points)), np.empty(len(points))
        for begin in range(0, len(points), BLOCK_ROWS):
            rows = slice(begin, begin + BLOCK_ROWS)
            _, kappa = self._covariances(points[rows])
            means = np.einsum("sqn,sn->sq", kappa, self.alphas) + self.mean
            explained = self.roots @ np.swapaxes(kappa, 1, 2)
            variances = self.signal_variance - np.einsum("snq,snq->sq", explained, explained)
            mean[rows], variance[rows] = matched(means, np.maximum(variances, 0.0))
        return mean, variance

    def slopes(self, points: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Return mean and variance (q,) at the rows of `points`, for few of them, and their gradients (q, d)."""
        scaled, kappa = self._covariances(points)
        means = np.einsum("sqn,sn->sq", kappa, self.alphas) + self.mean
        explained = self.roots @ np.swapaxes(kappa, 1, 2)
        variances = np.maximum(self.signal_variance - np.einsum("snq,snq->sq", explained, explained), 0.0)
        # ∂κ_j/∂z = -κ_j Uᵀ (a - a_j)
        mean_slopes = self._contract(scaled, kappa * self.alphas[:, None, :])
        solved = np.swapaxes(explained, 1, 2) @ self.roots
        variance_slopes = -2.0 * self._contract(scaled, kappa * solved)
        mean, variance = matched(means, variances)
        mean_slope = mean_slopes.mean(axis=0)
        second = (variance_slopes + 2.0 * means[..., None] * mean_slopes).mean(axis=0)
        return mean, variance, mean_slope, second - 2.0 * mean[:, None] * mean_slope

    def _covariances(self, points: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the points as the models see them (S, q, d), and κ (S, q, n)."""
        scaled = points @ np.swapaxes(self.triangles, 1, 2)
        kappa = scaled @ np.swapaxes(self.scaled_inputs, 1, 2)
        kappa -= 0.5 * np.einsum("sqd,sqd->sq", scaled, scaled)[:, :, None]
        kappa -= 0.5 * self.norms[:, None, :]
        np.minimum(kappa, 0.0, out=kappa)
        np.exp(kappa, out=kappa)
        kappa *= self.signal_variance
        return scaled, kappa

    def _contract(self, scaled: FloatArray, weights: FloatArray) -> FloatArray:
        """Return -Σ_j w_j Uᵀ (a - a_j) (S, q, d)."""
        sums = weights @ self.scaled_inputs - weights.sum(axis=2)[:, :, None] * scaled
        return np.asarray(sums @ self.triangles)


def matched(means: FloatArray, variances: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return mean and variance (q,) of the equal mixture of Gaussians with moments (S, q)."""
    mean = means.mean(axis=0)
    # The spread of the means around their mean, not the difference of squares, which cancels.
    variance = variances.mean(axis=0) + ((means - mean) ** 2).mean(axis=0)
    return mean, np.maximum(variance, 1e-12)
