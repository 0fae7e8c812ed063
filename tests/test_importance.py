"""Parameter importance: known active parameters, gradients, grouping, and data that say nothing."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import boids
from boids import importance
from boids.importance import Importance, parameter_importance


def uniform(n, dim, seed=0):
    return np.random.default_rng(seed).uniform(-1.0, 1.0, (n, dim))


def three_active(u):
    return np.sin(3.0 * u[:, 4]) + 2.0 * u[:, 17] ** 2 + u[:, 33]


@pytest.mark.parametrize("seed", range(3))
def test_three_active_parameters_of_fifty_come_first(seed):
    units = uniform(120, 50, seed)
    found = parameter_importance(units, three_active(units))
    assert {label for label, _ in found.top(3)} == {"x[4]", "x[17]", "x[33]"}
    assert sum(score for _, score in found.top(3)) > 0.9
    assert found.held_out > 0.9
    assert found.n_used == 120
    assert found.reason == ""


def test_scores_are_those_of_the_function_where_the_model_is_good():
    # 1.5 u0 + u1² on a grid: √ mean squared derivatives 1.5 and 2 √ mean u1².
    axis = np.linspace(-1.0, 1.0, 12)
    units = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    steepness = np.array([1.5, 2.0 * np.sqrt(np.mean(axis**2))])
    found = parameter_importance(units, 1.5 * units[:, 0] + units[:, 1] ** 2)
    assert found.scores == pytest.approx(steepness / steepness.sum(), rel=0.05)


def test_scores_follow_from_finite_differences_of_the_mean():
    units = uniform(40, 6)
    values = units[:, 0] * units[:, 1] + np.cos(2.0 * units[:, 2])
    targets = (values - values.mean()) / values.std(ddof=1)
    model, h = importance._model(units, targets, importance._STEPS), 1e-5
    slopes = np.empty_like(units)
    for k, step in enumerate(h * np.eye(6)):
        slopes[:, k] = (model.predict(units + step)[0] - model.predict(units - step)[0]) / (2.0 * h)
    expected = np.sqrt(np.mean(slopes**2, axis=0))
    assert parameter_importance(units, values).scores == pytest.approx(expected / expected.sum(), rel=1e-4, abs=1e-7)


def test_pure_noise_is_seen_as_such():
    # Over twenty other seeds Q² lay between -0.49 and 0.20.
    found = parameter_importance(uniform(100, 20), np.random.default_rng(1).standard_normal(100))
    assert found.held_out < 0.3


def test_a_parameter_that_never_moved_has_no_score():
    units = uniform(30, 4)
    units[:, 2] = 0.25
    found = parameter_importance(units, units[:, 0] ** 2)
    assert found.scores[2] == pytest.approx(0.0, abs=1e-12)


def test_coordinates_that_move_together_share_the_credit():
    units = uniform(60, 6)
    units[:, 3] = -units[:, 0]
    found = parameter_importance(units, 3.0 * units[:, 0])
    assert found.scores[0] == pytest.approx(found.scores[3], rel=1e-6)


def test_the_indicators_of_a_category_are_one_parameter():
    units = uniform(60, 6)
    labels = ["lr", "act=relu", "act=relu6", "w[0]", "w[1]", "n"]
    values = units[:, 1] - units[:, 2] + 0.5 * units[:, 4]
    alone = parameter_importance(units, values, labels)
    merged = parameter_importance(units, values, labels, owner=[0, 1, 1, 2, 2, 3])
    assert alone.labels == tuple(labels)
    assert merged.labels == ("lr", "act", "w[0]", "w[1]", "n")
    pair = np.hypot(alone.scores[1], alone.scores[2])
    assert merged.scores[1] / merged.scores[3] == pytest.approx(pair / alone.scores[4])
    assert merged.scores.sum() == pytest.approx(1.0)


def test_names_and_owners_come_from_a_space():
    space = boids.Space(
        {"act": boids.Categorical(["a", "b", "c"]), "w": boids.Float(-1, 1, shape=2), "n": boids.Int(1, 9)}
    )
    units = np.array([space.encode(space.decode(unit)) for unit in uniform(60, space.dim)])
    found = parameter_importance(units, units[:, -1], space.labels, space.owner)
    assert found.labels == ("act", "w[0]", "w[1]", "n")
    assert found.top(1)[0][0] == "n"


def test_a_name_with_an_equals_sign_is_kept():
    units = uniform(30, 3)
    found = parameter_importance(units, units[:, 0], ["a=b", "a=b", "a=c"], owner=[7, 3, 5])
    assert found.labels == ("a=b", "a=b", "a=c")


def test_failures_are_left_out():
    units = uniform(80, 5)
    values = units[:, 3].tolist()
    clean = parameter_importance(units[3:], values[3:])
    values[:3] = [np.nan, np.inf, None]
    found = parameter_importance(units, values)
    assert found.n_used == 77
    assert found.scores == pytest.approx(clean.scores)


@pytest.mark.parametrize("peak", [1e6, 1e300, np.finfo(float).max])
def test_a_penalty_does_not_hide_the_rest(peak):
    units = uniform(80, 10)
    values = units[:, 2] + 1.0
    values[::20] = peak  # where nothing in the inputs explains it
    found = parameter_importance(units, values)
    assert found.top(1)[0][0] == "x[2]"
    assert found.by_rank


def test_of_many_evaluations_the_best_and_a_spread_are_used(monkeypatch):
    monkeypatch.setattr(importance, "MOST", 60)
    units = uniform(300, 4)
    values = units[:, 1]
    rows = importance._representatives(values)
    assert len(rows) == len(set(rows)) == 60
    assert set(np.argsort(values)[:30]) <= set(rows)
    assert np.argmax(values) in rows
    found = parameter_importance(units, values)
    assert found.n_used == 60
    assert found.top(1)[0][0] == "x[1]"


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ([], "0 of the 5"),
        ([1.0], "1 of the 5"),
        ([np.nan] * 8, "0 of the 5"),
        ([None] * 8, "0 of the 5"),
        ([3.0] * 8, "same value"),
    ],
)
def test_where_nothing_can_be_said_the_reason_is(values, reason):
    found = parameter_importance(uniform(len(values), 3), values)
    assert found.labels == ()
    assert found.scores.shape == (0,)
    assert found.top(5) == []
    assert reason in found.reason


def test_no_evaluations_without_a_shape():
    assert parameter_importance([], [], labels=["a", "b"]).reason


@pytest.mark.parametrize(
    "arguments",
    [
        {"units": np.zeros((3, 2)), "values": [1.0, 2.0]},
        {"units": np.zeros(3), "values": [1.0, 2.0, 3.0]},
        {"units": np.zeros((3, 2)), "values": [1.0, 2.0, 3.0], "labels": ["a"]},
        {"units": np.zeros((3, 2)), "values": [1.0, 2.0, 3.0], "owner": [0, 1, 2]},
    ],
)
def test_wrong_shapes_are_refused(arguments):
    with pytest.raises(ValueError, match="must"):
        parameter_importance(**arguments)


@settings(max_examples=30)
@given(
    st.integers(1, 4).flatmap(
        lambda dim: st.integers(0, 12).flatmap(
            lambda n: st.tuples(
                arrays(float, (n, dim), elements=st.sampled_from([-1.0, -0.5, 0.0, 1.0])),
                arrays(float, n, elements=st.floats(allow_nan=True, allow_infinity=True)),
            )
        )
    )
)
def test_whatever_the_data_the_scores_are_shares_or_there_is_a_reason(data):
    units, values = data
    found = parameter_importance(units, values)
    assert isinstance(found, Importance)
    if found.reason:
        assert found.labels == ()
    else:
        assert len(found.labels) == len(found.scores) == units.shape[1]
        assert (found.scores >= 0.0).all()
        assert found.scores.sum() == pytest.approx(1.0)
        assert np.isfinite(found.held_out)


def test_the_top_is_in_order():
    found = Importance(("a", "b", "c"), np.array([0.2, 0.5, 0.3]), 10)
    assert found.top(2) == [("b", 0.5), ("c", 0.3)]
    assert found.top(0) == []
    assert len(found.top(10)) == 3
