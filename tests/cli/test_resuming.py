"""Runs are saved while they go, and go on as if nothing had happened."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path

import pytest
from cli.support import BOX, QUICK, ids, kept, start, trace, wait_for, without_timeout

import boids
from boids.algorithms import ALGORITHMS
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
    (run_id,) = ids()
    assert f"  boids resume {run_id}\n" in answer.out
    assert "3 of 12" in answer.out
    assert len(kept().pending) == 1

    resumed = cli("resume", run_id, "--json")
    assert resumed.code == 0
    assert resumed.json["nfev"] == 12
    assert (resumed.json["id"], resumed.json["store"], resumed.json["repeated"]) == (run_id, "boids-runs.db", 1)
    assert "1 begun more than once" in cli("show", run_id).out
    assert os.path.getsize("calls") == 13
    whole = cli("run", "MODULE:sphere", *arguments, "--store", "whole.db", "--json")
    assert resumed.json["x"] == whole.json["x"]
    assert trace(run_id=run_id) == trace("whole.db")


def test_an_interrupted_run_tells_it_in_json(cli, folder):
    arguments = ("run", "MODULE:stops_at_4", "--dim", 2, *folder.box, "--budget", 9, "--method", "random")
    answer = cli(*arguments, "--json", "--store", "it's mine.db")
    (run_id,) = ids("it's mine.db")
    assert answer.code == 130
    assert (answer.json["status"], answer.json["nfev"]) == ("interrupted", 3)
    assert answer.err.endswith(f"continue with: boids resume {run_id} --store 'it'\"'\"'s mine.db'\n")
    Path("calls").unlink()
    answer = cli(*arguments, "--no-store")
    assert answer.code == 130
    assert "not kept" in answer.out


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_signals_end_a_run_that_can_be_resumed(cli, folder, number, code):
    process = start(
        folder, "run", "MODULE:sleeps_at_4", *BOX, "--budget", "9", "--method", "random", "--store", "run.db"
    )
    try:
        wait_for(process, lambda: Path("calls").exists() and os.path.getsize("calls") == 4)
        process.send_signal(number)
        out, err = process.communicate(timeout=50)
    finally:
        process.kill()
    assert process.returncode == code
    assert "Traceback" not in err
    assert f"  boids resume {ids('run.db')[0]} --store run.db\n" in out
    assert kept("run.db").n_told == 3
    resumed = cli("resume", "--store", "run.db", "--json")
    assert resumed.code == 0
    assert (resumed.json["nfev"], resumed.json["status"]) == (9, "budget")
    assert os.path.getsize("calls") == 10  # nine, and the one that was cut


def test_a_signal_that_the_objective_swallows_still_ends_the_run(cli, folder):
    answer = cli("run", "MODULE:swallows", *BOX, "--budget", 9, "--method", "random", "--store", "run.db")
    assert answer.code == 130
    assert kept("run.db").n_told == 4


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
    answer = cli("run", "sphere", "--dim", 2, "--budget", 6, "--method", "random", "--store", "run.db")
    assert answer.code == 130
    assert finished == [1, 2, 3]
    assert kept("run.db").n_told == 3
    assert signal.getsignal(signal.SIGINT) is former


def test_a_second_signal_does_not_wait(cli, monkeypatch):
    def hangs(self, state, history, pending, rng):
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(60)

    monkeypatch.setattr(ALGORITHMS["random"], "ask", hangs)
    answer = cli("run", "sphere", "--dim", 2, "--budget", 6, "--method", "random", "--store", "run.db")
    assert answer.code == 130
    assert kept("run.db").n_told == 0


def test_resuming_a_finished_run_says_so(cli, folder):
    # Not even the module is needed.
    cli("run", "MODULE:sphere", *BOX, "--budget", 5, "--method", "random", "--store", "run.db")
    Path(f"{folder.module}.py").unlink()
    sys.modules.pop(folder.module)
    (run_id,) = ids("run.db")
    before = Path("run.db").read_bytes()
    answer = cli("resume", run_id, "--store", "run.db")
    assert answer.code == 0
    assert "is finished" in answer.err
    assert "5 of 5" in answer.out
    assert cli("resume", run_id, "--store", "run.db", "--json").json["nfev"] == 5
    assert cli("resume", run_id, "--store", "run.db", "--quiet").err == ""
    assert Path("run.db").read_bytes() == before


@pytest.mark.parametrize("limit", [("--target", "1e9"), ("--patience", "2")])
def test_a_run_that_reached_its_goal_is_finished(cli, limit):
    arguments = ("run", "sphere", "--dim", 2, "--budget", 300, "--seed", 1, "--method", "random", *limit)
    first = cli(*arguments, "--json").json
    answer = cli("resume", first["id"], "--json")
    assert "is finished" in answer.err
    assert answer.json["nfev"] == first["nfev"] < 300


def test_a_run_that_ran_out_of_time_gets_as_much_again(cli, folder):
    arguments = ("run", "sphere", "--dim", 2, "--budget", 5, "--method", "random", "--store", "run.db")
    answer = cli(*arguments, "--timeout", "1e-9")
    assert (answer.code, f"boids resume {ids('run.db')[0]} --store run.db" in answer.out) == (1, True)
    record = kept("run.db").meta["fields"]
    assert record["limits"]["fields"]["timeout"] == 1e-9
    assert cli("resume", "--store", "run.db", "--json").json["status"] == "timeout"


def test_a_problem_is_made_again_with_its_options(cli):
    arguments = ("ackley", "--dim", 4, "--option", "shift=true", "--option", "seed=9", "--budget", 6, "--seed", 0)
    random = ("--method", "random", "--json")
    assert cli("run", *arguments, *random, "--store", "a.db", "--timeout", "1e-9").code == 1
    without_timeout("a.db")
    resumed = cli("resume", "--store", "a.db", "--json").json
    whole = cli("run", *arguments, *random, "--no-store").json
    assert (resumed["x"], resumed["fun"], resumed["seed"]) == (whole["x"], whole["fun"], whole["seed"])


def test_runs_that_cannot_be_resumed(cli, folder):
    def keep(run_id, meta, dim=1):
        optimizer = boids.Optimizer([(0, 1)] * dim, budget=9, method="random", seed=0)
        optimizer.keep("boids-runs.db", run_id=run_id, meta=meta)
        optimizer.close("interrupted")

    limit = ("--timeout", "1e-9", "--budget", 9, "--method", "random")
    sphere = cli("run", "sphere", "--dim", 2, *limit, "--json").json["id"]
    keep("python", {})
    keep("own", {"mine": 3})
    keep("odd", {"class": "RunRecord", "fields": {"folder": 3}})
    keep("bounds", kept(run_id=sphere).meta, dim=2)
    cli("run", "MODULE:stops_at_4", *BOX, "--budget", 9, "--method", "random")
    moved = ids()[-1]
    Path(f"{folder.module}.py").unlink()
    sys.modules.pop(folder.module)
    for name, words in {
        "python": "boids.minimize(…, store='boids-runs.db', run_id='python')",
        "own": "was not begun by `boids run`",
        "odd": "The run 'odd' cannot be resumed",
        "bounds": "problem 'sphere' has other bounds by now.",
        moved: f"There is no module '{folder.module}' in the folder {folder.path}",
    }.items():
        answer = cli("resume", name)
        assert answer.code == 2
        assert words in answer.err
        assert answer.err.count("\n") == 1
    assert [each["nfev"] for each in cli("runs", "--json").json] == [0, 0, 0, 0, 0, 3]


def test_show_does_not_tell_to_resume_what_python_has_begun(cli, folder):
    optimizer = boids.Optimizer([(0, 1)], budget=9, method="random", seed=0, store="boids-runs.db", run_id="mine")
    optimizer.close("interrupted")
    out = " ".join(cli("show", "mine").out.split())
    assert "continue with boids.minimize(…, store='boids-runs.db', run_id='mine')" in out
    assert "boids resume" not in out
    assert "boids export mine" in out


def test_an_evaluation_that_ends_the_process_time_and_again_is_pointed_out(cli, folder):
    Path("deadly.py").write_text("def f(x):\n    raise KeyboardInterrupt\n")
    first = cli("run", "deadly:f", *BOX, "--budget", 9, "--method", "random")
    (run_id,) = ids()
    second, third = cli("resume", run_id), cli("resume", run_id)
    assert "never ended" not in first.err + second.err
    assert "Evaluation 0 has been begun 2 times and never ended" in third.err
    assert "--lost fail" in third.err


def test_a_run_is_kept_before_and_after_every_evaluation(cli, folder):
    assert cli("run", "MODULE:reads_the_store", *BOX, "--budget", 3, "--method", "random").code == 0
    seen = [json.loads(line)[0] for line in Path("told").read_text().splitlines()]
    assert [(each["nfev"], each["status"], each["active"]) for each in seen] == [(i, "running", True) for i in range(3)]
    assert cli("runs", "--json").json[0]["status"] == "budget"


def test_without_an_id_the_latest_unfinished_run_goes_on(cli, folder):
    limit = ("--timeout", "1e-9", "--budget", 4, "--method", "random", "--json")
    unfinished = [cli("run", "sphere", "--dim", 2, *limit).json["id"] for _ in range(2)]
    cli("run", "sphere", "--dim", 2, "--budget", 3, "--method", "random")
    boids.Optimizer([(0, 1)], budget=3, method="random", store="boids-runs.db", run_id="python").close()
    without_timeout("boids-runs.db", unfinished[1])
    answer = cli("resume", "--json")
    assert answer.err == f"Run {unfinished[1]}\n"
    assert (answer.json["id"], answer.json["status"]) == (unfinished[1], "budget")
    again = cli("resume", "--json")
    assert (again.json["id"], again.json["status"]) == (unfinished[0], "timeout")


def test_a_module_that_changes_the_folder(cli, folder):
    Path("elsewhere").mkdir()
    Path("moving.py").write_text("import os\nos.chdir('elsewhere')\ndef f(x):\n    return float(x @ x)\n")
    answer = cli("run", "moving:f", *BOX, "--budget", 3, "--method", "random", "--json")
    assert answer.code == 0
    os.chdir(folder.path)
    assert ids() == [answer.json["id"]]
    assert kept().meta["fields"]["folder"] == str(folder.path)


def test_an_id_may_be_cut(cli, folder):
    run_id = cli("run", "sphere", "--dim", 2, "--budget", 3, "--method", "random", "--json").json["id"]
    for part in (run_id[:12], run_id[-8:]):
        answer = cli("resume", part)
        assert (answer.code, f"Run {run_id}\n" in answer.err) == (0, True)
    cli("run", "sphere", "--dim", 2, "--budget", 3, "--method", "random")
    answer = cli("show", "20")
    assert (answer.code, "Several runs begin or end with '20'" in answer.err) == (2, True)
    assert "did you mean" in cli("show", run_id[:-1] + "x").err
