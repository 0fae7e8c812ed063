"""`boids runs | show | export | replay | delete`, on runs of every kind."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from cli.support import BOX, QUICK, ids, kept, start, wait_for

import boids
from boids.cli import shelf
from boids.cli.run_listing import ago

RANDOM = ("--method", "random", "--seed", "1")


@pytest.fixture
def two(cli):
    """Two runs: one that is finished, and one with constraints, failures and a few evaluations left."""
    first = cli("run", "sphere", "--dim", 3, "--budget", 6, *RANDOM, "--json").json["id"]
    Path("odd.py").write_text(
        "def f(p):\n"
        "    if p['count'] > 6: raise RuntimeError('too, \"many\"')\n"
        "    return p['low'] + p['count'], [0.5 - p['low'], -1]\n"
    )
    more = ("--budget", 60, "--seed", 2, "--method", "random", "--patience", 9, "--json")
    second = cli("run", "odd:f", "--space", "space.toml", *more).json["id"]
    return first, second


def test_an_empty_shelf(cli, folder):
    assert cli("runs", "--json").json == []
    answer = cli("runs")
    assert (answer.code, answer.out) == (
        0, "There are no runs in boids-runs.db yet; `boids run` keeps them there.\n"
    )  # fmt: skip
    assert not list(folder.path.glob("*.db*"))


def test_the_list_of_runs(cli, folder, two):
    listed = cli("runs", "--json").json
    assert [each["id"] for each in listed] == list(two)
    for each in listed:
        run = kept(run_id=each["id"])
        assert (each["fun"], each["nfev"], each["failed"]) == (run.best.value, run.n_told, run.n_failed)
        assert (each["dim"], each["budget"], each["seed"]) == (run.space.dim, run.budget, run.seed)
    assert [(each["method"], each["problem"], each["status"]) for each in listed] == [
        ("random", "sphere", "budget"),
        ("random", "odd:f", "stagnation"),
    ]
    assert listed[1]["failed"] > 0
    lines = cli("runs").out.splitlines()
    for line, each in zip(lines[2:4], listed, strict=True):
        assert line.split()[:5] == [
            each["id"], "random", each["problem"], str(each["dim"]), f"{each['nfev']}/{each['budget']}"
        ]  # fmt: skip
        assert f"{each['fun']:.6g}" in line
        assert each["status"] in line


def test_in_a_narrow_terminal_the_ends_of_the_ids_will_do(cli, folder, two, monkeypatch):
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    lines = re.sub(r"\x1b\[[0-9;]*m", "", cli("runs").out).splitlines()
    assert [line.split()[0] for line in lines if "random" in line] == [each[-8:] for each in two]
    assert max(map(len, lines)) <= 80


@pytest.mark.parametrize(
    ("seconds", "words"), [(-3, "0 s"), (59, "59 s"), (600, "10 min"), (7300, "2 h"), (9e5, "10 d")]
)
def test_ages(seconds, words):
    assert ago(seconds) == words


def test_a_run_is_shown_like_its_end(cli, two):
    end = cli("resume", two[1]).out
    shown = cli("show", two[1][-8:], "--trials", 3)
    assert shown.code == 0
    for line in end.splitlines()[:5]:
        assert " ".join(line.split()) in " ".join(shown.out.split())
    assert "begun " in shown.out
    assert f"boids export {two[1]}" in shown.out
    line = cli("show", two[1], "--json", "--trials", 3).json
    run = kept(run_id=two[1])
    assert (line["id"], line["fun"], line["status"], line["nfev"]) == (
        two[1], run.best.value, "stagnation", run.n_told
    )  # fmt: skip
    assert line["updated"] >= line["created"]
    assert line["active"] is False
    assert line["trials"][0]["number"] == run.best.id
    done = sorted((each.violation, each.value) for each in run.trials if each.state == "done")
    assert [each["value"] for each in line["trials"]] == [value for _, value in done[:3]]
    assert max(map(len, shown.out.splitlines())) <= 80


def test_the_latest_run_is_taken_if_none_is_named(cli, two):
    assert cli("show", "--json").json["id"] == two[1]
    assert cli("export").out == cli("export", two[1]).out != cli("export", two[0]).out
    assert cli("replay", "--json").json["id"] == two[1]


def test_there_is_no_latest_run_of_an_empty_store(cli, folder):
    answer = cli("show")
    assert (answer.code, answer.err) == (
        2, "boids: There is no run in 'boids-runs.db' yet; `boids run` begins one.\n"
    )  # fmt: skip
    assert not list(folder.path.glob("*.db*"))


def test_a_picture_of_a_run_in_the_store(cli, two):
    pytest.importorskip("matplotlib")
    assert cli("show", two[0], "--plot", "run.png").code == 0
    assert Path("run.png").read_bytes().startswith(b"\x89PNG")


def test_runs_of_python_code_are_shown_exported_and_made_again(cli, folder):
    result = boids.minimize(
        lambda x: float(x @ x), [(-1, 1)] * 3, 12, method="random", seed=3, store="boids-runs.db", run_id="mine"
    )
    assert cli("show", "mine", "--json").json["fun"] == result.fun
    assert "a function · 3 dimensions" in cli("show", "mine").out
    assert "12 proposals" in cli("replay", "mine").out
    assert len(json.loads(cli("export", "mine", "--json").out)) == 12
    assert cli("resume", "mine").code == 0  # it is finished, and that is told


# Export


def points(space, rows):
    """The points of exported rows, as the space has them."""
    made = []
    for row in rows:
        point = {name: row[name] for name in ("low", "high", "count", "kind")}
        point["weights"] = [row[f"weights[{i}]"] for i in range(3)]
        made.append(space.encode(point).tolist())
    return made


def check_rows(run, rows):
    assert [int(row["number"]) for row in rows] == [trial.id for trial in run.trials]
    assert [row["state"] for row in rows] == [trial.state for trial in run.trials]
    assert [row["error"] or None for row in rows] == [trial.error for trial in run.trials]
    typed = [
        {name: value if name in ("kind", "error") else _number(value) for name, value in row.items()} for row in rows
    ]
    assert points(run.space, typed) == [run.space.encode(trial.params).tolist() for trial in run.trials]
    assert [row["value"] for row in typed] == [trial.value for trial in run.trials]
    assert [(row["c1"], row["c2"]) for row in typed if row["c1"] is not None] == [
        trial.constraints for trial in run.trials if not trial.failed
    ]


def _number(value):
    if isinstance(value, float) and math.isnan(value):
        return None
    if not isinstance(value, str):
        return value
    try:
        return None if value == "" else int(value)
    except ValueError:
        try:
            return float(value)
        except ValueError:
            return value


@pytest.mark.parametrize("how", [(), ("--csv",), ("--output", "table.csv"), ("--csv", "--output", "table")])
def test_export_as_csv(cli, two, how):
    answer = cli("export", two[1], *how)
    assert answer.code == 0
    text = Path(how[-1]).read_text() if "--output" in how else answer.out
    check_rows(kept(run_id=two[1]), list(csv.DictReader(io.StringIO(text))))


@pytest.mark.parametrize("how", [("--json",), ("--output", "table.json")])
def test_export_as_json(cli, two, how):
    answer = cli("export", two[1], *how)
    text = Path(how[-1]).read_text() if "--output" in how else answer.out
    check_rows(kept(run_id=two[1]), json.loads(text))


def test_export_as_parquet(cli, two):
    parquet = pytest.importorskip("pyarrow.parquet")
    for how in (("--parquet", "--output", "table"), ("--output", "table.parquet")):
        assert cli("export", two[1], *how).code == 0
        check_rows(kept(run_id=two[1]), parquet.read_table(how[-1]).to_pylist())


def test_an_export_that_cannot_be_written(cli, two):
    answer = cli("export", two[0], "--output", "missing/table.csv")
    assert (answer.code, answer.err.count("\n")) == (2, 1)
    assert "'missing/table.csv' cannot be written" in answer.err


# Replay


def test_a_replay_that_differs_is_told(cli, folder, monkeypatch):
    arguments = ("run", "ackley", "--dim", 6, "--budget", 9, "--seed", 3, "--set", "n_init=3", *QUICK)
    run_id = cli(*arguments, "--json").json["id"]
    assert cli("replay", run_id).out == "All 9 proposals were made again exactly.\n"
    assert cli("replay", run_id, "--json").json == {
        "id": run_id, "proposals": 9, "same": True, "differs": None, "distance": None
    }  # fmt: skip

    # The same trials under another seed.
    setup = shelf.restored("", shelf.read("boids-runs.db", run_id)).setup
    monkeypatch.setattr(shelf, "restored", lambda store, stored: SimpleNamespace(setup=replace(setup, seed=4)))
    answer = cli("replay", run_id)
    assert answer.code == 1
    assert "The proposal of trial 0 differs by" in answer.out
    line = cli("replay", run_id, "--json").json
    assert (line["same"], line["differs"], line["proposals"]) == (False, 0, 0)
    assert 0 < line["distance"] <= 2


# Delete


def test_delete(cli, folder, two):
    refused = cli("delete", two[0])
    assert (refused.code, "--yes" in refused.err) == (2, True)
    assert cli("delete", two[0], "--yes").out == f"The run {two[0]} was deleted.\n"
    assert cli("delete", two[1], "--yes", "--json").json == {"id": two[1], "deleted": True}
    assert cli("runs", "--json").json == []
    assert cli("delete", two[1], "--yes").code == 2


@pytest.mark.parametrize(("answer", "is_gone"), [("n\n", False), ("y\n", True), ("", False)])
def test_a_question_is_asked_on_a_terminal(cli, two, monkeypatch, answer, is_gone):
    stdin = io.StringIO(answer)
    stdin.isatty = lambda: True
    monkeypatch.setattr("sys.stdin", stdin)
    told = cli("delete", two[0])
    assert f"Delete the run {two[0]} with its 6 evaluations for good?" in told.out + told.err
    assert told.code == (0 if answer else 130)
    assert (two[0] in ids()) == (not is_gone)


# Runs that are going on


def test_a_run_that_is_being_carried_out(cli, folder):
    process = start(folder, "run", "MODULE:waits", *BOX, "--budget", "2", *RANDOM)
    try:
        wait_for(process, lambda: Path("begun").exists())
        (run_id,) = ids()
        (listed,) = cli("runs", "--json").json
        assert (listed["status"], listed["active"], listed["nfev"], listed["fun"]) == ("running", True, 0, None)
        for command in (("resume", run_id), ("resume",), ("delete", run_id, "--yes")):
            answer = cli(*command)
            assert answer.code == 2
            assert f"Run '{run_id}' is carried out by process {process.pid}" in answer.err
            assert answer.err.count("\n") == 1
        shown = cli("show", run_id)
        assert (shown.code, "the run is being carried out" in shown.out) == (0, True)
        assert cli("show", run_id, "--json").json["status"] == "running"
        assert cli("export", run_id).out.splitlines()[1].startswith("0,pending,")
        assert cli("replay", run_id).out == "The one proposal was made again exactly.\n"
        Path("go").touch()
        assert process.wait(timeout=50) == 0
    finally:
        process.kill()
        process.communicate()
    assert cli("runs", "--json").json[0]["status"] == "budget"
