"""Evaluations on a real Dask cluster: workers and schedulers that die cost evaluations, and none is made twice."""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading

import pytest
from workers.process_checks import act, gather, interrupted_soon, read_lines, read_pids, wait_for

from boids.errors import MissingExtra
from boids.workers import DaskWorkers, WorkersGone, workers_for

distributed = pytest.importorskip("distributed")
from workers.dask_cluster import DaskCluster  # noqa: E402


@pytest.fixture(scope="module")
def cluster():
    """A cluster of two workers with nannies."""
    with DaskCluster() as cluster:
        for _ in range(2):
            cluster.start_worker(nanny=True)
        yield cluster


def await_size(workers, size):
    wait_for(lambda: workers.size == size)


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


# --- what comes back -------------------------------------------------------------------------------------------------


def test_values_come_back_by_key(cluster):
    offset = 0.5
    with DaskWorkers(cluster.address, lambda x: x["a"] + offset) as workers:
        await_size(workers, 2)
        for key in range(6):
            workers.submit(key, {"a": float(key)})
        found = gather(workers, 6)
        assert [(each.key, each.value) for each in found] == [(key, key + 0.5) for key in range(6)]
        assert all(each.error is None and not each.lost and each.worker.startswith("tcp://") for each in found)
        assert workers.wait() == []
        assert workers.wait(0.01) == []


def test_failures_of_the_function_leave_the_workers_alone(cluster, tmp_path):
    with DaskWorkers(cluster.address, act) as workers:
        await_size(workers, 2)
        for key, point in enumerate(["raise", "sys.exit", "interrupt", "pid"]):
            workers.submit(key, point)
        raised, left, interrupted, other = gather(workers, 4)
        assert (raised.error, raised.lost) == ("ValueError: bad mesh", False)
        assert 'raise ValueError("bad mesh")' in raised.details
        assert (left.error, left.lost) == ("SystemExit: no licence", False)
        assert interrupted.lost
        assert other.value > 0
        assert workers.size == 2


def test_a_forked_child_that_returns_does_not_answer(cluster):
    def fork(_):
        child = os.fork()
        return "child" if child == 0 else os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

    with DaskWorkers(cluster.address, fork) as workers:
        workers.submit(0, 0)
        assert [each.value for each in gather(workers, 1)] == [0]


def test_a_value_that_cannot_be_sent_is_a_failure(cluster):
    with DaskWorkers(cluster.address, lambda _: threading.Lock()) as workers:
        workers.submit(0, 0)
        (failed,) = gather(workers, 1)
        assert failed.error.startswith("The function returned a lock, which cannot be passed between processes")


def test_a_big_function_is_sent_once_to_every_worker(cluster, monkeypatch):
    big = os.urandom(20_000_000)  # beyond what Dask warns of in a task
    with DaskWorkers(cluster.address, lambda x: x + len(big)) as workers:
        await_size(workers, 2)
        client, sent = workers._link.client, []
        scatter = client.scatter
        monkeypatch.setattr(client, "scatter", lambda *words, **more: (sent.append(1), scatter(*words, **more))[1])
        for key in range(6):
            workers.submit(key, key)
        assert [each.value for each in gather(workers, 6)] == [key + 20_000_000 for key in range(6)]
        assert len(sent) == 2


@pytest.mark.parametrize("kind", ["client", "executor"])
def test_a_client_stays_the_callers(cluster, kind):
    with distributed.Client(cluster.address, set_as_default=False) as client:
        source = client if kind == "client" else client.get_executor()
        with workers_for(source, act, 1, None) as workers:
            assert isinstance(workers, DaskWorkers)
            assert workers.size == 1
            workers.submit(0, 5)
            assert [each.value for each in gather(workers, 1)] == [5]
        assert client.submit(act, 6).result(60) == 6
    with pytest.raises(ValueError, match="The Dask client is not connected to a scheduler, it is closed"):
        workers_for(client, act)


def test_no_more_evaluations_than_asked_for(cluster, tmp_path):
    with DaskWorkers(cluster.address, act, 1) as workers:
        await_size(workers, 1)
        workers.submit(0, ("wait", str(tmp_path / "go")))
        workers.submit(1, 1)
        assert workers.wait(0.3) == []
        (tmp_path / "go").touch()
        assert [each.key for each in gather(workers, 2)] == [0, 1]


# --- what cannot be done ---------------------------------------------------------------------------------------------


