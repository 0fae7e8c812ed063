"""One number for value and constraints: Deb's order, and the penalty."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from boids.blocks.merit import feasibility_first, penalised, violations
from boids.blocks.scaling import standardise
from boids.records import Trial

# Whole numbers make ties, and keep what follows clear of rounding.
whole = st.integers(-50, 50).map(float)


@st.composite
def outcomes(draw):
    """Values (n,) and constraints (n, C), some rows failed."""
    n, count = draw(st.integers(1, 12)), draw(st.integers(1, 4))
    values, constraints = draw(arrays(float, n, elements=whole)), draw(arrays(float, (n, count), elements=whole))
    failed = draw(arrays(bool, n))
    values[failed], constraints[failed] = np.nan, np.nan
    return values, constraints


def order(value, violation):
    """Deb's comparison as a key."""
    return (violation > 0, violation if violation > 0 else value)


@given(outcomes())
def test_merits_compare_as_deb_does(case):
    values, constraints = case
    merits, v = feasibility_first(values, constraints), violations(constraints)
    np.testing.assert_array_equal(np.isnan(merits), np.isnan(values))
    good = np.flatnonzero(~np.isnan(values))
    for i in good:
        for j in good:
            assert (merits[i] < merits[j]) == (order(values[i], v[i]) < order(values[j], v[j]))


@given(outcomes())
def test_feasible_points_keep_their_values_if_there_are_any(case):
    values, constraints = case
    merits, v = feasibility_first(values, constraints), violations(constraints)
    np.testing.assert_array_equal(merits[v == 0], values[v == 0])
    if not (v == 0).any():
        np.testing.assert_array_equal(merits, v)


@given(outcomes(), st.integers(0, 2**32))
def test_the_order_of_the_rows_does_not_matter(case, seed):
    values, constraints = case
    shuffled = np.random.default_rng(seed).permutation(len(values))
    merits = feasibility_first(values, constraints)
    again = feasibility_first(values[shuffled], constraints[shuffled])
    np.testing.assert_allclose(again, merits[shuffled], rtol=1e-12, atol=1e-12)


@given(outcomes())
def test_arguments_stay_as_they_are(case):
    values, constraints = case
    before = values.copy(), constraints.copy()
    values.setflags(write=False)
    constraints.setflags(write=False)
    feasibility_first(values, constraints)
    penalised(values, constraints, 3.0)
    np.testing.assert_array_equal(values, before[0])
    np.testing.assert_array_equal(constraints, before[1])


def test_violations_by_hand():
    constraints = np.array([[-1.0, 0.0], [2.0, -5.0], [1.0, 3.0], [np.nan, np.nan]])
    np.testing.assert_array_equal(violations(constraints), [0.0, 2.0, 4.0, np.nan])


@given(st.lists(st.lists(st.floats(-1e6, 1e6), min_size=3, max_size=3), min_size=1, max_size=5))
def test_violations_are_those_of_the_trials(rows):
    trials = [Trial(i, None, np.zeros(1), 0.0, tuple(row), state="done") for i, row in enumerate(rows)]
    np.testing.assert_allclose(violations(np.array(rows)), [trial.violation for trial in trials], rtol=1e-15)
    assert [trial.feasible for trial in trials] == (violations(np.array(rows)) == 0.0).tolist()


@pytest.mark.parametrize("largest", [1.0, 1e3, 1e9])
def test_violations_of_any_size_are_no_cliff(largest):
    """Feasible values and infeasible merits stay within a few standard deviations of one another."""
    rng = np.random.default_rng(0)
    values, constraints = rng.normal(size=40), rng.normal(size=(40, 2))
    constraints[0] = largest
    merits = feasibility_first(values, constraints)
    feasible = violations(constraints) == 0.0
    spread = values[feasible].std()
    assert merits[~feasible].min() >= values[feasible].max() + spread
    assert merits[~feasible].max() <= values[feasible].max() + 2 * spread
    assert np.abs(standardise(merits)).max() < 4.0


def test_a_single_feasible_point_or_equal_ones_leave_room_below_the_infeasible():
    for value in (0.0, 7.0, -2e6):
        for count in (1, 2):
            values = np.array([value] * count + [-1e9])
            constraints = np.array([[-1.0]] * count + [[0.5]])
            merits = feasibility_first(values, constraints)
            assert merits[-1] >= value + max(1.0, abs(value))


@given(outcomes(), st.floats(0.1, 1e3))
def test_the_penalty_by_hand(case, weight):
    values, constraints = case
    got = penalised(values, constraints, weight)
    for i, (value, row) in enumerate(zip(values, constraints, strict=True)):
        if np.isnan(value):
            assert np.isnan(got[i])
        else:
            assert got[i] == value + weight * np.maximum(row, 0.0).sum()
