"""The ask/tell shell: budget, late and wrong tells, failures, determinism, and what a method gets to see."""

from __future__ import annotations

import json
import math
import re
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from toy_methods import Toy, Wanderer

import boids
from boids import FAILED, BudgetExhausted, Float, MethodError, Optimizer, SpaceError, TellError
from boids.algorithms import RandomSearch

BOX = [(-5.0, 10.0), (0.0, 1.0)]


def make(**changes):
    return Optimizer(**{"space": BOX, "budget": 10, "method": "random", "seed": 1, **changes})


def sphere(x):
    return float(np.sum(np.square(x)))


def run(optimizer, fun=sphere):
    while optimizer.remaining:
        trial = optimizer.ask()
        optimizer.tell(trial, fun(trial.x))
    return optimizer


def trace(optimizer):
    return [(trial.unit.tobytes(), trial.value, trial.state) for trial in optimizer.trials]


class TestConstruction:
    @pytest.mark.parametrize("budget", [0, -1, 10.0, 1.5, "10", None, True, np.nan])
    def test_wrong_budget(self, budget):
        with pytest.raises(ValueError, match="budget must be an integer of at least 1"):
            make(budget=budget)

    @pytest.mark.parametrize("budget", [1, np.int64(7), np.uint8(3)])
    def test_budget_may_be_any_integer(self, budget):
        assert make(budget=budget).budget == int(budget)

    @pytest.mark.parametrize("seed", [-1, 1.0, "1", True])
    def test_wrong_seed(self, seed):
        with pytest.raises(ValueError, match="seed must be None or an integer"):
            make(seed=seed)

    def test_a_drawn_seed_repeats_the_run(self):
        first = run(make(seed=None))
        assert isinstance(first.seed, int)
        assert trace(run(make(seed=first.seed))) == trace(first)
        assert make(seed=None).seed != first.seed

    @pytest.mark.parametrize("seed", [0, 2**200, np.int64(3)])
    def test_any_non_negative_seed(self, seed):
        assert make(seed=seed).seed == int(seed)

    def test_unknown_method_suggests_close_ones(self):
        with pytest.raises(MethodError, match="no method 'Randon'; did you mean 'random'"):
            make(method="Randon")
        with pytest.raises(MethodError, match=r"Methods: .*random"):
            make(method="zzz")

    def test_method_by_instance(self):
        assert make(method=RandomSearch()).method == "random"
        assert trace(run(make(method=RandomSearch()))) == trace(run(make()))

    def test_method_by_class_says_what_to_write(self):
        with pytest.raises(MethodError, match=r"write RandomSearch\(\)"):
            make(method=RandomSearch)

    @pytest.mark.parametrize("method", [None, 3, object()])
    def test_method_of_another_type(self, method):
        with pytest.raises(MethodError, match="a name or an algorithm"):
            make(method=method)

    def test_bad_bounds(self):
        with pytest.raises(SpaceError):
            make(space=[(1, 0)])

    def test_repr(self):
        assert repr(make()) == "<Optimizer random, D=2, told 0/10, best none yet>"


