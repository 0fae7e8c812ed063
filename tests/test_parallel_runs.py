"""Evaluations at the same time: in what order the method learns, and what is left when something goes wrong."""

import faulthandler
import os
import signal
import sys
import threading
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from run_checks import QUICK, FakeJournal, FakeWorkers, shape, sphere

import boids
from boids import Optimizer, Store, drive
from boids.drive import StopReason
from boids.errors import WorkersGone
from boids.here import Here

BOX = [(-1.0, 1.0)] * 3


def new(budget=9, method=QUICK, **more):
    return Optimizer(BOX, budget=budget, method=method, seed=4, **more)


def trace(optimizer):
    return [shape(trial) for trial in optimizer.trials]


def told(optimizer):
    """The numbers of the trials in the order in which the method learned of them."""
    ledger = optimizer.run.ledger
    rows = [ledger.row(number) for number in range(len(ledger))]
    return [row.number for row in sorted((row for row in rows if row.told is not None), key=lambda row: row.told)]


def failing(x):
    if x[0] > 0.3:
        raise ArithmeticError("too far")
    return sphere(x)


@pytest.fixture(scope="module")
def in_order():
    """What a run in batches of three comes to."""
    optimizer = new()
    drive.run(optimizer, failing, batch=3)
    return trace(optimizer)


def by_script(script):
    """Choose among the keys under way: any number of them, in any order."""
    steps = iter(script)

    def choose(keys):
        order, count = next(steps, (0, 1))
        shuffled = np.random.default_rng(order).permutation(keys).tolist()
        return shuffled[: 1 + count % len(keys)]

    return choose


scripts = st.lists(st.tuples(st.integers(0, 100), st.integers(0, 2)), min_size=9, max_size=9)


# --- in batches -------------------------------------------------------------------------------------------


@given(scripts, st.sets(st.integers(0, 8)), st.integers(0, 5))
@settings(max_examples=30)
def test_batches_do_not_depend_on_timing(in_order, script, lost, size):
    optimizer = new()
    workers = FakeWorkers(
        failing, by_script(script), loses=lambda key, time: key in lost and time == 0, sizes=[size, 0, 2]
    )
    assert drive.run(optimizer, workers=workers, batch=3) is StopReason.BUDGET
    assert trace(optimizer) == in_order
    assert told(optimizer) == list(range(9))
    assert workers.most == 3
    assert [trial.attempts for trial in optimizer.trials] == [1 + (key in lost) for key in range(9)]
    assert optimizer.times["evaluate"] == pytest.approx(sum(trial.state == "done" for trial in optimizer.trials))
    assert workers.cancelled


@given(scripts, st.integers(0, 9), st.booleans())
@settings(max_examples=15)
def test_outcomes_that_came_early_are_not_computed_again(in_order, tmp_path_factory, script, waits, is_killed):
    path = tmp_path_factory.mktemp("runs") / "runs.db"
    optimizer = new(store=path, run_id="r")
    choose = by_script(script)

    def interrupted(keys):
        if workers.waits > waits:
            raise KeyboardInterrupt
        return choose(keys)

    workers = FakeWorkers(failing, interrupted)
    reason = drive.run(optimizer, workers=workers, batch=3)
    if reason is not StopReason.INTERRUPTED:
        assert trace(optimizer) == in_order
        return
    ended, cut = set(workers.ended), set(workers.begun) - set(workers.ended)
    assert {trial.id for trial in optimizer.pending} >= cut
    assert workers.under_way == {}
    optimizer.kept.let_go() if is_killed else optimizer.close("interrupted")
    again, more = Optimizer.resume(path, "r"), FakeWorkers(failing)
    assert drive.run(again, workers=more, batch=3) is StopReason.BUDGET
    assert trace(again) == in_order
    assert not ended & set(more.begun)
    assert [trial.attempts for trial in again.trials] == [1 + (key in cut) for key in range(9)]


def test_the_size_of_batches_matters_only_through_what_is_known():
    alone, batches = new(), new()
    drive.run(alone, failing)
    drive.run(batches, failing, batch=4)
    assert trace(alone)[:4] == trace(batches)[:4]
    assert trace(alone)[5:] != trace(batches)[5:]


