"""BOIDS on real objectives: integers and choices, linear and black-box constraints, failures and noise."""

from dataclasses import replace

import numpy as np
import pytest
from test_boids import SMALL

from boids import Bool, Categorical, Float, Int, Optimizer, Space, minimize
from boids.algorithms import Boids, boids_models, boids_training
from boids.algorithms.boids_lines import best_allowed, optimise_on_line
from boids.algorithms.boids_pending import UnderWay
from boids.blocks.embedding import Embedding
from boids.blocks.line import Lines
from boids.blocks.nsga2 import NSGA2, Front
from boids.blocks.swarm import Swarm
from boids.records import Domain, History, Outcome
from boids.setup import ASK, INIT, TELL, Setup

MIXED = Space(
    {
        "rate": Float(1e-4, 1, log=True),
        "n": Int(1, 30),
        "act": Categorical(["a", "b", "c"]),
        "on": Bool(),
        "k": Int(1, 1000, log=True),
        "w": Float(-1, 1, shape=8),
    }
)
BOX = Space([(-1, 1)] * 12)
#: Leaves a subspace after seven evaluations without success, so that short runs see all of them.
HASTY = Boids(failure_tolerance="released", n_init=8, particles=6, **SMALL)


def mixed_objective(x):
    shape = (np.log10(x["rate"]) + 2) ** 2 + (x["n"] - 7) ** 2 / 50 + (x["act"] != "b") + x["on"]
    return float(shape + np.sum((x["w"] - 0.3) ** 2))


def sphere(x):
    return float(np.sum((np.asarray(x) - 0.3) ** 2))


class RealRun:
    """The pure functions with everything that the shell does between them, step by step in the open."""

    def __init__(self, algorithm, space, budget=100, seed=0, **options):
        self.setup = Setup.of(
            space,
            budget,
            algorithm,
            seed,
            options.get("noisy", False),
            options.get("n_constraints", 0),
            options.get("linear_constraints", ()),
            None,
            None,
        )
        self.algorithm, self.domain = algorithm, self.setup.domain
        self.proposals, self.values, self.constraints, self.asked = [], [], [], 0
        self.state = algorithm.init(self.domain, budget, self.setup.rng(INIT, 0))

    @property
    def history(self):
        dim, count = self.domain.dim, self.domain.n_constraints
        return History(
            units=np.array([p.unit for p in self.proposals]).reshape(-1, dim),
            values=np.array(self.values, dtype=float),
            constraints=np.array(self.constraints, dtype=float).reshape(-1, count) if count else None,
            aimed=np.array([p.aim for p in self.proposals]).reshape(-1, dim),
            space=self.domain,
            tried=self.tried,
        )

    def tried(self, unit):
        return any(np.array_equal(unit, p.unit) for p in self.proposals)

    def ask(self, pending=()):
        rng = self.setup.rng(ASK, self.asked)
        self.state, proposal = self.algorithm.ask(self.state, self.history, pending, rng)
        self.asked += 1
        return self.setup.place(proposal, self.asked, list(pending), self.tried)

    def tell(self, proposal, value, constraints=()):
        self.proposals.append(proposal)
        self.values.append(value)
        self.constraints.append(np.full(self.domain.n_constraints, np.nan) if np.isnan(value) else constraints)
        rng = self.setup.rng(TELL, len(self.values))
        self.state = self.algorithm.tell(self.state, self.history, proposal, Outcome(value), rng)

    def go(self, objective, count):
        """The objective gets the parameters and returns a value, or a value and constraints."""
        for _ in range(count):
            proposal = self.ask()
            answer = objective(self.setup.space.decode(proposal.unit))
            self.tell(proposal, *(answer if isinstance(answer, tuple) else (answer,)))
        return self


# --- where points and particles are -------------------------------------------------------------------------------


