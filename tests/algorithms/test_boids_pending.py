from dataclasses import replace

import numpy as np
import pytest
from desk import HASTY, QUICK, Desk, sphere
from hypothesis import given, settings
from hypothesis import strategies as st

from boids import Bool, Categorical, Float, Int, Space, plain
from boids.algorithms import Boids, boids_models
from boids.algorithms.boids_pending import SEPARATION, UnderWay
from boids.algorithms.boids_state import BoidsState
from boids.blocks.bandit import least_busy
from boids.blocks.embedding import Embedding
from boids.placement import Placement
from boids.records import Domain, History, Proposal
from boids.space.linear import LinearConstraints

SWARM = Boids(n_init=20, particles=20, **QUICK)
GRID = Space({"a": Int(1, 7), "b": Int(1, 7)})
MIXED = Space({"n": Int(1, 9), "act": Categorical(["a", "b", "c"]), "on": Bool(), "w": Float(-1, 1)})


def closest(units):
    """Return the least of all distances between two rows, in the coordinate that differs most."""
    distances = np.abs(units[:, None] - units[None]).max(axis=2)
    return distances[~np.eye(len(units), dtype=bool)].min()


def units(proposals):
    return np.array([p.unit for p in proposals])


# --- batches ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [8, 20, 40])
@pytest.mark.parametrize(("dim", "objective"), [(1, sphere), (2, lambda u: 1.0), (100, sphere)])
def test_a_batch_has_different_points_on_different_lines(dim, size, objective):
    desk = Desk(SWARM, Domain(dim), 500).go(objective, 25)
    batch = [desk.ask() for _ in range(size)]
    assert closest(units(batch)) >= SEPARATION
    uses = np.bincount([p.memo["line"] for p in batch], minlength=20)
    assert np.count_nonzero(uses) >= min(size, 20) / 2  # preferred, not forced


@pytest.mark.parametrize("size", [8, 40])
@pytest.mark.parametrize("dim", [1, 3, 30])
def test_a_batch_from_the_start_is_design_without_near_points(dim, size):
    for seed in range(5):
        desk = Desk(SWARM, Domain(dim), 100, seed)
        desk.guest(desk.state.embedding.lift(desk.state.queue[3]))  # a user who has the same idea
        for _ in range(size):
            desk.ask()
        assert closest(units(desk.pending)) >= SEPARATION


@pytest.mark.parametrize("noisy", [False, True])
def test_a_batch_in_a_finite_space_repeats_nothing_while_there_is_something_left(noisy):
    desk = Desk(replace(HASTY, n_init=8), Placement(GRID, None, noisy).domain(0))
    desk.go(sphere, 10)
    batch = units([desk.ask() for _ in range(16)])
    assert len(np.unique(batch, axis=0)) == 16


def test_a_space_of_two_points_is_survived():
    desk = Desk(HASTY, Placement(Space({"on": Bool()}), None, noisy=True).domain(0))
    for _ in range(9):
        desk.ask()
    for proposal in list(desk.pending):
        desk.tell(proposal, 1.0)
    for _ in range(5):
        desk.ask()


@pytest.mark.parametrize("text", ["x[0] + x[1] + x[2] == 1", "x[0] <= x[1]"])
def test_a_batch_under_linear_constraints(text):
    space = Space([(0, 1)] * 4)
    domain = Placement(space, LinearConstraints.of(space, text), noisy=False).domain(0)
    desk = Desk(HASTY, domain).go(sphere, 7)
    batch = units([desk.ask() for _ in range(6)])
    assert closest(batch) >= SEPARATION
    assert domain.violating(batch).max() < 1e-9


def test_proposals_depend_on_the_seed_and_on_what_is_pending_alone():
    def batch(seed):
        desk = Desk(HASTY, Domain(10), seed=seed).go(sphere, 8)
        return units([desk.ask() for _ in range(8)])

    np.testing.assert_array_equal(batch(1), batch(1))
    assert not np.array_equal(batch(1), batch(2))


def test_random_lines_are_spread_as_well():
    desk = Desk(replace(SWARM, line_selection=False), Domain(10), 200).go(sphere, 21)
    lines = [desk.ask().memo["line"] for _ in range(20)]
    assert sorted(lines) == list(range(20))


def test_the_least_busy_lines_are_free():
    assert least_busy(4, []).tolist() == [True] * 4
    assert least_busy(4, [1, 3, 1]).tolist() == [True, False, True, False]
    assert least_busy(3, [0, 1, 2, 1]).tolist() == [True, False, True]


# --- what the models know --------------------------------------------------------------------------------------------


