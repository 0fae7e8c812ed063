"""Sweeps in BOIDS: when, what they propose, and that they get on with all that runs have to cope with."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from boids import Bool, Float, Measurement, Optimizer, Space, minimize
from boids.algorithms import Boids, boids_sweeps
from boids.algorithms.boids_beginnings import restarted
from boids.algorithms.boids_sweeps import AT_ONCE, DESIGN_POINTS, probes_in, sweeps_in
from boids.blocks.sweep import PROBED, UPHILL
from boids.gp.model import Surrogate
from boids.records import Domain
from boids.testing import check_method

DIM = 12
BOX = [(-1.0, 1.0)] * DIM
BOTTOM = np.linspace(-0.4, 0.4, DIM)
SWEEPING = Boids(sweep_from=1.0, particles=6)


def bowl(x):
    return float(np.sum((np.asarray(x) - BOTTOM) ** 2))


def run(count, method=SWEEPING, objective=bowl, budget=60, **options):
    optimizer = Optimizer(BOX, budget=budget, method=method, seed=1, **options)
    for _ in range(count):
        trial = optimizer.ask()
        optimizer.tell(trial, objective(trial.x))
    return optimizer


def goes_on_the_same(one, objective, tmp_path, steps):
    one.save(tmp_path / "run.boids")
    other = Optimizer.load(tmp_path / "run.boids")
    for _ in range(steps):
        mine, theirs = one.ask(), other.ask()
        np.testing.assert_array_equal(mine.x, theirs.x)
        one.tell(mine, objective(mine.x))
        other.tell(theirs, objective(theirs.x))


@pytest.mark.parametrize(
    ("evaluations", "dim", "budget", "expected"),
    [
        (6.0, 7, 42, True),
        (6.0, 100, 600, True),
        (6.0, 100, 599, False),
        (2.5, 40, 100, True),
        (2.5, 41, 100, False),
        (None, 1, 10_000, False),
    ],
)
def test_they_are_for_budgets_that_have_room_for_them(evaluations, dim, budget, expected):
    assert sweeps_in(Boids(sweep_from=evaluations), Domain(dim), budget) == expected


def test_not_where_slopes_are_not_to_be_had():
    assert not sweeps_in(Boids(sweep_from=1.0), Domain(4, snapping=np.sign), 100)
    assert not sweeps_in(Boids(sweep_from=1.0), Domain(4, n_constraints=1), 100)
    assert not sweeps_in(Boids(sweep_from=1.0), Domain(4, noisy=True), 100)
    assert not sweeps_in(Boids.paper(sweep_from=1.0), Domain(4), 100)
    assert Boids.paper().sweep_from is Boids.released().sweep_from is None


@pytest.mark.parametrize(
    ("settings", "dim", "budget", "expected"),
    [
        ({}, 100, 300, True),
        ({}, 100, 299, False),
        ({}, 100, 599, True),
        ({}, 100, 600, True),
        ({}, 100, 5000, True),
        ({}, 45, 180, True),
        ({}, 45, 179, False),  # a tenth of them is less than a probe takes
        ({}, 20, 1000, True),
        ({}, 19, 1000, False),  # subspaces would be hardly smaller
        ({"sweep_probe_from": 5.0}, 100, 499, False),
        ({"sweep_probe_from": None}, 100, 500, False),
        ({"sweep_probe_from": None}, 100, 5000, False),
        ({"sweep_probe_from": 3.0, "sweep_from": 1.0}, 100, 200, False),
        ({"sweep_from": None}, 100, 500, False),
        ({"embedding": False}, 100, 500, False),
    ],
)
def test_they_are_probed_where_that_does_not_take_too_much(settings, dim, budget, expected):
    assert probes_in(Boids(**settings), Domain(dim), budget) == expected
    assert not probes_in(Boids(**settings), Domain(dim, noisy=True), budget)


def probing(objective, count, budget=180):
    """Return an optimizer after some evaluations of a run that begins with a probe."""
    optimizer = Optimizer([(-1.0, 1.0)] * 40, budget=budget, seed=3)
    for _ in range(count):
        trial = optimizer.ask()
        optimizer.tell(trial, objective(trial.x))
    return optimizer


def phases(optimizer):
    return [each.info["phase"] for each in optimizer.trials]


def dense(x):
    return float(np.sum((x - 0.3) ** 2))


def entangled(x):
    """Waves in directions that have all coordinates in them."""
    return float(np.sum(np.cos(np.random.default_rng(0).normal(0.0, 6.0, (30, len(x))) @ x)))


def sparse(x):
    return float(np.sum((x[:4] - 0.3) ** 2))


def test_where_most_coordinates_matter_the_sweep_goes_on():
    assert probing(dense, DESIGN_POINTS + 3).diagnostics["probing"]
    optimizer = probing(dense, DESIGN_POINTS + 42)
    steps = ["coordinate"] * 41  # one of them in several at once
    assert phases(optimizer) == ["design"] * DESIGN_POINTS + steps + ["descent"]
    many = [np.count_nonzero(each.x - before.x) for before, each in pairwise(optimizer.trials[:-1])][DESIGN_POINTS:]
    assert sum(changed > 2 for changed in many) <= 2  # there and back
    assert optimizer.diagnostics["restarts"] == 0
    assert optimizer.diagnostics["subspace_dim"] == 40
    assert not optimizer.diagnostics["probing"]


def test_where_few_matter_subspaces_take_over_and_nothing_is_lost():
    optimizer = probing(sparse, 180)
    said = phases(optimizer)
    steps = said.count("coordinate")
    assert 5 <= steps <= PROBED
    assert said[DESIGN_POINTS + steps :][:20] == ["design"] * 20
    assert optimizer.trials[DESIGN_POINTS + steps].info["dim"] == 4
    diagnostics = optimizer.diagnostics
    assert diagnostics["sweeps"] is None
    # In the whole space the points of the sweep that was given up are data again.
    assert diagnostics["subspace_dim"] == 40
    assert diagnostics["guests_in_use"] == DESIGN_POINTS + steps
    assert diagnostics["evaluations_in_run"] == 180
    assert optimizer.best.value < 0.01


def test_where_coordinates_do_not_matter_each_for_itself_subspaces_take_over():
    optimizer = probing(entangled, 40)
    assert phases(optimizer)[: DESIGN_POINTS + PROBED] == ["design"] * DESIGN_POINTS + ["coordinate"] * PROBED
    assert optimizer.diagnostics["subspace_dim"] < 40
    assert optimizer.diagnostics["sweeps"] is None


def test_with_plenty_of_evaluations_they_need_not_all_matter_but_each_for_itself():
    optimizer = probing(sparse, DESIGN_POINTS + 43, budget=240)
    assert phases(optimizer)[DESIGN_POINTS:][:40] == ["coordinate"] * 40
    assert "descent" in phases(optimizer)
    assert optimizer.diagnostics["restarts"] == 0
    optimizer = probing(entangled, 40, budget=240)
    assert phases(optimizer)[: DESIGN_POINTS + PROBED] == ["design"] * DESIGN_POINTS + ["coordinate"] * PROBED
    assert optimizer.diagnostics["sweeps"] is None
    assert optimizer.diagnostics["subspace_dim"] < 40


def test_without_a_verdict_the_sweep_goes_on():
    """All steps lead down: nothing to be made together."""
    optimizer = Optimizer([(-1.0, 1.0)] * 40, budget=180, seed=3)
    for k in range(DESIGN_POINTS + 45):
        optimizer.tell(optimizer.ask(), -float(k))
    assert optimizer.diagnostics["sweeps"] is not None
    assert {"descent"} <= set(phases(optimizer))


@pytest.mark.parametrize("budget", [180, 240])
def test_a_probe_is_the_same_after_a_save(tmp_path, budget):
    for objective in (dense, sparse, entangled):
        for count in (3, DESIGN_POINTS + 3, DESIGN_POINTS + PROBED, 40):
            goes_on_the_same(probing(objective, count, budget), objective, tmp_path, 3)


def test_outcomes_of_a_given_up_sweep_may_come_late():
    optimizer = probing(sparse, DESIGN_POINTS)
    late = optimizer.ask(16)
    for trial in late[:12]:
        optimizer.tell(trial, sparse(trial.x))
    assert optimizer.diagnostics["sweeps"] is None
    assert optimizer.ask().info["phase"] == "design"
    for trial in reversed(late[12:]):
        optimizer.tell(trial, sparse(trial.x))
    assert optimizer.diagnostics["guests"] == DESIGN_POINTS + 16
    for _ in range(30):
        trial = optimizer.ask()
        optimizer.tell(trial, sparse(trial.x))
    assert optimizer.n_told == DESIGN_POINTS + 16 + 30


@pytest.mark.parametrize(("workers", "budget"), [(4, 180), (12, 240)])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_sweep_that_is_worth_it_is_not_given_up_whatever_the_order(workers, budget, seed):
    optimizer, order = Optimizer([(-1.0, 1.0)] * 40, budget=budget, seed=seed), np.random.default_rng(seed)
    running = optimizer.ask(workers)
    for _ in range(60):
        trial = running.pop(order.integers(len(running)))
        optimizer.tell(trial, dense(trial.x))
        running.append(optimizer.ask())
    assert optimizer.diagnostics["restarts"] == 0
    assert optimizer.diagnostics["sweeps"] is not None


def test_all_coordinates_at_once_are_probed_as_well():
    optimizer = probing(sparse, DESIGN_POINTS)
    for trial in optimizer.ask(40):
        optimizer.tell(trial, sparse(trial.x))
    assert optimizer.diagnostics["sweeps"] is None


@pytest.mark.parametrize("budget", [180, 240])
def test_a_late_verdict_does_not_turn_a_sweep_back(budget):
    optimizer = probing(entangled, DESIGN_POINTS + PROBED, budget)
    together = optimizer.ask()
    assert np.count_nonzero(np.abs(together.x - optimizer.best.x) > 1e-12) >= UPHILL
    while optimizer.ask().info["phase"] != "descent":
        pass
    for trial in optimizer.pending:
        if not np.array_equal(trial.x, together.x):
            optimizer.tell(trial, entangled(trial.x))
    optimizer.tell(together, 1e3)
    assert optimizer.diagnostics["restarts"] == 0


def test_a_probe_keeps_linear_constraints():
    optimizer = Optimizer([(-1.0, 1.0)] * 40, budget=180, seed=0, linear_constraints="sum(x) <= 0.2")
    for _ in range(70):
        trial = optimizer.ask()
        assert sum(trial.x) <= 0.2 + 1e-7
        optimizer.tell(trial, float(np.sum((trial.x + 0.3) ** 2)))
    assert optimizer.diagnostics["restarts"] == 0


@pytest.mark.parametrize("budget", [180, 240])
def test_noise_that_is_told_ends_a_probe(budget):
    optimizer = probing(dense, 2, budget)
    optimizer.tell(optimizer.ask(), Measurement(1.0, noise_variance=0.1))
    assert optimizer.diagnostics["sweeps"] is None
    assert optimizer.ask().info["dim"] == 4


@pytest.mark.parametrize("budget", [180, 240])
def test_failures_are_no_verdict(budget):
    def fragile(x):
        return float("nan") if x[0] > 0.2 else dense(x)

    optimizer = probing(fragile, 60, budget)
    assert optimizer.n_failed > 0
    assert optimizer.diagnostics["sweeps"] is not None


def test_with_a_point_to_begin_at_there_is_no_probe():
    told = Optimizer([(-1.0, 1.0)] * 40, budget=180, seed=3)
    told.add_trials([(np.full(40, 0.25), dense(np.full(40, 0.25)))])
    never = Optimizer([(-1.0, 1.0)] * 40, budget=180, seed=3, x0=[np.full(40, 0.25)])
    for optimizer in (told, never):
        for _ in range(30):
            trial = optimizer.ask()
            optimizer.tell(trial, dense(trial.x))
        assert "coordinate" not in phases(optimizer)
        assert optimizer.diagnostics["restarts"] == 0
        assert optimizer.diagnostics["sweeps"] is None
        assert optimizer.best.value <= dense(np.full(40, 0.25))


def test_with_plenty_of_evaluations_sweeps_begin_at_that_point():
    told = Optimizer([(-1.0, 1.0)] * 40, budget=240, seed=3)
    told.add_trials([(np.full(40, 0.25), dense(np.full(40, 0.25)))])
    never = Optimizer([(-1.0, 1.0)] * 40, budget=240, seed=3, x0=[np.full(40, 0.25)])
    for optimizer in (told, never):
        for _ in range(30):
            trial = optimizer.ask()
            optimizer.tell(trial, entangled(trial.x))
        assert "coordinate" in phases(optimizer)
        assert optimizer.diagnostics["sweeps"] is not None


def test_a_point_whose_evaluation_failed_is_none_to_begin_at():
    optimizer = Optimizer([(-1.0, 1.0)] * 40, budget=240, seed=3)
    optimizer.add_trials([(np.full(40, 0.25), float("nan"))])
    for _ in range(40):
        trial = optimizer.ask()
        optimizer.tell(trial, entangled(trial.x))
    assert optimizer.diagnostics["sweeps"] is None


def test_a_restart_has_no_probe():
    """With little patience a run can end before its first descent; old steps must not judge the next one's sweep."""
    method, domain, rng = Boids(), Domain(20), np.random.default_rng(0)
    state = method.init(domain, 2000, rng)
    assert state.probe is not None
    again = restarted(method, state, domain, rng)
    assert again.sweep is not None
    assert again.probe is None


