"""Processes that are killed, that want the same run, that share a store, that fork, and that run out of room."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from stored_runs import done, empty, head, pending, read_key, snapshot_of, step_key, steps

from boids.errors import StoreError
from boids.store import Store, writing

HERE = Path(__file__).parent
FOR_EVER = 10**9

posix = pytest.mark.skipif(os.name != "posix", reason="needs signals and limits of POSIX")


def carry_out(path, run="run-1", seed=0, count=FOR_EVER, size=200):
    """Start a process that carries out a run."""
    command = [sys.executable, HERE / "writing_process.py", path, run, seed, count, size]
    return subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def python(code, *given):
    """Run code in a new process, and return what it printed."""
    prelude = "import os, signal, sys, resource\nfrom stored_runs import *\nfrom boids.store import Store\n"
    environment = {**os.environ, "PYTHONPATH": str(HERE)}
    command = [sys.executable, "-c", prelude + textwrap.dedent(code), *map(str, given)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@posix
def test_killed_at_any_moment(tmp_path):
    """What was written is there, what was being written is there as a whole or not at all, and it can go on."""
    path, rng, written = tmp_path / "runs.db", np.random.default_rng(3), -1
    for _ in range(6):
        with carry_out(path, size=3000) as process:
            said = process.stdout.readline().strip()
            assert said == "begun", process.stderr.read()
            for _ in range(rng.integers(1, 40)):
                process.stdout.readline()
            time.sleep(rng.uniform(0, 0.003))
            process.kill()
            rest = process.stdout.read().split()
            process.stderr.read()
        assert Store(path).runs()[0].status == "running"
        assert not Store(path).is_active("run-1")
        stored = read_key(Store(path).read("run-1"))
        now = next(number for number, step in enumerate(steps(0, state_size=3000)) if step_key(step) == stored)
        assert now > written
        if len(rest) > 1:  # the last line may have been cut short
            assert now >= int(rest[-2])
        written = now


def test_two_processes_want_the_same_run(tmp_path):
    path = tmp_path / "runs.db"
    with carry_out(path) as process:
        assert process.stdout.readline() == "begun\n"
        store = Store(path)
        assert store.is_active("run-1")
        assert store.runs()[0].active
        who = rf"Run 'run-1' is carried out by process {process.pid} on '.*' since \d\d\d\d-.*; wait until it ends"
        for call in (store.resume, store.delete):
            with pytest.raises(StoreError, match=who):
                call("run-1")
        with carry_out(path) as second:
            said = second.communicate(timeout=60)[1]
        assert second.returncode == 1
        assert f"is carried out by process {process.pid} on" in said
        assert len(store.read("run-1").rows) >= 0  # reading goes on
        process.kill()
        process.communicate()
    stored, writer = store.resume("run-1")
    with writer:
        assert len(stored.rows) == stored.snapshot.asked


def test_several_processes_begin_runs_in_a_new_store(tmp_path):
    """They all find no file, one of them makes it; then each writes to its own run, all at the same time."""
    path = tmp_path / "runs.db"
    processes = [carry_out(path, f"run-{seed}", seed, 60) for seed in range(4)]
    for process in processes:
        said, errors = process.communicate(timeout=120)
        assert process.returncode == 0, errors
        assert said.split() == ["begun", *map(str, range(60))]
    store = Store(path)
    assert sorted(run.id for run in store.runs()) == [f"run-{seed}" for seed in range(4)]
    for seed in range(4):
        *_, last = itertools.islice(steps(seed), 60)
        assert read_key(store.read(f"run-{seed}")) == step_key(last)
    assert sorted(os.listdir(tmp_path)) == ["runs.db", "runs.db-lock"]


def test_reading_while_another_process_writes(tmp_path):
    path = tmp_path / "runs.db"
    keys = {step_key(step): number for number, step in enumerate(itertools.islice(steps(0, state_size=5000), 150))}
    with carry_out(path, count=150, size=5000) as process:
        assert process.stdout.readline() == "begun\n"
        before = -1
        while process.poll() is None:
            run = Store(path).read("run-1")
            now = keys[read_key(run)] if run.rows else -1
            assert now >= before
            before = now
        process.communicate()
    assert keys[read_key(Store(path).read("run-1"))] == 149


@posix
def test_a_forked_child_leaves_the_run_to_its_parent(tmp_path):
    said = python(
        """
        store = Store(sys.argv[1])
        writer = store.create(head(), empty())
        child = os.fork()
        if not child:
            try:
                writer.set_status("by the child")
            except Exception as error:
                print(type(error).__name__, error, flush=True)
            writer.close()
            try:
                Store(sys.argv[1]).runs()
            except Exception as error:
                print("when this process was forked, so it cannot be used here" in str(error), flush=True)
            Store(sys.argv[1] + "2").create(head(), empty()).close()
            sys.exit(0)  # with all that the interpreter does at its end
        assert os.waitpid(child, 0)[1] == 0
        print(store.is_active("run-1"))
        writer.set_status("by the parent")
        writer.write([pending(0, 0)], snapshot_of([pending(0, 0)]))
        writer.close()
        print(store.is_active("run-1"), store.read("run-1").status)
        """,
        tmp_path / "runs.db",
    )
    assert said == [
        "StoreError Run 'run-1' belongs to the parent of this process, so it cannot be written here.",
        "True",
        "True",
        "False by the parent",
    ]


def test_two_journals_of_one_process_do_not_drop_each_others_locks(tmp_path):
    """POSIX drops all locks of a process on a file as soon as it closes any descriptor of it."""
    store = Store(tmp_path / "runs.db")
    first, second = store.create(head("a"), empty()), store.create(head("b"), empty())
    Store(tmp_path / "runs.db").runs()
    second.close()
    look = "store = Store(sys.argv[1])\nprint(store.is_active('a'), store.is_active('b'))"
    assert python(look, tmp_path / "runs.db") == ["True False"]
    first.close()
    assert python(look, tmp_path / "runs.db") == ["False False"]


def test_threads_take_turns(tmp_path):
    store = Store(tmp_path / "runs.db")
    with store.create(head(), empty()) as writer:
        threads = [
            threading.Thread(target=lambda k=k: [writer.set_meta({"by": k, "i": i}) for i in range(20)])
            for k in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert store.read("run-1").meta["i"] == 19


def test_slow_outcomes_wait_for_the_disk_and_quick_ones_do_not(tmp_path, monkeypatch):
    monkeypatch.setattr(writing, "UNSYNCED", 1000.0)
    full, normal = (2,), (1,)
    quick, slow = done(pending(0, 0), 1.0, 1), done(pending(1, 2), 1.0, 3)
    slow = replace(slow, ended=slow.started + 1001.0)
    with Store(tmp_path / "runs.db").create(head(), empty()) as writer:
        found = []
        for rows, snapshot in (
            ([], empty()),  # the first of all
            ([quick], snapshot_of([quick])),
            ([slow], snapshot_of([quick, slow])),
            ([], snapshot_of([quick, slow])),
        ):
            writer.write(rows, snapshot)
            found.append(writer._db.execute("PRAGMA synchronous").fetchone())
        assert found == [full, normal, full, normal]


def test_the_same_write_once_more_changes_nothing(tmp_path):
    """As after an interrupt that came between the write and the word that it was done."""
    store = Store(tmp_path / "runs.db")
    with store.create(head(), empty()) as writer:
        for step in itertools.islice(steps(4), 40):
            for _ in range(2):
                writer.write(step.rows, step.snapshot)
                assert read_key(store.read("run-1")) == step_key(step)


def test_a_store_that_must_not_grow(tmp_path):
    """The write that does not fit changes nothing; the next one that does is written."""
    store = Store(tmp_path / "runs.db")
    with store.create(head(), empty()) as writer:
        (pages,) = writer._db.execute("PRAGMA page_count").fetchone()
        writer._db.execute(f"PRAGMA max_page_count = {pages + 5}")
        big = snapshot_of([pending(0, 0)], bytes(100_000))
        with pytest.raises(StoreError, match="cannot be written: there is no room left on the disk; what was written"):
            writer.write([pending(0, 0)], big)
        assert store.read("run-1").rows == ()
        writer.write([pending(0, 0)], snapshot_of([pending(0, 0)]))
        writer._db.execute("PRAGMA max_page_count = 1000000")
        writer.write([], big)
    assert store.read("run-1").snapshot.state == bytes(100_000)


@posix
def test_a_full_disk(tmp_path):
    """Everything before is kept, the error is one sentence, and with room again the run goes on."""
    said = python(
        """
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        store = Store(sys.argv[1])
        writer = store.create(head(), empty())
        resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, resource.RLIM_INFINITY))
        script = steps(0, state_size=20_000)
        errors = 0
        before = None
        for step in script:
            try:
                writer.write(step.rows, step.snapshot)
            except Exception as error:
                assert read_key(store.read("run-1")) == step_key(before)
                print(type(error).__name__, error)
                break
            before = step
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        writer.write(step.rows, step.snapshot)
        assert read_key(store.read("run-1")) == step_key(step)
        step = next(script)
        writer.write(step.rows, step.snapshot)
        writer.close()
        print(read_key(store.read("run-1")) == step_key(step))
        """,
        tmp_path / "runs.db",
    )
    assert said[1:] == ["True"]
    assert said[0].startswith("StoreError The store ")
    assert said[0].endswith("the disk is full or failing (disk I/O error); what was written before is kept.")


@posix
def test_no_room_for_a_new_store(tmp_path):
    said = python(
        """
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (5000, resource.RLIM_INFINITY))
        try:
            Store(sys.argv[1]).create(head(), empty())
        except Exception as error:
            print(type(error).__name__, "the disk is full or failing" in str(error))
        print(os.listdir(os.path.dirname(sys.argv[1])))
        """,
        tmp_path / "runs.db",
    )
    assert said == ["StoreError True", "['runs.db-lock']"]


@posix
def test_an_interrupt_in_the_middle_of_a_write(tmp_path):
    """Ctrl-C comes through, and leaves the run as it was or as it should be."""
    store = Store(tmp_path / "runs.db")
    keys = [step_key(step) for step in itertools.islice(steps(0, state_size=20_000), 200)]
    writer = store.create(head(), empty())
    old = signal.signal(signal.SIGALRM, signal.default_int_handler)
    number = -1
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.02)
        for number, step in enumerate(itertools.islice(steps(0, state_size=20_000), 200)):  # noqa: B007
            writer.write(step.rows, step.snapshot)
    except KeyboardInterrupt:
        pass
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old)
    writer.set_status("interrupted")
    writer.close()
    run = store.read("run-1")
    assert run.status == "interrupted"
    assert (keys.index(read_key(run)) if run.rows else -1) in (number - 1, number)
