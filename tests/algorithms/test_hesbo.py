"""HeSBO: the hashed subspace, the model in it, and everyday life under the shell."""

import math

import numpy as np
import pytest
from desk import Desk, sphere
from hypothesis import given
from hypothesis import strategies as st

from boids import Float, Int, Optimizer, Space, minimize
from boids.algorithms import ALGORITHMS, HeSBO
from boids.algorithms.hesbo import hashed
from boids.errors import MethodError
from boids.records import Domain

QUICK = HeSBO(target_dim=5, n_init=5, candidates=64, nearby=16, starts=2, max_evaluations=20)
ORIGINAL = HeSBO(target_dim=5, n_init=5, candidates=200, original=True)
BOTH = pytest.mark.parametrize("method", [QUICK, ORIGINAL], ids=["ours", "original"])


def test_it_is_in_the_registry():
    assert ALGORITHMS["hesbo"] is HeSBO


@given(st.integers(1, 80), st.integers(1, 40), st.integers(0, 10_000))
def test_a_hashed_subspace_has_one_coordinate_for_every_input(input_dim, dim, seed):
    embedding = hashed(input_dim, dim, np.random.default_rng(seed))
    assert 1 <= embedding.dim <= min(dim, input_dim)
    matrix = embedding.lift(np.eye(embedding.dim))  # (d, D)
    assert ((matrix != 0).sum(axis=0) == 1).all()
    assert set(np.abs(matrix[matrix != 0])) == {1.0}
    assert (embedding.sizes > 0).all()
    z = np.random.default_rng(seed).uniform(-1, 1, (3, embedding.dim))
    np.testing.assert_allclose(embedding.average(embedding.lift(z)), z, atol=1e-12)


def test_active_inputs_collide_as_often_as_they_should():
    """Two of 100 inputs in 4 bins: a quarter of the time; 4000 draws, false alarms once in 10⁵."""
    rng = np.random.default_rng(0)
    together = [e.bins[19] == e.bins[64] for e in (hashed(100, 4, rng) for _ in range(4000))]
    assert np.mean(together) == pytest.approx(0.25, abs=4.42 * math.sqrt(0.25 * 0.75 / 4000))
    signs = np.array([hashed(100, 4, rng).signs[5] for _ in range(2000)])
    assert abs(signs.mean()) < 4.42 / math.sqrt(2000)


def test_a_target_dimension_above_d_is_the_input_space():
    state = HeSBO(target_dim=20).init(Domain(3), 30, np.random.default_rng(0))
    np.testing.assert_array_equal(state.embedding.lift(np.eye(3)), np.eye(3))


@BOTH
def test_all_proposals_lie_in_the_subspace(method):
    desk = Desk(method, Domain(30), budget=40).go(sphere, 9)
    assert all(desk.state.embedding.holds(p.unit, 1e-12) for p, _, _ in desk.rows)
    np.testing.assert_array_equal(desk.state.rows, np.arange(9))


def test_better_than_random_on_a_shifted_sphere():
    """The input space is in reach: the target dimension is D."""
    method = HeSBO(target_dim=10, n_init=10, candidates=200, nearby=50, starts=2)
    best = [minimize(sphere, [(-1, 1)] * 10, 35, method=method, seed=seed).fun for seed in range(2)]
    other = [minimize(sphere, [(-1, 1)] * 10, 35, method="random", seed=seed).fun for seed in range(2)]
    assert max(best) < 0.3 * min(other)


def test_branin_without_a_collision_is_solved():
    """Published: a median of 0.431 after 50 evaluations in 4 dimensions, the optimum being 0.398."""

    def branin(u):
        x, y = 7.5 * u[19] + 2.5, 7.5 * u[64] + 7.5
        return (y - 5.1 / (4 * np.pi**2) * x * x + 5 / np.pi * x - 6) ** 2 + 10 * (1 - 1 / (8 * np.pi)) * np.cos(x) + 10

    method = HeSBO(target_dim=4, n_init=10, candidates=500, nearby=100)
    for seed in range(100):
        desk = Desk(method, Domain(100), budget=50, seed=seed)
        bins = desk.state.embedding.bins
        if bins[19] != bins[64]:
            break
    desk.go(branin, 40)
    assert min(value for _, value, _ in desk.rows) < 0.45


