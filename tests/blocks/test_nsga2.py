"""NSGA-II: every rule by itself, then whole runs; pymoo 0.6.2 is the oracle.

Statistical tests use fixed seeds and fail for a correct implementation with probability below 1e-4 each, over the
choice of the seed.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from pymoo.algorithms.moo.nsga2 import NSGA2 as PymooNSGA2
from pymoo.core.problem import Problem
from pymoo.indicators.hv import HV
from pymoo.operators.crossover.sbx import cross_sbx
from pymoo.operators.mutation.pm import mut_pm
from pymoo.optimize import minimize as pymoo_minimize
from scipy import stats

from boids.blocks.nsga2 import (
    NSGA2,
    Population,
    crossover,
    mutate,
    survive,
    tournament,
    without_duplicates,
)
from boids.blocks.pareto import crowding_distance, non_dominated_ranks
from boids.errors import MethodError

FALSE_ALARM = 1e-4
PRECISIONS = (np.float32, np.float64)
SBX = {"eta": 15.0, "probability": 1.0, "variable_probability": 1.0, "exchange_probability": 0.5}
precisions = st.sampled_from(PRECISIONS)
seeds = st.integers(0, 2**32 - 1)


def box(d: int, dtype=np.float64, low: float = -1.0, high: float = 1.0):
    return np.full(d, low, dtype), np.full(d, high, dtype)


def population(values: np.ndarray, points: np.ndarray | None = None) -> Population:
    points = np.zeros((len(values), 1)) if points is None else points
    ranks = non_dominated_ranks(values)
    return Population(points, values, ranks, crowding_distance(values, ranks))


def unique_rows(points: np.ndarray) -> int:
    return len(np.unique(points, axis=0))


# ---------------------------------------------------------------------------------------------------- tournament


def test_the_dominating_opponent_wins():
    """In a chain every tournament is decided by dominance; 50 tournaments of 100 let everybody play once."""
    rng = np.random.default_rng(0)
    height = rng.permutation(100).astype(np.float64)
    parents = population(np.stack((height, 2 * height), axis=1))
    winners = tournament(parents, 50, rng)
    assert unique_rows(winners[:, None]) == 50
    assert np.sum(height) - np.sum(height[winners]) > np.sum(height[winners])
    assert height.argmin() in winners
    assert height.argmax() not in winners


def test_without_dominance_the_emptier_place_wins():
    rng = np.random.default_rng(1)
    angle = np.sort(rng.random(40)) * np.pi / 2
    parents = population(np.stack((np.cos(angle), np.sin(angle)), axis=1))
    inner = np.flatnonzero(np.isfinite(parents.crowding))
    most_crowded = inner[parents.crowding[inner].argmin()]
    for _ in range(20):
        winners = tournament(parents, 20, rng)
        assert most_crowded not in winners
        assert unique_rows(winners[:, None]) == 20


def test_dominance_goes_before_crowding():
    parents = Population(np.zeros((2, 1)), np.array([[0.0, 0.0], [1.0, 1.0]]), np.array([0, 1]), np.array([0.1, 9.0]))
    assert (tournament(parents, 30, np.random.default_rng(0)) == 0).all()


def test_a_coin_decides_between_equals():
    parents = population(np.zeros((2, 3)))
    wins = int(tournament(parents, 4000, np.random.default_rng(2)).sum())
    assert stats.binomtest(wins, 4000).pvalue > FALSE_ALARM


# ----------------------------------------------------------------------------------------------------- crossover


@pytest.mark.parametrize("dtype", PRECISIONS)
@pytest.mark.parametrize(("first", "second"), [(-0.95, -0.6), (0.2, 0.9), (-0.3, 0.3), (0.999, -1.0)])
def test_children_are_distributed_as_in_pymoo(first, second, dtype):
    n, low, high = 20_000, *box(1, dtype)
    parents = np.array([first, second], dtype)[:, None, None] * np.ones((1, n, 1), dtype)
    children = crossover(parents, low, high, np.random.default_rng(3), **SBX)
    expected = cross_sbx(
        parents.astype(np.float64),
        *box(1),
        eta=np.full((n, 1), 15.0),
        prob_var=np.ones((n, 1)),
        prob_bin=np.full((n, 1), 0.5),
        random_state=np.random.default_rng(4),
    )
    for mine, theirs in zip(children[:, :, 0], expected[:, :, 0], strict=True):
        assert stats.ks_2samp(mine, theirs).pvalue > FALSE_ALARM
    mine, theirs = np.abs(children[0] - children[1])[:, 0], np.abs(expected[0] - expected[1])[:, 0]
    assert stats.ks_2samp(mine, theirs).pvalue > FALSE_ALARM


@pytest.mark.parametrize("eta", [2.0, 15.0])
def test_far_from_the_bounds_the_spread_factor_has_its_law(eta):
    """P(q <= b) is b^(eta+1)/2 up to 1, and 1 - b^-(eta+1)/2 beyond (Deb & Agrawal 1995, eq. 11)."""
    n, low, high = 20_000, *box(1, low=-1e6, high=1e6)
    parents = np.array([-0.5, 0.5])[:, None, None] * np.ones((1, n, 1))
    children = crossover(parents, low, high, np.random.default_rng(5), **(SBX | {"eta": eta}))
    spread = np.abs(children[0] - children[1])[:, 0]

    def law(b: np.ndarray) -> np.ndarray:
        return np.where(b <= 1, 0.5 * np.minimum(b, 1) ** (eta + 1), 1 - 0.5 * np.maximum(b, 1) ** -(eta + 1))

    assert stats.kstest(spread, law).pvalue > FALSE_ALARM


@pytest.mark.parametrize("eta", [2.0, 15.0])
def test_both_children_come_from_one_uniform_number(eta):
    """Inverting the bounded formula on either side must give back the same u."""
    rng = np.random.default_rng(28)
    lower, upper = np.sort(rng.uniform(-1, 1, (2, 3000, 1)), axis=0)
    settings = SBX | {"eta": eta, "exchange_probability": 0.0}
    below, above = crossover(np.stack((upper, lower)), *box(1), rng, **settings)
    middle, span = lower + upper, upper - lower

    def uniform_number(q: np.ndarray, room: np.ndarray) -> np.ndarray:
        alpha = 2 - (1 + 2 * room / span) ** -(eta + 1)
        return np.where(q <= 1, q ** (eta + 1), 2 - q ** -(eta + 1)) / alpha

    u = uniform_number((middle - 2 * below) / span, lower + 1)
    np.testing.assert_allclose(u, uniform_number((2 * above - middle) / span, 1 - upper), atol=1e-6)
    assert stats.kstest(u[:, 0], "uniform").pvalue > FALSE_ALARM


@pytest.mark.parametrize("dtype", PRECISIONS)
def test_parents_placed_symmetrically_have_children_with_the_same_mean(dtype):
    rng = np.random.default_rng(6)
    half = rng.uniform(0.01, 1.0, (50, 8)).astype(dtype)
    children = crossover(np.stack((-half, half)), *box(8, dtype), rng, **SBX)
    np.testing.assert_allclose(children[0] + children[1], 0.0, atol=4 * np.finfo(dtype).eps)


def test_probabilities_of_crossing_and_exchange():
    m, d, rng = 2000, 20, np.random.default_rng(7)
    parents = np.stack((np.full((m, d), -0.5), np.full((m, d), 0.5)))
    children = crossover(
        parents, *box(d), rng, eta=15.0, probability=0.9, variable_probability=0.3, exchange_probability=0.2
    )
    crossed = children[0] != -0.5
    # Of the pairs that cross, one in 1/0.7^20 = 1253 has no crossed variable.
    pairs = int(crossed.any(axis=1).sum())
    assert stats.binomtest(pairs, m, 0.9 * (1 - 0.7**20)).pvalue > FALSE_ALARM
    within = crossed[crossed.any(axis=1)]
    assert stats.binomtest(int(within.sum()), within.size, 0.3 / (1 - 0.7**20)).pvalue > FALSE_ALARM
    upper = int((children[0][crossed] > children[1][crossed]).sum())
    assert stats.binomtest(upper, int(crossed.sum()), 0.2).pvalue > FALSE_ALARM


def test_no_crossing_copies_the_parents():
    rng = np.random.default_rng(8)
    parents = rng.uniform(-1, 1, (2, 30, 5))
    for setting in ("probability", "variable_probability"):
        np.testing.assert_array_equal(crossover(parents, *box(5), rng, **(SBX | {setting: 0.0})), parents)


def test_variables_in_which_parents_agree_are_left_alone():
    rng = np.random.default_rng(9)
    parents = rng.uniform(-1, 1, (2, 40, 6))
    parents[1, :, ::2] = parents[0, :, ::2]
    parents[0, :, 0], parents[1, :, 0] = 0.0, 1e-15
    children = crossover(parents, *box(6), rng, **SBX)
    np.testing.assert_array_equal(children[:, :, ::2], parents[:, :, ::2])
    assert (children[:, :, 1::2] != parents[:, :, 1::2]).all()


@given(precisions, seeds, st.floats(0.0, 40.0), st.data())
def test_children_stay_in_the_box_and_keep_the_precision(dtype, seed, eta, data):
    low = data.draw(hnp.arrays(dtype, 4, elements=st.floats(-10, 0, width=32)))
    high = low + data.draw(hnp.arrays(dtype, 4, elements=st.floats(0, 10, width=32)))
    share = data.draw(hnp.arrays(dtype, (2, 6, 4), elements=st.floats(0, 1, width=32)))
    parents = np.clip(low + share * (high - low), low, high)
    before = parents.copy()
    rng = np.random.default_rng(seed)
    children = crossover(parents, low, high, rng, **(SBX | {"eta": eta}))
    mutants = mutate(children.reshape(12, 4), low, high, rng, eta=eta, probability=1.0, variable_probability=0.5)
    for points in (children, mutants):
        assert points.dtype == dtype
        assert ((low <= points) & (points <= high)).all()
    np.testing.assert_array_equal(parents, before)


# ------------------------------------------------------------------------------------------------------ mutation


@pytest.mark.parametrize("dtype", PRECISIONS)
@pytest.mark.parametrize("x", [-1.0, -0.9, 0.1, 0.97])
def test_mutants_are_distributed_as_in_pymoo(x, dtype):
    n = 20_000
    points = np.full((n, 1), x, dtype)
    mutants = mutate(
        points, *box(1, dtype), np.random.default_rng(10), eta=20.0, probability=1.0, variable_probability=1.0
    )
    expected = mut_pm(
        points.astype(np.float64),
        *box(1),
        np.full(n, 20.0),
        np.ones(n),
        at_least_once=False,
        random_state=np.random.default_rng(11),
    )
    # In float32 and at a bound, values that differ by rounding only must count as ties.
    assert stats.ks_2samp(mutants[:, 0].round(5), expected[:, 0].round(5)).pvalue > FALSE_ALARM


def test_far_from_the_bounds_mutation_has_its_law():
    """With (1 - room)^21 negligible the relative step s has density proportional to (1 - |s|)^20."""
    points = np.zeros((20_000, 1))
    mutants = mutate(points, *box(1), np.random.default_rng(12), eta=20.0, probability=1.0, variable_probability=1.0)
    step = mutants[:, 0] / 2.0
    assert stats.kstest(np.abs(step), lambda s: 1 - (1 - s) ** 21).pvalue > FALSE_ALARM
    assert stats.binomtest(int((step > 0).sum()), len(step)).pvalue > FALSE_ALARM


def test_the_number_of_mutated_variables_is_binomial():
    """Drawing places sparsely must give independent coins: counts per point and per variable have their law."""
    n, d = 6000, 12
    points = np.zeros((n, d))
    changed = mutate(points, *box(d), np.random.default_rng(13), eta=20.0, probability=1.0) != points
    counts = np.bincount(changed.sum(axis=1), minlength=d + 1)
    expected = n * stats.binom.pmf(np.arange(d + 1), d, 1 / d)
    observed, expected = np.append(counts[:4], counts[4:].sum()), np.append(expected[:4], expected[4:].sum())
    assert stats.chisquare(observed, expected).pvalue > FALSE_ALARM
    assert stats.chisquare(changed.sum(axis=0)).pvalue > FALSE_ALARM


def test_a_point_mutates_with_its_probability():
    points = np.zeros((4000, 3))
    rng = np.random.default_rng(14)
    for probability in (0.0, 0.4, 1.0):
        mutants = mutate(points, *box(3), rng, eta=20.0, probability=probability, variable_probability=1.0)
        moved = int((mutants != points).all(axis=1).sum())
        assert moved == int((mutants != points).any(axis=1).sum())
        assert stats.binomtest(moved, 4000, probability).pvalue > FALSE_ALARM


@pytest.mark.parametrize(("d", "probability"), [(1, 0.5), (2, 0.5), (50, 0.02)])
def test_by_default_about_one_variable_mutates_but_never_more_than_half(d, probability):
    points = np.zeros((2000, d))
    changed = mutate(points, *box(d), np.random.default_rng(15), eta=20.0, probability=1.0) != points
    assert stats.binomtest(int(changed.sum()), changed.size, probability).pvalue > FALSE_ALARM


def test_a_fixed_variable_does_not_mutate():
    low, high = np.array([-1.0, 0.5]), np.array([1.0, 0.5])
    points = np.tile([0.0, 0.5], (200, 1))
    mutants = mutate(points, low, high, np.random.default_rng(16), eta=20.0, probability=1.0)
    assert (mutants[:, 1] == 0.5).all()
    assert (mutants[:, 0] != 0.0).any()


# --------------------------------------------------------------------------------------- survival and duplicates


@given(
    st.integers(1, 3).flatmap(
        lambda k: hnp.arrays(
            np.float64,
            st.tuples(st.integers(1, 30), st.just(k)),
            elements=st.sampled_from([0.0, 1.0, 2.0, 3.0, np.inf]),
        )
    ),
    st.integers(1, 30),
    seeds,
)
def test_nobody_who_survives_is_worse_than_one_who_does_not(values, size, seed):
    points = np.arange(len(values), dtype=np.float64)[:, None]
    survivors = survive(points, values, size, np.random.default_rng(seed))
    assert len(survivors.points) == min(size, len(values))
    kept = survivors.points[:, 0].astype(int)
    assert len(set(kept)) == len(kept)
    np.testing.assert_array_equal(survivors.values, values[kept])
    ranks = non_dominated_ranks(values)
    crowding = crowding_distance(values, non_dominated_ranks(values, enough=size))
    np.testing.assert_array_equal(survivors.ranks, ranks[kept])
    np.testing.assert_array_equal(survivors.crowding, crowding[kept])
    lost = np.setdiff1d(np.arange(len(values)), kept)
    if len(lost):
        assert max((ranks[i], -crowding[i]) for i in kept) <= min((ranks[i], -crowding[i]) for i in lost)


def test_ties_in_survival_are_broken_at_random():
    rng = np.random.default_rng(17)
    points = np.arange(10.0)[:, None]
    times = np.zeros(10)
    for _ in range(1000):
        times[survive(points, np.zeros((10, 2)), 5, rng).points[:, 0].astype(int)] += 1
    assert stats.chisquare(times).pvalue > FALSE_ALARM


@given(hnp.arrays(np.float64, st.tuples(st.integers(1, 20), st.just(2)), elements=st.sampled_from([-0.0, 0.0, 0.5])))
def test_the_first_of_equal_rows_stays(points):
    taken: set[bytes] = set()
    fresh = without_duplicates(points, taken)
    seen = [tuple(row) for row in points.tolist()]
    assert [tuple(row) for row in fresh.tolist()] == list(dict.fromkeys(seen))
    assert len(taken) == len(fresh)
    assert len(without_duplicates(points[::-1], taken)) == 0


# ---------------------------------------------------------------------------------------------------- whole runs


def two_distances(points: np.ndarray) -> np.ndarray:
    """Distances to two points of the box, and a bumpy function: the shape of the line step of BOIDS."""
    bumps = np.cos(7 * points).sum(axis=1)
    return np.stack((bumps, np.linalg.norm(points - 0.3, axis=1), np.linalg.norm(points + 0.2, axis=1)), axis=1)


class Recorder:
    """Objectives that remember their batches."""

    def __init__(self, objectives) -> None:
        self.objectives = objectives
        self.points: list[np.ndarray] = []
        self.values: list[np.ndarray] = []

    def __call__(self, points: np.ndarray) -> np.ndarray:
        values = self.objectives(points)
        self.points.append(points.copy())
        self.values.append(values.copy())
        return values


@pytest.mark.parametrize("dtype", PRECISIONS)
@pytest.mark.parametrize("d", [1, 7])
def test_batches_evaluations_and_precision(d, dtype):
    rng = np.random.default_rng(18)
    initial = rng.uniform(-1, 1, (250, d)).astype(dtype)
    recorder = Recorder(two_distances)
    front = NSGA2().minimise(recorder, initial, rng)
    assert [len(batch) for batch in recorder.points] == [250] + 99 * [100]
    assert front.evaluations == 250 + 9900
    np.testing.assert_array_equal(recorder.points[0], initial)
    assert all(batch.dtype == dtype and batch.flags.c_contiguous for batch in recorder.points)
    assert all(unique_rows(batch) == len(batch) for batch in recorder.points)
    assert front.points.dtype == front.values.dtype == dtype
    assert 0 < len(front.points) <= 100
    np.testing.assert_array_equal(front.values, two_distances(front.points))
    assert (non_dominated_ranks(front.values) == 0).all()
    assert unique_rows(front.points) == len(front.points)


def test_offspring_differ_from_their_parents():
    """In two dimensions about every tenth child is a copy of a parent, unless such children are replaced."""
    rng = np.random.default_rng(19)
    parents = survive(rng.uniform(-1, 1, (100, 2)).astype(np.float32), rng.random((100, 2)), 100, rng)
    for _ in range(5):
        children = NSGA2().mate(parents, *box(2, np.float32), rng)
        assert len(children) == 100
        assert unique_rows(np.concatenate((parents.points, children))) == 200


def test_the_same_stream_gives_the_same_front():
    initial = np.random.default_rng(20).uniform(-1, 1, (60, 5))
    settings = NSGA2(generations=20)
    fronts = [settings.minimise(two_distances, initial, np.random.default_rng(seed)) for seed in (1, 1, 2)]
    np.testing.assert_array_equal(fronts[0].points, fronts[1].points)
    assert not np.array_equal(fronts[0].points, fronts[2].points)


@pytest.mark.parametrize("k", [1, 2, 3])
def test_the_best_value_of_every_objective_ever_seen_is_on_the_front(k):
    """Also if values are pure noise, as with row-wise Thompson draws, and sometimes nan."""
    noise = np.random.default_rng(21)

    def objectives(points: np.ndarray) -> np.ndarray:
        values = noise.normal(size=(len(points), k))
        values[noise.random((len(points), k)) < 0.05] = np.nan
        return values

    recorder = Recorder(objectives)
    initial = noise.uniform(-1, 1, (300, 6))
    front = NSGA2(generations=40).minimise(recorder, initial, np.random.default_rng(22))
    np.testing.assert_array_equal(front.values.min(axis=0), np.nanmin(np.concatenate(recorder.values), axis=0))


def test_an_infinite_objective_everywhere_is_survived():
    front = NSGA2(generations=5).minimise(
        lambda points: np.full((len(points), 2), np.nan), np.zeros((3, 2)), np.random.default_rng(0)
    )
    assert np.isposinf(front.values).all()


def test_objectives_may_reuse_their_memory():
    memory = np.empty((300, 3))

    def objectives(points: np.ndarray) -> np.ndarray:
        memory[: len(points)] = two_distances(points)
        return memory[: len(points)]

    initial = np.random.default_rng(23).uniform(-1, 1, (300, 3))
    settings = NSGA2(generations=10)
    reused = settings.minimise(objectives, initial, np.random.default_rng(0))
    fresh = settings.minimise(two_distances, initial, np.random.default_rng(0))
    np.testing.assert_array_equal(reused.values, fresh.values)


def test_initial_population_is_clipped_and_loses_duplicates():
    recorder = Recorder(two_distances)
    initial = np.array([[2.0, 0.0], [1.0, 0.0], [1.0, -0.0], [0.5, -3.0]])
    NSGA2(generations=1).minimise(recorder, initial, np.random.default_rng(0))
    np.testing.assert_array_equal(recorder.points[0], [[1.0, 0.0], [0.5, -1.0]])
    assert len(recorder.points) == 1


@pytest.mark.parametrize(
    ("settings", "width"),
    [
        (NSGA2(), 0.0),
        (NSGA2(mutation_probability=0.0), 1.0),
        (NSGA2(variable_mutation_probability=0.0), 1.0),
    ],
)
def test_the_run_ends_when_nothing_new_can_be_made(settings, width):
    """One distinct point crosses with itself only: without mutation, or in a box without width, nothing is new."""
    front = settings.minimise(
        two_distances, np.full((5, 2), 0.25), np.random.default_rng(0), 0.25 - width, 0.25 + width
    )
    np.testing.assert_array_equal(front.points, [[0.25, 0.25]])
    assert front.evaluations == 1


def test_copies_that_are_not_replaced_make_a_smaller_generation():
    """In one dimension about a third of the children are copies; a single attempt leaves their places empty."""
    recorder = Recorder(two_distances)
    settings = NSGA2(generations=2, mating_attempts=1)
    initial = np.random.default_rng(27).uniform(-1, 1, (100, 1))
    front = settings.minimise(recorder, initial, np.random.default_rng(0))
    assert 40 < len(recorder.points[1]) < 90
    assert front.evaluations == 100 + len(recorder.points[1])


def test_the_whole_initial_population_may_mate():
    """Of 1000 equals 200 play, and their 100 children, made next to the winners, have 100 different parents."""
    recorder = Recorder(lambda points: np.concatenate((points, -points), axis=1))
    initial = np.linspace(-1, 1, 1000)[:, None]
    settings = NSGA2(
        generations=2,
        crossover_eta=1e6,
        crossover_probability=1.0,
        variable_crossover_probability=1.0,
        mutation_probability=0.0,
    )
    settings.minimise(recorder, initial, np.random.default_rng(0))
    parents = np.rint((recorder.points[1] + 1) / 2 * 999)
    assert unique_rows(parents) == 100


@pytest.mark.parametrize("offspring", [1, 7, 40, None])
def test_number_of_offspring(offspring):
    recorder = Recorder(two_distances)
    initial = np.random.default_rng(24).uniform(-1, 1, (15, 3))
    settings = NSGA2(population=30, offspring=offspring, generations=4)
    front = settings.minimise(recorder, initial, np.random.default_rng(0))
    assert [len(batch) for batch in recorder.points] == [15] + 3 * [offspring or 30]
    assert len(front.points) <= 30


def test_a_box_given_by_arrays_with_a_fixed_variable():
    low, high = np.array([-1.0, 0.2, 5.0]), np.array([0.0, 0.3, 5.0])
    recorder = Recorder(lambda points: np.stack(((points**2).sum(axis=1), -points[:, 1]), axis=1))
    initial = np.random.default_rng(25).uniform(low, high, (40, 3))
    NSGA2(generations=10).minimise(recorder, initial, np.random.default_rng(0), low, high)
    points = np.concatenate(recorder.points)
    assert ((low <= points) & (points <= high)).all()
    assert unique_rows(points[:, :2]) == len(points)


# ------------------------------------------------------------------------------------------- comparison with pymoo


def zdt1(points: np.ndarray) -> np.ndarray:
    x = (points + 1) / 2
    g = 1 + 9 * x[:, 1:].mean(axis=1)
    return np.stack((x[:, 0], g * (1 - np.sqrt(x[:, 0] / g))), axis=1)


def dtlz2(points: np.ndarray) -> np.ndarray:
    x = (points + 1) / 2
    g = ((x[:, 2:] - 0.5) ** 2).sum(axis=1, keepdims=True)
    a, b = np.pi / 2 * x[:, 0], np.pi / 2 * x[:, 1]
    return (1 + g) * np.stack((np.cos(a) * np.cos(b), np.cos(a) * np.sin(b), np.sin(a)), axis=1)


def sphere(points: np.ndarray) -> np.ndarray:
    return ((points - 0.3) ** 2).sum(axis=1, keepdims=True)


#: Objectives, d, k, size of the uniform initial population, generations: before convergence, where rules matter.
CASES = {"zdt1": (zdt1, 30, 2, 100, 60), "dtlz2": (dtlz2, 12, 3, 500, 40), "sphere": (sphere, 20, 1, 300, 40)}

#: Mean and standard deviation of `quality` over 40 runs of pymoo 0.6.2's NSGA2 (`by_pymoo` with seeds 0 to 39).
PYMOO = {"zdt1": (0.72960, 0.02964), "dtlz2": (2.70251, 0.01350), "sphere": (-1.91242, 0.16170)}


def quality(name: str, values: np.ndarray) -> float:
    """Return the hypervolume below 1.1 (ZDT1) or 1.5 (DTLZ2), or the decimal logarithm of the single objective."""
    if name == "sphere":
        return float(np.log10(values.min()))
    reference = np.full(values.shape[1], 1.1 if name == "zdt1" else 1.5)
    return float(HV(ref_point=reference)(values.astype(np.float64)))


def start(name: str, seed: int) -> np.ndarray:
    _, d, _, n, _ = CASES[name]
    return np.random.default_rng(seed).uniform(-1, 1, (n, d))


def by_boids(name: str, seed: int, dtype: type) -> float:
    objectives, _, _, _, generations = CASES[name]
    settings = NSGA2(generations=generations)
    front = settings.minimise(objectives, start(name, seed).astype(dtype), np.random.default_rng([seed, 1]))
    return quality(name, front.values)


def by_pymoo(name: str, seed: int) -> float:
    objectives, d, k, _, generations = CASES[name]

    class Case(Problem):
        def __init__(self) -> None:
            super().__init__(n_var=d, n_obj=k, xl=-1.0, xu=1.0)

        def _evaluate(self, x, out, *args, **kwargs) -> None:
            out["F"] = objectives(x)

    algorithm = PymooNSGA2(pop_size=100, sampling=start(name, seed))
    found = pymoo_minimize(Case(), algorithm, ("n_gen", generations), seed=seed)
    return quality(name, np.atleast_2d(found.F))


def check_agreement(found: np.ndarray, name: str) -> None:
    """Compare mean (Welch's t-test) and spread (F-test) of the quality with the 40 stored runs."""
    n, mean, deviation = len(found), *PYMOO[name]
    location = stats.ttest_ind_from_stats(found.mean(), found.std(ddof=1), n, mean, deviation, 40, equal_var=False)
    assert location.pvalue > FALSE_ALARM
    ratio = found.var(ddof=1) / deviation**2
    assert 2 * min(stats.f.cdf(ratio, n - 1, 39), stats.f.sf(ratio, n - 1, 39)) > FALSE_ALARM


@pytest.mark.parametrize("dtype", PRECISIONS)
@pytest.mark.parametrize("name", list(CASES))
def test_fronts_are_as_good_as_pymoo_s(name, dtype):
    check_agreement(np.array([by_boids(name, seed, dtype) for seed in range(12)]), name)


@pytest.mark.slow
@pytest.mark.parametrize("name", list(CASES))
def test_the_stored_runs_are_pymoo_s(name):
    check_agreement(np.array([by_pymoo(name, seed) for seed in range(100, 112)]), name)


def test_a_single_objective_is_minimised():
    """A plain elitist genetic algorithm: after 100 generations in ten dimensions the optimum to three digits."""
    initial = np.random.default_rng(26).uniform(-1, 1, (100, 10))
    front = NSGA2().minimise(sphere, initial, np.random.default_rng(0))
    assert len(np.unique(front.values)) == 1
    assert front.values.min() < 1e-4


# --------------------------------------------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("population", 0),
        ("offspring", 0),
        ("generations", 0),
        ("mating_attempts", 0),
        ("crossover_eta", -1.0),
        ("mutation_eta", float("nan")),
        ("crossover_probability", 1.1),
        ("variable_mutation_probability", -0.1),
    ],
)
def test_settings_out_of_range(field, value):
    with pytest.raises(MethodError, match=field):
        replace(NSGA2(), **{field: value})


@pytest.mark.parametrize("shape", [(5,), (0, 3), (3, 0)])
def test_initial_population_of_a_wrong_shape(shape):
    with pytest.raises(ValueError, match="one point per row"):
        NSGA2().minimise(two_distances, np.zeros(shape), np.random.default_rng(0))


@pytest.mark.parametrize("wrong", [lambda z: z[:, 0], lambda z: z[:-1], lambda z: np.empty((len(z), 0))])
def test_objectives_of_a_wrong_shape(wrong):
    with pytest.raises(ValueError, match="one row per point"):
        NSGA2().minimise(wrong, np.zeros((4, 2)) + np.arange(4)[:, None] / 4, np.random.default_rng(0))


def test_crossed_bounds():
    with pytest.raises(ValueError, match="low <= high"):
        NSGA2().minimise(two_distances, np.zeros((2, 2)), np.random.default_rng(0), low=1.0, high=[2.0, 0.0])
