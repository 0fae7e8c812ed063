"""The kernel of ALEBO, its fit and the average over kernels."""

import math

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from scipy.stats import multivariate_normal, ortho_group

from boids.gp.kernels import RBF
from boids.gp.mahalanobis import (
    LEAST_NOISE,
    MahalanobisFit,
    MahalanobisLikelihood,
    entries,
    fit_mahalanobis,
    laplace_deviations,
    triangle,
)
from boids.gp.mixture import Mixture, matched
from boids.gp.model import Hyperparameters, Surrogate
from boids.gp.posterior import Posterior


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    inputs = rng.standard_normal((14, 3))
    return inputs, np.sin(inputs @ np.array([1.0, 0.5, 0.0])), 0.01 + 0.05 * rng.random(14)


def kernel(inputs, u, signal=1.0):
    difference = inputs[:, None, :] - inputs[None, :, :]
    return signal * np.exp(-0.5 * np.einsum("ijk,kl,ijl->ij", difference, u.T @ u, difference))


def test_the_likelihood_is_that_of_the_dense_algebra(data):
    inputs, outputs, noise = data
    u = np.triu(np.random.default_rng(1).standard_normal((3, 3)))
    likelihood = MahalanobisLikelihood(inputs, outputs, noise, free_noise=True)
    value, _, mean = likelihood(likelihood.theta(u, 1.7, 0.02))
    covariance = kernel(inputs, u, 1.7) + np.diag(noise + 0.02)
    assert 14 * value == pytest.approx(multivariate_normal(np.full(14, mean), covariance).logpdf(outputs))
    precision = np.linalg.inv(covariance)
    assert mean == pytest.approx(precision.sum(axis=0) @ outputs / precision.sum())


@pytest.mark.parametrize("free", [True, False])
def test_the_gradient(data, free):
    inputs, outputs, noise = data
    u = np.triu(np.random.default_rng(2).standard_normal((3, 3)))
    likelihood = MahalanobisLikelihood(inputs, outputs, noise, free_noise=free)
    theta = likelihood.theta(u, 0.8, 0.05)
    assert len(theta) == 6 + 1 + free
    numeric = approx_fprime(theta, lambda t: likelihood(t)[0], 1e-7)
    np.testing.assert_allclose(likelihood(theta)[1], numeric, rtol=1e-4, atol=1e-6)


def test_the_kernel_is_positive_and_does_not_see_rotations_of_u(data):
    inputs, outputs, noise = data
    u = np.triu(np.random.default_rng(3).standard_normal((3, 3)))
    rotated = ortho_group.rvs(3, random_state=np.random.default_rng(4)) @ u
    np.testing.assert_allclose(kernel(inputs, u), kernel(inputs, rotated), atol=1e-12)
    assert np.linalg.eigvalsh(kernel(inputs, u)).min() > -1e-12
    points = np.random.default_rng(5).standard_normal((5, 3))
    one, other = (Mixture.condition(t[None], inputs, outputs, noise, 0.1, 1.3)(points) for t in (u, rotated))
    np.testing.assert_allclose(one, other, rtol=1e-9)


def test_a_diagonal_triangle_is_a_kernel_with_length_scales(data):
    inputs, outputs, _ = data
    lengthscales = np.array([0.5, 1.0, 2.0])
    posterior = Posterior.condition(
        Surrogate(kernel=RBF.name), Hyperparameters(lengthscales, 1.3, 0.01, 0.2), inputs, outputs
    )
    single = Mixture.condition(np.diag(1 / lengthscales)[None], inputs, outputs, np.full(14, 0.01), 0.2, 1.3)
    points = np.random.default_rng(6).standard_normal((300, 3))  # more than one block
    np.testing.assert_allclose(single(points), posterior.predict(points), rtol=1e-8, atol=1e-10)
    mean, variance, mean_slope, variance_slope = single.slopes(points[:4])
    np.testing.assert_allclose((mean, variance), posterior.predict(points[:4]), rtol=1e-8)
    np.testing.assert_allclose(mean_slope, posterior.mean_gradient(points[:4]), rtol=1e-7, atol=1e-10)
    np.testing.assert_allclose(variance_slope, posterior.variance_gradient(points[:4]), rtol=1e-7, atol=1e-10)


