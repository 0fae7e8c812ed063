import numpy as np
import pytest

from boids.gp.likelihood import MarginalLikelihood
from boids.gp.model import Hyperparameters, Surrogate
from boids.gp.posterior import Posterior
from boids.gp.slopes import Slopes
from boids.gp.zero_mean import fit_zero_mean


@pytest.fixture(params=["matern52", "rbf"])
def posterior(request):
    rng = np.random.default_rng(0)
    inputs = rng.uniform(-1, 1, (12, 4))
    hyper = Hyperparameters(np.array([0.5, 1.0, 2.0, 0.8]), 1.7, 0.01, 0.3)
    return Posterior.condition(Surrogate(kernel=request.param), hyper, inputs, np.sin(3 * inputs).sum(axis=1))


def test_moments_and_gradients_are_those_of_the_posterior(posterior):
    points = np.random.default_rng(1).uniform(-1, 1, (6, 4))
    mean, variance, mean_slope, variance_slope = Slopes.of(posterior)(points)
    expected_mean, expected_variance = posterior.predict(points)
    np.testing.assert_allclose(mean, expected_mean, rtol=1e-10)
    np.testing.assert_allclose(variance, expected_variance, rtol=1e-9)
    np.testing.assert_allclose(mean_slope, posterior.mean_gradient(points), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(variance_slope, posterior.variance_gradient(points), rtol=1e-8, atol=1e-11)


def test_a_single_point_is_as_good_as_many(posterior):
    points = np.random.default_rng(2).uniform(-1, 1, (3, 4))
    slopes = Slopes.of(posterior)
    together = slopes(points)
    for i, point in enumerate(points):
        for one, all_of_them in zip(slopes(point[None, :]), together, strict=True):
            np.testing.assert_allclose(one[0], all_of_them[i], rtol=1e-10)


def test_a_fit_with_mean_zero_climbs_and_depends_on_the_scale():
    rng = np.random.default_rng(3)
    inputs = rng.uniform(-1, 1, (20, 2))
    outputs = 50.0 * np.sin(2 * inputs[:, 0])
    surrogate = Surrogate(lengthscale_bounds=(1e-4, 1e6), signal_bounds=(1e-8, 1e12), noise_bounds=(1e-10, 1e12))
    likelihood = MarginalLikelihood(surrogate, inputs, outputs)
    start = Hyperparameters(np.ones(2), 1.0, 1e-3)
    fitted = fit_zero_mean(likelihood, start)
    before, after = (likelihood(surrogate.pack(hyper), mean=0.0).value for hyper in (start, fitted))
    assert after > before
    assert fitted.mean == 0.0
    assert fitted.signal_variance > 100.0
    assert fitted.lengthscales[1] > 3.0 * fitted.lengthscales[0]  # the second input does nothing