def test_models_know_all_pending_points_that_the_subspace_has(monkeypatch):
    seen = []
    real = boids_models.Beliefs.fantasise
    monkeypatch.setattr(
        boids_models.Beliefs, "fantasise", lambda self, points: seen.append(points) or real(self, points)
    )
    desk = Desk(HASTY, Domain(20)).go(sphere, 6)
    coarse = desk.ask()
    outside = desk.guest(np.random.default_rng(0).uniform(-1, 1, 20))
    inside = desk.guest(desk.state.embedding.lift(np.full(desk.state.embedding.dim, 0.2)))
    while not desk.state.embedding.dim > coarse.memo["dim"]:
        desk.go(lambda u: 99.0, 1)
    desk.ask()
    np.testing.assert_array_equal(seen[-1], desk.state.embedding.project(units([coarse, inside])))
    while not desk.state.epoch:
        desk.go(lambda u: 99.0, 1)
    late = desk.pending[-1]
    desk.go(lambda u: 99.0, HASTY.n_init + 1)
    # In the input space everything has its place, proposals from before the restart too; but their lines are no more.
    np.testing.assert_array_equal(seen[-1], units([coarse, outside, inside, late]))
    assert UnderWay.of(desk.state, desk.pending, desk.domain).busy == ()


def test_near_points_are_moved_by_little_and_others_stay():
    rng = np.random.default_rng(0)
    history, identity = History(np.empty((0, 3)), np.empty(0)), Embedding.identity(3)
    pending = rng.uniform(-1, 1, (5, 3))
    under_way = UnderWay(pending, pending, ())
    far = np.array([2.0, 2.0, 2.0]) / 3
    assert under_way.apart(far, history, identity, rng) is far
    near = pending[2] + 0.5 * SEPARATION
    moved = under_way.apart(near, history, identity, rng)
    assert SEPARATION <= np.abs(moved - pending[2]).max() < 20 * SEPARATION


def test_a_corner_full_of_pending_points_is_left():
    rng = np.random.default_rng(0)
    history, identity = History(np.empty((0, 1)), np.empty(0)), Embedding.identity(1)
    pending = np.linspace(0.9, 1.0, 150)[:, None]
    z = UnderWay(pending, pending, ()).apart(np.array([0.95]), history, identity, rng)
    assert np.abs(pending - z).min() >= SEPARATION


# --- any order of events -------------------------------------------------------------------------------------------

SPACES = st.sampled_from(["box", "mixed", "grid", "half"])
EVENTS = st.lists(
    st.tuples(st.sampled_from(["ask", "ask", "tell", "tell", "fail", "guest", "added"]), st.integers(0, 2**16)),
    min_size=10,
    max_size=45,
)


def domain_of(kind, dim, noisy, n_constraints):
    if kind == "half":
        space = Space([(-1, 1)] * max(dim, 2))
        return Placement(space, LinearConstraints.of(space, "x[0] <= x[1]"), noisy).domain(n_constraints)
    space = {"box": Space([(-1, 1)] * dim), "mixed": MIXED, "grid": GRID}[kind]
    return Placement(space, None, noisy).domain(n_constraints)


@settings(max_examples=40, deadline=None)
@given(
    kind=SPACES,
    dim=st.integers(1, 12),
    noisy=st.booleans(),
    n_constraints=st.integers(0, 1),
    n_init=st.integers(1, 4),
    particles=st.integers(1, 4),
    incumbents=st.sampled_from(["run", "all"]),
    events=EVENTS,
)
def test_any_order_of_asks_tells_guests_and_failures(
    kind, dim, noisy, n_constraints, n_init, particles, incumbents, events
):
    """No exception, points inside the cube, a state that is plain data, and books that balance."""
    method = replace(HASTY, n_init=n_init, particles=particles, incumbents=incumbents, termination_max=2)
    desk = Desk(method, domain_of(kind, dim, noisy, n_constraints), budget=20)
    guests = 0
    for event, number in events:
        chance = np.random.default_rng(number)
        if event == "ask":
            assert desk.algorithm.ready(desk.state) >= 1
            proposal = desk.ask()
            assert np.all(np.abs(proposal.unit) <= 1.0)
        elif event == "guest":
            desk.guest(chance.uniform(-1, 1, desk.domain.dim).round(int(chance.integers(3))))
        elif event == "added":
            proposal = desk.guest(chance.uniform(-1, 1, desk.domain.dim))
            desk.tell(
                proposal, np.nan if number % 5 == 0 else float(chance.normal()), chance.normal(size=n_constraints)
            )
            guests += 1
        elif desk.pending:
            proposal = desk.pending[number % len(desk.pending)]
            guests += not proposal.memo
            value = np.nan if event == "fail" else sphere(proposal.unit)
            desk.tell(proposal, value, chance.normal(size=n_constraints))
    state = desk.state
    assert len(state.guests) == guests
    assert len(state.rows) == len(state.owners) == len(set(state.rows))
    assert state.swarm is None or state.homes.max() < len(state.rows)
    arrays = []
    plain.decode(plain.encode(state, BoidsState, arrays), BoidsState, arrays)
    assert isinstance(desk.ask(), Proposal)
