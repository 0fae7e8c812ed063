"""ALEBO: the linear subspace, its polytope, the model in it, and everyday life under the shell."""

import math

import numpy as np
import pytest
from desk import Desk, sphere
from hypothesis import given, settings
from hypothesis import strategies as st

from boids import Float, Int, Optimizer, Space, minimize
from boids.algorithms import ALEBO, ALGORITHMS
from boids.algorithms.alebo_subspace import LinearSubspace
from boids.errors import MethodError
from boids.records import Domain

QUICK = ALEBO(target_dim=3, n_init=5, models=4, restarts=2, max_evaluations=30, draws=300, raw_samples=40, starts=3)


def test_it_is_in_the_registry():
    assert ALGORITHMS["alebo"] is ALEBO


@settings(max_examples=30)
@given(st.integers(1, 40), st.integers(1, 12), st.integers(0, 10_000))
def test_the_subspace(input_dim, dim, seed):
    rng = np.random.default_rng(seed)
    subspace = LinearSubspace.random(input_dim, dim, rng)
    assert subspace.dim == min(dim, input_dim)
    np.testing.assert_allclose(np.linalg.norm(subspace.down, axis=0), 1.0)
    y = subspace.sample(20, rng, draws=200)
    assert y.shape == (20, subspace.dim)
    assert subspace.reach(y).max() <= 1.0 + 1e-12
    images = subspace.lift(y)
    # x = B⁺ B x, and the way back
    np.testing.assert_allclose(subspace.project(images), y, atol=1e-7 * np.abs(y).max())
    assert all(subspace.holds(image) for image in images)


def test_points_elsewhere_are_not_in_the_subspace():
    rng = np.random.default_rng(0)
    subspace = LinearSubspace.random(20, 4, rng)
    assert not any(subspace.holds(unit) for unit in rng.uniform(-1, 1, (50, 20)))


def test_samples_are_as_in_the_original():
    """Halving b with the same draws until enough of them are inside; here by trying."""
    subspace = LinearSubspace.random(30, 4, np.random.default_rng(1))
    points = subspace.sample(50, np.random.default_rng(2), draws=500)
    drawn = np.random.default_rng(2).uniform(-1, 1, (500, 30))
    b = 16.0
    while True:
        images = b * drawn @ subspace.down.T @ subspace.up.T
        inside = (np.abs(images) <= 1.0).all(axis=1)
        if inside.sum() >= 50:
            break
        b /= 2
    np.testing.assert_allclose(subspace.lift(points), images[inside][:50], atol=1e-12)


def test_the_first_triangle_gives_unit_length_scales_in_the_input_space():
    subspace = LinearSubspace.random(30, 4, np.random.default_rng(3))
    u = subspace.triangle(np.random.default_rng(4))
    assert not np.tril(u, -1).any()
    a, _ = np.linalg.qr(np.random.default_rng(4).standard_normal((30, 4)))
    m = a.T @ subspace.up
    np.testing.assert_allclose(u.T @ u, m.T @ m, atol=1e-12)


@settings(max_examples=5, deadline=None)
@given(st.integers(1, 25), st.integers(1, 6), st.integers(0, 1000))
def test_all_proposals_lie_in_the_box_and_in_the_subspace(input_dim, dim, seed):
    method = ALEBO(target_dim=dim, n_init=3, models=3, restarts=1, max_evaluations=10, draws=60, raw_samples=20)
    desk = Desk(method, Domain(input_dim), budget=20, seed=seed).go(sphere, 6)
    for proposal, _, _ in desk.rows:
        assert np.abs(proposal.unit).max() <= 1.0
        assert desk.state.subspace.holds(proposal.unit)
    np.testing.assert_array_equal(desk.state.rows, np.arange(6))


def test_better_than_random_on_a_shifted_sphere():
    """The input space is in reach: the target dimension is D."""
    method = ALEBO(
        target_dim=10, models=4, max_evaluations=30, restarts=1, fresh_starts=0, draws=300, raw_samples=60, starts=4
    )
    best = [minimize(sphere, [(-1, 1)] * 10, 30, method=method, seed=seed).fun for seed in range(2)]
    other = [minimize(sphere, [(-1, 1)] * 10, 30, method="random", seed=seed).fun for seed in range(2)]
    assert max(best) < 0.7 * min(other)


