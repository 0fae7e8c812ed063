"""Wrappers: the laws of a problem hold after every composition, and each wrapper does what it says."""

import copy
import json
import math
import pickle
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import qmc

import boids
from boids.errors import EvaluationError, ProblemError
from boids.problems import Problem, make, wrappers
from boids.space import Bool, Float, Space

Wrapper = Callable[[Problem, np.random.Generator], Problem]

#: One example of every wrapper that keeps the problem a deterministic function.
WRAPPERS: dict[str, Wrapper] = {
    "pad": lambda p, rng: wrappers.pad(
        p, p.dim + 2, positions=wrappers.random_positions(p.dim, p.dim + 2, rng), low=-1.0, high=3.0
    ),
    "permute": lambda p, rng: wrappers.permute(p, wrappers.random_positions(p.dim, p.dim, rng)),
    "shift": lambda p, rng: wrappers.shift(p, wrappers.random_offset(p, rng)),
    "rotate": lambda p, rng: wrappers.rotate(p, wrappers.random_rotation(p.dim, rng)),
    "sign_flip": lambda p, rng: wrappers.sign_flip(p, wrappers.random_signs(p.dim, rng)),
    "clip": lambda p, rng: wrappers.clip(p),
    "count": lambda p, rng: wrappers.count(p),
    "delay": lambda p, rng: wrappers.delay(p, 0.0),
    "fail": lambda p, rng: wrappers.fail(p, 0.2, seed=int(rng.integers(1000)), how="nan"),
}
BASES = ("ackley", "branin", "griewank", "hartmann", "powell", "rosenbrock", "schwefel", "styblinski-tang")


def base(name: str) -> Problem:
    return make(name, {"branin": 2, "hartmann": 6}.get(name, 4))


def sobol(problem: Problem, count: int = 256) -> np.ndarray:
    unit = qmc.Sobol(problem.dim, seed=0).random(count)
    return problem.low + unit * (problem.high - problem.low)


# The laws


def test_padding_twice_keeps_track_of_the_coordinates_that_matter() -> None:
    once = wrappers.pad(base("branin"), 4, positions=[3, 1])
    twice = wrappers.pad(once, 6, positions=[5, 4, 1, 0])
    assert (once.active.tolist(), twice.active.tolist()) == ([3, 1], [0, 4])
    assert wrappers.permute(once, [1, 2, 3, 0]).active.tolist() == [0, 2]


@settings(max_examples=150)
@given(
    name=st.sampled_from(BASES),
    chain=st.lists(st.sampled_from(sorted(WRAPPERS)), min_size=1, max_size=6),
    seed=st.integers(0, 10**6),
)
def test_the_laws_hold_after_every_composition(name: str, chain: list[str], seed: int) -> None:
    rng = np.random.default_rng(seed)
    problem = base(name)
    for wrapper in chain:
        problem = WRAPPERS[wrapper](problem, rng)
    assert problem.optimum == base(name).optimum
    assert len(problem.minimisers) >= 1
    assert np.all((problem.minimisers >= problem.low) & (problem.minimisers <= problem.high))
    # Powell's and Rosenbrock's curvature turns the last digit of a coordinate into 1e-10 of the value.
    np.testing.assert_allclose(problem(problem.minimisers), problem.optimum, rtol=1e-12, atol=1e-9)
    points = sobol(problem)
    values = problem(points)
    assert np.nanmin(values) > problem.optimum
    near = problem.minimisers[0] + 1e-3 * rng.standard_normal((20, problem.dim)) * (problem.high - problem.low)
    assert np.nanmin(problem(np.clip(near, problem.low, problem.high)), initial=np.inf) >= problem.optimum - 1e-9
    again = pickle.loads(pickle.dumps(problem))
    np.testing.assert_array_equal(again(points), values)
    np.testing.assert_allclose([problem(point) for point in points[:8]], values[:8], rtol=1e-13, atol=1e-13)


@settings(max_examples=30)
@given(chain=st.permutations(["pad", "permute", "shift", "rotate", "sign_flip"]), seed=st.integers(0, 10**6))
def test_only_the_active_coordinates_matter_after_a_composition(chain: list[str], seed: int) -> None:
    rng = np.random.default_rng(seed)
    problem = base("levy") if seed % 2 else base("hartmann")
    for wrapper in chain:
        problem = WRAPPERS[wrapper](problem, rng)
    points = sobol(problem, 8)
    redrawn = rng.uniform(problem.low, problem.high, points.shape)
    redrawn[:, problem.active] = points[:, problem.active]
    np.testing.assert_array_equal(problem(redrawn), problem(points))


