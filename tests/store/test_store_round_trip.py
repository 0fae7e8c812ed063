"""What is written is what is read: runs, trials, summaries."""

from __future__ import annotations

import itertools
import json
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from stored_runs import done, empty, head, pending, read_key, row_key, run_key, snapshot_of, step_key, steps

from boids.errors import StoreError
from boids.store import RunHead, Store

floats = st.floats(allow_nan=True, allow_infinity=True) | st.sampled_from([-0.0, 5e-324, 1e308, 2.0**53])
unicode = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
json_data = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**30), 10**30) | floats | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
vectors = st.lists(floats, min_size=3, max_size=3).map(np.array)
memos = st.dictionaries(
    st.text(max_size=5),
    st.none()
    | st.booleans()
    | st.integers()
    | floats
    | st.text(max_size=5)
    | st.lists(floats, max_size=4).map(lambda items: np.array(items, float))
    | st.lists(st.integers(-(2**63), 2**63 - 1), max_size=4).map(lambda items: np.array(items, np.int64)),
    max_size=4,
)


@st.composite
def trials(draw):
    """A trial of any content, pending, done or failed."""
    state = draw(st.sampled_from(["pending", "done", "failed"]))
    row = pending(0, 0, draw(vectors), aimed=draw(st.none() | vectors), memo=draw(memos), started=draw(floats))
    outcome = {
        "value": draw(floats) if state == "done" else None,
        "constraints": draw(st.none() | st.lists(floats, max_size=3).map(tuple)),
        "noise_variance": draw(st.none() | floats),
        "error": draw(st.none() | unicode),
        "ended": draw(st.none() | floats),
        "told": None if state == "pending" else 1,
    }
    info = draw(st.dictionaries(st.text(max_size=5), json_data, max_size=3))
    return replace(row, state=state, info=info, attempts=draw(st.integers(0, 5)), **outcome)


@settings(max_examples=40)
@given(
    row=trials(),
    state=st.binary(max_size=6000),
    memory=json_data,
    meta=st.dictionaries(st.text(max_size=5), json_data, max_size=3),
    best=st.none() | floats,
    seed=st.integers(0, 2**200),
    names=st.tuples(unicode, unicode),
    status=unicode,
    setup=st.binary(max_size=6000),
)
def test_anything_comes_back(tmp_path_factory, row, state, memory, meta, best, seed, names, status, setup):
    store = Store(tmp_path_factory.mktemp("any") / "runs.db")
    first = replace(head(), seed=seed, method=names[0], problem=names[1], setup=setup)
    with store.create(first, empty(), meta={"old": 1}) as writer:
        writer.memory = lambda: memory
        writer.set_meta(meta)
        writer.set_status(status)
        after = replace(snapshot_of([row], state), best=best, times={"fit": 0.1, "x": math.inf}, exhausted=True)
        writer.write([row], after)
        open_run = store.read("run-1")
    run = store.read("run-1")
    assert run_key(run) == run_key(open_run)
    assert run.head == first
    assert (run.status, repr(run.meta)) == (status, repr(meta))
    assert repr(run.memory) == repr(memory if row.ended is not None else None)
    assert repr(run.snapshot) == repr(after)
    assert [row_key(each) for each in run.rows] == [row_key(row)]
    (summary,) = store.runs()
    assert (summary.seed, summary.method, summary.problem, summary.status) == (seed, *names, status)
    made = int(row.told is not None) - (row.attempts == 0)
    assert (summary.asked, summary.nfev, repr(summary.fun)) == (1, made, repr(best))


def test_a_run_over_many_writes_and_resumes(tmp_path):
    store = Store(tmp_path / "runs.db")
    script = steps(5)
    store.create(head(), empty()).close()
    for _ in range(5):
        _, writer = store.resume("run-1")
        with writer:
            for step in itertools.islice(script, 20):
                writer.write(step.rows, step.snapshot)
                assert read_key(store.read("run-1")) == step_key(step)
    assert read_key(store.resume("run-1")[0]) == step_key(step)
    repeated = sum(row.attempts > 1 for row in step.all_rows)
    assert store.runs()[0].repeated == repeated > 0


def test_a_run_may_begin_with_trials(tmp_path):
    rows = [done(pending(0, 0, attempts=0), 1.5, 1), pending(1, 2)]
    store = Store(tmp_path / "runs.db")
    store.create(head(), snapshot_of(rows), rows=rows, memory=[1, 2]).close()
    run = store.read("run-1")
    assert [row_key(row) for row in run.rows] == [row_key(row) for row in rows]
    assert run.memory == [1, 2]
    summary = store.runs()[0]
    assert (summary.asked, summary.nfev, summary.added, summary.fun) == (2, 0, 1, 1.5)


def test_points_of_a_read_run_cannot_be_changed(tmp_path):
    store = Store(tmp_path / "runs.db")
    store.create(head(), snapshot_of([pending(0, 0)]), rows=[pending(0, 0)]).close()
    with pytest.raises(ValueError, match="read-only"):
        store.read("run-1").rows[0].unit[0] = 0.0


def test_memory_is_written_with_outcomes_only(tmp_path):
    calls = []

    def memory():
        calls.append(1)
        return {"calls": len(calls)}

    store = Store(tmp_path / "runs.db")
    with store.create(head(), empty(), memory={"calls": 0}) as writer:
        writer.memory = memory
        writer.write([pending(0, 0)], snapshot_of([pending(0, 0)]))
        assert (len(calls), store.read("run-1").memory) == (0, {"calls": 0})
        rows = [done(pending(0, 0), 1.0, 1)]
        writer.write(rows, snapshot_of(rows))
        assert store.read("run-1").memory == {"calls": 1}


