"""Each setting of BOIDS reaches the place where it acts."""

import numpy as np
import pytest
from test_boids import SMALL, Run, sphere

from boids.algorithms import Boids, boids_models, boids_training
from boids.algorithms import boids as module
from boids.algorithms.boids import DESIGN
from boids.blocks.design import DESIGNS
from boids.blocks.embedding import Embedding
from boids.blocks.line import Lines
from boids.blocks.swarm import Swarm
from boids.records import Domain


def spy(monkeypatch, name, module=module):
    """Record the arguments of a function that a module calls."""
    calls, real = [], getattr(module, name)

    def recorded(*args, **more):
        calls.append(args)
        return real(*args, **more)

    monkeypatch.setattr(module, name, recorded)
    return calls


@pytest.fixture
def swarm():
    rng = np.random.default_rng(1)
    start = Swarm.at(rng.uniform(-0.5, 0.5, (6, 3)), rng.normal(size=6), rng.normal(size=(6, 3)))
    return start.move(2, rng.uniform(-0.5, 0.5, 3), 5.0)  # x_2 is away from p_2


@pytest.mark.parametrize("changes", [{}, {"inertia": 0.2}, {"cognitive": 0.3}, {"social": 0.4}])
def test_guided_lines_follow_equation_1_with_the_coefficients_given(swarm, changes):
    method = Boids(**changes)
    got = method._lines(swarm, np.random.default_rng(7))
    velocities = swarm.velocities(method.inertia, method.cognitive, method.social, np.random.default_rng(7))
    expected = Lines.through(swarm.positions, velocities)
    np.testing.assert_array_equal(got.directions, expected.directions)
    np.testing.assert_array_equal(got.low, expected.low)


def test_random_lines_do_not_look_at_the_incumbents(swarm):
    elsewhere = swarm.move(0, np.zeros(3), -100.0)
    a, b = (Boids(guided_lines=False)._lines(s, np.random.default_rng(7)) for s in (swarm, elsewhere))
    np.testing.assert_array_equal(a.directions, b.directions)
    many = np.vstack([Boids(guided_lines=False)._lines(swarm, np.random.default_rng(s)).directions for s in range(50)])
    # 900 fair signs: the share of positive ones is within 4.9 standard deviations (false alarms: 1e-6).
    assert abs((many > 0).mean() - 0.5) < 4.9 * 0.5 / np.sqrt(many.size)


def test_rays_have_one_side(swarm):
    assert not Boids(line_extent="ray")._lines(swarm, np.random.default_rng(7)).low.any()
    assert Boids()._lines(swarm, np.random.default_rng(7)).low.all()


@pytest.mark.parametrize(("rule", "negative"), [("positive", False), ("symmetric", True)])
def test_a_still_particle_gets_a_direction_by_the_rule(rule, negative):
    still = Swarm.at(np.zeros((40, 3)), np.zeros(40), np.zeros((40, 3)))
    directions = Boids(zero_direction=rule)._lines(still, np.random.default_rng(0)).directions
    assert (directions < 0).any() == negative


@pytest.mark.parametrize(("rule", "moving"), [("uniform", True), ("zero", False)])
def test_first_velocities(rule, moving):
    run = Run(Boids(initial_velocity=rule, **SMALL), 10, 60).go(sphere, 20)
    run.ask()
    displacements = run.state.swarm.displacements
    assert displacements.any() == moving
    if moving:
        assert displacements.min() < -0.5
        assert displacements.max() > 0.5


@pytest.mark.parametrize("name", sorted(DESIGNS))
def test_the_design_is_the_one_asked_for(name):
    state = Boids(design=name, n_init=9).init(Domain(30), 100, np.random.default_rng(4))
    rng = np.random.default_rng(4)
    embedding = Embedding.random(30, state.embedding.dim, rng)
    np.testing.assert_array_equal(state.embedding.bins, embedding.bins)
    np.testing.assert_array_equal(state.queue, DESIGNS[name](9, embedding.dim, rng))


def test_the_initial_dimension_can_be_given():
    assert Boids(initial_dim=5).init(Domain(30), 100, np.random.default_rng(0)).embedding.dim == 5
    assert Boids(initial_dim=50).init(Domain(30), 100, np.random.default_rng(0)).embedding.dim == 30
    assert Boids(embedding=False).init(Domain(30), 100, np.random.default_rng(0)).embedding.dim == 30


