"""Evaluations in own processes: several at a time, and whatever a function does, it does not take the others down."""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
import time
from multiprocessing import connection
from pathlib import Path

import numpy as np
import pytest
from workers.process_checks import LONG, act, gather, interrupted_soon, is_gone, note, read_lines, read_pids, wait_for

from boids.errors import BoidsError
from boids.isolation.surroundings import resident_memory
from boids.program import Program
from boids.records import Measurement
from boids.workers import Evaluation, ProcessWorkers, Workers, WorkersGone, process_workers

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")


def one(workers: Workers, params) -> Evaluation:
    """Make a single evaluation."""
    workers.submit(0, params)
    (evaluation,) = gather(workers, 1)
    return evaluation


# --- what comes back -------------------------------------------------------------------------------------------------


def test_values_come_back_by_key():
    offset = 0.5
    with ProcessWorkers(lambda x: float(x @ x) + offset, 2) as workers:
        for key in range(7):
            workers.submit(key, np.array([float(key), 1.0]))
        found = gather(workers, 7)
    assert [each.key for each in found] == list(range(7))
    assert [each.value for each in found] == [key**2 + 1.5 for key in range(7)]
    assert all(each.error is None and not each.lost and each.seconds >= 0.0 for each in found)
    assert {each.worker.split()[0] for each in found} == {"process"}
    assert 1 <= len({each.worker for each in found}) <= 2


def test_objects_come_back():
    values = [3.0, {"a": 1}, (1.0, [2.0]), Measurement(1.0, (0.5,), 0.1), None, "x" * 1_000_000]
    with ProcessWorkers(act, 1) as workers:
        assert [one(workers, value).value for value in values] == values


def test_evaluations_go_on_at_the_same_time(tmp_path):
    def meet(key):
        note(tmp_path / "here", key)
        wait_for(lambda: len(read_lines(tmp_path / "here")) == 3)
        return key

    with ProcessWorkers(meet, 3) as workers:
        assert workers.size == 3
        for key in range(3):
            workers.submit(key, key)
        assert len({each.worker for each in gather(workers, 3)}) == 3


def test_waiting_ends_after_the_timeout_and_without_anything_to_wait_for():
    with ProcessWorkers(act, 1) as workers:
        assert workers.wait() == []
        workers.submit(0, "hang")
        assert workers.wait(0.05) == []
        assert workers.wait(0.0) == []


@pytest.mark.parametrize(
    ("point", "message"),
    [
        ("raise", "ValueError: bad mesh"),
        ("sys.exit", "SystemExit: no licence"),
        ("interrupt", "KeyboardInterrupt"),
        ("lambda", "The function returned a function, which cannot be passed between processes"),
    ],
)
def test_errors_of_the_function_cost_one_evaluation_and_no_worker(point, message):
    with ProcessWorkers(act, 1) as workers:
        pid = one(workers, "pid").value
        failed = one(workers, point)
        assert failed.error.startswith(message)
        assert (failed.value, failed.lost, failed.worker) == (None, False, f"process {pid}")
        assert point != "raise" or 'raise ValueError("bad mesh")' in failed.details
        assert one(workers, "pid").value == pid


@pytest.mark.parametrize(
    ("point", "message"),
    [
        ("segfault", "The process of the evaluation was killed by signal SEGV."),
        ("exit", "The process of the evaluation ended with exit code 3."),
        (
            "kill",
            "The process of the evaluation was killed by signal KILL (which the system sends when memory runs out).",
        ),
    ],
)
def test_a_crash_costs_one_evaluation_and_the_others_go_on(tmp_path, point, message):
    with ProcessWorkers(act, 2) as workers:
        workers.submit(0, ("wait", str(tmp_path / "go")))
        workers.submit(1, point)
        workers.submit(2, "pid")
        first, second = gather(workers, 2)
        (tmp_path / "go").touch()
        (other,) = gather(workers, 1)
    assert (first.key, first.error, first.lost) == (1, message, False)
    assert (second.key, second.worker) == (2, f"process {second.value}")
    assert first.worker.startswith("process ")
    assert first.worker != second.worker
    assert (other.key, other.error) == (0, None)


