"""The lunar lander: Gymnasium's heuristic is one of its points, and values do not depend on what came before."""

import importlib.metadata
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from boids.errors import ProblemError
from boids.problems import PROBLEMS, Problem, make
from boids.problems.lander import HEURISTIC, LEFT, MAIN, NOTHING, RIGHT, engine

reason = PROBLEMS["lunar-lander"].available()
installed = pytest.mark.skipif(reason is not None, reason=str(reason))


@pytest.fixture(scope="module")
def short() -> Problem:
    return make("lunar-lander", episodes=3)


@installed
def test_the_heuristic_lands_as_published() -> None:
    value = make("lunar-lander")(HEURISTIC)
    versions = [importlib.metadata.version(package) for package in ("gymnasium", "box2d")]
    if versions == ["1.4.0", "2.3.10"]:
        assert value == pytest.approx(-264.634, abs=5e-4)
    assert value < -200  # by Gymnasium, the task is solved at a return of 200


@installed
def test_the_order_of_evaluations_does_not_matter(short: Problem) -> None:
    points = np.random.default_rng(0).uniform(0, 2, (4, 12))
    values = short(points)
    np.testing.assert_array_equal(short(points[::-1])[::-1], values)
    with ThreadPoolExecutor(4) as executor:
        np.testing.assert_array_equal(list(executor.map(short, points)), values)
    assert len(set(values)) == 4
    assert short(HEURISTIC) < values.min()


@installed
def test_more_landings_are_a_mean_over_more_seeds(short: Problem) -> None:
    one = make("lunar-lander", episodes=1)
    assert one(HEURISTIC) != short(HEURISTIC)
    assert "mean of 3 landings" in short.summary


@installed
@given(st.lists(st.floats(-1, 1), min_size=6, max_size=6), st.booleans(), st.booleans())
def test_the_controller_is_gymnasiums_for_its_constants(motion: list[float], left: bool, right: bool) -> None:
    from types import SimpleNamespace

    make("lunar-lander", episodes=1)  # imports Box2D, quietly
    from gymnasium.envs.box2d.lunar_lander import heuristic

    observation = [*motion, float(left), float(right)]
    environment = SimpleNamespace(unwrapped=SimpleNamespace(continuous=False))
    assert engine(HEURISTIC, observation) == heuristic(environment, np.array(observation))


def test_the_controller_by_hand() -> None:
    resting = [0.0] * 6
    assert engine(HEURISTIC, [*resting, 0, 0]) == NOTHING
    falling = [0.0, 1.0, 0.0, -2.0, 0.0, 0.0]  # lift = -0.5 + 1 = 0.5
    assert engine(HEURISTIC, [*falling, 0, 0]) == MAIN
    tilted = [0.0, 1.0, 0.0, 0.0, 0.5, 0.0]  # turn = -0.25
    assert engine(HEURISTIC, [*tilted, 0, 0]) == RIGHT
    tilted[4] = -0.5
    assert engine(HEURISTIC, [*tilted, 0, 0]) == LEFT
    # On the ground, of the first ten only w9 and w10 count: here it turns left for ever.
    assert engine([0.0] * 8 + [1.0, 0.0, 0.05, 0.05], [*tilted, 0, 1]) == LEFT


def test_a_number_of_landings_is_needed() -> None:
    with pytest.raises(ProblemError, match="episodes must be an integer of at least 1"):
        make("lunar-lander", episodes=0)
