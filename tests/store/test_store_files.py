"""Whatever lies at the path: a store, or one sentence about what it is instead; nothing is destroyed or created."""

from __future__ import annotations

import os
import sqlite3
import stat
from contextlib import closing

import pytest
from stored_runs import done, empty, head, pending, snapshot_of

from boids.errors import StoreError
from boids.store import Store
from boids.store import locks as run_locks
from boids.store.location import Location

ROWS = [done(pending(0, 0), 1.0, 1)]


def files(folder):
    return {path.name: path.read_bytes() if path.is_file() else None for path in folder.iterdir()}


@pytest.fixture
def path(tmp_path):
    """A store with one run, that nobody uses."""
    path = tmp_path / "runs.db"
    Store(path).create(head(), snapshot_of(ROWS), rows=ROWS).close()
    return path


def refused_everywhere(path, message, *, create=True):
    """Check that every call is refused in one sentence, and leaves the folder as it was."""
    store = Store(path, timeout=0.1)
    before = files(path.parent)
    calls = [store.runs, *(lambda call=call: call("run-1") for call in (store.read, store.find, store.resume))]
    calls += [lambda: store.delete("run-1"), lambda: store.is_active("run-1")]
    for call in calls + [lambda: store.create(head("new"), empty())] * create:
        with pytest.raises(StoreError, match=message) as caught:
            call()
        assert "\n" not in str(caught.value)
        assert files(path.parent) == before


def test_no_file(tmp_path):
    refused_everywhere(tmp_path / "none.db", r"There is no store '.*none\.db'\.", create=False)
    store = Store(tmp_path / "none.db")
    with store.create(head(), empty()):
        assert [run.id for run in store.runs()] == ["run-1"]


def test_no_folder(tmp_path):
    with pytest.raises(StoreError, match=r"cannot be made: there is no folder '.*none'; make it first"):
        Store(tmp_path / "none" / "runs.db").create(head(), empty())
    assert not files(tmp_path)


def test_a_folder(tmp_path):
    (tmp_path / "runs").mkdir()
    refused_everywhere(tmp_path / "runs", "is a folder, not a store; name a file in it")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(StoreError, match="is not a file"):
        Store(tmp_path / "pipe").runs()


@pytest.mark.parametrize("name", ["a\0b", "x" * 5000])
def test_a_name_that_no_file_can_have(name):
    with pytest.raises(StoreError, match="cannot be opened"):
        Store(name).runs()


def test_an_empty_file_holds_no_runs_and_can_be_used(tmp_path):
    path = tmp_path / "runs.db"
    path.touch(mode=0o600)
    refused_everywhere(path, "is empty; it holds no runs", create=False)
    Store(path).create(head(), empty()).close()
    assert len(Store(path).runs()) == 1
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize("content", [b"x", b"number,value\n0,1.5\n" * 500, b"SQLite format 3\0", b"\0" * 9000])
def test_not_sqlite(tmp_path, content):
    (tmp_path / "runs.db").write_bytes(content)
    refused_everywhere(tmp_path / "runs.db", "is not a store of boids|is damaged|belongs to another program")


@pytest.mark.parametrize("mode", ["delete", "wal"])
def test_an_sqlite_file_of_another_program(tmp_path, mode):
    with closing(sqlite3.connect(tmp_path / "runs.db")) as db:
        db.execute(f"PRAGMA journal_mode = {mode}")
        db.execute("CREATE TABLE runs (id TEXT)")
        db.commit()
    refused_everywhere(tmp_path / "runs.db", "belongs to another program; it is not a store of boids")


def test_a_newer_version(path):
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA user_version = 2")
    refused_everywhere(path, r"was written by a newer boids \(format 2, not 1\); upgrade")


@pytest.mark.parametrize(
    "statement",
    ["CREATE TABLE more (x)", "CREATE INDEX i ON trials (value)", "ALTER TABLE trials ADD COLUMN x", "DROP TABLE blobs",
     "CREATE TRIGGER t AFTER INSERT ON trials BEGIN DELETE FROM trials; END", "PRAGMA user_version = 0"],
)  # fmt: skip
def test_other_tables(path, statement):
    with closing(sqlite3.connect(path)) as db:
        db.execute(statement)
    refused_everywhere(path, r"is damaged \(.*\); restore it from a copy")


@pytest.mark.parametrize(
    "statement",
    ["UPDATE trials SET value = 0.5", "UPDATE trials SET value = NULL", "DELETE FROM trials", "DELETE FROM blobs",
     "UPDATE blobs SET data = x'00'", "UPDATE trials SET state = 'failed'", "UPDATE trials SET unit = zeroblob(24)",
     "INSERT INTO trials SELECT place + 1, run, number + 1, state, value, constraints, noise_variance, error, started, "
     "ended, attempts, asked, told, info, memo, unit, aimed, checksum FROM trials"],
)  # fmt: skip
def test_a_run_that_was_tampered_with(path, statement):
    """The list of runs does not look at trials and blobs; whoever reads or writes the run does."""
    with closing(sqlite3.connect(path)) as db:
        db.execute(statement)
        db.commit()
    store = Store(path)
    for call in (store.read, store.resume, store.delete):
        with pytest.raises(StoreError, match="is damaged"):
            call("run-1")