def test_a_lost_keeper_is_a_lost_evaluation(tmp_path):
    def fun(x):
        note(tmp_path / "pids", os.getpid(), os.getppid())
        return act(x)

    with ProcessWorkers(fun, 1) as workers:
        workers.submit(0, "hang")
        worker, keeper = read_pids(tmp_path / "pids", 2)
        os.kill(keeper, signal.SIGKILL)
        (lost,) = gather(workers, 1)
        assert (lost.lost, lost.error) == (True, "The process of the evaluation is lost.")
        wait_for(lambda: is_gone(worker))
        assert one(workers, 1).value == 1


def test_a_worker_that_dies_while_idle_costs_nothing():
    with ProcessWorkers(act, 1) as workers:
        pid = one(workers, "pid").value
        os.kill(pid, signal.SIGKILL)
        assert one(workers, "pid").value != pid


def test_a_hang_is_ended_and_the_others_go_on(tmp_path):
    def fun(x):
        if x == "stubborn":
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            note(tmp_path / "pids", os.getpid())
            act("hang")
        return act(x)

    with ProcessWorkers(fun, 3, timeout=1.0) as workers:
        for key, point in enumerate(["stubborn", "hang", "pid"]):
            workers.submit(key, point)
        found = gather(workers, 3)
        assert [each.error for each in found if each.key != 2] == [
            "The evaluation took longer than 1 s and was ended."
        ] * 2
        assert found[2].error is None
        assert all(map(is_gone, read_pids(tmp_path / "pids", 1)))
        assert one(workers, 1).value == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"fun": 3}, "fun must be callable, got 3"),
        ({"count": 0}, "n_workers must be an integer of at least 1, got 0"),
        ({"count": 2.0}, "n_workers must be an integer"),
        ({"timeout": 0}, "timeout must be a positive number of seconds, or None, got 0"),
        ({"timeout": math.inf}, "timeout must be"),
        ({"start_method": "thread"}, "start_method must be 'fork' or 'spawn', got 'thread'"),
    ],
)
def test_wrong_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        ProcessWorkers(**{"fun": act, "count": 1, **arguments})


# --- what functions do to their process ------------------------------------------------------------------------------


def test_every_evaluation_begins_in_the_same_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def wander(x):
        begun = os.getcwd()
        os.chdir("/")
        return act(x) and begun

    for method, fun in (("fork", wander), ("spawn", os.chdir)):
        with ProcessWorkers(fun, 1, start_method=method) as workers:
            monkeypatch.chdir("/")  # of no effect there
            if method == "fork":
                one(workers, "exit")
                assert [one(workers, 1).value for _ in range(3)] == [str(tmp_path)] * 3
            else:
                (tmp_path / "inner").mkdir()
                assert [one(workers, "inner").error for _ in range(2)] == [None, None]
            monkeypatch.chdir(tmp_path)


def test_a_folder_that_is_gone_is_a_clear_error(tmp_path, monkeypatch):
    folder = tmp_path / "folder"
    folder.mkdir()
    monkeypatch.chdir(folder)
    with ProcessWorkers(act, 1) as workers:
        monkeypatch.chdir(tmp_path)
        folder.rmdir()
        assert "FileNotFoundError" in one(workers, 1).error
        folder.mkdir()
        assert one(workers, 1).value == 1


def test_a_forked_child_that_returns_does_not_answer(tmp_path):
    def fun(x):
        child = os.fork()
        if child == 0:
            note(tmp_path / "children", os.getpid())
            match x:
                case "exit":
                    sys.exit(7)
                case "raise":
                    raise ValueError("in the child")
            return "child"
        _, status = os.waitpid(child, 0)
        return os.waitstatus_to_exitcode(status)

    with ProcessWorkers(fun, 1) as workers:
        for point, code in [("return", 0), ("exit", 7), ("raise", 1), ("return", 0)]:
            assert one(workers, point).value == code
        assert workers.wait(0.0) == []
    assert all(map(is_gone, read_pids(tmp_path / "children", 4)))


