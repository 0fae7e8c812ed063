import numpy as np
import pytest
from scipy.spatial.distance import cdist
from threadpoolctl import threadpool_info

from boids.gp import linalg


def positive_definite(n, seed=0):
    a = np.random.default_rng(seed).normal(size=(n, n))
    return a @ a.T + n * np.eye(n)


def test_squared_distances_agree_with_scipy_and_are_never_negative():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(30, 7)), rng.normal(size=(20, 7))
    np.testing.assert_allclose(linalg.squared_distances(a, b), cdist(a, b, "sqeuclidean"), atol=1e-12)
    assert linalg.squared_distances(1e3 * a, 1e3 * a).min() >= 0.0


def test_factor_solve_and_inverses():
    k = positive_definite(12)
    factor = linalg.cholesky(k)
    np.testing.assert_allclose(factor @ factor.T, k, rtol=1e-12)
    assert np.all(np.triu(factor, 1) == 0.0)
    rhs = np.arange(24.0).reshape(12, 2)
    np.testing.assert_allclose(linalg.solve_cholesky(factor, rhs), np.linalg.solve(k, rhs), rtol=1e-10)
    inverse = linalg.inverse_from_cholesky(factor)
    np.testing.assert_allclose(inverse, np.linalg.inv(k), rtol=1e-9, atol=1e-14)
    np.testing.assert_array_equal(inverse, inverse.T)
    np.testing.assert_allclose(linalg.triangular_inverse(factor) @ factor, np.eye(12), atol=1e-12)


def test_the_jitter_ladder_rescues_a_singular_matrix_and_keeps_it_close():
    ones = np.ones((6, 6))
    factor = linalg.cholesky(ones)
    np.testing.assert_allclose(factor @ factor.T, ones, atol=1e-4)


def test_a_hopeless_matrix_is_a_clear_error():
    with pytest.raises(np.linalg.LinAlgError, match="not positive definite even with jitter"):
        linalg.cholesky(-np.eye(4))
    with pytest.raises(np.linalg.LinAlgError, match="nan or inf"):
        linalg.cholesky(np.full((3, 3), np.nan))


def test_small_problems_get_one_blas_thread_and_the_limit_is_lifted_again():
    before = [lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas"]
    with linalg.blas_threads(10):
        assert {lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas"} == {1}
    with linalg.blas_threads(linalg.ROWS_WORTH_THREADS):
        assert [lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas"] == before
    assert [lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas"] == before


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_triangular_product(dtype):
    rng = np.random.default_rng(0)
    factor = np.asarray(np.tril(rng.normal(size=(9, 9))), dtype=dtype, order="F")
    columns = rng.normal(size=(4, 9)).astype(dtype).T
    before = columns.copy()
    got = linalg.triangular_product(factor, columns)
    assert got.dtype == dtype
    np.testing.assert_allclose(got, factor @ columns, rtol=1e-5 if dtype is np.float32 else 1e-12)
    np.testing.assert_array_equal(columns, before)
