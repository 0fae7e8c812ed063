"""Evaluations that fail: recorded with their reason, counted, not repeated, learnt from."""

import math
import sys

import numpy as np
import pytest
from toy_methods import Toy

from boids import FAILED, EvaluationError, Int, Measurement, Optimizer, Space, minimize
from boids.algorithms import Boids
from boids.blocks.nsga2 import NSGA2
from boids.drive import StopReason
from boids.result import Result

BOX = [(-1, 1)] * 4
QUICK = Boids(
    n_init=10,
    particles=10,
    search=NSGA2(population=16, offspring=16, generations=6),
    bandit_candidates=200,
    max_candidates=60,
    path_features=64,
)


def raises(error):
    def fun(x):
        raise error

    return fun


FAILURES = {
    "exception": (raises(ZeroDivisionError("division by zero")), "ZeroDivisionError: division by zero"),
    "exception without words": (raises(RuntimeError()), "RuntimeError"),
    "a sentence of boids": (raises(EvaluationError("The simulator took longer than 5 s.")), "The simulator took"),
    "sys.exit": (lambda x: sys.exit(3), "SystemExit: 3"),
    "nan": (lambda x: math.nan, "The value is nan, not a finite number."),
    "inf": (lambda x: math.inf, "The value is inf, not a finite number."),
    "-inf": (lambda x: -math.inf, "The value is -inf, not a finite number."),
    "overflow": (lambda x: 10**400, "The value is inf, not a finite number."),
    "FAILED": (lambda x: FAILED, "The evaluation was reported as failed."),
    "measured nan": (lambda x: Measurement(math.nan), "The value is nan, not a finite number."),
    "nothing": (lambda x: None, "one real number"),
    "text": (lambda x: "good", "one real number"),
    "assertion": (raises(AssertionError("mesh")), "AssertionError: mesh"),
}


@pytest.mark.parametrize(("fun", "reason"), FAILURES.values(), ids=FAILURES)
@pytest.mark.parametrize("method", ["random", QUICK], ids=["random", "boids"])
def test_every_kind_of_failure_is_recorded_and_the_run_goes_on(fun, reason, method):
    calls = []

    def sometimes(x):
        calls.append(x)
        return float(x @ x) if len(calls) % 3 == 0 else fun(x)

    result = minimize(sometimes, BOX, 12, method=method, seed=0)
    assert result.nfev == len(calls) == 12
    assert result.success
    failed = [trial for trial in result.trials if trial.failed]
    assert len(failed) == 8
    for trial in failed:
        assert reason in trial.error
        assert trial.state == "failed"
        assert trial.value is None
        assert trial.ended >= trial.started
    assert all(trial.error is None for trial in result.trials if not trial.failed)
    assert "8 of 12 evaluations failed." in result.message


@pytest.mark.parametrize(
    ("constraints", "reason"),
    [
        ([0.0, math.nan], "Constraint 2 of 2 is nan, not a finite number."),
        ([math.inf, 0.0], "Constraint 1 of 2 is inf, not a finite number."),
        ([-math.inf, math.nan], "Constraint 1 of 2 is -inf, not a finite number."),
        (np.ma.masked_array([0.0, 1.0], [False, True]), "Constraint 2 of 2 is nan, not a finite number."),
    ],
)
def test_constraints_that_are_not_finite_are_failures(constraints, reason):
    result = minimize(lambda x: (1.0, constraints), BOX, 3, method="random", seed=0, n_constraints=2)
    assert [trial.error for trial in result.trials] == [reason] * 3
    assert all(trial.constraints is None for trial in result.trials)


@pytest.mark.parametrize("method", ["random", QUICK], ids=["random", "boids"])
@pytest.mark.parametrize("options", [{}, {"n_constraints": 2}, {"noisy": True}, {"n_constraints": 1, "penalty": 1.0}])
def test_if_all_fail_the_result_says_so(method, options):
    result = minimize(raises(RuntimeError("no licence")), BOX, 25, method=method, seed=0, **options)
    assert result.success is False
    assert result.feasible is False
    assert result.x is None
    assert math.isnan(result.fun)
    assert math.isnan(result.observed)
    assert np.isnan(result.history).all()
    assert len(result.history) == result.nfev == 25
    assert result.message == (
        "All evaluations of the budget were made. All 25 evaluations failed; the first error was: "
        "RuntimeError: no licence"
    )
    assert len({trial.unit.tobytes() for trial in result.trials}) == 25


def test_before_anything_is_finished():
    optimizer = Optimizer(BOX, budget=3, method="random", seed=0)
    optimizer.ask()
    result = Result.of(optimizer, StopReason.INTERRUPTED)
    assert result.message == "The run was interrupted. No evaluation was finished."
    assert optimizer.estimate is None
    assert optimizer.diagnostics["best"] is None
    assert optimizer.diagnostics["feasible"] is None


