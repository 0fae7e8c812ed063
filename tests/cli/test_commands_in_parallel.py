"""Several evaluations at a time, in processes of this machine: traces, crashes, signals, and what is kept of it all."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest
from cli.support import BOX, QUICK, Answer, ids, kept, start, trace, wait_for
from workers.process_checks import is_gone
from workers.process_checks import wait_for as wait_until

SEARCH = ("--seed", "5", "--set", "n_init=4", *QUICK)
RANDOM = ("--method", "random", "--seed", "1")


def lines(name: str) -> int:
    path = Path(name)
    return path.read_text().count("\n") if path.exists() else 0


def finish(process) -> Answer:
    out, err = process.communicate(timeout=50)
    return Answer(process.returncode, out, err)


def test_batches_depend_on_the_seed_and_not_on_timing(cli, folder):
    arguments = ("run", "MODULE:uneven", *BOX, "--budget", 14, "--workers", 4, *SEARCH)
    first = cli(*arguments, "--json")
    assert (first.code, first.json["workers"], first.json["nfev"]) == (0, 4, 14)
    cli(*arguments, "--quiet")
    cli("run", "MODULE:sphere", *arguments[2:])  # the same values, and other times
    assert trace(run_id=ids()[0]) == trace(run_id=ids()[1]) == trace(run_id=ids()[2])
    alone = cli("run", "MODULE:sphere", *BOX, "--budget", 14, *SEARCH, "--json").json
    assert alone["workers"] == 1
    assert trace(run_id=alone["id"]) != trace(run_id=first.json["id"])


def test_without_batches_the_order_is_recorded(cli, folder):
    answer = cli("run", "MODULE:uneven", *BOX, "--budget", 14, "--workers", 3, "--async", *SEARCH, "--json-lines")
    *told, last = answer.json_lines
    assert answer.code == 0, answer.err
    assert len(told) == last["nfev"] == 14
    assert cli("replay", last["id"]).out == "All 14 proposals were made again exactly.\n"


def test_crashes_and_hangs_are_failed_evaluations(cli, folder):
    # In a process of its own, for pytest would write a long report of the crash.
    line = finish(start(folder, "run", "MODULE:dies", *BOX, "--budget", "6", "--workers", "2", *RANDOM, "--json")).json
    run = kept()
    assert [trial.failed for trial in run.trials] == [trial.params[0] > 0 for trial in run.trials]
    assert 0 < line["failed"] < 6
    line = cli("run", "MODULE:hangs", *BOX, "--budget", 4, "--workers", 4, "--eval-timeout", 1, *RANDOM, "--json").json
    assert line["failed"] == sum(trial.params[0] > 0 for trial in kept().trials) > 0


def test_where_the_first_failure_comes_from(cli, folder):
    answer = cli("run", "MODULE:broken", *BOX, "--workers", 2, "--budget", 3, *RANDOM)
    assert answer.code == 1
    assert "The first failure:" in answer.err
    assert "in broken" in answer.err
    assert "/boids/" not in answer.err


def test_programs_in_parallel(cli, folder):
    program = folder.path / "program"
    program.write_text("#!/bin/sh\necho {trial} > seen\necho $1\n")
    program.chmod(0o755)
    (folder.path / "one.toml").write_text("[parameters]\na = [0, 1]\n")
    arguments = ("--command", "./program {a}", "--space", "one.toml", "--budget", 8, *RANDOM)
    line = cli("run", *arguments, "--workers", 3, "--keep", "all", "--json").json
    assert (line["failed"], line["fun"]) == (0, line["x"]["a"])
    assert len(list(Path("boids-work", line["id"]).iterdir())) == 8


@pytest.mark.parametrize("workers", [(), ("--workers", "3"), ("--workers", "3", "--async")])
def test_a_killed_run_goes_on_where_it_was(cli, folder, workers):
    """kill -9 in the middle of evaluations: nothing finished is lost, what was cut is made again and marked."""
    arguments = ("run", "MODULE:waits", *BOX, "--budget", "7", *SEARCH, *workers)
    count = 3 if workers else 1
    process = start(folder, *arguments)
    try:
        wait_for(process, lambda: lines("begun") == count)
        process.kill()
        process.wait(timeout=50)
    finally:
        process.kill()
        process.communicate()
    (run_id,) = ids()
    (listed,) = cli("runs", "--json").json
    assert (listed["status"], listed["active"], listed["nfev"]) == ("stopped", False, 0)
    assert "The run was cut off before its end." in cli("show", run_id).out
    if os.path.exists("/proc/self/stat") and workers:
        wait_until(lambda: all(is_gone(int(pid)) for pid in Path("begun").read_text().split()))
    Path("go").touch()
    resumed = cli("resume", run_id, "--json")
    assert resumed.code == 0, resumed.err
    assert (resumed.json["nfev"], resumed.json["repeated"], resumed.json["failed"]) == (7, count, 0)
    assert lines("begun") == 7 + count
    if "--async" in workers:
        assert cli("replay", run_id).code == 0
        return
    whole = cli(*arguments, "--json").json
    assert whole["repeated"] == 0
    assert {**resumed.json, **_unlike} == {**whole, **_unlike}
    exported = [json.loads(cli("export", each, "--json").out) for each in (run_id, whole["id"])]
    kept_apart = ("started", "ended", "attempts")
    assert [[{k: v for k, v in row.items() if k not in kept_apart} for row in rows] for rows in exported[:1]] == [
        [{k: v for k, v in row.items() if k not in kept_apart} for row in rows] for rows in exported[1:]
    ]


_unlike = dict.fromkeys(("id", "times", "repeated"))


def test_ctrl_c_ends_a_parallel_run_at_once(cli, folder):
    process = start(folder, "run", "MODULE:waits", *BOX, "--budget", "9", *SEARCH, "--workers", "3")
    try:
        wait_for(process, lambda: lines("begun") == 3)
        process.send_signal(signal.SIGINT)
        answer = finish(process)
    finally:
        process.kill()
    assert answer.code == 130, answer.err
    assert "Traceback" not in answer.err
    (run_id,) = ids()
    assert f"  boids resume {run_id}\n" in answer.out
    assert len(kept().pending) == 3
    if os.path.exists("/proc/self/stat"):
        assert all(is_gone(int(pid)) for pid in Path("begun").read_text().split())
    Path("go").touch()
    resumed = cli("resume", run_id, "--json").json
    assert (resumed["nfev"], resumed["repeated"], resumed["workers"]) == (9, 3, 3)


@pytest.mark.parametrize(
    ("change", "workers"),
    [((), 2), (("--workers", "3"), 3), (("--workers", "1"), 1), (("--async",), 2), (("--workers", "3", "--async"), 3)],
)
def test_a_resumed_run_may_have_other_workers(cli, folder, change, workers):
    limit = ("--budget", 6, "--workers", 2, "--timeout", "1e-9", *RANDOM)
    run_id = cli("run", "MODULE:sphere", *BOX, *limit, "--json").json["id"]
    line = cli("resume", run_id, *change, "--json").json
    assert line["workers"] == workers
    again = cli("resume", run_id, "--json").json  # as it was last
    assert again["workers"] == workers


def test_what_was_under_way_may_count_as_failed(cli, folder):
    assert cli("run", "MODULE:stops_at_4", *BOX, "--budget", 6, *RANDOM).code == 130
    line = cli("resume", "--lost", "fail", "--json").json
    assert (line["nfev"], line["failed"], line["repeated"]) == (6, 1, 0)
    assert "was under way when the run stopped" in kept().trials[3].error


def test_workers_that_cannot_be_what_they_were(cli, folder):
    limit = ("--budget", 6, "--timeout", "1e-9", *RANDOM)
    run_id = cli("run", "MODULE:rows", *BOX, "--vectorized", *limit, "--json").json["id"]
    for change, words in {("--workers", 2): "--vectorized", ("--async",): "--async needs several workers"}.items():
        answer = cli("resume", run_id, *change)
        assert (answer.code, words in answer.err) == (2, True)
