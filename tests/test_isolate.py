"""Functions in a process of their own: values and errors come back, crashes and hangs end there, nothing is left."""

from __future__ import annotations

import gc
import math
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from workers.process_checks import LONG, act, is_gone, read_pids, wait_for

from boids.errors import BoidsError
from boids.isolation import EvaluationError, Isolated, isolate
from boids.records import Measurement

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")


def note_pids(path: Path, *pids: int) -> None:
    path.with_suffix(".new").write_text("".join(f"{pid}\n" for pid in pids))
    path.with_suffix(".new").rename(path)


def who(_) -> tuple[int, int]:
    """The process ids of the worker and of its keeper."""
    return os.getpid(), os.getppid()


# --- what comes back -------------------------------------------------------------------------------------------------


def test_values_come_back_from_another_process():
    offset = 0.5
    with isolate(lambda x: float(x @ x) + offset) as fun:
        assert fun(np.array([1.0, 2.0])) == 5.5
    with isolate(act) as fun:
        for value in (3.0, {"a": 1}, (1.0, [2.0]), Measurement(1.0, (0.5,), 0.1), None, "x" * 1_000_000):
            assert fun(value) == value
        assert math.isnan(fun(math.nan))


def test_the_process_is_another_and_is_used_again():
    with isolate(who) as fun:
        worker, keeper = fun(0)
        assert len({worker, keeper, os.getpid()}) == 3
        assert fun(1) == (worker, keeper)


def test_state_stays_in_the_process():
    calls = []
    with isolate(lambda x: calls.append(x) or len(calls)) as fun:
        assert [fun(i) for i in range(3)] == [1, 2, 3]
    assert calls == []


@pytest.mark.parametrize(
    ("point", "message"),
    [
        ("raise", "ValueError: bad mesh"),
        ("sys.exit", "SystemExit: no licence"),
        ("interrupt", "KeyboardInterrupt"),
        ("lambda", "The function returned a function, which cannot be passed between processes"),
    ],
)
def test_errors_of_the_function_come_back_as_text(point, message):
    with isolate(lambda x: os.getpid() if x == "who" else act(x)) as fun:
        worker = fun("who")
        with pytest.raises(EvaluationError) as caught:
            fun(point)
        assert str(caught.value).startswith(message)
        assert fun("who") == worker
    assert isinstance(caught.value, BoidsError)
    copy = pickle.loads(pickle.dumps(caught.value))
    assert (str(copy), copy.__notes__) == (str(caught.value), caught.value.__notes__)
    if point == "raise":
        assert 'raise ValueError("bad mesh")' in caught.value.__notes__[0]


@pytest.mark.parametrize(
    ("point", "message"),
    [
        ("segfault", "The process of the evaluation was killed by signal SEGV."),
        ("exit", "The process of the evaluation ended with exit code 3."),
        ("kill", "The process of the evaluation was killed by signal KILL (which the system sends when memory runs "),
    ],
)
def test_a_crash_costs_one_evaluation(point, message):
    with isolate(lambda x: who(x) if x == "who" else act(x)) as fun:
        worker, keeper = fun("who")
        for _ in range(2):
            with pytest.raises(EvaluationError) as caught:
                fun(point)
            assert str(caught.value).startswith(message)
        next_worker, next_keeper = fun("who")
        assert next_worker != worker
        assert next_keeper == keeper


def test_a_hang_is_ended():
    with isolate(lambda x: who(x) if x == "who" else act(x), timeout=1.0) as fun:
        worker, _ = fun("who")
        with pytest.raises(EvaluationError, match=r"^The evaluation took longer than 1 s and was ended\.$"):
            fun("spin")
        assert is_gone(worker)
        assert fun("who")[0] != worker


def test_a_long_limit_is_no_problem():
    with isolate(act, timeout=1e12) as fun:
        assert fun(1) == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"fun": 3}, "fun must be callable, got 3"),
        ({"timeout": 0}, "timeout must be a positive number of seconds, or None, got 0"),
        ({"timeout": math.inf}, "timeout must be"),
        ({"timeout": "1"}, "timeout must be a number"),
        ({"start_method": "thread"}, "start_method must be 'fork' or 'spawn', got 'thread'"),
    ],
)
def test_wrong_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        isolate(**{"fun": act, **arguments})