def test_a_wrapper_leaves_the_wrapped_problem_alone() -> None:
    problem = base("hartmann")
    before = copy.deepcopy(problem)
    for wrapper in WRAPPERS.values():
        wrapper(problem, np.random.default_rng(0))
    wrappers.noise(problem, 1.0)
    np.testing.assert_array_equal(problem.minimisers, before.minimisers)
    np.testing.assert_array_equal(problem(sobol(problem)), before(sobol(problem)))
    assert not problem.noisy


# Coordinates


def test_permute_moves_coordinates_with_their_ranges() -> None:
    problem = wrappers.permute(base("branin"), [1, 0])
    assert problem([2.0, -3.0]) == base("branin")([-3.0, 2.0])
    assert problem.low.tolist() == [0.0, -5.0]
    assert problem.high.tolist() == [15.0, 10.0]
    assert problem.active.tolist() == [1, 0]


def test_sign_flip_mirrors_in_the_middle_of_the_box() -> None:
    problem = wrappers.sign_flip(base("branin"), [-1, 1])
    assert problem([10.0, 3.0]) == base("branin")([-5.0, 3.0])
    assert problem([1.0, 3.0]) == base("branin")([4.0, 3.0])
    np.testing.assert_allclose(problem.minimisers[0], [5 + math.pi, 12.275])
    twice = wrappers.sign_flip(problem, [-1, 1])
    np.testing.assert_allclose(twice.minimisers, base("branin").minimisers, atol=1e-12)


def test_a_flip_can_leave_the_centre_of_a_symmetric_function() -> None:
    points = sobol(base("ackley"), 16)
    flipped = wrappers.sign_flip(base("ackley"), [-1, 1, -1, 1])
    np.testing.assert_array_equal(flipped(points), base("ackley")(points))


def test_random_signs_are_fair() -> None:
    signs = wrappers.random_signs(4000, np.random.default_rng(0))
    assert set(signs) == {-1.0, 1.0}
    assert abs(signs.mean()) < 5 / math.sqrt(4000)  # 5 standard errors: false alarms below 1e-6, and the seed is fixed


def test_rotate_turns_about_the_minimiser_in_units_of_the_box() -> None:
    problem = base("branin")
    quarter = np.array([[0.0, -1.0], [1.0, 0.0]])
    rotated = wrappers.rotate(problem, quarter)
    centre = problem.minimisers[0]
    np.testing.assert_array_equal(rotated.minimisers[0], centre)
    # The box has widths 15 and 15: a step along x becomes a step along y.
    right, up = np.eye(2)
    assert rotated(centre + right) == pytest.approx(problem(centre + up), rel=1e-12)
    assert rotated.active.tolist() == [0, 1]
    np.testing.assert_allclose(rotated(rotated.minimisers), problem.optimum, atol=1e-10)
    np.testing.assert_array_equal(rotated.low, problem.low)


def test_all_minimisers_turn_with_the_function() -> None:
    wells = np.array([[0.5, -0.2], [0.9, 0.3], [-1.0, 2.0]])

    def nearest(x: np.ndarray) -> np.ndarray:
        return np.min(np.sum((x[:, np.newaxis] - wells) ** 2, axis=2), axis=1)

    problem = Problem("wells", nearest, low=[-1.0, -2.0], high=[1.0, 2.0], optimum=0.0, minimisers=wells)
    turn = math.radians(30)
    rotated = wrappers.rotate(problem, [[math.cos(turn), -math.sin(turn)], [math.sin(turn), math.cos(turn)]])
    assert len(rotated.minimisers) == 2  # the one in the corner has left the box
    np.testing.assert_allclose(rotated(rotated.minimisers), 0.0, atol=1e-12)


def test_rotating_back_gives_the_old_function() -> None:
    problem = base("hartmann")
    rotation = wrappers.random_rotation(6, np.random.default_rng(0))
    back = wrappers.rotate(wrappers.rotate(problem, rotation), rotation.T)
    np.testing.assert_allclose(back(sobol(problem)), problem(sobol(problem)), rtol=1e-11)