@pytest.mark.parametrize(
    "statement",
    ["UPDATE progress SET status = 'done'", "UPDATE progress SET best = 0", "DELETE FROM progress", "DELETE FROM runs",
     "UPDATE runs SET seed = '1'", "UPDATE store SET runs = 2", "DELETE FROM store", "UPDATE runs SET run = 7",
     "UPDATE runs SET id = CAST(x'ff' AS TEXT)", "UPDATE progress SET asked = 4611686018427387904"],
)  # fmt: skip
def test_a_list_of_runs_that_was_tampered_with(path, statement):
    with closing(sqlite3.connect(path)) as db:
        db.execute(statement)
        db.commit()
    for name in os.listdir(path.parent):
        if name.endswith("-lock"):
            (path.parent / name).unlink()
    refused_everywhere(path, "is damaged")


def test_rows_from_an_earlier_moment_are_noticed(path):
    """Each row is as it was once written, but not all at the same time."""
    store = Store(path)
    with closing(sqlite3.connect(path)) as db:
        old = db.execute("SELECT * FROM progress").fetchone()
    with store.resume("run-1")[1] as writer:
        writer.set_status("budget")
    with closing(sqlite3.connect(path)) as db:
        db.execute(f"REPLACE INTO progress VALUES ({', '.join('?' * len(old))})", old)
        db.commit()
    with pytest.raises(StoreError, match="a run is missing, or not as it was last written"):
        store.runs()


def test_cut_short(path):
    data = path.read_bytes()
    for size in (1, 50, 100, 4095, 4096, 5000, 8192, len(data) - 1, len(data) - 4096):
        path.write_bytes(data[:size])
        store = Store(path)
        for call in (store.runs, lambda store=store: store.read("run-1"), lambda store=store: store.resume("run-1")):
            with pytest.raises(StoreError, match=r"is damaged|is not a store"):
                call()
        assert path.read_bytes() == data[:size]


def test_reading_changes_nothing_and_leaves_nothing_behind(path):
    before, when = files(path.parent), path.stat().st_mtime_ns
    store = Store(path)
    for call in (store.runs, lambda: store.find("run"), lambda: store.read("run-1"), lambda: store.is_active("run-1")):
        call()
        assert files(path.parent) == before
    assert path.stat().st_mtime_ns == when


def test_a_store_that_a_crash_left_open_is_read_unchanged(tmp_path, path):
    """The last changes are still in the log, and the log is not worked in by reading."""
    with Store(path).resume("run-1")[1] as writer:
        writer.set_meta({"late": True})
        copy = tmp_path / "copy"
        copy.mkdir()
        for ending in ("", "-wal"):
            (copy / f"runs.db{ending}").write_bytes((path.parent / f"runs.db{ending}").read_bytes())
    before = files(copy)
    store = Store(copy / "runs.db")
    assert store.read("run-1").meta == {"late": True}
    assert store.runs()[0].status == "running"
    assert not store.runs()[0].active
    after = files(copy)
    assert {name: after[name] for name in before} == before


def test_a_copy_made_by_sqlite_is_a_store(tmp_path, path):
    with closing(sqlite3.connect(path)) as db:
        db.execute(f"VACUUM INTO '{tmp_path / 'copy.db'}'")
    store = Store(tmp_path / "copy.db")
    before = (tmp_path / "copy.db").read_bytes()
    run, writer = store.resume("run-1")
    assert (tmp_path / "copy.db").read_bytes() == before
    writer.set_status("done")
    assert (tmp_path / "copy.db-wal").exists()
    writer.close()
    assert len(run.rows) == len(store.read("run-1").rows) == 1


def test_the_path_stays_the_same_when_the_process_moves(tmp_path, monkeypatch):
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    store = Store("runs.db")
    monkeypatch.chdir("elsewhere")
    store.create(head(), empty()).close()
    assert (tmp_path / "runs.db").exists()


def test_a_link_leads_to_the_same_runs_and_locks(tmp_path, path):
    os.symlink(path, tmp_path / "link.db")
    with Store(path).resume("run-1")[1], pytest.raises(StoreError, match=r"by this process since .*; close\(\)"):
        Store(tmp_path / "link.db").resume("run-1")


def test_strange_names(tmp_path):
    for name in ("with space.db", "50%.db", "a?mode=memory.db", "a#b.db", "µ.db", "file:x.db", "-x", "\udc80.db"):
        store = Store(tmp_path / name)
        store.create(head(), empty()).close()
        assert len(store.runs()) == 1
        assert (tmp_path / name).stat().st_size > 0


def test_the_rest_of_another_store_is_not_mixed_in(tmp_path):
    (tmp_path / "runs.db-wal").write_bytes(b"log of a store that is gone")
    with pytest.raises(StoreError, match=r"beside it lies 'runs\.db-wal', the rest of a store that is gone"):
        Store(tmp_path / "runs.db").create(head(), empty())
    assert (tmp_path / "runs.db-wal").read_bytes() == b"log of a store that is gone"
    assert not (tmp_path / "runs.db").exists()