def test_a_step_in_every_coordinate_from_the_best_and_then_down():
    optimizer = run(DESIGN_POINTS)
    best = optimizer.best
    moved = []
    for _ in range(DIM):
        trial = optimizer.ask()
        assert trial.info["phase"] == "coordinate"
        (changed,) = np.flatnonzero(np.abs(trial.x - best.x) > 1e-12)
        moved.append(changed)
        optimizer.tell(trial, bowl(trial.x))
        best = optimizer.best
    assert sorted(moved) == list(range(DIM))
    assert optimizer.ask().info["phase"] == "descent"


def test_a_bowl_is_descended_and_both_kinds_get_their_turns():
    optimizer = run(60)
    phases = [each.info["phase"] for each in optimizer.trials]
    assert {"design", "coordinate", "descent", "line"} == set(phases)
    assert optimizer.diagnostics["sweeps"] >= 1
    assert optimizer.best.value < 0.1 * min(each.value for each in optimizer.trials[:DESIGN_POINTS])


def test_without_them_nothing_is_different():
    assert run(30, Boids(particles=6, sweep_from=None)).diagnostics["sweeps"] is None


@pytest.mark.parametrize("count", [3, 10, 21, 40])
def test_a_run_goes_on_as_if_it_had_not_been_saved(count, tmp_path):
    goes_on_the_same(run(count), bowl, tmp_path, 6)


