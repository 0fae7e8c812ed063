"""PSO: the rules of pyswarms one by one, and particles whose values are late."""

import numpy as np
import pytest
from desk import Desk, sphere

import boids
from boids.algorithms import PSO
from boids.algorithms.pso import NOBODY, periodic
from boids.records import Domain
from boids.testing import beats_random


def test_the_box_is_periodic():
    """x > hi: lo + (x - hi) mod (hi - lo); x < lo: hi - (lo - x) mod (hi - lo)."""
    found = periodic(np.array([-1.0, 1.0, 0.3, 1.25, -1.25, 3.5, -4.5]))
    np.testing.assert_allclose(found, [-1.0, 1.0, 0.3, -0.75, 0.75, -0.5, -0.5])
    far = periodic(np.random.default_rng(0).normal(scale=50, size=1000))
    assert (np.abs(far) <= 1).all()


def test_first_positions_and_velocities():
    state = PSO(particles=2000).init(Domain(2), 10_000, np.random.default_rng(0))
    assert np.abs(state.positions.mean(axis=0)).max() < 0.05
    assert state.velocities.min() >= 0.0  # one-sided, as in pyswarms
    assert state.velocities.max() <= 2.0
    assert state.velocities.mean() == pytest.approx(1.0, abs=0.05)  # half the width of the box
    both = PSO(particles=2000, initial_velocity="symmetric").init(Domain(2), 10_000, np.random.default_rng(0))
    assert abs(both.velocities.mean()) < 0.1
    assert not PSO(initial_velocity="zero").init(Domain(2), 50, np.random.default_rng(0)).velocities.any()


def test_two_iterations_by_the_book():
    """Evaluate all; personal bests; global best; velocity with fresh U[0, 1] per particle and coordinate; position."""
    m, dim = 4, 3
    method = PSO(particles=m)
    desk = Desk(method, Domain(dim))
    x, v = desk.state.positions, desk.state.velocities
    best, best_values = x.copy(), np.full(m, np.inf)
    for _ in range(3):
        at = desk.asked
        desk.go(sphere, m)
        np.testing.assert_array_equal([p.unit for p, _, _ in desk.rows[-m:]], x)
        values = np.array([sphere(each) for each in x])
        better = values < best_values
        best[better], best_values[better] = x[better], values[better]
        rng = np.random.default_rng([desk.seed, 1, at + m])  # that of the first proposal of the next iteration
        r1, r2 = rng.random((m, dim)), rng.random((m, dim))
        leader = best[np.argmin(best_values)]
        v = 0.729 * v + 2.05 * 0.729 * r1 * (best - x) + 2.05 * 0.729 * r2 * (leader - x)
        x = periodic(x + v)
    np.testing.assert_allclose(desk.ask().unit, x[0])
    np.testing.assert_allclose(desk.state.velocities, v)  # wrapping does not change the velocity


def test_nearest_bounds():
    desk = Desk(PSO(particles=5, bounds="nearest"), Domain(3)).go(sphere, 25)
    assert (np.abs(desk.history.units) == 1.0).any()


def test_those_who_have_their_values_move_on():
    desk = Desk(PSO(particles=4), Domain(3))
    proposals = [desk.ask() for _ in range(4)]
    desk.tell(proposals[2], 1.0)
    desk.tell(proposals[0], 2.0)
    assert [desk.ask().memo["particle"] for _ in range(2)] == [0, 2]
    assert desk.ask().memo["particle"] == NOBODY  # everybody is under way
    for proposal in list(desk.pending):
        desk.tell(proposal, sphere(proposal.unit))
    assert desk.algorithm.ready(desk.state) == 4
    assert [desk.ask().memo["particle"] for _ in range(4)] == [0, 1, 2, 3]
    assert desk.state.moves.tolist() == [2, 1, 2, 1]


def test_a_guest_may_lead():
    desk = Desk(PSO(particles=3, inertia=0.0, cognitive=0.0, social=1e-6), Domain(2)).go(sphere, 3)
    before = desk.state.positions
    desk.tell(desk.guest([0.3, 0.3]), 0.0)
    desk.ask()
    step = desk.state.positions - before
    assert (np.sign(step) == np.sign(0.3 - before)).all()


def test_failures_attract_nobody():
    desk = Desk(PSO(particles=3), Domain(2))
    desk.go(lambda u: np.nan, 6)
    assert np.isfinite(desk.state.positions).all()
    desk.go(sphere, 6)
    assert (np.abs(desk.history.units) <= 1).all()


def test_rows_and_not_values_are_remembered():
    """Merits may change with every outcome: what counts is how the rows compare at the time of the move."""
    desk = Desk(PSO(particles=2), Domain(2)).go(sphere, 4)
    desk.ask()
    desk.rows = [(p, -value, c) for p, value, c in desk.rows]
    values = desk.history.values
    for proposal in list(desk.pending):
        desk.tell(proposal, 100.0)
    desk.tell(desk.ask(), 100.0)
    desk.ask()
    assert all(values[row] <= 0 for row in desk.state.best_rows)


def test_better_than_random_search():
    beats_random(PSO(), evaluations=500)


@pytest.mark.parametrize("wrong", [{"particles": 0}, {"inertia": -1}, {"bounds": "reflective"}])
def test_wrong_settings(wrong):
    with pytest.raises(boids.MethodError, match=next(iter(wrong))):
        PSO(**wrong)