def test_functions_that_cannot_be_sent_or_loaded(cluster):
    lock = threading.Lock()
    with pytest.raises(ValueError, match=r"fun cannot be sent to the Dask workers \(.*\); leave out what"):
        DaskWorkers(cluster.address, lambda x: lock and x)

    class Odd:
        def __call__(self, x):
            return x

        def __reduce__(self):
            return __import__, ("no_such_module",)

    with DaskWorkers(cluster.address, Odd()) as workers:
        workers.submit(0, 0)
        with pytest.raises(ValueError, match=r"fun cannot be loaded on the Dask worker tcp://.* \(ModuleNotFoundError"):
            gather(workers, 1)


def test_nobody_answers():
    with pytest.raises(WorkersGone, match=r"The Dask scheduler tcp://127\.0\.0\.1:1 does not answer; is it running\?"):
        DaskWorkers("tcp://127.0.0.1:1", act, patience=0.5)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"source": 3}, "A Dask client, or the address of a scheduler like 'tcp://host:8786', is needed, got 3"),
        ({"fun": 3}, "fun must be callable, got 3"),
        ({"count": 0}, "n_workers must be an integer of at least 1, got 0"),
        ({"timeout": -1}, "timeout must be a positive number"),
        ({"patience": "x"}, "patience must be a number"),
    ],
)
def test_wrong_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        DaskWorkers(**{"source": "tcp://127.0.0.1:1", "fun": act, **arguments})


def test_a_missing_package_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(MissingExtra, match=r"pip install 'boids-opt\[dask\]'"):
        DaskWorkers("tcp://127.0.0.1:1", act)


# --- losses ----------------------------------------------------------------------------------------------------------


def test_a_killed_worker_costs_its_evaluation_and_it_is_not_made_again(cluster, tmp_path):
    with DaskWorkers(cluster.address, act) as workers:
        await_size(workers, 2)
        workers.submit(0, ("count", str(tmp_path / "pids"), ("wait", str(tmp_path / "go"))))
        workers.submit(1, ("wait", str(tmp_path / "go")))
        os.kill(read_pids(tmp_path / "pids", 1)[0], signal.SIGKILL)
        (lost,) = gather(workers, 1)
        assert (lost.key, lost.lost) == (0, True)
        assert lost.error == f"The Dask worker {lost.worker} was lost during the evaluation."
        (tmp_path / "go").touch()
        assert [each.error for each in gather(workers, 1)] == [None]
        await_size(workers, 2)  # the nanny has started another one
        for key in range(4):
            workers.submit(key, key)
        assert [each.value for each in gather(workers, 4)] == [0, 1, 2, 3]
    assert len(read_lines(tmp_path / "pids")) == 1


def test_a_worker_that_hangs_is_restarted(cluster, tmp_path):
    with DaskWorkers(cluster.address, act, timeout=1.0) as workers:
        await_size(workers, 2)
        workers.submit(0, ("count", str(tmp_path / "pids"), "hang"))
        (late,) = gather(workers, 1)
        assert (late.key, late.lost) == (0, False)
        assert late.error == (
            f"The evaluation took longer than 1 s on the Dask worker {late.worker}, which is restarted."
        )
        assert workers.size == 1
        await_size(workers, 2)
        workers.submit(1, 1)
        workers.submit(2, 2)
        assert [each.value for each in gather(workers, 2)] == [1, 2]
    assert len(read_lines(tmp_path / "pids")) == 1


