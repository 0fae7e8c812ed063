"""Evaluations by any executor: the function's failures and the executor's are told apart, and it stays the caller's."""

from __future__ import annotations

import os
import threading
import time
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context

import pytest
from workers.process_checks import act, gather, interrupted_soon

from boids.workers import ExecutorWorkers, WorkersGone, workers_for


class LateExecutor:
    """An executor whose futures are completed by the test, as somebody else's might be."""

    def __init__(self):
        self.calls = []

    def submit(self, function, *arguments):
        self.calls.append((function, arguments, Future()))
        return self.calls[-1][2]

    def run(self, number):
        function, arguments, future = self.calls[number]
        if future.set_running_or_notify_cancel():
            future.set_result(function(*arguments))


def process_pool(count=1):
    return ProcessPoolExecutor(count, mp_context=get_context("forkserver"))  # for we may have threads


@pytest.fixture(scope="module")
def pool():
    with process_pool(2) as executor:
        yield executor


def test_a_pool_of_processes(pool):
    with ExecutorWorkers(pool, act) as workers:
        assert workers.size == 2
        for key in range(6):
            workers.submit(key, key * 1.5)
        found = gather(workers, 6)
        assert [(each.key, each.value) for each in found] == [(key, key * 1.5) for key in range(6)]
        assert all(each.error is None and each.worker.startswith("process ") for each in found)
    assert pool.submit(os.getpid).result() != os.getpid()  # it was not shut down


@pytest.mark.parametrize(
    ("point", "message"),
    [
        ("raise", "ValueError: bad mesh"),
        ("sys.exit", "SystemExit: no licence"),
        ("lambda", "The function returned a function, which cannot be passed between processes"),
    ],
)
def test_failures_of_the_function(pool, point, message):
    with ExecutorWorkers(pool, act) as workers:
        workers.submit(0, point)
        workers.submit(1, 1)
        failed, other = gather(workers, 2)
    assert failed.error.startswith(message)
    assert not failed.lost
    assert point != "raise" or 'raise ValueError("bad mesh")' in failed.details
    assert other.value == 1


def test_an_interrupt_in_a_worker_is_not_the_functions_failure(pool):
    with ExecutorWorkers(pool, act) as workers:
        workers.submit(0, "interrupt")
        (lost,) = gather(workers, 1)
    assert (lost.lost, lost.error) == (True, "The evaluation was interrupted.")


def fork(x):
    child = os.fork()
    if child == 0:
        return "child"
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def test_a_forked_child_that_returns_does_not_answer(pool):
    with ExecutorWorkers(pool, fork) as workers:
        for key in range(3):
            workers.submit(key, key)
        assert [each.value for each in gather(workers, 3)] == [0, 0, 0]


def test_a_broken_pool():
    with process_pool() as pool, ExecutorWorkers(pool, act) as workers:
        workers.submit(0, 1)
        assert [each.value for each in gather(workers, 1)] == [1]
        workers.submit(1, "kill")
        workers.submit(2, 2)
        (lost,) = workers.wait(60.0)
        assert (lost.key, lost.lost) == (1, True)
        assert lost.error.startswith("The executor broke during the evaluation (BrokenProcessPool: ")
        with pytest.raises(WorkersGone, match=r"The executor is broken \(.*\); give a new one\."):
            workers.wait(60.0)
        with pytest.raises(WorkersGone):
            workers.submit(3, 3)


def test_an_executor_that_was_shut_down():
    pool = ThreadPoolExecutor(1)
    workers = ExecutorWorkers(pool, act)
    pool.shutdown()
    with pytest.raises(WorkersGone, match="The executor takes no more evaluations"):
        workers.submit(0, 1)


def test_functions_that_cannot_be_sent():
    message = (
        r"fun cannot be sent to the executor's workers \(.*\); define it at the top level of a module, or use n_wor"
    )
    with process_pool() as pool, pytest.raises(ValueError, match=message):
        ExecutorWorkers(pool, lambda x: x)

    class Wrapped:  # nobody can see that it pickles
        def __init__(self, executor):
            self.submit = executor.submit

    with process_pool() as pool, ExecutorWorkers(Wrapped(pool), lambda x: x, 1) as workers:
        workers.submit(0, 1)
        with pytest.raises(ValueError, match=message):
            gather(workers, 1)


def test_threads_take_any_function():
    barrier = threading.Barrier(3)
    with ThreadPoolExecutor(3) as pool, ExecutorWorkers(pool, lambda x: (barrier.wait(60.0), x)[1]) as workers:
        assert workers.size == 3
        for key in range(6):
            workers.submit(key, key)
        assert [each.value for each in gather(workers, 6)] == list(range(6))


def test_no_more_evaluations_than_asked_for_are_handed_over():
    executor = LateExecutor()
    with ExecutorWorkers(executor, act, 2) as workers:
        for key in range(3):
            workers.submit(key, key)
        assert len(executor.calls) == 2
        executor.run(1)
        assert [each.key for each in workers.wait(60.0)] == [1]
        assert len(executor.calls) == 3
        executor.run(0)
        executor.run(2)
        assert [each.key for each in workers.wait(60.0)] == [0, 2]
        assert workers.wait() == []