def test_models_learn_from_what_was_evaluated_and_particles_are_where_they_aimed():
    run = RealRun(HASTY, MIXED)
    dims = set()
    for _ in range(6):
        run.go(mixed_objective, 6)
        state, history, embedding = run.state, run.history, run.state.embedding
        rows = state.rows
        np.testing.assert_array_equal(history.units[rows], MIXED.snap(history.units[rows]))
        np.testing.assert_array_equal(state.data(history).points, embedding.average(history.units[rows]))
        np.testing.assert_array_equal(embedding.lift(state.aims(history)), history.aims[rows])
        dims.add(embedding.dim)
    assert len(dims) > 1  # also after a split
    assert any(p.aimed is not None for p in run.proposals)


def test_in_a_plain_box_points_and_aims_are_the_same():
    run = RealRun(HASTY, BOX).go(sphere, 20)
    np.testing.assert_array_equal(run.state.data(run.history).points, run.state.aims(run.history))


def test_kept_incumbents_are_those_of_all_rows():
    """Owners and homes tell the same story as the swarm, through failures, splits and a restart."""
    run = RealRun(replace(HASTY, termination_max=1), MIXED, budget=120)
    restarts = set()
    for step in range(75):
        proposal = run.ask()
        value = mixed_objective(MIXED.decode(proposal.unit)) + (100.0 if 20 < step < 60 else 0.0)
        run.tell(proposal, np.nan if step % 6 == 4 else value)
        state = run.state
        restarts.add(state.epoch)
        if state.swarm is None:
            continue
        assert len(state.owners) == len(state.rows)
        assert len(state.homes) == len(state.moves) == len(state.swarm)
        judged = state.swarm.judged(state.aims(run.history), run.history.values[state.rows], state.homes, state.owners)
        np.testing.assert_array_equal(judged.best_values, state.swarm.best_values)
        np.testing.assert_array_equal(judged.best_positions, state.swarm.best_positions)
        np.testing.assert_array_equal(judged.leader, state.swarm.leader)
        assert state.moves.sum() == (state.owners >= 0).sum()
    assert restarts == {0, 1}


@pytest.mark.parametrize("noisy", [False, True])
def test_design_points_that_come_late_join_the_swarm_with_a_home(noisy):
    run = RealRun(HASTY, MIXED, noisy=noisy)
    design = [run.ask() for _ in range(8)]
    for proposal in design[:3]:
        run.tell(proposal, mixed_objective(MIXED.decode(proposal.unit)))
    line = run.ask(pending=design[3:])
    assert line.memo["line"] >= 0
    assert len(run.state.swarm) < 6  # places are kept for those to come
    for proposal in (design[6], line, design[4], design[3], design[7], design[5]):
        run.tell(proposal, mixed_objective(MIXED.decode(proposal.unit)))
    state = run.state
    assert len(state.swarm) == len(state.homes) == 6
    aims = state.aims(run.history)
    judged = state.swarm.judged(aims, run.history.values, state.homes, state.owners)
    np.testing.assert_array_equal(judged.best_positions, state.swarm.best_positions)
    np.testing.assert_array_equal(judged.best_values, state.swarm.best_values)
    assert judged.leader_value == state.swarm.leader_value == min(run.values)


def test_models_know_where_evaluations_are_under_way(monkeypatch):
    seen = []
    real = boids_models.Beliefs.fantasise
    monkeypatch.setattr(
        boids_models.Beliefs, "fantasise", lambda self, points: seen.append(points) or real(self, points)
    )
    run = RealRun(HASTY, MIXED, n_constraints=1).go(lambda x: (mixed_objective(x), [x["n"] - 10.5]), 12)
    assert seen == []
    waiting = [run.ask()]
    waiting.append(run.ask(pending=waiting))
    elsewhere = replace(waiting[0], unit=run.setup.placement.sample(1, np.random.default_rng(0))[0])
    before_a_restart = replace(elsewhere, memo={**waiting[0].memo, "epoch": 7})
    run.ask(pending=[*waiting, before_a_restart, replace(elsewhere, memo={})])
    assert [len(points) for points in seen] == [1, 2]
    np.testing.assert_array_equal(seen[1], run.state.embedding.average(np.array([p.unit for p in waiting])))


