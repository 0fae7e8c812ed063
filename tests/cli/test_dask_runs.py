"""Runs on a real Dask cluster whose workers were started in another folder."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

import pytest
from cli.support import BOX, Answer, ids, kept, start, trace, wait_for

pytest.importorskip("distributed")
from workers.dask_cluster import DaskCluster

RANDOM = ("--method", "random", "--seed", "1")

#: Reads a file beside it, and says in which process it ran.
SIMULATOR = """
import json, pathlib, sys
point = json.load(open(sys.argv[1]))
offset = float(pathlib.Path(sys.argv[3]).read_text())
json.dump({"value": offset + sum(point["x"])}, open(sys.argv[2], "w"))
"""


@pytest.fixture(scope="module")
def cluster():
    with DaskCluster() as cluster:
        cluster.start_worker()
        cluster.start_worker()
        yield cluster


def run(folder, *arguments) -> Answer:
    process = start(folder, *map(str, arguments))
    try:
        out, err = process.communicate(timeout=100)
    finally:
        process.kill()
    return Answer(process.returncode, out, err)


def test_a_program_with_relative_paths(folder, cli, cluster):
    Path("sim.py").write_text(SIMULATOR)
    Path("data").mkdir()
    Path("data/offset.txt").write_text("100")
    command = f"{sys.executable} -I -S sim.py {{input}} {{output}} data/offset.txt"
    arguments = ("--command", command, *BOX, "--budget", 8, *RANDOM, "--json")
    answer = run(folder, "run", *arguments, "--dask", cluster.address, "--workers", 2, "--keep", "all")
    assert answer.code == 0, answer.err
    line = answer.json
    assert (line["failed"], line["workers"]) == (0, 2)
    assert line["fun"] == pytest.approx(100 + sum(line["x"]))
    assert len(list(Path("boids-work", line["id"]).iterdir())) == 8
    assert trace(run_id=line["id"]) == trace(run_id=cli("run", *arguments).json["id"])


def test_a_function_is_imported_anew_for_every_run(folder, cluster):
    """From the folder of the run, in which it is called; also if the file has changed since the last run."""
    Path("offset.txt").write_text("7")
    Path("mine.py").write_text(
        "import mine_helper\ndef f(x):\n    return mine_helper.value() + float(open('offset.txt').read())\n"
    )
    for value in (10, 2000):
        Path("mine_helper.py").write_text(f"def value():\n    return {value}\n")
        answer = run(folder, "run", "mine:f", *BOX, "--budget", 4, *RANDOM, "--dask", cluster.address, "--json")
        assert answer.code == 0, answer.err
        assert (answer.json["workers"], answer.json["fun"]) == (2, 7 + value)


def test_a_function_that_workers_cannot_have(folder, cli, cluster):
    """The run ends with one sentence, and can be resumed."""
    Path("picky.py").write_text(
        "import sys\n"
        "if 'distributed' in sys.modules: raise RuntimeError('no licence here')\n"
        "def f(x): return float(x @ x)\n"
    )
    answer = run(folder, "run", "picky:f", *BOX, "--budget", 4, *RANDOM, "--dask", cluster.address, "--json", "--async")
    assert answer.code == 2
    assert answer.json["status"] == "workers"
    *_, resume, message = answer.err.splitlines()
    (run_id,) = ids()
    assert resume == f"continue with: boids resume {run_id}"
    assert "no licence here" in message
    assert kept().n_told == 0
    assert len(kept().pending) == 2
    resumed = run(folder, "resume", run_id, "--workers", 2, "--json")
    assert (resumed.code, resumed.json["nfev"], resumed.json["repeated"]) == (0, 4, 2)


def test_a_problem_and_a_file_of_the_scheduler(folder, cluster):
    Path("scheduler.json").write_text(f'{{"address": "{cluster.address}"}}')
    answer = run(folder, "run", "ackley", "--dim", 3, "--budget", 5, *RANDOM, "--dask", "scheduler.json", "--json")
    assert (answer.code, answer.json["failed"]) == (0, 0)


def test_a_scheduler_that_is_not_there(cli, folder, monkeypatch):
    monkeypatch.setattr("boids.workers.dask_workers._FIRST_ATTEMPT", 0.5)
    answer = cli("run", "sphere", "--dim", 2, "--budget", 3, *RANDOM, "--dask", "tcp://127.0.0.1:9")
    assert answer.code == 2
    assert "does not answer; is it running?" in answer.err
    assert not list(folder.path.glob("*.db"))


def test_a_lost_worker_and_a_killed_driver(folder, cli):
    """A worker dies, another one comes, the driver is killed: nothing is lost, and what was begun again is marked."""
    Path("slow").write_text(
        f"#!/bin/sh\necho $$ >> '{folder.path}/begun'\n"
        f"while [ ! -e '{folder.path}/go' ]; do sleep 0.02; done\necho $1\n"
    )
    Path("slow").chmod(0o755)
    Path("one.toml").write_text("[parameters]\na = [0, 1]\n")
    arguments = ("--command", "./slow {a}", "--space", "one.toml", "--budget", 6, *RANDOM, "--workers", 2, "--json")
    with DaskCluster() as cluster:
        workers = [cluster.start_worker(), cluster.start_worker()]
        process = start(folder, *map(str, ("run", *arguments, "--dask", cluster.address)))
        try:
            wait_for(process, lambda: begun() == 2)
            cluster.kill(workers[0])
            cluster.start_worker()
            wait_for(process, lambda: begun() == 3)
            process.kill()
            process.wait(timeout=50)
        finally:
            process.kill()
            process.communicate()
        (run_id,) = ids()
        assert cli("runs", "--json").json[0]["repeated"] == 1
        Path("go").touch()
        resumed = run(folder, "resume", run_id, "--json")
        assert resumed.code == 0, resumed.err
        assert (resumed.json["nfev"], resumed.json["failed"], resumed.json["repeated"]) == (6, 0, 2)
    assert begun() == 6 + 3  # one for the worker, two for the driver
    assert trace(run_id=run_id) == trace(run_id=cli("run", *arguments).json["id"])


def begun() -> int:
    path = Path("begun")
    return path.read_text().count("\n") if path.exists() else 0


def test_ctrl_c_does_not_wait_for_the_cluster(folder, cluster):
    Path("hanging.py").write_text(
        "import os, time\n"
        "def f(x):\n"
        "    open('begun', 'a').write('x\\n')\n"
        "    while not os.path.exists('go'): time.sleep(0.02)\n"
        "    return float(x @ x)\n"
    )
    process = start(
        folder, "run", "hanging:f", *BOX, "--budget", "6", *RANDOM, "--dask", cluster.address, "--json", "--async"
    )
    try:
        wait_for(process, lambda: begun() == 2)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=50)
    finally:
        process.kill()
        Path("go").touch()  # or the workers would wait for ever
    assert (process.returncode, "Traceback" in err) == (130, False), err
    assert Answer(130, out, err).json["status"] == "interrupted"
    assert len(kept().pending) == 2