# --- as soon as one is free -------------------------------------------------------------------------------


@given(scripts)
@settings(max_examples=20)
def test_asynchronous_runs_learn_in_the_order_of_completion(script):
    optimizer = new()
    workers = FakeWorkers(failing, by_script(script), sizes=[2, 3, 0, 4, 1, 3])
    # At most as many under way as there were workers when the last one began.
    beginnings = []
    submit = workers.submit
    workers.submit = lambda key, params: (
        submit(key, params),
        beginnings.append((len(workers.under_way), workers.size)),
    )
    assert drive.run(optimizer, workers=workers, asynchronous=True) is StopReason.BUDGET
    assert told(optimizer) == workers.ended
    assert all(count <= max(1, size) for count, size in beginnings)
    assert sorted(workers.begun) == list(range(9))


@pytest.mark.parametrize(("seconds", "ahead"), [(1e6, 0), (1e-9, 1)])
def test_quick_evaluations_get_their_proposals_ahead(seconds, ahead):
    optimizer, workers, most = new(), FakeWorkers(lambda x: float(x @ x), sizes=[2]), []
    workers.seconds, wait = seconds, workers.wait

    def watched(timeout=None):
        most.append(len(optimizer.pending) - len(workers.under_way))
        return wait(timeout)

    workers.wait = watched
    assert drive.run(optimizer, workers=workers, asynchronous=True) is StopReason.BUDGET
    assert max(most) == ahead
    assert workers.most <= 2
    assert sorted(workers.begun) == sorted(workers.ended) == list(range(9))


def test_what_is_ready_is_not_begun_after_the_time_limit():
    optimizer, workers, ticks = new(), FakeWorkers(failing, sizes=[2]), iter(range(1000))
    workers.seconds = 1e-9
    reason = drive.run(optimizer, workers=workers, asynchronous=True, timeout=6, clock=lambda: next(ticks))
    assert reason is StopReason.TIMEOUT
    assert workers.under_way == {}
    assert {trial.id for trial in optimizer.pending}.isdisjoint(workers.begun)
    assert sorted(workers.begun) == sorted(workers.ended)


def test_a_free_worker_gets_a_new_point_at_once():
    optimizer = new()
    under_way = []
    workers = FakeWorkers(sphere, lambda keys: under_way.append(list(keys)) or keys[-1:])
    drive.run(optimizer, workers=workers, asynchronous=True)
    assert under_way[:4] == [[0, 1, 2], [0, 1, 3], [0, 1, 4], [0, 1, 5]]
    assert under_way[-2:] == [[0, 1], [0]]


def test_outcomes_held_by_a_synchronous_run_are_told_by_an_asynchronous_one():
    optimizer = new()
    chosen = iter([[2], [1]])
    workers = FakeWorkers(sphere, lambda keys: next(chosen, None) or interrupt())
    drive.run(optimizer, workers=workers, batch=3)
    assert sorted(optimizer.run.ledger.held) == [1, 2]
    more = FakeWorkers(sphere)
    drive.run(optimizer, workers=more, asynchronous=True)
    assert not {1, 2} & set(more.begun)
    assert told(optimizer)[:2] == [1, 2]


def interrupt(*_):
    raise KeyboardInterrupt


# --- lost workers -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("asynchronous", [False, True])
@pytest.mark.parametrize(("lost", "begun"), [("retry", 2), ("fail", 1)])
def test_workers_that_vanish_every_time(asynchronous, lost, begun):
    optimizer = new(method="random")
    workers = FakeWorkers(sphere, loses=lambda key, time: key == 4)
    assert drive.run(optimizer, workers=workers, batch=3, asynchronous=asynchronous, lost=lost) is StopReason.BUDGET
    trial = optimizer.trials[4]
    assert (trial.state, trial.error, trial.attempts) == ("failed", "The worker vanished.", begun)
    assert workers.begun.count(4) == begun
    assert optimizer.n_failed == 1