def test_snapped_points_are_new_to_the_search_unless_they_were_evaluated():
    snap = Space({"a": Int(0, 3), "b": Int(0, 3)}).snap
    tried = [snap(np.array([0.1, 0.1]))]
    history = History(
        np.zeros((0, 2)),
        np.zeros(0),
        space=Domain(2, snapping=snap),
        tried=lambda u: any(np.array_equal(u, other) for other in tried),
    )
    nothing = UnderWay(np.empty((0, 2)), np.empty((0, 2)), ())
    is_new = nothing.newness(history, Embedding.identity(2))
    assert not is_new(np.array([0.1, 0.1]))
    assert not is_new(np.array([0.4, 0.3]))  # snaps to the same place
    assert is_new(np.array([-0.9, 0.1]))
    noisy = replace(history, space=Domain(2, snapping=snap, noisy=True))
    assert nothing.newness(noisy, Embedding.identity(2))(np.array([0.1, 0.1]))


def test_of_the_front_the_best_new_point_is_proposed(monkeypatch):
    front = Front(np.array([[0.3, 0.0], [0.1, 0.0], [0.2, 0.0]]), np.array([[3.0], [1.0], [2.0]]), 3)
    monkeypatch.setattr(NSGA2, "minimise", lambda *args: front)
    rng = np.random.default_rng(0)
    swarm = Swarm.at(np.zeros((1, 2)), np.zeros(1), np.zeros((1, 2)))
    lines = Lines.through(swarm.positions, np.ones((1, 2)))

    def chosen(is_new):
        return optimise_on_line(HASTY, lambda z: z[:, 0], lines, 0, swarm, np.ones(2), rng, is_new).tolist()

    assert chosen(lambda z: True) == [0.1, 0.0]
    assert chosen(lambda z: z[0] > 0.15) == [0.2, 0.0]
    assert chosen(lambda z: z[0] > 0.25) == [0.3, 0.0]
    assert chosen(lambda z: False) == [0.1, 0.0]  # the shell will find another one near it


# --- the design -----------------------------------------------------------------------------------------------------


def test_the_design_satisfies_linear_constraints_before_anyone_moves_it():
    setup = Setup.of(BOX, 50, HASTY, 0, False, 0, "x[0] + x[1] <= -0.3", None, None)
    for seed in range(10):
        state = HASTY.init(setup.domain, 50, np.random.default_rng(seed))
        violation = setup.domain.violating(state.embedding.lift(state.queue))
        # In a subspace the two may share a bin with opposite signs; then no point of it is allowed.
        same_bin = state.embedding.bins[0] == state.embedding.bins[1]
        opposite = same_bin and state.embedding.signs[0] != state.embedding.signs[1]
        assert opposite or not violation.any()
    assert HASTY.init(Domain(12), 50, np.random.default_rng(1)).queue.shape == (8, state.embedding.dim)


def test_where_linear_constraints_hold_the_design_stays_as_it_was():
    everywhere = replace(Domain(12), violating=lambda units: np.zeros(len(units)))
    plain, held = (HASTY.init(domain, 50, np.random.default_rng(3)).queue for domain in (Domain(12), everywhere))
    np.testing.assert_array_equal(plain, held)


def test_a_restart_after_linear_constraints_makes_an_allowed_design():
    run = RealRun(HASTY, BOX, budget=150, linear_constraints="x[0] + x[1] <= 0")
    while run.state.epoch == 0:
        run.go(lambda x: 1.0, 1)
    assert not run.domain.violating(run.state.embedding.lift(run.state.queue)).any()