class TestAsk:
    def test_trials_are_numbered_and_pending(self):
        optimizer = make()
        trial = optimizer.ask()
        assert (trial.id, trial.state, trial.value, trial.error, trial.ended) == (0, "pending", None, None, None)
        assert trial.started is not None
        assert trial.x is trial.params
        np.testing.assert_array_equal(optimizer.space.decode(trial.unit), trial.x)
        assert [t.id for t in optimizer.ask(3)] == [1, 2, 3]
        assert optimizer.trials[0] == trial
        assert [t.id for t in optimizer.pending] == [0, 1, 2, 3]

    def test_batch_equals_one_by_one(self):
        one, many = make(), make()
        assert [t.unit.tolist() for t in many.ask(5)] == [one.ask().unit.tolist() for _ in range(5)]

    def test_fewer_near_the_end_then_an_error(self):
        optimizer = make(budget=4)
        assert len(optimizer.ask(3)) == 3
        assert len(optimizer.ask(3)) == 1
        assert optimizer.remaining == 0
        assert optimizer.ready == 0
        for n in (None, 1, 2):
            with pytest.raises(BudgetExhausted, match=r"All 4 evaluations .* 4 of them are not told"):
                optimizer.ask(n)
        assert optimizer.n_asked == 4

    @pytest.mark.parametrize("n", [0, -1, 1.5, "1", True])
    def test_wrong_n(self, n):
        optimizer = make()
        with pytest.raises(ValueError, match="n must be an integer of at least 1"):
            optimizer.ask(n)
        assert optimizer.n_asked == 0

    def test_ready_is_capped_by_the_budget(self):
        assert make(budget=7).ready == 7
        assert make(method=Toy()).ready == 1

    def test_named_spaces_give_dicts(self):
        optimizer = make(space={"rate": Float(0, 1), "w": Float([0, 0], [1, 2])})
        trial = optimizer.ask()
        assert isinstance(trial.x, dict)
        assert isinstance(trial.x["rate"], float)
        assert trial.x["w"].shape == (2,)
        assert optimizer.space.dim == 3

    def test_records_cannot_be_written_to(self):
        optimizer = make(space={"w": Float([0, 0], [1, 2])})
        trial = optimizer.ask()
        for array in (trial.unit, trial.params["w"]):
            with pytest.raises(ValueError, match="read-only"):
                array[0] = 7.0

    def test_a_method_that_raises_changes_nothing(self):
        def on_ask(state, history, pending, rng):
            if state.count == 3:
                raise RuntimeError("numerics")
            return rng.uniform(-1, 1, 2)

        optimizer, twin = make(method=Toy(on_ask)), make(method=Toy(on_ask))
        optimizer.ask(2)
        twin.ask(2)
        with pytest.raises(RuntimeError, match="numerics"):
            optimizer.ask(5)
        assert optimizer.n_asked == 2
        assert optimizer.diagnostics["count"] == 2
        assert optimizer.ask().unit.tolist() == twin.ask().unit.tolist()

    def test_rounding_out_of_the_cube_is_clipped(self):
        optimizer = make(method=Toy(lambda *_: np.array([1 + 1e-12, -1 - 1e-12])))
        trial = optimizer.ask()
        assert trial.unit.tolist() == [1.0, -1.0]
        assert trial.x.tolist() == [10.0, 0.0]

    @pytest.mark.parametrize("unit", [[0.0], [0.0, 0.0, 0.0], [np.nan, 0.0], [np.inf, 0.0], [[0.0, 0.0]]])
    def test_nonsense_from_a_method_is_not_handed_out(self, unit):
        optimizer = make(method=Toy(lambda *_: np.array(unit)))
        with pytest.raises(MethodError, match="mistake in the method"):
            optimizer.ask()
        assert optimizer.n_asked == 0

    def test_a_method_may_reuse_its_array(self):
        buffer = np.zeros(2)

        def on_ask(state, history, pending, rng):
            buffer[:] = rng.uniform(-1, 1, 2)
            return buffer

        first, second = make(method=Toy(on_ask)).ask(2)
        assert first.unit.tolist() != second.unit.tolist()