def test_interrupts_and_exits_are_told_apart():
    """sys.exit is the simulator's end; Ctrl-C is the user's wish."""

    def fun(x):
        fun.calls += 1
        if fun.calls == 2:
            sys.exit("mesh broken")
        if fun.calls == 4:
            raise KeyboardInterrupt
        return 1.0

    fun.calls = 0
    result = minimize(fun, BOX, 10, method="random", seed=0)
    assert result.status == "interrupted"
    assert result.nfev == 3
    assert result.trials[1].error == "SystemExit: mesh broken"
    assert result.trials[3].state == "pending"


# --- not again ------------------------------------------------------------------------------------------------------


def test_a_failed_point_is_not_proposed_again_however_much_the_method_insists():
    for space in (Space(BOX), Space({"a": Int(0, 3), "b": Int(0, 3)})):
        stubborn = Toy(on_ask=lambda state, history, pending, rng: np.zeros(history.domain.dim))
        optimizer = Optimizer(space, budget=16, method=stubborn, seed=0)
        while optimizer.remaining:
            optimizer.tell(optimizer.ask(), error="crash")
        assert len({trial.unit.tobytes() for trial in optimizer.trials}) == 16


def test_in_a_small_space_no_crash_is_met_twice():
    met = []

    def fun(x):
        if (x["a"] + x["b"]) % 3 == 0:
            met.append((x["a"], x["b"]))
            raise RuntimeError("crash")
        return float((x["a"] - 4) ** 2 + (x["b"] - 3) ** 2)

    result = minimize(fun, Space({"a": Int(0, 7), "b": Int(0, 7)}), 40, method=QUICK, seed=1)
    assert len(met) == len(set(met)) > 0
    assert result.fun == 0.0


# --- still converging ----------------------------------------------------------------------------------------------


def sphere(x):
    return float(np.sum((x - 0.3) ** 2))


@pytest.mark.parametrize("kind", ["at random", "in one region"])
def test_crashes_do_not_keep_a_run_from_converging(kind):
    """20 dimensions, 70 evaluations. 28 to 30 % of the box, or of the evaluations, crash; the region cuts the minimum
    off, with 0.03 as the lowest value left. Random search without any crash ends at 4.3 ± 0.6 (mean and standard
    deviation of 40 seeds); three seeds of ours end below 2."""
    crashes, best = 0, []
    for seed in range(3):
        chance = np.random.default_rng(100 + seed)

        def fun(x, chance=chance):
            crash = chance.random() < 0.3 if kind == "at random" else x[:3].sum() > 0.62
            if crash:
                raise RuntimeError("crash")
            return sphere(x)

        result = minimize(fun, [(-1, 1)] * 20, 70, method=QUICK, seed=seed)
        assert result.nfev == 70
        assert result.fun < 2.0
        best.append(result.fun)
        crashes += sum(trial.failed for trial in result.trials)
    if kind == "at random":
        assert crashes > 30
    else:
        # The model has learnt where the edge is, and what can be had there (12 seeds: one 0.6, the others below 0.12,
        # so that the median of three is too large by chance in 2 % of the cases; with one prior instead of rivals
        # 0.43). Proposals beside an edge crash now and then; most must not.
        assert 0 < crashes < 0.5 * 3 * 50
        assert np.median(best) < 0.15


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["at random", "in one region"])
def test_crashes_cost_little(kind):
    """Ten seeds, 120 evaluations, a third of which crash, against others after 84: the means above what can be had are
    apart by less than a fiftieth of where random search ends, 4.3 (0.013 and 0.041 on one machine)."""
    means, lowest = {}, 0.03 if kind == "in one region" else 0.0
    for crashing in (False, True):
        ends = []
        for seed in range(10):
            chance = np.random.default_rng(100 + seed)

            def fun(x, chance=chance, crashing=crashing):
                crash = chance.random() < 0.3 if kind == "at random" else x[:3].sum() > 0.62
                return math.nan if crash and crashing else sphere(x)

            ends.append(minimize(fun, [(-1, 1)] * 20, 120 if crashing else 84, method=QUICK, seed=seed).fun)
        means[crashing] = np.mean(ends)
    assert means[True] - lowest < means[False] + 0.02 * 4.3


def test_the_first_failures_are_in_the_log_if_nothing_else_came(caplog):
    """A mistake in the objective is seen before the budget is gone."""
    said = ["the last one with TellError: A value came with constraints", "the last one with ZeroDivisionError"]
    for fun, words in zip((lambda x: (1.0, [2.0]), lambda x: 1 / 0), said, strict=True):
        caplog.clear()
        minimize(fun, [(0, 1)] * 2, 9, method="random", seed=0)
        (record,) = caplog.records
        assert (record.name, record.levelname) == ("boids", "WARNING")
        assert words in record.getMessage()
        assert "The first 3 evaluations have all failed" in record.getMessage()
    caplog.clear()
    values = iter([float("nan"), 1.0, *[float("nan")] * 7])
    minimize(lambda x: next(values), [(0, 1)] * 2, 9, method="random", seed=0)
    assert not caplog.records