# --- equations ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dim", [2, 3, 6])
def test_a_simplex_of_any_dimension_is_searched(dim):
    """The published settings of the search; the minimum on the simplex is its centre."""
    space = Space({"w": Float(0, 1, shape=dim)})
    method = Boids(n_init=6, particles=5)
    result = minimize(
        lambda x: float(np.sum((x["w"] - 1 / dim) ** 2)),
        space,
        14,
        method=method,
        seed=0,
        linear_constraints="sum(w) == 1",
    )
    assert result.nfev == 14
    for trial in result.trials:
        assert trial.x["w"].sum() == pytest.approx(1.0, abs=1e-8)
        assert trial.info["dim"] == dim  # no subspace: it would have hardly an allowed point
    assert result.fun < 0.02
    assert result.fun < min(trial.value for trial in result.trials[:6])


def test_among_allowed_points_the_best_by_alpha_is_proposed():
    rng = np.random.default_rng(0)
    swarm = Swarm.at(rng.uniform(-1, 1, (4, 3)), rng.normal(size=4), np.zeros((4, 3)))
    lines = Lines.through(swarm.positions, rng.normal(size=(4, 3)))
    judged = []

    def to_the_plane(point):
        return np.clip(point - (point.sum() / 3), -1, 1)

    def alpha(z):
        judged.append(z)
        return ((z - [0.4, -0.4, 0.0]) ** 2).sum(axis=1)

    z = best_allowed(Boids(), alpha, lines, 2, swarm, to_the_plane, rng)
    assert len(judged) == 1
    candidates = judged[0]
    assert np.abs(candidates).max() <= 1.0
    np.testing.assert_array_equal(z, candidates[np.argmin(alpha(candidates))])


# --- failures -------------------------------------------------------------------------------------------------------


def test_a_failure_moves_nobody_and_uses_up_patience():
    run = RealRun(HASTY, BOX).go(sphere, 9)
    for _ in range(3):
        before = run.state
        proposal = run.ask()
        swarm = run.state.swarm
        run.tell(proposal, np.nan)
        for name in ("positions", "displacements", "best_positions", "best_values", "leader"):
            np.testing.assert_array_equal(getattr(run.state.swarm, name), getattr(swarm, name))
        assert run.state.owners[-1] == -1
        assert len(run.state.rows) == len(before.rows) + 1
        assert run.state.patience != before.patience
        np.testing.assert_array_equal(run.state.moves, before.moves)


def test_everything_fails_for_a_while():
    """Through the whole design, a first split and on: then one success leads at once."""
    run = RealRun(HASTY, BOX).go(lambda x: np.nan, 20)
    assert run.state.swarm.leader_value == np.inf
    run.go(sphere, 1)
    assert run.state.swarm.leader_value == run.values[-1]
    run.go(sphere, 3)
    assert np.isfinite(run.history.values[-4:]).all()


@pytest.mark.parametrize("search", [{}, {"line_search": "nsga2", "acquisition": "ts"}])
def test_a_region_of_failures_is_left_alone(search):
    """40 % of the box fails. Of 70 evaluations after the designs of two runs, chance would let 28 fail, with a standard
    deviation of 4; fewer than 12 do."""
    failed = 0
    for seed in range(2):
        method = replace(HASTY, embedding=False, **search)
        result = minimize(lambda x: np.nan if x[0] > 0.2 else sphere(x), BOX, 43, method=method, seed=seed)
        failed += sum(trial.failed for trial in result.trials[8:])
    assert failed < 12


# --- black-box constraints -----------------------------------------------------------------------------------------


def half(x):
    """The sphere on one side of a plane which cuts off its minimum."""
    return sphere(x), [float(x[0] + x[1]), -5.0]


def told(run, value, constraints):
    """Whether a line's outcome counts as a success."""
    proposal = run.ask()
    state, failures = run.state, run.state.patience.failures
    run.tell(proposal, value, constraints)
    history = run.history
    improved = state.improved(history, Outcome(value), run.algorithm.success_threshold)
    assert (run.state.patience.failures > failures) != improved or run.state.patience.failures == 0
    return improved


