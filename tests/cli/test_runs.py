"""Runs of problems and of functions of ones own."""

from __future__ import annotations

import re

import pytest
from cli.support import QUICK, ids, kept

import boids
from boids.algorithms import Boids
from boids.blocks.nsga2 import NSGA2
from boids.cli.targets import FunctionTarget
from boids.cli.targets.program import short_name
from boids.problems import PROBLEMS, make
from boids.recording import new_id


def test_json_is_the_contract(cli, folder):
    answer = cli("run", "ackley", "--dim", 5, "--budget", 12, "--seed", 1, "--method", "random", "--json")
    assert answer.code == 0
    assert answer.err == ""  # not a terminal, so no progress
    line = answer.json
    assert (
        " ".join(line)
        == "id method problem dim seed fun x nfev failed status message times store feasible constraints observed noisy"
        " repeated added workers"
    )
    expected = boids.minimize(make("ackley", dim=5), make("ackley", dim=5).space, 12, method="random", seed=1)
    assert line["fun"] == expected.fun
    assert line["x"] == expected.x.tolist()
    assert (line["method"], line["problem"], line["dim"], line["seed"]) == ("random", "ackley", 5, 1)
    assert (line["nfev"], line["failed"], line["status"]) == (12, 0, "budget")
    assert {"fit", "select", "optimise", "evaluate", "other"} <= line["times"].keys()
    assert (line["store"], [line["id"]]) == ("boids-runs.db", ids())
    assert (line["repeated"], line["added"], line["workers"]) == (0, 0, 1)
    assert kept(line["store"]).best.value == line["fun"]


def test_the_end_for_people(cli, folder):
    answer = cli("run", "MODULE:touchy", "--dim", 30, *folder.box, "--budget", 20, "--seed", 3, "--method", "random")
    assert answer.code == 0
    optimizer = kept()
    assert f"{optimizer.best.value:.8g}" in answer.out
    assert f"20 of 20, {optimizer.n_failed} failed" in answer.out
    assert "… 25 more" in answer.out
    assert f"{optimizer.n_failed} × RuntimeError: too large" in answer.out
    assert "All evaluations of the budget were made." in answer.out
    assert re.search(r"^evaluate +[\d.]+ +[\d.]+ m?s +\d+%$", answer.out, re.MULTILINE)
    assert f"  boids show {ids()[0]}\n" in answer.out
    assert "resume" not in answer.out
    assert max(map(len, answer.out.splitlines())) <= 80
    assert [line.split("/")[0].strip() for line in answer.err.splitlines()[1:]] == [str(2 * i) for i in range(1, 11)]


def test_quiet_and_no_store(cli, folder):
    answer = cli("run", "sphere", "--dim", 3, "--budget", 5, "--method", "random", "--quiet", "--no-store")
    assert answer.code == 0
    assert answer.err == ""
    assert "not kept" in answer.out
    assert not list(folder.path.glob("*.db*"))
    line = cli("run", "sphere", "--dim", 3, "--budget", 5, "--method", "random", "--json", "--no-store").json
    assert line["store"] is None


def test_defaults_of_a_problem(cli):
    line = cli("run", "branin", "--budget", 1, "--method", "random", "--json", "--no-store").json
    assert line["dim"] == PROBLEMS["branin"].default_dim


def test_options_of_a_problem(cli):
    options = ("--option", "shift=TRUE", "--option", "active=2", "--option", "seed=4", "--option", "positions=[3, 1]")
    common = ("run", "ackley", "--dim", 6, "--budget", 4, "--seed", 0, "--method", "random", "--json", "--no-store")
    line = cli(*common, *options).json
    problem = make("ackley", dim=6, shift=True, active=2, seed=4, positions=[3, 1])
    assert line["fun"] == problem(line["x"])
    assert line["fun"] != cli(*common).json["fun"]


@pytest.mark.parametrize("path", ["sphere", "Model.Inner.loss"])
def test_a_function_of_ones_own(cli, folder, path):
    line = cli("run", f"MODULE:{path}", "--dim", 4, *folder.box, "--budget", 6, "--method", "random", "--json").json
    assert line["fun"] == pytest.approx(sum(x * x for x in line["x"]))
    assert all(-5 <= x <= 10 for x in line["x"])
    assert line["problem"] == f"{folder.module}:{path}"


