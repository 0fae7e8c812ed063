"""`minimize`, the loop below it and the result: exact budgets, every way to stop, and objectives that misbehave."""

from __future__ import annotations

import copy
import doctest
import importlib
import json
import math
import subprocess
import sys
import types

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import Bounds, OptimizeResult
from toy_methods import Wanderer

import boids
from boids import FAILED, Float, Optimizer, Result, SpaceError, Trial, minimize
from boids.algorithms import Boids
from boids.blocks.nsga2 import NSGA2
from boids.drive import StopReason, run

BOX = [(-5.0, 10.0), (0.0, 1.0)]
SMALL_BOIDS = Boids(n_init=6, particles=4, search=NSGA2(population=20, offspring=20, generations=5))


def sphere(x):
    return float(np.sum(np.square(x)))


def rows(matrix):
    return np.sum(np.square(matrix), axis=1)


def units(result):
    return np.array([trial.unit for trial in result.trials])


def quick(fun=sphere, space=BOX, budget=20, **options):
    return minimize(fun, space, budget, **{"method": "random", "seed": 1, **options})


class TestResult:
    def test_a_budget_of_initial_points_only_is_noticed(self):
        space = [(0, 1)] * 3
        few = minimize(sphere, space, budget=5, method="boids", seed=1)
        assert few.message.endswith("from which nothing has been learnt yet: take a larger budget.")
        enough = minimize(sphere, space, budget=25, method="boids", seed=1)
        stopped = minimize(sphere, space, budget=25, method="boids", seed=1, target=1e9)
        assert "larger budget" not in enough.message + stopped.message

    def test_fields(self):
        result = quick()
        best = min(result.trials, key=lambda trial: trial.value)
        assert isinstance(result, Result)
        assert isinstance(result, OptimizeResult)
        assert result.x.tolist() == best.x.tolist()
        assert result.fun == result["fun"] == best.value
        assert (result.nfev, result.success, result.status) == (20, True, "budget")
        assert (result.method, result.seed) == ("random", 1)
        assert result.message == "All evaluations of the budget were made."
        assert len(result.trials) == 20
        assert all(isinstance(trial, Trial) and trial.state == "done" for trial in result.trials)
        assert {"fit", "select", "optimise", "evaluate", "other"} <= set(result.times)
        assert result.times["evaluate"] > 0
        json.dumps({key: result[key] for key in ("fun", "nfev", "status", "message", "times", "seed")})

    def test_history_is_the_best_so_far(self):
        values = iter([math.nan, 5.0, 7.0, math.inf, 3.0, 4.0])
        result = quick(lambda x: next(values), budget=6)
        np.testing.assert_array_equal(result.history, [np.nan, 5.0, 5.0, 5.0, 3.0, 3.0])
        assert result.fun == 3.0

    def test_the_point_belongs_to_the_caller(self):
        result = quick()
        result.x[0] = 99.0
        assert all(trial.x[0] != 99.0 for trial in result.trials)
        named = quick(lambda p: 0.0, {"w": Float([0, 0], [1, 1])})
        named.x["w"][0] = 99.0
        assert named.trials[0].x["w"][0] != 99.0

    @pytest.mark.parametrize("space", [[(0, 1)] * 5000, {f"p{i}": Float(0, 1) for i in range(500)}])
    def test_repr_is_short_however_large_the_problem(self, space):
        text = repr(quick(lambda x: 1.0, space, 300))
        assert len(text) < 700
        assert "budget" in text
        assert "nfev: 300" in text

    def test_copies(self):
        result = quick()
        assert copy.copy(result).fun == copy.deepcopy(result).fun == result.fun

    def test_all_failed(self):
        def crash(x):
            raise RuntimeError("mesh generation failed")

        result = quick(crash)
        assert not result.success
        assert result.x is None
        assert math.isnan(result.fun)
        assert (result.nfev, result.status) == (20, "budget")
        assert "All 20 evaluations failed; the first error was: RuntimeError: mesh generation failed" in result.message
        assert np.isnan(result.history).all()
        assert "None" in repr(result)

    def test_some_failed(self):
        values = iter([1.0, math.nan, 0.5, FAILED])
        result = quick(lambda x: next(values), budget=4)
        assert result.success
        assert result.message.endswith("2 of 4 evaluations failed.")