@pytest.mark.parametrize(("lost", "state"), [("retry", "done"), ("fail", "failed")])
def test_what_was_under_way_when_a_run_stopped(lost, state):
    optimizer = new(method="random")
    drive.run(optimizer, workers=FakeWorkers(sphere, interrupt), batch=3)
    assert len(optimizer.pending) == 3
    drive.run(optimizer, workers=FakeWorkers(sphere), batch=3, lost=lost)
    assert [trial.state for trial in optimizer.trials] == [state] * 3 + ["done"] * 6
    assert [trial.attempts for trial in optimizer.trials] == [1 + (lost == "retry")] * 3 + [1] * 6


@pytest.mark.parametrize("asynchronous", [False, True])
@pytest.mark.parametrize("early", [[1], [2], [1, 3], [2, 1]])
def test_what_came_early_is_told_between_what_is_given_up(early, asynchronous):
    optimizer = new(method="random")
    chosen = iter([[key] for key in early])
    drive.run(optimizer, workers=FakeWorkers(sphere, lambda keys: next(chosen, None) or interrupt()), batch=4)
    workers = FakeWorkers(sphere)
    reason = drive.run(optimizer, workers=workers, batch=4, lost="fail", asynchronous=asynchronous)
    assert (reason, workers.begun) == (StopReason.BUDGET, [4, 5, 6, 7, 8])
    assert [trial.id for trial in optimizer.trials if trial.failed] == sorted({0, 1, 2, 3} - set(early))
    if not asynchronous:
        assert told(optimizer) == list(range(9))


@pytest.mark.parametrize("asynchronous", [False, True])
def test_when_all_workers_are_gone_others_can_go_on(asynchronous):
    optimizer = new(method="random")

    def choose(keys):
        if workers.waits == 4:
            raise WorkersGone("The scheduler is gone.")
        return keys[:1]

    workers = FakeWorkers(sphere, choose)
    assert drive.run(optimizer, workers=workers, batch=3, asynchronous=asynchronous) is StopReason.WORKERS
    result = boids.Result.of(optimizer, StopReason.WORKERS)
    assert "The scheduler is gone." in result.message
    assert result.nfev == 3
    assert len(optimizer.pending) == 3
    assert drive.run(optimizer, workers=FakeWorkers(sphere), batch=3, asynchronous=asynchronous) is StopReason.BUDGET
    assert optimizer.trouble is None
    assert optimizer.n_told == 9


def test_a_wrong_policy():
    with pytest.raises(ValueError, match="'retry' or 'fail'"):
        drive.run(new(), sphere, lost="ignore")
    with pytest.raises(ValueError, match="fun, or workers"):
        drive.run(new())
    with pytest.raises(ValueError, match="batch"):
        drive.run(new(), sphere, batch=0)


def test_nothing_begins_of_which_the_store_does_not_know():
    optimizer = new(method="random")
    drive.run(optimizer, workers=FakeWorkers(sphere, interrupt), batch=3)
    optimizer.run.journal = FakeJournal(fails=lambda place: place == 1)
    workers = FakeWorkers(sphere)
    assert drive.run(optimizer, workers=workers, batch=3) is StopReason.STORE
    assert workers.begun == [0]
    assert [trial.attempts for trial in optimizer.trials] == [2, 1, 1]


# --- limits with evaluations under way --------------------------------------------------------------------


def by_number(values):
    """An objective by the order of calls, which with `FakeWorkers` is that of completion."""
    left = iter(values)
    return lambda x: next(left)


def test_a_batch_is_finished_before_the_run_stops():
    optimizer = new(method="random")
    workers = FakeWorkers(by_number([0.0] * 9))
    assert drive.run(optimizer, workers=workers, batch=4, target=0.5) is StopReason.TARGET
    assert optimizer.n_told == 4
    optimizer = new(method="random")
    stop = drive.run(optimizer, workers=FakeWorkers(sphere), batch=4, callback=lambda o, trial: trial.id == 0)
    assert (stop, optimizer.n_told) == (StopReason.CALLBACK, 4)
    optimizer = new(method="random")
    stop = drive.run(optimizer, workers=FakeWorkers(by_number(range(9))), batch=4, patience=2)
    assert (stop, optimizer.n_told) == (StopReason.STAGNATION, 4)
    optimizer = new(method="random")  # all of them at once: three since the best
    stop = drive.run(optimizer, workers=FakeWorkers(by_number(range(9)), lambda keys: keys), batch=4, patience=3)
    assert (stop, optimizer.n_told) == (StopReason.STAGNATION, 4)


