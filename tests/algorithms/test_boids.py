import itertools
from dataclasses import fields, replace

import numpy as np
import pytest
from scipy.stats import mannwhitneyu

import boids
from boids.algorithms import Boids
from boids.algorithms.boids import DESIGN
from boids.algorithms.boids_lines import acquisition_function, candidates, draw_function
from boids.algorithms.boids_models import Fits
from boids.algorithms.boids_training import Fit
from boids.blocks.embedding import Embedding
from boids.blocks.nsga2 import NSGA2
from boids.errors import MethodError
from boids.gp.model import Hyperparameters, Surrogate
from boids.gp.posterior import Posterior
from boids.records import Domain, History, Outcome, Proposal

#: Small searches, so that the tests spend their time on what they test.
SMALL = {
    "sweep_from": None,
    "termination_max": 7,
    "initial_dim": None,
    "search": NSGA2(population=16, offspring=16, generations=6),
    "bandit_candidates": 200,
    "max_candidates": 60,
    "path_features": 64,
}


class Run:
    """The three pure functions driven by hand, with the shell's random streams."""

    def __init__(self, algorithm, dim, budget, seed=0):
        self.algorithm, self.seed = algorithm, seed
        self.units, self.values, self.asked = [], [], 0
        self.dim = dim
        self.state = algorithm.init(Domain(dim), budget, self.rng(0, 0))
        self.visited = [self.state.embedding.dim]

    def rng(self, kind, number):
        return np.random.default_rng([self.seed, kind, number])

    def history(self):
        return History(np.array(self.units).reshape(-1, self.dim), np.array(self.values, dtype=float))

    def ask(self, pending=()):
        self.state, proposal = self.algorithm.ask(self.state, self.history(), pending, self.rng(1, self.asked))
        self.asked += 1
        return proposal

    def tell(self, proposal, value):
        self.units.append(proposal.unit)
        self.values.append(value)
        rng = self.rng(2, len(self.values))
        self.state = self.algorithm.tell(self.state, self.history(), proposal, Outcome(value), rng)
        if self.state.embedding.dim != self.visited[-1]:
            self.visited.append(self.state.embedding.dim)

    def go(self, objective, count):
        for _ in range(count):
            proposal = self.ask()
            self.tell(proposal, objective(proposal.unit))
        return self


def sphere(u):
    return float(np.sum((u - 0.3) ** 2))


# --- settings -------------------------------------------------------------------------------------------------


def test_every_setting_names_its_source():
    assert all(f.metadata["source"] for f in fields(Boids))


@pytest.mark.parametrize(
    ("setting", "paper", "released"),
    [
        ("failure_tolerance", "baxus", "released"),
        ("counters", "exceeded", "reached"),
        ("success_threshold", 0.0, 1e-3),
        ("line_search", "nsga2", "nsga2"),
        ("acquisition", "ts-pathwise", "ts"),
        ("ts_noise", False, True),
        ("unskew", False, False),
        ("training", "multistart", "released"),
        ("incumbents", "all", "run"),
        ("first_particles", "random", "design"),
        ("particles", 20, 20),
        ("n_init", 20, 20),
        ("new_bins", 3, 3),
        ("termination_initial", 1, 1),
        ("termination_min", 0, 0),
        ("termination_max", 7, 7),
        ("initial_dim", None, None),
        ("success_tolerance", 3, 3),
        ("inertia", 0.729, 0.729),
        ("cognitive", 2.05 * 0.729, 2.05 * 0.729),
        ("social", 2.05 * 0.729, 2.05 * 0.729),
    ],
)
def test_the_two_published_presets_are_frozen(setting, paper, released):
    assert getattr(Boids.paper(), setting) == paper
    assert getattr(Boids.released(), setting) == released


def test_the_published_surrogate_and_search():
    for preset in (Boids.paper(), Boids.released()):
        assert preset.surrogate == Surrogate(
            kernel="matern52", lengthscale_bounds=(0.005, 10.0), signal_bounds=(0.05, 20.0), noise_bounds=(5e-4, 0.2)
        )
        assert (preset.search.population, preset.search.offspring, preset.search.generations) == (100, 100, 100)
    assert Boids.paper(particles=7).particles == 7


