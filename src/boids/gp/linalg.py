"""The linear algebra that Gaussian processes need, and how many threads it may use."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import get_blas_funcs, lapack
from threadpoolctl import ThreadpoolController

from boids.records import FloatArray

#: Below this many rows one BLAS thread is used: on small matrices a second one costs more than it brings (200 rows:
#: 6 ms against 300 ms), and on a machine busy with the objective it costs dearly (1000 rows: 1.1 s against 4.4 s).
ROWS_WORTH_THREADS = 2000

#: Added to the diagonal, relative to its mean, until the factorisation works.
JITTER_LADDER = (0.0, 1e-10, 1e-8, 1e-6, 1e-4, 1e-2)


@cache
def _controller() -> ThreadpoolController:
    """Find the BLAS libraries once: the search takes milliseconds, setting a limit microseconds."""
    return ThreadpoolController()


@contextmanager
def blas_threads(rows: int) -> Iterator[None]:
    """Use one BLAS thread for small matrices, and what the user allows for large ones."""
    if rows >= ROWS_WORTH_THREADS:
        yield
    else:
        with _controller().limit(limits=1, user_api="blas"):
            yield


#: OpenBLAS (seen with 0.3.31) may raise the processor's "invalid" flag in a product of finite single-precision numbers
#: with a finite result: it computes in vector lanes that it then throws away. numpy turns the flag into a warning that
#: would alarm people for nothing. A decorator, and a context manager, for code that multiplies in that precision.
false_alarms_ignored = np.errstate(invalid="ignore")


def squared_distances(a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
    """Return ‖a_i - b_j‖² for rows of `a` (n, d) and `b` (m, d), through one matrix product."""
    q: NDArray[Any] = a @ b.T
    q *= -2.0
    q += np.einsum("ij,ij->i", a, a)[:, None]
    q += np.einsum("ij,ij->i", b, b)[None, :]
    np.maximum(q, 0.0, out=q)
    return q


def cholesky(matrix: FloatArray) -> FloatArray:
    """Return the lower Cholesky factor, climbing the jitter ladder while the matrix is not positive definite.

    The result is in Fortran order, with zeros above the diagonal.
    """
    scale = float(np.mean(np.diagonal(matrix)))
    for jitter in JITTER_LADDER:
        attempt = np.array(matrix, order="F")
        if jitter:
            attempt.flat[:: len(matrix) + 1] += jitter * scale
        factor, info = lapack.dpotrf(attempt, lower=1, clean=1, overwrite_a=1)
        if info == 0 and np.isfinite(factor[-1, -1]):
            return np.asarray(factor, dtype=np.float64)
    raise np.linalg.LinAlgError(
        f"a {len(matrix)}×{len(matrix)} covariance matrix is not positive definite even with jitter "
        f"{JITTER_LADDER[-1]:g}; are there nan or inf among the inputs?"
    )


def solve_cholesky(factor: FloatArray, rhs: FloatArray) -> FloatArray:
    """Return K⁻¹ rhs for K = factor factorᵀ."""
    solution, _ = lapack.dpotrs(factor, rhs, lower=1)
    return np.asarray(solution, dtype=np.float64)


def inverse_from_cholesky(factor: FloatArray) -> FloatArray:
    """Return the full symmetric K⁻¹ for K = factor factorᵀ."""
    half, _ = lapack.dpotri(factor, lower=1)
    return _both_halves(half)


def inverse_from_inverse_factor(inverse_factor: FloatArray) -> FloatArray:
    """Return the full symmetric K⁻¹ = L⁻ᵀL⁻¹ in half the time, for those who have L⁻¹ already."""
    half, _ = lapack.dlauum(inverse_factor, lower=1)
    return _both_halves(half)


def _both_halves(lower: FloatArray) -> FloatArray:
    """Return the symmetric matrix of a lower triangle with zeros above it: LAPACK fills one triangle only."""
    full: FloatArray = lower + lower.T
    full.flat[:: len(full) + 1] *= 0.5
    return full


def triangular_product(factor: NDArray[Any], columns: NDArray[Any]) -> NDArray[Any]:
    """Return factor @ columns for a lower triangular factor in Fortran order: half the work of a full product."""
    (trmm,) = get_blas_funcs(("trmm",), (factor, columns))
    return np.asarray(trmm(1.0, factor, columns, side=0, lower=1))


def triangular_inverse(factor: FloatArray) -> FloatArray:
    """Return the inverse of a lower triangular matrix."""
    inverse, _ = lapack.dtrtri(factor, lower=1)
    return np.asarray(inverse, dtype=np.float64)
