import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import multivariate_normal, zscore
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern, WhiteKernel

from boids.errors import MethodError
from boids.gp.fit import fit
from boids.gp.likelihood import MarginalLikelihood
from boids.gp.model import Hyperparameters, Surrogate, lengthscale_prior

CONFIGURATIONS = {
    "paper": Surrogate(),
    "rbf": Surrogate(kernel="rbf"),
    "fixed signal": Surrogate(signal_variance=1.3),
    "modern": Surrogate.modern(),
    "regularised": Surrogate.regularised(),
    "drawn together": Surrogate(lengthscale_spread=0.7),
}


def data(n=15, dim=4, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, (n, dim))
    return x, np.sin(3 * x[:, 0]) + x[:, 1] ** 2 + 0.1 * rng.normal(size=n)


def hyper(surrogate, dim=4):
    signal = surrogate.signal_variance or 1.7
    return Hyperparameters(np.array([0.4, 0.9, 1.5, 3.0])[:dim], signal, 0.02, 0.3)


@pytest.mark.parametrize("surrogate", CONFIGURATIONS.values(), ids=CONFIGURATIONS)
def test_value_is_the_density_of_a_multivariate_normal(surrogate):
    x, y = data()
    h = hyper(surrogate)
    a = x / h.lengthscales
    q = ((a[:, None] - a[None]) ** 2).sum(-1)
    k = h.signal_variance * surrogate.correlation.value(q) + h.noise_variance * np.eye(len(x))
    got = MarginalLikelihood(surrogate, x, y)(surrogate.pack(h), mean=0.3).value
    assert got == pytest.approx(multivariate_normal(np.full(len(x), 0.3), k).logpdf(y), rel=1e-10)


@pytest.mark.parametrize("name", ["paper", "rbf"])
def test_value_and_gradient_agree_with_scikit_learn(name):
    x, y = data()
    surrogate = CONFIGURATIONS[name]
    h = hyper(surrogate)
    base = Matern(length_scale=h.lengthscales, nu=2.5) if name == "paper" else RBF(length_scale=h.lengthscales)
    kernel = ConstantKernel(h.signal_variance) * base + WhiteKernel(h.noise_variance)
    oracle = GaussianProcessRegressor(kernel=kernel, optimizer=None, alpha=0.0).fit(x, y)
    value, gradient = oracle.log_marginal_likelihood(kernel.theta, eval_gradient=True)
    got = MarginalLikelihood(surrogate, x, y)(surrogate.pack(h), mean=0.0)
    assert got.value == pytest.approx(value, rel=1e-10)
    signal, lengths, noise = gradient[0], gradient[1:-1], gradient[-1]
    np.testing.assert_allclose(got.gradient, [*lengths, signal, noise], rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("surrogate", CONFIGURATIONS.values(), ids=CONFIGURATIONS)
@pytest.mark.parametrize("mean", [None, 0.4])
def test_gradient_agrees_with_finite_differences(surrogate, mean):
    x, y = data()
    likelihood = MarginalLikelihood(surrogate, x, y)
    theta = surrogate.pack(hyper(surrogate))
    got = likelihood(theta, mean)
    step = 1e-6
    for k in range(len(theta)):
        shifted = [likelihood(theta + sign * step * np.eye(len(theta))[k], mean).value for sign in (1, -1)]
        assert got.gradient[k] == pytest.approx((shifted[0] - shifted[1]) / (2 * step), rel=1e-5, abs=1e-6)
    if mean is not None:
        shifted = [likelihood(theta, mean + sign * step).value for sign in (1, -1)]
        assert got.mean_gradient == pytest.approx((shifted[0] - shifted[1]) / (2 * step), rel=1e-5, abs=1e-6)


def test_the_profiled_mean_is_the_best_one():
    x, y = data()
    surrogate = Surrogate()
    likelihood = MarginalLikelihood(surrogate, x, y)
    theta = surrogate.pack(hyper(surrogate))
    best = likelihood(theta)
    assert best.mean_gradient == pytest.approx(0.0, abs=1e-8)
    for other in (best.mean - 0.1, best.mean + 0.1):
        assert likelihood(theta, other).value < best.value


@pytest.mark.parametrize("surrogate", CONFIGURATIONS.values(), ids=CONFIGURATIONS)
def test_prior_gradient_agrees_with_finite_differences(surrogate):
    theta = surrogate.pack(hyper(surrogate))
    value, gradient = surrogate.log_prior(theta, 4)
    step = 1e-6
    for k in range(len(theta)):
        e = step * np.eye(len(theta))[k]
        numeric = (surrogate.log_prior(theta + e, 4)[0] - surrogate.log_prior(theta - e, 4)[0]) / (2 * step)
        assert gradient[k] == pytest.approx(numeric, rel=1e-6, abs=1e-7)
    assert math.isfinite(value)


def test_lengthscales_are_drawn_together_wherever_they_are():
    loose, drawn = Surrogate(), Surrogate(lengthscale_spread=0.5)
    theta = drawn.pack(hyper(drawn))
    apart = theta[:4] - theta[:4].mean()
    here = drawn.log_prior(theta, 4)[0] - loose.log_prior(theta, 4)[0]
    assert here == pytest.approx(-0.5 * np.sum((apart / 0.5) ** 2))
    theta[:4] += 1.3  # all of them longer: nothing against it
    assert drawn.log_prior(theta, 4)[0] - loose.log_prior(theta, 4)[0] == pytest.approx(here)
    theta[:4] = 0.4
    assert drawn.log_prior(theta, 4)[0] == loose.log_prior(theta, 4)[0]


def test_what_all_inputs_matter_to_has_no_idle_ones_by_chance():
    # 60 data in 40 dimensions, all of which matter alike; and one that alone matters of 10.
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (60, 40))
    spreads = {}
    for spread in (None, 1.0):
        surrogate = replace(Surrogate.regularised(), lengthscale_spread=spread)
        found = fit(MarginalLikelihood(surrogate, x, zscore((x**2).sum(axis=1))), [surrogate.default_start(40)])
        spreads[spread] = np.std(np.log(found.lengthscales))
        few = fit(
            MarginalLikelihood(surrogate, x[:, :10], zscore(np.sin(3.0 * x[:, 4]))), [surrogate.default_start(10)]
        ).lengthscales
        assert few.argmin() == 4
        assert few[4] < 0.5 * np.delete(few, 4).min()  # evidence sets it apart all the same
    assert spreads[1.0] < 0.8 * spreads[None]


