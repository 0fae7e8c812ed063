"""More data than the models take: which rows they see, and that nothing else changes."""

from dataclasses import replace

import numpy as np
import pytest
from desk import HASTY, QUICK, Desk, sphere
from hypothesis import given
from hypothesis import strategies as st

from boids import FAILED, Optimizer
from boids.algorithms import Boids, boids_effort
from boids.algorithms.boids_models import Beliefs, Data, Fits
from boids.algorithms.boids_subset import local_rows
from boids.blocks.nsga2 import NSGA2
from boids.blocks.swarm import Swarm
from boids.gp import training
from boids.records import Domain

CLIMB = {"line_search": "climb", "acquisition": "logei", "climb_evaluations": 8, "line_samples": 16, "near_samples": 16}
SEARCHES = pytest.mark.parametrize("search", [{}, CLIMB], ids=["nsga2", "climb"])


def rng(seed=0):
    return np.random.default_rng(seed)


def rows_of(n=60, dim=3, seed=0):
    points = rng(seed).uniform(-1, 1, (n, dim))
    return points, ((points - 0.3) ** 2).sum(axis=1)


def swarm_at(points, values, rows):
    return Swarm.at(points[rows], values[rows], np.zeros((len(rows), points.shape[1])))


# --- which rows -----------------------------------------------------------------------------------------------------


@given(st.integers(1, 70), st.integers(1, 60), st.integers(0, 5))
def test_exactly_as_many_rows_as_allowed_are_kept_in_their_order(n, limit, seed):
    points, values = rows_of(n, seed=seed)
    values[rng(seed).random(n) < 0.3] = np.nan
    kept = local_rows(points, values, None, None, limit)
    assert len(kept) == min(n, limit)
    assert (np.diff(kept) > 0).all()
    np.testing.assert_array_equal(kept, local_rows(points, values, None, None, limit))


def test_the_best_the_latest_and_those_around_the_swarm_are_kept():
    points, values = rows_of(200)
    swarm = swarm_at(points, values, np.array([5, 6, 7]))
    kept = set(local_rows(points, values, swarm, None, 40).tolist())
    assert set(np.argsort(values)[:10].tolist()) <= kept
    assert set(range(190, 200)) <= kept
    to_leader = np.linalg.norm(points - swarm.leader, axis=1)
    assert set(np.argsort(to_leader)[:10].tolist()) <= kept
    assert {5, 6, 7} <= kept


def test_the_first_row_to_go_is_old_bad_and_far_away():
    points, values = rows_of(50)
    points[0], values[0] = 1.0, 99.0
    swarm = swarm_at(points, values, np.array([10, 20]))
    swarm = replace(swarm, leader=np.full(3, -0.5), positions=np.full((2, 3), -0.5), best_positions=np.full((2, 3), -1))
    assert local_rows(points, values, swarm, None, 49).tolist() == list(range(1, 50))


def test_near_is_what_the_length_scales_call_near():
    points = np.array([[0.0, 0.0], [0.9, 0.0], [0.0, 0.8], [-1.0, -1.0]])
    values = np.arange(4.0)
    swarm = swarm_at(points, values, np.array([0]))
    # Three places: for the latest, for the leader, and for one more.
    assert local_rows(points, values, swarm, None, 3).tolist() == [0, 2, 3]
    assert local_rows(points, values, swarm, np.array([100.0, 0.1]), 3).tolist() == [0, 1, 3]


def test_failures_may_be_kept_but_never_as_the_best():
    points, values = rows_of(40)
    values[:30] = np.nan
    kept = local_rows(points, values, None, None, 20)
    assert set(np.argsort(values[30:])[:5] + 30) <= set(kept.tolist())
    assert (kept < 30).any()  # the nearest to the best


# --- what the models make of them ------------------------------------------------------------------------------------


def data_of(n=80, failing=False, constrained=False, noisy=False, seed=0):
    points, values = rows_of(n, 2, seed)
    constraints = np.stack([0.3 - points[:, 0], points[:, 1] - 0.9], axis=1) if constrained else None
    if failing:
        failed = points[:, 1] > 0.5
        values[failed] = np.nan
        if constraints is not None:
            constraints[failed] = np.nan
    noise = np.full(n, 0.01) if noisy else None
    return Data(points, values, constraints, noise, noisy)


@pytest.mark.parametrize("failures", ["modelled", "worst"])
@pytest.mark.parametrize("options", [{}, {"failing": True}, {"constrained": True}, {"noisy": True},
                                     {"failing": True, "constrained": True, "noisy": True}])  # fmt: skip