@pytest.mark.parametrize(
    "wrong",
    [
        {"particles": 0},
        {"n_init": 0},
        {"inertia": float("nan")},
        {"new_bins": 0},
        {"initial_dim": 0},
        {"termination_max": -1},
        {"refit_fraction": -0.1},
        {"acquisition": "pi"},
        {"line_search": "climb", "acquisition": "ts"},  # which nobody can climb
        {"training": "magic"},
        {"design": "grid"},
        {"incumbents": "none"},
    ],
)
def test_wrong_settings_are_named(wrong):
    with pytest.raises(MethodError, match=next(iter(wrong))):
        Boids(**wrong)


# --- nested subspaces and patience -------------------------------------------------------------------------------


def test_without_any_success_every_subspace_lasts_seven_evaluations():
    run = Run(Boids(failure_tolerance="released", **SMALL), 100, 500).go(lambda u: 1.0, 20)
    dims = []
    for _ in range(24):
        dims.append(run.state.embedding.dim)
        proposal = run.ask()
        run.tell(proposal, 1.0)
    assert [(d, len(list(group))) for d, group in itertools.groupby(dims)] == [(2, 7), (8, 7), (32, 7), (100, 3)]


def test_the_tolerance_of_baxus_stays_longer_and_exceeding_longer_still():
    lasted = {}
    for counters in ("reached", "exceeded"):
        method = Boids(failure_tolerance="baxus", counters=counters, **SMALL)
        run = Run(method, 100, 1000).go(lambda u: 1.0, 20)
        while run.state.embedding.dim < 32:
            run.go(lambda u: 1.0, 1)
        lasted[counters] = len(run.values) - 20
    # d = 2: tau 1, d = 8: tau 4 (spec table for 1000 evaluations); seven steps of K each.
    assert lasted == {"reached": 7 * 1 + 7 * 4, "exceeded": 7 * 2 + 7 * 5}


def test_data_incumbents_and_lines_survive_a_split():
    run = Run(Boids(**SMALL), 20, 200).go(sphere, 20)
    run.go(lambda u: 100.0 + sphere(u), 6)
    before_points = run.state.embedding.lift(run.state.aims(run.history()))
    swarm, embedding = run.state.swarm, run.state.embedding
    images = [embedding.lift(a) for a in (swarm.positions, swarm.best_positions, swarm.displacements, swarm.leader)]
    rows = run.state.rows
    while run.state.embedding.dim == embedding.dim:
        run.go(lambda u: 100.0 + sphere(u), 1)
    swarm, embedding = run.state.swarm, run.state.embedding
    np.testing.assert_array_equal(run.state.rows[: len(rows)], rows)
    after_points = embedding.lift(run.state.aims(run.history()))
    np.testing.assert_array_equal(after_points[: len(rows)], before_points)
    np.testing.assert_array_equal(embedding.lift(swarm.leader), images[3])
    np.testing.assert_array_equal(embedding.lift(swarm.best_positions), images[1])
    assert run.state.patience.factor == 1


def test_length_scales_are_carried_over_a_split_such_that_correlations_stay():
    rng = np.random.default_rng(0)
    old = Embedding.random(12, 3, rng)
    hyper = Hyperparameters(np.array([0.3, 1.0, 2.0]), 1.0, 0.01)
    points = rng.uniform(-1, 1, (5, 3))
    method = Boids(**SMALL)
    state = replace(Run(method, 12, 100).go(sphere, 21).state, embedding=old, fits=Fits(Fit(hyper, 21)), swarm=None)
    run = Run(method, 12, 100).go(sphere, 21)
    swarm = replace(
        run.state.swarm,
        **{
            n: getattr(run.state.swarm, n)[:, :1].repeat(3, 1) for n in ("positions", "displacements", "best_positions")
        },
        leader=np.zeros(3),
    )
    split = method._split(replace(state, swarm=swarm), rng)
    finer = split.embedding.project(old.lift(points))
    assert split.embedding.dim > 3
    one = Posterior.condition(method.surrogate, hyper, points, np.arange(5.0))
    other = Posterior.condition(method.surrogate, split.fits.objective.hyper, finer, np.arange(5.0))
    np.testing.assert_allclose(other.factor, one.factor, atol=1e-10)