@pytest.mark.parametrize(("dim", "mode"), [(2, 0.290), (20, 0.916), (100, 2.048), (500, 4.579)])
def test_prior_modes_are_the_published_ones_on_the_doubled_box(dim, mode):
    start = Surrogate.modern().default_start(dim)
    assert start.lengthscales[0] / 2.0 == pytest.approx(mode, rel=2e-3)
    assert start.noise_variance == pytest.approx(0.00674, rel=1e-3)
    assert math.exp(lengthscale_prior(dim).location) / 2.0 == pytest.approx(
        {2: 5.82, 20: 18.4, 100: 41.1, 500: 92.0}[dim], rel=2e-3
    )


@pytest.mark.parametrize("surrogate", CONFIGURATIONS.values(), ids=CONFIGURATIONS)
def test_pack_and_unpack_are_inverse(surrogate):
    h = hyper(surrogate)
    back = surrogate.unpack(surrogate.pack(h), mean=h.mean)
    np.testing.assert_allclose(back.lengthscales, h.lengthscales)
    assert back.signal_variance == pytest.approx(h.signal_variance)
    assert back.noise_variance == pytest.approx(h.noise_variance)
    low, high = surrogate.theta_bounds(4)
    assert len(low) == len(high) == len(surrogate.pack(h))


@pytest.mark.parametrize(
    "wrong",
    [
        {"kernel": "cubic"},
        {"lengthscale_bounds": (1.0, 0.5)},
        {"noise_bounds": (0.0, 1.0)},
        {"signal_variance": -1.0},
        {"lengthscale_prior": "gamma"},
        {"lengthscale_spread": 0.0},
        {"noise_prior": "gamma"},
    ],
)
def test_wrong_settings_are_named(wrong):
    with pytest.raises(MethodError, match=next(iter(wrong))):
        Surrogate(**wrong)
