"""Runs that begin with something: points of the user's, and evaluations that were made before or elsewhere."""

from dataclasses import replace

import numpy as np
import pytest
from run_checks import CASES, MIXED, QUICK, FakeWorkers, facts, outcome, sphere
from scipy.optimize import LinearConstraint

import boids
from boids import FAILED, Int, Measurement, Optimizer, Space, SpaceError, TellError, drive
from boids.records import Trial

BOX = [(-1.0, 3.0)] * 3
both = pytest.mark.parametrize("method", [QUICK, "random"], ids=["boids", "random"])
POINT = {"rate": 0.01, "n": 7, "act": "b", "on": True, "w": [0.1, -0.2, 0.3]}


# --- starting points --------------------------------------------------------------------------------------


@both
@pytest.mark.parametrize(
    "x0",
    [
        [0.5, 0.25, 3.0],
        (0.5, 0.25, 3.0),
        np.array([0.5, 0.25, 3.0]),
        [[0.5, 0.25, 3.0], np.array([1.0, 2.0, -1.0])],
        np.array([[0.5, 0.25, 3.0], [1.0, 2.0, -1.0]]),
        ((0.5, 0.25, 3.0), (1.0, 2.0, -1.0)),
    ],
)
def test_the_first_evaluations(method, x0):
    seen = []
    points = np.atleast_2d(np.array([list(each) if np.ndim(each) else each for each in x0]))

    def fun(x):
        seen.append(x.copy())
        return sphere(x)

    result = boids.minimize(fun, BOX, 8, method=method, seed=1, x0=x0)
    assert np.allclose(seen[: len(points)], points, atol=1e-12)
    assert result.nfev == len(seen) == 8
    assert [trial.info["phase"] for trial in result.trials[: len(points)]] == ["x0"] * len(points)
    assert "x0" not in [trial.info.get("phase") for trial in result.trials[len(points) :]]
    assert len(result.history) == 8


@both
def test_named_points(method):
    optimizer = Optimizer(MIXED, budget=9, method=method, seed=1, x0=[POINT, {**POINT, "n": 8, "act": "c"}])
    first, second = optimizer.ask(2)
    assert (first.params["n"], first.params["act"], second.params["n"], second.params["act"]) == (7, "b", 8, "c")
    assert first.params["rate"] == pytest.approx(0.01)
    one = Optimizer(MIXED, budget=9, method=method, seed=1, x0=POINT)
    assert one.ask().params["n"] == 7


@pytest.mark.parametrize("nothing", [None, [], (), np.empty((0, 3))])
def test_none(nothing):
    alone, given = (Optimizer(BOX, budget=4, method="random", seed=1, x0=x0) for x0 in (None, nothing))
    assert np.array_equal(alone.ask().unit, given.ask().unit)


@pytest.mark.parametrize(
    ("space", "x0", "words"),
    [
        (BOX, [0.5, 0.25, 3.5], "x0 is not a point of the space"),
        (BOX, [[0.5, 0.25, 3.0], [0.5, 0.25, -2.0]], r"x0\[1\] is not a point of the space"),
        (BOX, [0.5, 0.25], "x0 is not a point"),
        (BOX, 0.5, "x0 is not a point"),
        (BOX, np.array(0.5), "x0 is not a point"),
        (BOX, "abc", "x0 is not a point"),
        (BOX, POINT, "x0 is not a point"),
        (BOX, [[0.5, 0.25, np.nan]], r"x0\[0\] is not a point"),
        (BOX, [[0.5, 0.25, 1.0], [0.5, 0.25, 1.0]], r"x0\[1\] is there twice"),
        (MIXED, 5, "x0 is not a point"),
        (MIXED, {"n": 7}, "x0 is not a point"),
        (MIXED, [POINT, 3], r"x0\[1\] is not a point"),
        (MIXED, [{**POINT, "act": "z"}], r"x0\[0\] is not a point"),
    ],
)
def test_what_is_no_starting_point(space, x0, words):
    with pytest.raises(SpaceError, match=words):
        Optimizer(space, budget=9, method="random", x0=x0)


