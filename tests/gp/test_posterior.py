from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import chi2
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel

from boids.gp.model import Hyperparameters, Surrogate
from boids.gp.paths import draw_path
from boids.gp.posterior import BLOCK_ROWS, Posterior

HYPER = Hyperparameters(np.array([0.6, 1.2, 2.0]), 1.5, 0.01, 0.2)


def posterior(kernel="matern52", n=20, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, (n, 3))
    y = np.sin(2 * x[:, 0]) + x[:, 1]
    return Posterior.condition(Surrogate(kernel=kernel), HYPER, x, y)


def points(q=11, seed=1):
    return np.random.default_rng(seed).uniform(-1, 1, (q, 3))


def dense(p, z):
    """Mean and covariance by the textbook formula with plain inverses."""

    def k(a, b):
        a, b = a / HYPER.lengthscales, b / HYPER.lengthscales
        return HYPER.signal_variance * p.surrogate.correlation.value(((a[:, None] - b[None]) ** 2).sum(-1))

    inverse = np.linalg.inv(k(p.inputs, p.inputs) + HYPER.noise_variance * np.eye(len(p.inputs)))
    cross = k(z, p.inputs)
    return HYPER.mean + cross @ inverse @ (p.outputs - HYPER.mean), k(z, z) - cross @ inverse @ cross.T


@pytest.mark.parametrize("kernel", ["matern52", "rbf"])
def test_mean_and_variance_agree_with_dense_algebra(kernel):
    p, z = posterior(kernel), points()
    mean, variance = p.predict(z)
    expected_mean, expected_covariance = dense(p, z)
    np.testing.assert_allclose(mean, expected_mean, rtol=1e-9)
    np.testing.assert_allclose(variance, np.diagonal(expected_covariance), rtol=1e-7, atol=1e-10)


def test_mean_and_deviation_agree_with_scikit_learn():
    p, z = posterior(), points()
    kernel = ConstantKernel(1.5) * Matern(length_scale=HYPER.lengthscales, nu=2.5) + WhiteKernel(0.01)
    oracle = GaussianProcessRegressor(kernel=kernel, optimizer=None, alpha=0.0).fit(p.inputs, p.outputs - 0.2)
    mean, deviation = oracle.predict(z, return_std=True)
    got_mean, got_variance = p.predict(z)
    np.testing.assert_allclose(got_mean, mean + 0.2, rtol=1e-9)
    np.testing.assert_allclose(got_variance + 0.01, deviation**2, rtol=1e-8)


def test_many_rows_give_what_single_rows_give():
    p, z = posterior(), points(q=2 * BLOCK_ROWS + 3)
    mean, variance = p.predict(z)
    for i in (0, BLOCK_ROWS - 1, BLOCK_ROWS, len(z) - 1):
        m, v = p.predict(z[i : i + 1])
        assert mean[i] == pytest.approx(m[0], rel=1e-10)
        assert variance[i] == pytest.approx(v[0], rel=1e-8)


@pytest.mark.parametrize("kernel", ["matern52", "rbf"])
def test_gradients_in_x_agree_with_finite_differences(kernel):
    p, z = posterior(kernel), points(q=5)
    mean_gradient, variance_gradient = p.mean_gradient(z), p.variance_gradient(z)
    step = 1e-6
    for k in range(3):
        e = step * np.eye(3)[k]
        (mean_up, variance_up), (mean_down, variance_down) = p.predict(z + e), p.predict(z - e)
        np.testing.assert_allclose(mean_gradient[:, k], (mean_up - mean_down) / (2 * step), rtol=1e-5, atol=1e-7)
        np.testing.assert_allclose(
            variance_gradient[:, k], (variance_up - variance_down) / (2 * step), rtol=1e-4, atol=1e-6
        )


def test_single_precision_is_close_and_closest_around_its_centre():
    """A hard case: 100 dimensions, length scales far smaller than the box, a point next to the data."""
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (60, 100))
    hyper = Hyperparameters(np.full(100, 0.2), 1.0, 1e-3)
    p = Posterior.condition(Surrogate(), hyper, x, rng.normal(size=60))
    near = x[0] + 1e-3 * rng.normal(size=(20, 100))
    mean, variance = p.predict(near)
    centred = p.predictor(np.float32, centre=x[0])(near)
    plain = p.predictor(np.float32)(near)
    assert centred[0].dtype == np.float32
    np.testing.assert_allclose(centred[0], mean, atol=1e-4)
    np.testing.assert_allclose(centred[1], variance, atol=1e-4)
    assert np.abs(centred[1] - variance).max() < np.abs(plain[1] - variance).max()