def test_random_rotations_are_orthogonal_and_uniform() -> None:
    rng = np.random.default_rng(0)
    matrices = np.array([wrappers.random_rotation(3, rng) for _ in range(2000)])
    np.testing.assert_allclose(
        matrices @ np.swapaxes(matrices, 1, 2), np.broadcast_to(np.eye(3), (2000, 3, 3)), atol=1e-12
    )
    # Every entry has mean 0 and variance 1/3; 5 standard errors for each of 9: false alarms below 1e-5.
    assert np.all(np.abs(matrices.mean(axis=0)) < 5 * math.sqrt(1 / 3 / 2000))
    assert np.all(np.abs((matrices**2).mean(axis=0) - 1 / 3) < 5 * math.sqrt(4 / 45 / 2000))


def test_clip_keeps_a_function_in_its_box() -> None:
    def only_inside(x: np.ndarray) -> np.ndarray:
        assert np.all(np.abs(x) <= 1)
        return np.sum((x - 0.5) ** 2, axis=1)

    own = Problem("own", only_inside, low=[-1.0, -1.0], high=[1.0, 1.0], optimum=0.0, minimisers=[[0.5, 0.5]])
    rng = np.random.default_rng(0)
    problem = wrappers.clip(own)
    problem = wrappers.rotate(
        wrappers.shift(problem, wrappers.random_offset(problem, rng)), wrappers.random_rotation(2, rng)
    )
    assert problem(sobol(problem)).min() > 0.0
    assert problem(problem.minimisers[0]) == pytest.approx(0.0, abs=1e-12)
    assert wrappers.clip(own)([3.0, 0.5]) == own([1.0, 0.5])


def test_where_no_minimiser_is_known_the_optimum_is_forgotten() -> None:
    known = make("ackley", 3)
    unknown = Problem("own", known.evaluate, low=known.low, high=known.high, optimum=0.0)
    assert wrappers.shift(unknown, np.ones(3)).optimum is None
    assert wrappers.rotate(unknown, np.eye(3)).optimum is None
    assert wrappers.permute(unknown, [2, 1, 0]).optimum == 0.0
    assert wrappers.sign_flip(unknown, [1, 1, -1]).optimum == 0.0
    with pytest.raises(ProblemError, match="needs a known minimiser"):
        wrappers.random_offset(unknown, np.random.default_rng(0))


def test_constraints_pass_through() -> None:
    def disc(x: np.ndarray) -> np.ndarray:
        return np.column_stack([x[:, 0], np.sum(x**2, axis=1) - 1])

    problem = Problem("disc", disc, low=[-2.0, -3.0], high=[2.0, 3.0], n_constraints=1)
    assert wrappers.pad(problem, 3, positions=[2, 0])([1.0, 9.0, 0.5]) == (0.5, [0.25])
    assert wrappers.shift(problem, [1.0, 0.0])([1.5, 1.0]) == (0.5, [0.25])
    value, constraints = wrappers.noise(problem, 1.0)([0.5, 1.0])
    assert value != 0.5
    assert constraints == [0.25]
    values, constraints = wrappers.fail(problem, region=([0.0, 0.0], [1.0, 1.0]), how="nan")([[0.5, 1.0], [-0.5, 1.0]])
    assert np.isnan([values[0], *constraints[0]]).all()
    assert (values[1], constraints[1].tolist()) == (-0.5, [0.25])


# Noise


def test_fresh_noise_is_normal_and_never_the_same() -> None:
    # Mean and variance of 4000 draws within 5 standard errors: false alarms below 2e-6. The draws are not seeded.
    problem = wrappers.noise(base("ackley"), 0.5)
    assert problem.noisy
    assert not problem.stateful
    assert problem.optimum == 0.0
    point = np.ones(4)
    draws = problem(np.tile(point, (4000, 1))) - base("ackley")(point)
    assert np.unique(draws).size == 4000
    assert abs(draws.mean()) < 5 * 0.5 / math.sqrt(4000)
    assert abs(draws.var() - 0.25) < 5 * 0.25 * math.sqrt(2 / 4000)
    assert problem(point) != problem(point)


