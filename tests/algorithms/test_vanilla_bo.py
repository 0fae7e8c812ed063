"""Vanilla BO: its model and priors, the search, and everyday life under the shell."""

import math

import numpy as np
import pytest
from desk import Desk, sphere

from boids import Bool, Categorical, Float, Int, Optimizer, Space, minimize
from boids.algorithms import ALGORITHMS, VanillaBO
from boids.errors import MethodError
from boids.gp.model import Surrogate, lengthscale_prior
from boids.records import Domain, History, Outcome, Proposal

QUICK = VanillaBO(n_init=5, raw_samples=32, starts=2, max_evaluations=40)


def traces(optimizer):
    return [(trial.id, trial.unit.tobytes(), trial.value) for trial in optimizer.trials]


def test_it_is_in_the_registry():
    assert ALGORITHMS["vanilla-bo"] is VanillaBO


@pytest.mark.parametrize(("dim", "mode", "median"), [(2, 0.290, 5.82), (20, 0.916, 18.4), (100, 2.048, 41.1)])
def test_the_prior_of_the_length_scales(dim, mode, median):
    """The published numbers, for a box of side 1; ours has side 2."""
    prior = lengthscale_prior(dim)
    assert math.exp(prior.location) / 2 == pytest.approx(median, rel=2e-3)
    start = VanillaBO().surrogate.default_start(dim)
    np.testing.assert_allclose(start.lengthscales / 2, mode, rtol=2e-3)
    assert start.noise_variance == pytest.approx(math.exp(-5))
    assert VanillaBO().surrogate.lengthscale_bounds[0] / 2 == 0.025
    assert VanillaBO().surrogate.noise_bounds[0] == 1e-4
    assert start.signal_variance == 1.0


@pytest.mark.parametrize(("dim", "count"), [(1, 3), (2, 5), (100, 30), (500, 68)])
def test_the_size_of_the_design(dim, count):
    state = VanillaBO().init(Domain(dim), 1000, np.random.default_rng(0))
    assert len(state.queue) == count
    assert VanillaBO().ready(state) == count
    assert len(VanillaBO().init(Domain(dim), 2, np.random.default_rng(0)).queue) == 2
    assert len(VanillaBO(n_init=7).init(Domain(dim), 100, np.random.default_rng(0)).queue) == 7


def test_better_than_random_on_a_shifted_sphere():
    best = [minimize(sphere, [(-1, 1)] * 10, 40, method=QUICK, seed=seed).fun for seed in range(2)]
    other = [minimize(sphere, [(-1, 1)] * 10, 40, method="random", seed=seed).fun for seed in range(2)]
    assert max(best) < 0.5 * min(other)


def test_active_inputs_get_the_short_length_scales():
    desk = Desk(VanillaBO(n_init=40), Domain(12), budget=50).go(lambda u: np.sin(3 * u[2]) + u[7] ** 2, 45)
    lengthscales = desk.state.hyper.lengthscales
    assert set(np.argsort(lengthscales)[:2]) == {2, 7}
    facts = QUICK.diagnostics(desk.state)
    assert len(facts["lengthscales"]) == 12


def test_resume_is_exact(tmp_path):
    space = Space({"a": Float(1e-3, 1, log=True), "n": Int(1, 9), "c": Categorical(["x", "y", "z"]), "b": Bool()})

    def value(trial):
        p = trial.params
        return math.log(p["a"]) ** 2 + (p["n"] - 4) ** 2 + (p["c"] == "y") + p["b"]

    whole, half = (Optimizer(space, budget=16, method=QUICK, seed=4) for _ in range(2))

    def advance(optimizer, count):
        for _ in range(count):
            while optimizer.remaining and len(optimizer.pending) < 3:
                optimizer.ask()
            trial = optimizer.pending[optimizer.n_told % len(optimizer.pending)]
            if trial.id % 5 == 3:
                optimizer.tell(trial, error="crash")
            else:
                optimizer.tell(trial, value(trial))

    advance(whole, 16)
    advance(half, 9)
    half.save(tmp_path / "run.boids")
    half = Optimizer.load(tmp_path / "run.boids")
    advance(half, 7)
    assert traces(whole) == traces(half)