class TestTell:
    @pytest.mark.parametrize(
        ("value", "expected"),
        [
            (3, 3.0),
            (2.5, 2.5),
            (True, 1.0),
            (np.float32(0.5), 0.5),
            (np.int16(-4), -4.0),
            (np.array(1.5), 1.5),
            (np.array([1.5]), 1.5),
            (np.array([[2]]), 2.0),
            (Fraction(1, 4), 0.25),
            (Decimal("0.5"), 0.5),
            (1e300, 1e300),
            (-1e308, -1e308),
            (1e-300, 1e-300),
            (5e-324, 5e-324),
            (0.0, 0.0),
        ],
    )
    def test_values(self, value, expected):
        optimizer = make()
        done = optimizer.tell(optimizer.ask(), value)
        assert (done.value, done.state, done.error) == (expected, "done", None)
        assert type(done.value) is float
        assert done.ended >= done.started
        assert optimizer.best == optimizer.trials[0] == done

    @pytest.mark.parametrize(
        ("value", "reason"),
        [
            (FAILED, "reported as failed"),
            (math.nan, "nan"),
            (math.inf, "inf"),
            (-math.inf, "-inf"),
            (np.array([np.nan]), "nan"),
            (np.float32("inf"), "inf"),
            (10**400, "inf"),
            (-(10**400), "-inf"),
            (np.ma.masked, "nan"),
        ],
    )
    def test_failures(self, value, reason):
        optimizer = make()
        done = optimizer.tell(optimizer.ask(), value)
        assert done.failed
        assert (done.value, done.state) == (None, "failed")
        assert reason in done.error
        assert optimizer.best is None
        assert (optimizer.n_told, optimizer.n_failed) == (1, 1)

    def test_an_error_without_words_says_where_it_comes_from(self):
        optimizer = make()
        try:
            assert optimizer.n_told
        except AssertionError as error:
            bare = error
            bare.args = ()  # pytest has put words in
        assert re.fullmatch(
            r"AssertionError \(test_optimizer\.py, line \d+\)", optimizer.tell(optimizer.ask(), error=bare).error
        )

    @pytest.mark.parametrize("value", [None, 3.0, math.nan, "ignored"])
    def test_an_error_makes_a_failure_whatever_the_value(self, value):
        optimizer = make()
        first, second, third = optimizer.ask(3)
        assert optimizer.tell(first, value, error="solver diverged").error == "solver diverged"
        assert optimizer.tell(second, value, error=ZeroDivisionError("by zero")).error == "ZeroDivisionError: by zero"
        assert optimizer.tell(third, error=KeyboardInterrupt()).error == "KeyboardInterrupt"
        assert optimizer.n_failed == 3

    @pytest.mark.parametrize(
        "value",
        [None, "1.0", b"1", 1j, np.complex128(1), np.array([1, 2]), np.array([]), [1.0], (1.0, [0.0]), {}, object(),
         np.array(["a"]), np.array([None]), np.datetime64("2020-01-01")],
        ids=lambda value: type(value).__name__,
    )  # fmt: skip
    def test_not_a_number_loses_nothing(self, value):
        optimizer = make()
        trial = optimizer.ask()
        with pytest.raises(TellError, match=r"must be one real number, or boids\.FAILED|n_constraints"):
            optimizer.tell(trial, value)
        assert optimizer.pending == (trial,)
        assert optimizer.tell(trial, 1.0).value == 1.0

    @pytest.mark.parametrize("error", [3, True, ValueError])
    def test_wrong_error(self, error):
        optimizer = make()
        trial = optimizer.ask()
        with pytest.raises(TellError, match="a string or an exception"):
            optimizer.tell(trial, 1.0, error=error)
        assert optimizer.pending == (trial,)

    def test_told_twice(self):
        optimizer = make()
        first, second = optimizer.ask(2)
        optimizer.tell(first, 1.5)
        optimizer.tell(second, FAILED)
        with pytest.raises(TellError, match=r"Trial 0 was already told the value 1\.5"):
            optimizer.tell(first, 2.0)
        with pytest.raises(TellError, match="Trial 1 was already told that it failed"):
            optimizer.tell(1, 2.0)
        assert optimizer.trials[0].value == 1.5

    def test_by_number(self):
        optimizer = make()
        optimizer.ask(3)
        optimizer.tell(np.int64(2), 4.0)
        optimizer.tell(0, 5.0)
        assert [t.value for t in optimizer.trials] == [5.0, None, 4.0]

    @pytest.mark.parametrize("number", [3, -1, 10**30])
    def test_never_asked(self, number):
        optimizer = make()
        optimizer.ask(3)
        with pytest.raises(TellError, match="was never asked for; 3 were"):
            optimizer.tell(number, 1.0)

    @pytest.mark.parametrize("trial", [None, "0", 0.0, [0]])
    def test_not_a_trial(self, trial):
        optimizer = make()
        optimizer.ask()
        with pytest.raises(TellError, match="Expected a trial from ask"):
            optimizer.tell(trial, 1.0)

    def test_trial_of_another_optimizer(self):
        optimizer, other = make(), make(seed=2)
        optimizer.ask()
        with pytest.raises(TellError, match="belongs to another optimizer"):
            optimizer.tell(other.ask(), 1.0)
        assert optimizer.n_told == 0

    def test_tell_errors_are_value_errors_of_boids(self):
        assert issubclass(TellError, ValueError)
        assert issubclass(TellError, boids.BoidsError)

    def test_a_method_that_raises_leaves_the_trial_pending(self):
        switch = {"raise": True}

        def on_tell(state, history, proposal, outcome, rng):
            if switch["raise"]:
                raise RuntimeError("numerics")
            assert history.values.tolist() == [2.0]

        optimizer = make(method=Toy(lambda *_: np.zeros(2), on_tell))
        trial = optimizer.ask()
        with pytest.raises(RuntimeError):
            optimizer.tell(trial, 1.0)
        assert optimizer.pending == (trial,)
        assert optimizer.best is None
        switch["raise"] = False
        assert optimizer.tell(trial, 2.0).value == 2.0

    def test_best_is_the_oldest_of_the_lowest_in_any_order(self):
        optimizer = make()
        optimizer.ask(4)
        for number, value in [(3, 1.0), (1, 1.0), (0, 2.0), (2, 1.0)]:
            optimizer.tell(number, value)
        assert optimizer.best.id == 1

    def test_failures_count_in_the_budget(self):
        optimizer = make(budget=3)
        for _ in range(3):
            optimizer.tell(optimizer.ask(), FAILED)
        with pytest.raises(BudgetExhausted):
            optimizer.ask()
        assert optimizer.best is None


