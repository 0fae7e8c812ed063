import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.integrate import quad
from scipy.special import log_ndtr
from scipy.stats import norm, skew, yeojohnson

from boids.blocks import acquisition
from boids.blocks.scaling import Scale, Taming, _powered, imputed, standardise

finite = st.floats(allow_nan=False, allow_infinity=False, width=64)


@given(arrays(float, st.integers(1, 20), elements=finite))
def test_any_finite_values_become_finite_and_keep_their_order(values):
    scaled = standardise(values)
    assert np.all(np.isfinite(scaled))
    order = np.argsort(values, kind="stable")
    assert np.all(np.diff(scaled[order]) >= -1e-12)


@pytest.mark.parametrize("size", [1e-300, 1e-9, 1.0, 1e300])
def test_the_unit_of_the_objective_does_not_matter(size):
    values = np.array([1.0, 2.0, 4.0, 4.5])
    np.testing.assert_allclose(standardise(size * values), standardise(values), rtol=1e-12)
    assert standardise(values).std(ddof=1) == pytest.approx(1.0)


def test_the_two_conventions():
    values = np.array([1.0, 2.0, 10.0])
    np.testing.assert_allclose(standardise(values), (values - values.mean()) / values.std(ddof=1))
    np.testing.assert_allclose(standardise(values, "median"), (values - 2.0) / values.std(ddof=0))


def test_flat_and_single_values_are_zero_and_the_released_rule_only_centres():
    assert not standardise(np.full(5, 3.3)).any()
    assert not standardise(np.array([7.0])).any()
    assert not standardise(np.zeros(3)).any()
    values = np.array([1.0, 1.0 + 1e-8])
    assert standardise(values).std(ddof=1) == pytest.approx(1.0)
    np.testing.assert_allclose(standardise(values, flat=1e-6), values - values.mean(), atol=1e-15)


def test_failures_count_as_the_worst_value():
    scaled = standardise(np.array([1.0, np.nan, 5.0, 2.0]))
    assert scaled[1] == scaled[2] == scaled.max()
    assert not standardise(np.full(3, np.nan)).any()


reasonable = st.floats(-1e6, 1e6)
CASES = {
    "usual": np.array([1.0, 2.0, 4.0, 4.5]),
    "huge": np.array([1e300, -1.5e300, 3e299]),
    "tiny": np.array([3e-300, 1e-300, 2e-300]),
    "far from zero": 1e6 + np.array([0.0, 1.0, 5.0]),
}


@pytest.mark.parametrize("values", CASES.values(), ids=CASES)
@pytest.mark.parametrize("centre", ["mean", "median"])
def test_a_scale_has_an_inverse(values, centre):
    scale = Scale.of(values, centre)
    targets = scale.standardise(values)
    np.testing.assert_allclose(targets, standardise(values, centre), rtol=0)
    np.testing.assert_allclose(scale.restore(targets), values, rtol=1e-12)
    middle = np.median(values) if centre == "median" else values.mean()
    size = np.abs(values).max()
    assert scale.restore(np.zeros(1))[0] / size == pytest.approx(middle / size, abs=1e-12)
    assert targets.std(ddof=0 if centre == "median" else 1) == pytest.approx(1.0)


@given(arrays(float, st.integers(2, 12), elements=reasonable), st.sampled_from(["mean", "median"]))
def test_a_scale_made_for_some_values_takes_others_the_same_way(values, centre):
    scale = Scale.of(values[:-1], centre)
    if np.isfinite(scale.spread):
        differences = np.diff(values) / (scale.size * scale.spread)
        targets = scale.standardise(values)
        np.testing.assert_allclose(np.diff(targets), differences, rtol=1e-6, atol=1e-6 * np.abs(targets).max())