class TestObjectives:
    @pytest.mark.parametrize("dim", [1, 2, 3])
    @pytest.mark.parametrize("budget", [1, 2, 15])
    def test_exactly_the_budget(self, dim, budget):
        calls = []
        result = quick(lambda x: calls.append(x) or sphere(x), [(-1, 1)] * dim, budget)
        assert len(calls) == result.nfev == budget
        assert all(x.shape == (dim,) for x in calls)
        np.testing.assert_array_equal(calls, [trial.x for trial in result.trials])

    @pytest.mark.parametrize("value", [0.0, 1e300, -1e300, 1e-300, 1.7e308, np.array([2.0]), np.float32(1), 3])
    def test_constant_objectives(self, value):
        result = quick(lambda x: value)
        assert result.success
        assert result.fun == float(np.asarray(value).item())

    @pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, FAILED, None, "1", 1j, np.zeros(2), (1.0, [2.0])])
    def test_what_is_not_a_finite_number_is_a_failure(self, value):
        result = quick(lambda x: value, budget=3)
        assert not result.success
        assert all(trial.failed and trial.error for trial in result.trials)

    def test_reasons_are_clear(self):
        assert "got NoneType None" in quick(lambda x: None, budget=1).message
        assert "got an array of shape (2,)" in quick(lambda x: np.zeros(2), budget=1).message

    @pytest.mark.parametrize(
        "error", [ValueError("bad"), SystemExit(3), MemoryError(), StopIteration(), RecursionError()]
    )
    def test_exceptions_are_failures(self, error):
        def fun(x):
            if x[1] > 0.5:
                raise error
            return sphere(x)

        result = quick(fun)
        failed = [trial for trial in result.trials if trial.failed]
        assert result.success
        assert 0 < len(failed) < 20
        assert all(trial.x[1] > 0.5 for trial in failed)
        assert all(trial.error.startswith(type(error).__name__) for trial in failed)

    def test_objective_may_work_in_place(self):
        def fun(x):
            x *= 0.0
            return 1.0

        result = quick(fun)
        assert result.success
        assert np.any(result.x != 0.0)

    def test_named_space(self):
        result = quick(lambda p: p["a"] + p["b"].sum(), {"a": Float(0, 1), "b": Float([0, 0], [1, 2])})
        assert set(result.x) == {"a", "b"}
        assert result.fun == result.x["a"] + result.x["b"].sum()

    def test_scipy_bounds(self):
        assert quick(space=Bounds([-5, 0], [10, 1])).fun == quick().fun

    def test_same_seed_same_trace(self):
        np.testing.assert_array_equal(units(quick()), units(quick()))
        assert not np.array_equal(units(quick()), units(quick(seed=2)))
        first = quick(seed=None)
        np.testing.assert_array_equal(units(first), units(quick(seed=first.seed)))


class TestVectorized:
    @pytest.mark.parametrize("method", ["random", SMALL_BOIDS, Wanderer()], ids=lambda m: getattr(m, "name", m))
    def test_law_same_trace_as_one_by_one(self, method):
        scalar = quick(lambda x: rows(x[None])[0], method=method)
        matrix = quick(rows, method=method, vectorized=True)
        np.testing.assert_array_equal(units(scalar), units(matrix))
        np.testing.assert_array_equal(scalar.history, matrix.history)

    def test_design_comes_as_one_matrix(self):
        shapes = []
        quick(lambda X: shapes.append(X.shape) or rows(X), method=Wanderer(), vectorized=True, budget=6)
        assert shapes == [(3, 2), (1, 2), (1, 2), (1, 2)]
        shapes.clear()
        quick(lambda X: shapes.append(X.shape) or rows(X), method=Wanderer(), vectorized=True, budget=9, n_workers=4)
        assert shapes == [(4, 2), (4, 2), (1, 2)]
        shapes.clear()
        quick(lambda X: shapes.append(X.shape) or rows(X), vectorized=True, budget=7)
        assert shapes == [(7, 2)]

    def test_named_spaces_give_columns(self):
        def fun(columns):
            assert columns["a"].shape == (5,)
            assert columns["b"].shape == (5, 2)
            return columns["a"] + columns["b"].sum(axis=1)

        result = quick(fun, {"a": Float(0, 1), "b": Float([0, 0], [1, 2])}, 5, vectorized=True)
        assert result.fun == result.x["a"] + result.x["b"].sum()

    @pytest.mark.parametrize(
        "wrong",
        [lambda X: rows(X)[:-1], lambda X: np.append(rows(X), 1.0), lambda X: 1.0, lambda X: None, lambda X: "12345",
         lambda X: dict.fromkeys(range(5)), lambda X: rows(X)[None, :], lambda X: []],
    )  # fmt: skip
    def test_wrong_number_of_values_fails_all_rows(self, wrong):
        result = quick(wrong, budget=5, vectorized=True)
        assert result.nfev == 5
        assert all("one value per row, 5 here, got" in trial.error for trial in result.trials)

    def test_single_rows_fail_alone(self):
        result = quick(lambda X: [1.0, None, math.nan, FAILED, np.array([0.5])], budget=5, vectorized=True)
        assert [trial.value for trial in result.trials] == [1.0, None, None, None, 0.5]

    def test_columns_of_values(self):
        np.testing.assert_array_equal(quick(lambda X: rows(X)[:, None], vectorized=True).history, quick().history)

    def test_a_bare_number_will_do_for_one_row(self):
        assert quick(lambda X: rows(X).squeeze(), method=Wanderer(), vectorized=True).success

    def test_an_exception_fails_the_whole_matrix(self):
        result = quick(lambda X: 1 / 0, budget=5, vectorized=True)
        assert all(trial.error == "ZeroDivisionError: division by zero" for trial in result.trials)


