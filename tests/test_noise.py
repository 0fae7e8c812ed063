"""Noisy objectives through the shell: the reported optimum, known variances, repeated points."""

import math

import numpy as np
import pytest
from toy_methods import Toy

from boids import Bool, Int, Measurement, Optimizer, Space, TellError, drive, minimize
from boids.algorithms import Boids
from boids.blocks.nsga2 import NSGA2
from boids.recommendation import Recommender
from boids.result import Result

BOX = [(-1, 1)] * 3
QUICK = Boids(
    n_init=8,
    particles=6,
    search=NSGA2(population=16, offspring=16, generations=5),
    bandit_candidates=100,
    max_candidates=50,
    path_features=64,
)


def bowl(x):
    return float(np.sum((x - 0.3) ** 2))


def noisy_bowl(seed, deviation=0.5):
    chance = np.random.default_rng(seed)
    return lambda x: bowl(x) + deviation * chance.normal()


def told(values, **options):
    optimizer = Optimizer(BOX, budget=len(values), method="random", seed=0, noisy=True, **options)
    for value in values:
        optimizer.tell(optimizer.ask(), value)
    return optimizer


def test_the_optimum_is_the_lowest_posterior_mean_and_says_so():
    result = minimize(noisy_bowl(0), BOX, 40, method="random", seed=0, noisy=True)
    best = Recommender().recommend(result.trials, 40)
    np.testing.assert_array_equal(result.x, best.trial.x)
    assert result.fun == best.mean
    assert result.observed == best.trial.value
    assert result.fun != result.observed
    assert "x has the lowest posterior mean among the evaluated points, and fun is that mean" in result.message
    np.testing.assert_array_equal(result.history, np.minimum.accumulate([trial.value for trial in result.trials]))


def test_without_noise_fun_is_what_was_observed():
    result = minimize(bowl, BOX, 30, method="random", seed=0)
    assert result.fun == result.observed == min(trial.value for trial in result.trials)
    assert "posterior" not in result.message


def test_the_first_few_values_are_taken_as_they_are():
    optimizer = told([3.0, 1.0, 2.0])
    assert optimizer.best.value == optimizer.estimate == 1.0


def test_the_answer_is_the_same_whether_or_not_it_was_asked_for_before(tmp_path):
    asked, silent = (Optimizer(BOX, budget=45, method="random", seed=0, noisy=True) for _ in range(2))
    for optimizer, nosy in ((asked, True), (silent, False)):
        fun = noisy_bowl(1)
        while optimizer.remaining:
            trial = optimizer.ask()
            optimizer.tell(trial, fun(trial.x))
            if nosy:
                assert optimizer.best is not None
    silent.save(tmp_path / "run")
    loaded = Optimizer.load(tmp_path / "run")
    assert asked.best.id == silent.best.id == loaded.best.id
    assert asked.estimate == silent.estimate == loaded.estimate


def test_new_outcomes_change_the_answer_and_pending_trials_do_not():
    optimizer = Optimizer(BOX, budget=20, method="random", seed=0, noisy=True)
    for _ in range(12):
        optimizer.tell(optimizer.ask(), 1.0 + 0.01 * optimizer.n_told)
    before = optimizer.estimate
    waiting = optimizer.ask()
    assert optimizer.estimate == before
    optimizer.tell(waiting, -50.0)
    assert optimizer.best.id == waiting.id
    assert optimizer.estimate < before


def test_only_feasible_trials_are_recommended():
    fun = noisy_bowl(3)
    result = minimize(
        lambda x: (fun(x), [float(0.4 - x[0])]), BOX, 40, method="random", seed=0, noisy=True, n_constraints=1
    )
    assert result.success
    assert result.x[0] >= 0.4
    none = minimize(lambda x: (fun(x), [1.0 + x[0]]), BOX, 20, method="random", seed=0, noisy=True, n_constraints=1)
    assert not none.success
    assert none.constraints[0] == min(trial.constraints[0] for trial in none.trials)


def test_targets_are_met_by_means_not_by_luck():
    """One lucky value of -5 among ones around 1 in a run that knows its noise is no reason to stop."""
    chance = np.random.default_rng(0)

    def fun(x):
        fun.calls += 1
        return Measurement(-5.0 if fun.calls == 25 else 1.0 + 0.1 * chance.normal(), noise_variance=9.0)

    fun.calls = 0
    result = minimize(fun, BOX, 30, method="random", seed=0, noisy=True, target=-4.0)
    assert (result.status, result.nfev) == ("budget", 30)
    fun.calls = 0
    result = minimize(fun, BOX, 30, method="random", seed=0, target=-4.0)
    assert (result.status, result.nfev) == ("target", 25)


