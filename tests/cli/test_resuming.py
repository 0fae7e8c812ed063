"""Runs are saved while they go, and go on as if nothing had happened."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from cli.support import BOX, QUICK, only_file, start, wait_for

import boids
from boids.algorithms import ALGORITHMS
from boids.cli import saver as saving
from boids.cli.record import Limits, RunRecord
from boids.cli.saver import Saver
from boids.cli.targets import ProblemTarget
from boids.errors import StoreError


def test_the_optimizer_keeps_facts_of_its_caller(folder):
    optimizer = boids.Optimizer([(0, 1)], budget=3, method="random", seed=0)
    assert optimizer.meta == {}
    optimizer.save("run.npz", meta={"a": [1, None, {"b": (2.5, "é")}]})
    loaded = boids.Optimizer.load("run.npz")
    assert loaded.meta == {"a": [1, None, {"b": [2.5, "é"]}]}
    loaded.save("run.npz")
    assert boids.Optimizer.load("run.npz").meta == loaded.meta
    with pytest.raises(StoreError, match="meta"):
        loaded.save("run.npz", meta={"f": object()})


def test_an_interrupted_run_goes_on_as_if_nothing_had_happened(cli, folder):
    """Run N of 2N, be interrupted, resume: bit for bit the run of 2N, and the cut evaluation is made again."""
    arguments = ("--dim", 6, *folder.box, "--budget", 12, "--seed", 3, "--set", "n_init=2", *QUICK)
    answer = cli("run", "MODULE:stops_at_4", *arguments)
    assert answer.code == 130
    saved = only_file(folder)
    assert f"  boids resume {saved}\n" in answer.out
    assert "3 of 12" in answer.out
    assert len(boids.Optimizer.load(saved).pending) == 1

    resumed = cli("resume", saved, "--json")
    assert resumed.code == 0
    assert resumed.json["nfev"] == 12
    assert resumed.json["saved"] == only_file(folder)
    assert os.path.getsize("calls") == 13
    whole = cli("run", "MODULE:sphere", *arguments, "--save", "whole.npz", "--json")
    assert resumed.json["x"] == whole.json["x"]
    values = [[trial.value for trial in boids.Optimizer.load(path).trials] for path in (saved, "whole.npz")]
    assert values[0] == values[1]


def test_an_interrupted_run_tells_it_in_json(cli, folder):
    arguments = ("run", "MODULE:stops_at_4", "--dim", 2, *folder.box, "--budget", 9, "--method", "random")
    answer = cli(*arguments, "--json", "--save", "it's mine.npz")
    assert answer.code == 130
    assert (answer.json["status"], answer.json["nfev"]) == ("interrupted", 3)
    assert answer.err.endswith("continue with: boids resume 'it'\"'\"'s mine.npz'\n")
    Path("calls").unlink()
    answer = cli(*arguments, "--no-store")
    assert answer.code == 130
    assert "not saved" in answer.out


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_signals_end_a_run_that_can_be_resumed(cli, folder, number, code):
    process = start(
        folder, "run", "MODULE:sleeps_at_4", *BOX, "--budget", "9", "--method", "random", "--save", "run.npz"
    )
    try:
        wait_for(process, lambda: Path("calls").exists() and os.path.getsize("calls") == 4)
        process.send_signal(number)
        out, err = process.communicate(timeout=50)
    finally:
        process.kill()
    assert process.returncode == code
    assert "Traceback" not in err
    assert "  boids resume run.npz\n" in out
    assert boids.Optimizer.load("run.npz").n_told == 3
    resumed = cli("resume", "run.npz", "--json")
    assert resumed.code == 0
    assert (resumed.json["nfev"], resumed.json["status"]) == (9, "budget")
    assert os.path.getsize("calls") == 10  # nine, and the one that was cut


def test_a_signal_that_the_objective_swallows_still_ends_the_run(cli, folder):
    answer = cli("run", "MODULE:swallows", *BOX, "--budget", 9, "--method", "random", "--save", "run.npz")
    assert answer.code == 130
    assert boids.Optimizer.load("run.npz").n_told == 4


def test_a_signal_never_strikes_inside_the_method(cli, monkeypatch):
    """It waits for the next call of the objective, so that the books and the method's state stay in step."""
    finished = []

    def told(self, state, history, proposal, outcome, rng):
        if len(history) == 3:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.01)  # the handler runs in here
        finished.append(len(history))
        return state

    monkeypatch.setattr(ALGORITHMS["random"], "tell", told)
    former = signal.getsignal(signal.SIGINT)
    answer = cli("run", "sphere", "--dim", 2, "--budget", 6, "--method", "random", "--save", "run.npz")
    assert answer.code == 130
    assert finished == [1, 2, 3]
    assert boids.Optimizer.load("run.npz").n_told == 3
    assert signal.getsignal(signal.SIGINT) is former


def test_a_second_signal_does_not_wait(cli, monkeypatch):
    def hangs(self, state, history, pending, rng):
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(60)

    monkeypatch.setattr(ALGORITHMS["random"], "ask", hangs)
    answer = cli("run", "sphere", "--dim", 2, "--budget", 6, "--method", "random", "--save", "run.npz")
    assert answer.code == 130
    assert boids.Optimizer.load("run.npz").n_told == 0


def test_resuming_a_finished_run_says_so(cli, folder):
    # Not even the module is needed.
    cli("run", "MODULE:sphere", *BOX, "--budget", 5, "--method", "random", "--save", "run.npz")
    Path(f"{folder.module}.py").unlink()
    sys.modules.pop(folder.module)
    before = Path("run.npz").read_bytes()
    answer = cli("resume", "run.npz")
    assert answer.code == 0
    assert "is finished" in answer.err
    assert "5 of 5" in answer.out
    assert cli("resume", "run.npz", "--json").json["nfev"] == 5
    assert cli("resume", "run.npz", "--quiet").err == ""
    assert Path("run.npz").read_bytes() == before