class TestStopping:
    def test_target(self):
        values = iter([9.0, 5.0, 1.0, 0.0])
        result = quick(lambda x: next(values), target=1.0)
        assert (result.status, result.nfev, result.fun) == ("target", 3, 1.0)

    def test_target_on_the_last_evaluation_wins_over_the_budget(self):
        values = iter([9.0, 1.0])
        assert quick(lambda x: next(values), budget=2, target=1.0).status == "target"

    def test_patience(self):
        values = iter([9.0, 5.0, 5.0, math.nan, 7.0, 1.0])
        result = quick(lambda x: next(values), patience=3)
        assert (result.status, result.nfev, result.fun) == ("stagnation", 5, 5.0)

    def test_patience_without_any_success(self):
        assert quick(lambda x: math.nan, patience=4).nfev == 4

    def test_timeout_begins_no_further_evaluation(self):
        ticks = iter(range(100))
        optimizer = Optimizer(BOX, budget=20, method="random", seed=1)
        reason = run(optimizer, sphere, timeout=3, clock=lambda: next(ticks))
        assert reason is StopReason.TIMEOUT
        assert optimizer.n_told == 2  # the clock is read at the start and before each evaluation

    def test_callback_sees_every_finished_trial(self):
        seen = []

        def callback(optimizer, trial):
            assert optimizer.trials[trial.id] == trial
            assert optimizer.n_told == trial.id + 1
            seen.append(trial.id)

        assert quick(callback=callback).status == "budget"
        assert seen == list(range(20))

    def test_callback_sees_the_rest_of_a_batch_also_after_it_said_stop(self):
        seen = []

        def callback(optimizer, trial):
            seen.append(trial.id)
            return trial.id == 1

        optimizer = Optimizer(BOX, budget=12, method="random", seed=1)
        assert run(optimizer, rows, vectorized=True, batch=4, callback=callback) is StopReason.CALLBACK
        assert seen == [0, 1, 2, 3]

    @pytest.mark.parametrize(("batch", "sizes"), [(1, [100, 30]), (4, [4] * 32 + [2]), (130, [130])])
    def test_matrices_have_the_rows_asked_for_or_those_that_need_not_wait(self, batch, sizes):
        seen = []

        def fun(x):
            seen.append(len(x))
            return rows(x)

        run(Optimizer(BOX, budget=130, method="random", seed=1), fun, vectorized=True, batch=batch)
        assert seen == sizes

    @pytest.mark.parametrize("answer", [True, np.True_])
    def test_callback_stops_by_returning_true(self, answer):
        result = quick(callback=lambda optimizer, trial: answer if trial.id == 4 else None)
        assert (result.status, result.nfev) == ("callback", 5)

    @pytest.mark.parametrize("answer", [False, None, 1, "stop", np.zeros(3)])
    def test_only_true_stops(self, answer):
        assert quick(callback=lambda optimizer, trial: answer).status == "budget"

    def test_callback_stops_by_stop_iteration(self):
        def callback(optimizer, trial):
            raise StopIteration

        assert quick(callback=callback).nfev == 1

    @pytest.mark.parametrize("vectorized", [False, True])
    def test_errors_of_the_callback_come_through_after_everything_is_told(self, vectorized):
        optimizer = Optimizer(BOX, budget=6, method=Wanderer(), seed=1)

        def callback(optimizer, trial):
            raise KeyError("typo")

        with pytest.raises(KeyError, match="typo"):
            run(optimizer, rows if vectorized else sphere, vectorized=vectorized, callback=callback)
        assert optimizer.n_told == optimizer.n_asked == (3 if vectorized else 1)

    def test_interrupt_keeps_what_was_found(self):
        def fun(x):
            fun.calls += 1
            if fun.calls == 4:
                raise KeyboardInterrupt
            return sphere(x)

        fun.calls = 0
        result = quick(fun)
        assert (result.status, result.nfev, result.success) == ("interrupted", 3, True)
        assert [trial.state for trial in result.trials] == ["done"] * 3 + ["pending"]
        assert len(result.history) == 3

    def test_interrupt_before_anything_is_finished(self):
        def fun(x):
            raise KeyboardInterrupt

        result = quick(fun)
        assert (result.success, result.x, result.nfev) == (False, None, 0)
        assert "No evaluation was finished" in result.message
        assert result.history.shape == (0,)

    @pytest.mark.parametrize("vectorized", [False, True])
    def test_an_interrupted_run_goes_on_as_if_nothing_had_happened(self, vectorized):
        objective = rows if vectorized else sphere
        whole = Optimizer(BOX, budget=12, method=Wanderer(), seed=1)
        run(whole, objective, vectorized=vectorized)
        broken = Optimizer(BOX, budget=12, method=Wanderer(), seed=1)
        calls = iter(range(100))

        def fun(x):
            if next(calls) in (0, 2, 5):
                raise KeyboardInterrupt
            return objective(x)

        reasons = [run(broken, fun, vectorized=vectorized) for _ in range(4)]
        assert reasons == ["interrupted"] * 3 + ["budget"]
        assert broken.n_told == 12
        assert [t.value for t in broken.trials] == [t.value for t in whole.trials]

    @given(st.lists(st.floats() | st.none(), min_size=1, max_size=12), st.integers(1, 6), st.floats(-2, 2))
    @settings(deadline=None, max_examples=60)
    def test_stopping_rules_against_a_plain_loop(self, values, patience, target):
        best, stale, expected, status = math.inf, 0, 0, "budget"
        for value in values:
            expected += 1
            improved = value is not None and math.isfinite(value) and value < best
            best, stale = (value, 0) if improved else (best, stale + 1)
            if best <= target:
                status = "target"
                break
            if expected < len(values) and stale >= patience:
                status = "stagnation"
                break
        supply = iter(values)
        result = quick(lambda x: next(supply), budget=len(values), patience=patience, target=target)
        assert (result.nfev, result.status) == (expected, status)

    def test_every_reason_has_a_sentence(self):
        assert all(reason.sentence.endswith(".") for reason in StopReason)