@pytest.mark.parametrize("unit", [1e-150, 1.0, 1e150])
def test_variances_change_with_the_square_of_the_spread(unit):
    values, variances = unit * np.array([1.0, 2.0, 4.0, 4.5]), unit * unit * np.array([0.0, 0.3, 2.0])
    spread = np.array([1.0, 2.0, 4.0, 4.5]).std(ddof=1)
    np.testing.assert_allclose(Scale.of(values).variance(variances), np.array([0.0, 0.3, 2.0]) / spread**2, rtol=1e-12)


@pytest.mark.parametrize("value", [0.0, 3.3, -1e300, 1e-300])
@pytest.mark.parametrize("count", [1, 5])
def test_the_scale_of_equal_values_gives_zeros_and_their_value_back(value, count):
    scale = Scale.of(np.full(count, value))
    assert not scale.standardise(np.full(3, value)).any()
    np.testing.assert_array_equal(scale.restore(np.array([0.0, 0.0])), [value, value])


def test_the_scale_of_values_that_the_released_rule_calls_flat_only_centres():
    values = np.array([5.0, 5.0 + 1e-8])
    scale = Scale.of(values, flat=1e-6)
    np.testing.assert_allclose(scale.standardise(values), values - values.mean(), atol=1e-14)
    np.testing.assert_allclose(scale.restore(scale.standardise(values)), values, rtol=1e-15)
    np.testing.assert_allclose(scale.variance(np.array([2.0])), [2.0], rtol=1e-12)


def test_the_scale_of_nothing_changes_nothing():
    assert Scale.of(np.empty(0)) == Scale()
    np.testing.assert_array_equal(Scale().standardise(np.array([1.0, 2.0])), [1.0, 2.0])


def test_failures_are_filled_in_with_the_worst():
    np.testing.assert_array_equal(imputed(np.array([1.0, np.nan, 5.0, np.nan])), [1.0, 5.0, 5.0, 5.0])
    np.testing.assert_array_equal(imputed(np.full(3, np.nan)), np.zeros(3))
    np.testing.assert_array_equal(imputed(np.array([1.0, -2.0])), [1.0, -2.0])


def unskewed(targets):
    return Taming.of(targets)(targets)


@given(arrays(float, st.integers(1, 30), elements=finite))
def test_drawing_in_the_tail_keeps_the_order_of_any_values(values):
    drawn_in = unskewed(standardise(values))
    assert np.all(np.isfinite(drawn_in))
    assert np.all(np.diff(drawn_in[np.argsort(values, kind="stable")]) >= -1e-9)


@pytest.mark.parametrize("power", [-2.0, -0.7, 0.0, 1e-12, 0.4, 1.0])
def test_the_power_transform_is_that_of_yeo_and_johnson(power):
    y = np.linspace(-3.0, 5.0, 41)
    np.testing.assert_allclose(_powered(y, power), yeojohnson(y, power), rtol=1e-9, atol=1e-12)


def test_only_a_tail_of_bad_values_is_drawn_in():
    normal = np.random.default_rng(0).standard_normal(400)
    skewed, lucky = standardise(np.exp(2.0 * normal)), standardise(-np.exp(2.0 * normal))
    drawn_in = unskewed(skewed)
    assert skew(skewed) > 5.0
    assert abs(skew(drawn_in)) < 1.0
    assert drawn_in.std(ddof=1) == pytest.approx(1.0)
    np.testing.assert_array_equal(unskewed(lucky), lucky)  # good values stay apart
    np.testing.assert_array_equal(unskewed(standardise(normal)), standardise(normal))


def test_one_huge_value_does_not_hide_the_others():
    values = np.append(np.linspace(0.0, 1.0, 50), 1e9)
    hidden, seen = standardise(values), unskewed(standardise(values))
    assert np.ptp(hidden[:-1]) < 1e-6
    assert np.ptp(seen[:-1]) > 1.0


def test_what_is_not_among_the_values_is_mapped_likewise():
    values = standardise(np.exp(2.0 * np.random.default_rng(0).standard_normal(400)))
    taming = Taming.of(values[::2])
    everything = taming(values)
    np.testing.assert_array_equal(everything[::2], taming(values[::2]))
    assert np.all(np.diff(everything[np.argsort(values)]) >= 0.0)


