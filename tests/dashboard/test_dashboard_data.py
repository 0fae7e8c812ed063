"""What the dashboard knows of runs: in stores and in files of experiments, new and old, whole and broken."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import sqlite3
import subprocess
import sys
import textwrap
from dataclasses import replace

import numpy as np
import pytest
from bench.made_runs import write_run
from shown_runs import carry_out, made_run

import boids
from boids.dashboard import cells, insight
from boids.dashboard.course import Course
from boids.dashboard.events import Newsfeed, as_event
from boids.dashboard.library import Library
from boids.dashboard.places import Places
from boids.dashboard.points import PointTable, flat
from boids.errors import StoreError
from boids.importance import bars
from boids.store import Store, locks


class Clock:
    """A clock that is set by hand, so that everything is read anew at every look."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        self.now += 100.0
        return self.now


def library(*paths):
    return Library(Places(paths), Clock())


def only(lines):
    (line,) = lines.values()
    return line


def fingerprints(folder):
    return {
        path.name: (hashlib.sha256(path.read_bytes()).hexdigest(), path.stat().st_mtime_ns)
        for path in sorted(folder.iterdir())
        if not path.name.endswith("-shm")
    }


# ------------------------------------------------------------------------------------------------ following a store


def test_news_of_a_store_are_what_is_new(tmp_path):
    optimizer = boids.Optimizer([(0, 1)] * 3, budget=9, method="random", seed=0, store=tmp_path / "s.db", run_id="r")
    store = Store(tmp_path / "s.db")
    trials = [optimizer.ask() for _ in range(3)]
    optimizer.tell(trials[1], 1.0)
    first = store.news("r")
    assert [(row.number, row.state) for row in first.rows] == [(0, "pending"), (1, "done"), (2, "pending")]
    assert first.summary.active
    optimizer.tell(trials[2], 2.0)
    optimizer.ask()
    second = store.news("r", known=3, waiting=[0, 2])
    assert [(row.number, row.state) for row in second.rows] == [(0, "pending"), (2, "done"), (3, "pending")]
    assert second.summary.nfev == 2
    assert second.setup == first.setup
    assert np.array_equal(store.trials("r", [2, 99])[0].unit, trials[2].unit)
    assert [row.number for row in store.trials("r", [2, 99])] == [2]
    with pytest.raises(StoreError, match="There is no run 'other'"):
        store.news("other")
    optimizer.close()
    assert not store.news("r", known=4).rows


def test_a_trial_that_is_not_as_it_was_written_is_refused(tmp_path):
    path = tmp_path / "s.db"
    made_run(path, count=5)
    db = sqlite3.connect(path)
    db.execute("UPDATE trials SET value = -99 WHERE number = 3")
    db.commit()
    db.close()
    with pytest.raises(StoreError, match="damaged"):
        Store(path).news("made")
    assert Store(path).news("made", known=4).rows


@pytest.mark.skipif(os.name != "posix", reason="locks of POSIX")
def test_looking_at_a_lock_takes_none(tmp_path):
    """Somebody who looks without pause never keeps a writer from its lock, who tries only once."""
    path = tmp_path / "file"
    path.touch()
    code = "import sys, time; from boids.store import locks; end = time.time() + 1.5\n"
    code += "print('ready', flush=True)\nwhile time.time() < end: locks.is_taken(sys.argv[1], 3)"
    looking = subprocess.Popen([sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE, text=True)
    looking.stdout.readline()
    descriptor = os.open(path, os.O_RDWR)
    try:
        for _ in range(2000):
            assert locks.lock(descriptor, 3)
            locks._unlock(descriptor, 3)
    finally:
        os.close(descriptor)
        looking.kill()
        looking.communicate()


@pytest.mark.parametrize("ended", [True, False])
def test_nothing_is_ever_written(tmp_path, ended):
    """Of a run that has ended, and of one whose process was killed, with its log beside the file."""
    kept = tmp_path / "kept"
    kept.mkdir()
    if ended:
        made_run(kept / "runs.db", count=60, constraints=1)
    else:
        running = carry_out(tmp_path, pause=0.01, store="kept/runs.db")
        _until(lambda: _told(kept / "runs.db") > 8)
        running.send_signal(signal.SIGKILL)
        running.wait()
        assert (kept / "runs.db-wal").exists()
    before = fingerprints(kept)
    shown = library(kept)
    key = only(shown.runs()[0])["key"]
    run, facts = shown.follow(key)
    assert facts["standing"] == ("finished" if ended else "stopped")
    assert insight.Insight().importance(key, run)["names"]
    assert insight.coordinates(run, ["x[0]", "x[1]"])["axes"]
    assert run.detail(0)["names"]
    assert Newsfeed(shown, [key]).news()
    assert fingerprints(kept) == before


def _told(path):
    try:
        return Store(path).runs()[0].nfev
    except (StoreError, IndexError):
        return 0


def _until(test, seconds=30):
    import time

    end = time.monotonic() + seconds
    while not test():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.05)