def test_models_see_few_rows_and_all_rows_are_judged(options, failures):
    data, method = data_of(**options), Boids(max_points=30, failures=failures)
    fits, beliefs = Beliefs.form(method, data, Fits(), rng())
    good = data.succeeded
    assert len(beliefs.objective.inputs) <= 30
    assert fits.objective.fitted_at == (good.sum() if failures == "modelled" else len(good))
    judgement = beliefs.judge(data)
    assert len(judgement.merits) == len(beliefs.targets) == 80
    np.testing.assert_array_equal(np.isnan(judgement.merits), ~good)
    if beliefs.constraints is not None:
        assert len(beliefs.constraints.inputs) == len(beliefs.constraints.outputs) <= 30
        feasible = (data.constraints <= 0).all(axis=1)
        np.testing.assert_array_equal(beliefs.violation[good] == 0.0, feasible[good])
    if beliefs.failures is not None:
        assert len(beliefs.failures.inputs) == 30
        assert {-1.0, 1.0} == set(beliefs.failures.outputs)
    if not data.noisy and data.constraints is None:
        np.testing.assert_array_equal(judgement.merits, data.values)
        assert judgement.best_merit == pytest.approx(beliefs.targets[np.nanargmin(data.values)])
        assert np.nanargmin(data.values) in local_rows(data.points, data.values, None, None, 30)


def test_the_weight_of_violations_counts_rows_that_the_models_do_not_see():
    """All evaluations are infeasible: the weight grows with their number, whatever the models are made of."""
    data = replace(data_of(120), constraints=np.ones((120, 1)))
    weights = [Beliefs.form(Boids(max_points=most), data, Fits(), rng())[1].weight for most in (30, None)]
    assert weights[0] == weights[1] > 1.0


def test_fits_go_on_after_the_models_have_stopped_growing():
    method, fits, fitted = Boids(max_points=30, refit_fraction=0.1), Fits(), []
    for n in range(28, 45):
        fits, _ = Beliefs.form(method, data_of(n), fits, rng())
        fitted.append(fits.objective.fitted_at)
    # Three rows, a tenth of what the models see, are enough for the next fit.
    assert fitted == [28, 28, 28, 31, 31, 31, 34, 34, 34, 37, 37, 37, 40, 40, 40, 43, 43]


def test_training_takes_as_many_rows_as_it_can_afford(monkeypatch):
    data, seen = data_of(80), []

    def recorded(likelihood, starts, **options):
        seen.append((len(likelihood.inputs), len(starts)))
        return starts[0]

    monkeypatch.setattr(training, "fit", recorded)
    fits, _ = Beliefs.form(Boids(rivals=False), data, Fits(), rng())
    assert seen == [(80, 3)]
    monkeypatch.setattr(training, "MOST_WORK", 40**2 * (2 * 2 + 40 / 2) * 1.001)
    fits, beliefs = Beliefs.form(Boids(rivals=False), data, Fits(), rng())
    assert len(beliefs.objective.inputs) == 80
    assert beliefs.objective.hyper.mean != 0.0  # that of all rows, not of the good ones trained on
    fits, _ = Beliefs.form(Boids(rivals=False), data, fits, rng())  # the first training was only a beginning
    again, _ = Beliefs.form(Boids(rivals=False), data, fits, rng())
    assert seen[1:] == [(40, 1), (40, 1)]
    assert again.objective is fits.objective
    Beliefs.form(Boids(max_points=None, rivals=False), data, Fits(), rng())
    assert seen[3:] == [(80, 3)]


@pytest.mark.parametrize("dim", [1, 100, 500, 10_000])
@pytest.mark.parametrize("from_scratch", [False, True])
def test_the_affordable_rows_use_up_the_work(dim, from_scratch):
    work = training.MOST_WORK / (training.FROM_SCRATCH if from_scratch else 1.0)
    n = training.affordable_rows(dim, from_scratch)
    assert n**2 * (2 * dim + n / 2) <= work < (n + 1) ** 2 * (2 * dim + (n + 1) / 2)


def test_runs_of_the_paper_are_trained_on_everything():
    """1000 evaluations in 500 dimensions, the paper's largest, are below every limit; its presets have none."""
    assert training.affordable_rows(500, from_scratch=False) >= 1000
    assert Boids().max_points >= 1000
    assert Boids.paper().max_points is Boids.released().max_points is None
    assert boids_effort.steps_per_climb(Boids(), 1000, 500) == Boids().climb_evaluations
    assert boids_effort.features_of_a_draw(Boids(), 4000) == Boids().path_features
    assert boids_effort.shortened(Boids(), 5000, 1000, 500) == (NSGA2(), 5000)


