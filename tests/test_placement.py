"""Where proposals go: whole, allowed, new; and what methods are told of it."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from toy_methods import Toy

from boids import Bool, Categorical, Float, Int, Optimizer, Space, minimize
from boids.placement import Placement
from boids.space.linear import LinearConstraints

MIXED = Space({"a": Int(0, 9), "act": Categorical(["x", "y", "z"]), "on": Bool(), "w": Float(0, 1, shape=4)})
BOX = Space([(-2, 3)] * 5)
SMALL = Space({"a": Int(0, 3), "b": Categorical(["x", "y", "z"])})

RULES = {
    "none": (BOX, ()),
    "linear": (BOX, ["x[0] <= x[1]", "sum(x) <= 2"]),
    "mixed": (MIXED, ()),
    "mixed and linear": (MIXED, ["w[0] + w[1] <= 0.7", "a <= 6", "a + 4*on <= 8"]),
    "small": (SMALL, ()),
}


def placement(name, noisy=False):
    space, rules = RULES[name]
    return Placement(space, LinearConstraints.of(space, rules), noisy)


def never(unit):
    return False


def refuse():
    raise AssertionError("chance was asked for without need")


@pytest.mark.parametrize("name", RULES)
@settings(max_examples=40)
@given(seed=st.integers(0, 2**32), where=st.sampled_from(["inside", "corner", "centre"]))
def test_every_point_has_a_place(name, seed, where):
    here = placement(name)
    rng = np.random.default_rng(seed)
    dim = here.space.dim
    unit = {
        "inside": rng.uniform(-1, 1, dim),
        "corner": rng.choice([-1.0, 1.0], dim),
        "centre": np.zeros(dim),
    }[where]
    before = unit.copy()
    point = here.place(unit, never, refuse)
    np.testing.assert_array_equal(unit, before)
    assert np.abs(point).max() <= 1.0
    np.testing.assert_array_equal(here.space.snap(point), point)
    assert here.linear is None or here.linear.satisfied(point)
    # What can be evaluated stays where it is, to the last bit.
    np.testing.assert_array_equal(here.place(point, never, refuse), point)


@pytest.mark.parametrize("name", RULES)
def test_a_point_that_was_tried_is_left_for_a_new_one(name):
    here, rng = placement(name), np.random.default_rng(0)
    for _ in range(20):
        first = here.place(rng.uniform(-1, 1, here.space.dim), never, refuse)
        other = here.place(first, lambda unit, first=first: np.array_equal(unit, first), lambda: rng)
        assert not np.array_equal(other, first)
        np.testing.assert_array_equal(here.space.snap(other), other)
        assert here.linear is None or here.linear.satisfied(other)


def test_the_new_point_is_near_the_old_one():
    """In a space of 60 integers a neighbour differs in a few of them."""
    space = Space({"n": Int(0, 9, shape=60)})
    here, rng = Placement(space, None, False), np.random.default_rng(1)
    changed = []
    for _ in range(40):
        point = space.snap(rng.uniform(-1, 1, 60))
        other = here.place(point, lambda unit, point=point: np.array_equal(unit, point), lambda: rng)
        changed.append((other != point).sum())
    assert min(changed) >= 1
    assert np.median(changed) <= 3


def test_the_new_point_depends_on_the_generator_alone():
    here = placement("mixed and linear")
    point = here.place(np.full(here.space.dim, 0.1), never, refuse)

    def again(seed):
        return here.place(point, lambda unit: np.array_equal(unit, point), lambda: np.random.default_rng(seed)).tolist()

    assert again(1) == again(1)
    assert any(again(seed) != again(1) for seed in range(2, 8))


def test_with_noise_a_point_may_be_tried_again():
    here = placement("small", noisy=True)
    point = here.place(np.zeros(4), lambda unit: False, refuse)
    np.testing.assert_array_equal(point, SMALL.snap(np.zeros(4)))
    assert here.points == math.inf


@pytest.mark.parametrize(
    ("space", "rules", "count"),
    [
        (SMALL, (), 12),
        (Space({"a": Int(0, 3), "b": Int(0, 3)}), "a + b <= 2", 6),
        (Space({"a": Int(1, 60), "b": Int(1, 60), "c": Int(1, 60)}), "a + b + c <= 5", 10),
        (Space({"a": Int(0, 4), "b": Int(0, 4), "on": Bool()}), ["a == b", "a + on <= 2"], 5),
    ],
    ids=["small", "a triangle", "a corner of a large space", "an equation"],
)
def test_one_by_one_every_allowed_point_is_found_once_and_then_none(space, rules, count):
    here, rng = Placement(space, LinearConstraints.of(space, rules), False), np.random.default_rng(0)
    seen = set()
    while True:
        point = here.place(np.zeros(space.dim), lambda unit: (unit + 0.0).tobytes() in seen, lambda: rng)
        if point is None:
            break
        assert (point + 0.0).tobytes() not in seen
        assert here.linear is None or here.linear.satisfied(point)
        seen.add((point + 0.0).tobytes())
    grid = np.array(list(space.grid()))
    allowed = len(grid) if here.linear is None else here.linear.satisfied(grid).sum()
    assert len(seen) == allowed == count


def test_how_many_points_there_are():
    assert placement("small").points == 12
    assert placement("mixed").points == math.inf


# --- what methods know ------------------------------------------------------------------------------------------


def test_the_domain_of_a_plain_box_says_nothing_else():
    domain = placement("none").domain(0)
    assert (domain.dim, domain.n_constraints, domain.noisy) == (5, 0, False)
    assert domain.snapping is None
    assert domain.violating is None
    assert domain.sampling is None
    sample = domain.sample(500, np.random.default_rng(0))
    assert sample.shape == (500, 5)
    assert np.abs(sample).max() <= 1.0
    assert sample.std() > 0.5


def test_the_domain_of_everything():
    here = placement("mixed and linear", noisy=True)
    domain = here.domain(3)
    assert (domain.dim, domain.n_constraints, domain.noisy) == (MIXED.dim, 3, True)
    units = np.random.default_rng(0).uniform(-1, 1, (200, MIXED.dim))
    np.testing.assert_array_equal(domain.snapping(units), MIXED.snap(units))
    np.testing.assert_array_equal(domain.violating(units) == 0, here.linear.satisfied(units))
    sample = domain.sample(100, np.random.default_rng(1))
    assert here.linear.satisfied(sample).all()


# --- through the shell --------------------------------------------------------------------------------------------


def told(space, proposals, **options):
    """Run a method that proposes given points, and return what it was told with the optimizer."""
    seen = []
    method = Toy(
        on_ask=lambda state, history, pending, rng: proposals[state.count],
        on_tell=lambda state, history, proposal, outcome, rng: seen.append((history, proposal)),
    )
    optimizer = Optimizer(space, budget=len(proposals), method=method, seed=0, **options)
    while optimizer.remaining:
        trial = optimizer.ask()
        optimizer.tell(trial, float(trial.id))
    return seen, optimizer


def test_a_method_learns_where_it_aimed_and_what_was_evaluated():
    rng = np.random.default_rng(2)
    aims = [rng.uniform(-1, 1, MIXED.dim) for _ in range(6)]
    aims[3] = MIXED.snap(aims[3])
    seen, optimizer = told(MIXED, aims)
    history, last = seen[-1]
    np.testing.assert_array_equal(history.aims, aims)
    np.testing.assert_array_equal(history.units, [trial.unit for trial in optimizer.trials])
    np.testing.assert_array_equal(history.units, MIXED.snap(np.array(aims)))
    np.testing.assert_array_equal(last.aim, aims[-1])
    assert seen[3][1].aimed is None
    assert history.domain.snapping is not None
    for trial in optimizer.trials:
        np.testing.assert_array_equal(MIXED.snap(trial.unit), trial.unit)


def test_aims_are_the_points_themselves_where_nothing_moves_them():
    rng = np.random.default_rng(2)
    seen, _ = told(BOX, [rng.uniform(-1, 1, 5) for _ in range(4)])
    history, last = seen[-1]
    assert history.aimed is None
    assert last.aimed is None
    np.testing.assert_array_equal(history.aims, history.units)


def test_a_method_that_repeats_itself_is_moved_on_also_in_a_plain_box():
    _, optimizer = told(BOX, [np.full(5, 0.25)] * 30)
    units = np.array([trial.unit for trial in optimizer.trials])
    assert len(np.unique(units, axis=0)) == 30
    # Next to where it wanted to be, rather than anywhere.
    assert np.abs(units - 0.25).mean() < 0.1


def test_a_batch_holds_no_point_twice():
    optimizer = Optimizer(SMALL, budget=12, seed=0, method=Toy(on_ask=lambda state, history, pending, rng: np.zeros(4)))
    trials = optimizer.ask(12)
    assert len({tuple(trial.x.values()) for trial in trials}) == 12


def test_negative_zero_is_the_same_point_as_zero():
    _, optimizer = told(Space([(-1, 1)] * 2), [np.array([0.0, 0.5]), np.array([-0.0, 0.5])])
    first, second = (trial.unit for trial in optimizer.trials)
    assert not np.array_equal(first, second)


@pytest.mark.parametrize("seed", range(3))
def test_objectives_may_take_the_root_of_what_an_inequality_keeps_positive(seed):
    """The best point is at the edge, where proposals used to be a rounding error outside."""

    def drag(wing):
        return math.sqrt(wing["root"] - wing["tip"]) + float(np.mean(wing["twist"] ** 2))

    space = Space({"root": Float(1, 10), "tip": Float(1, 10), "twist": Float(-5, 5, shape=8)})
    result = minimize(drag, space, 40, seed=seed, linear_constraints="tip <= root")
    assert not any(trial.failed for trial in result.trials)
    assert min(trial.x["root"] - trial.x["tip"] for trial in result.trials) < 1e-6
