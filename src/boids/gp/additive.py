"""Gaussian processes that are sums of independent functions of one or two coordinates.

Duvenaud, Nickisch & Rasmussen, *Additive Gaussian Processes*, NeurIPS 2011; the parameters are those of Ziomek &
Bou-Ammar (RDUCB), ICML 2023, which belong to coordinates, so that they outlive a decomposition.

Notation
--------
X, y    inputs (n, D), outputs (n,)
ℓ, v    lengthscales and amplitudes of the coordinates          (D,)
c       a component: a coordinate {i} or a pair {i, j}           C of them
s_c     its variance, √(Σ v_i²) over the coordinates of c        (C,)
κ_c     s_c exp(-½ Σ (x_i - x'_i)²/ℓ_i²)
K       Σ_c κ_c(X, X) + σ² I + diag(V), with known noise V       (n, n)
W       αα ᵀ - K⁻¹, α = K⁻¹ y: twice the likelihood's derivative in K

The posterior of component c has mean κ_cᵀα and variance s_c - ‖L⁻¹κ_c‖²; the means of all components add up to the
mean of the sum. Kernels are symmetric: only the lower triangle is computed, a block of rows at a time, so that one
component's numbers stay in the cache and memory is that of two n×n matrices.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np

from boids.gp.linalg import (
    blas_threads,
    cholesky,
    inverse_from_cholesky,
    solve_cholesky,
    triangular_inverse,
    triangular_product,
)
from boids.records import FloatArray, IntArray

#: Numbers in a block of kernel rows: 256 kB.
_BLOCK = 32_768


@final
@dataclass(frozen=True)
class Components:
    """Which coordinates belong together: `singles` (S,) alone and `pairs` (E, 2), with the parameters of all."""

    singles: IntArray
    pairs: IntArray
    lengthscales: FloatArray
    amplitudes: FloatArray

    @cached_property
    def variances(self) -> tuple[FloatArray, FloatArray]:
        """s_c of the singles (S,) and of the pairs (E,)."""
        return self.amplitudes[self.singles], np.hypot(*self.amplitudes[self.pairs].T)

    @property
    def total_variance(self) -> float:
        """Σ s_c."""
        return float(sum(each.sum() for each in self.variances))

    def __iter__(self) -> Iterator[tuple[IntArray, float]]:
        """Yield the coordinates and the variance of each component, singles first."""
        single, pair = self.variances
        yield from zip(self.singles[:, None], single.tolist(), strict=True)
        yield from zip(self.pairs, pair.tolist(), strict=True)

    def covariance(self, inputs: FloatArray) -> FloatArray:
        """Return Σ_c κ_c(X, X), the lower triangle only (n, n)."""
        n = len(inputs)
        columns = np.ascontiguousarray((inputs / self.lengthscales).T)
        covariance = np.zeros((n, n))
        for rows, seen in _blocks(n):
            for coordinates, variance in self:
                q = _squares(columns[coordinates[0]], rows, seen)
                for i in coordinates[1:]:
                    q += _squares(columns[i], rows, seen)
                q *= -0.5
                np.exp(q, out=q)
                q *= variance
                covariance[rows, seen] += q
        return covariance

    def gradient(self, inputs: FloatArray, w: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return ½ Σ W ∘ ∂K/∂ℓ and ½ Σ W ∘ ∂K/∂v, each (D,), for a symmetric W of which the lower triangle is read."""
        n, dim = inputs.shape
        columns = np.ascontiguousarray((inputs / self.lengthscales).T)
        # The upper triangle is counted with the lower one: ½ on the diagonal, 1 off it.
        half = np.tril(w)
        half.flat[:: n + 1] *= 0.5
        in_lengthscales, in_amplitudes = np.zeros(dim), np.zeros(dim)
        for rows, seen in _blocks(n):
            part = np.ascontiguousarray(half[rows, seen])
            for coordinates, variance in self:
                squares = [_squares(columns[i], rows, seen) for i in coordinates]
                q = squares[0] + squares[1] if len(squares) == 2 else squares[0].copy()
                q *= -0.5
                np.exp(q, out=q)
                q *= part
                mass = float(q.sum())
                for i, square in zip(coordinates, squares, strict=True):
                    in_lengthscales[i] += variance * np.vdot(q, square) / self.lengthscales[i]
                    in_amplitudes[i] += mass * self.amplitudes[i] / variance
        return in_lengthscales, in_amplitudes


