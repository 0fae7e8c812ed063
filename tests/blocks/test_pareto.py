"""Ranks and crowding against their definitions and against pymoo (used as an oracle only)."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from pymoo.operators.survival.rank_and_crowding.metrics import get_crowding_function
from pymoo.util.nds.non_dominated_sorting import NonDominatedSorting

from boids.blocks.pareto import crowding_distance, nan_as_worst, non_dominated_ranks

PRECISIONS = (np.float32, np.float64)

# Few different values, so that ties, duplicates and infinities are the rule.
coarse = st.sampled_from([-1.0, 0.0, -0.0, 0.5, 1.0, 2.0, np.inf])


def vectors(elements=coarse, max_points: int = 24, max_objectives: int = 4):
    shape = st.tuples(st.integers(0, max_points), st.integers(1, max_objectives))
    return st.sampled_from(PRECISIONS).flatmap(lambda dtype: hnp.arrays(dtype, shape, elements=elements.map(dtype)))


def ranks_by_definition(values: np.ndarray) -> np.ndarray:
    """Peel fronts with the textbook definition, one pair at a time."""
    ranks = np.full(len(values), -1)
    rank = 0
    while (ranks < 0).any():
        left = np.flatnonzero(ranks < 0)
        front = [
            i for i in left if not any((values[j] <= values[i]).all() and (values[j] < values[i]).any() for j in left)
        ]
        ranks[front] = rank
        rank += 1
    return ranks


def sphere_front(n: int, rng: np.random.Generator) -> np.ndarray:
    points = np.abs(rng.normal(size=(n, 3)))
    return points / np.linalg.norm(points, axis=1, keepdims=True)


@given(vectors())
def test_ranks_follow_the_definition(values):
    np.testing.assert_array_equal(non_dominated_ranks(values), ranks_by_definition(values))


@given(vectors(st.floats(-1e3, 1e3, width=32)))
def test_ranks_of_generic_values_follow_the_definition(values):
    np.testing.assert_array_equal(non_dominated_ranks(values), ranks_by_definition(values))


@pytest.mark.parametrize("dtype", PRECISIONS)
@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_ranks_agree_with_pymoo_across_blocks(k, dtype):
    """600 points span three blocks of the dominance matrix; every fifth is a copy of another."""
    rng = np.random.default_rng(k)
    values = rng.random((600, k)).astype(dtype)
    values[::5] = values[rng.permutation(600)[:120]]
    _, expected = NonDominatedSorting().do(values, return_rank=True)
    np.testing.assert_array_equal(non_dominated_ranks(values), expected)


def test_one_front_larger_than_a_block_and_its_shadow():
    rng = np.random.default_rng(0)
    front = sphere_front(700, rng)
    order = rng.permutation(1400)
    values = np.concatenate((front, 2.0 * front))[order]
    np.testing.assert_array_equal(non_dominated_ranks(values), order // 700)


def test_a_chain_has_as_many_fronts_as_points():
    order = np.random.default_rng(0).permutation(600)
    values = np.stack((order, order**2, order**3), axis=1).astype(np.float64)
    np.testing.assert_array_equal(non_dominated_ranks(values), order)


@given(vectors(), st.integers(0, 30))
def test_enough_stops_after_complete_fronts_that_hold_enough(values, enough):
    full = non_dominated_ranks(values)
    cut = non_dominated_ranks(values, enough=enough)
    if len(values) == 0:
        return
    held = np.cumsum(np.bincount(full))
    complete = 1 + int(np.argmax(held >= min(enough, len(values))))
    np.testing.assert_array_equal(cut, np.minimum(full, complete))


@given(vectors(), st.randoms(use_true_random=False))
def test_ranks_and_crowding_do_not_depend_on_the_order_of_objectives(values, random):
    objectives = list(range(values.shape[1]))
    random.shuffle(objectives)
    np.testing.assert_array_equal(non_dominated_ranks(values), non_dominated_ranks(values[:, objectives]))
    np.testing.assert_allclose(crowding_distance(values), crowding_distance(values[:, objectives]))


@given(vectors(), st.randoms(use_true_random=False))
def test_ranks_move_with_the_points(values, random):
    order = list(range(len(values)))
    random.shuffle(order)
    np.testing.assert_array_equal(non_dominated_ranks(values)[order], non_dominated_ranks(values[order]))


@given(vectors(st.one_of(coarse, st.just(np.nan))))
def test_nan_is_the_worst_value(values):
    worst = np.where(np.isnan(values), np.inf, values)
    np.testing.assert_array_equal(nan_as_worst(values), worst)
    assert nan_as_worst(values).dtype == values.dtype
    np.testing.assert_array_equal(non_dominated_ranks(values), non_dominated_ranks(worst))
    np.testing.assert_array_equal(crowding_distance(values), crowding_distance(worst))


@pytest.mark.parametrize("dtype", PRECISIONS)
@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("n", [1, 2, 3, 4, 50])
def test_crowding_agrees_with_pymoo(n, k, dtype):
    rng = np.random.default_rng(n)
    for values in (rng.random((n, k)), rng.integers(0, 4, (n, k))):
        expected = get_crowding_function("cd").do(values.astype(dtype).astype(np.float64))
        np.testing.assert_allclose(crowding_distance(values.astype(dtype)), expected, rtol=1e-12)


@given(vectors(coarse.filter(np.isfinite)))
def test_crowding_by_ranks_treats_each_front_alone(values):
    ranks = non_dominated_ranks(values)
    together = crowding_distance(values, ranks)
    for rank in np.unique(ranks):
        np.testing.assert_allclose(together[ranks == rank], crowding_distance(values[ranks == rank]))


@given(vectors())
def test_crowding_is_a_distance_with_few_infinities(values):
    distance = crowding_distance(values)
    assert distance.shape == (len(values),)
    assert distance.dtype == np.float64
    assert (distance >= 0).all()
    if len(values) > 2:
        assert np.isinf(distance).sum() <= 2 * values.shape[1]


def test_crowding_by_hand():
    """Neighbours' gaps over the range 4 and 8: (2/4 + 4/8)/2 and (3/4 + 6/8)/2; the ends are infinite."""
    values = np.array([[0.0, 8.0], [1.0, 6.0], [4.0, 0.0], [2.0, 4.0]])
    np.testing.assert_allclose(crowding_distance(values), [np.inf, 0.5, np.inf, 0.75])


