import numpy as np
import pytest

from boids.gp.joint import joint_draw, lanczos_root
from boids.gp.model import Hyperparameters, Surrogate
from boids.gp.posterior import Posterior


def process(dim, n=15, noise=0.01, lengthscale=0.5, seed=0):
    rng = np.random.default_rng(seed)
    inputs = rng.uniform(-1.0, 1.0, (n, dim))
    hyper = Hyperparameters(np.full(dim, lengthscale), 1.0, noise, 0.1)
    return Posterior.condition(Surrogate(), hyper, inputs, np.sin(3.0 * inputs[:, 0]))


@pytest.mark.parametrize("sampler", ["auto", "exact", "pathwise"])
@pytest.mark.parametrize("with_noise", [False, True])
def test_draws_have_the_moments_of_the_posterior(sampler, with_noise):
    posterior = process(2)
    points = np.random.default_rng(1).uniform(-1.0, 1.0, (40, 2))
    mean, variance = posterior.predict(points)
    rng = np.random.default_rng(2)
    draws = np.array([joint_draw(posterior, points, rng, sampler, with_noise=with_noise) for _ in range(800)])
    variance = variance + (0.01 if with_noise else 0.0)
    error = np.abs(draws.mean(axis=0) - mean) / np.sqrt(variance / 800)
    assert error.max() < 4.5  # 40 normal numbers: false alarm below 3e-4
    # a variance of 800 draws has the relative standard error √(2/800) = 0.05; a path's features add some
    assert np.abs(draws.var(axis=0) / variance - 1.0).max() < 0.3
    # neighbours move together
    near = np.argsort(((points - points[0]) ** 2).sum(axis=1))[1]
    scaled = points[[0, near]] / 0.5
    assert np.linalg.norm(scaled[0] - scaled[1]) < 1.0
    assert np.corrcoef(draws[:, 0], draws[:, near])[0, 1] > 0.2


def test_the_covariance_of_exact_draws():
    posterior = process(1, n=4)
    points = np.array([[-0.9], [-0.85], [0.4]])
    rng = np.random.default_rng(0)
    draws = np.array([joint_draw(posterior, points, rng, "exact") for _ in range(4000)])
    k = posterior.surrogate.correlation.value
    between = k((points - points.T) ** 2 / 0.25)
    cross = k((points - posterior.inputs.T) ** 2 / 0.25)
    gram = k((posterior.inputs - posterior.inputs.T) ** 2 / 0.25) + 0.01 * np.eye(4)
    expected = between - cross @ np.linalg.solve(gram, cross.T)
    np.testing.assert_allclose(np.cov(draws.T), expected, atol=0.05)


def test_the_root_of_full_rank_is_exact():
    rng = np.random.default_rng(0)
    half = rng.standard_normal((30, 30))
    matrix = half @ half.T
    root = lanczos_root(matrix, 30, rng)
    np.testing.assert_allclose(root @ root.T, matrix, atol=1e-8 * np.trace(matrix))


def test_a_matrix_of_few_directions_ends_early():
    rng = np.random.default_rng(0)
    half = rng.standard_normal((50, 3))
    root = lanczos_root(half @ half.T, 20, rng)
    assert root.shape[1] <= 6
    np.testing.assert_allclose(root @ root.T, half @ half.T, atol=1e-6)


def test_low_rank_loses_the_variance_that_the_originals_lose():
    # 400 points in [-1, 1]^20, length scale 0.5: they are hardly correlated, and rank 100 keeps a quarter.
    posterior = process(20, n=200, noise=5e-4)
    points = np.random.default_rng(1).uniform(-1.0, 1.0, (400, 20))
    _, variance = posterior.predict(points)
    k = posterior.surrogate.correlation.value
    scaled, inputs = points / 0.5, posterior.inputs / 0.5
    cross = k(((scaled[:, None] - inputs[None]) ** 2).sum(axis=2))
    gram = k(((inputs[:, None] - inputs[None]) ** 2).sum(axis=2)) + 5e-4 * np.eye(200)
    matrix = k(((scaled[:, None] - scaled[None]) ** 2).sum(axis=2)) - cross @ np.linalg.solve(gram, cross.T)
    root = lanczos_root(matrix, 100, np.random.default_rng(0))
    ratio = (root**2).sum() / 400 / variance.mean()
    assert 0.2 < ratio < 0.35


def test_the_low_rank_sampler_is_exact_for_few_and_finite_for_many():
    posterior = process(3)
    few = np.random.default_rng(1).uniform(-1.0, 1.0, (50, 3))
    seeds = [np.random.default_rng(5) for _ in range(2)]
    np.testing.assert_array_equal(
        joint_draw(posterior, few, seeds[0], "lowrank-100"), joint_draw(posterior, few, seeds[1], "exact")
    )
    many = np.random.default_rng(1).uniform(-1.0, 1.0, (2001, 3))
    draw = joint_draw(posterior, many, np.random.default_rng(0), "lowrank-100", with_noise=True)
    assert draw.shape == (2001,)
    assert np.isfinite(draw).all()
    # in three dimensions a hundred directions are nearly all there are
    mean, variance = posterior.predict(many)
    assert 0.5 < np.mean((draw - mean) ** 2) / np.mean(variance) < 2.0