def test_nothing_left_to_split_restarts_in_the_input_space_with_a_fresh_design():
    run = Run(Boids(n_init=5, particles=5, **SMALL), 3, 100)
    run.go(lambda u: 1.0, 5 + 7 * 4)  # tolerance max(4, D) = 4, seven steps of K
    state = run.state
    assert state.epoch == 1
    assert len(state.rows) == 0
    assert len(state.queue) == 5
    assert state.swarm is None
    np.testing.assert_array_equal(state.embedding.lift(np.arange(3.0)), np.arange(3.0))
    assert run.go(sphere, 10).state.epoch == 1


def test_a_restart_with_few_evaluations_left_gets_a_short_design():
    run = Run(Boids(n_init=5, particles=5, **SMALL), 3, 5 + 28 + 3)
    run.go(lambda u: 1.0, 5 + 28)
    assert len(run.state.queue) == 3
    run.go(sphere, 3)
    one_more = run.ask()  # the shell would not, but the method must not fall over
    assert np.all(np.isfinite(one_more.unit))
    assert len(run.state.swarm) == 5


@pytest.mark.parametrize(("incumbents", "expected"), [("run", False), ("all", True)])
def test_the_leader_after_a_restart_is_of_the_run_or_of_all_data(incumbents, expected):
    method = Boids(n_init=5, particles=5, incumbents=incumbents, **SMALL)
    run = Run(method, 3, 200).go(lambda u: -50.0, 33)
    assert run.state.epoch == 1
    run.go(sphere, 5)
    run.ask()
    history = run.history()
    led = method._led(run.state, history, run.state.aims(history), history.values[run.state.rows])
    assert (led.leader_value == -50.0) is expected


def test_success_needs_the_threshold_but_incumbents_move_on_any_decrease():
    run = Run(Boids(**SMALL), 20, 200).go(lambda u: 10.0, 20)
    run.go(lambda u: 10.0 - 1e-6, 1)
    assert run.state.patience.failures == 0
    assert run.state.patience.factor == 2  # counted as a failure
    assert run.state.swarm.leader_value == 10.0 - 1e-6
    run.go(lambda u: 9.0, 1)
    assert run.state.patience.successes == 1
    assert (
        Run(Boids(success_threshold=0.0, **SMALL), 20, 200)
        .go(lambda u: 10.0, 20)
        .go(lambda u: 10.0 - 1e-6, 1)
        .state.patience.successes
        == 1
    )


# --- the swarm ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("particles", "n_init"), [(5, 12), (12, 5), (7, 7), (1, 1), (20, 1)])
def test_particles_and_design_are_independent(particles, n_init):
    run = Run(Boids(particles=particles, n_init=n_init, **SMALL), 10, 100).go(sphere, n_init + 3)
    assert len(run.state.swarm) == particles
    assert run.state.swarm.leader_value == min(run.values)


def test_with_more_design_than_particles_the_best_is_kept():
    for seed in range(5):
        run = Run(Boids(particles=2, n_init=15, **SMALL), 10, 100, seed).go(sphere, 16)
        assert run.state.swarm.leader_value == min(run.values)


def test_the_told_line_moves_and_no_other():
    run = Run(Boids(**SMALL), 10, 100).go(sphere, 20)
    proposal = run.ask()
    line, before = proposal.memo["line"], run.state.swarm.positions
    run.tell(proposal, 0.0)
    moved = np.flatnonzero((run.state.swarm.positions != before).any(axis=1))
    assert moved.tolist() == [line]
    assert run.state.moves[line] == 1
    np.testing.assert_array_equal(run.state.embedding.lift(run.state.swarm.leader), proposal.unit)


def test_still_particles_get_a_direction():
    run = Run(Boids(particles=1, initial_velocity="zero", **SMALL), 10, 100).go(sphere, 21)
    assert np.isfinite(run.units[-1]).all()
    method = Boids(initial_velocity="zero", **SMALL)
    run = Run(method, 10, 100).go(sphere, 20)
    run.ask()
    lines = method._lines(run.state.swarm, np.random.default_rng(0))
    leader = int(np.argmin(run.state.swarm.best_values))
    assert np.all(lines.directions[leader] >= 0)  # standing on both incumbents: U[0, 1]^d, as released
    np.testing.assert_allclose(np.linalg.norm(lines.directions, axis=1), 1.0)


# --- late, out-of-order and failed outcomes ------------------------------------------------------------------------