def test_the_end_of_every_objective_is_infinitely_far():
    values = sphere_front(60, np.random.default_rng(1))
    ends = np.concatenate((values.argmin(axis=0), values.argmax(axis=0)))
    assert np.isinf(crowding_distance(values)[ends]).all()


def test_a_constant_objective_and_equal_points_add_nothing():
    spread = np.array([[0.0], [1.0], [3.0], [4.0]])
    both = np.concatenate((spread, np.full((4, 1), 7.0)), axis=1)
    np.testing.assert_allclose(crowding_distance(both), crowding_distance(spread) / 2)
    np.testing.assert_array_equal(crowding_distance(np.ones((5, 3))), np.zeros(5))
    np.testing.assert_array_equal(crowding_distance(np.ones((2, 3))), [np.inf, np.inf])


def test_infinite_values_count_as_the_nearest_finite_one():
    values = np.array([[0.0, 1.0], [1.0, 0.5], [np.inf, -np.inf], [3.0, 0.0]])
    clipped = np.array([[0.0, 1.0], [1.0, 0.5], [3.0, 0.0], [3.0, 0.0]])
    np.testing.assert_array_equal(crowding_distance(values), crowding_distance(clipped))
    np.testing.assert_array_equal(crowding_distance(np.full((4, 2), np.inf)), np.zeros(4))


def test_large_float32_values_do_not_overflow():
    values = np.array([[-3e38, 3e38], [0.0, 0.0], [3e38, -3e38]], dtype=np.float32)
    np.testing.assert_allclose(crowding_distance(values), [np.inf, 1.0, np.inf])


def test_no_points():
    assert non_dominated_ranks(np.empty((0, 3))).shape == (0,)
    assert crowding_distance(np.empty((0, 3))).shape == (0,)
