"""A store that cannot be used is one sentence and exit code 2, its file stays as it is, and no evaluation begins."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from cli.support import BOX, Answer, ids, kept, start
from toy_methods import Toy

import boids
from boids.store import Store

RANDOM = ("--method", "random", "--seed", "1")


@pytest.fixture
def run_id(cli):
    """A run in a store, which is unfinished."""
    limits = ("--budget", 9, "--timeout", "1e-9")
    return cli("run", "sphere", "--dim", 2, *limits, *RANDOM, "--json").json["id"]


def each_command(run_id):
    yield "run", "MODULE:sphere", *BOX, "--budget", 2, *RANDOM
    yield "run", "sphere", "--dim", 2, "--from", run_id, "--no-store"
    yield ("runs",)
    for command in ("resume", "show", "export", "replay"):
        yield command, run_id
    yield "delete", run_id, "--yes"


def check(cli, run_id, words, *, path="boids-runs.db", commands=None):
    before = Path(path).read_bytes()
    for command in commands or each_command(run_id):
        answer = cli(*command)
        assert answer.code == 2, command
        (line,) = [line for line in answer.err.splitlines() if line != "imported"]
        assert line.startswith("boids: "), line
        assert words in line, line
        assert answer.out.replace("imported\n", "") == ""
    assert Path(path).read_bytes() == before


def change(path, sql):
    with closing(sqlite3.connect(path)) as db:
        db.execute(sql)
        db.commit()


def test_a_damaged_store(cli, run_id):
    content = bytearray(Path("boids-runs.db").read_bytes())
    place = content.index(b"sphere")
    content[place] ^= 1
    Path("boids-runs.db").write_bytes(content)
    check(cli, run_id, "The store 'boids-runs.db' is damaged")


def test_half_a_store(cli, run_id):
    content = Path("boids-runs.db").read_bytes()
    Path("boids-runs.db").write_bytes(content[: len(content) // 2])
    check(cli, run_id, "is damaged")


def test_a_file_of_another_program(cli, run_id):
    Path("boids-runs.db").unlink()
    change("boids-runs.db", "CREATE TABLE mine (a)")
    check(cli, run_id, "belongs to another program")
    Path("boids-runs.db").write_text("a text\n" * 1000)
    check(cli, run_id, "is not a store of boids")


def test_a_store_of_a_newer_version(cli, run_id):
    change("boids-runs.db", "PRAGMA user_version = 99")
    check(cli, run_id, "was written by a newer boids")


def test_a_store_that_cannot_be_written_can_be_read(cli, run_id, monkeypatch):
    may = os.access
    monkeypatch.setattr(os, "access", lambda path, mode, **more: mode != os.W_OK and may(path, mode, **more))
    writing = [command for command in each_command(run_id) if command[0] in ("resume", "delete")]
    writing.append(("run", "MODULE:sphere", *BOX, "--budget", 2, *RANDOM))
    check(cli, run_id, "read-only", commands=writing)
    for command in (("runs",), ("show", run_id), ("export", run_id), ("replay", run_id)):
        assert cli(*command).code == 0


def test_a_locked_store_can_be_read_but_not_written(cli, run_id, monkeypatch):
    monkeypatch.setitem(Store.__init__.__kwdefaults__, "timeout", 0.1)
    with closing(sqlite3.connect("boids-runs.db", isolation_level=None)) as db:
        db.execute("BEGIN IMMEDIATE")
        for command in (("resume", run_id), ("delete", run_id, "--yes")):
            answer = cli(*command)
            assert (answer.code, "another program has kept it locked" in answer.err) == (2, True)
        assert cli("runs").code == 0
        db.execute("ROLLBACK")
    assert kept(run_id=run_id).n_told == 0
    assert cli("resume", run_id).code == 1  # no time, no success


def test_a_full_disk_ends_the_run_with_everything_before_it_kept(cli, folder):
    """A limit on the size of files stands for the disk: writes fail in the same way."""
    Path("full.py").write_text(
        "import os, resource\n"
        "def f(x):\n"
        "    with open('calls', 'a') as file: file.write('x')\n"
        "    if os.path.getsize('calls') == 5:\n"
        "        size = os.path.getsize('boids-runs.db-wal')\n"
        "        resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))\n"
        "    return float(x @ x)\n"
    )
    arguments = ("run", "full:f", *BOX, "--budget", "12", *RANDOM, "--json")
    process = start(folder, *arguments)
    out, err = process.communicate(timeout=50)
    answer = Answer(process.returncode, out, err)
    assert answer.code == 2, err
    line = answer.json
    assert line["status"] == "store"
    assert 4 <= line["nfev"] <= 5  # the last one is known to the run, but may not be to the store
    (run_id,) = ids()
    *_, resume, message = err.splitlines()
    assert resume == f"continue with: boids resume {run_id}"
    assert message.startswith("boids: The store 'boids-runs.db' cannot be written: ")
    assert kept().n_told >= 4

    resumed = cli("resume", run_id, "--json")
    assert (resumed.code, resumed.json["nfev"], resumed.json["status"]) == (0, 12, "budget")
    whole = cli(*arguments).json
    assert (resumed.json["x"], resumed.json["fun"]) == (whole["x"], whole["fun"])


def test_a_run_of_a_method_that_is_not_known(cli, folder):
    method = Toy(lambda state, history, pending, rng: rng.uniform(-1, 1, 2))
    optimizer = boids.Optimizer([(0, 1)] * 2, budget=4, method=method, seed=0, store="boids-runs.db", run_id="toy")
    optimizer.tell(optimizer.ask(), 1.0)
    optimizer.close("interrupted")
    for command in ("show", "replay"):
        answer = cli(command, "toy")
        assert answer.code == 2
        assert "is not one of boids' own" in answer.err
    assert cli("export", "toy").out.count("\n") == 2
    assert "boids.minimize(…" in cli("resume", "toy").err
