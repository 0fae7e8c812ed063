from dataclasses import fields, replace

import numpy as np
import pytest
from desk import Desk, sphere
from scipy.optimize import LinearConstraint
from trust_runs import (
    SMALL,
    better_than_random,
    check_disorder,
    check_everything_fails,
    check_guests,
    check_resume,
    optimise,
    trace,
)

import boids
from boids.algorithms import Turbo
from boids.algorithms.thompson import MOST_GUESTS, with_guest
from boids.blocks.trust_region import TrustRegion
from boids.errors import MethodError
from boids.gp.model import Surrogate
from boids.records import Domain, History

QUICK = Turbo(n_init=4, **SMALL)
SEVERAL = Turbo(n_init=4, regions=3, **SMALL)


# --- settings -------------------------------------------------------------------------------------------------


def test_every_setting_names_its_source():
    assert all(f.metadata["source"] for f in fields(Turbo))


def test_the_published_constants():
    turbo = Turbo()
    assert turbo.surrogate == Surrogate("matern52", (0.005, 2.0), (0.05, 20.0), (5e-4, 0.2))
    start = turbo.surrogate.default_start(3)
    assert (start.lengthscales[0], start.signal_variance, start.noise_variance) == (0.5, 1.0, 0.005)
    assert [turbo.count(dim) for dim in (1, 20, 50, 100)] == [100, 2000, 5000, 5000]
    assert (turbo.procedure.configurations, turbo.procedure.steps, turbo.procedure.learning_rate) == (1, 50, 0.1)


def test_original_restores_training_and_sampler():
    original = Turbo(original=True)
    assert (original.training, original.ts_sampler, original.ts_noise) == ("adam", "lowrank-100", True)
    assert Turbo(original=True, training="adam") == original
    with pytest.raises(MethodError, match="original=True means training='adam'"):
        Turbo(original=True, training="multistart")


@pytest.mark.parametrize(
    "wrong", [{"regions": 0}, {"n_init": 0}, {"ts_sampler": "best"}, {"length_min": 0.9}, {"perturbed": 0.5}]
)
def test_wrong_settings_are_refused(wrong):
    with pytest.raises(MethodError):
        Turbo(**wrong)


@pytest.mark.parametrize(
    ("dim", "budget", "regions", "size"), [(10, 1000, 1, 20), (100, 1000, 1, 200), (100, 200, 1, 40), (10, 100, 5, 4)]
)
def test_the_design_is_twice_the_dimension_within_a_fifth_of_the_budget(dim, budget, regions, size):
    state = Turbo(regions=regions).init(Domain(dim), budget, np.random.default_rng(0))
    assert [len(region.queue) for region in state.regions] == [size] * regions


def test_designs_are_cut_to_the_budget():
    state = Turbo(regions=3, n_init=4).init(Domain(2), 6, np.random.default_rng(0))
    assert [len(region.queue) for region in state.regions] == [4, 2, 0]
    for method in (QUICK, SEVERAL):
        assert len(optimise(method, budget=3).trials) == 3


# --- the trust region -------------------------------------------------------------------------------------------


def test_proposals_stay_in_the_region():
    desk = Desk(replace(QUICK, length_initial=0.1, length_max=0.1), Domain(4))
    desk.go(sphere, 10)
    centre = desk.history.units[np.argmin(desk.history.values)]
    proposal = desk.ask()
    fit = desk.state.regions[0].fit
    low, high = desk.state.regions[0].trust.box(0.5 * (centre + 1.0), fit.hyper.lengthscales, 0.0, 1.0)
    assert (2.0 * low - 1.0 <= proposal.unit + 1e-12).all()
    assert (proposal.unit <= 2.0 * high - 1.0 + 1e-12).all()


def test_an_objective_that_never_improves_restarts_after_seven_times_the_tolerance():
    desk = Desk(replace(QUICK, failure_tolerance=2), Domain(3))
    for k in range(4 + 14):
        assert desk.state.regions[0].restarts == 0
        desk.tell(desk.ask(), float(k))
    region = desk.state.regions[0]
    assert (region.restarts, len(region.rows), len(region.queue), region.fit) == (1, 0, 4, None)
    assert region.trust == TrustRegion(0.8)


def test_the_tolerance_is_the_dimension_but_at_least_four():
    desk = Desk(QUICK, Domain(2))
    for k in range(4 + 3):
        desk.tell(desk.ask(), float(k))
    assert desk.state.regions[0].trust.length == 0.8
    desk.tell(desk.ask(), 100.0)
    assert desk.state.regions[0].trust.length == 0.4


def test_a_batch_counts_as_one_success_or_as_many_failures():
    desk = Desk(QUICK, Domain(5))
    for k in range(4):
        desk.tell(desk.ask(), float(10 + k))
    batch = [desk.ask() for _ in range(3)]
    for proposal, value in zip(batch, (9.0, 11.0, 8.0), strict=True):
        desk.tell(proposal, value)
    assert desk.state.regions[0].trust == TrustRegion(0.8, successes=1)
    batch = [desk.ask() for _ in range(3)]
    for proposal in reversed(batch):
        desk.tell(proposal, 20.0)
    assert desk.state.regions[0].trust == TrustRegion(0.8, failures=3)