def test_many_at_once_are_apart():
    optimizer = run(DESIGN_POINTS)
    for _ in range(5):
        trials = optimizer.ask(8)
        points = np.array([each.x for each in trials])
        apart = np.abs(points[:, None] - points[None]).max(axis=2) + np.eye(8)
        assert apart.min() > 1e-4
        for each in reversed(trials):
            optimizer.tell(each, bowl(each.x))
    assert optimizer.best.value < 0.5 * min(each.value for each in optimizer.trials[:DESIGN_POINTS])


def test_descents_at_once_go_different_ways_down():
    optimizer = run(DESIGN_POINTS + DIM)
    trials = [each for each in optimizer.ask(12) if each.info["phase"] == "descent"]
    best = optimizer.best.x
    lengths = sorted(float(np.linalg.norm(each.x - best)) for each in trials)
    assert len(lengths) == AT_ONCE
    assert min(np.diff(lengths)) > 0.1


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, 5.0),
        ({"sweep_signal_variance": 2.0}, 2.0),
        ({"sweep_signal_variance": None}, 1.0),
        ({"sweep_from": None}, 1.0),
    ],
)
def test_the_prior_is_wider_in_runs_with_sweeps(changes, expected):
    assert run(DESIGN_POINTS + 20, replace(SWEEPING, **changes)).diagnostics["signal_variance"] == expected


