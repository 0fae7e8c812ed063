"""Several functions with one kernel, known noise, and means by least squares: each against one function at a time."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import multivariate_normal

from boids.gp.fit import fit
from boids.gp.likelihood import MarginalLikelihood
from boids.gp.model import Hyperparameters, Surrogate
from boids.gp.paths import draw_path, mean_path
from boids.gp.posterior import BLOCK_ROWS, Posterior
from boids.gp.training import train

SURROGATES = {
    "paper": Surrogate(),
    "rbf": Surrogate(kernel="rbf"),
    "regularised": Surrogate.regularised(),
    "for noise": Surrogate.regularised().for_noise(),
}
HYPER = Hyperparameters(np.array([0.6, 1.2, 2.0]), 1.4, 0.02, 0.2)
KNOWN = {"no known noise": False, "known noise": True}


def data(n=14, count=3, seed=0):
    """Inputs (n, 3), outputs (n, count) of different sizes and means, noise variances (n,) over three decades."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, (n, 3))
    y = np.sin(x @ rng.normal(size=(3, count)) * 2) * rng.uniform(0.3, 2, count) + rng.normal(size=count)
    return x, y, 10 ** rng.uniform(-3, 0, n)


def theta_of(surrogate):
    signal = HYPER.signal_variance if surrogate.signal_variance is None else surrogate.signal_variance
    return surrogate.pack(Hyperparameters(HYPER.lengthscales, signal, HYPER.noise_variance))


def covariance(surrogate, hyper, a, b):
    a, b = a / hyper.lengthscales, b / hyper.lengthscales
    return hyper.signal_variance * surrogate.correlation.value(((a[:, None] - b[None]) ** 2).sum(-1))


# --- the likelihood ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("surrogate", SURROGATES.values(), ids=SURROGATES)
@pytest.mark.parametrize("known", KNOWN.values(), ids=KNOWN)
@pytest.mark.parametrize("mean", [None, 0.3])
def test_likelihoods_of_functions_with_one_kernel_add_up(surrogate, known, mean):
    x, y, v = data()
    noise, theta = v if known else None, theta_of(surrogate)
    together = MarginalLikelihood(surrogate, x, y, noise)(theta, mean)
    alone = [MarginalLikelihood(surrogate, x, column, noise)(theta, mean) for column in y.T]
    assert together.value == pytest.approx(sum(each.value for each in alone), rel=1e-12)
    np.testing.assert_allclose(together.gradient, sum(each.gradient for each in alone), rtol=1e-9, atol=1e-10)
    assert together.mean_gradient == pytest.approx(sum(each.mean_gradient for each in alone), abs=1e-9)
    if mean is None:
        np.testing.assert_allclose(together.mean, [each.mean for each in alone], rtol=1e-12)
        assert together.mean_gradient == pytest.approx(0.0, abs=1e-8)


@pytest.mark.parametrize("surrogate", SURROGATES.values(), ids=SURROGATES)
@pytest.mark.parametrize("count", [None, 1, 3])
@pytest.mark.parametrize("mean", [None, 0.3])
def test_gradient_with_known_noise_agrees_with_finite_differences(surrogate, count, mean):
    x, y, noise = data(count=count or 1)
    likelihood = MarginalLikelihood(surrogate, x, y[:, 0] if count is None else y, noise)
    theta, step = theta_of(surrogate), 1e-6
    got = likelihood(theta, mean)
    for k, e in enumerate(np.eye(len(theta))):
        up, down = (likelihood(theta + sign * step * e, mean).value for sign in (1, -1))
        assert got.gradient[k] == pytest.approx((up - down) / (2 * step), rel=1e-5, abs=1e-6)


def test_value_with_known_noise_is_the_density_of_a_multivariate_normal():
    x, y, noise = data()
    surrogate = Surrogate()
    k = covariance(surrogate, HYPER, x, x) + np.diag(HYPER.noise_variance + noise)
    expected = sum(multivariate_normal(np.full(len(x), 0.3), k).logpdf(column) for column in y.T)
    got = MarginalLikelihood(surrogate, x, y, noise)(surrogate.pack(HYPER), mean=0.3).value
    assert got == pytest.approx(expected, rel=1e-10)


def test_one_column_is_one_function_and_copies_count_as_often_as_they_are():
    x, y, noise = data(count=1)
    surrogate, theta = Surrogate(), theta_of(Surrogate())
    alone = MarginalLikelihood(surrogate, x, y[:, 0], noise)(theta)
    for copies in (1, 4):
        many = MarginalLikelihood(surrogate, x, np.repeat(y, copies, axis=1), noise)(theta)
        assert many.value == pytest.approx(copies * alone.value, rel=1e-12)
        np.testing.assert_allclose(many.gradient, copies * alone.gradient, rtol=1e-9, atol=1e-10)