def test_seeded_noise_depends_on_the_number_of_the_evaluation() -> None:
    def fresh(seed: int) -> Problem:
        return wrappers.noise(base("ackley"), 0.5, seed=seed)

    points = sobol(base("ackley"), 8)
    exact = base("ackley")(points)
    together = fresh(3)(points) - exact
    problem = fresh(3)
    one_by_one = np.array([problem(point) for point in points]) - exact
    np.testing.assert_allclose(one_by_one, together, atol=1e-12)
    np.testing.assert_allclose(fresh(3)(points[::-1]) - exact[::-1], together, atol=1e-12)
    assert not np.allclose(fresh(4)(points) - exact, together)
    # 2000 draws: within 5 standard errors, seeded.
    problem = fresh(0)
    draws = problem(np.tile(points[0], (2000, 1))) - exact[0]
    assert abs(draws.mean()) < 5 * 0.5 / math.sqrt(2000)
    assert abs(draws.std() - 0.5) < 5 * 0.5 / math.sqrt(4000)


def test_seeded_noise_resumes_where_it_was() -> None:
    problem = wrappers.pad(wrappers.noise(base("ackley"), 0.5, seed=1), 6)
    assert problem.stateful
    point = np.ones(6)
    first = [problem(point) for _ in range(3)]
    state = json.loads(json.dumps(problem.state()))
    then = [problem(point) for _ in range(3)]
    assert len({*first, *then}) == 6
    problem.restore(state)
    assert [problem(point) for _ in range(3)] == then
    sent = pickle.loads(pickle.dumps(wrappers.noise(base("ackley"), 0.5, seed=1)))
    assert sent(np.ones(4)) == first[0]


def test_two_noises_have_two_states() -> None:
    problem = wrappers.noise(wrappers.noise(base("ackley"), 0.5, seed=1), 0.1, seed=2)
    point = np.ones(4)
    problem(point)
    state = json.loads(json.dumps(problem.state()))
    assert state == [{"calls": 1}, {"calls": 1}]
    following = problem(point)
    problem.restore(state)
    assert problem(point) == following
    with pytest.raises(ProblemError, match="remembers 2 things"):
        problem.restore({"calls": 1})


def test_an_evaluation_that_fails_takes_no_noise() -> None:
    sphere = base("sphere")
    shaky = wrappers.noise(wrappers.fail(sphere, region=(1.0, 2.0)), 0.5, seed=1)
    with pytest.raises(EvaluationError):
        shaky(np.full(4, 1.5))
    assert shaky.state() == {"calls": 0}
    assert shaky(np.zeros(4)) == wrappers.noise(sphere, 0.5, seed=1)(np.zeros(4))


def test_noise_of_no_points() -> None:
    assert wrappers.noise(base("ackley"), 0.5, seed=1)(np.empty((0, 4))).shape == (0,)
    assert wrappers.noise(base("ackley"), 0.5)(np.empty((0, 4))).shape == (0,)


# Counting and waiting


def test_count_counts_points_also_those_that_fail() -> None:
    counted = wrappers.count(wrappers.fail(base("ackley"), region=(0.0, 1.0)))
    assert wrappers.evaluations(counted) == 0
    counted(np.full((16, 4), -1.0))
    counted(-np.ones(4))
    with pytest.raises(EvaluationError):
        counted(np.full(4, 0.5))
    assert wrappers.evaluations(counted) == 18
    outer = wrappers.pad(wrappers.clip(counted), 6)
    outer(-np.ones(6))
    assert wrappers.evaluations(outer) == 19
    assert not counted.stateful
    with pytest.raises(ProblemError, match="wrap it with count"):
        wrappers.evaluations(base("ackley"))


def test_a_copy_goes_on_counting_from_where_it_was_made() -> None:
    counted = wrappers.count(base("sphere"))
    counted(np.zeros((3, 4)))
    copied = pickle.loads(pickle.dumps(counted))
    copied(np.zeros(4))
    assert (wrappers.evaluations(counted), wrappers.evaluations(copied)) == (3, 4)


def test_count_is_right_with_threads() -> None:
    counted = wrappers.count(base("sphere"))
    with ThreadPoolExecutor(8) as executor:
        list(executor.map(counted, np.zeros((800, 4))))
    assert wrappers.evaluations(counted) == 800


def test_minimize_makes_as_many_evaluations_as_it_says() -> None:
    counted = wrappers.count(base("sphere"))
    result = boids.minimize(counted, counted.space, 25, method="random", seed=0)
    assert wrappers.evaluations(counted) == result.nfev == 25


