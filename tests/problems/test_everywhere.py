"""Every problem in other processes, the paper's six from `minimize`, and what the command line makes of them."""

import json
import operator
import pickle
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

import numpy as np
import pytest

import boids
from boids.algorithms import Boids
from boids.problems import PROBLEMS, Problem, data, make, wrappers
from boids.problems.mujoco import RunningReturn
from boids.store import Store

#: All problems, and forms of them that are evaluated in another way; fewer landings, for they take the longest.
FORMS: dict[str, tuple[str, dict[str, Any]]] = {
    **{name: (name, {"episodes": 3} if name == "lunar-lander" else {}) for name in PROBLEMS},
    "ackley, moved": ("ackley", {"dim": 20, "active": 5, "shift": True, "rotate": True, "positions": "random"}),
    "ackley, noisy": ("ackley", {"dim": 20, "noise": 0.1, "seed": 3}),
    "hartmann, rescaled": ("hartmann", {"rescaled": True}),
    "mopta, constrained": ("mopta", {"constrained": True}),
    "lasso-simple, noisy": ("lasso-simple", {"noisy": True, "seed": 3}),
    "half-cheetah, paper": ("half-cheetah", {"protocol": "paper", "steps": 100}),
    "ant, 216": ("ant", {"dim": 216}),
    "coco, another": ("coco", {"dim": 40, "function": 22, "instance": 3}),
    "rover, original": ("rover", {"field": "original"}),
}

#: What a worker of another machine does: it has nothing but the package and the bytes.
WORKER = """
import pickle, sys
for problem, point in pickle.load(sys.stdin.buffer):
    print(repr(problem(point)))
"""


def formed(form: str) -> Problem:
    """Make a problem, or skip the test where something that is not shipped or not installed is missing."""
    name, options = FORMS[form]
    reason = PROBLEMS[name].available()
    if reason is not None:
        pytest.skip(f"{name} {reason}")
    if options.get("field") == "original" and data.find("rover_large_obstacle_centres.csv") is None:
        pytest.skip(f"needs rover_large_obstacle_centres.csv, which is not shipped and not in {data.places()}")
    return make(name, **options)


def random_point(problem: Problem) -> Any:
    return problem.space.decode(np.random.default_rng(1).uniform(-1, 1, problem.dim))


# Other processes


@pytest.fixture(scope="module")
def workers() -> Iterator[Executor]:
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as executor:
        yield executor


@pytest.mark.parametrize("form", FORMS)
def test_a_process_pool_finds_the_same_values(form: str, workers: Executor) -> None:
    problem = formed(form)
    point = random_point(problem)
    # Sent first: a problem that remembers something must be as fresh there as it is here.
    found = workers.submit(operator.call, problem, point).result()
    assert found == problem(point)


def test_cloudpickle_carries_every_problem_into_a_bare_process() -> None:
    cloudpickle = pytest.importorskip("cloudpickle", reason="cloudpickle, by which Dask sends things, is not installed")
    available = [form for form in FORMS if PROBLEMS[FORMS[form][0]].available() is None and "original" not in form]
    assert "ackley" in available
    problems = [formed(form) for form in available]
    points = [random_point(problem) for problem in problems]
    sent = cloudpickle.dumps(list(zip(problems, points, strict=True)))
    done = subprocess.run([sys.executable, "-c", WORKER], input=sent, capture_output=True, check=True)
    here = [repr(problem(point)) for problem, point in zip(problems, points, strict=True)]
    assert dict(zip(available, done.stdout.decode().splitlines(), strict=True)) == dict(
        zip(available, here, strict=True)
    )


def test_wrapped_problems_can_be_sent_too(workers: Executor) -> None:
    problem = make("levy", 6, shift=True)
    signs = wrappers.random_signs(6, np.random.default_rng(0))
    for wrap in (
        lambda inner: wrappers.sign_flip(inner, signs),
        wrappers.clip,
        lambda inner: wrappers.permute(inner, [3, 1, 2, 0, 5, 4]),
        lambda inner: wrappers.fail(inner, 0.3, how="nan"),
        lambda inner: wrappers.fail(inner, region=(-9.9, -9.8), how="nan"),
        wrappers.count,
        lambda inner: wrappers.delay(inner, 0.0),
    ):
        problem = wrap(problem)
    points = np.random.default_rng(0).uniform(-10, 10, (20, 6))
    found = workers.submit(operator.call, problem, points).result()
    assert 0 < np.sum(np.isnan(found)) < 20
    assert wrappers.evaluations(problem) == 0  # the copy counted for itself
    np.testing.assert_array_equal(found, problem(points))