def test_known_noise_of_one_size_is_the_same_as_that_much_more_noise():
    x, y, _ = data()
    surrogate = Surrogate()
    theta = surrogate.pack(Hyperparameters(HYPER.lengthscales, 1.4, 0.02))
    more = surrogate.pack(Hyperparameters(HYPER.lengthscales, 1.4, 0.05))
    known = MarginalLikelihood(surrogate, x, y, np.full(len(x), 0.03))(theta)
    fitted = MarginalLikelihood(surrogate, x, y)(more)
    assert known.value == pytest.approx(fitted.value, rel=1e-12)
    # d/dlog σ² scales with σ² itself.
    assert known.gradient[-1] == pytest.approx(fitted.gradient[-1] * 0.02 / 0.05, rel=1e-9)
    np.testing.assert_allclose(known.gradient[:-1], fitted.gradient[:-1], rtol=1e-9, atol=1e-10)


def test_a_fit_to_several_functions_is_a_maximum_and_knows_a_mean_for_each():
    x, y, _ = data(n=25)
    surrogate = Surrogate.regularised()
    likelihood = MarginalLikelihood(surrogate, x, y)
    best = fit(likelihood, [surrogate.default_start(3)])
    assert best.mean.shape == (3,)

    def posterior_density(theta):
        return likelihood(theta).value + surrogate.log_prior(theta, 3)[0]

    theta, (low, high) = surrogate.pack(best), surrogate.theta_bounds(3)
    at_best = posterior_density(theta)
    for e in np.eye(len(theta)):
        for step in (-0.05, 0.05):
            assert posterior_density(np.clip(theta + step * e, low, high)) <= at_best + 1e-4


def test_known_noise_explains_scatter_that_the_fit_would_call_noise_of_its_own():
    """Scatter of variance 0.3 on a smooth function: told of it, the fit leaves little of it for σ²."""
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (40, 1))
    y = np.sin(3 * x[:, 0]) + np.sqrt(0.3) * rng.normal(size=40)
    surrogate = Surrogate.regularised().for_noise()
    start = surrogate.default_start(1)
    alone = fit(MarginalLikelihood(surrogate, x, y), [start])
    told = fit(MarginalLikelihood(surrogate, x, y, np.full(40, 0.3)), [start])
    assert alone.noise_variance > 0.15
    assert told.noise_variance < 0.25 * alone.noise_variance


def test_room_for_noise():
    usual = Surrogate.regularised()
    assert usual.for_noise().noise_bounds == (usual.noise_bounds[0], 2.0)
    wide = Surrogate(noise_bounds=(0.1, 5.0))
    assert wide.for_noise() == wide


@pytest.mark.parametrize("training", ["warm", "multistart"])
def test_training_takes_several_functions_and_known_noise(training):
    x, y, noise = data(n=20)
    surrogate = Surrogate.regularised()
    first = train(training, surrogate, x, y, None, 0, 0.02, np.random.default_rng(0), noise)
    again = train(training, surrogate, x, y, first, 15, 0.02, np.random.default_rng(1), noise)
    for hyper in (first, again):
        assert hyper.mean.shape == (3,)
        value = MarginalLikelihood(surrogate, x, y, noise)(surrogate.pack(hyper))
        np.testing.assert_allclose(value.mean, hyper.mean, rtol=1e-9)


# --- the posterior ------------------------------------------------------------------------------------------------


@settings(max_examples=25)
@given(st.integers(1, 5), st.integers(2, 12), st.booleans(), st.booleans(), st.integers(0, 2**32))
def test_a_posterior_of_several_functions_is_as_many_posteriors(count, n, known, refit, seed):
    x, y, v = data(n, count, seed)
    noise, z = v if known else None, np.random.default_rng(seed).uniform(-1, 1, (7, 3))
    together = Posterior.condition(Surrogate(), HYPER, x, y, noise, refit)
    means, variances = together.predict(z)
    assert means.shape == (7, count)
    for j, column in enumerate(y.T):
        alone = Posterior.condition(Surrogate(), HYPER, x, column, noise, refit)
        mean, variance = alone.predict(z)
        np.testing.assert_allclose(means[:, j], mean, rtol=1e-9, atol=1e-10)
        np.testing.assert_allclose(variances, variance, rtol=1e-9, atol=1e-10)
        np.testing.assert_allclose(together.leave_one_out()[:, j], alone.leave_one_out(), rtol=1e-8, atol=1e-9)


def test_prediction_with_known_noise_agrees_with_dense_algebra():
    x, y, noise = data()
    z = np.random.default_rng(1).uniform(-1, 1, (9, 3))
    surrogate = Surrogate()
    inverse = np.linalg.inv(covariance(surrogate, HYPER, x, x) + np.diag(HYPER.noise_variance + noise))
    cross = covariance(surrogate, HYPER, z, x)
    mean, variance = Posterior.condition(surrogate, HYPER, x, y, noise).predict(z)
    np.testing.assert_allclose(mean, 0.2 + cross @ inverse @ (y - 0.2), rtol=1e-9)
    np.testing.assert_allclose(variance, 1.4 - np.einsum("ij,jk,ik->i", cross, inverse, cross), rtol=1e-8)