def test_delay_sleeps_for_every_point(monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []
    monkeypatch.setattr(time, "sleep", slept.append)
    slow = wrappers.delay(base("sphere"), 0.25)
    assert slow(np.ones(4)) == 4.0
    slow(np.ones((3, 4)))
    assert slept == [0.25, 0.75]
    assert slow.cost == "0.25 s and microseconds"


# Crashes


def test_a_share_of_the_points_fails_always_the_same() -> None:
    # 2000 points, 10 %: the share within 5 standard errors, false alarms below 1e-6; the points are fixed.
    points = sobol(base("ackley"), 2048)
    crashing = wrappers.fail(base("ackley"), 0.1, how="nan")
    failed = np.isnan(crashing(points))
    assert abs(failed.mean() - 0.1) < 5 * math.sqrt(0.09 / 2048)
    np.testing.assert_array_equal(np.isnan(crashing(points)), failed)
    np.testing.assert_array_equal(crashing(points)[~failed], base("ackley")(points)[~failed])
    other = np.isnan(wrappers.fail(base("ackley"), 0.1, seed=1, how="nan")(points))
    assert not np.array_equal(other, failed)
    raising = wrappers.fail(base("ackley"), 0.1)
    with pytest.raises(EvaluationError, match="crashed"):
        raising(points[failed][0])
    assert raising(points[~failed][0]) == base("ackley")(points[~failed][0])
    with pytest.raises(EvaluationError):
        raising(points)  # a simulator that crashes takes the whole batch with it


def test_all_may_fail_but_the_known_minimisers() -> None:
    problem = wrappers.fail(base("branin"), 1.0, how="nan")
    np.testing.assert_allclose(problem(problem.minimisers), problem.optimum, atol=1e-10)
    assert np.isnan(problem(sobol(problem))).all()
    assert math.isnan(problem([0.0, 0.0]))


def test_zero_and_minus_zero_are_the_same_point() -> None:
    problem = wrappers.fail(base("branin"), 0.5, how="nan")
    others = np.arange(1.0, 15.0)
    plus, minus = (problem(np.column_stack([np.full(14, zero), others])) for zero in (0.0, -0.0))
    np.testing.assert_array_equal(plus, minus)
    assert 0 < np.isnan(plus).sum() < 14


def test_a_region_fails() -> None:
    problem = wrappers.fail(base("branin"), region=([-5.0, 10.0], [0.0, 15.0]))
    with pytest.raises(EvaluationError):
        problem([-3.0, 12.0])
    assert problem([-3.0, 9.0]) == base("branin")([-3.0, 9.0])
    assert problem.optimum == base("branin").optimum
    assert len(problem.minimisers) == 2
    np.testing.assert_allclose(problem(problem.minimisers), problem.optimum, atol=1e-10)


def test_a_region_with_all_minimisers_takes_the_optimum_with_it() -> None:
    problem = wrappers.fail(base("ackley"), region=(-1.0, 1.0))
    assert problem.optimum is None
    assert not len(problem.minimisers)


def test_minimize_lives_with_crashes() -> None:
    problem = wrappers.fail(base("sphere"), 0.3)
    result = boids.minimize(problem, problem.space, 40, method="random", seed=0)
    failed = [trial for trial in result.trials if trial.failed]
    assert 3 <= len(failed) <= 25
    assert failed[0].error == "The evaluation crashed, as the problem was made to do here."
    assert result.success


# Named parameters


SPACE = Space({"x": Float(-1, 1, shape=2), "on": Bool()})


def named() -> Problem:
    return Problem("named", lambda point: float(point["x"] @ point["x"]) + point["on"], search_space=SPACE)


def test_disturbances_take_named_parameters() -> None:
    points = [SPACE.decode(unit) for unit in np.random.default_rng(0).uniform(-1, 1, (300, 3))]
    counted = wrappers.count(named())
    exact = [counted(point) for point in points]
    assert wrappers.evaluations(counted) == 300
    noisy = wrappers.noise(named(), 0.1, seed=0)
    differences = np.array([noisy(point) for point in points]) - exact
    assert np.abs(differences).min() > 0
    assert abs(differences.std() - 0.1) < 5 * 0.1 / math.sqrt(600)
    assert wrappers.delay(named(), 0.0)(points[0]) == exact[0]
    crashing = wrappers.fail(named(), 0.3, how="nan")
    failed = np.isnan([crashing(point) for point in points])
    assert abs(failed.mean() - 0.3) < 5 * math.sqrt(0.21 / 300)
    assert failed.tolist() == [math.isnan(crashing(dict(reversed(point.items())))) for point in points]
    with pytest.raises(EvaluationError):
        wrappers.fail(named(), 1.0)(points[0])
    both = Problem("named", lambda point: [1.0, 2.0], search_space=SPACE, n_constraints=1)
    assert np.isnan(np.hstack(wrappers.fail(both, 1.0, how="nan")(points[0]))).all()
    value, constraints = wrappers.noise(both, 0.1)(points[0])
    assert value != 1.0
    assert constraints == [2.0]


@pytest.mark.parametrize(
    "wrap",
    [
        lambda p: wrappers.pad(p, 9),
        lambda p: wrappers.permute(p, [0, 1, 2]),
        lambda p: wrappers.shift(p, np.zeros(3)),
        lambda p: wrappers.rotate(p, np.eye(3)),
        lambda p: wrappers.sign_flip(p, np.ones(3)),
        wrappers.clip,
        lambda p: wrappers.fail(p, region=(0.0, 1.0)),
    ],
)
def test_what_changes_coordinates_needs_a_box(wrap: Callable[[Problem], Problem]) -> None:
    with pytest.raises(ProblemError, match="named parameters"):
        wrap(named())


# What is refused


@pytest.mark.parametrize(
    ("wrap", "words"),
    [
        (lambda p: wrappers.shift(p, [0.0, 60.0, 0.0, 0.0]), "keep a known minimiser"),
        (lambda p: wrappers.shift(p, [0.0]), "offset must be 4 finite numbers"),
        (lambda p: wrappers.shift(p, [0.0, np.nan, 0.0, 0.0]), "offset must be 4 finite numbers"),
        (lambda p: wrappers.rotate(p, np.eye(3)), "orthogonal matrix of shape"),
        (lambda p: wrappers.rotate(p, 2 * np.eye(4)), "not orthogonal"),
        (lambda p: wrappers.sign_flip(p, [1, 1, 0, 1]), "1 or -1"),
        (lambda p: wrappers.sign_flip(p, [1, 1]), "signs must be 4"),
        (lambda p: wrappers.permute(p, [0, 1, 2, 2]), "4 distinct integers"),
        (lambda p: wrappers.pad(p, 3), "dim must be an integer of at least"),
        (lambda p: wrappers.pad(p, 9.0), "dim must be an integer of at least"),
        (lambda p: wrappers.shift(p, "far"), "offset must be"),
        (lambda p: wrappers.rotate(p, "a bit"), "orthogonal matrix"),
        (lambda p: wrappers.fail(p, region=(1.0, 0.0)), "low <= high"),
        (lambda p: wrappers.fail(p, region=(np.nan, 1.0)), "low <= high"),
        (lambda p: wrappers.noise(p, -1.0), "finite number"),
        (lambda p: wrappers.noise(p, True), "finite number"),
        (lambda p: wrappers.noise(p, math.inf), "finite number"),
        (lambda p: wrappers.noise(p, 1.0, seed=-1), "seed must be an integer"),
        (lambda p: wrappers.delay(p, -1.0), "finite number of seconds"),
        (lambda p: wrappers.fail(p), "exactly one"),
        (lambda p: wrappers.fail(p, 0.1, region=(0.0, 1.0)), "exactly one"),
        (lambda p: wrappers.fail(p, 1.5), r"in \(0, 1\]"),
        (lambda p: wrappers.fail(p, -0.5), r"in \(0, 1\]"),
        (lambda p: wrappers.fail(p, 0.1, how="loudly"), "'raise' or 'nan'"),
        (lambda p: wrappers.fail(p, region=([0.0, 1.0], [1.0])), "pair"),
        (lambda p: wrappers.fail(p, region=3.0), "pair"),
    ],
)
def test_wrong_arguments_are_refused_in_clear_words(wrap: Callable[[Any], Any], words: str) -> None:
    with pytest.raises(ProblemError, match=words):
        wrap(base("ackley"))