# --- known variances -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", ["keyword", "measurement"])
def test_variances_are_kept_with_the_trials_and_reach_the_method(way):
    seen = []
    method = Toy(
        on_ask=lambda state, history, pending, rng: rng.uniform(-1, 1, 3),
        on_tell=lambda state, history, proposal, outcome, rng: seen.append(history.noise),
    )
    optimizer = Optimizer(BOX, budget=4, method=method, seed=0, noisy=True)
    variances = [None, 0.25, None, 0.0]
    for variance in variances:
        value, extra = (1.0, {"noise_variance": variance}) if way == "keyword" else (Measurement(1.0, (), variance), {})
        done = optimizer.tell(optimizer.ask(), value, **extra)
        assert done.noise_variance == variance
    assert seen[0] is None
    np.testing.assert_array_equal(seen[1], [math.nan, 0.25])
    np.testing.assert_array_equal(seen[3], [math.nan, 0.25, math.nan, 0.0])


@pytest.mark.parametrize("variance", [-1e-9, math.inf, math.nan, "x", [1.0, 2.0], 1j])
def test_wrong_variances(variance):
    optimizer = Optimizer(BOX, budget=2, method="random", seed=0, noisy=True)
    trial = optimizer.ask()
    with pytest.raises(TellError):
        optimizer.tell(trial, 1.0, noise_variance=variance)
    assert optimizer.pending == (trial,)


def test_a_failed_evaluation_has_no_variance():
    optimizer = Optimizer(BOX, budget=2, method="random", seed=0, noisy=True)
    assert optimizer.tell(optimizer.ask(), math.nan, noise_variance=0.1).noise_variance is None


def test_known_variances_change_what_boids_proposes():
    def trace(variance):
        fun = noisy_bowl(2)
        result = minimize(
            lambda x: Measurement(fun(x), noise_variance=variance), BOX, 14, method=QUICK, seed=0, noisy=True
        )
        return [trial.unit.tobytes() for trial in result.trials]

    told, untold = trace(0.25), trace(None)
    assert told[:8] == untold[:8]
    assert told[8:] != untold[8:]
    assert told == trace(0.25)


# --- the flag --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("noisy", [0.1, 1, None, "yes"])
def test_the_flag_is_a_flag(noisy):
    with pytest.raises(ValueError, match="noisy must be True or False"):
        Optimizer(BOX, budget=2, noisy=noisy)


def test_points_may_be_evaluated_again():
    space = Space({"a": Int(0, 1), "b": Bool()})
    optimizer = Optimizer(space, budget=30, method="random", seed=0, noisy=True)
    assert optimizer.remaining == 30
    chance = np.random.default_rng(0)
    drive.run(optimizer, lambda x: x["a"] + x["b"] + 0.3 * chance.normal())
    assert optimizer.n_told == 30
    assert len({trial.unit.tobytes() for trial in optimizer.trials}) == 4
    # Seven or eight evaluations each: the mean of the best point is known to about 0.1, four of which are no accident.
    assert optimizer.best.params == {"a": 0, "b": False}
    assert abs(optimizer.estimate) < 0.4
    assert Result.of(optimizer, drive.StopReason.BUDGET).fun == optimizer.estimate


def test_boids_finds_the_bottom_of_a_noisy_bowl():
    """Noise of a fifth of the values' spread, 45 evaluations in 3 dimensions, three seeds. What random search reports
    is 0.13 above the minimum on average; what ours reports 0.044 (24 seeds, deviation 0.042), so that the mean of
    three seeds is above 0.1 in one of a hundred draws of seeds. The reported means are right to within the noise."""
    above = []
    for seed in range(3):
        result = minimize(noisy_bowl(seed, 0.15), BOX, 45, method=QUICK, seed=seed, noisy=True)
        above.append(bowl(result.x))
        assert abs(result.fun - above[-1]) < 0.15
    assert np.mean(above) < 0.1


def test_a_point_that_failed_is_not_tried_again_though_values_are_noisy():
    space = Space({"a": Int(1, 4), "b": Bool()})
    optimizer = Optimizer(space, budget=60, method="random", seed=0, noisy=True)
    failed = []
    while optimizer.remaining:
        trial = optimizer.ask()
        point = (trial.x["a"], trial.x["b"])
        assert point not in failed
        if trial.x["a"] == 2:
            failed.append(point)
            optimizer.tell(trial, error="no")
        else:
            optimizer.tell(trial, float(trial.x["a"]))
    assert len(failed) == 2
    assert optimizer.n_told == 60
