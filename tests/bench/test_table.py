"""Results read back: whole, partial, damaged, hostile, and compact."""

import builtins
import gzip
import json

import numpy as np
import pytest
from bench.made_runs import ENVIRONMENT, write_plan, write_run

from boids.bench import load
from boids.bench.compact import write
from boids.bench.curves import band, thinned
from boids.bench.table import COLUMNS, ResultsError
from boids.errors import MissingExtra


@pytest.fixture
def results(tmp_path):
    folder = tmp_path / "results"
    write_plan(folder, [(p, m, r, 4) for p in ("b", "a") for m in ("two", "one") for r in range(2)], "Two by two")
    write_run(folder, "a", "one", 0, [4.0, 2.0, 3.0, 1.0], optimum=0.5)
    write_run(folder, "a", "one", 1, [5.0, None, 3.0, 2.5], optimum=0.5)
    write_run(folder, "a", "two", 0, [None, 7.0], budget=4, status="time limit")
    write_run(folder, "a", "two", 1, [9.0], budget=4, error=("ValueError: no", "Traceback\nValueError: no"))
    write_run(folder, "b", "one", 0, [1.0, 2.0, 0.5], budget=4, status=None)
    return folder


def test_columns(results):
    table = load(results)
    assert table.title == "Two by two"
    assert len(table) == 14
    assert set(table.columns) == set(COLUMNS)
    assert {len(column) for column in table.columns.values()} == {14}
    one = table.where(problem="a", method="one")
    assert one["repetition"].tolist() == [0] * 4 + [1] * 4
    assert one["n"].tolist() == [1, 2, 3, 4] * 2
    np.testing.assert_array_equal(one["value"], [4, 2, 3, 1, 5, np.nan, 3, 2.5])
    np.testing.assert_array_equal(one["best"], [4, 2, 2, 1, 5, 5, 3, 2.5])
    assert one["failed"].tolist() == [False] * 5 + [True] + [False] * 2
    assert one["feasible"].all()
    np.testing.assert_allclose(one["seconds"], 0.25)
    np.testing.assert_allclose(one["evaluate"], 0.01)
    np.testing.assert_allclose(one["cpu"], 0.225)
    with pytest.raises(KeyError, match="did you mean 'best'"):
        table["bets"]
    with pytest.raises(ValueError, match="read-only"):
        table["best"][0] = 1.0


def test_runs(results):
    table = load(results)
    # in the order of the plan, not of the alphabet
    assert table.problems == ("b", "a")
    assert table.methods == ("two", "one")
    assert [run.status for run in table.runs] == ["unfinished", "time limit", "error", "budget", "budget"]
    assert {(each.problem, each.method, each.repetition) for each in table.missing} == {
        ("b", "two", 0),
        ("b", "two", 1),
        ("b", "one", 1),
    }
    broken = table.runs[2]
    assert (broken.error, broken.traceback) == ("ValueError: no", "Traceback\nValueError: no")
    assert not broken.has_ended
    run = table.runs[3]
    assert (run.evaluations, run.found, run.optimum, run.budget, run.sessions) == (4, 1.0, 0.5, 4, 1)
    assert run.environment == ENVIRONMENT
    assert run.times["fit"] == pytest.approx(0.8)
    assert run.total_seconds == pytest.approx(1.04)
    assert table.runs[4].errors == {2: "the solver diverged"}
    assert np.isnan(table.runs[1].optimum)


def test_where_knows_the_labels(results):
    table = load(results)
    assert len(table.where(method=("one", "two"), repetition=0).runs) == 3
    with pytest.raises(ResultsError, match="no method 'onne' in these results; did you mean 'one'"):
        table.where(method="onne")
    with pytest.raises(ResultsError, match="no repetition 7 in these results; there are 0, 1"):
        table.where(repetition=7)


def test_curves(results):
    repetitions, curves = load(results).curves("a", "two")
    assert repetitions.tolist() == [0, 1]
    np.testing.assert_array_equal(curves, [[np.nan, 7], [9, np.nan]])
    assert load(results).curves("b", "two")[1].shape == (0, 0)


def test_pandas(results):
    pytest.importorskip("pandas")
    frame = load(results).to_pandas()
    assert list(frame.columns) == list(COLUMNS)
    assert frame.groupby("method")["best"].min().to_dict() == {"one": 0.5, "two": 7.0}


def test_without_pandas(results, monkeypatch):
    real = builtins.__import__

    def without(name, *args):
        if name == "pandas":
            raise ImportError(name)
        return real(name, *args)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingExtra, match="pip install pandas"):
        load(results).to_pandas()


def test_a_torn_last_line_is_left_out(results):
    path = results / "a/one/0.jsonl"
    path.write_bytes(path.read_bytes()[:-20])
    run = load(results).where(problem="a", method="one", repetition=0).runs[0]
    assert (run.status, run.evaluations) == ("unfinished", 4)