# --- the surroundings ------------------------------------------------------------------------------------------------


def test_threads_and_their_locks_do_no_harm():
    lock = threading.Lock()

    def fun(x):
        with lock:
            return act(x)

    stop = threading.Event()
    thread = threading.Thread(target=stop.wait)
    with isolate(fun, timeout=LONG) as isolated:
        thread.start()
        with lock:  # a worker that was forked from here would wait for it forever
            with pytest.raises(EvaluationError, match="exit code 3"):
                isolated("exit")
            assert isolated(1) == 1
    with isolate(fun) as isolated:  # with threads from the start
        assert isolated(1) == 1
    stop.set()
    thread.join()


def test_threads_take_turns():
    running = []

    def fun(x):
        running.append(x)
        time.sleep(0.001)
        return running.pop(), len(running)

    with isolate(fun) as isolated, ThreadPoolExecutor(4) as pool:
        assert list(pool.map(isolated, range(40))) == [(i, 0) for i in range(40)]


def test_signals_have_their_usual_effect_in_the_worker():
    former = signal.signal(signal.SIGTERM, lambda *_: None)
    try:
        with isolate(lambda number: signal.getsignal(number)) as fun:
            assert fun(signal.SIGTERM) == signal.SIG_DFL
            assert fun(signal.SIGINT) == signal.SIG_DFL
    finally:
        signal.signal(signal.SIGTERM, former)


def test_the_worker_has_no_terminal():
    with isolate(lambda _: (sys.stdin.read(), os.getsid(0) == os.getppid())) as fun:
        assert fun(0) == ("", True)


def test_output_is_written_once_and_in_time():
    code = """
from boids.isolation import isolate
print("caller")
with isolate(lambda x: print("worker", x)) as fun:
    fun(1)
    fun(2)
    print("caller again")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("caller\nworker 1\nworker 2\ncaller again\n", "")


def test_every_evaluation_begins_in_the_same_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def wander(_):
        begun = os.getcwd()
        os.chdir("/")
        return begun

    with isolate(wander) as fun:
        monkeypatch.chdir("/")
        assert [fun(0), fun(1)] == [str(tmp_path)] * 2


def test_a_forked_child_that_returns_does_not_answer():
    def fork(_):
        child = os.fork()
        return "child" if child == 0 else os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

    with isolate(fork) as fun:
        assert [fun(0), fun(1)] == [0, 0]


def test_a_copy_for_another_process_has_its_own_worker():
    with isolate(who, timeout=5.0) as fun:
        copy = pickle.loads(pickle.dumps(fun))
        with copy:
            assert isinstance(copy, Isolated)
            assert copy.timeout == 5.0
            assert not set(copy(0)) & set(fun(0))


def test_a_forked_process_cannot_use_it_by_mistake():
    with isolate(act) as fun:

        def misuse(_):
            try:
                return fun(1)
            finally:
                fun.close()  # of no effect there

        with isolate(misuse) as outer, pytest.raises(EvaluationError, match="belongs to another process"):
            outer(0)
        assert fun(1) == 1


# --- nothing is left running -----------------------------------------------------------------------------------------


def start_child(path: Path) -> None:
    """Start a process that stays, without any connection of its own, and note its process id."""
    pid = os.fork()
    if pid == 0:
        time.sleep(LONG)
        os._exit(0)
    note_pids(path, pid)


@pytest.mark.parametrize("ending", ["hang", "exit"])
def test_what_the_function_has_started_ends_with_it(tmp_path, ending):
    def fun(x):
        start_child(tmp_path / "pid")
        return act(x)

    timeout = 1.0 if ending == "hang" else None  # a crash is noticed though the child has a copy of the connection
    with isolate(fun, timeout=timeout) as isolated, pytest.raises(EvaluationError):
        isolated(ending)
    (child,) = read_pids(tmp_path / "pid", 1)
    assert is_gone(child)


def test_what_has_left_the_group_ends_too(tmp_path):
    def fun(_):
        daemon = subprocess.Popen(["sleep", str(LONG)], start_new_session=True)
        note_pids(tmp_path / "pid", daemon.pid)
        os._exit(3)

    with isolate(fun) as isolated, pytest.raises(EvaluationError, match="exit code 3"):
        isolated(0)
    (daemon,) = read_pids(tmp_path / "pid", 1)
    assert is_gone(daemon)


def test_closing_ends_everything(tmp_path):
    def fun(x):
        start_child(tmp_path / "pid")
        return who(x)

    isolated = isolate(fun)
    worker, keeper = isolated(0)
    isolated.close()
    isolated.close()
    assert all(map(is_gone, [worker, keeper, *read_pids(tmp_path / "pid", 1)]))
    with pytest.raises(EvaluationError, match=r"has been closed; call isolate\(\) again"):
        isolated(0)


def test_closing_one_of_several():
    first, second = isolate(who), isolate(who)  # the second one's processes have copies of the first one's sockets
    pids = first(0)
    assert second(0)
    first.close()
    assert all(map(is_gone, pids))
    assert second(0)
    second.close()


def test_closing_ends_an_evaluation_of_another_thread(tmp_path):
    def fun(x):
        note_pids(tmp_path / "pid", os.getpid())
        return act(x)

    isolated = isolate(fun)
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(isolated, "hang")
        (worker,) = read_pids(tmp_path / "pid", 1)
        isolated.close()
        with pytest.raises(EvaluationError, match="was ended, for the isolated function was closed"):
            future.result(60)
    assert is_gone(worker)


def test_being_forgotten_ends_everything():
    isolated = isolate(who)
    pids = isolated(0)
    del isolated
    gc.collect()
    assert all(map(is_gone, pids))


def test_a_worker_that_dies_between_evaluations_is_replaced():
    with isolate(who) as isolated:
        worker, keeper = isolated(0)
        os.kill(worker, signal.SIGKILL)
        wait_for(lambda: is_gone(worker))
        assert isolated(0)[0] != worker
        os.kill(keeper, signal.SIGKILL)
        wait_for(lambda: is_gone(keeper))
        assert isolated(0)[1] != keeper


CALLER = """
import os, pathlib, signal, sys, time
from boids.isolation import isolate
def fun(x):
    path = pathlib.Path("pids")
    path.with_suffix(".new").write_text(f"{os.getpid()}\\n{os.getppid()}\\n")
    path.with_suffix(".new").rename(path)
    time.sleep(x)