class TestArguments:
    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"fun": 3}, "fun must be callable, got 3"),
            ({"fun": None}, "fun must be callable"),
            ({"budget": 0}, "budget must be"),
            ({"budget": 10.0}, "budget must be"),
            ({"n_workers": 0}, "n_workers must be an integer of at least 1"),
            ({"timeout": 0}, "timeout must be a positive"),
            ({"timeout": "1h"}, "timeout must be a number"),
            ({"timeout": math.nan}, "timeout must be a number"),
            ({"target": "low"}, "target must be a number"),
            ({"target": math.nan}, "target must be a number"),
            ({"patience": 0}, "patience must be an integer of at least 1"),
            ({"patience": 1.5}, "patience must be"),
            ({"callback": 3}, "callback must be callable"),
            ({"seed": -1}, "seed must be"),
            ({"method": "nosuch"}, "no method 'nosuch'"),
            ({"space": [(1, 0)]}, r"bounds\[0\]"),
        ],
    )
    def test_wrong_ones(self, options, message):
        calls = []
        arguments = {"fun": lambda x: calls.append(x), "space": BOX, "budget": 5, "method": "random", **options}
        with pytest.raises(ValueError, match=message):
            minimize(**arguments)
        assert not calls

    def test_bad_bounds_are_space_errors(self):
        with pytest.raises(SpaceError):
            quick(space=[(0, np.inf)])


class TestProgress:
    def test_wiring(self, monkeypatch):
        log = []

        class Progress:
            def __enter__(self):
                log.append("open")
                return self

            def __exit__(self, *_):
                log.append("close")

            def update(self, optimizer, trial):
                log.append((optimizer.n_told, trial.id))

        monkeypatch.setitem(sys.modules, "boids.progress", types.SimpleNamespace(Progress=Progress))
        seen = []
        quick(budget=3, progress=True, callback=lambda optimizer, trial: seen.append(trial.id))
        assert log == ["open", (1, 0), (2, 1), (3, 2), "close"]
        assert seen == [0, 1, 2]
        log.clear()
        assert quick(progress=True, callback=lambda optimizer, trial: True).status == "callback"
        assert log == ["open", (1, 0), "close"]

    def test_without_it_rich_is_not_imported(self):
        code = (
            "import boids, sys; boids.minimize(lambda x: x[0], [(0, 1)], 2, method='random'); "
            "sys.exit('rich' in sys.modules)"
        )
        assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize("name", ["space.space", "optimizer", "scipy_style"])
def test_examples_in_docstrings(name):
    failed, attempted = doctest.testmod(importlib.import_module(f"boids.{name}"))
    assert attempted > 0
    assert failed == 0


def test_public_names_are_there():
    for name in boids.__all__:
        assert getattr(boids, name) is not None
    assert boids.minimize is minimize
