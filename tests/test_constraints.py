"""Black-box constraints through the shell: what is best, what methods see, what people read."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from toy_methods import Toy

from boids import FAILED, Int, Measurement, Optimizer, Space, TellError, drive, minimize
from boids.algorithms import Boids
from boids.blocks import merit
from boids.blocks.nsga2 import NSGA2
from boids.result import Result

BOX = [(-1, 1)] * 6
QUICK = Boids(
    n_init=6,
    particles=5,
    search=NSGA2(population=16, offspring=16, generations=5),
    bandit_candidates=100,
    max_candidates=50,
    path_features=64,
    failure_tolerance="released",
)


def objective(x):
    """A bowl whose minimum is cut off by the first of two constraints."""
    return float(np.sum((x - 0.4) ** 2)), [float(x[0] + x[1]), float(x[2] - 0.9)]


def trace(result):
    return [(trial.unit.tobytes(), trial.value, trial.constraints) for trial in result.trials]


def toy(seen=None):
    """Random points; remembers the histories and outcomes that the method was told."""
    return Toy(
        on_ask=lambda state, history, pending, rng: rng.uniform(-1, 1, history.domain.dim),
        on_tell=lambda state, history, proposal, outcome, rng: (
            None if seen is None else seen.append((history, outcome))
        ),
    )


def filled(outcomes, count, **options):
    """An optimizer that was told these (value, constraints) pairs; None: failed."""
    optimizer = Optimizer(BOX, budget=len(outcomes), method="random", seed=0, n_constraints=count, **options)
    for outcome in outcomes:
        trial = optimizer.ask()
        if outcome is None:
            optimizer.tell(trial, FAILED)
        else:
            optimizer.tell(trial, outcome[0], constraints=outcome[1])
    return optimizer


# --- what is best -------------------------------------------------------------------------------------------------

whole = st.integers(-3, 3).map(float)


@given(st.lists(st.one_of(st.none(), st.tuples(whole, st.tuples(whole, whole))), min_size=1, max_size=12))
def test_best_is_the_best_feasible_trial_or_the_least_infeasible_one(outcomes):
    optimizer = filled(outcomes, 2)
    done = [(sum(max(0.0, c) for c in o[1]), o[0], i) for i, o in enumerate(outcomes) if o is not None]
    if not done:
        assert optimizer.best is None
        return
    feasible = [each for each in done if each[0] == 0.0]
    # The lowest value among the feasible, the oldest of equals; or the smallest violation, then the lowest value.
    expected = min(feasible, key=lambda each: each[1:]) if feasible else min(done)
    assert optimizer.best.id == expected[2]
    assert optimizer.estimate == expected[1]
    assert optimizer.best.feasible == bool(feasible)
    assert optimizer.best.violation == expected[0]
    result = Result.of(optimizer, drive.StopReason.BUDGET)
    assert result.success == result.feasible == bool(feasible)
    np.testing.assert_array_equal(result.constraints, outcomes[expected[2]][1])
    running, history = math.inf, []
    for outcome in outcomes:
        if outcome is not None and max(outcome[1]) <= 0.0:
            running = min(running, outcome[0])
        history.append(running if running < math.inf else math.nan)
    np.testing.assert_array_equal(result.history, history)
    assert optimizer.diagnostics["feasible"] == bool(feasible)


@given(st.permutations(range(6)))
def test_best_does_not_depend_on_the_order_of_the_outcomes(order):
    outcomes = [(3.0, [1.0]), (1.0, [2.0]), (5.0, [-1.0]), (4.0, [0.0]), (4.0, [-1.0]), (0.0, [0.5])]
    optimizer = Optimizer(BOX, budget=6, method="random", seed=0, n_constraints=1)
    optimizer.ask(6)
    for number in order:
        optimizer.tell(number, outcomes[number][0], constraints=outcomes[number][1])
    assert optimizer.best.id == 3


def test_trials_without_an_outcome_are_neither_feasible_nor_infeasible():
    optimizer = Optimizer(BOX, budget=3, method="random", seed=0, n_constraints=1)
    pending, failed = optimizer.ask(2)
    failed = optimizer.tell(failed, FAILED)
    for trial in (pending, failed):
        assert trial.feasible is None
        assert math.isnan(trial.violation)
    assert failed.constraints is None
    unconstrained = Optimizer(BOX, budget=1, method="random", seed=0)
    done = unconstrained.tell(unconstrained.ask(), 1.0)
    assert done.feasible is True
    assert done.constraints is None


# --- ways to say it ---------------------------------------------------------------------------------------------

FORMS = {
    "pair": lambda v, c: (v, c),
    "tuple": lambda v, c: (v, tuple(c)),
    "array": lambda v, c: (np.float32(v), np.array(c)),
    "column": lambda v, c: (np.array([v]), np.array(c).reshape(-1, 1)),
    "measurement": lambda v, c: Measurement(v, c),
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_ways_to_return_value_and_constraints(form):
    result = minimize(lambda x: form(0.5, [1.0, -2.0]), BOX, 3, method="random", seed=0, n_constraints=2)
    assert [(trial.value, trial.constraints) for trial in result.trials] == [(0.5, (1.0, -2.0))] * 3
    optimizer = Optimizer(BOX, budget=1, method="random", seed=0, n_constraints=2)
    assert optimizer.tell(optimizer.ask(), form(0.5, [1.0, -2.0])).constraints == (1.0, -2.0)


def test_one_constraint_needs_no_list():
    result = minimize(lambda x: (1.0, -0.5), BOX, 2, method="random", seed=0, n_constraints=1)
    assert result.trials[0].constraints == (-0.5,)


def test_what_is_told_by_keyword_comes_before_what_the_value_carries():
    optimizer = Optimizer(BOX, budget=1, method="random", seed=0, n_constraints=1)
    done = optimizer.tell(optimizer.ask(), Measurement(2.0, [5.0], noise_variance=0.5), constraints=[-1.0])
    assert done.constraints == (-1.0,)
    assert done.noise_variance == 0.5


VECTORISED = {
    "matrix": lambda x: (np.sum(x**2, axis=1), np.stack([x[:, 0], -x[:, 1]], axis=1)),
    "pairs": lambda x: [(float(np.sum(row**2)), [row[0], -row[1]]) for row in x],
    "lists": lambda x: (np.sum(x**2, axis=1).tolist(), np.stack([x[:, 0], -x[:, 1]], axis=1).tolist()),
    "measurements": lambda x: [Measurement(float(np.sum(row**2)), [row[0], -row[1]]) for row in x],
}


@pytest.mark.parametrize("form", VECTORISED.values(), ids=VECTORISED)
@pytest.mark.parametrize("rows", [1, 2, 3])
def test_vectorised_objectives_with_constraints(form, rows):
    result = minimize(
        form, BOX, 7, method="random", seed=1, n_constraints=2, vectorized=True, n_workers=rows, callback=None
    )
    assert result.nfev == 7
    for trial in result.trials:
        assert not trial.failed, trial.error
        assert trial.value == pytest.approx(float(trial.x @ trial.x), rel=1e-12)
        assert trial.constraints == pytest.approx((trial.x[0], -trial.x[1]))


def test_a_vectorised_row_may_fail_alone():
    def fun(x):
        values, constraints = np.sum(x**2, axis=1), x[:, :1].copy()
        values[0], constraints[1, 0] = np.nan, np.inf
        return values, constraints

    result = minimize(fun, BOX, 4, method="random", seed=0, n_constraints=1, vectorized=True, n_workers=4)
    assert [trial.failed for trial in result.trials] == [True, True, False, False]
    assert "Constraint 1 of 1 is inf" in result.trials[1].error


def test_vectorised_constraints_of_a_wrong_shape_fail_with_the_reason():
    result = minimize(
        lambda x: (np.zeros(len(x)), np.zeros((len(x), 3))),
        BOX,
        4,
        method="random",
        seed=0,
        n_constraints=2,
        vectorized=True,
        n_workers=2,
    )
    assert not result.success
    assert "2 constraints, but 3 came" in result.message


# --- what cannot be read ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("told", "message"),
    [
        ({"value": 1.0}, "2 constraints, but no values"),
        ({"value": 1.0, "constraints": [1.0]}, "2 constraints, but 1 came"),
        ({"value": 1.0, "constraints": []}, "2 constraints, but 0 came"),
        ({"value": 1.0, "constraints": [1.0, 2.0, 3.0]}, "2 constraints, but 3 came"),
        ({"value": (1.0, [1.0])}, "2 constraints, but 1 came"),
        ({"value": 1.0, "constraints": "ab"}, "list of 2 numbers, got str"),
        ({"value": 1.0, "constraints": {"a": 1.0, "b": 2.0}}, "list of 2 numbers, got dict"),
        ({"value": 1.0, "constraints": {1.0, 2.0}}, "list of 2 numbers, got set"),
        ({"value": 1.0, "constraints": [[1.0], [2.0, 3.0]]}, "Constraint 1 must be one real number"),
        ({"value": 1.0, "constraints": [1.0, "x"]}, "number"),
        ({"value": 1.0, "constraints": [None, 1.0]}, "number"),
        ({"value": 1.0, "constraints": [1.0, 1j]}, "number"),
        ({"value": "x", "constraints": [1.0, 2.0]}, "number"),
        ({"value": (1.0, [1.0, 2.0], 3.0)}, "number"),
        ({"value": 1.0, "constraints": [1.0, 1.0], "noise_variance": -1.0}, "noise variance"),
    ],
)
def test_tell_errors_change_nothing(told, message):
    seen = []
    optimizer = Optimizer(BOX, budget=2, method=toy(seen), seed=0, n_constraints=2)
    trial = optimizer.ask()
    with pytest.raises(TellError, match=message) as caught:
        optimizer.tell(trial, **told)
    assert isinstance(caught.value, ValueError)
    assert optimizer.pending == (trial,)
    assert optimizer.n_told == 0
    assert seen == []
    assert optimizer.tell(trial, 1.0, constraints=[0.0, 0.0]).feasible


def test_constraints_that_nobody_announced():
    optimizer = Optimizer(BOX, budget=2, method="random", seed=0)
    with pytest.raises(TellError, match="say so with n_constraints"):
        optimizer.tell(optimizer.ask(), 1.0, constraints=[1.0])


def test_a_failure_needs_no_constraints():
    optimizer = Optimizer(BOX, budget=4, method="random", seed=0, n_constraints=2)
    for value, error in ((math.nan, None), (FAILED, None), (math.inf, None), (1.0, "lost")):
        done = optimizer.tell(optimizer.ask(), value, error=error)
        assert done.failed
        assert done.constraints is None
    assert optimizer.best is None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_constraints": -1}, "n_constraints must be an integer from 0 to 10000, got -1"),
        ({"n_constraints": 1.0}, "n_constraints"),
        ({"n_constraints": True}, "n_constraints"),
        ({"penalty": 1.0}, "there are none; say how many with n_constraints"),
        ({"penalty": 0.0, "n_constraints": 1}, "penalty must be a positive number, got 0.0"),
        ({"penalty": math.inf, "n_constraints": 1}, "penalty"),
        ({"penalty": math.nan, "n_constraints": 1}, "penalty"),
        ({"penalty": "big", "n_constraints": 1}, "penalty"),
        ({"penalty": True, "n_constraints": 1}, "penalty"),
    ],
)
def test_wrong_options(options, message):
    with pytest.raises(ValueError, match=message):
        Optimizer(BOX, budget=2, method="random", **options)
    with pytest.raises(ValueError, match=message):
        minimize(objective, BOX, 2, method="random", **options)


# --- what methods see ---------------------------------------------------------------------------------------------


def test_a_method_without_a_constraint_model_sees_feasibility_first():
    seen, chance = [], np.random.default_rng(0)
    optimizer = Optimizer(BOX, budget=15, method=toy(seen), seed=0, n_constraints=2)
    values, constraints = [], []
    while optimizer.remaining:
        trial = optimizer.ask()
        failed = trial.id % 5 == 4
        values.append(math.nan if failed else float(chance.normal()))
        constraints.append([math.nan] * 2 if failed else chance.normal(size=2).tolist())
        optimizer.tell(trial, values[-1], constraints=constraints[-1])
    for n, (history, outcome) in enumerate(seen, start=1):
        merits = merit.feasibility_first(np.array(values[:n]), np.array(constraints[:n]))
        np.testing.assert_array_equal(history.values, merits)
        assert history.constraints is None
        assert history.domain.n_constraints == 0
        np.testing.assert_array_equal([outcome.value], merits[-1:])
        assert outcome.failed == math.isnan(values[n - 1])
    # The record has what was told.
    assert [trial.value for trial in optimizer.trials] == [None if math.isnan(v) else v for v in values]


def test_a_method_with_a_constraint_model_sees_everything():
    class Modeller(Toy):
        models_constraints = True

    seen = []
    plug = toy(seen)
    method = Modeller(plug.on_ask, plug.on_tell)
    optimizer = Optimizer(BOX, budget=3, method=method, seed=0, n_constraints=2)
    optimizer.tell(optimizer.ask(), 1.0, constraints=[1.0, 2.0])
    optimizer.tell(optimizer.ask(), FAILED)
    history, _ = seen[-1]
    assert history.domain.n_constraints == 2
    np.testing.assert_array_equal(history.values, [1.0, math.nan])
    np.testing.assert_array_equal(history.constraints, [[1.0, 2.0], [math.nan, math.nan]])
    with pytest.raises(ValueError, match="read-only"):
        history.constraints[0, 0] = 5.0


def test_with_a_penalty_every_method_sees_one_number():
    for models in (False, True):
        method_type = type("Any", (Toy,), {"models_constraints": models})
        seen = []
        plug = toy(seen)
        optimizer = Optimizer(
            BOX, budget=2, method=method_type(plug.on_ask, plug.on_tell), seed=0, n_constraints=2, penalty=10.0
        )
        done = optimizer.tell(optimizer.ask(), 1.0, constraints=[0.5, -2.0])
        history, outcome = seen[0]
        assert outcome.value == history.values[0] == 6.0
        assert history.constraints is None
        assert history.domain.n_constraints == 0
        assert done.value == 1.0
        assert done.constraints == (0.5, -2.0)


@pytest.mark.parametrize("method", [QUICK, "random"])
@pytest.mark.parametrize("crashing", [False, True])
def test_the_penalty_form_is_the_wrapped_objective_bit_for_bit(method, crashing):
    def constrained(x):
        if crashing and x[3] > 0.5:
            raise RuntimeError("crash")
        return objective(x)

    def wrapped(x):
        value, constraints = constrained(x)
        return value + 10.0 * np.maximum(constraints, 0.0).sum()

    ours = minimize(constrained, BOX, 30, method=method, seed=4, n_constraints=2, penalty=10.0)
    theirs = minimize(wrapped, BOX, 30, method=method, seed=4)
    assert [t.unit.tobytes() for t in ours.trials] == [t.unit.tobytes() for t in theirs.trials]
    merits = [math.nan if t.failed else t.value + 10.0 * np.maximum(t.constraints, 0).sum() for t in ours.trials]
    np.testing.assert_array_equal(merits, [math.nan if t.failed else t.value for t in theirs.trials])
    # What is best is still decided by feasibility, not by the penalty.
    assert ours.feasible
    assert ours.fun == min(t.value for t in ours.trials if t.feasible)


def test_modelled_constraints_change_what_is_proposed():
    modelled = minimize(objective, BOX, 20, method=QUICK, seed=4, n_constraints=2)
    penalised = minimize(objective, BOX, 20, method=QUICK, seed=4, n_constraints=2, penalty=10.0)
    assert trace(modelled)[:6] == trace(penalised)[:6]
    assert trace(modelled) != trace(penalised)


def test_the_same_seed_gives_the_same_trace():
    first, second = (minimize(objective, BOX, 20, method=QUICK, seed=4, n_constraints=2) for _ in range(2))
    assert trace(first) == trace(second)


# --- what people read ---------------------------------------------------------------------------------------------


def test_messages():
    feasible = minimize(objective, BOX, 20, method="random", seed=0, n_constraints=2)
    assert feasible.message == "All evaluations of the budget were made."
    assert "feasible: True" in repr(feasible)
    infeasible = minimize(lambda x: (1.0, [0.25, 1.0, -1.0]), BOX, 5, method="random", seed=0, n_constraints=3)
    assert infeasible.success is False
    assert infeasible.feasible is False
    assert infeasible.fun == 1.0
    assert infeasible.x is not None
    assert np.isnan(infeasible.history).all()
    assert (
        "No feasible point was found; the least infeasible one violates 2 of 3 constraints, by 1.25 in all."
        in infeasible.message
    )
    assert "feasible: False" in repr(infeasible)
    unconstrained = minimize(lambda x: 1.0, BOX, 5, method="random", seed=0)
    assert unconstrained.constraints is None
    assert "feasible" not in repr(unconstrained)


def test_a_target_needs_a_feasible_point():
    def fun(x):
        fun.calls += 1
        return (-5.0, [1.0]) if fun.calls < 4 else (-2.0, [-1.0])

    fun.calls = 0
    result = minimize(fun, BOX, 10, method="random", seed=0, n_constraints=1, target=-1.0)
    assert (result.status, result.nfev, result.fun) == ("target", 4, -2.0)


def test_patience_counts_less_infeasible_points_as_improvements():
    violations = [5.0, 4.0, 3.0, 2.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]

    def fun(x):
        fun.calls += 1
        return 0.0, [violations[fun.calls - 1]]

    fun.calls = 0
    result = minimize(fun, BOX, 10, method="random", seed=0, n_constraints=1, patience=3)
    assert (result.status, result.nfev) == ("stagnation", 8)


def test_properties():
    optimizer = Optimizer(BOX, budget=2, n_constraints=3, penalty=2.5)
    assert (optimizer.n_constraints, optimizer.penalty, optimizer.linear_constraints) == (3, 2.5, None)
    space = Space({"a": Int(0, 3), "b": Int(0, 3)})
    assert Optimizer(space, budget=2, linear_constraints="a <= b").linear_constraints.rows == ("a - b <= 0",)
