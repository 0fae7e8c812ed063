from dataclasses import fields, replace

import numpy as np
import pytest
from desk import Desk, sphere
from trust_runs import (
    SMALL,
    better_than_random,
    check_disorder,
    check_everything_fails,
    check_guests,
    check_resume,
    optimise,
)

import boids
from boids.algorithms import Baxus
from boids.blocks.trust_region import TrustRegion
from boids.errors import MethodError
from boids.gp.model import Surrogate
from boids.records import Domain

QUICK = Baxus(n_init=4, **SMALL)
IMPROVING = replace(QUICK, acquisition="ei", ei_candidates=30, ei_starts=2)


def visited(dim, budget, method=QUICK):
    """The subspace dimensions of a run in which nothing ever improves, and how long it stays in each."""
    desk, dims = Desk(method, Domain(dim), budget), []
    for k in range(budget):
        proposal = desk.ask()
        if proposal.info["phase"] == "search":
            dims.append(proposal.info["dim"])
        desk.tell(proposal, float(k))
        if desk.state.restarts:
            break
    return {dim: dims.count(dim) for dim in dims}, desk


def test_every_setting_names_its_source():
    assert all(f.metadata["source"] for f in fields(Baxus))


def test_the_published_constants():
    method = Baxus()
    assert method.surrogate == Surrogate("matern52", (0.005, 10.0), (0.05, 20.0), (5e-4, 0.2))
    assert (method.new_bins, method.n_init, method.procedure.configurations, method.procedure.trained) == (
        3,
        10,
        100,
        10,
    )
    assert (Baxus(original=True).training, Baxus(original=True).ts_sampler) == ("adam", "lowrank-100")
    with pytest.raises(MethodError, match="length_min"):
        Baxus(length_max=0.5)


@pytest.mark.parametrize(
    ("dim", "expected"),
    [
        (100, {2: 1, 8: 4, 32: 14, 100: 100}),
        (180, {3: 1, 12: 4, 48: 14, 180: 180}),
        (500, {2: 1, 8: 1, 32: 4, 128: 14, 500: 500}),
    ],
)
def test_the_failure_tolerances_of_the_paper(dim, expected):
    method, rng = Baxus(), np.random.default_rng(0)
    state = method.init(Domain(dim), 1000, rng)
    tolerances = {state.embedding.dim: method.tolerance(state)}
    while state.embedding.splittable:
        state = method._split(state, rng)
        tolerances[state.embedding.dim] = method.tolerance(state)
    assert tolerances == expected


def test_without_success_every_subspace_lasts_seven_times_its_tolerance():
    stays, desk = visited(10, 200, replace(QUICK, max_candidates=30, refit_fraction=0.5))
    tolerances = {2: 3, 8: 8, 10: 10}  # ⌈39.2 / 13.356⌉, ⌈156.8 / 13.356⌉ but at most d, and max(4, D)
    assert list(stays) == [2, 8, 10]
    assert stays == {dim: 7 * tolerance for dim, tolerance in tolerances.items()}
    state = desk.state
    assert (state.restarts, len(state.rows), len(state.queue), state.embedding.splittable) == (1, 0, 4, False)


def test_a_split_keeps_data_and_begins_with_a_fresh_region():
    desk = Desk(QUICK, Domain(10), 100)
    while desk.state.embedding.dim == 2:
        desk.tell(desk.ask(), float(desk.asked))
    assert desk.state.trust == TrustRegion(0.8)
    assert len(desk.state.rows) == len(desk.rows)
    z = desk.state.embedding.project(desk.history.units)
    np.testing.assert_array_equal(desk.state.embedding.lift(z), desk.history.units)
    assert len(desk.state.fit.hyper.lengthscales) == 8


def test_a_late_outcome_from_a_coarser_subspace_is_data_but_no_verdict():
    desk = Desk(QUICK, Domain(10), 100)
    for k in range(4):
        desk.tell(desk.ask(), float(k))
    late = desk.ask()
    while desk.state.embedding.dim == 2:
        desk.tell(desk.ask(), 50.0)
    trust, rows = desk.state.trust, len(desk.state.rows)
    desk.tell(late, -5.0)
    assert desk.state.trust == trust
    assert len(desk.state.rows) == rows + 1


def test_proposals_are_in_the_subspace_and_in_the_region():
    desk = Desk(replace(QUICK, length_initial=0.1, length_max=0.1), Domain(20), 100)
    desk.go(sphere, 12)
    best = int(np.argmin(desk.history.values))
    proposal = desk.ask()
    embedding = desk.state.embedding
    assert embedding.holds(proposal.unit[None])[0]
    low, high = desk.state.trust.box(
        embedding.project(desk.history.units[best]), desk.state.fit.hyper.lengthscales, -1.0, 1.0
    )
    z = embedding.project(proposal.unit)
    assert (low - 1e-12 <= z).all()
    assert (z <= high + 1e-12).all()


@pytest.mark.parametrize(("wanted", "dim", "start"), [(None, 2, 2), (5, 3, 3), (7, 20, 7), (1, 1, 1)])
def test_the_first_subspace(wanted, dim, start):
    state = Baxus(initial_dim=wanted).init(Domain(dim), 50, np.random.default_rng(0))
    assert state.embedding.dim == start


def test_guests_count_once_the_subspace_has_them():
    desk = Desk(QUICK, Domain(8), 60)
    guest = desk.guest(np.linspace(-0.9, 0.9, 8))
    desk.tell(guest, -10.0)
    middle = desk.guest(np.zeros(8))
    desk.tell(middle, 5.0)
    assert desk.algorithm._rows(desk.state, desk.history).tolist() == [1]
    while desk.state.embedding.splittable:
        desk.tell(desk.ask(), 50.0)
    assert 0 in desk.algorithm._rows(desk.state, desk.history)


@pytest.mark.parametrize(
    "method",
    [QUICK, IMPROVING, replace(QUICK, original=True, configurations=4, trained=2)],
    ids=["ts", "ei", "original"],
)
def test_resume_is_exact(method, tmp_path):
    check_resume(method, tmp_path, dim=12)


@pytest.mark.parametrize("method", [QUICK, IMPROVING], ids=["ts", "ei"])
def test_any_order_and_failures(method):
    check_disorder(method, dim=10, budget=30)
    check_everything_fails(method)
    check_guests(method)


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_few_dimensions_and_small_budgets(dim):
    for budget in (1, 3, 40):
        assert len(optimise(QUICK, dim=dim, budget=budget).trials) == budget


def test_noise_and_integers():
    rng = np.random.default_rng(0)
    optimizer = optimise(QUICK, dim=12, objective=lambda u: sphere(u) + 0.1 * rng.standard_normal(), noisy=True)
    assert np.isfinite(optimizer.estimate)
    space = boids.Space(
        {**{f"n{i}": boids.Int(0, 5) for i in range(6)}, "x": boids.Float(0, 1), "y": boids.Float(0, 1)}
    )
    result = boids.minimize(
        lambda p: sum(abs(p[f"n{i}"] - 3) for i in range(6)) + p["x"],
        space,
        budget=30,
        method=QUICK,
        seed=0,
        linear_constraints="x + y <= 1.5",
    )
    assert result.fun < 8.0


def test_better_than_random_search():
    better_than_random(Baxus(n_init=5, candidates_per_dim=30, refit_fraction=0.1))
