"""The file of a run: what is read back, what a crash leaves, who may write."""

import json
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from boids.bench import run_log
from boids.bench.run_log import OpenRun, RunTaken
from boids.errors import StoreError

HEADER = {"boids_run": 1, "problem": {}, "method": {}}


def evaluation(n, best=1.0, width=3):
    return {"n": n, "value": best, "best": best, "x": [0.1] * width, "times": {"fit": 0.25, "evaluate": 0.5}}


def write(path, *rows):
    with OpenRun(path) as file:
        for row in rows:
            file.append(row)


def test_what_is_written_is_read(tmp_path):
    path = tmp_path / "a" / "0.jsonl"
    write(path, HEADER, {"event": "begun"}, evaluation(1), evaluation(2))
    log = run_log.read(path)
    assert log.header == HEADER
    assert [row["n"] for row in log.evaluations] == [1, 2]
    assert log.status == "unfinished"
    assert log.seconds == 1.5
    write(path, {"event": "end", "status": "budget"})
    assert run_log.read(path).status == "budget"
    write(path, {"event": "error", "error": "x"})
    assert run_log.read(path).status == "error"
    write(path, {"event": "resumed"})
    assert run_log.read(path).status == "unfinished"


@given(cut=st.integers(0, 400))
def test_a_torn_line_is_left_out_and_cut_off(tmp_path_factory, cut):
    path = tmp_path_factory.mktemp("torn") / "0.jsonl"
    write(path, HEADER, *(evaluation(n) for n in range(1, 5)))
    whole = path.read_bytes()
    path.write_bytes(whole[: min(cut, len(whole))])
    lines = whole[: min(cut, len(whole))].count(b"\n")
    if lines == 0:
        assert run_log.glance(path) is None
        with pytest.raises(StoreError, match="no header yet"):
            run_log.read(path)
    else:
        assert len(run_log.read(path).evaluations) == lines - 1
        assert run_log.glance(path).evaluations == lines - 1
    with OpenRun(path) as file:
        assert (file.log is None) == (lines == 0)
        file.append({"event": "resumed"} if lines else HEADER)
    assert path.read_bytes().count(b"\n") == lines + 1
    run_log.read(path)


@pytest.mark.parametrize("width", [3, 3000])
@pytest.mark.parametrize("events", [0, 1, 2000])
def test_a_glance_sees_what_reading_sees(tmp_path, width, events):
    path = tmp_path / "0.jsonl"
    write(path, HEADER, *(evaluation(n, best=1.0 / n, width=width) for n in range(1, 8)))
    write(path, *({"event": "resumed", "at": "x" * 30} for _ in range(events)))
    found, log = run_log.glance(path), run_log.read(path)
    assert (found.header, found.status, found.evaluations) == (log.header, log.status, len(log.evaluations))
    assert found.best == log.evaluations[-1]["best"]


@pytest.mark.parametrize(
    "content",
    [b"{}\n", b"[]\n", b"nonsense\n", b'{"boids_run": 1}\n{"n": 2, "times": {}}\n', b'{"boids_run": 1}\n3\n', b"\xff\n",
     b'{"boids_run": 1}\n{"n": 1}\n', b"[" * 10_000 + b"\n"],
)  # fmt: skip
def test_other_files_are_refused(tmp_path, content):
    path = tmp_path / "0.jsonl"
    path.write_bytes(content)
    with pytest.raises(StoreError, match="damaged, or no run"):
        run_log.read(path)
    with pytest.raises(StoreError):
        OpenRun(path)
    assert path.read_bytes() == content


def test_a_later_format_is_refused(tmp_path):
    (tmp_path / "0.jsonl").write_text(json.dumps({"boids_run": 2}) + "\n")
    with pytest.raises(StoreError, match="has the format 2"):
        run_log.read(tmp_path / "0.jsonl")


def test_nothing_there(tmp_path):
    assert run_log.glance(tmp_path / "none.jsonl") is None
    with pytest.raises(StoreError, match="cannot be read"):
        run_log.read(tmp_path / "none.jsonl")


def test_only_one_process_writes(tmp_path):
    path = tmp_path / "0.jsonl"
    program = (
        "import sys; from boids.bench.run_log import OpenRun\n"
        "with OpenRun(sys.argv[1]): print('open', flush=True); sys.stdin.read()"
    )
    other = subprocess.Popen(
        [sys.executable, "-c", program, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with other:
        assert other.stdout.readline() == "open\n"
        with pytest.raises(RunTaken, match="another process"):
            OpenRun(path)
        other.kill()
    write(path, HEADER)  # the lock has gone with the process
    assert run_log.read(path).header == HEADER


def test_nan_never_gets_into_a_file(tmp_path):
    with OpenRun(tmp_path / "0.jsonl") as file, pytest.raises(ValueError, match="JSON"):
        file.append({"value": float("nan")})


def test_reading_without_points_leaves_out_nothing_else(tmp_path):
    path = tmp_path / "0.jsonl"
    tricky = {**evaluation(2), "error": 'the text ,"x":[1, 2] and \\,"x":[3]', "memory": {"y": [1]}}
    named = {**evaluation(3), "x": {"a": [1, 2]}}
    write(path, HEADER, evaluation(1), tricky, named, {"event": "end", "status": "budget", "x": "x"})
    whole, quick = (run_log.parse(path.read_bytes(), path, points=points) for points in (True, False))
    assert quick.events == whole.events
    for row, other in zip(whole.evaluations, quick.evaluations, strict=True):
        assert {**row, "x": None} == {**other, "x": None}
    assert ["x" in row for row in quick.evaluations] == [False, False, True]  # named points are left as they are