def test_a_late_outcome_after_a_split_credits_its_particle():
    run = Run(Boids(**SMALL), 20, 300).go(sphere, 20)
    late = run.ask()
    dim = run.state.embedding.dim
    while run.state.embedding.dim == dim:
        run.tell(run.ask(pending=[late]), 99.0)
    run.tell(late, -1.0)
    swarm = run.state.swarm
    assert swarm.leader_value == -1.0
    assert swarm.best_values[late.memo["line"]] == -1.0
    np.testing.assert_array_equal(run.state.embedding.lift(swarm.leader), late.unit)


def test_a_late_outcome_after_a_restart_is_history_only():
    run = Run(Boids(n_init=5, particles=5, **SMALL), 3, 200).go(sphere, 5)
    late = run.ask()
    while run.state.epoch == 0:
        run.tell(run.ask(pending=[late]), 99.0)
    before = run.state
    run.tell(late, -1.0)
    assert run.state is before


def test_pending_lines_are_avoided_and_pending_points_are_not_proposed_again():
    run = Run(Boids(**SMALL), 10, 200).go(sphere, 20)
    pending = []
    for _ in range(20):
        pending.append(run.ask(pending=pending))
    lines = [p.memo["line"] for p in pending]
    assert len(set(lines)) >= 14  # preferred, not forced
    assert run.ask(pending=pending).memo["line"] in range(20)
    units = np.array([p.unit for p in pending])
    assert len(np.unique(units.round(9), axis=0)) == 20


def test_design_points_that_come_back_late_join_the_swarm():
    run = Run(Boids(n_init=6, particles=6, **SMALL), 10, 100)
    design = [run.ask() for _ in range(6)]
    for proposal in design[:4]:
        run.tell(proposal, sphere(proposal.unit))
    line = run.ask(pending=design[4:])
    assert line.memo["line"] != DESIGN
    assert len(run.state.swarm) == 4
    run.tell(design[4], -5.0)
    assert len(run.state.swarm) == 5
    assert run.state.swarm.leader_value == -5.0
    run.tell(design[5], float("nan"))
    assert len(run.state.swarm) == 6


def test_asking_on_while_the_whole_design_is_pending_gives_more_design():
    run = Run(Boids(n_init=4, **SMALL), 10, 100)
    pending = [run.ask() for _ in range(7)]
    assert [p.memo["line"] for p in pending] == [DESIGN] * 7
    assert len(np.unique([p.unit for p in pending], axis=0)) == 7


def test_a_failure_moves_nobody_and_counts_as_no_success():
    run = Run(Boids(failure_tolerance="baxus", **SMALL), 10, 100).go(sphere, 20)
    proposal = run.ask()
    swarm, failures = run.state.swarm, run.state.patience.failures
    run.tell(proposal, float("nan"))
    assert run.state.swarm is swarm
    assert run.state.patience.failures == failures + 1
    assert len(run.state.rows) == 21


# --- every variant runs ----------------------------------------------------------------------------------------------

VARIANTS = {
    "default": {},
    "ts": {"line_search": "nsga2", "acquisition": "ts"},
    "ts-pathwise": {"line_search": "nsga2", "acquisition": "ts-pathwise"},
    "ei": {"line_search": "nsga2", "acquisition": "ei"},
    "logei": {"line_search": "nsga2", "acquisition": "logei"},
    "ucb": {"line_search": "nsga2", "acquisition": "ucb"},
    "noise-free": {"line_search": "nsga2", "acquisition": "ts", "ts_noise": False},
    "double": {"line_search": "nsga2", "acquisition": "ts", "search_precision": "double"},
    "skewed": {"unskew": False},
    "no guided lines": {"guided_lines": False},
    "no line selection": {"line_selection": False},
    "no line optimisation": {"line_optimisation": False},
    "no line optimisation, ts": {"line_search": "nsga2", "acquisition": "ts", "line_optimisation": False},
    "no embedding": {"embedding": False},
    "rays": {"line_extent": "ray"},
    "modern": {"surrogate": Surrogate.modern()},
    "rbf": {"surrogate": Surrogate(kernel="rbf")},
    "sobol": {"design": "sobol"},
    "uniform": {"design": "uniform"},
    "median": {"standardise": "median"},
    "input distances": {"line_search": "nsga2", "acquisition": "ts", "distances": "input"},
    "multistart": {"training": "multistart"},
    "initial dimension": {"initial_dim": 5},
    "initial dimension above D": {"initial_dim": 50},
    "symmetric": {"zero_direction": "symmetric"},
}


