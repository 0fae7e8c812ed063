"""CMA-BO: candidates inside the ellipsoid, generations told to pycma, data, restarts."""

import math

import numpy as np
import pytest
from desk import Desk, sphere
from scipy.special import chdtri
from scipy.stats import chi2

import boids
from boids.algorithms import CMABO, pycma_replay
from boids.algorithms.cmabo import DESIGN
from boids.algorithms.pycma_replay import Evolution, Strategy, into_box
from boids.records import Domain
from boids.testing import beats_random

pytest.importorskip("cma")

SMALL = {"n_init": 5, "population": 4, "max_candidates": 60, "path_features": 32}


def desk(dim=4, **more):
    return Desk(CMABO(**{**SMALL, **more}), Domain(dim))


def units(optimizer):
    return np.array([trial.unit for trial in optimizer.trials])


@pytest.mark.parametrize(("dim", "radius"), [(100, 11.994), (500, 24.341)])
def test_radius_of_the_ellipsoid(dim, radius):
    assert math.sqrt(chdtri(dim, 1 - CMABO().coverage)) == pytest.approx(radius, abs=1e-3)
    assert math.sqrt(chi2.ppf(0.9973, dim)) == pytest.approx(radius, abs=1e-3)


def test_candidates_are_inside_the_ellipsoid():
    method, domain = CMABO(max_candidates=500), Domain(6)
    rng = np.random.default_rng(0)
    mean, axes = np.full(6, 0.5), 0.02 * np.linalg.qr(rng.normal(size=(6, 6)))[0] * np.arange(1, 7)
    points = method._candidates(mean, axes, domain, rng)
    assert points.shape == (500, 6)
    distance = np.linalg.norm(np.linalg.solve(axes, (points - mean).T), axis=0)
    assert distance.max() < math.sqrt(chi2.ppf(0.9973, 6))
    # Nothing is lost but the tail: a normal distribution otherwise.
    np.testing.assert_allclose(np.cov(points.T), axes @ axes.T, atol=0.15 * np.abs(axes @ axes.T).max())


def test_candidates_near_a_bound_are_folded_into_the_box():
    points = CMABO(max_candidates=300)._candidates(
        np.full(3, -0.02), 0.3 * np.eye(3), Domain(3), np.random.default_rng(1)
    )
    assert (points >= 0).all()
    assert (points <= 1).all()


def test_candidates_satisfy_linear_constraints_where_they_can():
    domain = Domain(3, violating=lambda u: np.maximum(u[:, 0], 0.0), sampling=lambda n, r: -r.random((n, 3)))
    points = CMABO()._candidates(np.full(3, 0.5), 0.3 * np.eye(3), domain, np.random.default_rng(1))
    assert (points[:, 0] <= 0.5).all()
    assert len(points) > 50


def test_the_distribution_is_that_of_pycma():
    strategy = Strategy(Evolution.at(np.linspace(-0.8, 0.4, 3), 0.2, 6, 5))
    for _ in range(4):
        points = [strategy.sample(i) for i in range(6)]
        strategy.tell(points, np.array([sphere(2 * point - 1) for point in points]))
    mean, axes = strategy.distribution()
    rng = np.random.default_rng([5, 4])  # its own random numbers in the fifth generation
    mine = into_box(mean + rng.standard_normal((6, 3)) @ axes.T)
    np.testing.assert_allclose(mine, [strategy.sample(i) for i in range(6)], atol=1e-13)


def test_points_far_off_are_pulled_towards_the_mean():
    """The clip of the Mahalanobis distance at √D + 2 D / (D + 2)."""
    dim, size = 4, 5
    strategy = Strategy(Evolution.at(np.zeros(dim), 0.01, size, 0))
    strategy.sample(0)
    far = 0.5 + 0.4 * np.eye(size, dim)
    strategy.tell(list(far), np.arange(size, dtype=float))
    mean, _ = strategy.distribution()
    limit = 0.01 * (math.sqrt(dim) + 2 * dim / (dim + 2))
    assert np.linalg.norm(mean - 0.5) <= limit * (1 + 1e-3)
    assert mean[0] - 0.5 > 0.3 * limit


def test_design_then_generations():
    d = desk().go(sphere, 5)
    assert all(p.memo["generation"] == DESIGN for p, _, _ in d.rows)
    assert d.state.evolution is None
    d.go(sphere, 9)
    generations = [p.memo["generation"] for p, _, _ in d.rows[5:]]
    assert generations == [0, 0, 0, 0, 1, 1, 1, 1, 2]
    best = min(d.rows[:5], key=lambda row: row[1])[0].unit
    np.testing.assert_allclose(d.state.evolution.start, 0.5 * (best + 1))
    assert d.state.evolution.members.tolist() == [[5, 6, 7, 8], [9, 10, 11, 12]]


def test_late_outcomes_are_data_but_no_part_of_a_later_generation():
    d = desk().go(sphere, 5)
    proposals = [d.ask() for _ in range(6)]
    assert len({proposal.unit.tobytes() for proposal in proposals}) == 6
    for proposal in proposals[2:]:
        d.tell(proposal, sphere(proposal.unit))
    assert len(d.state.evolution) == 1
    d.tell(proposals[0], 1.0)
    assert len(d.state.generation_rows) == 0
    assert len(d.state.rows) == 10


def test_guests_are_data_and_may_be_the_start():
    d = desk()
    d.tell(d.guest([0.31, 0.3, 0.3, 0.3]), sphere([0.31, 0.3, 0.3, 0.3]))
    d.go(sphere, 6)
    np.testing.assert_allclose(d.state.evolution.start, [0.655, 0.65, 0.65, 0.65])
    assert len(d.state.rows) == 7


def test_it_starts_again_when_the_strategy_stops():
    d = desk(population=4).go(lambda u: 2.0, 40)
    assert d.state.epoch >= 1
    assert d.algorithm.diagnostics(d.state)["evaluations_in_run"] < 40


def test_the_model_forgets_and_is_still_refitted():
    d = desk(memory=2, refit_fraction=0.2).go(sphere, 30)  # the last 8 data
    assert d.state.fit.fitted_at > 20
    _, model = d.algorithm._model(d.state, d.history, np.random.default_rng(0))
    assert len(model.posterior.inputs) == 8


def test_everything_fails():
    d = desk().go(lambda u: math.nan, 20)
    assert len(d.rows) == 20


@pytest.mark.parametrize("dim", [1, 3])
def test_a_run_without_a_cache_is_the_same_bit_for_bit(tmp_path, dim):
    def run(forgetful):
        optimizer = boids.Optimizer([(-1, 1)] * dim, budget=22, method=CMABO(**SMALL), seed=2)
        while optimizer.remaining:
            trial = optimizer.ask()
            optimizer.tell(trial, sphere(trial.x))
            if forgetful:
                pycma_replay.forget()
                optimizer.save(tmp_path / "run")
                optimizer = boids.Optimizer.load(tmp_path / "run")
        return units(optimizer)

    np.testing.assert_array_equal(run(False), run(True))


def test_original():
    method = CMABO(original=True)
    assert (method.training, method.ts_sampler) == ("adam", "lowrank-100")
    Desk(CMABO(original=True, n_init=5, max_candidates=50), Domain(3)).go(sphere, 8)


def test_better_than_random_search():
    beats_random(CMABO(n_init=10, max_candidates=200), evaluations=50)
