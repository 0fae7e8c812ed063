"""SAASBO: what it makes of its draws, and everyday life under the shell."""

import math
import sys

import numpy as np
import pytest
from desk import Desk, sphere

from boids import MissingExtra, Optimizer, minimize
from boids.algorithms import ALGORITHMS, SAASBO
from boids.errors import MethodError
from boids.records import Domain, History, Outcome, Proposal

pytest.importorskip("numpyro")

#: Tiny chains; one compilation for a dimension.
QUICK = SAASBO(
    n_init=5, warmup=30, samples=8, thinning=2, max_tree_depth=3, candidates=128, starts=2, max_evaluations=30,
    padding=32,
)  # fmt: skip


def test_it_is_in_the_registry_and_has_the_papers_settings():
    assert ALGORITHMS["saasbo"] is SAASBO
    method = SAASBO()
    assert (method.warmup, method.samples, method.thinning, method.max_tree_depth) == (512, 256, 16, 6)
    assert (method.kernel, method.alpha, method.noise_variance) == ("rbf", 0.1, 1e-6)
    assert (method.candidates, method.starts, method.max_evaluations) == (5000, 5, 100)


def test_without_numpyro_it_fails_at_once(monkeypatch):
    monkeypatch.setitem(sys.modules, "numpyro", None)
    with pytest.raises(MissingExtra, match=r"pip install 'boids-opt\[saasbo\]'"):
        Optimizer([(0, 1)] * 3, budget=30, method="saasbo", seed=0)


def test_active_inputs_get_the_short_length_scales():
    method = SAASBO(n_init=30, candidates=64, starts=1, padding=32)
    desk = Desk(method, Domain(12), budget=50).go(lambda u: np.sin(3 * u[2]) + u[7] ** 2, 31)
    lengthscales = np.median(desk.state.draws.lengthscales, axis=0)
    assert desk.state.draws.lengthscales.shape == (16, 12)
    assert set(np.argsort(lengthscales)[:2]) == {2, 7}
    facts = method.diagnostics(desk.state)
    assert facts["lengthscales"] == lengthscales.tolist()
    assert facts["noise_variance"] == pytest.approx(2e-6)


def test_better_than_random_on_a_shifted_sphere():
    """On average: chains this short go wrong now and then, by rounding errors that differ between processors."""

    def mean(method):
        return np.mean([minimize(sphere, [(-1, 1)] * 10, 30, method=method, seed=seed).fun for seed in range(6)])

    assert mean(QUICK) < 0.75 * mean("random")


def test_resume_is_exact(tmp_path):
    whole, half = (Optimizer([(-1, 1)] * 3, budget=14, method=QUICK, seed=4) for _ in range(2))

    def advance(optimizer, count):
        for _ in range(count):
            while optimizer.remaining and len(optimizer.pending) < 3:
                optimizer.ask()
            trial = optimizer.pending[optimizer.n_told % len(optimizer.pending)]
            optimizer.tell(trial, sphere(trial.x), error="crash" if trial.id % 5 == 3 else None)

    advance(whole, 14)
    advance(half, 8)
    half.save(tmp_path / "run.boids")
    half = Optimizer.load(tmp_path / "run.boids")
    advance(half, 6)
    one, other = ([(t.id, t.unit.tobytes(), t.value) for t in each.trials] for each in (whole, half))
    assert one == other


def test_a_batch_shares_one_chain_and_its_points_differ():
    desk = Desk(QUICK, Domain(3), budget=30).go(sphere, 10)
    desk.ask()
    draws = desk.state.draws
    batch = np.array([desk.pending[0].unit, *(desk.ask().unit for _ in range(3))])
    assert desk.state.draws is draws
    distance = np.linalg.norm(batch[:, None] - batch[None], axis=2)
    assert distance[np.triu_indices(4, 1)].min() > 1e-3
    for proposal in reversed(desk.pending.copy()):
        desk.tell(proposal, sphere(proposal.unit))
    desk.ask()
    assert desk.state.draws is not draws


