"""A recorded run is made again from its seed and the order of its events; what was changed is found."""

from dataclasses import replace

import numpy as np
import pytest
from run_checks import CASES, QUICK, FakeWorkers, outcome, sphere
from toy_methods import Wanderer

from boids import Optimizer, Space, StoreError, drive
from boids.algorithms import RandomSearch
from boids.records import Proposal
from boids.replay import Replay, replay
from boids.setup import Setup


def rows_of(optimizer):
    ledger = optimizer.run.ledger
    return [ledger.row(number) for number in range(len(ledger))]


def again(optimizer):
    return replay(optimizer.run.setup, rows_of(optimizer))


def wander(optimizer, tells, seed):
    """Ask, tell, hold, begin again and add, in any order."""
    rng = np.random.default_rng(seed)
    while optimizer.n_told < tells:
        if optimizer.remaining and (len(optimizer.pending) < 2 or rng.random() < 0.3):
            optimizer.ask(int(rng.integers(1, 4)))
        trial = optimizer.pending[rng.integers(len(optimizer.pending))]
        if rng.random() < 0.2:
            optimizer.run.begin_again(trial.id)
        value, more = outcome(optimizer, trial)
        optimizer.tell(trial, value, **more)
        if rng.random() < 0.15:
            unit = np.random.default_rng([3, len(optimizer.trials)]).uniform(-1, 1, optimizer.space.dim)
            given = optimizer.space.decode(optimizer.space.snap(unit))
            optimizer.add_trials([(given, (1.5, [0.1] * optimizer.n_constraints) if optimizer.n_constraints else 1.5)])


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("method", [QUICK, "random"], ids=["boids", "random"])
def test_any_order_of_events(case, method):
    optimizer = Optimizer(**CASES[case], budget=16, method=method, seed=3)
    wander(optimizer, 13, seed=5)
    assert any(trial.failed for trial in optimizer.trials)
    assert any(not trial.attempts for trial in optimizer.trials)
    assert again(optimizer) == Replay(optimizer.n_asked)


@pytest.mark.parametrize("asynchronous", [False, True])
def test_parallel_runs(asynchronous):
    optimizer = Optimizer([(-1, 1)] * 4, budget=14, method=QUICK, seed=3, x0=[[0.1] * 4, [0.2] * 4])
    rng = np.random.default_rng(1)
    workers = FakeWorkers(sphere, lambda keys: [keys[rng.integers(len(keys))]], loses=lambda key, time: key == 5)
    drive.run(optimizer, workers=workers, batch=3, asynchronous=asynchronous)
    told = [row.number for row in sorted(rows_of(optimizer), key=lambda row: row.told)]
    assert (told == sorted(told)) is not asynchronous
    assert again(optimizer) == Replay(14)


def test_any_method():
    optimizer = Optimizer([(-1, 1)] * 3, budget=12, method=Wanderer(), seed=3)
    for _ in range(4):
        trials = optimizer.ask(3)
        for trial in reversed(trials):
            optimizer.tell(trial, sphere(trial.x))
    assert again(optimizer) == Replay(12)


def test_a_run_in_the_middle():
    optimizer = Optimizer([(-1, 1)] * 3, budget=20, method=QUICK, seed=3)
    wander(optimizer, 7, seed=2)
    optimizer.ask(2)
    assert optimizer.pending
    assert again(optimizer).differs is None


@pytest.fixture(scope="module")
def recorded():
    optimizer = Optimizer([(-1, 1)] * 3, budget=12, method=QUICK, seed=3)
    while optimizer.remaining:
        trial = optimizer.ask()
        optimizer.tell(trial, sphere(trial.x))
    return optimizer


@pytest.mark.parametrize("number", [0, 4, 11])
def test_a_changed_point_is_found(recorded, number):
    rows = rows_of(recorded)
    moved = rows[number].unit.copy()
    moved[1] += 1e-9
    rows[number] = replace(rows[number], unit=moved)
    found = replay(recorded.run.setup, rows)
    assert (found.proposals, found.differs) == (number, number)
    assert found.distance == pytest.approx(1e-9, rel=1e-5)


def test_changed_facts_of_a_proposal_are_found(recorded):
    rows = rows_of(recorded)
    rows[6] = replace(rows[6], info={**rows[6].info, "more": 1})
    assert replay(recorded.run.setup, rows) == Replay(6, 6, 0.0)


def test_a_changed_value_is_found_where_it_makes_a_difference(recorded):
    rows = rows_of(recorded)
    rows[5] = replace(rows[5], value=-100.0)
    assert replay(recorded.run.setup, rows).differs == 6


def test_another_order_of_outcomes_is_found():
    optimizer = Optimizer([(-1, 1)] * 3, budget=12, method=QUICK, seed=3)
    for order in ([0, 1], [1, 0], [1, 0], [0, 1], [1, 0], [1, 0]):
        trials = optimizer.ask(2)
        for place in order:
            optimizer.tell(trials[place], sphere(trials[place].x))
    rows = rows_of(optimizer)
    assert replay(optimizer.run.setup, rows).differs is None
    rows[6], rows[7] = replace(rows[6], told=rows[7].told), replace(rows[7], told=rows[6].told)
    assert replay(optimizer.run.setup, rows).differs is not None


def test_another_seed_is_found(recorded):
    assert replay(replace(recorded.run.setup, seed=4), rows_of(recorded)).differs == 0


def test_more_trials_than_there_are_points():
    space = Space.of([(0, 1)])
    optimizer = Optimizer(space, budget=3, method="random", seed=1)
    for trial in optimizer.ask(3):
        optimizer.tell(trial, 1.0)
    smaller = replace(optimizer.run.setup, budget=2)
    found = replay(smaller, rows_of(optimizer))
    assert (found.proposals, found.differs, found.distance) == (2, 2, np.inf)


def test_a_told_trial_without_an_outcome(recorded):
    rows = rows_of(recorded)
    rows[2] = replace(rows[2], value=None)
    with pytest.raises(StoreError, match="trial 2"):
        replay(recorded.run.setup, rows)


class Counting(RandomSearch):
    """Says facts in NumPy's types, which are written down as plain ones."""

    def ask(self, state, history, pending, rng):
        state, proposal = super().ask(state, history, pending, rng)
        info = {"n": np.int64(3), "on": np.bool_(True), "line": np.arange(2), "pair": (1, 2)}
        return state, Proposal(proposal.unit, info=info)


def test_facts_are_compared_as_they_are_written_down(tmp_path):
    setup = Setup.of([(0, 1)] * 2, 3, Counting(), 1, False, 0, (), None, None)
    optimizer = Optimizer.of(setup)
    wander(optimizer, 3, seed=1)
    written = {"n": 3, "on": True, "line": [0, 1], "pair": [1, 2]}
    rows = [replace(row, info=written if row.attempts else row.info) for row in rows_of(optimizer)]
    assert replay(setup, rows) == Replay(3)