def test_random_first_particles_do_not_insist_on_the_best():
    kept = []
    for seed in range(12):
        run = Run(Boids(particles=2, n_init=15, first_particles="random", **SMALL), 10, 100, seed).go(sphere, 15)
        run.ask()
        kept.append(run.state.swarm.leader_value == min(run.values))
    # Kept by chance with probability 2/15 a run: all twelve kept has probability 3e-11.
    assert not all(kept)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, {2: 1, 8: 4, 32: 14, 100: 100}),
        ({"budget_until_input_dim": 10_000}, {2: 4, 8: 8, 32: 32, 100: 100}),
        ({"budget_until_input_dim": 30}, {2: 1, 8: 1, 32: 1, 100: 100}),
        ({"n_init": 980}, {2: 1, 8: 1, 32: 1, 100: 100}),
    ],
)
def test_the_tolerance_of_baxus_depends_on_the_budget_until_the_input_dimension(changes, expected):
    method = Boids(failure_tolerance="baxus", initial_dim=None, sweep_from=None, **changes)
    state = method.init(Domain(100), 1000, np.random.default_rng(0))
    got = {}
    while True:
        got[state.embedding.dim] = method.tolerance(state)
        if not state.embedding.splittable:
            break
        finer, _ = state.embedding.split(np.ones(state.embedding.dim), 3, np.random.default_rng(0))
        state = module.replace(state, embedding=finer)
    assert got == expected


def test_standardisation_is_passed_on(monkeypatch):
    calls, real = [], boids_models.Scale.of
    monkeypatch.setattr(boids_models.Scale, "of", lambda *args: calls.append(args) or real(*args))
    Run(Boids(standardise="median", flat_spread=0.5, **SMALL), 6, 60).go(sphere, 21)
    assert calls[0][1:] == ("median", 0.5)


def test_training_is_passed_on_and_its_result_is_kept(monkeypatch):
    calls, questions = spy(monkeypatch, "train", boids_training), spy(monkeypatch, "is_due", boids_training)
    run = Run(Boids(training="multistart", refit_fraction=0.3, rivals=False, **SMALL), 6, 60).go(sphere, 23)
    assert [c[0] for c in calls] == ["multistart"] * 3
    assert [(c[0], c[4], c[2]) for c in questions] == [("multistart", 0.3, 20), ("multistart", 0.3, 21)]
    assert calls[0][4] is None
    assert calls[1][4] is not None
    assert run.state.fits.objective.fitted_at == 22


def test_released_trains_as_released(monkeypatch):
    calls = spy(monkeypatch, "train", boids_training)
    Run(Boids.released(**SMALL), 6, 60).go(sphere, 21)
    assert calls[0][0] == "released"


def test_improvement_is_counted_from_the_lowest_value(monkeypatch):
    calls = spy(monkeypatch, "acquisition_function")
    run = Run(Boids(line_search="nsga2", acquisition="ei", **SMALL), 6, 60).go(sphere, 21)
    values = np.array(run.values[:20])
    assert calls[0][4] == pytest.approx((values.min() - values.mean()) / values.std(ddof=1))


@pytest.mark.parametrize("search", [{}, {"line_search": "nsga2", "acquisition": "ts"}])
def test_pending_points_are_fantasised(monkeypatch, search):
    calls = spy(monkeypatch, "acquisition_function" if search else "climb_from_line")
    run = Run(Boids(**SMALL, **search), 6, 60).go(sphere, 20)
    first = run.ask()
    run.ask(pending=[first])
    plain, fantasy = calls[0][1], calls[1][1]
    assert len(fantasy.inputs) == len(plain.inputs) + 1
    np.testing.assert_array_equal(fantasy.inputs[-1], run.state.embedding.project(first.unit))
    if not search:  # what is believed of it must be improved upon
        assert calls[1][3] == min(calls[0][3], fantasy.outputs[-1])


def test_a_restart_forgets_the_fit_and_a_split_keeps_it():
    run = Run(Boids(n_init=5, particles=5, **SMALL), 3, 100).go(lambda u: 1.0, 33)
    assert run.state.epoch == 1
    assert run.state.fits.objective is None
    run = Run(Boids(**SMALL), 20, 100).go(lambda u: 1.0, 27)
    assert run.state.embedding.dim == 4
    assert run.state.fits.objective.hyper.lengthscales.shape == (4,)
    assert run.state.fits.objective.fitted_at == 0


def test_outcomes_proposed_in_a_coarser_subspace_do_not_use_up_the_patience_of_a_finer_one():
    run = Run(Boids(**SMALL), 100, 300).go(sphere, 20)
    pending = []
    for _ in range(20):
        pending.append(run.ask(pending=pending))
    assert {p.memo["dim"] for p in pending} == {2}
    for proposal in pending:
        run.tell(proposal, 99.0)
    assert run.state.embedding.dim == 8
    assert run.state.patience.factor == 1
    assert len(run.state.rows) == 40


@pytest.mark.parametrize(("particles", "n_init"), [(4, 12), (20, 6), (6, 6)])
def test_the_swarm_ends_up_the_same_size_and_led_by_the_best_however_late_the_design_comes(particles, n_init):
    run = Run(Boids(particles=particles, n_init=n_init, **SMALL), 10, 100)
    design = [run.ask() for _ in range(n_init)]
    for proposal in design[:-1]:
        run.tell(proposal, sphere(proposal.unit))
    run.ask(pending=design[-1:])
    run.tell(design[-1], -5.0)
    assert design[-1].memo["line"] == DESIGN
    assert len(run.state.swarm) == particles
    assert run.state.swarm.leader_value == -5.0