def test_pending_points_are_avoided():
    desk = Desk(QUICK, Domain(3), budget=30).go(sphere, 10)
    batch = np.array([desk.ask().unit for _ in range(4)])
    distance = np.linalg.norm(batch[:, None] - batch[None], axis=2)
    assert distance[np.triu_indices(4, 1)].min() > 1e-3
    for proposal in reversed(desk.pending.copy()):
        desk.tell(proposal, sphere(proposal.unit))


def test_failures_do_not_stop_it_and_leave_no_fit_behind():
    desk = Desk(QUICK, Domain(2), budget=30).go(lambda u: math.nan, 7)
    assert desk.state.hyper is None
    desk.go(lambda u: math.nan if u[0] > 0.5 else sphere(u), 8)
    assert desk.state.hyper is not None


def test_points_of_others_teach_it_too():
    desk = Desk(QUICK, Domain(2), budget=30)
    guest = desk.guest([0.31, 0.29])
    desk.tell(guest, sphere(guest.unit))
    desk.go(lambda u: 5.0 + sphere(u), 5)
    proposal = desk.ask()
    assert np.abs(proposal.unit - guest.unit).max() < 0.5


def test_every_design_point_pending_and_nothing_known():
    desk = Desk(QUICK, Domain(2), budget=30)
    units = [desk.ask().unit for _ in range(8)]
    assert len({unit.tobytes() for unit in units}) == 8


def test_known_noise_is_taken_into_account():
    rng = np.random.default_rng(0)
    units = rng.uniform(-1, 1, (12, 2))
    values = np.array([sphere(u) for u in units])
    outcomes = []
    for noise in (None, np.full(12, np.nan), np.full(12, 10.0)):
        state = QUICK.init(Domain(2, noisy=True), 30, np.random.default_rng(1))
        for _ in range(5):
            state, _ = QUICK.ask(state, History(units, values), (), rng)
        history = History(units, values, noise=noise, space=Domain(2, noisy=True))
        _, proposal = QUICK.ask(state, history, (), np.random.default_rng(2))
        outcomes.append(proposal.unit)
    np.testing.assert_allclose(outcomes[0], outcomes[1], atol=1e-8)
    assert np.abs(outcomes[0] - outcomes[2]).max() > 1e-3


def test_linear_constraints_are_kept_by_the_search_itself():
    domain = Domain(
        2,
        violating=lambda units: np.maximum(units.sum(axis=1) - 0.2, 0.0),
        sampling=lambda count, rng: rng.uniform(-1, 0.1, (count, 2)),
    )
    desk = Desk(QUICK, domain, budget=30).go(lambda u: -u.sum(), 12)
    sums = np.array([p.unit.sum() for p, _, _ in desk.rows])
    assert sums.max() <= 0.2 + 1e-12
    assert sums.max() > 0.15


def test_a_tell_of_anything_leaves_the_state_alone():
    state = QUICK.init(Domain(2), 9, np.random.default_rng(0))
    history = History(np.zeros((1, 2)), np.zeros(1))
    assert QUICK.tell(state, history, Proposal(np.zeros(2)), Outcome(0.0), np.random.default_rng(0)) is state


@pytest.mark.parametrize("wrong", [{"n_init": 0}, {"starts": 0}, {"incumbent": "best"}, {"refit_fraction": -1}])
def test_wrong_settings_are_refused(wrong):
    with pytest.raises(MethodError, match=next(iter(wrong))):
        VanillaBO(**wrong)


def test_other_settings_work():
    method = VanillaBO(
        n_init=5, raw_samples=16, starts=1, incumbent="predicted", fit_from="mode", design="uniform",
        surrogate=Surrogate.regularised(),
    )  # fmt: skip
    assert minimize(sphere, [(-1, 1)] * 2, 10, method=method, seed=0).fun < 0.3