def test_starting_points_satisfy_the_linear_constraints():
    constraint = LinearConstraint([[1, 1, 0]], ub=1)
    with pytest.raises(SpaceError, match=r"x0\[1\] breaks a linear constraint"):
        Optimizer(BOX, budget=9, method="random", linear_constraints=constraint, x0=[[0, 0, 0], [1, 1, 1]])
    optimizer = Optimizer(BOX, budget=9, method="random", linear_constraints=constraint, x0=[0, 1, 2])
    assert np.allclose(optimizer.ask().x, [0, 1, 2])


def test_more_starting_points_than_evaluations():
    points = [[0.1 * i] * 3 for i in range(4)]
    with pytest.raises(ValueError, match="x0 has 4 points, but the budget is only 3"):
        Optimizer(BOX, budget=3, method="random", x0=points)
    assert boids.minimize(sphere, BOX, 4, method=QUICK, seed=1, x0=points).nfev == 4


@both
def test_in_batches(method):
    points = [[0.1 * i] * 3 for i in range(4)]
    optimizer = Optimizer(BOX, budget=12, method=method, seed=1, x0=points)
    assert [trial.info.get("phase") == "x0" for trial in optimizer.ask(3)] == [True] * 3
    assert [trial.info.get("phase") == "x0" for trial in optimizer.ask(3)] == [True, False, False]
    one = Optimizer(BOX, budget=12, method=method, seed=1, x0=points)
    drive.run(one, workers=FakeWorkers(sphere, lambda keys: keys[::-1]), batch=3)
    assert np.allclose([trial.x for trial in one.trials[:4]], points, atol=1e-12)
    assert one.n_told == 12


def test_starting_points_and_earlier_trials():
    optimizer = Optimizer(BOX, budget=4, method="random", seed=1, x0=[[0.1] * 3, [0.2] * 3])
    optimizer.add_trials([([0.5] * 3, 1.0)])
    first = optimizer.ask()
    optimizer.add_trials([([0.6] * 3, 1.0)])
    second = optimizer.ask()
    assert np.allclose([first.x, second.x], [[0.1] * 3, [0.2] * 3])
    assert (first.id, second.id) == (1, 3)


@both
@pytest.mark.parametrize("case", CASES)
def test_a_file_keeps_starting_points_and_earlier_trials(tmp_path, case, method):
    """Run 2N ≡ run N, save, load, run N."""
    arguments = CASES[case]
    space = Space.of(arguments["space"])
    points = [space.decode(unit) for unit in space.snap(np.array([[0.1] * space.dim, [-0.4] * space.dim]))]

    def go(optimizer, count):
        for _ in range(count):
            trial = optimizer.ask()
            value, more = outcome(optimizer, trial)
            optimizer.tell(trial, value, **more)

    def begun():
        optimizer = Optimizer(**arguments, budget=10, method=method, seed=2, x0=points)
        extra = [0.2] * optimizer.n_constraints
        given = optimizer.space.decode(optimizer.space.snap(np.full(space.dim, 0.8)))
        optimizer.add_trials([(given, (2.0, extra) if extra else 2.0)])
        return optimizer

    whole, broken = begun(), begun()
    go(whole, 10)
    go(broken, 1)
    broken.save(tmp_path / "run")
    loaded = Optimizer.load(tmp_path / "run")
    go(loaded, 9)
    assert facts(loaded) == facts(whole)


# --- earlier trials ---------------------------------------------------------------------------------------


