"""Hyper-parameters by NUTS: the density against dense algebra, padding, compilations, manners."""

import math
import sys
from functools import cache

import numpy as np
import pytest

from boids.errors import MissingExtra
from boids.gp import sparse_axes
from boids.gp.kernels import KERNELS
from boids.gp.sparse_axes import JITTER, Chain, draw, log_density, padded, require_numpyro

jax = pytest.importorskip("jax")
pytest.importorskip("numpyro")

TINY = Chain(warmup=10, samples=4, thinning=2, max_tree_depth=2)


def data(n=11, dim=4, seed=0):
    rng = np.random.default_rng(seed)
    inputs = rng.uniform(-1, 1, (n, dim))
    outputs = np.sin(4 * inputs[:, 0]) + 0.1 * rng.standard_normal(n)
    return inputs, (outputs - outputs.mean()) / outputs.std(), rng.uniform(0, 0.3, n)


def dense(theta, inputs, outputs, known, kernel, free_noise, alpha, noise=1e-6):
    """log p(y, θ) from the definitions, in the unit box; distributions of the logarithms with their Jacobians."""
    from scipy.stats import halfcauchy, norm

    dim = inputs.shape[1]
    x = (inputs + 1) / 2
    signal, tau, h = math.exp(theta[0]), math.exp(theta[1]), np.exp(theta[2 : 2 + dim])
    q = (tau * h * (x[:, None] - x[None]) ** 2).sum(axis=2)
    noise = math.exp(theta[-1]) if free_noise else noise
    covariance = signal * KERNELS[kernel].value(q) + np.diag(noise + JITTER + known)
    value = -0.5 * outputs @ np.linalg.solve(covariance, outputs) - 0.5 * np.linalg.slogdet(covariance)[1]
    value += norm.logpdf(theta[0], scale=10) + halfcauchy.logpdf(tau, scale=alpha) + theta[1]
    value += (halfcauchy.logpdf(h) + theta[2 : 2 + dim]).sum()
    return value + norm.logpdf(theta[-1], scale=10) * free_noise


@cache
def compiled(kernel, free_noise):
    return jax.jit(lambda theta, rows: log_density(theta, rows, kernel, free_noise))


def evaluate(theta, inputs, outputs, known, padding, kernel="rbf", free_noise=False, alpha=0.3):
    rows = padded(inputs, outputs, 0.0 if free_noise else 1e-6, known, alpha, padding)
    with sparse_axes._apart(len(rows.outputs)):
        value, gradient = compiled(kernel, free_noise)(theta, rows)
        return float(value), np.asarray(gradient)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("free_noise", [False, True])
def test_density_and_gradient_are_those_of_the_unpadded_data(kernel, free_noise):
    inputs, outputs, known = data()
    rng = np.random.default_rng(1)
    first, second = rng.uniform(-1.5, 1.5, (2, 6 + free_noise))
    arguments = inputs, outputs, known, kernel, free_noise, 0.3
    wanted = dense(first, *arguments) - dense(second, *arguments)  # up to a constant
    step = 1e-5
    moves = step * np.eye(len(first))
    slope = [(dense(first + each, *arguments) - dense(first - each, *arguments)) / (2 * step) for each in moves]
    exact = evaluate(first, inputs, outputs, known, 1, kernel, free_noise)
    for padding in (1, 16, 80):  # no padding, some, and enough for inverses by blocks
        value, gradient = evaluate(first, inputs, outputs, known, padding, kernel, free_noise)
        other, _ = evaluate(second, inputs, outputs, known, padding, kernel, free_noise)
        assert value - other == pytest.approx(wanted, rel=1e-9)
        np.testing.assert_allclose(gradient, slope, rtol=1e-5, atol=1e-6)
        assert value == pytest.approx(exact[0], rel=1e-12)
        np.testing.assert_allclose(gradient, exact[1], rtol=1e-10, atol=1e-12)


def test_inverses_by_blocks():
    a = np.random.default_rng(0).standard_normal((100, 130))
    factor = np.linalg.cholesky(a @ a.T)
    with sparse_axes._apart(100):
        inverse, full = map(np.asarray, sparse_axes._inverses(jax.numpy.asarray(factor)))
    np.testing.assert_allclose(inverse, np.linalg.inv(factor), atol=1e-10)
    np.testing.assert_allclose(full, np.linalg.inv(a @ a.T), atol=1e-10)