class TestWhatAMethodSees:
    def test_history_in_the_order_of_tells_with_the_newest_last(self):
        seen = []

        def on_tell(state, history, proposal, outcome, rng):
            seen.append((history, proposal, outcome))

        optimizer = make(budget=40, method=Toy(lambda s, h, p, rng: rng.uniform(-1, 1, 2), on_tell))
        trials = optimizer.ask(40)  # more than the ledger's first room
        order = np.random.default_rng(0).permutation(40)
        for number in order:
            optimizer.tell(trials[number], FAILED if number % 7 == 0 else float(number))
        values = np.where(order % 7 == 0, np.nan, order)
        units = np.array([trials[number].unit for number in order])
        for n, (history, proposal, outcome) in enumerate(seen, start=1):
            # Earlier histories must not change when later outcomes come in.
            assert len(history) == n
            np.testing.assert_array_equal(history.values, values[:n])
            np.testing.assert_array_equal(history.units, units[:n])
            np.testing.assert_array_equal(history.units[-1], proposal.unit)
            np.testing.assert_array_equal(history.values[-1], outcome.value)
            assert outcome.failed == np.isnan(outcome.value)
            assert not np.isinf(outcome.value)
            assert history.units.flags.c_contiguous
            assert not history.units.flags.writeable
            assert not history.values.flags.writeable

    def test_pending_is_oldest_first(self):
        seen = []

        def on_ask(state, history, pending, rng):
            seen.append(([p.unit[0] for p in pending], len(history)))
            return np.array([state.count / 10, 0.0])

        optimizer = make(method=Toy(on_ask))
        optimizer.ask(3)
        optimizer.tell(1, 0.0)
        optimizer.ask(2)
        assert seen == [([], 0), ([0.0], 0), ([0.0, 0.1], 0), ([0.0, 0.2], 1), ([0.0, 0.2, 0.3], 1)]

    def test_random_streams_depend_on_seed_purpose_and_number_only(self):
        draws = {}

        def on_ask(state, history, pending, rng):
            draws["ask", state.count] = rng.random()
            return np.zeros(2)

        def on_tell(state, history, proposal, outcome, rng):
            draws["tell", outcome.value] = rng.random()

        def streams(seed, order):
            draws.clear()
            optimizer = make(method=Toy(on_ask, on_tell), seed=seed, budget=4)
            optimizer.ask(2)
            for number in order[:2]:
                optimizer.tell(number, number)
            optimizer.ask(2)
            for number in order[2:]:
                optimizer.tell(number, number)
            return dict(draws)

        first = streams(5, [0, 1, 2, 3])
        assert streams(5, [1, 0, 3, 2]) == first
        assert len(set(first.values())) == 8
        assert not set(first.values()) & set(streams(6, [0, 1, 2, 3]).values())

    def test_documented_key_of_a_stream(self):
        # Part of what a seed means; changing it changes every published run.
        sequence = np.random.SeedSequence(7, spawn_key=(1, 0))
        expected = np.random.default_rng(sequence).uniform(-1, 1, 2)
        assert make(seed=7).ask().unit.tolist() == expected.tolist()