# --------------------------------------------------------------------------------------------------- what travels


def test_only_what_has_changed_travels(tmp_path):
    optimizer = boids.Optimizer([(0, 1)] * 3, budget=9, method="random", seed=0, store=tmp_path / "s.db", run_id="r")
    trial = optimizer.ask()
    shown = library(tmp_path / "s.db")
    key = only(shown.runs()[0])["key"]
    feed = Newsfeed(shown, [key, key])
    first = dict(feed.news())
    assert list(first) == ["runs", "trials", "facts"]
    assert first["runs"]["all"]
    assert first["trials"]["all"]
    assert first["trials"]["columns"]["state"] == ["pending"]
    assert feed.news() == []
    optimizer.tell(trial, 2.5)
    optimizer.ask()
    second = dict(feed.news())
    assert not second["trials"]["all"]
    assert second["trials"]["columns"]["number"] == [0, 1]
    assert second["trials"]["columns"]["value"] == [2.5, None]
    assert [line["evaluations"] for line in second["runs"]["runs"]] == [1]
    assert second["facts"]["best"] == 2.5
    optimizer.tell(optimizer.ask(), error="boom")
    assert dict(feed.news())["trials"]["columns"]["number"] == [2]
    optimizer.close()
    Store(tmp_path / "s.db").delete("r")
    last = dict(feed.news())
    assert last["runs"]["gone"] == [key]
    assert "no such run" in last["facts"]["trouble"]


def test_another_run_under_the_same_name_replaces_the_first(tmp_path):
    path = tmp_path / "s.db"
    made_run(path, count=6)
    shown = library(path)
    key = only(shown.runs()[0])["key"]
    feed = Newsfeed(shown, [key])
    feed.news()
    Store(path).delete("made")
    optimizer = boids.Optimizer([(0, 1)] * 3, budget=9, method="random", seed=0, store=path, run_id="made")
    optimizer.ask()
    optimizer.close()
    news = dict(feed.news())["trials"]
    assert news["all"]
    assert news["columns"]["number"] == [0]


def test_events_are_json_whatever_the_numbers_are():
    info = {"line": float("inf"), "dim": 4}
    row = {"n": 1, "value": 1.0, "times": {}, "constraints": [float("nan")], "phase": 3, "info": info}
    made = cells.of_evaluation(row, 5.0)
    assert json.loads(as_event("trials", made).decode().split("data: ")[1])
    assert dict(zip(cells.FIELDS, made, strict=True))["line"] is None
    assert dict(zip(cells.FIELDS, made, strict=True))["dim"] == 4
    assert len(dict(zip(cells.FIELDS, cells.of_evaluation(row | {"error": "x" * 999}, 0), strict=True))["error"]) == 160


def test_a_course_counts_changes():
    course = Course()
    row = (0, "pending", *[None] * 13)
    course.put([row])
    seen = course.revision
    course.put([row])
    assert course.since(seen) == []
    course.put([(0, "done", *row[2:]), (1, "pending", *row[2:])])
    assert [each[0] for each in course.since(seen)] == [0, 1]
    assert [each[0] for each in course.since(0)] == [0, 1]


# ------------------------------------------------------------------------------------------------- kinds of runs


def test_a_run_of_boids_shows_what_the_method_records(tmp_path):
    boids.minimize(
        lambda x: (float((x**2).sum()), [float(x[0])]), [(-1, 1)] * 12, 26, seed=0, n_constraints=1,
        store=tmp_path / "s.db", run_id="r",
    )  # fmt: skip
    shown = library(tmp_path)
    run, facts = shown.follow(only(shown.runs()[0])["key"])
    columns = cells.columns(run.course.rows)
    assert columns["phase"][0] == "design"
    assert columns["phase"][-1] == "line"
    assert columns["reward"][-1] is not None
    assert set(columns["dim"]) <= set(range(1, 13))
    assert columns["feasible"] == [worst <= 0 for worst in columns["worst"]]
    assert facts["constraints"] == 1
    assert facts["diagnostics"]["failure_tolerance"] >= 1
    assert len(facts["diagnostics"]["line_moves"]) == 20
    assert facts["times"]["fit"] > 0
    detail = run.detail(25)
    assert detail["names"] == [f"x[{i}]" for i in range(12)]
    assert detail["values"] == pytest.approx(Store(tmp_path / "s.db").trials("r", [25])[0].unit.tolist())
    assert run.detail(26) is None