def test_asynchronous_runs_stop_at_once():
    optimizer = new(method="random")
    workers = FakeWorkers(by_number([3.0, 0.0, 1.0]))
    assert drive.run(optimizer, workers=workers, asynchronous=True, target=0.5) is StopReason.TARGET
    assert (optimizer.n_told, len(optimizer.pending), workers.under_way) == (2, 2, {})
    optimizer = new(method="random")
    stop = drive.run(optimizer, workers=FakeWorkers(sphere), asynchronous=True, callback=lambda o, trial: True)
    assert (stop, optimizer.n_told, len(optimizer.pending)) == (StopReason.CALLBACK, 1, 2)


@pytest.mark.parametrize(("asynchronous", "n"), [(True, 7), (False, 6)])
def test_after_the_time_limit_nothing_begins_but_what_is_under_way_is_waited_for(asynchronous, n):
    optimizer = new(method="random")
    workers = FakeWorkers(sphere)
    reason = drive.run(
        optimizer, workers=workers, batch=3, asynchronous=asynchronous, timeout=5, clock=lambda: workers.waits
    )
    assert (reason, optimizer.n_told, optimizer.pending) == (StopReason.TIMEOUT, n, ())


def test_patience_waits_for_what_is_under_way_and_may_be_rewarded():
    optimizer = new(method="random")
    workers = FakeWorkers(by_number([5.0, 6.0, 7.0, 1.0, 8.0, 8.0, 8.0, 8.0, 8.0]))
    reason = drive.run(optimizer, workers=workers, asynchronous=True, patience=2)
    assert reason is StopReason.STAGNATION
    assert [trial.value for trial in optimizer.trials][:4] == [5.0, 6.0, 7.0, 1.0]
    assert optimizer.best.value == 1.0
    assert 6 <= optimizer.n_told < 9


def test_the_last_evaluation_of_the_budget_may_reach_the_target():
    optimizer = new(3, method="random")
    assert drive.run(optimizer, by_number([3.0, 2.0, 0.0]), target=0.0) is StopReason.TARGET
    optimizer = new(3, method="random")
    assert drive.run(optimizer, by_number([3.0, 2.0, 0.0]), patience=1, timeout=1e-9) is StopReason.TIMEOUT
    assert optimizer.n_told == 0
    optimizer = new(3, method="random")
    stop = drive.run(optimizer, by_number([3.0, 2.0, 0.0]), target=0.0, callback=lambda o, t: o.remaining == 0)
    assert stop is StopReason.CALLBACK


@pytest.mark.parametrize("asynchronous", [False, True])
@pytest.mark.parametrize("place", range(6))
def test_ctrl_c_at_any_wait(asynchronous, place, in_order):
    optimizer = new()

    def choose(keys):
        if workers.waits == place + 1:
            raise KeyboardInterrupt
        return keys[-1:]

    workers = FakeWorkers(failing, choose)
    reason = drive.run(optimizer, workers=workers, batch=3, asynchronous=asynchronous)
    assert (reason, workers.cancelled, workers.under_way) == (StopReason.INTERRUPTED, 1, {})
    known = len(optimizer.run.ledger.held) + optimizer.n_told
    assert known == place
    more = FakeWorkers(failing)
    assert drive.run(optimizer, workers=more, batch=3, asynchronous=asynchronous) is StopReason.BUDGET
    assert not set(workers.ended) & set(more.begun)
    if not asynchronous:
        assert trace(optimizer) == in_order


def test_ctrl_c_in_the_callback_and_errors_of_others():
    optimizer = new(method="random")
    assert drive.run(optimizer, workers=FakeWorkers(sphere), batch=3, callback=interrupt) is StopReason.INTERRUPTED
    optimizer, workers = new(method="random"), FakeWorkers(sphere)

    def broken(optimizer, trial):
        raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match="mine"):
        drive.run(optimizer, workers=workers, batch=3, callback=broken)
    assert workers.cancelled
    assert optimizer.n_told == 1