def test_a_cancelled_future_is_a_lost_evaluation():
    executor = LateExecutor()
    with ExecutorWorkers(executor, act, 1) as workers:
        workers.submit(0, 1)
        executor.calls[0][2].cancel()
        (lost,) = gather(workers, 1)
    assert (lost.lost, lost.error) == (True, "The executor has cancelled the evaluation.")


def test_unknown_trouble_of_the_executor_is_a_lost_evaluation():
    executor = LateExecutor()
    with ExecutorWorkers(executor, act, 1) as workers:
        workers.submit(0, 1)
        executor.calls[0][2].set_exception(OSError("node 7 is down"))
        (lost,) = gather(workers, 1)
    assert (lost.lost, lost.error) == (True, "The executor could not make the evaluation (OSError: node 7 is down).")


def test_an_evaluation_that_takes_too_long_occupies_its_worker():
    release = threading.Event()

    def fun(x):
        return release.wait(60.0) if x == "hang" else x

    with ThreadPoolExecutor(2) as pool, ExecutorWorkers(pool, fun, timeout=0.5) as workers:
        workers.submit(0, "hang")
        (late,) = workers.wait(60.0)
        assert (late.key, late.lost) == (0, False)
        assert late.error == (
            "The evaluation took longer than 0.5 s; the executor cannot end it, so its worker stays busy until it "
            "returns."
        )
        assert workers.size == 1
        workers.submit(1, 1)
        assert [each.key for each in gather(workers, 1)] == [1]
        release.set()
        deadline = time.monotonic() + 60.0
        while workers.size < 2:
            assert time.monotonic() < deadline
            assert workers.wait(0.01) == []
            time.sleep(0.01)


def test_all_workers_hanging_is_the_end():
    release = threading.Event()
    with ThreadPoolExecutor(1) as pool:
        with ExecutorWorkers(pool, lambda _: release.wait(60.0), timeout=0.2) as workers:
            workers.submit(0, 0)
            assert len(workers.wait(60.0)) == 1
            assert workers.size == 0
            workers.submit(1, 1)
            with pytest.raises(WorkersGone, match="All 1 workers of the executor are still busy"):
                workers.wait(60.0)
        release.set()


def test_the_time_does_not_run_while_the_executor_has_other_things_to_do():
    executor = LateExecutor()
    with ExecutorWorkers(executor, act, 1, timeout=0.05) as workers:
        workers.submit(0, 1)
        assert workers.wait(0.2) == []
        assert len(executor.calls) > 1
        executor.run(-1)
        assert [each.value for each in workers.wait(60.0)] == [1]


def test_cancelling_drops_late_outcomes():
    release = threading.Event()
    with ThreadPoolExecutor(1) as pool, ExecutorWorkers(pool, lambda x: release.wait(60.0) and x) as workers:
        workers.submit(0, 0)
        workers.submit(1, 1)
        workers.cancel()
        assert workers.wait() == []
        assert workers.size == 0
        workers.submit(2, 2)
        release.set()
        assert [each.key for each in gather(workers, 1)] == [2]


def test_closing():
    with ThreadPoolExecutor(1) as pool:
        workers = ExecutorWorkers(pool, act)
        workers.close()
        workers.close()
        with pytest.raises(WorkersGone, match="have been closed"):
            workers.submit(0, 0)
        assert pool.submit(act, 1).result() == 1


def test_an_interrupt_ends_the_wait_and_nothing_else():
    release = threading.Event()
    with ThreadPoolExecutor(1) as pool, ExecutorWorkers(pool, lambda x: release.wait(60.0) and x) as workers:
        workers.submit(0, 5)
        with interrupted_soon(), pytest.raises(KeyboardInterrupt):
            workers.wait()
        release.set()
        assert [each.value for each in gather(workers, 1)] == [5]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"executor": 3}, r"executor must have a method submit\(function, \*arguments\), got 3"),
        ({"fun": 3}, "fun must be callable, got 3"),
        ({"executor": LateExecutor()}, "How many workers .* has is not known; say it with n_workers"),
        ({"count": 0}, "n_workers must be an integer of at least 1, got 0"),
        ({"timeout": -1}, "timeout must be a positive number"),
    ],
)
def test_wrong_arguments(arguments, message):
    with ThreadPoolExecutor(1) as pool, pytest.raises(ValueError, match=message):
        ExecutorWorkers(**{"executor": pool, "fun": act, **arguments})


def test_the_number_of_workers_of_mpi4py():
    executor = LateExecutor()
    executor.num_workers = 5
    assert ExecutorWorkers(executor, act).size == 5


def test_the_choice_of_workers():
    with ThreadPoolExecutor(2) as pool:
        workers = workers_for(pool, act, None, 5.0)
        assert isinstance(workers, ExecutorWorkers)
        assert workers.size == 2
