"""COCO's bbob-largescale: reference values, and the smallest values against the suite's own minimisers."""

import json
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from boids.errors import ProblemError
from boids.problems import make
from boids.problems.coco import DIMENSIONS, FUNCTIONS, optimum

pytest.importorskip("cocoex", reason="needs the extra coco")


@pytest.mark.parametrize(("function", "expected"), [(1, 271.887084), (21, 123.109733), (24, 744.723943)])
def test_reference_values_at_the_centre(function: int, expected: float) -> None:
    assert make("coco", 160, function=function)(np.zeros(160)) == pytest.approx(expected, abs=1e-6)


def test_the_sphere_by_its_formula() -> None:
    # f = |x - x_opt|² + f_opt, scaled by min(1, 40 / D): three points on a line give all of it.
    problem = make("coco", 80, function=1)
    points = np.random.default_rng(0).uniform(-5, 5, (1, 80)) * np.array([[0.0], [0.5], [1.0]])
    first, middle, last = problem(points)
    assert first - 2 * middle + last == pytest.approx(0.5 * np.sum(points[2] ** 2) * 40 / 80, rel=1e-10)


#: Asks the suite for its minimisers, which it writes into a file of the current folder: (function, dim, instance).
SCRIPT = """
import json, sys
import cocoex, numpy as np
found = []
for function, dim, instance in json.load(sys.stdin):
    suite = cocoex.Suite("bbob-largescale", f"instances: {instance}", f"dimensions: {dim} function_indices: {function}")
    problem = suite[0]
    problem._best_parameter("print")
    best = np.loadtxt("._bbob_problem_best_parameter.txt")
    found.append([problem(best), np.abs(best).max()])
print(json.dumps(found))
"""


def test_the_smallest_values_are_those_at_the_suites_minimisers(tmp_path: Path) -> None:
    cases = [(f, dim, 1) for f in range(1, 25) for dim in DIMENSIONS] + [
        (f, 20, i) for f in (1, 9, 22) for i in (2, 15)
    ]
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        input=json.dumps(cases),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    found = json.loads(done.stdout)
    known = [optimum(function, instance) for function, _, instance in cases]
    np.testing.assert_allclose([value for value, _ in found], known, rtol=0, atol=1e-9)
    assert max(largest for _, largest in found) <= 5.0


@pytest.mark.parametrize("function", range(1, 25))
def test_nothing_lies_below_the_smallest_value(function: int) -> None:
    problem = make("coco", 20, function=function, instance=function)
    points = np.random.default_rng(function).uniform(-5, 5, (200, 20))
    values = problem(points)
    assert values.shape == (200,)
    assert values.min() > problem.optimum
    assert problem(points[3]) == values[3]
    assert FUNCTIONS[function - 1] in problem.summary


def test_instances_differ() -> None:
    values = {make("coco", 20, instance=instance)(np.zeros(20)) for instance in (1, 2, 15, 16, 10**6)}
    assert len(values) == 5


def test_a_copy_opens_the_function_again() -> None:
    problem = make("coco", 40, function=22)
    assert len(pickle.dumps(problem.evaluate)) < 200
    point = np.random.default_rng(0).uniform(-5, 5, 40)
    assert pickle.loads(pickle.dumps(problem))(point) == problem(point)


def test_threads_find_the_same_values() -> None:
    problem = make("coco", 80, function=21)
    points = np.random.default_rng(0).uniform(-5, 5, (100, 80))
    with ThreadPoolExecutor(4) as executor:
        np.testing.assert_array_equal(list(executor.map(problem, points)), problem(points))


def test_no_files_are_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    make("coco", 20, function=3)(np.zeros(20))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"dim": 30}, "has dim = 20, 40, 80, 160, 320 or 640, but got 30; leave dim out for 160"),
        ({"dim": 10}, "has dim = 20, 40"),
        ({"function": 0}, "function must be an integer from 1 to 24"),
        ({"function": 25}, "function must be an integer from 1 to 24"),
        ({"function": "sphere"}, "function must be an integer"),
        ({"instance": 0}, "instance must be an integer"),
    ],
    ids=str,
)
def test_wrong_options_are_refused(options: dict, words: str) -> None:
    with pytest.raises(ProblemError, match=words):
        make("coco", **options)