def test_variance_is_positive_at_the_data_and_the_prior_far_away():
    p = posterior()
    _, variance = p.predict(p.inputs)
    assert np.all(variance > 0)
    mean, variance = p.predict(np.full((1, 3), 1e3))
    assert mean[0] == pytest.approx(HYPER.mean)
    assert variance[0] == pytest.approx(HYPER.signal_variance)


def test_fantasies_keep_the_mean_and_shrink_the_variance():
    p, z = posterior(), points(q=2)
    fantasy = p.fantasise(z)
    grid = points(q=30, seed=7)
    np.testing.assert_allclose(fantasy.predict(grid)[0], p.predict(grid)[0], atol=1e-9)
    assert np.all(fantasy.predict(grid)[1] <= p.predict(grid)[1] + 1e-9)
    assert np.all(fantasy.predict(z)[1] < 0.02)
    assert p.fantasise(np.empty((0, 3))) is p


@pytest.mark.parametrize("kernel", ["matern52", "rbf"])
def test_pathwise_draws_have_the_posterior_distribution(kernel):
    """3000 draws, each with 512 features of its own: averaged over the features the prior is exact, and so are mean and
    covariance. The mean's Mahalanobis distance is chi-squared with 6 degrees of freedom (threshold: false-alarm rate
    1e-6); covariances lie within six standard errors of a Wishart, widened by a quarter for the fourth moment that
    finitely many features add (false-alarm rate below 1e-6 for the 21 entries)."""
    p, z = posterior(kernel, n=8), points(q=6, seed=3)
    rng = np.random.default_rng(11)
    count = 3000
    draws = np.array([draw_path(p, rng, features=512)(z) for _ in range(count)])
    mean, covariance = dense(p, z)
    error = draws.mean(axis=0) - mean
    distance = count * error @ np.linalg.solve(covariance, error)
    assert distance < chi2(6).isf(1e-6)
    sampled = np.cov(draws.T)
    spread = np.sqrt((covariance**2 + np.outer(np.diagonal(covariance), np.diagonal(covariance))) / count)
    assert np.all(np.abs(sampled - covariance) < 6 * 1.25 * spread)


def test_a_path_is_a_function_and_follows_the_data():
    p = posterior(n=30)
    path = draw_path(p, np.random.default_rng(2))
    z = points(q=BLOCK_ROWS + 5)
    np.testing.assert_allclose(path(z)[-5:], path(z[-5:]), atol=1e-9)
    residual = path(p.inputs) - p.outputs
    assert np.sqrt(np.mean(residual**2)) < 4 * np.sqrt(HYPER.noise_variance)


def test_a_path_in_single_precision_is_the_same_function():
    p, z = posterior(), points()
    for centre in (None, z[0]):
        double = draw_path(p, np.random.default_rng(4), centre=centre)(z)
        single = draw_path(p, np.random.default_rng(4), dtype=np.float32, centre=centre)(z)
        assert single.dtype == np.float32
        np.testing.assert_allclose(single, double, atol=2e-3)


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-11), (np.float32, 2e-3)])
def test_a_path_on_lines_is_the_path_at_their_points(dtype, tolerance):
    p, rng = posterior(), np.random.default_rng(5)
    origins, directions, t = points(q=4), rng.normal(size=(4, 3)), rng.uniform(-0.7, 0.7, (4, 6))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    path = draw_path(p, rng, dtype=dtype, centre=origins[0])
    got = path.on_lines(origins, directions, t)
    assert got.dtype == dtype
    there = origins[:, None] + t[..., None] * directions[:, None]
    np.testing.assert_allclose(got, path(there.reshape(-1, 3)).reshape(4, 6), atol=tolerance)


def test_a_path_goes_through_noise_free_data_exactly():
    """Without noise every draw interpolates, which fails if prior and update do not fit together."""
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (12, 3))
    p = Posterior.condition(Surrogate(), replace(HYPER, noise_variance=1e-10), x, np.sin(2 * x[:, 0]))
    for seed in range(3):
        path = draw_path(p, np.random.default_rng(seed))
        np.testing.assert_allclose(path(x), p.outputs, atol=1e-4)
