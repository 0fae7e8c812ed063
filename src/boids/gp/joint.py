"""One draw of the posterior at many points at once, jointly: exact, through a path, or of low rank.

Rasmussen & Williams, eq. 2.24; Lanczos, *J. Res. Nat. Bur. Standards* 1950; Pleiss, Gardner, Weinberger & Wilson,
*Constant-Time Predictive Distributions for Gaussian Processes*, ICML 2018, whose software draws large samples that way.

Notation
--------
C       the points                                             (q, d)
Σ       their posterior covariance s² k(C, C) - VᵀV            (q, q),  V = L⁻¹ s² k(X, C)
σ²      noise variance, added to Σ if the draw is one of observations rather than of the function
"""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from boids.gp.linalg import blas_threads, cholesky, squared_distances, triangular_product
from boids.gp.paths import draw_path
from boids.gp.posterior import BLOCK_ROWS, Posterior
from boids.records import FloatArray

SamplerName = Literal["auto", "exact", "pathwise", "lowrank-100"]

#: "auto" draws exactly at up to so many points, 10 ms of work that grows with the third power, and pathwise at more.
MOST_EXACT = 500
#: GPyTorch's `max_cholesky_size` in the original programs: at more points than these they draw with low rank.
MOST_CHOLESKY = 2000
#: GPyTorch's `max_root_decomposition_size`.
RANK = 100


def joint_draw(
    posterior: Posterior,
    points: FloatArray,
    rng: np.random.Generator,
    sampler: SamplerName = "auto",
    *,
    with_noise: bool = False,
    features: int = 1024,
    centre: FloatArray | None = None,
) -> FloatArray:
    """Draw the function's values (q,), or with noise those of observations, at the rows of `points`.

    Parameters
    ----------
    sampler
        "exact": from the joint normal distribution; "pathwise": from a function drawn with random features, in single
        precision; "auto": the first for few points and the second for many; "lowrank-100": the first for up to 2000
        points, and for more within a random subspace of 100 dimensions, which takes most of the variance away where
        points are hardly correlated.
    features
        Random features of a path.
    centre
        Where a path is to be most precise.
    """
    count = len(points)
    noise = posterior.hyper.noise_variance if with_noise else 0.0
    if sampler == "exact" or count <= (MOST_CHOLESKY if sampler == "lowrank-100" else MOST_EXACT * (sampler == "auto")):
        return _exact(posterior, points, rng, noise)
    if sampler == "lowrank-100":
        return _low_rank(posterior, points, rng, noise)
    values = draw_path(posterior, rng, features, np.float32, centre)(points).astype(np.float64)
    return values + math.sqrt(noise) * rng.standard_normal(count) if noise else values


def _exact(posterior: Posterior, points: FloatArray, rng: np.random.Generator, noise: float) -> FloatArray:
    """Draw μ + chol(Σ + σ² I) ε."""
    mean, covariance = _moments(posterior, points, np.float64)
    covariance.flat[:: len(points) + 1] += noise
    with blas_threads(len(points)):
        return np.asarray(mean + cholesky(covariance) @ rng.standard_normal(len(points)))


def _low_rank(posterior: Posterior, points: FloatArray, rng: np.random.Generator, noise: float) -> FloatArray:
    """Draw μ + R ε with R Rᵀ ≈ Σ + σ² I from 100 steps of Lanczos."""
    # Single precision: the matrix of 5000 points fits into 100 MB, and its errors are far below the noise.
    mean, covariance = _moments(posterior, points, np.float32)
    covariance.flat[:: len(points) + 1] += np.float32(noise)
    with blas_threads(len(points)):
        root = lanczos_root(covariance, min(RANK, len(points)), rng)
    return mean + root @ rng.standard_normal(root.shape[1])


def lanczos_root(matrix: NDArray[Any], rank: int, rng: np.random.Generator) -> FloatArray:
    """Return R (q, ≤ rank) with R Rᵀ = Q T Qᵀ, the matrix within its Krylov space from a random vector."""
    basis = np.empty((rank, len(matrix)))
    diagonal, off = np.zeros(rank), np.zeros(rank)
    vector = rng.standard_normal(len(matrix))
    vector /= np.linalg.norm(vector)
    steps = rank
    for k in range(rank):
        basis[k] = vector
        image = (matrix @ vector.astype(matrix.dtype)).astype(np.float64)
        diagonal[k] = vector @ image
        for _ in range(2):  # against all earlier vectors, twice: once leaves rounding errors that grow
            image -= basis[: k + 1].T @ (basis[: k + 1] @ image)
        off[k] = np.linalg.norm(image)
        if off[k] <= 1e-6 * abs(diagonal[0]):  # the matrix has no more directions to offer
            steps = k + 1
            break
        vector = image / off[k]
    tridiagonal = np.diag(diagonal[:steps]) + np.diag(off[: steps - 1], 1) + np.diag(off[: steps - 1], -1)
    values, vectors = np.linalg.eigh(tridiagonal)
    return np.asarray(basis[:steps].T @ (vectors * np.sqrt(np.maximum(values, 0.0))))


def _moments(
    posterior: Posterior, points: FloatArray, dtype: type[np.floating[Any]]
) -> tuple[FloatArray, NDArray[Any]]:
    """Return μ (q,) and Σ (q, q)."""
    hyper, kernel, count = posterior.hyper, posterior.surrogate.correlation, len(points)
    with blas_threads(len(posterior.inputs)):
        cross = posterior.cross()
        kappa = hyper.signal_variance * cross(cross.scale(points))
        mean = hyper.mean + kappa @ posterior.alpha
        explained = triangular_product(np.asfortranarray(posterior.inverse_factor), kappa.T).astype(dtype)
        scaled = (points - points.mean(axis=0)) / hyper.lengthscales
        covariance = np.empty((count, count), dtype=dtype)
        for begin in range(0, count, BLOCK_ROWS):  # memory stays flat but for Σ itself
            rows = slice(begin, begin + BLOCK_ROWS)
            part = kernel.value(squared_distances(scaled[rows], scaled).astype(dtype))
            part *= dtype(hyper.signal_variance)
            part -= explained[:, rows].T @ explained
            covariance[rows] = part
    return np.asarray(mean, dtype=np.float64), covariance