@BOTH
def test_resume_is_exact(method, tmp_path):
    space = Space({"n": Int(1, 9), "w": Float(-1, 1, shape=7)})
    whole, half = (Optimizer(space, budget=14, method=method, seed=4) for _ in range(2))

    def advance(optimizer, count):
        for _ in range(count):
            while optimizer.remaining and len(optimizer.pending) < 3:
                optimizer.ask()
            trial = optimizer.pending[optimizer.n_told % len(optimizer.pending)]
            if trial.id % 5 == 3:
                optimizer.tell(trial, error="crash")
            else:
                optimizer.tell(trial, (trial.params["n"] - 4) ** 2 + float(np.sum(trial.params["w"] ** 2)))

    advance(whole, 14)
    advance(half, 8)
    half.save(tmp_path / "run.boids")
    half = Optimizer.load(tmp_path / "run.boids")
    advance(half, 6)
    one, other = ([(t.id, t.unit.tobytes(), t.value) for t in each.trials] for each in (whole, half))
    assert one == other


@BOTH
def test_guests_count_where_the_subspace_has_them(method):
    desk = Desk(method, Domain(12), budget=40)
    rng = np.random.default_rng(1)
    outside = desk.guest(rng.uniform(-1, 1, 12))
    inside = desk.guest(desk.state.embedding.lift(rng.uniform(-1, 1, desk.state.embedding.dim)))
    desk.tell(outside, 0.0)
    desk.tell(inside, 1.0)
    np.testing.assert_array_equal(desk.state.rows, [1])
    desk.go(sphere, 6)
    desk.guest(rng.uniform(-1, 1, 12))
    desk.go(sphere, 2)
    np.testing.assert_array_equal(desk.state.rows, np.arange(1, 10))


@BOTH
def test_failures_and_pending_points(method):
    desk = Desk(method, Domain(8), budget=40).go(lambda u: math.nan, 6)
    assert desk.state.hyper is None
    desk.go(lambda u: math.nan if u[0] > 0.5 else sphere(u), 5)
    batch = [desk.ask() for _ in range(3)]
    assert len({p.unit.tobytes() for p in batch}) == 3
    for proposal in reversed(batch):
        desk.tell(proposal, sphere(proposal.unit))
    assert HeSBO().diagnostics(desk.state)["evaluations_in_model"] == 14


def test_everything_pending_and_small_budgets():
    desk = Desk(QUICK, Domain(6), budget=3)
    assert QUICK.ready(desk.state) == 3
    units = [desk.ask().unit for _ in range(5)]
    assert len({unit.tobytes() for unit in units}) == 5


def test_linear_constraints_are_kept_where_the_subspace_allows():
    domain = Domain(6, violating=lambda units: np.maximum(units[:, :3].sum(axis=1) - 0.2, 0.0))
    desk = Desk(QUICK, domain, budget=30).go(lambda u: -u.sum(), 10)
    assert max(p.unit[:3].sum() for p, _, _ in desk.rows) <= 0.2 + 1e-12


def test_the_original_refits_on_its_own_schedule_and_works_with_raw_values():
    desk = Desk(ORIGINAL, Domain(8), budget=60).go(lambda u: 100.0 * sphere(u), 6)
    fits = []
    for _ in range(35):
        before = desk.state.hyper
        desk.go(lambda u: 100.0 * sphere(u), 1)
        if desk.state.hyper is not before:
            fits.append((desk.state.modelled - 1, len(desk.rows) - 1))
    # (iteration, data): every 5 up to 25 data, every 20 afterwards
    assert fits == [(5, 10), (10, 15), (15, 20), (20, 25)]
    assert desk.state.hyper.mean == 0.0
    assert desk.state.hyper.signal_variance > 10.0


@pytest.mark.parametrize("wrong", [{"target_dim": 0}, {"n_init": 0}, {"original": 1}, {"nearby": -1}])
def test_wrong_settings_are_refused(wrong):
    with pytest.raises(MethodError, match=next(iter(wrong))):
        HeSBO(**wrong)
