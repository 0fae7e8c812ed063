"""Several Gaussian processes with different hyper-parameters on the same data, predicted side by side.

Rasmussen & Williams, eqs. 2.23-2.24 and their derivatives, for a batch of S models.

Notation
--------
ℓ_s     lengthscales of model s                            (S, d)
A_s     X / ℓ_s                                            (S, n, d)
κ_s     correlations of a point with the data              (S, q, n)
L_s     lower Cholesky factor of s² k + σ² I + diag(V)     (S, n, n)
μ_s, v_s   mean and variance of model s                    (S, q)

Memory grows with S n²: 130 MB for 16 models of 1000 data.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from boids.gp.kernels import Kernel
from boids.gp.linalg import cholesky, solve_cholesky, squared_distances, triangular_inverse
from boids.records import FloatArray

#: Points predicted at a time, so that the kernel values of all models stay in the cache.
BLOCK_ROWS = 128
#: The least variance, which rounding could push below zero at a data point.
LEAST_VARIANCE = 1e-12


@final
@dataclass(frozen=True, slots=True)
class Draws:
    """Hyper-parameters of S processes with zero mean: length scales (S, d), signal and noise variances (S,)."""

    lengthscales: FloatArray
    signal_variances: FloatArray
    noise_variances: FloatArray

    def __len__(self) -> int:
        return len(self.signal_variances)


@final
@dataclass(frozen=True)
class Ensemble:
    """S Gaussian processes with zero mean, conditioned on data; leaves the number of BLAS threads to the caller.

    Attributes
    ----------
    outputs
        What each model has been told (S, n): the data are the same, fantasies are each model's own.
    added
        Variances (S,) that are added to the predicted ones.
    weights, roots
        s² α and s² L⁻¹, laid out for products with correlations.
    """

    kernel: Kernel
    draws: Draws
    inputs: FloatArray
    outputs: FloatArray
    known_noise: FloatArray
    added: FloatArray
    scaled_inputs: FloatArray
    norms: FloatArray
    weights: FloatArray
    roots: FloatArray

    @classmethod
    def condition(
        cls,
        kernel: Kernel,
        draws: Draws,
        inputs: FloatArray,
        outputs: FloatArray,
        known_noise: FloatArray | None = None,
        with_noise: bool = False,
    ) -> Ensemble:
        """Condition every model on the data.

        Parameters
        ----------
        outputs
            One for all models (n,), or each model's own (S, n).
        known_noise
            Noise variances V of the outputs (n,), besides the models' own.
        with_noise
            Whether the predicted variances are those of observations rather than of the function.
        """
        n, count = len(inputs), len(draws)
        outputs = np.broadcast_to(outputs, (count, n))
        known_noise = np.zeros(n) if known_noise is None else known_noise
        scaled = inputs / draws.lengthscales[:, None, :]
        weights, roots = np.empty((count, n)), np.empty((count, n, n))
        for s, signal in enumerate(draws.signal_variances):
            q = squared_distances(scaled[s], scaled[s])
            q.flat[:: n + 1] = 0.0
            covariance = kernel.value(q)
            covariance *= signal
            covariance.flat[:: n + 1] += draws.noise_variances[s] + known_noise
            factor = cholesky(covariance)
            weights[s] = signal * solve_cholesky(factor, outputs[s])
            roots[s] = signal * triangular_inverse(factor)
        added = draws.noise_variances if with_noise else np.zeros(count)
        norms = np.einsum("snd,snd->sn", scaled, scaled)
        return cls(kernel, draws, inputs, outputs, known_noise, added, scaled, norms, weights, roots)

    def fantasise(self, points: FloatArray) -> Ensemble:
        """Return the models as if each had observed `points` (k, d) at the means it predicts."""
        if len(points) == 0:
            return self
        means, _ = self.predict(points)
        return Ensemble.condition(
            self.kernel,
            self.draws,
            np.vstack([self.inputs, points]),
            np.hstack([self.outputs, means]),
            np.append(self.known_noise, np.zeros(len(points))),
            with_noise=bool(self.added.any()),
        )

    def predict(self, points: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the models' means and variances (S, q) at the rows of `points`."""
        means, variances = (np.empty((len(self.draws), len(points))) for _ in range(2))
        for begin in range(0, len(points), BLOCK_ROWS):
            rows = slice(begin, begin + BLOCK_ROWS)
            _, q = self._distances(points[rows])
            means[:, rows], variances[:, rows], _ = self._moments(self.kernel.value(q))
        return means, variances

    def slopes(self, points: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Return means and variances (S, q) at the rows of `points`, for few of them, and the gradients (S, q, d)."""
        scaled, q = self._distances(points)
        kappa, slope = self.kernel.value_and_slope(q)
        means, variances, explained = self._moments(kappa)
        # ∂q_j/∂z = 2 (z - x_j) / ℓ²
        slope *= 2.0
        mean_slopes = self._contract(scaled, slope * self.weights[:, None, :])
        variance_slopes = self._contract(scaled, slope * (explained @ self.roots))
        return means, variances, mean_slopes, -2.0 * variance_slopes

    def _distances(self, points: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the points as the models see them (S, q, d), and their squared distances from the data (S, q, n)."""
        scaled = points / self.draws.lengthscales[:, None, :]
        q = scaled @ np.swapaxes(self.scaled_inputs, 1, 2)
        q *= -2.0
        q += np.einsum("sqd,sqd->sq", scaled, scaled)[:, :, None]
        q += self.norms[:, None, :]
        np.maximum(q, 0.0, out=q)
        return scaled, q

    def _moments(self, kappa: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return means and variances (S, q), and s² L⁻¹κ (S, q, n)."""
        means = (kappa @ self.weights[:, :, None])[:, :, 0]
        explained = kappa @ np.swapaxes(self.roots, 1, 2)
        variances = self.draws.signal_variances[:, None] - np.einsum("sqn,sqn->sq", explained, explained)
        variances += self.added[:, None]
        return means, np.maximum(variances, LEAST_VARIANCE), explained

    def _contract(self, scaled: FloatArray, weights: FloatArray) -> FloatArray:
        """Return Σ_j w_j (z - x_j) / ℓ² (S, q, d)."""
        sums = weights.sum(axis=2)[:, :, None] * scaled - weights @ self.scaled_inputs
        return np.asarray(sums / self.draws.lengthscales[:, None, :])