def test_a_variance_that_is_learnt_stays_so():
    free = Boids(sweep_from=1.0, particles=6, surrogate=Surrogate())
    assert run(DESIGN_POINTS + 2, free).diagnostics["signal_variance"] != 5.0


def test_failures_do_not_stop_them():
    def fragile(x):
        return float("nan") if x[0] > -0.1 else bowl(x)

    optimizer = run(60, objective=fragile)
    assert optimizer.n_failed > 0
    assert optimizer.best.value < 0.6


def test_linear_constraints_are_kept():
    result = minimize(bowl, BOX, 45, method=SWEEPING, seed=1, linear_constraints="x[0] + x[1] + x[2] <= -0.5")
    assert all(sum(each.x[:3]) <= -0.5 + 1e-7 for each in result.trials)
    assert result.fun < 0.5


def test_a_restart_when_nothing_is_left_is_none():
    for budget in (52, 53, 54):
        result = minimize(lambda _: 1.0, [(-1.0, 1.0)] * 2, budget, seed=0, linear_constraints="x[0] + x[1] <= 0.5")
        assert result.nfev == budget


def test_a_run_that_is_stuck_near_its_end_goes_on_where_it_is():
    short = Optimizer([(-1.0, 1.0)] * 2, budget=60, seed=0)
    long = Optimizer([(-1.0, 1.0)] * 2, budget=160, seed=0)
    for optimizer in (short, long):
        for _ in range(optimizer.remaining):
            optimizer.tell(optimizer.ask(), 1.0)
    assert short.diagnostics["restarts"] == 0
    assert long.diagnostics["restarts"] > 0
    rerun = [each for each in long.trials if each.info["restarts"] == 1 and each.info["phase"] == "design"]
    assert max(float(np.abs(each.x).max()) for each in rerun[:1]) > 0.1  # not the middle again