def test_output_goes_where_the_callers_goes_also_after_it_was_closed(tmp_path):
    code = """
import os, sys
from boids.workers import ProcessWorkers
def fun(x):
    print("worker", x)
    if x == 1:
        sys.stdout.close()
    elif x == 2:
        sys.stdout.flush()
        os.close(1)
        os.close(2)
    elif x == 3:
        sys.stdout = None
    return x
print("caller")
with ProcessWorkers(fun, 1) as workers:
    for key in range(5):
        workers.submit(key, key)
        (evaluation,) = workers.wait(60.0)
        if evaluation.error:
            print(evaluation.details)
print("caller again")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    # The line of the evaluation that closes the stream without a flush: closing writes it.
    expected = ["caller", *(f"worker {key}" for key in range(5)), "caller again"]
    assert (done.stdout.splitlines(), done.stderr) == (expected, "")


def test_a_worker_that_leaks_is_replaced():
    kept = []

    def leak(size):
        kept.append(np.ones(size // 8))
        return len(kept)

    small, big = 10 * 2**20, 2 * resident_memory()
    with ProcessWorkers(leak, 1, memory_growth=2 * small) as workers:
        assert [one(workers, size).value for size in (0, small, big, 0, 0)] == [1, 2, 3, 1, 2]
    with ProcessWorkers(leak, 1, memory_growth=4 * big) as workers:
        assert [one(workers, size).value for size in (0, big, 0)] == [1, 2, 3]


def test_workers_draw_different_random_numbers(tmp_path):
    def draw(key):
        note(tmp_path / "here", key)
        wait_for(lambda: len(read_lines(tmp_path / "here")) == 2)
        return float(np.random.random())  # noqa: NPY002 - what is tested

    with ProcessWorkers(draw, 2) as workers:
        workers.submit(0, 0)
        workers.submit(1, 1)
        first, second = gather(workers, 2)
    assert first.value != second.value


def test_a_value_that_cannot_be_read_is_a_failure():
    def fun(_):
        module = type(sys)("made_up")
        exec("class Odd: pass", module.__dict__)
        sys.modules["made_up"] = module
        return module.Odd()

    with ProcessWorkers(fun, 1) as workers:
        failed = one(workers, 0)
        assert failed.error.startswith("The function returned something that cannot be read here (ModuleNotFoundError")
        assert one(workers, 0).worker == failed.worker


# --- nothing is left running -----------------------------------------------------------------------------------------


def family(folder: Path):
    """An objective that starts a child, one in another session, and hangs."""

    def fun(x):
        child = os.fork()
        if child == 0:
            time.sleep(LONG)
        other = subprocess.Popen(["sleep", str(LONG)], start_new_session=True)
        note(folder / "pids", os.getpid(), os.getppid(), child, other.pid)
        return act(x)

    return fun


@pytest.mark.parametrize("ending", ["exit", "hang", "cancel", "close"])
def test_what_a_function_has_started_ends_with_its_process(tmp_path, ending):
    timeout = 1.0 if ending == "hang" else None
    with ProcessWorkers(family(tmp_path), 1, timeout=timeout) as workers:
        workers.submit(0, "exit" if ending == "exit" else "hang")
        worker, keeper, *children = read_pids(tmp_path / "pids", 4)
        match ending:
            case "cancel":
                workers.cancel()
            case "close":
                workers.close()
            case _:
                assert gather(workers, 1)[0].error
        assert all(map(is_gone, [worker, *children]))
        assert is_gone(keeper) == (ending == "close")


@pytest.mark.parametrize("ending", ["hang", "close"])
def test_external_programs_end_with_the_worker(tmp_path, monkeypatch, ending):
    monkeypatch.chdir(tmp_path)  # where the program's files go
    script = f"echo $$ >> {tmp_path / 'pids'}; sleep {LONG}"
    program = Program(["sh", "-c", script, "--", "{x}"])
    with ProcessWorkers(program, 1, timeout=1.5 if ending == "hang" else None) as workers:
        workers.submit(0, {"x": 1.0})
        pids = read_pids(tmp_path / "pids", 1)
        if ending == "hang":
            assert "took longer than 1.5 s" in gather(workers, 1)[0].error
        else:
            workers.close()
        wait_for(lambda: all(map(is_gone, pids)))


CALLER = """
import os, signal, sys
from boids.workers import ProcessWorkers
from pathlib import Path
signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job of a shell ignores it from birth
sys.path.insert(0, sys.argv[1])
from workers.test_process_workers import family
workers = ProcessWorkers(family(Path(".")), 2, start_method=None)
workers.submit(0, "hang")
workers.submit(1, "hang")
workers.submit(2, "hang")
try:
    workers.wait()
