"""Spaces, values and orders of calls at random: a result, or one clear error of boids, never anything else."""

import json
import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from space import strategies

from boids import FAILED, BoidsError, Measurement, Optimizer, Result, minimize
from boids.algorithms import Boids
from boids.blocks.nsga2 import NSGA2

QUICK = Boids(
    n_init=3,
    particles=3,
    search=NSGA2(population=8, offspring=8, generations=3),
    bandit_candidates=30,
    max_candidates=20,
    path_features=16,
)
METHODS = st.sampled_from(["random", QUICK])
VALUES = st.one_of(
    st.floats(),
    st.integers(-(10**400), 10**400),
    st.sampled_from(
        [FAILED, None, "3", b"3", True, Decimal("2"), Fraction(1, 3), 1j, [], {}, (1.0, [2.0]), [1.0, 2.0], object()]
    ),
    st.sampled_from(
        [np.array([1.0]), np.zeros(2), np.array("a"), np.ma.masked, np.float32(2), Measurement(1.0, [1.0])]
    ),
    st.builds(Measurement, st.floats(), st.lists(st.floats(), max_size=3), st.none() | st.floats()),
)
CONSTRAINTS = st.none() | st.lists(st.floats() | st.none() | st.text(max_size=2), max_size=3) | st.floats() | st.text()
ACTIONS = st.one_of(
    st.tuples(st.just("ask"), st.none() | st.integers(-1, 4)),
    st.tuples(st.just("tell"), st.integers(-1, 12)),
    st.tuples(st.just("good"), st.integers(0, 12)),
    st.tuples(st.just("reload"), st.none()),
)


def attempt(call, *arguments, **named):
    """Return what a call returns, or None if it is refused with a clear error."""
    try:
        return call(*arguments, **named)
    except (BoidsError, ValueError) as error:
        message = str(error)
    assert 10 <= len(message) <= 600
    assert message.endswith((".", "?"))
    return None


def check(optimizer):
    """Check what holds at any time."""
    trials, space = optimizer.trials, optimizer.space
    assert optimizer.n_told + len(optimizer.pending) == optimizer.n_asked == len(trials) <= optimizer.budget
    assert optimizer.n_failed == sum(trial.failed for trial in trials)
    for trial in trials:
        assert np.abs(trial.unit).max() <= 1.0
        assert np.array_equal(space.snap(trial.unit), trial.unit)
        assert strategies.same(trial.params, space.decode(trial.unit))
        assert bool(trial.error) == trial.failed
    if not optimizer.noisy:
        assert len({trial.unit.tobytes() for trial in trials}) == len(trials)
    done = [trial for trial in trials if trial.state == "done"]
    assert (optimizer.best is None) == (not done)
    if done:
        assert optimizer.best.violation == min(trial.violation for trial in done)
    json.dumps(optimizer.diagnostics)


@settings(max_examples=60)
@given(
    space=strategies.spaces(),
    method=METHODS,
    noisy=st.booleans(),
    n_constraints=st.integers(0, 2),
    seed=st.integers(0, 99),
    actions=st.lists(ACTIONS, max_size=20),
    data=st.data(),
)
def test_calls_in_any_order(space, method, noisy, n_constraints, seed, actions, data, tmp_path_factory):
    optimizer = Optimizer(space, budget=9, method=method, seed=seed, noisy=noisy, n_constraints=n_constraints)
    path = tmp_path_factory.getbasetemp() / "calls.npz"
    for action, argument in actions:
        before = (optimizer.n_asked, optimizer.n_told)
        if action == "ask":
            if attempt(optimizer.ask, argument) is None:
                assert (optimizer.n_asked, optimizer.n_told) == before
        elif action == "tell":  # anything at all, for a trial that may not exist
            told = {"constraints": data.draw(CONSTRAINTS), "noise_variance": data.draw(st.none() | st.floats())}
            if attempt(optimizer.tell, argument, data.draw(VALUES), **told) is None:
                assert (optimizer.n_asked, optimizer.n_told) == before
        elif action == "good" and optimizer.pending:
            trial = optimizer.pending[argument % len(optimizer.pending)]
            optimizer.tell(trial, float(argument), constraints=[argument - 3.0] * n_constraints or None)
        elif action == "reload":
            optimizer.save(path)
            optimizer = Optimizer.load(path)
    check(optimizer)


@settings(max_examples=60)
@given(
    space=strategies.spaces(),
    method=METHODS,
    noisy=st.booleans(),
    n_constraints=st.integers(0, 2),
    vectorized=st.booleans(),
    returned=st.lists(VALUES, min_size=1, max_size=4),
)
def test_objectives_that_return_anything(space, method, noisy, n_constraints, vectorized, returned):
    count = iter(range(10**6))

    def objective(params):
        number = next(count)
        if number % 5 == 4:
            raise [RuntimeError("no"), SystemExit(3), MemoryError(), ZeroDivisionError()][number % 4]
        return returned[number % len(returned)]

    result = minimize(
        objective, space, 6, method=method, seed=0, noisy=noisy, n_constraints=n_constraints, vectorized=vectorized
    )
    assert isinstance(result, Result)
    assert result.nfev == len(result.trials) == len(result.history)
    assert result.status == "space" or result.nfev == 6
    assert math.isnan(result.fun) == (result.x is None)