def test_what_is_damaged_is_noted(results):
    (results / "a/one/0.jsonl").write_bytes(b"{\x00\n{}\n")
    (results / "a/one/1.jsonl").write_bytes(b"")
    for number, change in enumerate(
        [{"budget": "many"}, {"problem": 3}, {"budget": 0}, {"repetition": None}, {"boids_run": 99}], start=2
    ):
        path = write_run(results, "a", "one", number, [1.0])
        first, *rest = path.read_text().splitlines()
        path.write_text("\n".join([json.dumps({**json.loads(first), **change}), *rest]) + "\n")
    bad = write_run(results, "a", "one", 7, [1.0])
    bad.write_text(bad.read_text().replace('"value": 1.0', '"value": "high"'))
    (results / "notes.jsonl").write_text("[1]\n")
    table = load(results)
    assert len(table.runs) == 3
    assert len(table.remarks) == 9
    assert all("one/" in remark or "notes" in remark for remark in table.remarks)
    assert all("\n" not in remark for remark in table.remarks)


def test_a_damaged_plan_is_noted(results):
    (results / "plan.json").write_text('{"boids_plan": 1, "runs": [{"problem": 1}]}')
    table = load(results)
    assert len(table.runs) == 5
    assert table.planned == ()
    assert "missing runs are not noticed" in table.remarks[0]
    assert table.problems == ("a", "b")


def test_a_run_found_twice_counts_once(results, tmp_path):
    write_run(tmp_path / "more", "b", "one", 0, [3.0, 2.0, 1.0, 0.0])
    table = load(results, tmp_path / "more")
    assert len(table.runs) == 5
    assert table.where(problem="b").runs[0].found == 0.0
    assert "found twice" in table.remarks[0]


def test_nothing_to_load(tmp_path):
    with pytest.raises(ResultsError, match="There is no file or folder"):
        load(tmp_path / "nowhere")
    with pytest.raises(ResultsError, match="There are no runs of experiments"):
        load(tmp_path)
    (tmp_path / "text").write_text("hello")
    with pytest.raises(ResultsError, match="neither a folder of results nor a compact file"):
        load(tmp_path / "text")
    (tmp_path / "runs.db").write_bytes(b"SQLite format 3\0" + bytes(range(256)) * 40)
    with pytest.raises(ResultsError, match="is a store of runs, not results of experiments") as store:
        load(tmp_path / "runs.db")
    (tmp_path / "bytes").write_bytes(bytes(range(256)) * 40)
    with pytest.raises(ResultsError, match="neither a folder of results nor a compact file") as binary:
        load(tmp_path / "bytes")
    assert all(len(str(each.value)) < 200 + len(str(tmp_path)) for each in (store, binary))  # the file is not quoted
    (tmp_path / "other.json.gz").write_bytes(gzip.compress(b"[]"))
    with pytest.raises(ResultsError, match="There are no runs"):
        load(tmp_path)


@pytest.mark.parametrize("name", ["small.json", "small.json.gz"])
def test_compact_files_say_the_same(results, tmp_path, name):
    table = load(results)
    write(table, tmp_path / name)
    again = load(tmp_path / name)
    assert (again.title, again.planned, again.remarks) == (table.title, table.planned, table.remarks)
    for column in COLUMNS:
        np.testing.assert_array_equal(again[column], table[column])
    for ours, theirs in zip(table.runs, again.runs, strict=True):
        for name in ("header", "status", "error", "traceback", "path", "errors", "environment", "sessions", "message"):
            assert getattr(ours, name) == getattr(theirs, name)
        assert ours.times == pytest.approx(theirs.times)
    write(again, tmp_path / "twice.json")
    write(table, tmp_path / "once.json")
    assert (tmp_path / "twice.json").read_bytes() == (tmp_path / "once.json").read_bytes()


def test_a_folder_may_hold_compact_files(results, tmp_path):
    (tmp_path / "kept").mkdir()
    write(load(results), tmp_path / "kept" / "all.json.gz")
    assert len(load(tmp_path / "kept").runs) == 5


def test_bands(results):
    table = load(results)
    found = band(table, "a", "one")
    assert found is not None
    assert (found.runs, found.left_out) == (2, 0)
    np.testing.assert_allclose(found.mean, [4.5, 3.5, 2.5, 1.75])
    np.testing.assert_allclose(found.error[0], 0.5)
    np.testing.assert_allclose(found.median, found.mean)
    np.testing.assert_allclose(found.low[0], 4.25)
    cut = band(table, "a", "two")  # the broken run is left out, the first evaluation failed
    assert cut is not None
    assert (cut.runs, cut.left_out) == (1, 1)
    np.testing.assert_array_equal(cut.mean, [np.nan, 7.0])
    assert np.isnan(cut.error).all()
    unfinished = band(table, "b", "one")
    assert unfinished is not None
    assert unfinished.n.tolist() == [1, 2, 3]
    assert (found.has_ended, unfinished.has_ended) == (True, False)
    assert band(table, "b", "two") is None


def test_thinned():
    assert thinned(5, 10).tolist() == [1, 2, 3, 4, 5]
    few = thinned(1000, 100)
    assert few[0] == 1
    assert few[-1] == 1000
    assert 80 < len(few) <= 100
    assert (np.diff(few) > 0).all()