isolated = isolate(fun)
try:
    isolated(float(sys.argv[1]))
except KeyboardInterrupt:
    os._exit(42)  # without any cleaning up
"""


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 42), (signal.SIGKILL, -9), (None, 0)])
def test_however_the_caller_ends_nothing_is_left(tmp_path, number, code):
    seconds = "0" if number is None else str(LONG)
    caller = subprocess.Popen([sys.executable, "-c", CALLER, seconds], cwd=tmp_path)
    pids = read_pids(tmp_path / "pids", 2)
    if number is not None:
        caller.send_signal(number)
    assert caller.wait(60) == code
    wait_for(lambda: all(map(is_gone, pids)))


# --- fresh processes -------------------------------------------------------------------------------------------------


def test_spawned_workers():
    with isolate(os._exit, start_method="spawn") as fun:
        for code in (3, 4):
            with pytest.raises(EvaluationError, match=f"^The process of the evaluation ended with exit code {code}.$"):
                fun(code)
    with isolate(time.sleep, timeout=1.0, start_method="spawn") as fun:
        assert fun(0.0) is None
        with pytest.raises(EvaluationError, match="took longer than 1 s"):
            fun(LONG)
        assert fun(0.0) is None  # the limit does not count the start of a process
        with pytest.raises(EvaluationError, match="TypeError"):
            fun("x")


def test_what_cannot_be_spawned_is_refused():
    with pytest.raises(
        ValueError, match=r"cannot be sent to a new process \(.*\); define it at the top level of a module"
    ):
        isolate(lambda x: x, start_method="spawn")


def test_a_spawning_script_without_a_guard_is_told_so(tmp_path):
    script = tmp_path / "script.py"
    script.write_text("import math\nfrom boids.isolation import isolate\nisolate(math.sqrt, start_method='spawn')\n")
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert "ended with exit code 1 before it could begin" in done.stderr