def test_a_method_of_somebody_elses_is_shown_without_its_state(tmp_path):
    method = replace(boids.algorithms.RandomSearch())
    object.__setattr__(method, "name", "mine")
    optimizer = boids.Optimizer([(0, 1)] * 3, budget=4, method=method, seed=0, store=tmp_path / "s.db", run_id="r")
    optimizer.tell(optimizer.ask(), 1.0)
    optimizer.close()
    shown = library(tmp_path)
    run, facts = shown.follow(only(shown.runs()[0])["key"])
    assert facts["method"] == "mine"
    assert facts["diagnostics"] == {}
    assert run.detail(0)["names"] == ["x[0]", "x[1]", "x[2]"]


def test_runs_of_an_experiment(tmp_path):
    values = [5.0, None, 3.0, 4.0]
    write_run(tmp_path / "results", "ackley-100", "boids", 0, values, status="budget")
    file = next((tmp_path / "results").rglob("*.jsonl"))
    shown = library(tmp_path)
    line = only(shown.runs()[0])
    assert (line["problem"], line["method"], line["standing"], line["best"]) == ("ackley-100", "boids", "finished", 3.0)
    run, facts = shown.follow(line["key"])
    columns = cells.columns(run.course.rows)
    assert columns["state"] == ["done", "failed", "done", "done"]
    assert columns["value"] == values
    assert facts["failed"] == 1
    assert columns["ended"] == sorted(columns["ended"])
    assert run.detail(0)["names"]
    assert run.detail(4) is None
    # A line that is still being written is left for later, and only the new lines are read.
    with open(file, "ab") as more:
        more.write(b'{"n":5,"value":1.5,"best":1.5,"x":[0.1],"times":{"evaluate":1.0}')
    shown.follow(line["key"])
    assert len(run.course.rows) == 4
    with open(file, "ab") as more:
        more.write(b"}\n")
    shown.follow(line["key"])
    assert cells.columns(run.course.rows)["value"][-1] == 1.5
    assert only(shown.runs()[0])["standing"] == "stopped"  # the end is no longer the last line
    with open(file, "r+b") as held:
        assert locks.lock(held.fileno(), 0)
        code = f"from boids.store import locks; print(locks.is_taken({str(file)!r}, 0))"
        assert subprocess.check_output([sys.executable, "-c", code], text=True) == "True\n"


# ------------------------------------------------------------------------------------------------ finding runs


def test_folders_are_searched_and_grow(tmp_path):
    shown = library(tmp_path / "later.db", tmp_path / "results")
    assert shown.runs() == ({}, [])
    made_run(tmp_path / "later.db")
    made_run(tmp_path / "other.db")  # not asked for
    (tmp_path / "results" / "deep").mkdir(parents=True)
    made_run(tmp_path / "results" / "deep" / "in.db", "a")
    (tmp_path / "results" / "notes.jsonl").write_text('{"something": "else"}\n')
    foreign = sqlite3.connect(tmp_path / "results" / "foreign.db")
    foreign.execute("CREATE TABLE t (x)")
    foreign.commit()
    foreign.close()
    lines, remarks = shown.runs()
    assert sorted(line["id"] for line in lines.values()) == ["a", "made"]
    assert remarks == []


@pytest.mark.parametrize("content", [b"", b"not a store", b"SQLite format 3\0" + b"x" * 5000])
def test_a_broken_file_does_not_hide_the_others(tmp_path, content):
    made_run(tmp_path / "good.db")
    (tmp_path / "broken.db").write_bytes(content)
    (tmp_path / "broken.jsonl").write_bytes(b'{"boids_run": 1, "problem": 3}\n')
    shown = library(tmp_path / "good.db", tmp_path / "broken.db", tmp_path / "broken.jsonl")
    lines, remarks = shown.runs()
    assert [line["id"] for line in lines.values()] == ["made"]
    assert len(remarks) == 2
    assert all("broken" in remark for remark in remarks)


def test_a_store_that_breaks_while_it_is_watched_is_said_to_be_broken(tmp_path):
    path = tmp_path / "s.db"
    made_run(path)
    shown = library(path)
    key = only(shown.runs()[0])["key"]
    feed = Newsfeed(shown, [key])
    feed.news()
    path.write_bytes(b"x" * 4096)
    news = dict(feed.news())
    assert "not a store" in news["runs"]["remarks"][0]
    assert "not a store" in news["facts"]["trouble"]