@both
def test_they_do_not_count_but_may_be_the_best(method):
    earlier = [([0.3, 0.3, 0.3], 0.0), ([1.0, 1.0, 1.0], 1.47)]
    calls = []
    result = boids.minimize(lambda x: calls.append(1) or 1 + sphere(x), BOX, 6, method=method, seed=1, trials=earlier)
    assert len(calls) == result.nfev == len(result.history) == 6
    assert len(result.trials) == 8
    assert result.fun == 0.0
    assert np.allclose(result.x, 0.3)
    assert np.array_equal(result.history, np.zeros(6))
    assert [trial.attempts for trial in result.trials] == [0, 0] + [1] * 6
    assert [trial.info["phase"] for trial in result.trials[:2]] == ["added", "added"]


def test_a_model_learns_from_them():
    """A run that is told of the valley does better than one that is not."""
    space = [(-1.0, 1.0)] * 8
    rng = np.random.default_rng(0)
    known = [(x, sphere(x)) for x in 0.3 + 0.1 * rng.uniform(-1, 1, (15, 8))]
    with_, without = (
        [boids.minimize(sphere, space, 12, method=QUICK, seed=seed, trials=trials) for seed in range(3)]
        for trials in (known, None)
    )
    lowest = [[min(t.value for t in result.trials if t.attempts) for result in group] for group in (with_, without)]
    assert np.median(lowest[0]) < 0.5 * np.median(lowest[1])


def test_in_every_form(tmp_path):
    source = Optimizer(BOX, budget=9, method="random", seed=1)
    for number in range(5):
        trial = source.ask()
        if number == 2:
            source.tell(trial, error="crash")
        elif number < 4:
            source.tell(trial, sphere(trial.x))
    result = boids.minimize(sphere, BOX, 4, method="random", seed=3)
    for given, count in (
        (source, 4),
        (source.trials, 4),
        (list(source.trials), 4),
        (result, 4),
        ((trial for trial in result.trials), 4),
        ([result.trials[0], ([0.5] * 3, 2.0), [np.zeros(3), Measurement(3.0, noise_variance=0.1)]], 3),
        ([([0.5] * 3, FAILED), ([0.25] * 3, np.nan)], 2),
        ([], 0),
    ):
        optimizer = Optimizer(BOX, budget=3, method="random", seed=1)
        added = optimizer.add_trials(given)
        assert len(added) == count == len(optimizer.trials)
        assert list(added) == list(optimizer.trials)
        assert optimizer.n_asked == optimizer.n_told == optimizer.n_failed == 0
        assert optimizer.remaining == 3
        assert optimizer.pending == ()
    back = Optimizer(BOX, budget=3, method="random", seed=1).add_trials(source)
    for old, new in zip([t for t in source.trials if t.state != "pending"], back, strict=True):
        assert np.allclose(old.x, new.x, atol=1e-14)
        assert (old.value, old.error, old.state) == (new.value, new.error, new.state)
        assert (old.started, old.ended, new.attempts) == (new.started, new.ended, 0)


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        (5, ValueError, "trials must be a list"),
        ("abc", ValueError, "trials must be a list"),
        ({"a": 1}, ValueError, "trials must be a list"),
        ([3], ValueError, r"trials\[0\] must be a trial or a pair"),
        ([([0.0] * 3, 1.0, 2.0)], ValueError, r"trials\[0\] must be a trial or a pair"),
        ([([0.0] * 3, 1.0), ([9.0] * 3, 1.0)], SpaceError, r"trials\[1\] is not a point of the space"),
        ([([0.0] * 3, "x")], TellError, r"trials\[0\]: "),
        ([([0.0] * 3, (1.0, [2.0]))], TellError, r"trials\[0\]: "),
        ([Trial(0, np.zeros(3), np.zeros(3), 1.0, (0.5,), state="done")], TellError, r"trials\[0\]: .*constraint"),
    ],
)
def test_what_is_no_earlier_trial(given, error, words):
    optimizer = Optimizer(BOX, budget=9, method="random")
    with pytest.raises(error, match=words):
        optimizer.add_trials(given)
    assert optimizer.trials == ()