def test_success_is_measured_against_what_was_known_when_asked():
    desk = Desk(QUICK, Domain(5))
    for k in range(4):
        desk.tell(desk.ask(), float(10 + k))
    late = desk.ask()
    desk.tell(desk.ask(), 20.0)
    desk.tell(desk.ask(), 5.0)
    desk.tell(late, 9.0)  # worse than 5, but better than all that was known
    assert desk.state.regions[0].trust.successes >= 1


def test_a_late_outcome_from_before_a_restart_belongs_to_no_region():
    desk = Desk(replace(QUICK, failure_tolerance=1), Domain(3))
    for k in range(4):
        desk.tell(desk.ask(), float(k))
    late = desk.ask()
    while desk.state.regions[0].restarts == 0:
        desk.tell(desk.ask(), 50.0)
    before = desk.state
    desk.tell(late, -100.0)
    assert desk.state is before


def test_the_proposals_of_a_batch_are_drawn_at_the_same_candidates():
    desk = Desk(QUICK, Domain(4)).go(sphere, 8)
    first = desk.ask()
    seed = desk.state.seed
    others = [desk.ask() for _ in range(3)]
    assert desk.state.seed == seed
    assert len(np.unique([p.unit for p in (first, *others)], axis=0)) == 4
    desk.tell(first, sphere(first.unit))
    desk.ask()
    assert desk.state.seed != seed


# --- several regions --------------------------------------------------------------------------------------------


def test_regions_have_their_own_data_and_designs():
    desk = Desk(SEVERAL, Domain(4)).go(sphere, 30)
    rows = [region.rows for region in desk.state.regions]
    assert sorted(np.concatenate(rows).tolist()) == list(range(30))
    assert [row[:4].tolist() for row in rows] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]


def test_regions_compete_in_the_objectives_units():
    desk = Desk(SEVERAL, Domain(3))
    for k in range(12):
        desk.tell(desk.ask(), float(k % 4) + (1000.0 if k < 8 else 0.0))  # the third region is far better
    assert [desk.ask().memo["region"] for _ in range(6)] == [2] * 6


def test_a_region_restarts_alone():
    desk = Desk(replace(SEVERAL, failure_tolerance=1), Domain(3))
    for k in range(12):
        desk.tell(desk.ask(), float(k % 4) + (1000.0 if k < 8 else 0.0))
    while desk.state.regions[2].restarts == 0:
        proposal = desk.ask()
        desk.tell(proposal, 100.0)
    assert [region.restarts for region in desk.state.regions] == [0, 0, 1]
    assert desk.ask().info["phase"] == "design"


# --- any use ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", [QUICK, SEVERAL, replace(QUICK, original=True)], ids=["one", "several", "original"])
def test_resume_is_exact(method, tmp_path):
    check_resume(method, tmp_path)


@pytest.mark.parametrize("method", [QUICK, SEVERAL], ids=["one", "several"])
def test_any_order_and_failures(method):
    check_disorder(method)
    check_everything_fails(method)
    check_guests(method)


def test_the_same_seed_gives_the_same_run():
    np.testing.assert_array_equal(trace(optimise(QUICK, budget=15)), trace(optimise(QUICK, budget=15)))


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_few_dimensions(dim):
    assert len(optimise(QUICK, dim=dim, budget=25).trials) == 25


def test_noise():
    rng = np.random.default_rng(0)
    optimizer = optimise(QUICK, objective=lambda u: sphere(u) + 0.1 * rng.standard_normal(), noisy=True)
    assert sphere(optimizer.best.unit) < 1.0


def test_integers_and_constraints():
    space = boids.Space(
        {
            "n": boids.Int(0, 5),
            "kind": boids.Categorical(["a", "b", "c"]),
            "x": boids.Float(0, 1),
            "y": boids.Float(0, 1),
        }
    )
    constraint = "x + y <= 1"
    result = boids.minimize(
        lambda p: p["n"] + (p["kind"] != "b") + p["x"] - p["y"],
        space,
        budget=25,
        method=QUICK,
        seed=0,
        linear_constraints=constraint,
    )
    assert result.fun < 2.0
    box = boids.minimize(
        lambda x: (float(x[0]), [0.2 - float(x[1])]),
        [(0.0, 1.0)] * 3,
        budget=25,
        method=QUICK,
        seed=0,
        n_constraints=1,
        linear_constraints=LinearConstraint(np.ones((1, 3)), 1.0, 1.0),
    )
    assert np.isclose(box.x.sum(), 1.0)


def test_there_is_room_for_so_many_guests():
    values = np.append(np.linspace(1.0, 2.0, MOST_GUESTS), [3.0])
    rows = np.arange(MOST_GUESTS)
    history = History(np.zeros((len(values), 1)), values)
    assert with_guest(rows, history) is rows
    better = History(np.zeros((len(values), 1)), np.append(values[:-1], 0.5))
    assert with_guest(rows, better)[-1] == MOST_GUESTS


def test_better_than_random_search():
    better_than_random(Turbo(n_init=10, candidates_per_dim=30, refit_fraction=0.1))