def test_how_runs_stand(tmp_path):
    path = tmp_path / "s.db"
    for status in ("running", "budget", "interrupted", "workers", "timeout", "my own word"):
        made_run(path, status, count=3, status=status)
    standing = {line["id"]: line["standing"] for line in library(path).runs()[0].values()}
    assert standing == {
        "running": "stopped", "budget": "finished", "interrupted": "stopped", "workers": "failed",
        "timeout": "finished", "my own word": "finished",
    }  # fmt: skip


# --------------------------------------------------------------------------------------------------- parameters


def test_points_of_every_kind_lie_on_their_axes():
    space = boids.Space(
        {
            "rate": boids.Float(1e-4, 1.0, log=True),
            "layers": boids.Int(1, 9),
            "act": boids.Categorical(["relu", "tanh", "elu"]),
            "bias": boids.Bool(),
            "w": boids.Float(0, 1, shape=2),
            "kinds": boids.Categorical(["a", "b", "c"], shape=2),
        }
    )
    points = [
        {"rate": 1e-4, "layers": 9, "act": "tanh", "bias": True, "w": [0.25, 1.0], "kinds": ["a", "c"]},
        {"rate": 1e-2, "layers": 1, "act": "elu", "bias": False, "w": [0.0, 0.5], "kinds": ["b", "b"]},
    ]
    units = space.snap(np.array([space.encode(point) for point in points]))
    table = PointTable.of_units(space, units)
    names = [axis.name for axis in table.axes]
    assert names == list(bars(space.labels, space.owner)[1]) == list(flat(space.decode(units[0])))
    at = dict(zip(names, table.places.T.tolist(), strict=True))
    assert at["rate"] == pytest.approx([0.0, 0.5])
    assert at["act"] == [0.5, 1.0]
    assert at["bias"] == [1.0, 0.0]
    assert at["w[0]"] == pytest.approx([0.25, 0.0])
    assert at["kinds[1]"] == [1.0, 0.5]
    assert dict(table.axes[names.index("act")].ticks) == {0.0: "relu", 0.5: "tanh", 1.0: "elu"}
    assert [text for _, text in table.axes[names.index("rate")].ticks] == ["0.0001", "1"]
    blind = PointTable.of_values([flat(space.decode(unit)) for unit in units])
    assert [axis.name for axis in blind.axes] == names
    assert np.all((blind.places >= 0) & (blind.places <= 1))


def test_the_parameters_that_matter_are_found_and_remembered(tmp_path):
    made_run(tmp_path / "s.db", dim=30, count=120)
    shown = library(tmp_path)
    key = only(shown.runs()[0])["key"]
    run, _ = shown.follow(key)
    known = insight.Insight()
    found = known.importance(key, run)
    assert set(found["names"][:3]) == {"x[0]", "x[1]", "x[2]"}
    assert found["parameters"] == 30
    assert found["held_out"] > 0.5
    assert "does not tell" in found["caveat"]
    assert known.importance(key, run) is found
    drawn = insight.coordinates(run, [*found["names"][:2], "no such name"])
    assert [axis["name"] for axis in drawn["axes"]] == found["names"][:2]
    assert len(drawn["lines"]) == sum(row[1] == "done" for row in run.course.rows)
    assert all(0 <= at <= 1 for line in drawn["lines"] for at in line["at"])


def test_too_few_evaluations_say_so(tmp_path):
    made_run(tmp_path / "s.db", count=2)
    shown = library(tmp_path)
    key = only(shown.runs()[0])["key"]
    run, _ = shown.follow(key)
    assert "2 of the 5" in insight.Insight().importance(key, run)["reason"]


def test_of_many_evaluations_the_best_are_drawn_and_a_spread_of_the_others():
    values = np.random.default_rng(0).permutation(1000).astype(float)
    chosen = insight._spread(values, 100)
    assert len(set(chosen.tolist())) == 100
    assert set(np.argsort(values)[:50]) <= set(chosen.tolist())
    assert values[chosen].max() == 999


def test_the_command_says_what_is_missing(tmp_path):
    code = textwrap.dedent(
        """
        import sys
        sys.modules["uvicorn"] = None
        from boids.cli import main
        sys.exit(main(["dashboard"]))
        """
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 2
    assert "pip install 'boids-opt[dashboard]'" in done.stderr