def test_a_finite_space_in_parallel():
    space = boids.Space({"n": boids.Int(1, 5)})
    for asynchronous in (False, True):
        seen = []
        optimizer = Optimizer(space, budget=20, method="random", seed=1)
        workers = FakeWorkers(lambda x, seen=seen: seen.append(x["n"]) or 1.0)
        assert drive.run(optimizer, workers=workers, batch=3, asynchronous=asynchronous) is StopReason.SPACE
        assert sorted(seen) == [1, 2, 3, 4, 5]


# --- in this process --------------------------------------------------------------------------------------


def test_a_forked_child_does_not_carry_on_with_the_run(tmp_path):
    path = tmp_path / "runs.db"
    owner, endings = os.getpid(), []

    def forking(x):
        child = os.fork()
        if not child:
            if x[0] > 0:
                raise ValueError("in the child")
            return 99.0
        endings.append(os.waitpid(child, 0)[1])
        return sphere(x)

    result = boids.minimize(forking, BOX, 6, method="random", seed=1, store=path, run_id="r")
    assert os.getpid() == owner
    assert endings == [0] * 6
    assert result.nfev == 6
    assert result.fun < 9
    assert Store(path).read("r").snapshot.told == 6


def test_points_may_be_worked_on_in_place():
    def careless(x):
        x *= 0
        return 1.0

    optimizer = new(3, method="random")
    drive.run(optimizer, careless)
    assert all(np.any(trial.x) for trial in optimizer.trials)


def test_this_process_as_workers():
    here = Here(lambda x: float(x[0]), boids.Space.of(BOX))
    assert here.wait() == []
    here.submit(3, np.array([0.5, 0.0, 0.0]))
    here.submit(4, np.array([0.25, 0.0, 0.0]))
    assert [(each.key, each.value) for each in here.wait()] == [(3, 0.5)]
    here.cancel()
    assert here.wait() == []
    many = Here(lambda x: x[:, 0], boids.Space.of(BOX), vectorized=True)
    many.submit(3, np.array([0.5, 0.0, 0.0]))
    many.submit(4, np.array([0.25, 0.0, 0.0]))
    assert [(each.key, each.value) for each in many.wait()] == [(3, 0.5), (4, 0.25)]


def test_rows_of_a_matrix_under_limits():
    calls = []

    def fun(x):
        calls.append(len(x))
        return np.sum(x**2, axis=1)

    result = boids.minimize(fun, BOX, 7, method="random", seed=1, vectorized=True, n_workers=3)
    assert calls == [3, 3, 1]
    assert result.nfev == 7
    calls.clear()
    assert boids.minimize(fun, BOX, 7, method="random", seed=1, vectorized=True, target=1e9).nfev == 7
    assert calls == [7]


# --- in other processes -----------------------------------------------------------------------------------


class Unprintable(Exception):
    """Cannot be pickled, nor printed."""

    def __init__(self, lock):
        super().__init__(lock)
        self.lock = lock

    def __reduce__(self):
        raise TypeError("no")

    def __str__(self):
        raise ValueError("no")


