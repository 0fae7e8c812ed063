"""Functions and problems that are not a clean function on a box: constraints, noise, crashes, memory; pictures."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cli.support import BOX, QUICK, ids, kept, start, trace

from boids.cli.failures import Reason, reasons
from boids.problems import PROBLEMS, Problem, ProblemFactory
from boids.records import Trial
from boids.store import Store

RANDOM = ("--method", "random", "--seed", "1")
SPACE = ("--space", "space.toml")


# Spaces and constraints


def test_a_function_over_a_space_file(cli, folder):
    line = cli("run", "MODULE:constrained", *SPACE, "--budget", 30, *RANDOM, "--json").json
    optimizer = kept(line["store"])
    assert (optimizer.n_constraints, optimizer.noisy, optimizer.penalty) == (2, False, None)
    assert optimizer.linear_constraints.rows == ("low - high <= 0",)
    assert line["dim"] == optimizer.space.dim == 10
    assert line["failed"] == 0  # the function asserts the linear constraint
    x = line["x"]
    assert list(x) == ["low", "high", "count", "kind", "weights"]
    assert line["fun"] == line["observed"] == x["low"] + x["count"]
    assert line["constraints"] == [0.5 - x["low"], x["count"] - 5]
    assert line["feasible"] is True
    assert line["noisy"] is False


def test_linear_constraints_of_file_and_command_line_hold_together(cli, folder):
    more = ("--linear", "count <= 4", "--linear", "sum(weights) >= 1")
    line = cli("run", "MODULE:constrained", *SPACE, *more, "--budget", 20, *RANDOM, "--json").json
    for trial in kept(line["store"]).trials:
        p = trial.params
        assert p["low"] <= p["high"]
        assert p["count"] <= 4
        assert p["weights"].sum() >= 1
    box = cli("run", "sphere", "--dim", 3, "--linear", "x[0] + x[1] == 1", "--budget", 9, *RANDOM)
    assert box.code == 0
    assert "the optimum is" not in box.out  # it may not satisfy the constraint


def test_the_number_of_constraints_can_be_given(cli, folder):
    line = cli("run", "MODULE:infeasible", *BOX, "--constraints", 3, "--budget", 8, *RANDOM, "--json").json
    assert len(line["constraints"]) == 3
    wrong = cli("run", "MODULE:infeasible", *BOX, "--constraints", 2, "--budget", 3, *RANDOM, "--json")
    assert (wrong.code, wrong.json["failed"]) == (1, 3)
    assert "The run has 2 constraints, but 3 came" in wrong.json["message"]


def test_no_feasible_point_is_said_and_is_no_failure(cli, folder):
    arguments = ("run", "MODULE:infeasible", *BOX, "--constraints", 3, "--budget", 12, *RANDOM, "--store", "run.db")
    answer = cli(*arguments)
    assert answer.code == 0
    best = kept("run.db").best
    words = " ".join(answer.out.split())
    assert f"no feasible point; least violation {best.violation:.6g}, 2 of 3 constraints violated" in words
    assert f"value there {best.value:.8g}" in words
    assert "feasible 0 of 12 successful evaluations" in words
    assert "the optimum" not in words
    line = cli("resume", ids("run.db")[0], "--store", "run.db", "--json").json
    assert (line["feasible"], line["fun"], line["constraints"]) == (False, best.value, list(best.constraints))


def test_the_penalty_form_reaches_the_optimizer(cli, folder):
    arguments = ("run", "MODULE:constrained", *SPACE, "--penalty", 2.5, "--budget", 5, *RANDOM, "--json")
    assert kept(cli(*arguments).json["store"]).penalty == 2.5


def test_columns_of_a_space(cli, folder):
    arguments = (*SPACE, "--constraints", 0, "--vectorized", "--batch", 4, "--budget", 8, *RANDOM, "--json")
    line = cli("run", "MODULE:columns", *arguments).json
    assert line["failed"] == 0
    assert line["fun"] == line["x"]["low"] + line["x"]["high"] + line["x"]["count"]


def test_a_space_of_few_points_ends_before_the_budget(cli, folder):
    Path("few.toml").write_text("[parameters]\na = { type = 'int', low = 0, high = 4 }\nb = { type = 'bool' }")
    Path("few.py").write_text("def f(p):\n    return p['a'] + p['b']\n")
    answer = cli("run", "few:f", "--space", "few.toml", "--budget", 50, *RANDOM, "--store", "run.db", "--json")
    assert (answer.json["status"], answer.json["nfev"], answer.json["fun"]) == ("space", 10, 0)
    assert "is finished" in cli("resume", ids("run.db")[0], "--store", "run.db").err


# Noise


def test_noise(cli, folder):
    arguments = ("run", "MODULE:scattered", *BOX, "--noisy", "--budget", 20, *RANDOM, "--store", "run.db")
    answer = cli(*arguments)
    optimizer = kept("run.db")
    assert optimizer.noisy
    words = " ".join(answer.out.split())
    assert f"posterior mean {optimizer.estimate:.8g} (observed {optimizer.best.value:.8g})" in words
    line = cli("resume", ids("run.db")[0], "--store", "run.db", "--json").json
    assert (line["noisy"], line["fun"], line["observed"]) == (True, optimizer.estimate, optimizer.best.value)
    assert line["fun"] != line["observed"]


# Processes of their own


def test_a_crash_of_the_interpreter_is_a_failed_evaluation(folder):
    process = start(
        folder, "run", "MODULE:dies", *BOX, "--isolate", "--budget", "9", *RANDOM, "--json", "--store", "run.db"
    )
    out, err = process.communicate(timeout=50)
    assert process.returncode == 0, err
    assert out.count("\n") == 1  # what the other process prints goes to stderr, too
    assert "about to die" in err
    optimizer = kept("run.db")
    assert optimizer.n_told == 9
    for trial in optimizer.trials:
        assert trial.failed == (trial.params[0] > 0)
        assert not trial.failed or trial.error == "The process of the evaluation was killed by signal ABRT."
    assert 0 < optimizer.n_failed < 9


def test_a_hang_of_a_function_is_a_failed_evaluation(cli, folder):
    arguments = ("--eval-timeout", 2, "--budget", 3, "--method", "random", "--seed", 9, "--json")
    answer = cli("run", "MODULE:hangs", *BOX, *arguments)
    optimizer = kept(answer.json["store"])
    assert [trial.failed for trial in optimizer.trials] == [trial.params[0] > 0 for trial in optimizer.trials]
    assert answer.json["failed"] == 1
    (error,) = [trial.error for trial in optimizer.trials if trial.failed]
    assert error == "The evaluation took longer than 2 s and was ended."
    placing = optimizer.meta["fields"]["placing"]["fields"]
    assert placing["eval_timeout"] == 2.0


@pytest.mark.parametrize("isolated", [(), ("--isolate",)])
def test_where_the_first_failure_comes_from(cli, folder, isolated):
    answer = cli("run", "MODULE:broken", *BOX, *isolated, "--budget", 2, *RANDOM)
    assert answer.code == 1
    assert "The first failure:" in answer.err
    assert "in broken" in answer.err
    assert 'raise RuntimeError("the solver' in answer.err
    assert "boids/cli" not in answer.err
    once = cli("run", "MODULE:touchy", *BOX, *isolated, "--budget", 5, *RANDOM)
    assert (once.code, "The first failure" in once.err) == (0, False)


# Reasons


def failure(error: str) -> Trial:
    return Trial(0, None, np.zeros(1), error=error, state="failed")


def test_reasons_that_differ_in_numbers_are_one():
    errors = [
        "ValueError: x is 1.5e-3, must be < -2",
        "ValueError: x is -7, must be < 0.25",
        "MemoryError at 0x7f3a",
        "MemoryError at 0xbeef",
        "The program ended; stderr ends with 'step 3; its files are in the way.'; its files are in work/a; b/0001.",
        "The program ended; stderr ends with 'step 4; its files are in the way.'; its files are in work/a; b/0002.",
        "ValueError: x is 3, must be < 4",
        "Other",
    ]
    found = reasons([Trial(0, None, np.zeros(1), value=1.0, state="done"), *map(failure, errors)])
    assert found == [
        Reason(errors[0], 3),
        Reason(errors[2], 2),
        Reason("The program ended; stderr ends with 'step 3; its files are in the way.'.", 2, "work/a; b/0001"),
        Reason("Other", 1),
    ]


# Problems with constraints or a memory


@dataclass(eq=False)
class Drifting:
    """Its values rise with every point evaluated, the cut ones included."""

    stop_at: int = 0
    memory: dict[str, int] = field(default_factory=lambda: {"calls": 0})

    def __call__(self, points: Any) -> Any:
        self.memory["calls"] += len(points)
        with open("calls", "a") as file:
            file.write("x")
        if self.stop_at and Path("calls").stat().st_size == self.stop_at:
            raise KeyboardInterrupt
        return (points**2).sum(axis=1) + self.memory["calls"]

    def state(self) -> Any:
        return dict(self.memory)

    def restore(self, state: Any) -> None:
        self.memory.update(state)


def bounded(points: Any) -> Any:
    return np.column_stack([points.sum(axis=1), 0.5 - points[:, 0], points[:, 1] - 0.9])


def factory(build: Any) -> ProblemFactory:
    return ProblemFactory(
        build=build,
        summary="for a test",
        reference="none",
        domain="[0, 1]^D",
        default_dim=3,
        minimum_dim=2,
        optimum=None,
    )


@pytest.fixture
def registry(monkeypatch):
    def drifting(dim: int, seed: int, *, stop_at: int = 0) -> Problem:
        return Problem("drifting", Drifting(stop_at), np.zeros(dim), np.ones(dim))

    def with_bounds(dim: int, seed: int, *, noisy: bool = False) -> Problem:
        return Problem("bounded", bounded, np.zeros(dim), np.ones(dim), n_constraints=2, noisy=noisy)

    monkeypatch.setitem(PROBLEMS, "drifting", factory(drifting))
    monkeypatch.setitem(PROBLEMS, "bounded", factory(with_bounds))


def test_a_problem_brings_its_constraints_and_its_noise(cli, registry):
    line = cli("run", "bounded", "--budget", 20, *RANDOM, "--json").json
    x = line["x"]
    assert line["fun"] == sum(x)
    assert line["constraints"] == [0.5 - x[0], x[1] - 0.9]
    assert line["noisy"] is False
    many = cli("run", "bounded", "--vectorized", "--batch", 5, "--budget", 20, *RANDOM, "--json").json
    assert many["x"] == x
    assert cli("run", "bounded", "--option", "noisy=true", "--budget", 3, *RANDOM, "--json").json["noisy"] is True
    assert cli("run", "bounded", "--noisy", "--budget", 3, *RANDOM, "--json").json["noisy"] is True


def memory(store: str) -> Any:
    (run_id,) = ids(store)
    return Store(store).read(run_id).memory


def test_what_a_problem_remembers_is_saved_with_the_run(cli, registry, folder):
    """The cut evaluation has changed the memory already, and is made again with the memory as it was before."""
    common = ("run", "drifting", "--budget", 8, "--seed", 2, "--set", "n_init=3", *QUICK)
    answer = cli(*common, "--option", "stop_at=5", "--store", "run.db")
    assert answer.code == 130
    assert memory("run.db") == {"calls": 4}
    assert cli("resume", ids("run.db")[0], "--store", "run.db", "--json").json["nfev"] == 8
    assert cli(*common, "--store", "whole.db").code == 0
    assert trace("run.db") == trace("whole.db")
    assert [memory(path) for path in ("run.db", "whole.db")] == [{"calls": 8}] * 2


@pytest.mark.parametrize(
    ("option", "words"),
    [
        (("--vectorized", "--batch", "2"), "--batch 2 is not possible"),
        (("--isolate",), "--isolate is not possible"),
        (("--eval-timeout", "5"), "--eval-timeout is not possible"),
        (("--workers", "2"), "--workers is not possible"),
        (("--dask", "tcp://127.0.0.1:1"), "--dask is not possible"),
    ],
)
def test_what_cannot_be_done_with_a_memory(cli, registry, option, words):
    answer = cli("run", "drifting", *option)
    assert answer.code == 2
    assert words in answer.err
    assert "depend on earlier evaluations" in answer.err


# Pictures


def test_a_picture(cli, folder):
    pytest.importorskip("matplotlib")
    answer = cli("run", "sphere", "--dim", 3, "--budget", 12, *RANDOM, "--plot", "run.svg", "--store", "run.db")
    assert (answer.code, Path("run.svg").stat().st_size > 1000) == (0, True)
    assert cli("resume", ids("run.db")[0], "--store", "run.db", "--plot", "again.png", "--quiet").code == 0
    assert Path("again.png").read_bytes().startswith(b"\x89PNG")


def test_a_missing_matplotlib_is_said_before_the_run(cli, folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    for arguments in (("run", "sphere"), ("resume", "--store", "run.db")):
        answer = cli(*arguments, "--plot", "run.png")
        assert answer.code == 2
        assert "pip install 'boids-opt[plot]'" in answer.err
    assert not list(Path(".").glob("*.db"))


def test_a_picture_that_cannot_be_saved_does_not_hide_the_end(cli, folder):
    pytest.importorskip("matplotlib")
    Path("pictures").mkdir()
    Path("gone.py").write_text(
        "import os\ndef f(x):\n    if os.path.isdir('pictures'): os.rmdir('pictures')\n    return 1\n"
    )
    answer = cli("run", "gone:f", *BOX, "--budget", 3, *RANDOM, "--plot", "pictures/run.png", "--json")
    assert answer.code == 2
    assert answer.json["fun"] == 1
    assert "run.png' cannot be made: " in answer.err