def test_with_constraints():
    optimizer = Optimizer(BOX, budget=9, method=QUICK, n_constraints=2, seed=1)
    done = Trial(0, np.zeros(3), np.zeros(3), 1.0, (0.5, -1.0), state="done")
    optimizer.add_trials([done, ([1.0] * 3, (3.0, [0.0, -1.0])), ([2.0] * 3, FAILED)])
    assert [trial.feasible for trial in optimizer.trials] == [False, True, None]
    assert optimizer.best.id == 1
    with pytest.raises(TellError, match="2 constraints"):
        optimizer.add_trials([replace(done, constraints=None)])
    assert len(optimizer.ask(2)) == 2


def test_failures_of_others_are_not_counted_as_evaluations():
    crashes = [([0.1 * i] * 3, FAILED) for i in range(3)]
    optimizer = Optimizer(BOX, budget=2, method="random", seed=1)
    optimizer.add_trials(crashes)
    assert optimizer.n_failed == 0
    assert boids.Result.of(optimizer, drive.StopReason.INTERRUPTED).message.endswith("No evaluation was finished.")

    def fun(x):
        raise ArithmeticError("mine")

    result = boids.minimize(fun, BOX, 2, method="random", seed=1, trials=crashes)
    assert "All 2 evaluations failed; the first error was: ArithmeticError: mine" in result.message
    result = boids.minimize(sphere, BOX, 2, method="random", seed=1, trials=crashes)
    assert "failed" not in result.message
    assert result.diagnostics["failed"] == 0


def test_noisy_runs_look_again_at_once():
    optimizer = Optimizer(BOX, budget=9, method="random", noisy=True, seed=1)
    optimizer.tell(optimizer.ask(), 5.0)
    assert optimizer.estimate == 5.0
    optimizer.add_trials([([0.3] * 3, -7.0)])
    assert (optimizer.best.id, optimizer.estimate) == (1, -7.0)


@pytest.mark.parametrize("times", [1, 3])
@both
def test_finite_spaces(method, times):
    """What is known is not evaluated again, and everything else is, however often it is known."""
    space = Space({"n": Int(1, 6)})
    known = [({"n": 2}, 1.0)] * times + [({"n": 5}, 2.0)]
    seen = []
    result = boids.minimize(lambda x: seen.append(x["n"]) or 1.0, space, 9, method=method, seed=1, trials=known)
    assert sorted(seen) == [1, 3, 4, 6]
    assert (result.status, result.nfev) == ("space", 4)


def test_points_that_are_known_twice_leave_room_for_the_others():
    optimizer = Optimizer(Space({"n": Int(1, 4)}), budget=9, method="random", seed=1)
    optimizer.add_trials([({"n": 2}, 1.0)] * 5)
    assert optimizer.remaining == 3
    optimizer.ask(3)
    assert optimizer.remaining == 0


def test_from_a_run_in_a_store(tmp_path):
    path = tmp_path / "runs.db"
    first = boids.minimize(sphere, BOX, 5, method="random", seed=1, store=path, run_id="a")
    arguments = {"method": "random", "seed": 2, "trials": boids.Result.load(path, "a"), "store": path, "run_id": "b"}
    second = boids.minimize(sphere, BOX, 5, **arguments)
    assert (second.nfev, len(second.trials)) == (5, 10)
    assert second.fun <= first.fun
    again = boids.minimize(sphere, BOX, 5, **arguments)
    assert list(again.trials) == list(second.trials)
    summary = {run.id: run for run in boids.Store(path).runs()}["b"]
    assert (summary.added, summary.fun) == (5, second.fun)


def test_limits_count_evaluations_only():
    earlier = [([0.3] * 3, 0.0)] + [([0.1 * i] * 3, 9.0) for i in range(4, 9)]
    result = boids.minimize(lambda x: 1.0, BOX, 20, method="random", seed=1, trials=earlier, patience=3)
    assert (result.status, result.nfev) == ("stagnation", 3)
    result = boids.minimize(lambda x: 1.0, BOX, 20, method="random", seed=1, trials=earlier, target=0.0)
    assert (result.status, result.nfev) == ("target", 0)