@pytest.mark.parametrize("changes", VARIANTS.values(), ids=VARIANTS)
def test_every_variant_stays_in_the_cube_and_improves(changes):
    run = Run(Boids(**{**SMALL, **changes}), 12, 60).go(sphere, 50)
    assert np.abs(np.array(run.units)).max() <= 1.0
    assert min(run.values[20:]) < min(run.values[:20])


@pytest.mark.parametrize("preset", [Boids.paper, Boids.released])
def test_presets_run(preset):
    run = Run(preset(**SMALL), 12, 60).go(sphere, 32)
    assert np.abs(np.array(run.units)).max() <= 1.0


def test_ablations_do_what_they_say():
    run = Run(Boids(embedding=False, **SMALL), 30, 60)
    assert run.state.embedding.dim == 30
    np.testing.assert_array_equal(run.state.embedding.lift(np.arange(30.0)), np.arange(30.0))
    run = Run(Boids(line_selection=False, **SMALL), 10, 300).go(sphere, 120)
    # Uniform lines: 100 draws out of 20 miss a given line with probability 0.6 %, and use fewer than 10 never.
    assert np.count_nonzero(run.state.moves) >= 10
    method = Boids(line_optimisation=False, **SMALL)
    run = Run(method, 10, 100).go(sphere, 20)
    assert run.ask().memo["line"] != DESIGN


def test_thompson_noise_is_fixed_per_row_of_a_batch():
    method = Boids(line_search="nsga2", acquisition="ts", search_precision="double", **SMALL)
    run = Run(method, 10, 100).go(sphere, 20)
    run.ask()
    data = run.state.data(run.history())
    posterior = Posterior.condition(method.surrogate, run.state.fits.objective.hyper, data.points, data.values)
    points = data.points
    draw = draw_function(method, posterior, points[0], np.random.default_rng(0))
    alpha = acquisition_function(method, posterior, draw, points[0], 0.0, np.random.default_rng(1))
    z = np.random.default_rng(2).uniform(-1, 1, (3, points.shape[1]))
    np.testing.assert_array_equal(alpha(z), alpha(z))
    mean, _ = posterior.predict(z[[0, 0, 0]])
    same_point = alpha(z[[0, 0, 0]]) - mean
    assert len(set(same_point)) == 3  # one point, three rows, three values
    pathwise = Boids(line_search="nsga2", acquisition="ts-pathwise", **SMALL)
    coherent = acquisition_function(pathwise, posterior, draw, points[0], 0.0, np.random.default_rng(1))
    assert len(set(coherent(z[[0, 0, 0]]).round(9))) == 1


def test_the_number_of_candidates_is_the_released_one():
    method = Boids()
    assert [candidates(method, d) for d in (1, 2, 50, 500)] == [100, 200, 5000, 5000]


# --- through the shell ------------------------------------------------------------------------------------------


def trace(result):
    return np.array([t.unit for t in result.trials]), np.array([t.value for t in result.trials], dtype=float)


@pytest.mark.parametrize("dim", [1, 2, 3, 4, 7])
@pytest.mark.parametrize("budget", [1, 2, 5, 19, 20, 21, 45])
def test_any_dimension_and_budget_gives_exactly_the_budget(dim, budget):
    result = boids.minimize(lambda x: float(x @ x), [(-2, 3)] * dim, budget, method=Boids(**SMALL), seed=1)
    assert result.nfev == budget == len(result.trials)
    assert np.isfinite(result.fun)


HARD = {
    "constant": lambda x: 3.0,
    "huge": lambda x: 1e300 * float(x @ x),
    "largest": lambda x: 1.7e308 * np.sign(x[0]),
    "tiny": lambda x: 1e-300 * float(x @ x),
    "one element": lambda x: np.array([[float(x @ x)]]),
    "often nan": lambda x: float("nan") if x[0] > 0 else float(x @ x),
    "often inf": lambda x: float("-inf") if x[0] > 0 else float(x @ x),
    "always nan": lambda x: float("nan"),
    "steps": lambda x: float(np.round(x[0])),
}