def test_an_expensive_search_is_shortened_and_never_to_nothing():
    method = Boids(**CLIMB | {"climb_evaluations": 100})
    steps = [boids_effort.steps_per_climb(method, n, 1000) for n in (100, 1000, 3000, 10_000, 100_000)]
    assert steps == sorted(steps, reverse=True)
    assert steps[0] == 100
    assert steps[-1] == boids_effort.FEWEST_STEPS
    search, starts = boids_effort.shortened(Boids(), 5000, 2000, 10_000)
    assert boids_effort.FEWEST_GENERATIONS <= search.generations < 100
    assert boids_effort.FEWEST_STARTS <= starts < 5000
    short = Boids(search=NSGA2(generations=5))
    assert boids_effort.shortened(short, 50, 100_000, 10_000) == (short.search, 50)
    features = [boids_effort.features_of_a_draw(method, d) for d in (1000, 10_000, 1_000_000)]
    assert features == [method.path_features, int(boids_effort.WAVES / 10_000), boids_effort.FEWEST_WAVES]
    exact = replace(method, max_points=None)
    assert boids_effort.features_of_a_draw(exact, 1_000_000) == exact.path_features
    assert boids_effort.steps_per_climb(exact, 100_000, 10_000) == 100
    assert boids_effort.shortened(exact, 5000, 100_000, 10_000) == (exact.search, 5000)


# --- whole runs -------------------------------------------------------------------------------------------------------


@SEARCHES
def test_a_run_is_the_same_without_a_limit_until_it_gets_there(search):
    method = replace(HASTY, **search)
    with_limit = Desk(replace(method, max_points=20), Domain(6)).go(sphere, 30)
    without = Desk(replace(method, max_points=None), Domain(6)).go(sphere, 30)
    same = [np.array_equal(a.unit, b.unit) for (a, _, _), (b, _, _) in zip(with_limit.rows, without.rows, strict=True)]
    restarted = without.state.epoch > 0
    assert all(same[:21])
    assert restarted or not all(same[21:])


@SEARCHES
@pytest.mark.parametrize("options", [{}, {"noisy": True}, {"n_constraints": 2}])
def test_runs_pass_the_limit_with_noise_constraints_failures_guests_and_batches(search, options):
    method = Boids(embedding=False, n_init=5, particles=4, max_points=12, **QUICK, **search)
    desk, chance = Desk(method, Domain(4, **options)), rng(3)
    for k in range(10):
        batch = [desk.ask(), desk.ask(), desk.guest(chance.uniform(-1, 1, 4))]
        for proposal in batch:
            value = np.nan if (k + proposal.unit[0] > 4) and k % 3 == 0 else sphere(proposal.unit)
            desk.tell(proposal, value, chance.normal(size=desk.domain.n_constraints))
    assert len(desk.state.rows) > 20
    assert np.isfinite(desk.ask().unit).all()
    data = desk.state.data(desk.history)
    assert len(Beliefs.form(method, data, Fits(), rng(), desk.state.swarm)[1].objective.inputs) <= 12


@SEARCHES
def test_resume_is_exact_beyond_the_limit(tmp_path, search):
    method = Boids(embedding=False, n_init=5, particles=4, max_points=10, **QUICK, **search)

    def go(optimizer, count):
        for _ in range(count):
            trial = optimizer.ask()
            optimizer.tell(trial, FAILED if trial.id == 7 else sphere(trial.x))

    whole = Optimizer([(-1, 1)] * 5, budget=30, method=method, seed=2)
    whole.add_trials([(point, sphere(point)) for point in rng(1).uniform(-1, 1, (8, 5))])
    go(whole, 8)
    whole.save(tmp_path / "run")
    again = Optimizer.load(tmp_path / "run")
    go(whole, 12), go(again, 12)
    np.testing.assert_array_equal([t.unit for t in whole.trials], [t.unit for t in again.trials])


def test_a_run_beyond_the_limit_still_gets_better():
    """A bowl in six dimensions, models of at most 15 rows: from the 15th evaluation to the 60th the best value falls to
    less than a third in each of three runs."""
    method = Boids(embedding=False, n_init=8, particles=5, max_points=15, **QUICK, **CLIMB)
    for seed in range(3):
        values = [value for _, value, _ in Desk(method, Domain(6), seed=seed).go(sphere, 60).rows]
        assert min(values) < min(values[:15]) / 3.0