def test_growing_data_do_not_compile_again(monkeypatch):
    traced = []

    def counting(*arguments):
        traced.append(arguments)
        return log_density(*arguments)

    monkeypatch.setattr(sparse_axes, "log_density", counting)
    sparse_axes._sampler.cache_clear()
    inputs, outputs, known = data(40)
    draw(TINY, inputs[:5], outputs[:5])
    once = len(traced)
    assert once > 0
    for n in (6, 9, 16):
        draw(TINY, inputs[:n], outputs[:n], known_noise=known[:n], alpha=0.01, seed=n)
    assert len(traced) == once
    draw(TINY, inputs[:17], outputs[:17])
    assert len(traced) == 2 * once
    draw(TINY, inputs[:16], outputs[:16])  # the smaller one is still there
    assert len(traced) == 2 * once
    sparse_axes._sampler.cache_clear()


def test_draws_and_seeds():
    inputs, outputs, _ = data()
    one, same, other = (draw(TINY, inputs, outputs, seed=seed)[0] for seed in (1, 1, 2))
    assert len(one) == 2
    assert one.lengthscales.shape == (2, 4)
    assert all(part.dtype == np.float64 for part in (one.lengthscales, one.signal_variances, one.noise_variances))
    np.testing.assert_array_equal(one.lengthscales, same.lengthscales)
    assert (one.lengthscales != other.lengthscales).any()
    np.testing.assert_allclose(one.noise_variances, 1e-6 + JITTER)


def test_the_denser_of_two_chains_is_taken():
    """A chain without warm-up stays about where it starts: far off, it must lose against a good start and win never."""
    rng = np.random.default_rng(0)
    inputs = rng.uniform(-1, 1, (12, 4))
    outputs = np.sin(3.0 * inputs[:, 1])
    outputs = (outputs - outputs.mean()) / outputs.std()
    lazy = Chain(warmup=1, samples=2, thinning=1, max_tree_depth=1)
    good = draw(Chain(), inputs, outputs)[1]
    alone, _ = draw(lazy, inputs, outputs, seed=3)
    helped, _ = draw(lazy, inputs, outputs, seed=3, last=good)
    constant = np.array([0.0, -30.0, 0.0, 0.0, 0.0, 0.0])  # no input matters: these data are out of the question
    hindered, _ = draw(lazy, inputs, outputs, seed=3, last=constant)
    assert (helped.lengthscales != alone.lengthscales).any()
    assert helped.lengthscales[0, 1] < helped.lengthscales[0, [0, 2, 3]].min()
    np.testing.assert_array_equal(hindered.lengthscales, alone.lengthscales)


def test_the_users_jax_stays_as_it_is(capfd):
    inputs, outputs, _ = data()
    before = jax.numpy.zeros(2)
    draw(TINY, inputs, outputs)
    assert not jax.config.jax_enable_x64
    assert (before + 1.0).dtype == jax.numpy.zeros(1).dtype == np.float32
    with jax.debug_nans(True):  # trajectories that leave the finite numbers are no error
        draw(TINY, np.vstack([inputs] * 2), np.append(outputs, -outputs), noise_variance=0.0)
    assert capfd.readouterr() == ("", "")


def test_worthless_data_leave_the_priors():
    """log ρ_i = log τ + log h_i has the median log α, and log s² the median 0 and the deviation 10."""
    chain = Chain(warmup=500, samples=3000, thinning=5)
    draws, _ = draw(chain, np.zeros((1, 3)), np.zeros(1), alpha=0.05, known_noise=np.full(1, 1e30))
    log_rho = np.log(4.0 / draws.lengthscales**2)
    assert np.median(log_rho, axis=0) == pytest.approx(math.log(0.05), abs=0.5)
    log_signal = np.log(draws.signal_variances)
    assert abs(np.median(log_signal)) < 2.5
    assert np.std(log_signal) == pytest.approx(10.0, rel=0.2)


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_sine_of_one_input_among_four(kernel):
    rng = np.random.default_rng(0)
    inputs = rng.uniform(-1, 1, (10, 4))
    outputs = np.sin(3.0 * inputs[:, 1])
    draws, _ = draw(Chain(kernel=kernel), inputs, (outputs - outputs.mean()) / outputs.std())
    assert len(draws) == 16
    lengthscales = np.median(draws.lengthscales, axis=0)
    assert lengthscales[1] * 5 < np.delete(lengthscales, 1).min()


def test_noise_is_found():
    rng = np.random.default_rng(0)
    inputs = rng.uniform(-1, 1, (30, 2))
    outputs = np.sin(3.0 * inputs[:, 1]) + 0.5 * rng.standard_normal(30)
    scale = outputs.std()
    draws, _ = draw(Chain(free_noise=True, padding=32), inputs, (outputs - outputs.mean()) / scale)
    assert 0.05 < np.median(draws.noise_variances) * scale**2 < 0.6


def test_what_is_missing_is_said(monkeypatch):
    require_numpyro()
    monkeypatch.setitem(sys.modules, "numpyro", None)
    with pytest.raises(MissingExtra, match=r"needs NumPyro; run `pip install 'boids-opt\[saasbo\]'`"):
        require_numpyro()
