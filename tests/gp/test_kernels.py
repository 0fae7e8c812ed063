import numpy as np
import pytest
from scipy.special import gamma, kv
from sklearn.gaussian_process.kernels import RBF as SkRBF
from sklearn.gaussian_process.kernels import Matern as SkMatern

from boids.gp.kernels import KERNELS
from boids.gp.linalg import squared_distances

NAMES = sorted(KERNELS)


def oracle(name, a, b):
    return (SkMatern(length_scale=1.0, nu=2.5) if name == "matern52" else SkRBF(length_scale=1.0))(a, b)


@pytest.mark.parametrize("name", NAMES)
def test_values_agree_with_scikit_learn(name):
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(7, 4)), rng.normal(size=(5, 4))
    got = KERNELS[name].value(squared_distances(a, b))
    np.testing.assert_allclose(got, oracle(name, a, b), rtol=1e-12, atol=1e-14)


def test_matern_is_the_bessel_form_at_nu_five_halves():
    r = np.array([1e-3, 0.1, 1.0, 3.0, 10.0])
    x = np.sqrt(5.0) * r
    expected = 2.0 ** (1 - 2.5) / gamma(2.5) * x**2.5 * kv(2.5, x)
    np.testing.assert_allclose(KERNELS["matern52"].value(r**2), expected, rtol=1e-9)


@pytest.mark.parametrize("name", NAMES)
def test_slope_is_the_derivative_in_the_squared_distance(name):
    q = np.array([0.01, 0.3, 1.0, 4.0, 25.0])
    step = 1e-6
    kernel = KERNELS[name]
    numeric = (kernel.value(q + step) - kernel.value(q - step)) / (2 * step)
    np.testing.assert_allclose(kernel.value_and_slope(q)[1], numeric, rtol=1e-6, atol=1e-12)
    np.testing.assert_array_equal(kernel.value_and_slope(q)[0], kernel.value(q))


@pytest.mark.parametrize("name", NAMES)
def test_slope_is_finite_at_zero_and_single_precision_stays_single(name):
    kernel = KERNELS[name]
    value, slope = kernel.value_and_slope(np.zeros(3, dtype=np.float32))
    assert value.dtype == slope.dtype == np.float32
    assert np.all(value == 1.0)
    assert np.all(np.isfinite(slope))
    assert np.all(slope < 0)


@pytest.mark.parametrize("name", NAMES)
def test_frequencies_reproduce_the_kernel(name):
    """E cos(ωᵀδ) = k(|δ|²). Each mean of 200 000 cosines has a standard error below 1/√200000 = 0.0022; five
    such errors give a false-alarm rate below 1e-5 for the six comparisons."""
    rng = np.random.default_rng(1)
    omega = KERNELS[name].frequencies(rng, 200_000, 3)
    for delta in (np.array([0.2, 0.0, 0.0]), np.array([0.5, -0.5, 0.3]), np.array([1.0, 1.0, 1.0])):
        got = np.cos(omega @ delta).mean()
        assert abs(got - KERNELS[name].value(np.array([delta @ delta]))[0]) < 5 * 0.0022