@pytest.mark.parametrize("form", [form for form, (name, _) in FORMS.items() if name != "mopta"])
def test_no_problem_weighs_more_than_its_numbers(form: str) -> None:
    # Bounds, active coordinates and a rotation are what a problem consists of; data are made or read again there.
    problem = formed(form)
    rotation = problem.active.size**2 if FORMS[form][1].get("rotate") else 0
    assert len(pickle.dumps(problem)) < 8 * (8 * problem.dim + rotation) + 20_000


# The problems of the paper, with its dimensions, through the method of the paper

PAPER = {"ackley": 100, "branin": 500, "hartmann": 500, "mopta": 124, "lasso-dna": 180, "half-cheetah": 102}


@pytest.mark.parametrize("name", PAPER)
def test_minimize_runs_the_problems_of_the_paper(name: str) -> None:
    problem = formed(name)
    assert problem.dim == PAPER[name]
    result = boids.minimize(problem, problem.space, 8, method=Boids(n_init=5), seed=0)
    assert (result.nfev, result.success) == (8, True)
    assert [trial.value for trial in result.trials] == [problem(trial.x) for trial in result.trials]
    assert result.fun == min(trial.value for trial in result.trials) == problem(result.x)
    assert all(np.all((problem.low <= trial.x) & (trial.x <= problem.high)) for trial in result.trials)


@pytest.mark.parametrize("name", PAPER)
def test_the_command_line_runs_the_problems_of_the_paper(name: str, cli: Any) -> None:
    problem = formed(name)
    line = cli("run", name, "--budget", 8, "--seed", 0, "--set", "n_init=5", "--json").json
    assert (line["nfev"], len(line["x"])) == (8, PAPER[name])
    assert line["fun"] == problem(line["x"])


def test_all_constraints_of_mopta_can_be_modelled(cli: Any) -> None:
    problem = formed("mopta, constrained")
    line = cli("run", "mopta", "--option", "constrained=true", "--budget", 4, "--seed", 0, "--json").json
    value, constraints = problem(line["x"])
    assert line["fun"] == pytest.approx(value, rel=1e-12)
    assert line["constraints"] == pytest.approx(constraints, rel=1e-12)


def test_the_papers_normaliser_is_saved_with_the_run_and_comes_back(cli: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    formed("half-cheetah")
    common = ("run", "half-cheetah", "--option", "protocol=paper", "--option", "steps=40", "--method", "random")
    assert cli(*common, "--seed", 0, "--budget", 6, "--store", "whole.db", "--quiet").code == 0
    calls: list[int] = []

    def interrupted(self: RunningReturn, x: np.ndarray) -> np.ndarray:
        calls.append(len(x))
        if len(calls) == 4:
            raise KeyboardInterrupt
        return evaluate(self, x)

    evaluate = RunningReturn.__call__
    monkeypatch.setattr(RunningReturn, "__call__", interrupted)
    assert cli(*common, "--seed", 0, "--budget", 6, "--store", "part.db", "--quiet").code == 130
    assert cli("resume", "--store", "part.db", "--json").json["nfev"] == 6
    runs = [Store(path).read(Store(path).runs()[0].id) for path in ("whole.db", "part.db")]
    assert [row.value for row in runs[0].rows] == [row.value for row in runs[1].rows]
    memories = [run.memory for run in runs]
    assert json.dumps(memories[0]) == json.dumps(memories[1])
    assert memories[0]["count"] == 6 * 3 * 40


@pytest.mark.parametrize(
    ("name", "words", "dims"),
    [
        ("ackley", "dimension 100 by default, at least 1 domain", []),
        ("ant", "dimension 888 by default, one of 216, 888 domain", [216, 888]),
        ("half-cheetah", "dimension 102 domain [-1, 1]^102", [102]),
    ],
)
def test_the_command_line_tells_the_possible_dimensions(name: str, words: str, dims: list[int], cli: Any) -> None:
    assert words in " ".join(cli("problems", name).out.split())
    assert cli("problems", name, "--json").json["dims"] == dims