def test_a_chain_for_every_so_many_data():
    method = SAASBO(**{**vars(QUICK), "refit_every": 4})
    desk = Desk(method, Domain(3), budget=30).go(sphere, 5)
    fitted = [(desk.go(sphere, 1), desk.state.fitted_at)[1] for _ in range(9)]
    assert fitted == [5, 5, 5, 5, 9, 9, 9, 9, 13]


def test_a_fixed_seed_of_the_chain():
    units = np.random.default_rng(0).uniform(-1, 1, (8, 3))
    history = History(units, np.array([sphere(u) for u in units]))
    for seed, equal in ((0, True), (None, False)):
        method = SAASBO(**{**vars(QUICK), "chain_seed": seed})
        state = SAASBO.State(queue=np.empty((0, 3)))
        draws = [method.ask(state, history, (), np.random.default_rng(i))[0].draws.lengthscales for i in (1, 2)]
        assert np.array_equal(*draws) is equal


def test_failures_do_not_stop_it_and_leave_no_draws_behind():
    desk = Desk(QUICK, Domain(3), budget=30).go(lambda u: math.nan, 7)
    assert desk.state.draws is None
    desk.go(lambda u: math.nan if u[0] > 0.5 else sphere(u), 4)
    assert desk.state.draws is not None


def test_points_of_others_teach_it_too():
    desk = Desk(QUICK, Domain(3), budget=30)
    guest = desk.guest([0.31, 0.29, 0.3])
    desk.tell(guest, sphere(guest.unit))
    desk.go(lambda u: 5.0 + sphere(u), 5)
    assert np.abs(desk.ask().unit - guest.unit).max() < 0.6


def test_every_design_point_pending_and_nothing_known():
    desk = Desk(QUICK, Domain(2), budget=30)
    assert QUICK.ready(desk.state) == 5
    assert len({desk.ask().unit.tobytes() for _ in range(8)}) == 8
    assert len(QUICK.init(Domain(2), 3, np.random.default_rng(0)).queue) == 3


def test_noise_is_inferred_if_there_is_any():
    for noisy in (False, True):
        desk = Desk(QUICK, Domain(3, noisy=noisy), budget=30).go(sphere, 8)
        assert (desk.state.draws.noise_variances == 2e-6).all() != noisy


def test_linear_constraints_are_kept_by_the_search_itself():
    domain = Domain(
        3,
        violating=lambda units: np.maximum(units.sum(axis=1) - 0.2, 0.0),
        sampling=lambda count, rng: rng.uniform(-1, 0.06, (count, 3)),
    )
    desk = Desk(QUICK, domain, budget=30).go(lambda u: -u.sum(), 10)
    assert max(p.unit.sum() for p, _, _ in desk.rows) <= 0.2 + 1e-12


def test_workers_are_forked_before_and_after_jax_has_started():
    """JAX warns of forks, and a process with its threads must not be copied while it holds locks."""
    for seed in range(2):
        result = minimize(sphere, [(-1, 1)] * 3, 8, method=QUICK, seed=seed, n_workers=2)
        assert result.nfev == 8


def test_a_tell_of_anything_leaves_the_state_alone():
    state = QUICK.init(Domain(2), 9, np.random.default_rng(0))
    history = History(np.zeros((1, 2)), np.zeros(1))
    assert QUICK.tell(state, history, Proposal(np.zeros(2)), Outcome(0.0), np.random.default_rng(0)) is state


@pytest.mark.parametrize(
    "wrong", [{"n_init": 0}, {"kernel": "linear"}, {"alpha": 0.0}, {"samples": 8, "thinning": 9}, {"chain_seed": -1}]
)
def test_wrong_settings_are_refused(wrong):
    with pytest.raises(MethodError, match=next(iter(wrong))):
        SAASBO(**wrong)


def test_other_settings_work():
    changes = {
        "kernel": "matern52", "noise": "inferred", "predictive_noise": True, "incumbent": "predicted",
        "design": "uniform", "chain_seed": 0,
    }  # fmt: skip
    method = SAASBO(**{**vars(QUICK), **changes})
    assert minimize(sphere, [(-1, 1)] * 3, 12, method=method, seed=0).fun < 1.0
