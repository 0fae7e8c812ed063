"""Draws of whole functions from the posterior, by pathwise conditioning.

Wilson, Borovitskiy, Terenin, Mostowsky & Deisenroth, *Efficiently Sampling Functions from Gaussian Process
Posteriors*, ICML 2020: a draw of the prior, from random Fourier features, is corrected by the kernel on the data.

Notation
--------
ω_j     frequencies, in length-scale units        (F, d)
φ_j     phases, uniform in [0, 2π)                (F,)
ρ_j     amplitudes, Rayleigh                      (F,)
prior(z) = √(s²/F) Σ ρ_j cos(ω_jᵀ z/ℓ - φ_j)
draw(z)  = μ + prior(z) + κ(z)ᵀ K⁻¹ (y - μ - prior(X) - ε),   ε ~ N(0, σ² I + diag(V))

ρ cos(· - φ) is a cos + b sin with a, b standard normal, so the prior draw is Gaussian given the frequencies, with
exactly the variance s², at the price of one cosine per feature. Without features the path is the posterior mean, for
which C functions with one kernel are as good as one.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
from numpy.typing import DTypeLike, NDArray

from boids.gp.cross import CrossCorrelation
from boids.gp.linalg import blas_threads, false_alarms_ignored, solve_cholesky
from boids.gp.model import Mean
from boids.gp.posterior import BLOCK_ROWS, Posterior
from boids.records import BoolArray, FloatArray


@final
@dataclass(frozen=True)
class Path:
    """One function drawn from the posterior, or C posterior means; call it on points (q, d)."""

    cross: CrossCorrelation
    mean: Mean
    frequencies: NDArray[Any]
    phases: NDArray[Any]
    amplitudes: NDArray[Any]
    update: NDArray[Any]

    @false_alarms_ignored
    def __call__(self, points: NDArray[Any]) -> NDArray[Any]:
        """Return the function at the rows of `points`, (q,) or (q, C)."""
        values = np.empty((len(points), *self.update.shape[1:]), dtype=self.update.dtype)
        with blas_threads(len(self.update)):
            for begin in range(0, len(points), BLOCK_ROWS):
                rows = slice(begin, begin + BLOCK_ROWS)
                scaled = self.cross.scale(points[rows])
                values[rows] = self.cross(scaled) @ self.update
                if len(self.phases):
                    values[rows] += self.prior(scaled)
        values += np.asarray(self.mean, dtype=values.dtype)
        return values

    @false_alarms_ignored
    def on_lines(self, origins: NDArray[Any], directions: NDArray[Any], t: NDArray[Any]) -> NDArray[Any]:
        """Return the function at origins[i] + t[i, j] directions[i], (m, k) or (m, k, C), at a cost free of d."""
        values = np.empty((*t.shape, *self.update.shape[1:]), dtype=self.update.dtype)
        with blas_threads(len(self.update)):
            for i, (start, way, parameters, correlation) in enumerate(self.cross.along(origins, directions, t)):
                values[i] = correlation @ self.update
                if len(self.phases):
                    phase = np.multiply.outer(parameters, self.frequencies @ way)
                    phase += self.frequencies @ start - self.phases
                    values[i] += np.cos(phase, out=phase) @ self.amplitudes
        values += np.asarray(self.mean, dtype=values.dtype)
        return values

    def with_slopes(self, points: FloatArray) -> tuple[FloatArray, Callable[[BoolArray], FloatArray]]:
        """Return C posterior means (q, C) at points, and a function that adds up gradients (q, d) of some of them.

        Which ones, the function is told by a mask (q, C): the gradient of a sum costs no more than that of one.
        """
        scaled = self.cross.scale(points)
        correlation, slope = self.cross.kernel.value_and_slope(self.cross.between(scaled))
        update = self.update.reshape(len(self.update), -1)

        def gradients(which: BoolArray) -> FloatArray:
            weights = 2.0 * slope * (which @ update.T)
            sums = weights.sum(axis=1)[:, None] * scaled - weights @ self.cross.scaled_inputs
            return np.asarray(sums * self.cross.inverse_lengthscales)

        return correlation @ update + np.asarray(self.mean), gradients

    def prior(self, scaled: NDArray[Any]) -> NDArray[Any]:
        """Return the draw of the zero-mean prior at scaled points."""
        phase = scaled @ self.frequencies.T
        phase -= self.phases
        waves: NDArray[Any] = np.cos(phase, out=phase) @ self.amplitudes
        return waves


def draw_path(
    posterior: Posterior,
    rng: np.random.Generator,
    features: int = 1024,
    dtype: DTypeLike = np.float64,
    centre: FloatArray | None = None,
) -> Path:
    """Draw one noise-free function from the posterior, to be evaluated in the given precision."""
    hyper = posterior.hyper
    n, dim = posterior.inputs.shape
    path = Path(
        cross=posterior.cross(dtype, centre),
        mean=hyper.mean,
        frequencies=posterior.surrogate.correlation.frequencies(rng, features, dim).astype(dtype),
        phases=rng.uniform(0.0, 2.0 * math.pi, features).astype(dtype),
        amplitudes=(rng.rayleigh(1.0, features) * math.sqrt(hyper.signal_variance / features)).astype(dtype),
        update=np.zeros(n, dtype=dtype),
    )
    known = 0.0 if posterior.known_noise is None else posterior.known_noise
    noise = np.sqrt(hyper.noise_variance + known) * rng.standard_normal(n)
    with blas_threads(n):
        residual = posterior.outputs - hyper.mean - noise - path.prior(path.cross.scaled_inputs)
        solved = solve_cholesky(posterior.factor, residual.astype(np.float64))
    return replace(path, update=(hyper.signal_variance * solved).astype(dtype))


def mean_path(posterior: Posterior, dtype: DTypeLike = np.float64, centre: FloatArray | None = None) -> Path:
    """Return the posterior mean, of one function or of C, in the form of a path."""
    return Path(
        cross=posterior.cross(dtype, centre),
        mean=posterior.hyper.mean,
        frequencies=np.empty((0, posterior.inputs.shape[1]), dtype=dtype),
        phases=np.empty(0, dtype=dtype),
        amplitudes=np.empty(0, dtype=dtype),
        update=(posterior.hyper.signal_variance * posterior.alpha).astype(dtype),
    )