def log_likelihood(
    components: Components,
    inputs: FloatArray,
    outputs: FloatArray,
    noise: FloatArray,
) -> tuple[float, FloatArray, FloatArray]:
    """Return log p(y) without the term of 2π, and its gradients in ℓ and v; `noise` (n,) is K's extra diagonal."""
    n = len(inputs)
    with blas_threads(n):
        covariance = components.covariance(inputs)
        covariance.flat[:: n + 1] += noise
        factor = cholesky(covariance)
        inverse = inverse_from_cholesky(factor)
        alpha = inverse @ outputs
        value = -0.5 * float(outputs @ alpha) - float(np.log(np.diagonal(factor)).sum())
        return value, *components.gradient(inputs, np.outer(alpha, alpha) - inverse)


@final
@dataclass(frozen=True)
class AdditivePosterior:
    """A sum of components conditioned on data; the mean of the prior is zero."""

    components: Components
    inputs: FloatArray
    outputs: FloatArray
    noise: FloatArray
    factor: FloatArray
    alpha: FloatArray

    @classmethod
    def condition(
        cls, components: Components, inputs: FloatArray, outputs: FloatArray, noise: FloatArray
    ) -> AdditivePosterior:
        """Condition the sum on data; `noise` (n,) is the diagonal σ² + V."""
        n = len(inputs)
        with blas_threads(n):
            covariance = components.covariance(inputs)
            covariance.flat[:: n + 1] += noise
            factor = cholesky(covariance)
            alpha = solve_cholesky(factor, outputs)
        return cls(components, inputs, outputs, noise, factor, alpha)

    def fantasise(self, points: FloatArray, noise_variance: float) -> AdditivePosterior:
        """Return the posterior as if `points` (k, D) had been observed at their predicted means."""
        if not len(points):
            return self
        return AdditivePosterior.condition(
            self.components,
            np.vstack([self.inputs, points]),
            np.append(self.outputs, self.mean(points)),
            np.append(self.noise, np.full(len(points), noise_variance)),
        )

    def mean(self, points: FloatArray) -> FloatArray:
        """Return the mean of the sum at the rows of `points` (q,)."""
        total = np.zeros((len(points), len(self.inputs)))
        scales = self.components.lengthscales
        for i, variance in self.components:
            difference = (points[:, None, i] - self.inputs[None, :, i]) / scales[i]
            total += variance * np.exp(-0.5 * np.square(difference).sum(axis=-1))
        return np.asarray(total @ self.alpha)

    def on_grid(self, values: FloatArray) -> tuple[tuple[FloatArray, FloatArray], tuple[FloatArray, FloatArray]]:
        """Return mean and variance of every single component (S, k), and of every pair (E, k, k).

        Parameters
        ----------
        values
            k values of each coordinate (D, k); pairs are predicted at all k² combinations.
        """
        parts, (single, pair) = self.components, self.components.variances
        n, k = len(self.inputs), values.shape[1]
        columns = (self.inputs / parts.lengthscales).T
        factors = (values / parts.lengthscales[:, None])[:, :, None] - columns[:, None, :]
        np.square(factors, out=factors)
        factors *= -0.5
        np.exp(factors, out=factors)  # (D, k, n)
        alone = factors[parts.singles] * single[:, None, None]
        first, second = factors[parts.pairs[:, 0]], factors[parts.pairs[:, 1]]
        joined = (first * pair[:, None, None])[:, :, None, :] * second[:, None, :, :]  # (E, k, k, n)
        rows = np.concatenate([alone.reshape(-1, n), joined.reshape(-1, n)])
        with blas_threads(n):
            means = rows @ self.alpha
            explained = triangular_product(self._inverse_factor, rows.T)
        prior = np.concatenate([np.repeat(single, k), np.repeat(pair, k * k)])
        variances = prior - np.einsum("ji,ji->i", explained, explained)
        cut = len(single) * k
        return (
            (means[:cut].reshape(-1, k), variances[:cut].reshape(-1, k)),
            (means[cut:].reshape(-1, k, k), variances[cut:].reshape(-1, k, k)),
        )

    @cached_property
    def _inverse_factor(self) -> FloatArray:
        with blas_threads(len(self.inputs)):
            return np.asfortranarray(triangular_inverse(self.factor))


def _blocks(n: int) -> Iterator[tuple[slice, slice]]:
    """Yield blocks of the lower triangle as (rows, columns up to the last of them)."""
    size = max(1, _BLOCK // max(n, 1))
    for begin in range(0, n, size):
        end = min(n, begin + size)
        yield slice(begin, end), slice(0, end)


def _squares(column: FloatArray, rows: slice, seen: slice) -> FloatArray:
    """Return the squared differences between some rows of a coordinate and some others."""
    squares = np.subtract.outer(column[rows], column[seen])
    squares *= squares
    return np.asarray(squares)
