"""Who reads what: pipes, closed streams, JSON."""

from __future__ import annotations

import json
import signal
import subprocess
import sys

import pytest
from cli.support import BOX, Answer, ids, start

from boids.store import Store


def test_nothing_but_json_on_stdout(folder):
    process = start(folder, "run", "MODULE:noisy", *BOX, "--budget", "2", "--method", "random", "--json", "--no-store")
    out, err = process.communicate(timeout=50)
    assert process.returncode == 0
    assert Answer(0, out, err).json["fun"] == 1.0
    for words in ("imported", "from Python", "from a child", "from C"):
        assert words in err


@pytest.mark.parametrize("more", [(), ("--isolate",)])
def test_json_lines(folder, more):
    """One line per evaluation and the end as the last, whatever the objective and its children print."""
    process = start(
        folder, "run", "MODULE:noisy", *BOX, "--budget", "3", "--method", "random", "--json-lines", "--no-store", *more
    )
    out, err = process.communicate(timeout=50)
    assert process.returncode == 0, err
    *lines, last = Answer(0, out, err).json_lines
    assert [(line["evaluation"], line["value"], line["failed"]) for line in lines] == [
        (i, 1.0, False) for i in (1, 2, 3)
    ]
    assert all(set(line) == set(lines[0]) >= {"best", "x", "constraints", "feasible", "times"} for line in lines)
    assert (last["nfev"], last["fun"], last["status"]) == (3, 1.0, "budget")
    assert last["x"] in [line["x"] for line in lines]
    for words in ("imported", "from Python", "from a child", "from C"):
        assert words in err


def test_json_lines_come_while_the_run_goes(folder):
    process = start(
        folder, "run", "MODULE:sleeps_at_4", *BOX, "--budget", "5", "--method", "random", "--json-lines", "--no-store"
    )
    try:
        assert [json.loads(process.stdout.readline())["evaluation"] for _ in range(3)] == [1, 2, 3]
        assert process.poll() is None
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=50)
    finally:
        process.kill()
    assert json.loads(out)["status"] == "interrupted"
    assert process.returncode == 130


def test_a_reader_of_lines_that_goes_away_does_not_end_the_run(folder):
    process = start(
        folder, "run", "MODULE:stops_never", *BOX, "--budget", "30", "--method", "random", "--json-lines",
        "--store", "run.db",
    )  # fmt: skip
    json.loads(process.stdout.readline())
    process.stdout.close()
    assert process.wait(timeout=50) == 141
    assert process.stderr.read() == "imported\n"
    process.stderr.close()
    assert Store("run.db").runs()[0].status == "budget"


def test_a_reader_that_has_seen_enough(folder):
    process = start(folder, "methods", "boids")
    process.stdout.close()
    assert process.wait(timeout=50) == 141
    assert process.stderr.read() == ""
    process.stderr.close()


@pytest.mark.parametrize("closed", ["stdout", "stderr"])
def test_a_closed_stream_is_survived(closed, tmp_path):
    """As `>&-` and some daemons leave it."""
    script = f"import sys; sys.{closed} = None; from boids.cli import main; sys.exit(main(sys.argv[1:]))"
    arguments = ["run", "sphere", "--dim", "2", "--budget", "3", "--method", "random"]
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments], cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    assert len(ids(tmp_path / "boids-runs.db")) == 1