def test_refitted_means_are_the_likeliest_ones():
    x, y, noise = data()
    surrogate = Surrogate()
    got = Posterior.condition(surrogate, HYPER, x, y, noise, refit_mean=True).hyper.mean
    likelihood = MarginalLikelihood(surrogate, x, y, noise)(surrogate.pack(HYPER))
    np.testing.assert_allclose(got, likelihood.mean, rtol=1e-10)
    kept = Posterior.condition(surrogate, HYPER, x, y, noise)
    assert kept.hyper is HYPER


def test_a_far_noisier_observation_is_believed_less():
    x = np.array([[0.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    y = np.array([1.0, -1.0])
    posterior = Posterior.condition(Surrogate(), HYPER, x, y, np.array([0.0, 10.0]))
    assert posterior.predict(x[:1])[0][0] > 0.9


@pytest.mark.parametrize("known", KNOWN.values(), ids=KNOWN)
@pytest.mark.parametrize("count", [None, 4])
def test_leave_one_out_is_what_leaving_one_out_gives(known, count):
    x, y, v = data(count=count or 1)
    y, noise = y[:, 0] if count is None else y, v if known else None
    posterior = Posterior.condition(Surrogate(), HYPER, x, y, noise, refit_mean=True)
    got = posterior.leave_one_out()
    assert got.shape == y.shape
    for i in range(len(x)):
        rest = np.arange(len(x)) != i
        others = Posterior.condition(
            Surrogate(), posterior.hyper, x[rest], y[rest], None if noise is None else noise[rest]
        )
        np.testing.assert_allclose(got[i], y[i] - others.predict(x[i : i + 1])[0][0], rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("known", KNOWN.values(), ids=KNOWN)
def test_fantasies_keep_all_means_and_the_known_noise(known):
    x, y, v = data()
    posterior = Posterior.condition(Surrogate(), HYPER, x, y, v if known else None)
    rng = np.random.default_rng(3)
    z, grid = rng.uniform(-1, 1, (2, 3)), rng.uniform(-1, 1, (20, 3))
    fantasy = posterior.fantasise(z)
    np.testing.assert_allclose(fantasy.predict(grid)[0], posterior.predict(grid)[0], atol=1e-9)
    assert np.all(fantasy.predict(z)[1] < HYPER.noise_variance)
    if known:
        np.testing.assert_array_equal(fantasy.known_noise, [*v, 0.0, 0.0])
    else:
        assert fantasy.known_noise is None


# --- the mean as a path --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [None, 1, 4])
@pytest.mark.parametrize("centred", [False, True])
@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-10), (np.float32, 1e-3)])
def test_the_mean_path_is_the_mean_on_points_and_on_lines(count, centred, dtype, tolerance):
    x, y, noise = data(count=count or 1)
    posterior = Posterior.condition(
        Surrogate(), HYPER, x, y[:, 0] if count is None else y, noise, refit_mean=count is not None
    )
    rng = np.random.default_rng(5)
    z = rng.uniform(-1, 1, (BLOCK_ROWS + 7, 3))
    path = mean_path(posterior, dtype, z[0] if centred else None)
    got = path(z)
    assert got.dtype == dtype
    np.testing.assert_allclose(got, posterior.predict(z)[0], atol=tolerance)

    origins, directions, t = z[:4], rng.normal(size=(4, 3)), rng.uniform(-0.7, 0.7, (4, 6))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    there = (origins[:, None] + t[..., None] * directions[:, None]).reshape(-1, 3)
    on_lines = path.on_lines(origins, directions, t)
    assert on_lines.shape == ((4, 6) if count is None else (4, 6, count))
    expected = posterior.predict(there)[0]
    np.testing.assert_allclose(on_lines.reshape(expected.shape), expected, atol=tolerance)


def test_draws_scatter_as_much_as_the_known_noise_leaves_open():
    """At a datum of known noise 1 the posterior variance is far larger than at one without; 1500 draws each, whose
    variances lie within 6 standard errors √(2/1500) of the posterior's (false-alarm rate below 1e-8)."""
    rng = np.random.default_rng(0)
    x = np.array([[-1.0, 0.0, 0.0], [1.0, 0.0, 0.0]])
    posterior = Posterior.condition(Surrogate(), HYPER, x, np.zeros(2), np.array([0.0, 1.0]))
    _, variance = posterior.predict(x)
    draws = np.array([draw_path(posterior, rng, features=128)(x) for _ in range(1500)])
    assert variance[1] > 20 * variance[0]
    np.testing.assert_allclose(draws.var(axis=0), variance, rtol=6 * np.sqrt(2 / 1500))