def test_a_late_descent_says_nothing_about_the_next_sweep():
    optimizer = run(DESIGN_POINTS + DIM, Boids(sweep_from=1.0, particles=6), budget=400)
    late = next(each for each in optimizer.ask(8) if each.info["phase"] == "descent")
    while optimizer.diagnostics["sweeps"] == 0:
        trial = optimizer.ask()
        optimizer.tell(trial, 10.0)
    assert late.info["phase"] == "descent"
    before = optimizer._run.state.sweep
    optimizer.tell(late, 10.0)
    after = optimizer._run.state.sweep
    assert (after.misses, after.radius, after.done) == (before.misses, before.radius, before.done)


def test_no_descent_repeats_the_best_point_at_a_constraint():
    optimizer = Optimizer([(-1.0, 1.0)] * 6, budget=90, seed=0, linear_constraints="sum(x) <= 0.5")
    while optimizer.remaining:
        trial = optimizer.ask()
        optimizer.tell(trial, float(np.sum((trial.x - 0.5) ** 2)))
    points = np.array([each.x for each in optimizer.trials])
    apart = np.abs(points[:, None] - points[None]).max(axis=2) + np.eye(len(points))
    assert apart.min() > 1e-9


def test_they_wait_for_the_first_success():
    optimizer = Optimizer(BOX, budget=80, method=SWEEPING, seed=0)
    for _ in range(20):
        optimizer.tell(optimizer.ask(), error=RuntimeError("no"))
    assert {each.info["phase"] for each in optimizer.trials} == {"design", "line"}
    optimizer.tell(optimizer.ask(), 1.0)
    assert optimizer.ask().info["phase"] == "coordinate"