def test_text_that_is_not_unicode_is_written_out(tmp_path):
    row = replace(pending(0, 0), state="failed", error="file \udc80", told=1, info={"name": "\udc80"})
    store = Store(tmp_path / "runs.db")
    store.create(head(), snapshot_of([row]), rows=[row]).close()
    kept = store.read("run-1").rows[0]
    assert kept.error == "file \\udc80"
    assert kept.info == {"name": "\udc80"}


def test_runs_are_listed_found_and_deleted(tmp_path):
    store = Store(tmp_path / "runs.db")
    for name in ("2026-ackley-aa", "2026-ackley-ab", "2025-lasso-bb"):
        store.create(head(name), empty()).close()
    assert [run.id for run in store.runs()] == ["2026-ackley-aa", "2026-ackley-ab", "2025-lasso-bb"]
    assert store.find("2025") == store.find("bb") == store.find("2025-lasso-bb") == "2025-lasso-bb"
    with pytest.raises(StoreError, match="Several runs begin or end with '2026': '2026-ackley-aa', '2026-ackley-ab'"):
        store.find("2026")
    with pytest.raises(StoreError, match=r"no run '2025-laso-bb' in .*; did you mean '2025-lasso-bb'\?"):
        store.find("2025-laso-bb")
    for ask in (store.find, store.read, store.resume, store.delete, store.is_active):
        with pytest.raises(StoreError, match=r"There is no run ''"):
            ask("")
    with pytest.raises(StoreError, match=r"There is a run '2025-lasso-bb' in .* already"):
        store.create(head("2025-lasso-bb"), empty())
    store.delete("2026-ackley-aa")
    assert [run.id for run in store.runs()] == ["2026-ackley-ab", "2025-lasso-bb"]
    store.create(head("2026-ackley-aa"), empty()).close()
    assert len(store.runs()) == 3


def test_deleting_leaves_the_others_alone(tmp_path):
    store = Store(tmp_path / "runs.db")
    last = {}
    for seed, name in enumerate("abc"):
        with store.create(head(name, seed=seed), empty()) as writer:
            for step in itertools.islice(steps(seed, state_size=9000), 20):
                writer.write(step.rows, step.snapshot)
            last[name] = step_key(step)
    store.delete("b")
    assert {name: read_key(store.read(name)) for name in "ac"} == {name: last[name] for name in "ac"}


@pytest.mark.parametrize(
    ("rows", "counts", "message"),
    [
        ([pending(1, 1)], {}, "Trial 1 cannot .*: it is out of turn, the next one is 0"),
        ([pending(0, 1)], {}, "their events must be those from 0 on, got .1."),
        ([pending(0, 0)], {"asked": 2}, "The snapshot counts 2 trials asked, but with these rows there are 1"),
        ([pending(0, 0)], {"added": 1}, "The snapshot counts 1 trials added, but with these rows there are 0"),
        ([pending(0, 0, [0.0])], {}, r"its point has the shape \(1,\), not \(3,\)"),
        ([pending(0, 0, state="lost")], {}, "its state is 'lost'"),
        ([pending(0, 0, state="done", told=1)], {}, "it is done, but has no value"),
        ([pending(0, 0, told=1)], {}, "it is pending, but told is 1"),
        ([pending(0, 2**63)], {}, "does not fit into 64 bits"),
        ([pending(0, 0, info={"x": object()})], {}, "info"),
    ],
)
def test_what_would_be_taken_for_damage_is_not_written(tmp_path, rows, counts, message):
    store = Store(tmp_path / "runs.db")
    with store.create(head(), empty()) as writer:
        with pytest.raises(StoreError, match=message):
            writer.write(rows, replace(snapshot_of(rows), **counts))
        assert store.read("run-1").rows == ()
        writer.write([pending(0, 0)], snapshot_of([pending(0, 0)]))
    assert len(store.read("run-1").rows) == 1


def test_an_outcome_is_never_changed(tmp_path):
    store = Store(tmp_path / "runs.db")
    rows = [done(pending(0, 0), 1.0, 1)]
    with store.create(head(), snapshot_of(rows), rows=rows) as writer:
        with pytest.raises(StoreError, match="Trial 0 cannot be written down: it has its outcome already"):
            writer.write([replace(rows[0], value=0.0)], snapshot_of(rows))
        writer.write(rows, snapshot_of(rows))  # once more the same does no harm
    assert store.read("run-1").rows[0].value == 1.0


def test_a_closed_journal_says_so(tmp_path):
    writer = Store(tmp_path / "runs.db").create(head(), empty())
    writer.close()
    writer.close()
    for call in (lambda: writer.write([], empty()), lambda: writer.set_status("x"), lambda: writer.set_meta({})):
        with pytest.raises(StoreError, match="The journal of run 'run-1' is closed"):
            call()


def test_leaving_the_store_closes_its_journals(tmp_path):
    with Store(tmp_path / "runs.db") as store:
        store.create(head("a"), empty())
        writer = store.create(head("b"), empty())
        assert store.is_active("b")
    assert not any(run.active for run in store.runs())
    with pytest.raises(StoreError, match="closed"):
        writer.set_status("x")


def test_a_journal_that_is_forgotten_lets_the_run_go(tmp_path):
    store = Store(tmp_path / "runs.db")
    store.create(head(), empty())
    assert not store.is_active("run-1")


def test_the_head_may_hold_a_long_seed(tmp_path):
    first = RunHead("x", 0.0, "m", "p", 1, 1, 2**127 + 1, b"")
    store = Store(tmp_path / "runs.db")
    store.create(first, empty()).close()
    assert store.read("x").head == first
    assert json.dumps(store.runs()[0].seed) == str(2**127 + 1)
