"""Optuna's parameters as a space of boids', and back."""

import numpy as np
import optuna
import pytest
from hypothesis import given
from hypothesis import strategies as st
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

from boids.integrations.optuna.common_parameters import CommonParameters
from boids.integrations.optuna.translation import Translation, translatable

floats = st.floats(-1e6, 1e6).flatmap(
    lambda low: st.builds(FloatDistribution, st.just(low), st.floats(low + 1e-3, low + 1e6))
)
log_floats = st.builds(lambda low, ratio: FloatDistribution(low, low * ratio, log=True), st.floats(1e-9, 1e3),
                       st.floats(1.1, 1e9))  # fmt: skip
float_steps = st.builds(
    lambda low, step, count: FloatDistribution(low, round(low + step * count, 9), step=step),
    st.sampled_from([-10.2, 0.0, 0.1, 3.0]), st.sampled_from([0.05, 0.1, 0.25, 3.0]), st.integers(1, 300),
)  # fmt: skip
ints = st.builds(
    lambda low, step, count: IntDistribution(low, low + step * count, step=step),
    st.integers(-(10**6), 10**6), st.integers(1, 7), st.integers(1, 10**6),
)  # fmt: skip
log_ints = st.builds(
    lambda low, more: IntDistribution(low, low + more, log=True), st.integers(1, 99), st.integers(1, 10**6)
)
choices = st.builds(lambda count: CategoricalDistribution([f"c{i}" for i in range(count)]), st.integers(2, 6))
spaces = st.dictionaries(
    st.sampled_from("abcdefgh"),
    st.one_of(floats, log_floats, float_steps, ints, log_ints, choices),
    min_size=1,
)


@given(space=spaces, seed=st.integers(0, 2**32 - 1))
def test_values_are_in_their_distributions_and_come_back(space, seed):
    space = {name: each for name, each in space.items() if translatable(each)}
    if not space:
        return
    translation = Translation(space)
    unit = np.random.default_rng(seed).uniform(-1.0, 1.0, translation.space.dim)
    params = translation.params(unit)
    assert params.keys() == space.keys()
    for name, each in space.items():
        assert each._contains(each.to_internal_repr(params[name])), (each, params[name])
    again = translation.unit(params)
    np.testing.assert_allclose(again, translation.space.snap(unit), rtol=0, atol=1e-6)
    back = translation.params(again)
    for name, each in space.items():
        exact = not isinstance(each, FloatDistribution)
        assert back[name] == params[name] if exact else back[name] == pytest.approx(params[name], rel=1e-9, abs=1e-9)


def test_a_corner_of_the_cube_is_a_corner_of_the_space():
    space = {
        "f": FloatDistribution(-2, 3), "g": FloatDistribution(1e-3, 10, log=True),
        "h": FloatDistribution(0.1, 0.9, step=0.2), "i": IntDistribution(3, 9, step=3),
        "j": IntDistribution(1, 64, log=True), "k": CategoricalDistribution(["no", "yes"]),
    }  # fmt: skip
    translation = Translation(space)
    low, high = (translation.params(np.full(translation.space.dim, end)) for end in (-1.0, 1.0))
    assert low == {"f": -2.0, "g": pytest.approx(1e-3), "h": 0.1, "i": 3, "j": 1, "k": "no"}
    assert high == {"f": 3.0, "g": pytest.approx(10.0), "h": pytest.approx(0.9), "i": 9, "j": 64, "k": "yes"}


def test_points_that_are_none():
    translation = Translation({"x": FloatDistribution(0, 1), "n": IntDistribution(0, 5)})
    assert translation.unit({"x": 0.5, "n": 3, "other": 1}) is not None
    assert translation.unit({"x": 0.5}) is None
    assert translation.unit({"x": 1.5, "n": 3}) is None
    assert translation.unit({"x": 0.5, "n": 6}) is None


@pytest.mark.parametrize(
    "distribution",
    [FloatDistribution(1, 1), IntDistribution(0, 2**60),
     FloatDistribution(1e-300, 1e300, log=True), IntDistribution(1, 2**50, log=True), CategoricalDistribution(["one"])],
    ids=str,
)  # fmt: skip
def test_what_has_no_place_in_a_space(distribution):
    assert not translatable(distribution)


def test_the_order_of_parameters_does_not_matter():
    one = {"b": FloatDistribution(0, 1), "a": IntDistribution(0, 5), "c": FloatDistribution(1, 2)}
    other = dict(reversed(one.items()))
    assert Translation(one).identity() == Translation(other).identity()
    assert Translation(one).space == Translation(other).space
    assert Translation(one).identity() != Translation({**one, "a": IntDistribution(0, 6)}).identity()


@given(st.lists(st.sets(st.sampled_from("abcde")), min_size=1, max_size=8), st.integers(0, 7))
def test_common_parameters_are_optunas_intersection(trials, failed):
    each = FloatDistribution(0, 1)
    made = [
        optuna.create_trial(
            params=dict.fromkeys(sorted(names), 0.5), distributions=dict.fromkeys(sorted(names), each),
            value=None if number == failed else 1.0,
            state=optuna.trial.TrialState.FAIL if number == failed else optuna.trial.TrialState.COMPLETE,
        )
        for number, names in enumerate(trials)
    ]  # fmt: skip
    common = CommonParameters()
    for count in range(1, len(made) + 1):
        assert common.after(made[:count]) == optuna.search_space.intersection_search_space(made[:count])