@pytest.mark.parametrize("objective", HARD.values(), ids=HARD)
def test_hard_objectives_are_survived(objective):
    result = boids.minimize(objective, [(-1, 1)] * 6, 60, method=Boids(**SMALL), seed=0)
    assert result.nfev == 60


def test_an_objective_that_raises_is_survived_and_the_rest_is_used():
    def objective(x):
        if x[0] > 0.2:
            raise RuntimeError("solver diverged")
        return float(np.sum((x + 0.5) ** 2))

    result = boids.minimize(objective, [(-1, 1)] * 10, 80, method=Boids(**SMALL), seed=0)
    failed = [t.failed for t in result.trials]
    assert 0 < sum(failed) < 80
    assert result.success
    # The model learns to stay away: fewer failures in the second half of the model's proposals than in the design.
    assert np.mean(failed[50:]) <= np.mean(failed[:20])


def test_same_seed_same_trace_and_other_seed_other_trace():
    def go(seed):
        return trace(boids.minimize(sphere, [(-1, 1)] * 9, 40, method=Boids(**SMALL), seed=seed))

    np.testing.assert_array_equal(go(3)[0], go(3)[0])
    assert not np.array_equal(go(3)[0], go(4)[0])


@pytest.mark.parametrize("method", [Boids(**SMALL), Boids.paper(**SMALL), Boids(n_init=5, particles=4, **SMALL)])
@pytest.mark.parametrize("stop", [1, 7, 20, 23, 36])
def test_run_2n_is_run_n_save_load_run_n(tmp_path, method, stop):
    """Bit for bit, with the stop in the design, between the phases and after splits; 3-D also restarts."""
    for dim in (3, 12):
        whole = boids.Optimizer([(-1, 1)] * dim, budget=45, method=method, seed=5)
        first = boids.Optimizer([(-1, 1)] * dim, budget=45, method=method, seed=5)
        for _ in range(45):
            trial = whole.ask()
            whole.tell(trial, sphere(trial.unit))
        for _ in range(stop):
            trial = first.ask()
            first.tell(trial, sphere(trial.unit))
        first.save(tmp_path / "run.npz")
        second = boids.Optimizer.load(tmp_path / "run.npz")
        while second.remaining:
            trial = second.ask()
            second.tell(trial, sphere(trial.unit))
        for a, b in zip(whole.trials, second.trials, strict=True):
            np.testing.assert_array_equal(a.unit, b.unit)
            assert a.value == b.value


def test_a_vectorised_objective_gives_the_same_trace():
    scalar = boids.minimize(sphere, [(-1, 1)] * 8, 30, method=Boids(**SMALL), seed=2)
    rows = []

    def matrix(x):
        rows.append(len(x))
        return np.sum((x - 0.3) ** 2, axis=1)

    vector = boids.minimize(matrix, [(-1, 1)] * 8, 30, method=Boids(**SMALL), seed=2, vectorized=True)
    np.testing.assert_array_equal(trace(scalar)[0], trace(vector)[0])
    assert rows == [20] + [1] * 10


def test_repeated_points_are_survived():
    optimizer = boids.Optimizer([(-1, 1)] * 4, budget=60, method=Boids(**SMALL), seed=0)
    for _ in range(60):
        trial = optimizer.ask()
        optimizer.tell(trial, 0.0)
    assert optimizer.n_told == 60


def test_better_than_random_search_on_a_shifted_sphere():
    """Final values of 6 runs each; one-sided Mann-Whitney at 1 %, the false-alarm rate if there were no difference."""

    def shifted(x):
        return float(np.sum((x - np.linspace(-0.8, 0.8, 30)) ** 2))

    ours, random = (
        [boids.minimize(shifted, [(-1, 1)] * 30, 60, method=m, seed=s).fun for s in range(6)]
        for m in (Boids(**SMALL), "random")
    )
    assert mannwhitneyu(ours, random, alternative="less").pvalue < 0.01


def test_proposals_are_plain_and_states_are_frozen():
    run = Run(Boids(**SMALL), 6, 60).go(sphere, 22)
    with pytest.raises(AttributeError):
        run.state.asked = 3
    proposal = run.ask()
    assert isinstance(proposal, Proposal)
    assert set(proposal.times) == {"fit", "select", "optimise", "lift"}
    assert {"dim", "K", "line", "phase", "restarts"} <= set(proposal.info)
