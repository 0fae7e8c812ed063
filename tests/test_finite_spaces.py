"""Spaces of finitely many points: each is tried once, then the run ends and says so."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from toy_methods import Toy

from boids import Bool, BudgetExhausted, Categorical, Float, Int, Optimizer, Space, SpaceExhausted, drive, minimize
from boids.algorithms import Boids
from boids.blocks.nsga2 import NSGA2

QUICK = Boids(
    n_init=5,
    particles=4,
    search=NSGA2(population=12, offspring=12, generations=3),
    bandit_candidates=40,
    max_candidates=30,
    path_features=32,
)
METHODS = {"random": "random", "boids": QUICK}
SPACE = Space({"a": Int(0, 2), "act": Categorical(["x", "y", "z"]), "on": Bool()})


def key(trial):
    return tuple(trial.x.values())


def value(x):
    return float(x["a"] + (x["act"] == "y") - x["on"])


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
def test_every_point_once_then_the_end(method):
    result = minimize(value, SPACE, 100, method=method, seed=0)
    assert result.status == "space"
    assert result.nfev == len(result.history) == 18
    assert result.message == "No untried point of the space could be found, so the run ended before its budget."
    assert len({key(trial) for trial in result.trials}) == 18
    assert result.success
    assert result.fun == -1.0


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
@pytest.mark.parametrize(
    ("space", "rules", "count"),
    [
        (SPACE, "a + on <= 1", 9),
        (Space({"a": Int(1, 6), "b": Int(1, 6), "c": Bool()}), ["a + 1 <= b", "a + b <= 6"], 12),
        (Space({"a": Int(0, 4), "b": Int(0, 4)}), "a == b", 5),
        (Space({"a": Int(0, 2), "b": Int(0, 2), "act": Categorical(["x", "y"])}), "a + b == 2", 6),
    ],
)
def test_with_linear_constraints_every_allowed_point_once(method, space, rules, count):
    result = minimize(lambda x: float(x["a"]), space, 80, method=method, seed=2, linear_constraints=rules)
    assert result.status == "space"
    assert result.nfev == len({key(trial) for trial in result.trials}) == count
    assert not result.message.startswith("All evaluations of the budget")


@settings(max_examples=25)
@given(
    st.lists(st.one_of(st.integers(1, 4).map(lambda n: Int(1, n + 1)), st.just(Bool())), min_size=1, max_size=3),
    st.integers(1, 40),
    st.integers(0, 100),
)
def test_as_many_as_there_are_or_as_the_budget_has(parameters, budget, seed):
    space = Space({f"p{i}": parameter for i, parameter in enumerate(parameters)})
    optimizer = Optimizer(space, budget=budget, method="random", seed=seed)
    reason = drive.run(optimizer, lambda x: 0.0)
    assert optimizer.n_told == min(budget, space.size)
    assert len({key(trial) for trial in optimizer.trials}) == optimizer.n_told
    assert reason == ("budget" if budget <= space.size else "space")


def test_ask_past_the_end():
    optimizer = Optimizer(SPACE, budget=100, method="random", seed=0)
    assert optimizer.remaining == 18
    trials = optimizer.ask(50)
    assert len(trials) == 18
    assert optimizer.remaining == optimizer.ready == 0
    for _ in range(2):
        with pytest.raises(SpaceExhausted, match="No point is left beside the 18 that have been handed out") as caught:
            optimizer.ask()
        assert isinstance(caught.value, BudgetExhausted)
    for trial in trials:
        optimizer.tell(trial, value(trial.x))
    assert optimizer.n_told == 18
    with pytest.raises(SpaceExhausted):
        optimizer.ask(3)


def test_with_linear_constraints_the_end_is_found_on_the_way():
    """How many points are allowed is not known beforehand; `ask` gives those that are left, and then none."""
    optimizer = Optimizer(SPACE, budget=100, method="random", seed=0, linear_constraints="a + on <= 1")
    assert len(optimizer.ask(7)) == 7
    assert len(optimizer.ask(7)) == 2
    assert optimizer.remaining == 0
    with pytest.raises(SpaceExhausted):
        optimizer.ask()


def test_the_end_of_the_budget_comes_before_the_end_of_the_space():
    optimizer = Optimizer(SPACE, budget=18, method="random", seed=0)
    assert drive.run(optimizer, value) == "budget"
    with pytest.raises(BudgetExhausted) as caught:
        optimizer.ask()
    assert not isinstance(caught.value, SpaceExhausted)


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
def test_with_noise_the_run_goes_on_to_its_budget(method):
    chance = np.random.default_rng(0)
    result = minimize(lambda x: value(x) + 0.1 * chance.normal(), SPACE, 40, method=method, seed=0, noisy=True)
    assert result.status == "budget"
    assert result.nfev == 40
    assert len({key(trial) for trial in result.trials}) <= 18


def test_one_continuous_parameter_makes_it_endless():
    space = Space({"on": Bool(), "w": Float(0, 1)})
    result = minimize(lambda x: x["w"], space, 40, method="random", seed=0)
    assert (result.status, result.nfev) == ("budget", 40)


def test_a_single_allowed_point():
    space = Space({"a": Int(0, 3), "b": Int(0, 3)})
    for method in METHODS.values():
        result = minimize(lambda x: float(x["a"]), space, 10, method=method, seed=0, linear_constraints="a + b >= 6")
        assert (result.status, result.nfev, result.fun) == ("space", 1, 3.0)


def test_vectorised_objectives_get_what_is_left():
    sizes = []

    def fun(columns):
        sizes.append(len(columns["a"]))
        return [float(a) for a in columns["a"]]

    result = minimize(fun, SPACE, 100, method="random", seed=0, vectorized=True, n_workers=7)
    assert sizes == [7, 7, 4]
    assert result.status == "space"


def test_the_end_survives_a_file(tmp_path):
    optimizer = Optimizer(SPACE, budget=100, method="random", seed=0, linear_constraints="a + on <= 1")
    assert len(optimizer.ask(20)) == 9
    optimizer.save(tmp_path / "run")
    loaded = Optimizer.load(tmp_path / "run")
    assert loaded.remaining == 0
    assert len(loaded.pending) == 9
    assert drive.run(loaded, value) == "space"
    assert loaded.n_told == 9
    with pytest.raises(SpaceExhausted):
        loaded.ask()


def test_a_method_that_repeats_itself_still_sees_the_whole_space():
    stubborn = Toy(on_ask=lambda state, history, pending, rng: np.ones(history.domain.dim))
    optimizer = Optimizer(SPACE, budget=100, method=stubborn, seed=0)
    assert drive.run(optimizer, value) == "space"
    assert len({key(trial) for trial in optimizer.trials}) == 18
