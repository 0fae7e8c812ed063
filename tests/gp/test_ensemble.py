"""Several models on the same data: against single posteriors, dense algebra and finite differences."""

import numpy as np
import pytest

from boids.gp.ensemble import Draws, Ensemble
from boids.gp.kernels import KERNELS
from boids.gp.model import Hyperparameters, Surrogate
from boids.gp.posterior import Posterior

N, D, S = 9, 3, 4


def make(kernel="rbf", known=None, **options):
    rng = np.random.default_rng(3)
    draws = Draws(
        lengthscales=rng.uniform(0.3, 3.0, (S, D)),
        signal_variances=rng.uniform(0.5, 4.0, S),
        noise_variances=rng.uniform(1e-4, 1e-2, S),
    )
    inputs, outputs = rng.uniform(-1, 1, (N, D)), rng.standard_normal(N)
    return Ensemble.condition(KERNELS[kernel], draws, inputs, outputs, known, **options)


def single(ensemble, s, kernel, known=None):
    draws = ensemble.draws
    hyper = Hyperparameters(draws.lengthscales[s], draws.signal_variances[s], draws.noise_variances[s])
    surrogate = Surrogate(kernel=kernel)
    return Posterior.condition(surrogate, hyper, ensemble.inputs, ensemble.outputs[s], known)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("known", [None, np.linspace(0.0, 0.5, N)])
def test_every_model_is_a_posterior(kernel, known):
    ensemble = make(kernel, known)
    points = np.random.default_rng(4).uniform(-1, 1, (300, D))  # more than a block
    means, variances = ensemble.predict(points)
    assert means.shape == variances.shape == (S, 300)
    for s in range(S):
        mean, variance = single(ensemble, s, kernel, known).predict(points)
        np.testing.assert_allclose(means[s], mean, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(variances[s], variance, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("kernel", KERNELS)
def test_slopes_are_the_differences(kernel):
    ensemble = make(kernel)
    points = np.random.default_rng(5).uniform(-1, 1, (2, D))
    means, variances, mean_slopes, variance_slopes = ensemble.slopes(points)
    np.testing.assert_allclose((means, variances), ensemble.predict(points), rtol=1e-12)
    step = 1e-6
    for i in range(D):
        moved = step * np.eye(D)[i]
        above, below = ensemble.predict(points + moved), ensemble.predict(points - moved)
        np.testing.assert_allclose(mean_slopes[:, :, i], (above[0] - below[0]) / (2 * step), rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(variance_slopes[:, :, i], (above[1] - below[1]) / (2 * step), rtol=1e-5, atol=1e-6)


def test_fantasies_are_each_models_own():
    ensemble = make()
    points = np.random.default_rng(6).uniform(-1, 1, (2, D))
    means, variances = ensemble.predict(points)
    assert np.ptp(means, axis=0).min() > 0.01
    told = ensemble.fantasise(points)
    again, less = told.predict(points)
    np.testing.assert_allclose(again, means, atol=1e-9)
    assert (less < variances).all()
    for s in range(S):
        mean, variance = single(ensemble, s, "rbf").fantasise(points).predict(np.zeros((1, D)))
        np.testing.assert_allclose([told.predict(np.zeros((1, D)))[k][s] for k in (0, 1)], (mean, variance), rtol=1e-8)
    assert ensemble.fantasise(np.empty((0, D))) is ensemble


def test_the_noise_can_be_part_of_the_variance():
    plain, noisy = make(), make(with_noise=True)
    points = np.random.default_rng(7).uniform(-1, 1, (5, D))
    added = noisy.predict(points)[1] - plain.predict(points)[1]
    np.testing.assert_allclose(added, np.broadcast_to(plain.draws.noise_variances[:, None], (S, 5)))
    assert (noisy.fantasise(points).predict(points)[1] > plain.draws.noise_variances[:, None]).all()


def test_two_equal_points_and_no_noise():
    draws = Draws(np.ones((1, 2)), np.ones(1), np.zeros(1))
    ensemble = Ensemble.condition(KERNELS["rbf"], draws, np.zeros((2, 2)), np.ones(2))
    mean, variance = ensemble.predict(np.zeros((1, 2)))
    assert mean[0, 0] == pytest.approx(1.0, abs=1e-3)
    assert 0.0 < variance[0, 0] < 1e-3