def test_objectives_that_misbehave(tmp_path, capfd):
    """One by one in the order of the trials; the run goes on after each."""
    lock = threading.Lock()  # cannot be pickled, so neither can the objective
    home = os.getcwd()

    def fun(x):
        place = round(x[0])
        with lock:
            if place == 0:
                print("said something")
            elif place == 1:
                if not os.fork():
                    return -1.0  # a child that returns
            elif place == 2:
                os.chdir(tmp_path)
            elif place == 3:
                sys.exit(3)
            elif place == 4:
                os._exit(4)
            elif place == 5:
                faulthandler.disable()
                os.kill(os.getpid(), signal.SIGSEGV)
            elif place == 6:
                raise Unprintable(threading.Lock())
            elif place == 7:
                return threading.Lock()
            elif place == 8:
                return float(os.getcwd() == home)
            elif place == 9:
                raise KeyboardInterrupt
        return 5.0

    points = [[float(i)] for i in range(10)]
    result = boids.minimize(fun, [(0.0, 9.0)], 10, method="random", seed=1, n_workers=2, x0=points)
    assert (result.status, result.nfev) == ("budget", 10)
    states = [trial.state for trial in result.trials]
    assert states == ["done"] * 3 + ["failed"] * 5 + ["done", "failed"]
    assert [trial.value for trial in result.trials if trial.value is not None] == [5.0, 5.0, 5.0, 1.0]
    assert "6 of 10 evaluations failed" in result.message
    assert all(trial.error for trial in result.trials if trial.failed)
    assert "said something" in capfd.readouterr().out
    assert os.getcwd() == home


def slow_if_first(x):
    """The first of a batch ends last."""
    import time

    time.sleep(0.05 * float(x[0] > 0))
    return sphere(x)


def test_processes_in_batches_are_as_one():
    one = new()
    drive.run(one, sphere, batch=2)
    result = boids.minimize(slow_if_first, BOX, 9, method=QUICK, seed=4, n_workers=2)
    assert [shape(trial) for trial in result.trials] == trace(one)


def test_what_came_before_its_turn_is_in_the_result(monkeypatch):
    chosen = iter([[2], [1]])

    def workers(fun, count, timeout=None):
        return FakeWorkers(fun, lambda keys: next(chosen, None) or interrupt())

    monkeypatch.setattr("boids.scipy_style.ProcessWorkers", workers)
    result = boids.minimize(sphere, BOX, 9, method="random", seed=4, n_workers=3)
    assert (result.status, result.nfev) == ("interrupted", 2)
    assert [trial.state for trial in result.trials] == ["pending", "done", "done"]
    assert result.fun == min(trial.value for trial in result.trials[1:])


@pytest.mark.parametrize("kind", [ThreadPoolExecutor, ProcessPoolExecutor])
def test_executors(kind):
    one = new()
    drive.run(one, sphere, batch=2)
    with kind(2) as executor:
        result = boids.minimize(sphere, BOX, 9, method=QUICK, seed=4, executor=executor, n_workers=2)
        assert [shape(trial) for trial in result.trials] == trace(one)
        result = boids.minimize(sphere, BOX, 9, method="random", seed=4, executor=executor, asynchronous=True)
        assert result.nfev == 9
        assert executor.submit(int, 3).result() == 3  # it is still there


def test_a_parallel_run_in_a_store_goes_on_in_another_way(tmp_path):
    path = tmp_path / "runs.db"
    arguments = {"method": QUICK, "seed": 4, "store": path, "run_id": "r"}
    first = boids.minimize(
        sphere, BOX, 9, n_workers=2, asynchronous=True, callback=lambda o, t: o.n_told >= 4, **arguments
    )
    assert first.status == "callback"
    assert first.nfev in (4, 5)
    second = boids.minimize(sphere, BOX, 9, n_workers=2, **arguments)
    assert (second.status, second.nfev) == ("budget", 9)
    assert [t.value for t in second.trials] == pytest.approx([sphere(t.x) for t in second.trials])
    from boids import recording
    from boids.replay import Replay, replay

    stored = Store(path).read("r")
    assert replay(recording.setup_of(stored), stored.rows) == Replay(9)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"n_workers": 0}, "n_workers"),
        ({"vectorized": True, "asynchronous": True}, "asynchronous"),
        ({"vectorized": True, "eval_timeout": 1.0}, "eval_timeout"),
        ({"lost": "perhaps"}, "lost must be"),
    ],
)
def test_what_does_not_go_together(arguments, words):
    with pytest.raises(ValueError, match=words):
        boids.minimize(sphere, BOX, 3, method="random", **arguments)


def test_objectives_with_a_memory_stay_in_one_process():
    class Stateful:
        stateful = True

        def __call__(self, x):
            return 1.0

    with pytest.raises(ValueError, match="remembers"):
        boids.minimize(Stateful(), BOX, 3, method="random", n_workers=2)