@pytest.mark.parametrize("limit", [("--target", "1e9"), ("--patience", "2")])
def test_a_run_that_reached_its_goal_is_finished(cli, limit):
    arguments = ("run", "sphere", "--dim", 2, "--budget", 300, "--seed", 1, "--method", "random", *limit)
    nfev = cli(*arguments, "--save", "run.npz", "--json").json["nfev"]
    answer = cli("resume", "run.npz", "--json")
    assert "is finished" in answer.err
    assert answer.json["nfev"] == nfev < 300


def test_a_run_that_ran_out_of_time_gets_as_much_again(cli, folder):
    arguments = ("run", "sphere", "--dim", 2, "--budget", 5, "--method", "random", "--save", "run.npz")
    answer = cli(*arguments, "--timeout", "1e-9")
    assert (answer.code, "boids resume run.npz" in answer.out) == (1, True)
    record = boids.Optimizer.load("run.npz").meta["fields"]
    assert record["limits"]["fields"]["timeout"] == 1e-9
    assert cli("resume", "run.npz", "--json").json["status"] == "timeout"


def test_a_problem_is_made_again_with_its_options(cli):
    arguments = ("ackley", "--dim", 4, "--option", "shift=true", "--option", "seed=9", "--budget", 6, "--seed", 0)
    random = ("--method", "random", "--json")
    assert cli("run", *arguments, *random, "--save", "a.npz", "--timeout", "1e-9").code == 1
    optimizer = boids.Optimizer.load("a.npz")
    meta = optimizer.meta
    meta["fields"]["limits"]["fields"]["timeout"] = None
    optimizer.save("a.npz", meta=meta)
    resumed = cli("resume", "a.npz", "--json").json
    whole = cli("run", *arguments, *random, "--no-store").json
    assert (resumed["x"], resumed["fun"], resumed["seed"]) == (whole["x"], whole["fun"], whole["seed"])


def test_snapshots_that_cannot_be_resumed(cli, folder):
    optimizer = boids.Optimizer([(0, 1)], budget=3, method="random", seed=0)
    optimizer.save("python.npz")
    optimizer.save("odd.npz", meta={"class": "RunRecord", "fields": {"id": 3}})
    limit = ("--timeout", "1e-9", "--budget", 9, "--method", "random")
    cli("run", "sphere", "--dim", 2, *limit, "--save", "run.npz")
    other = boids.Optimizer([(0, 1)] * 2, budget=9, method="random", seed=0)
    other.save("bounds.npz", meta=boids.Optimizer.load("run.npz").meta)
    cli("run", "MODULE:stops_at_4", *BOX, "--budget", 9, "--method", "random", "--save", "moved.npz")
    Path(f"{folder.module}.py").unlink()
    sys.modules.pop(folder.module)
    for name, words in {
        "python.npz": "boids.Optimizer.load",
        "odd.npz": "cannot be resumed",
        "bounds.npz": "problem 'sphere' has other bounds by now.",
        "moved.npz": f"There is no module '{folder.module}' in the folder {folder.path}",
    }.items():
        answer = cli("resume", name)
        assert answer.code == 2
        assert words in answer.err
        assert answer.err.count("\n") == 1


def test_a_run_is_saved_while_it_goes(cli, folder, monkeypatch):
    monkeypatch.setattr(saving, "_INTERVAL", 0.0)
    monkeypatch.setattr(saving, "_SHARE", 1e9)
    arguments = ("run", "MODULE:reads_the_snapshot", *BOX, "--budget", 5, "--method", "random", "--save", "run.npz")
    assert cli(*arguments).code == 0
    assert Path("told").read_text().split() == ["0", "1", "2", "3", "4"]
    assert boids.Optimizer.load("run.npz").meta["fields"]["status"] == "budget"


def test_saving_takes_a_small_share_of_the_time(monkeypatch):
    now, saves = [100.0], []
    monkeypatch.setattr(saving.time, "monotonic", lambda: now[0])

    def save(path, meta):
        saves.append(now[0])
        now[0] += 1.0  # a slow disk

    stub = SimpleNamespace(save=save, add_time=lambda phase, seconds: None)
    saver = Saver(stub, Path("run.npz"), RunRecord("id", ".", ProblemTarget("sphere"), Limits()))
    while now[0] < 300.0:
        saver.save_if_due()
        now[0] += 0.5
    assert saves == [100.0, 151.0, 202.0, 253.0]


def test_a_save_that_fails_is_told_and_does_not_end_the_run(cli, folder, monkeypatch):
    monkeypatch.setattr(saving, "_INTERVAL", 0.0)
    monkeypatch.setattr(saving, "_SHARE", 1e9)
    (folder.path / "folder").mkdir()
    common = (*BOX, "--budget", 5, "--method", "random", "--save", "folder/run.npz", "--json")
    answer = cli("run", "MODULE:removes_the_folder", *common)
    assert answer.code == 2
    assert answer.json["nfev"] == 5
    assert answer.json["saved"] is None
    warning, error = (line for line in answer.err.splitlines() if line.startswith("boids: "))
    assert "cannot be written" in warning
    assert "The run goes on." in warning
    assert "cannot be written" in error


def test_a_folder_that_cannot_be_made(cli, folder):
    (folder.path / "boids-runs").write_text("a file")
    answer = cli("run", "sphere", "--dim", 2, "--budget", 2, "--method", "random")
    assert answer.code == 2
    assert "--no-store" in answer.err