def test_a_single_log_h_is_as_good_as_many():
    u = np.concatenate([np.linspace(-1.5, 6.0, 40), -np.logspace(0, 10, 60), [np.nan]])
    values, slopes = acquisition.log_h_with_slope(u)
    for k in range(len(u)):
        value, slope = acquisition.log_h_with_slope(u[k : k + 1])
        np.testing.assert_allclose(value, values[k], rtol=1e-10)
        np.testing.assert_allclose(slope, slopes[k], rtol=1e-9)


def integrated_log_h(u):
    """h is the integral of Φ up to u; with its size at u taken out the integral is harmless."""
    scale = 1.0 + abs(u)
    area, _ = quad(lambda s: math.exp(log_ndtr(u - s / scale) - log_ndtr(u)) / scale, 0, math.inf, epsrel=1e-13)
    return log_ndtr(u) + math.log(area)


@pytest.mark.parametrize("u", [5.0, 1.0, 0.0, -0.5, -0.999, -1.0, -1.001, -3.0, -5.0, -20.0, -99.9, -100.1, -300.0])
def test_log_h_is_the_integral_of_the_normal_distribution(u):
    assert acquisition.log_h(np.array([u]))[0] == pytest.approx(integrated_log_h(u), rel=1e-10)


def test_log_h_and_its_slope_are_finite_far_out():
    u = -np.logspace(0, 10, 41)
    value, slope = acquisition.log_h(u), acquisition.log_h_slope(u)
    assert np.all(np.isfinite(value))
    assert np.all(np.isfinite(slope))
    assert np.all(np.diff(value) < 0)
    np.testing.assert_allclose(slope[-10:], -u[-10:], rtol=1e-6)


@pytest.mark.parametrize("u", [4.0, 0.5, -0.9, -1.1, -4.0, -50.0, -150.0])
def test_slope_of_log_h_agrees_with_finite_differences(u):
    step = 1e-5
    up, down = acquisition.log_h(np.array([u + step, u - step]))
    assert acquisition.log_h_slope(np.array([u]))[0] == pytest.approx((up - down) / (2 * step), rel=1e-6)


@pytest.mark.parametrize(("mean", "deviation"), [(0.3, 0.5), (-1.0, 0.1), (2.0, 1.0)])
def test_expected_improvement_is_the_integral(mean, deviation):
    best = 0.2
    expected, _ = quad(lambda y: (best - y) * norm.pdf(y, mean, deviation), -20, best, epsabs=1e-12)
    args = np.array([mean]), np.array([deviation**2]), best
    assert -acquisition.negative_ei(*args)[0] == pytest.approx(expected, rel=1e-6, abs=1e-12)
    assert -acquisition.negative_log_ei(*args)[0] == pytest.approx(math.log(expected), rel=1e-4)


def test_ei_and_log_ei_agree_between_minus_five_and_five():
    mean = np.linspace(-5, 5, 101)
    ei = -acquisition.negative_ei(mean, np.ones(101), 0.0)
    np.testing.assert_allclose(-acquisition.negative_log_ei(mean, np.ones(101), 0.0), np.log(ei), atol=1e-10)


def test_confidence_bound_and_row_fixed_draws():
    mean, variance = np.array([1.0, 2.0]), np.array([4.0, 9.0])
    np.testing.assert_allclose(acquisition.negative_ucb(mean, variance, 3.0), mean - np.sqrt(3) * np.array([2.0, 3.0]))
    normals = np.array([0.5, -1.0, 3.0])
    np.testing.assert_allclose(acquisition.marginal_draw(mean, variance, normals), [2.0, -1.0])
    noisy = acquisition.marginal_draw(mean, variance, normals, noise_variance=5.0)
    np.testing.assert_allclose(noisy, [1.0 + 0.5 * 3.0, 2.0 - np.sqrt(14.0)])