# --- no permission --------------------------------------------------------------------------------------------
# Root may do everything, so the system's answers are put on.


def forbid(monkeypatch, *forbidden):
    real = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: (str(path), mode) not in forbidden and real(path, mode))


@pytest.mark.parametrize("what", ["file", "folder"])
def test_a_read_only_store_can_be_read(path, monkeypatch, what):
    forbid(monkeypatch, (str(path if what == "file" else path.parent), os.W_OK))
    store = Store(path)
    assert len(store.runs()) == len(store.read("run-1").rows) == 1
    (path.parent / "runs.db-lock").unlink()
    before = files(path.parent)
    for call in (
        lambda: store.resume("run-1"),
        lambda: store.create(head("b"), empty()),
        lambda: store.delete("run-1"),
    ):
        with pytest.raises(StoreError, match=f"cannot be written: its {what} is read-only"):
            call()
    assert files(path.parent) == before
    assert not store.is_active("run-1")


def test_a_store_cannot_be_made_in_a_read_only_folder(tmp_path, monkeypatch):
    forbid(monkeypatch, (str(tmp_path), os.W_OK))
    with pytest.raises(StoreError, match=r"cannot be made: .* is read-only"):
        Store(tmp_path / "runs.db").create(head(), empty())
    assert not files(tmp_path)


def test_a_file_that_must_not_be_read(path, monkeypatch):
    forbid(monkeypatch, (str(path), os.R_OK))
    refused_everywhere(path, "cannot be read: no permission")


def test_a_lock_file_that_cannot_be_used(path, monkeypatch):
    def refuse(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(run_locks, "_open", refuse)
    with pytest.raises(
        StoreError, match=r"runs\.db-lock', the file with its locks, cannot be used \(Permission denied\)"
    ):
        Store(path).resume("run-1")


@pytest.mark.parametrize(
    ("code", "message"),
    [
        (sqlite3.SQLITE_READONLY_DBMOVED, "the file or its folder is read-only"),
        (sqlite3.SQLITE_FULL, "no room left on the disk; what was written before is kept"),
        (sqlite3.SQLITE_IOERR_WRITE, r"the disk is full or failing \(oops\)"),
        (sqlite3.SQLITE_CANTOPEN, "no permission for it or for its folder"),
        (sqlite3.SQLITE_BUSY_SNAPSHOT, r"another program has kept it locked for 2\.5 s"),
        (sqlite3.SQLITE_CORRUPT, r"is damaged \(oops\); restore it from a copy"),
    ],
)
def test_each_fault_has_its_sentence(code, message):
    error = sqlite3.OperationalError("oops")
    error.sqlite_errorcode = code
    with pytest.raises(StoreError, match=message), Location("runs.db", 2.5).speaking("written"):
        raise error


# --- locked by another program --------------------------------------------------------------------------------


def test_another_program_that_writes_for_long(path):
    """It can be read all the time, and written to again afterwards."""
    store = Store(path, timeout=0.1)
    with store.resume("run-1")[1] as writer, closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("BEGIN EXCLUSIVE")
        with pytest.raises(StoreError, match=r"cannot be written: another program has kept it locked for 0\.1 s"):
            writer.set_status("x")
        with pytest.raises(StoreError, match="another program has kept it locked"):
            store.create(head("b"), empty())
        assert store.runs()[0].status == "running"
        db.execute("ROLLBACK")
        writer.set_status("done")
    assert store.runs()[0].status == "done"


def test_another_program_that_lets_nobody_in(path):
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("PRAGMA locking_mode = EXCLUSIVE")
        db.execute("BEGIN EXCLUSIVE")
        db.execute("DELETE FROM trials")
        with pytest.raises(StoreError, match=r"cannot be read: another program has kept it locked for 0\.1 s"):
            Store(path, timeout=0.1).runs()
        db.execute("ROLLBACK")
    assert len(Store(path).read("run-1").rows) == 1


def test_a_store_that_changes_while_it_is_read(path, monkeypatch):
    """An answer from a file that nobody used is thrown away if somebody has begun to."""
    store = Store(path)
    real = Location._consult
    seen = []

    def meanwhile(self, how, work):
        answer = real(self, how, work)
        seen.append(how)
        if len(seen) == 1:
            with Store(path).resume("run-1")[1] as writer:
                writer.set_status("later")
        return answer

    monkeypatch.setattr(Location, "_consult", meanwhile)
    assert store.runs()[0].status == "later"
    assert seen[-1] == "mode=ro"


def test_reading_during_a_transaction_sees_the_moment_before(path):
    store = Store(path)
    with store.resume("run-1")[1] as writer:
        db = writer._db
        db.execute("BEGIN IMMEDIATE")
        db.execute("DELETE FROM trials")
        assert len(store.read("run-1").rows) == 1
        db.execute("ROLLBACK")
