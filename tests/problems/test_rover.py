"""The rover: values of the original on its own obstacles, the parts of the cost, and obstacles drawn by a seed."""

from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from boids.errors import ProblemError
from boids.problems import Problem, data, make
from boids.problems.rover import ORIGINAL, SIDE, RouteCost, own_centres, route


def original(dim: int, **options: float) -> Problem:
    if data.find(ORIGINAL) is None:
        pytest.skip(f"needs {ORIGINAL}, which is not shipped and not in {data.places()}")
    return make("rover", dim, field="original", **options)


@pytest.mark.parametrize(
    ("dim", "seed", "margin", "expected"),
    [
        (60, 0, 0.1, 24.7927818395),
        (60, 1, 0.1, 20.0244342142),
        (100, 0, 0.1, 21.1680792544),
        (100, 1, 0.1, 25.9136172961),
        (60, 0, 0.0, 25.0933076591),
        (60, 1, 0.0, 18.2565752407),
    ],
)
def test_values_of_the_original(dim: int, seed: int, margin: float, expected: float) -> None:
    assert original(dim, margin=margin)(np.random.default_rng(seed).random(dim)) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("dim", [60, 100])
def test_the_straight_line_of_the_original(dim: int) -> None:
    assert original(dim)(straight(dim)) == pytest.approx(7.5041866412, abs=1e-9)


def straight(dim: int) -> np.ndarray:
    """From the start to the goal, if control points may lie 0.1 outside."""
    return np.repeat(np.linspace(0.125, 0.875, dim // 2), 2)


NOWHERE = np.array([[5.0, 5.0]])


def test_the_cost_of_a_straight_line_is_its_length() -> None:
    cost = RouteCost(NOWHERE, 0.1)
    assert cost(straight(60)[np.newaxis])[0] == pytest.approx(0.05 * 0.9 * np.sqrt(2), rel=1e-6)


def test_an_obstacle_costs_its_width_and_counts_once() -> None:
    free = RouteCost(NOWHERE, 0.1)(straight(60)[np.newaxis])[0]
    one = RouteCost(np.array([[0.5, 0.5]]), 0.1)(straight(60)[np.newaxis])[0]
    two = RouteCost(np.array([[0.5, 0.5], [0.5, 0.5]]), 0.1)(straight(60)[np.newaxis])[0]
    # The diagonal of the square, to within one of the 999 segments.
    assert one - free == pytest.approx(20 * SIDE * np.sqrt(2), abs=20 * 0.9 * np.sqrt(2) / 999)
    assert two == one


def test_ends_and_the_outside_cost_too() -> None:
    cost = RouteCost(NOWHERE, 0.0)
    # From (0.25, 0.05) to (0.95, 0.75): 0.2 away from the start, 0.2 away from the goal.
    line = np.column_stack([np.linspace(0.25, 0.95, 30), np.linspace(0.05, 0.75, 30)])
    assert cost(line.reshape(1, -1))[0] == pytest.approx(4.0 + 0.05 * 0.7 * np.sqrt(2), rel=1e-6)
    # Along the lower edge, x = 0 … 1 at y = -0.05, all of it outside.
    below = np.column_stack([np.linspace(0.0, 1.0, 30), np.full(30, -0.05)])
    assert cost(below.reshape(1, -1))[0] == pytest.approx(20.05 + 10 * (0.05 + 0.1 + 0.05 + 1.0), rel=1e-6)


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize(
    ("at", "costly"), [(0.5 - SIDE / 2, True), (0.5 + SIDE / 2, False), (0.0, False), (1.0, True), (-1e-9, True)]
)
def test_squares_and_the_field_include_their_lower_edges_and_not_their_upper_ones(
    at: float, costly: bool, axis: int
) -> None:
    # Along an edge, where the square is; 0.01 long, so that a collision costs 0.2.
    line = np.full((1000, 2), at)
    line[:, 1 - axis] = np.linspace(0.495, 0.505, 1000)
    ends = 10 * (np.abs(line[0] - 0.05).sum() + np.abs(line[-1] - 0.95).sum())
    cost = RouteCost(np.array([[0.5, 0.5]]), 0.0)._cost(line)
    assert cost == pytest.approx(ends + 0.01 * (20.05 if costly else 0.05), rel=1e-9)


@given(st.integers(1, 8), st.integers(0, 1000))
def test_control_points_at_the_same_place_count_once(copies: int, seed: int) -> None:
    points = np.random.default_rng(seed).random((6, 2))
    np.testing.assert_array_equal(route(np.repeat(points, copies, axis=0)), route(points))


@pytest.mark.parametrize("different", [1, 2, 3])
def test_few_different_control_points_still_make_a_route(different: int) -> None:
    points = np.repeat([[0.1, 0.2], [0.6, 0.3], [0.9, 0.9]][:different], 10, axis=0)
    found = route(points)
    assert found.shape == (1000, 2)
    assert np.all(np.isfinite(found))
    if different == 1:
        assert np.all(found == [0.1, 0.2])


def test_control_points_a_rounding_error_apart_have_a_value() -> None:
    # A solver that starts at the middle leaves most points there, give or take a digit.
    rng = np.random.default_rng(0)
    for _ in range(200):
        points = np.full((30, 2), 0.5) + 1e-16 * rng.integers(-2, 3, (30, 2))
        points[: rng.integers(0, 5)] = rng.uniform(-0.1, 1.1, 2)
        assert np.isfinite(route(points)).all()


def test_the_centre_of_the_box_has_a_value() -> None:
    # A rover that stays at (0.5, 0.5): no way, but far from start and goal.
    assert make("rover")(np.full(60, 0.5)) == pytest.approx(10 * 4 * 0.45)


def test_obstacles_are_drawn_by_the_seed_and_keep_away_from_the_ends() -> None:
    centres = own_centres(0)
    assert centres.shape == (113, 2)
    assert np.all((centres >= 0) & (centres <= 1))
    np.testing.assert_array_equal(own_centres(0), centres)
    assert not np.array_equal(own_centres(1), centres)
    for seed, end in product(range(30), (0.05, 0.95)):
        assert np.abs(own_centres(seed) - end).max(axis=1).min() > 0.1 + SIDE / 2
    point = np.random.default_rng(0).random(60)
    assert make("rover", seed=0)(point) != make("rover", seed=1)(point)


def test_values_do_not_depend_on_the_company() -> None:
    problem = make("rover", 100)
    points = np.random.default_rng(0).random((20, 100))
    np.testing.assert_array_equal(problem(points), [problem(point) for point in points])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"dim": 61}, "even"),
        ({"dim": 6}, "at least 8"),
        ({"field": "mars"}, "'own' or 'original'"),
        ({"margin": -0.1}, "from 0 to 1"),
        ({"margin": True}, "from 0 to 1"),
    ],
    ids=str,
)
def test_wrong_options_are_refused(options: dict, words: str) -> None:
    with pytest.raises(ProblemError, match=words):
        make("rover", **options)


def test_a_missing_or_wrong_file_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BOIDS_DATA", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with pytest.raises(ProblemError, match=f"needs {ORIGINAL}.*{tmp_path}"):
        make("rover", field="original")
    (tmp_path / ORIGINAL).write_text("0.1,0.2\n0.3,0.4\n")
    with pytest.raises(ProblemError, match="113 lines of two numbers"):
        make("rover", field="original")
    (tmp_path / ORIGINAL).write_text("left,right\n")
    with pytest.raises(ProblemError, match="bring the right file"):
        make("rover", field="original")