def test_what_counts_as_a_success_with_constraints():
    method = replace(HASTY, failure_tolerance="baxus", termination_max=50)
    run = RealRun(method, BOX, budget=10_000, n_constraints=2)
    run.go(lambda x: (1.0, [3.0, 1.0]), 8)
    assert not told(run, -5.0, [4.0, -1.0])  # as infeasible as the others, whatever the value
    assert not told(run, -5.0, [3.999, -1.0])  # hardly less
    assert told(run, 9.0, [1.0, 1.0])  # less infeasible, whatever the value
    assert told(run, 100.0, [0.0, -1.0])  # the first feasible one
    assert not told(run, -5.0, [1e-9, -1.0])  # infeasible again
    assert not told(run, 99.99, [-1.0, -1.0])  # hardly better
    assert told(run, 99.0, [-1.0, -1.0])
    assert not told(run, np.nan, [np.nan, np.nan])


def test_with_constraints_the_swarm_is_judged_anew_at_every_step(monkeypatch):
    seen = []
    real = Swarm.judged
    monkeypatch.setattr(Swarm, "judged", lambda *args: seen.append(args) or real(*args))
    run = RealRun(HASTY, BOX, n_constraints=2).go(half, 20)
    assert len(seen) == 12
    _, points, merits, homes, owners = seen[-1]
    np.testing.assert_array_equal(points, run.state.embedding.project(run.history.aims[:19]))
    assert len(merits) == len(owners) == 19
    assert len(homes) == 6


def test_the_leader_of_all_data_is_the_best_feasible_point():
    run = RealRun(replace(HASTY, incumbents="all"), BOX, budget=200, n_constraints=1)
    run.go(lambda x: (5.0, [1.0]), 8)
    run.go(lambda x: (7.0, [-1.0]), 1)
    lucky = run.history.aims[-1]
    while run.state.epoch == 0:
        run.go(lambda x: (1.0, [0.5]), 1)  # better values, none of them feasible
    run.go(lambda x: (1.0, [0.5]), 8)
    run.ask()
    data = run.state.data(run.history)
    led = run.algorithm._led(run.state, run.history, run.state.aims(run.history), data.values)
    np.testing.assert_array_equal(led.leader, lucky)
    assert led.leader_value == 7.0


def test_constraints_are_learnt_and_better_than_chance():
    """Three seeds, 40 evaluations in 12 dimensions, one of two constraints cuts off the minimum: every run finds a
    feasible point, and each beats the best of three random searches."""
    worst_of_ours, best_of_theirs = -np.inf, np.inf
    for seed in range(3):
        result = minimize(half, BOX, 40, method=HASTY, seed=seed, n_constraints=2)
        assert result.success
        assert result.feasible
        assert result.x[0] + result.x[1] <= 0
        worst_of_ours = max(worst_of_ours, result.fun)
        theirs = minimize(half, BOX, 40, method="random", seed=seed, n_constraints=2)
        best_of_theirs = min(best_of_theirs, theirs.fun)
    assert worst_of_ours < best_of_theirs


@pytest.mark.parametrize("count", [1, 68])
def test_any_number_of_constraints(count):
    def many(x):
        return sphere(x), [float(x[j % 12]) - 0.5 - 0.01 * j for j in range(count)]

    result = minimize(many, BOX, 25, method=HASTY, seed=0, n_constraints=count)
    assert result.nfev == 25
    assert all(len(trial.constraints) == count for trial in result.trials)


@pytest.mark.parametrize("values", [[0.0], [1.0], [-1.0], [1e300], [-1e-300]])
def test_constraints_that_never_change(values):
    result = minimize(lambda x: (sphere(x), values), BOX, 20, method=HASTY, seed=0, n_constraints=1)
    assert result.nfev == 20
    assert result.success == (values[0] <= 0)


# --- noise ---------------------------------------------------------------------------------------------------------