def test_workers_come_and_go(tmp_path):
    port = free_port()
    with DaskCluster() as cluster, DaskWorkers(cluster.address, act, timeout=30.0) as workers:
        # None at first.
        assert workers.size == 0
        workers.submit(0, 0)
        assert workers.wait(0.2) == []
        first = cluster.start_worker("--worker-port", str(port))
        assert [each.value for each in gather(workers, 1)] == [0]
        assert workers.size == 1

        # One that is killed, and followed by another one under the same address before anybody looks.
        workers.submit(1, ("count", str(tmp_path / "pids"), ("wait", str(tmp_path / "go"))))
        read_lines(tmp_path / "pids")
        cluster.kill(first)
        second = cluster.start_worker("--worker-port", str(port))
        with distributed.Client(cluster.address, set_as_default=False) as client:
            former = workers._machines[f"tcp://127.0.0.1:{port}"].directory
            wait_for(
                lambda: any(
                    each["local_directory"] != former
                    for each in client.scheduler_info(n_workers=-1)["workers"].values()
                )
            )
            client.submit(act, 1, key="behind the other").result(60)
        (lost,) = gather(workers, 1)
        assert (lost.key, lost.lost) == (1, True)
        workers.submit(2, 2)
        assert [(each.key, each.value) for each in gather(workers, 1)] == [(2, 2)]
        assert len(read_lines(tmp_path / "pids")) == 1

        # The scheduler is killed, and started again under its address.
        workers.submit(3, ("count", str(tmp_path / "more"), ("wait", str(tmp_path / "go"))))
        workers.submit(4, 4)
        read_lines(tmp_path / "more")
        cluster.kill(cluster.scheduler)
        (lost,) = gather(workers, 1)
        assert (lost.key, lost.lost) == (3, True)
        assert lost.error == f"The connection to the Dask scheduler {cluster.address} was lost during the evaluation."
        assert workers.size == 0
        workers.submit(5, 5)
        cluster.kill(second)
        cluster.start_scheduler()
        cluster.start_worker()
        assert [(each.key, each.value) for each in gather(workers, 2)] == [(4, 4), (5, 5)]
        assert len(read_lines(tmp_path / "more")) == 1

        # One that hangs, without a nanny.
        workers._timeout = 1.0
        workers.submit(6, "hang")
        (late,) = gather(workers, 1)
        assert late.error.endswith("which has no nanny to restart it and is left alone.")
        assert workers.size == 0
        workers.submit(7, 7)
        cluster.start_worker()
        assert [(each.key, each.value) for each in gather(workers, 1)] == [(7, 7)]

        # The scheduler is gone for good.
        workers._patience = 1.0
        workers.submit(8, "hang")
        cluster.kill(cluster.scheduler)
        assert gather(workers, 1)[0].lost
        workers.submit(9, 9)
        with pytest.raises(WorkersGone, match=r"has not answered for 1 s; start it again and continue the run\."):
            gather(workers, 1)


def test_what_an_earlier_run_has_left_behind_is_avoided(cluster, tmp_path):
    with DaskWorkers(cluster.address, act) as earlier:
        await_size(earlier, 2)
        earlier.submit(0, ("count", str(tmp_path / "here"), ("wait", str(tmp_path / "go"))))
        read_lines(tmp_path / "here")
    with DaskWorkers(cluster.address, act) as workers:

        def is_known():
            workers._refresh()
            return sorted(machine.load for machine in workers._machines.values()) == [0, 1]

        wait_for(is_known)
        for key in range(3):
            workers.submit(key, key)
            assert [each.value for each in gather(workers, 1)] == [key]
        (tmp_path / "go").touch()


# --- the rest of the protocol ----------------------------------------------------------------------------------------


def test_cancelling_drops_late_outcomes(cluster, tmp_path):
    with DaskWorkers(cluster.address, act) as workers:
        await_size(workers, 2)
        for key in range(3):
            workers.submit(key, ("wait", str(tmp_path / "go")))
        workers.cancel()
        assert workers.wait() == []
        assert workers.size == 0
        workers.submit(9, 9)
        (tmp_path / "go").touch()
        assert [each.key for each in gather(workers, 1)] == [9]
        await_size(workers, 2)


def test_closing(cluster):
    workers = DaskWorkers(cluster.address, act)
    workers.close()
    workers.close()
    assert workers.wait() == []
    assert workers.size == 0
    with pytest.raises(WorkersGone, match="have been closed"):
        workers.submit(0, 0)


def test_an_interrupt_ends_the_wait_and_nothing_else(cluster, tmp_path):
    with DaskWorkers(cluster.address, act) as workers:
        workers.submit(0, ("wait", str(tmp_path / "go")))
        with interrupted_soon(), pytest.raises(KeyboardInterrupt):
            workers.wait()
        (tmp_path / "go").touch()
        assert [each.error for each in gather(workers, 1)] == [None]


def test_nobody_elses_tasks_count_as_time_of_an_evaluation(cluster, tmp_path):
    with (
        distributed.Client(cluster.address, set_as_default=False) as client,
        DaskWorkers(cluster.address, act, timeout=0.5) as workers,
    ):
        await_size(workers, 2)
        others = [
            client.submit(
                act, ("count", str(tmp_path / "here"), ("wait", str(tmp_path / "go"))), workers=[each], pure=False
            )
            for each in workers._machines
        ]
        read_lines(tmp_path / "here", 2)
        workers.submit(0, 5)
        assert workers.wait(1.5) == []
        (tmp_path / "go").touch()
        assert [each.value for each in gather(workers, 1)] == [5]
        client.gather(others)