def test_branin_in_a_hundred_dimensions():
    """Published: a median of 0.402 after 50 evaluations in 4 dimensions, the optimum being 0.398.

    The median of six runs, since single ones end anywhere up to 0.8 with another processor's rounding errors. Random
    search has a median below 0.75 in one of eighteen such sixes.
    """

    def branin(u):
        x, y = 7.5 * u[19] + 2.5, 7.5 * u[64] + 7.5
        return (y - 5.1 / (4 * np.pi**2) * x * x + 5 / np.pi * x - 6) ** 2 + 10 * (1 - 1 / (8 * np.pi)) * np.cos(x) + 10

    method = ALEBO(target_dim=4, models=6, restarts=2, max_evaluations=40, draws=1000, raw_samples=100, starts=5)
    runs = [Desk(method, Domain(100), budget=50, seed=seed).go(branin, 40) for seed in range(1, 7)]
    assert np.median([min(value for _, value, _ in run.rows) for run in runs]) < 0.75


def test_resume_is_exact(tmp_path):
    space = Space({"n": Int(1, 9), "w": Float(-1, 1, shape=7)})
    whole, half = (Optimizer(space, budget=13, method=QUICK, seed=4) for _ in range(2))

    def advance(optimizer, count):
        for _ in range(count):
            while optimizer.remaining and len(optimizer.pending) < 3:
                optimizer.ask()
            trial = optimizer.pending[optimizer.n_told % len(optimizer.pending)]
            if trial.id % 5 == 3:
                optimizer.tell(trial, error="crash")
            else:
                optimizer.tell(trial, (trial.params["n"] - 4) ** 2 + float(np.sum(trial.params["w"] ** 2)))

    advance(whole, 13)
    advance(half, 8)
    half.save(tmp_path / "run.boids")
    half = Optimizer.load(tmp_path / "run.boids")
    advance(half, 5)
    one, other = ([(t.id, t.unit.tobytes(), t.value) for t in each.trials] for each in (whole, half))
    assert one == other


def test_guests_count_where_the_subspace_has_them():
    desk = Desk(QUICK, Domain(12), budget=40)
    rng = np.random.default_rng(1)
    outside = desk.guest(rng.uniform(-1, 1, 12))
    inside = desk.guest(desk.state.subspace.lift(desk.state.subspace.sample(1, rng, 10))[0])
    desk.tell(outside, 0.0)
    desk.tell(inside, 1.0)
    np.testing.assert_array_equal(desk.state.rows, [1])
    desk.go(sphere, 6)
    desk.guest(rng.uniform(-1, 1, 12))
    desk.go(sphere, 2)
    np.testing.assert_array_equal(desk.state.rows, np.arange(1, 10))


def test_failures_and_pending_points():
    desk = Desk(QUICK, Domain(8), budget=40).go(lambda u: math.nan, 6)
    assert desk.state.fit is None
    desk.go(lambda u: math.nan if u[0] > 0.5 else sphere(u), 5)
    assert desk.state.fit is not None
    batch = [desk.ask() for _ in range(3)]
    units = np.array([p.unit for p in batch])
    assert np.linalg.norm(units[:, None] - units[None], axis=2)[np.triu_indices(3, 1)].min() > 1e-4
    for proposal in reversed(batch):
        desk.tell(proposal, sphere(proposal.unit))
    facts = QUICK.diagnostics(desk.state)
    assert facts["evaluations_in_model"] == 14
    assert len(facts["kernel_weights"]) == 3


def test_everything_pending_and_small_budgets():
    desk = Desk(QUICK, Domain(6), budget=3)
    assert QUICK.ready(desk.state) == 3
    units = [desk.ask().unit for _ in range(5)]
    assert len({unit.tobytes() for unit in units}) == 5


def test_noise_is_modelled_where_there_is_some():
    rng = np.random.default_rng(5)
    desk = Desk(QUICK, Domain(5, noisy=True), budget=40).go(lambda u: sphere(u) + 0.5 * rng.normal(), 14)
    assert desk.state.fit.noise_variance > 1e-6


def test_linear_constraints_are_kept_where_the_subspace_allows():
    domain = Domain(6, violating=lambda units: np.maximum(units[:, :3].sum(axis=1) - 0.2, 0.0))
    desk = Desk(QUICK, domain, budget=30).go(lambda u: -u.sum(), 10)
    assert max(p.unit[:3].sum() for p, _, _ in desk.rows) <= 0.2 + 1e-12


def test_other_settings_work():
    method = ALEBO(
        target_dim=2, n_init=4, models=1, laplace="full", training="multistart", restarts=2, draws=100, raw_samples=20
    )
    desk = Desk(method, Domain(5), budget=20).go(sphere, 7)
    assert len(desk.rows) == 7


@pytest.mark.parametrize("wrong", [{"target_dim": 0}, {"models": 0}, {"laplace": "wide"}, {"draws": 0}])
def test_wrong_settings_are_refused(wrong):
    with pytest.raises(MethodError, match=next(iter(wrong))):
        ALEBO(**wrong)