class TestDeterminism:
    @pytest.mark.parametrize("method", ["random", Wanderer()])
    def test_same_seed_same_trace(self, method):
        assert trace(run(make(method=method))) == trace(run(make(method=method)))
        assert trace(run(make(method=method, seed=2))) != trace(run(make(method=method)))

    def test_global_random_state_is_left_alone(self):
        before = np.random.get_state()[1].tobytes()  # noqa: NPY002
        run(make())
        assert np.random.get_state()[1].tobytes() == before  # noqa: NPY002


class TestSurvival:
    @pytest.mark.parametrize("dim", [1, 2, 3])
    @pytest.mark.parametrize("budget", [1, 2, 25])
    @pytest.mark.parametrize(
        "fun",
        [sphere, lambda x: 0.0, lambda x: 1e300, lambda x: 1e-300, lambda x: math.inf, lambda x: -math.inf,
         lambda x: math.nan, lambda x: np.array([sphere(x)]), lambda x: -1.7e308 if x[0] > 0 else 1.7e308],
        ids=["sphere", "constant", "1e300", "1e-300", "inf", "-inf", "nan", "array", "both"],
    )  # fmt: skip
    def test_budget_is_met_whatever_the_objective(self, dim, budget, fun):
        for method in ("random", Wanderer()):
            optimizer = run(make(space=[(-1, 1)] * dim, budget=budget, method=method), fun)
            assert optimizer.n_told == optimizer.n_asked == budget
            assert all(t.state in ("done", "failed") for t in optimizer.trials)


class TestDiagnostics:
    def test_jsonable_and_complete(self):
        optimizer = make(method=Wanderer())
        assert json.loads(json.dumps(optimizer.diagnostics))["best"] is None
        trial = optimizer.ask()
        optimizer.tell(trial, 2.0)
        optimizer.tell(optimizer.ask(), FAILED)
        optimizer.ask()
        facts = json.loads(json.dumps(optimizer.diagnostics))
        expected = {"method": "wanderer", "seed": 1, "dim": 2, "budget": 10, "asked": 3, "told": 2, "failed": 1}
        assert facts.items() >= {**expected, "best": 2.0, "mood": "calm", "temperature": 1.0}.items()
        assert sorted(facts["order"]) == [0, 1]

    def test_times_add_up_by_phase(self):
        optimizer = make(method=Wanderer())
        optimizer.ask(3)
        optimizer.add_time("evaluate", 2)
        optimizer.add_time("evaluate", 0.5)
        times = optimizer.times
        assert list(times)[:5] == ["fit", "select", "optimise", "evaluate", "other"]
        assert times["fit"] == pytest.approx(3e-4)
        assert times["evaluate"] == 2.5
        assert times["other"] >= 0.0
        times["fit"] = 99.0
        assert optimizer.times["fit"] != 99.0
