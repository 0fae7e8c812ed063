"""boids as a method of `scipy.optimize.minimize`."""

import numpy as np
import pytest
import scipy.optimize
from scipy.optimize import Bounds, LinearConstraint, NonlinearConstraint, OptimizeResult

import boids

DIM = 6
BOX = [(-2.0, 2.0)] * DIM
START = np.full(DIM, 1.5)


def bowl(x, centre=0.3):
    return float(((x - centre) ** 2).sum())


def solve(fun=bowl, x0=START, bounds=BOX, *, budget=24, seed=0, method="random", args=(), **arguments):
    options = {"budget": budget, "seed": seed, "method": method} | arguments.pop("options", {})
    return scipy.optimize.minimize(
        fun, x0, args=args, method=boids.scipy_method, bounds=bounds, options=options, **arguments
    )


def test_it_is_the_same_as_minimize():
    result = solve(method="boids")
    native = boids.minimize(bowl, BOX, 24, seed=0, x0=START)
    assert isinstance(result, OptimizeResult)
    assert result.fun == native.fun
    np.testing.assert_array_equal(result.x, native.x)
    assert result.nfev == 24
    assert result.success


def test_it_begins_at_x0():
    assert solve().trials[0].x.tolist() == START.tolist()
    assert solve(x0=[1] * DIM).trials[0].x.tolist() == [1.0] * DIM


def test_without_a_budget_it_plans_by_the_number_of_parameters():
    calls = []

    def counted(x):
        calls.append(x)
        return bowl(x)

    for dim in (2, 30, 400):
        calls.clear()
        options = {"method": "random"}
        scipy.optimize.minimize(
            counted, [0.0] * dim, method=boids.scipy_method, bounds=[(-1, 1)] * dim, options=options
        )
        assert len(calls) == {2: 100, 30: 300, 400: 1000}[dim]


@pytest.mark.parametrize("bounds", [Bounds(-2, 2), Bounds([-2] * DIM, [2] * DIM), np.array(BOX), tuple(BOX)])
def test_every_way_to_write_bounds(bounds):
    assert solve(bounds=bounds).fun == solve().fun


def test_arguments_go_to_the_function():
    assert solve(args=(-0.5,)).fun == bowl(solve(args=(-0.5,)).x, -0.5)
    assert solve(args=-0.5).fun == solve(args=(-0.5,)).fun


def test_the_function_may_write_into_its_argument():
    def vandal(x):
        x -= 0.3
        return float(x @ x)

    assert solve(vandal).fun == solve().fun


def test_several_workers():
    assert solve(options={"n_workers": 2}).fun == solve().fun


def test_linear_constraints_hold_at_every_point():
    total = LinearConstraint(np.ones(DIM), -np.inf, 0.5)
    result = solve(x0=np.zeros(DIM), constraints=total)
    assert all(trial.x.sum() <= 0.5 for trial in result.trials)
    assert result.constraints is None


@pytest.mark.parametrize(
    "constraints",
    [
        NonlinearConstraint(lambda x: [x[0] + x[1], x[2]], [0.5, -np.inf], [1.0, 0.0]),
        [
            NonlinearConstraint(lambda x: x[0] + x[1], 0.5, np.inf),
            NonlinearConstraint(lambda x: np.array([x[0] + x[1]]), -np.inf, 1.0),
            {"type": "ineq", "fun": lambda x, limit: limit - x[2], "args": (0.0,)},
        ],
    ],
    ids=["one", "several"],
)
def test_nonlinear_constraints_are_black_box_constraints(constraints):
    result = solve(constraints=constraints, method="boids", budget=30)
    assert result.feasible
    assert 0.5 <= result.x[0] + result.x[1] <= 1.0
    assert result.x[2] <= 0.0
    for trial in result.trials:
        pair = trial.x[0] + trial.x[1]
        assert sorted(trial.constraints) == pytest.approx(sorted([0.5 - pair, pair - 1.0, trial.x[2]]))


def test_a_constraint_without_limits_is_none():
    endless = NonlinearConstraint(lambda x: x[0], -np.inf, np.inf)
    assert solve(constraints=endless).constraints is None


def test_failures_are_failures():
    def fragile(x):
        if x[0] > 0:
            raise ArithmeticError
        return bowl(x)

    result = solve(fragile)
    assert result.success
    assert result.x[0] <= 0
    assert any(trial.failed for trial in result.trials)


def test_both_kinds_of_callbacks_see_the_best_so_far():
    points, results = [], []
    solve(callback=lambda xk: points.append(bowl(xk)))

    def informed(intermediate_result):
        results.append(intermediate_result)

    final = solve(callback=informed)
    assert points == final.history.tolist()
    assert [each.fun for each in results] == points
    assert [each.nfev for each in results] == list(range(1, 25))


def test_a_callback_stops_the_run():
    calls = []

    def enough(xk):
        calls.append(xk)
        if len(calls) == 5:
            raise StopIteration

    result = solve(callback=enough)
    assert result.nfev == 5
    assert result.status == "callback"


def test_a_target_stops_the_run():
    result = solve(options={"target": 5.0})
    assert result.status == "target"
    assert result.nfev < 24


def test_derivatives_are_not_used():
    with pytest.warns(RuntimeWarning, match=r"does not use derivatives \(jac\)"):
        result = solve(jac=lambda x: 2 * (x - 0.3))
    assert result.fun == solve().fun
    with pytest.warns(RuntimeWarning, match="jac"):  # a function that returns both
        result = solve(lambda x: (bowl(x), 2 * (x - 0.3)), jac=True)
    assert result.fun == solve().fun
    with pytest.warns(RuntimeWarning, match="hess"):
        solve(hess=lambda x: 2 * np.eye(DIM))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"bounds": None}, "searches a box"),
        ({"bounds": [(0, None)] * DIM, "x0": [0.0] * DIM}, r"bounds\[0\] must be two finite numbers"),
        ({"bounds": Bounds(0, np.inf)}, r"bounds\[0\] must be two finite numbers"),
        ({"bounds": BOX[1:]}, "each of 6 parameters"),
        ({"bounds": "wide"}, "list of"),
        ({"x0": [3.0] * DIM}, "x0"),
        ({"options": {"maxiter": 9}}, "no option 'maxiter'; use budget"),
        ({"options": {"sed": 9}}, "no option 'sed'; did you mean 'seed'"),
        ({"tol": 1e-3}, "no option 'tol'; use target"),
        ({"constraints": NonlinearConstraint(np.sum, 1.0, 1.0)}, "nonlinear equation"),
        ({"constraints": {"type": "eq", "fun": np.sum}}, "nonlinear equation"),
        ({"constraints": {"type": "odd", "fun": np.sum}}, "must be a LinearConstraint"),
        ({"constraints": [7]}, r"constraints\[0\] must be a LinearConstraint"),
        ({"constraints": 7}, "constraints must be a LinearConstraint"),
        ({"constraints": NonlinearConstraint(np.sin, [0.0] * 2, [1.0] * 3)}, "2 lower and 3 upper"),
    ],
)
def test_what_is_wrong_is_said_in_a_sentence(arguments, words):
    with pytest.raises(ValueError, match=words) as caught:
        solve(**arguments)
    assert "\n" not in str(caught.value)