def test_noise_that_is_told_ends_them():
    optimizer = run(DESIGN_POINTS + 2)
    optimizer.tell(optimizer.ask(), Measurement(1.0, noise_variance=0.1))
    trial = optimizer.ask()
    assert trial.info["phase"] == "line"
    assert trial.info["restarts"] == 0  # they go on where the sweep has led
    assert optimizer.diagnostics["sweeps"] is None
    assert optimizer.diagnostics["signal_variance"] == 1.0


def test_results_that_are_known_to_be_noisy_leave_no_sweep_to_begin():
    optimizer = Optimizer([(-1.0, 1.0)] * 4, budget=100, method=SWEEPING, seed=0)
    optimizer.add_trials([([0.1, 0.2, 0.3, 0.4], Measurement(1.0, noise_variance=0.1))])
    assert optimizer.diagnostics["sweeps"] is None
    assert optimizer.ask().info["phase"] == "design"
    assert optimizer.diagnostics["restarts"] == 0


def test_settings_of_ones_own_are_kept():
    assert not sweeps_in(Boids(embedding=False), Domain(4), 100)
    own = replace(Surrogate.regularised(), signal_variance=2.0)
    assert run(DESIGN_POINTS + 2, replace(SWEEPING, surrogate=own)).diagnostics["signal_variance"] == 2.0


def test_only_lines_have_rewards_and_are_counted():
    optimizer = run(40)
    lines = [each for each in optimizer.trials if each.info["phase"] == "line"]
    assert all(("reward" in each.info) == (each in lines) for each in optimizer.trials)
    assert sum(optimizer.diagnostics["line_moves"]) == len(lines)


def test_spaces_with_choices_have_none():
    space = Space({"on": Bool(), "w": Float(-1, 1, shape=5)})
    result = minimize(lambda p: float(np.sum(p["w"] ** 2)) + p["on"], space, 20, method=SWEEPING, seed=1)
    assert not {each.info["phase"] for each in result.trials} & {"coordinate", "descent"}


@pytest.mark.parametrize("method", [SWEEPING, Boids(sweep_from=40.0, sweep_probe_from=1.0, particles=6)])
def test_they_keep_every_law_of_a_method(method, monkeypatch):
    monkeypatch.setattr(boids_sweeps, "LEAST_BUDGET", 0)
    monkeypatch.setattr(boids_sweeps, "LEAST_DIM", 0)
    check_method(method)


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_few_dimensions(dim):
    result = minimize(lambda x: float(np.sum((x - 0.3) ** 2)), [(-1.0, 1.0)] * dim, 6 * dim + 10, seed=0)
    assert {"coordinate", "descent"} <= {each.info["phase"] for each in result.trials}
    assert result.fun < 0.01


def test_they_begin_at_the_best_known_point():
    optimizer = Optimizer(BOX, budget=60, method=SWEEPING, seed=1)
    optimizer.add_trials([(BOTTOM + 0.05, bowl(BOTTOM + 0.05)), (-BOTTOM, bowl(-BOTTOM))])
    for _ in range(DESIGN_POINTS):
        trial = optimizer.ask()
        optimizer.tell(trial, bowl(trial.x))
    trial = optimizer.ask()
    assert trial.info["phase"] == "coordinate"
    assert np.count_nonzero(np.abs(trial.x - (BOTTOM + 0.05)) > 1e-9) == 1