def test_vectorized(cli, folder):
    common = ("--dim", 4, *folder.box, "--budget", 6, "--seed", 1, "--method", "random", "--json", "--no-store")
    many = cli("run", "MODULE:rows", "--vectorized", "--batch", 3, *common).json
    one = cli("run", "MODULE:sphere", *common).json
    assert many["fun"] == pytest.approx(one["fun"])
    assert many["x"] == one["x"]
    assert cli("run", "sphere", "--dim", 3, "--vectorized", *common[6:]).code == 0


@pytest.mark.parametrize(
    ("limit", "status", "nfev"),
    [
        (("--target", "1e9"), "target", 1),
        (("--patience", "3"), "stagnation", None),
        (("--timeout", "1e-9"), "timeout", 0),
    ],
)
def test_early_stops(cli, limit, status, nfev):
    answer = cli("run", "sphere", "--dim", 3, "--budget", 500, "--seed", 1, "--method", "random", "--json", *limit)
    assert answer.json["status"] == status
    assert nfev is None or answer.json["nfev"] == nfev
    assert answer.json["nfev"] < 500
    # A run without a single evaluation has none that succeeded.
    assert answer.code == (1 if nfev == 0 else 0)


@pytest.mark.parametrize("objective", ["broken", "quits"])
def test_nothing_succeeded(cli, folder, objective):
    arguments = ("run", f"MODULE:{objective}", "--dim", 2, *folder.box, "--budget", 3, "--method", "random")
    answer = cli(*arguments, "--json")
    assert answer.code == 1
    line = answer.json
    assert (line["fun"], line["x"], line["nfev"], line["failed"]) == (None, None, 3, 3)
    answer = cli(*arguments)
    assert answer.code == 1
    assert re.search(r"^best value +none$", answer.out, re.MULTILINE)
    if objective == "broken":
        assert "RuntimeError: the solver diverged [/red]" in " ".join(answer.out.split())


def test_the_settings_reach_the_method(cli):
    common = ("run", "sphere", "--dim", 6, "--budget", 4, "--seed", 2, "--quiet")
    code = cli(*common, "--store", "a.db", "--set", "particles=7", "--set", "surrogate.kernel=rbf", *QUICK).code
    assert code == 0
    method = kept("a.db").algorithm
    assert (method.particles, method.surrogate.kernel, method.search.generations) == (7, "rbf", 3)
    assert cli(*common, "--store", "b.db", "--set", "preset=paper", "--set", "particles=9", *QUICK).code == 0
    paper = kept("b.db").algorithm
    search = NSGA2(generations=3, population=20)
    assert paper == Boids.paper(particles=9, max_candidates=50, search=search)


def test_boids_is_the_same_as_in_python(cli):
    arguments = ("run", "ackley", "--dim", 8, "--budget", 24, "--seed", 5, "--json", "--no-store", *QUICK)
    line = cli(*arguments).json
    problem = make("ackley", dim=8)
    method = Boids(search=NSGA2(generations=3, population=20), max_candidates=50)
    expected = boids.minimize(problem, problem.space, 24, method=method, seed=5)
    assert line["x"] == expected.x.tolist()
    assert "lift" in line["times"]


def test_identifiers_are_safe_sortable_and_unique(folder):
    first = [new_id(FunctionTarget("a/b:../c d.é").word, 5) for _ in range(50)]
    assert len(set(first)) == 50
    assert all(re.fullmatch(r"\d{8}-\d{6}-[A-Za-z0-9_-]+-5-[0-9a-f]{8}", each) for each in first)
    assert new_id("x" * 500, 5).count("x") == 24
    assert "-run-5-" in new_id("../..", 5)
    commands = ("../bin/simulate.exe {input}", "python -u 'my models/wing.py' {input}", "'no end", "")
    assert [short_name(command) for command in commands] == ["simulate", "wing", "", ""]