def test_the_moments_of_a_mixture():
    means, variances = np.array([[0.0, 1.0], [2.0, 1.0]]), np.array([[1.0, 0.5], [3.0, 0.5]])
    mean, variance = matched(means, variances)
    np.testing.assert_allclose(mean, [1.0, 1.0])
    np.testing.assert_allclose(variance, (variances + means**2).mean(axis=0) - mean**2)


def test_the_slopes_of_a_mixture(data):
    inputs, outputs, noise = data
    triangles = np.triu(np.random.default_rng(7).standard_normal((5, 3, 3)))
    mixture = Mixture.condition(triangles, inputs, outputs, noise, 0.1, 1.3)
    points = np.random.default_rng(8).standard_normal((3, 3))
    mean, variance, mean_slope, variance_slope = mixture.slopes(points)
    np.testing.assert_allclose((mean, variance), mixture(points), rtol=1e-10)
    singles = [Mixture.condition(t[None], inputs, outputs, noise, 0.1, 1.3)(points) for t in triangles]
    expected = matched(*(np.array(each) for each in zip(*singles, strict=True)))
    np.testing.assert_allclose((mean, variance), expected, rtol=1e-10)
    for i, point in enumerate(points):
        for which, slope in ((0, mean_slope), (1, variance_slope)):
            numeric = approx_fprime(point, lambda p, which=which: mixture(p[None, :])[which][0], 1e-7)
            np.testing.assert_allclose(slope[i], numeric, rtol=1e-4, atol=1e-6)


def test_a_fit_finds_the_direction_that_matters():
    rng = np.random.default_rng(9)
    inputs = rng.uniform(-1, 1, (40, 3))
    direction = np.array([0.6, 0.8, 0.0])
    outputs = np.sin(3.0 * inputs @ direction)
    likelihood = MahalanobisLikelihood(inputs, outputs)
    fit = fit_mahalanobis(likelihood, [likelihood.theta(np.eye(3))], 300)
    u = triangle(fit.entries, fit.dim)
    weights, axes = np.linalg.eigh(u.T @ u)
    assert abs(axes[:, -1] @ direction) > 0.99
    assert weights[-1] > 20 * weights[-2]
    assert fit.noise_variance == LEAST_NOISE


def test_the_laplace_approximation(data):
    inputs, outputs, noise = data
    likelihood = MahalanobisLikelihood(inputs, outputs, noise)
    wide = fit_mahalanobis(likelihood, [likelihood.theta(np.eye(3))], 100)
    full = fit_mahalanobis(likelihood, [likelihood.theta(np.eye(3))], 100, full_laplace=True)
    np.testing.assert_allclose(wide.deviations, math.sqrt(14) * full.deviations)
    assert (wide.deviations > 0).all()
    assert wide.deviations.max() <= 1 / math.sqrt(1e-3)
    theta = likelihood.theta(triangle(wide.entries, 3), wide.signal_variance)
    # the second difference of the value itself
    for i in range(6):
        step = np.zeros_like(theta)
        step[i] = 1e-3
        second = (likelihood(theta + step)[0] - 2 * likelihood(theta)[0] + likelihood(theta - step)[0]) / 1e-6
        expected = 1 / math.sqrt(abs(second - 1e-3))
        assert laplace_deviations(likelihood, theta)[i] == pytest.approx(expected, rel=0.05)


def test_samples_begin_with_the_fit_and_spread_as_they_should():
    fit = MahalanobisFit(np.arange(6.0), 1.0, 1e-7, 0.0, np.array([0.0, 0.1, 0.2, 0.3, 0.4, 0.5]))
    assert fit.dim == 3
    samples = fit.samples(4000, np.random.default_rng(10))
    np.testing.assert_array_equal(samples[0], [[0, 1, 2], [0, 3, 4], [0, 0, 5]])
    drawn = samples[1:][(slice(None), *entries(3))]
    np.testing.assert_allclose(drawn.std(axis=0), fit.deviations, rtol=0.06)
    assert not samples[:, 1, 0].any()
    assert fit.samples(1, np.random.default_rng(0)).shape == (1, 3, 3)