def test_noisy_runs_are_judged_by_means_and_remember_what_to_beat(monkeypatch):
    noise = np.random.default_rng(0)
    run = RealRun(HASTY, BOX, noisy=True)
    run.go(lambda x: sphere(x) + 0.5 * noise.normal(), 8)
    assert run.state.to_beat == np.inf
    run.go(lambda x: sphere(x) + 0.5 * noise.normal(), 1)
    assert np.isfinite(run.state.to_beat)
    proposal = run.ask()
    barely, better = run.state.to_beat + 1e-9, run.state.to_beat - 1e-9
    history = run.history
    assert not run.state.improved(history, Outcome(barely), HASTY.success_threshold)
    assert run.state.improved(history, Outcome(better), HASTY.success_threshold)
    run.tell(proposal, 1.0)


def test_the_surrogate_has_room_for_noise_only_if_there_is_some(monkeypatch):
    bounds = []
    real = boids_training.train
    monkeypatch.setattr(boids_training, "train", lambda *args: bounds.append(args[1].noise_bounds) or real(*args))
    for noisy in (False, True):
        RealRun(HASTY, BOX, noisy=noisy).go(sphere, 9)
    assert bounds == [HASTY.surrogate.noise_bounds] * 4 + [HASTY.surrogate.for_noise().noise_bounds] * 4


# --- all at once, through the shell -------------------------------------------------------------------------------


GENETIC = replace(HASTY, line_search="nsga2", acquisition="ts")


@pytest.mark.parametrize(
    "preset", [HASTY, replace(HASTY, failures="worst", acquisition="logei", incumbents="all"), GENETIC]
)
@pytest.mark.parametrize("noisy", [False, True])
def test_everything_at_once(preset, noisy):
    chance = np.random.default_rng(1)

    def objective(x):
        if x["act"] == "c" or chance.random() < 0.15:
            raise RuntimeError("the solver diverged")
        noise = 0.1 * chance.normal() if noisy else 0.0
        return mixed_objective(x) + noise, [x["n"] - 10.5, 0.2 - float(x["w"][0])]

    result = minimize(
        objective,
        MIXED,
        50,
        method=preset,
        seed=4,
        noisy=noisy,
        n_constraints=2,
        linear_constraints=["w[0] + w[1] <= 0.6", "n <= k"],
    )
    assert result.nfev == 50
    assert result.success
    best = result.x
    assert best["n"] <= 10
    assert best["w"][0] >= 0.2
    for trial in result.trials:
        assert trial.x["w"][0] + trial.x["w"][1] <= 0.6 + 1e-8
        assert trial.x["n"] <= trial.x["k"]
        np.testing.assert_array_equal(trial.unit, MIXED.snap(trial.unit))
        np.testing.assert_allclose(MIXED.encode(trial.x), trial.unit, atol=1e-12)
    assert any(trial.failed for trial in result.trials)
    if not noisy:
        assert len({trial.unit.tobytes() for trial in result.trials}) == 50


@pytest.mark.parametrize("options", [{}, {"noisy": True}, {"n_constraints": 1}])
def test_many_pending_trials_told_in_any_order(options):
    order = np.random.default_rng(5)
    optimizer = Optimizer(MIXED, budget=35, method=HASTY, seed=2, linear_constraints="n <= k", **options)
    waiting = []
    while optimizer.remaining or waiting:
        while optimizer.remaining and len(waiting) < 5:
            waiting.append(optimizer.ask())
        trial = waiting.pop(int(order.integers(len(waiting))))
        if trial.id % 7 == 2:
            optimizer.tell(trial, error="lost")
        else:
            constraints = [trial.x["n"] - 10.5] if options.get("n_constraints") else None
            optimizer.tell(trial, mixed_objective(trial.x), constraints=constraints)
    assert optimizer.n_told == 35
    if not optimizer.noisy:
        assert len({trial.unit.tobytes() for trial in optimizer.trials}) == 35


def test_mixed_spaces_are_optimised_better_than_by_chance():
    """Three seeds, 40 evaluations: the worst of ours beats the best of three random searches."""
    ours = [minimize(mixed_objective, MIXED, 40, method=HASTY, seed=seed).fun for seed in range(3)]
    theirs = [minimize(mixed_objective, MIXED, 40, method="random", seed=seed).fun for seed in range(3)]
    assert max(ours) < min(theirs)