except KeyboardInterrupt:
    if sys.argv[2] == "rudely":
        os._exit(42)  # without any cleaning up
    workers.close()
    sys.exit(43)
"""


@pytest.mark.parametrize(
    ("number", "manner", "code"),
    [(signal.SIGINT, "rudely", 42), (signal.SIGINT, "politely", 43), (signal.SIGKILL, "", -9)],
)
def test_however_the_caller_ends_nothing_is_left(tmp_path, number, manner, code):
    tests = str(Path(__file__).parents[1])
    caller = subprocess.Popen([sys.executable, "-c", CALLER, tests, manner], cwd=tmp_path)
    pids = read_pids(tmp_path / "pids", 8)
    caller.send_signal(number)
    assert caller.wait(60) == code
    wait_for(lambda: all(map(is_gone, pids)))


SPAWNING = """
import time
from boids.workers import ProcessWorkers
if __name__ == "__main__":
    workers = ProcessWorkers(time.sleep, 2, start_method="spawn")
    print(*(slot.host.pid for slot in workers._slots), flush=True)
    workers.submit(0, 600.0)
    workers.wait()
"""


def test_spawned_workers_end_with_the_caller(tmp_path):
    (tmp_path / "script.py").write_text(SPAWNING)
    with subprocess.Popen([sys.executable, "script.py"], cwd=tmp_path, stdout=subprocess.PIPE) as caller:
        pids = [int(word) for word in caller.stdout.readline().split()]
        assert len(pids) == 2
        caller.kill()
    wait_for(lambda: all(map(is_gone, pids)))


def test_being_forgotten_ends_everything():
    workers = ProcessWorkers(act, 2)
    pids = [one(workers, "pid").value for _ in range(2)]
    del workers
    wait_for(lambda: all(map(is_gone, pids)))


# --- the rest of the protocol ----------------------------------------------------------------------------------------


def test_cancelling_forgets_everything_and_the_workers_stay_usable():
    with ProcessWorkers(act, 2) as workers:
        for key in range(5):
            workers.submit(key, "hang")
        workers.cancel()
        assert workers.wait() == []
        workers.submit(9, 1)
        assert [each.key for each in gather(workers, 1)] == [9]


def test_closing():
    workers = ProcessWorkers(act, 1)
    workers.submit(0, "hang")
    workers.close()
    workers.close()
    assert workers.wait() == []
    with pytest.raises(WorkersGone, match="have been closed") as caught:
        workers.submit(1, 1)
    assert isinstance(caught.value, BoidsError)


def test_an_interrupt_ends_the_wait_and_nothing_else(tmp_path):
    with ProcessWorkers(act, 1) as workers:
        workers.submit(0, ("wait", str(tmp_path / "go")))
        with interrupted_soon(), pytest.raises(KeyboardInterrupt):
            workers.wait()
        (tmp_path / "go").touch()
        assert [each.error for each in gather(workers, 1)] == [None]


def test_waiting_does_not_spin(tmp_path, monkeypatch):
    looks = []

    def look(*arguments):
        looks.append(arguments)
        return connection.wait(*arguments)

    monkeypatch.setattr(process_workers, "wait", look)
    with ProcessWorkers(act, 2, timeout=LONG) as workers:
        workers.submit(0, ("sleep", 0.5))
        assert len(workers.wait()) == 1
    assert len(looks) <= 2


def test_spawned_workers():
    with ProcessWorkers(os._exit, 2, start_method="spawn") as workers:
        workers.submit(3, 3)
        workers.submit(4, 4)
        assert [each.error for each in gather(workers, 2)] == [
            f"The process of the evaluation ended with exit code {code}." for code in (3, 4)
        ]
    with pytest.raises(ValueError, match="cannot be sent to a new process"):
        ProcessWorkers(lambda x: x, 2, start_method="spawn")


def test_a_slip_of_the_finger_starts_no_million_processes():
    with pytest.raises(ValueError, match="n_workers must be at most 1000"):
        ProcessWorkers(abs, 10**6)
