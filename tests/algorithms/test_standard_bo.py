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

from boids.algorithms import StandardBO
from boids.errors import MethodError
from boids.records import Domain

QUICK = StandardBO(n_init=5, **SMALL)
IMPROVING = replace(QUICK, acquisition="ei", ei_candidates=40, ei_starts=2)


def test_every_setting_names_its_source():
    assert all(f.metadata["source"] for f in fields(StandardBO))


def test_the_loop_of_the_comparison():
    method = StandardBO()
    assert (method.n_init, method.acquisition, method.count(100)) == (20, "ts", 5000)
    assert method.surrogate.lengthscale_bounds == (0.005, 2.0)
    with pytest.raises(MethodError, match="acquisition must be one of 'ts', 'ei'"):
        StandardBO(acquisition="pi")


def test_candidates_are_all_over_the_box():
    desk = Desk(QUICK, Domain(30)).go(sphere, 12)
    proposal = desk.ask()
    # in a trust region around the best with twenty perturbed coordinates some would be its own
    assert not np.isclose(proposal.unit, desk.history.units[np.argmin(desk.history.values)]).any()


def test_pending_points_are_not_proposed_again_by_expected_improvement():
    desk = Desk(IMPROVING, Domain(2)).go(sphere, 8)
    units = np.array([desk.ask().unit for _ in range(4)])
    distances = np.abs(units[:, None] - units[None]).max(axis=2) + 10.0 * np.eye(4)
    assert distances.min() > 1e-3


def test_expected_improvement_finds_the_minimum_of_a_bowl():
    assert optimise(IMPROVING, dim=2, budget=25).best.value < 1e-3


@pytest.mark.parametrize("method", [QUICK, IMPROVING, replace(QUICK, original=True)], ids=["ts", "ei", "original"])
def test_resume_is_exact(method, tmp_path):
    check_resume(method, tmp_path)


@pytest.mark.parametrize("method", [QUICK, IMPROVING], ids=["ts", "ei"])
def test_any_order_and_failures(method):
    check_disorder(method, budget=25)
    check_everything_fails(method)
    check_guests(method)


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_few_dimensions_and_small_budgets(dim):
    for budget in (1, 4, 12):
        assert len(optimise(QUICK, dim=dim, budget=budget).trials) == budget


def test_noise():
    rng = np.random.default_rng(0)
    optimizer = optimise(QUICK, objective=lambda u: sphere(u) + 0.1 * rng.standard_normal(), noisy=True)
    assert sphere(optimizer.best.unit) < 1.5


def test_better_than_random_search():
    better_than_random(StandardBO(n_init=10, candidates_per_dim=60, refit_fraction=0.1))
