"""The registry (every entry tells the truth, listing imports nothing heavy), and the record a problem is."""

import json
import math
import pickle
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from importlib.metadata import metadata
from typing import Any

import numpy as np
import pytest
from scipy.stats import qmc

import boids
from boids.errors import BoidsError, MissingExtra, ProblemError, SpaceError
from boids.problems import PROBLEMS, Problem, ProblemFactory, data, extras, make
from boids.problems.problem import flag, integer, is_number
from boids.space import Bool, Categorical, Float, Int, Space

#: What must be there, whatever else is.
KNOWN = {
    "ackley", "branin", "hartmann", "levy", "rastrigin", "rosenbrock", "griewank", "styblinski-tang", "schwefel",
    "powell", "alpine", "ellipsoid", "sphere", "mopta", "lasso-dna", "lasso-simple", "lasso-medium", "lasso-high",
    "lasso-hard", "half-cheetah", "swimmer", "hopper", "walker2d", "ant", "humanoid", "coco", "rover", "tune-svr",
    "tune-boosting", "lunar-lander",
}  # fmt: skip


def made(name: str, **options: Any) -> Problem:
    """Make a problem, or skip the test where something that is not shipped or not installed is missing."""
    reason = PROBLEMS[name].available()
    if reason is not None:
        pytest.skip(f"{name} {reason}")
    return make(name, **options)


def random_point(problem: Problem, seed: int = 0) -> Any:
    return problem.space.decode(np.random.default_rng(seed).uniform(-1, 1, problem.dim))


# The registry


def test_everything_is_there() -> None:
    assert set(PROBLEMS) >= KNOWN


@pytest.mark.parametrize("name", sorted(PROBLEMS))
def test_an_entry_can_be_listed(name: str) -> None:
    factory = PROBLEMS[name]
    for line in (factory.summary, factory.reference, factory.domain, factory.cost):
        assert line
        assert "\n" not in line
    assert factory.kind in ("synthetic", "real", "simulated")
    assert factory.extra is None or factory.extra in extras.MODULES
    assert 1 <= factory.minimum_dim <= factory.default_dim
    assert not factory.dims or (factory.minimum_dim, factory.default_dim in factory.dims) == (min(factory.dims), True)
    assert factory.optimum is None or math.isfinite(factory.optimum)
    assert isinstance(factory.options, tuple)
    json.dumps([factory.summary, factory.optimum, factory.options, factory.available()])


@pytest.mark.parametrize("name", sorted(PROBLEMS))
def test_an_entry_tells_the_truth(name: str) -> None:
    factory, problem = PROBLEMS[name], made(name)
    assert problem.name == name
    assert problem.dim == problem.space.dim == factory.default_dim
    assert problem.optimum == factory.optimum
    assert problem.reference == factory.reference
    assert problem.summary.startswith(factory.summary)
    assert problem.n_constraints == 0
    assert problem.noisy is False
    assert problem.stateful is False


@pytest.mark.parametrize("name", sorted(PROBLEMS))
def test_every_problem_is_a_function_that_can_be_sent_away(name: str) -> None:
    problem = made(name)
    point = random_point(problem)
    value = problem(point)
    assert type(value) is float
    assert math.isfinite(value)
    if problem.optimum is not None:
        assert value > problem.optimum
    copy = pickle.loads(pickle.dumps(problem))
    assert copy(point) == value
    assert copy.space == problem.space


@pytest.mark.parametrize("name", [name for name, factory in sorted(PROBLEMS.items()) if factory.domain.startswith("[")])
def test_a_coordinate_that_is_no_number_has_no_value(name: str) -> None:
    problem = made(name)
    points = np.tile((problem.low + problem.high) / 2, (2, 1))
    points[0, -1] = np.nan
    assert np.isnan(problem(points)).tolist() == [problem.dim - 1 in problem.active, False]


def test_listing_imports_nothing_heavy() -> None:
    code = (
        "import sys; from boids.problems import PROBLEMS\n"
        "print([(f.default_dim, f.domain, f.optimum, f.extra, f.cost, f.kind, f.summary, f.options, f.available())"
        " for f in PROBLEMS.values()] != [])\n"
        "heavy = ('sklearn', 'mujoco', 'gymnasium', 'cocoex', 'Box2D', 'scipy', 'imageio')\n"
        "print([name for name in heavy if name in sys.modules])"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.split("\n")[:2] == ["True", "[]"]


@pytest.mark.parametrize("name", [name for name, factory in sorted(PROBLEMS.items()) if factory.fixed_dim])
def test_a_problem_with_a_dimension_of_its_own_takes_no_other(name: str) -> None:
    dim = PROBLEMS[name].default_dim
    with pytest.raises(ProblemError, match=f"'{name}' has dim = {dim}, but got {dim + 1}; leave dim out"):
        make(name, dim + 1)
    with pytest.raises(ProblemError, match="integer of at least 1"):
        make(name, 0)
    if PROBLEMS[name].available() is None:
        assert make(name, dim).dim == dim


def test_no_seed_means_seed_zero() -> None:
    for name in ("ackley", "hartmann"):
        first, second = make(name, 20, shift=True), make(name, 20, seed=0, shift=True)
        np.testing.assert_array_equal(first.minimisers, second.minimisers)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"name": "akley"}, "did you mean 'ackley'"),
        ({"name": "Ackley"}, "did you mean 'ackley'"),
        ({"name": "ant", "dim": 217}, "'ant' has dim = 216 or 888, but got 217; leave dim out for 888"),
        ({"name": "zzz"}, "take one of ackley, alpine"),
        ({"name": "branin", "dim": 1}, "at least 2"),
        ({"name": "hartmann", "dim": 5}, "at least 6"),
        ({"name": "ackley", "dim": 0}, "at least 1"),
        ({"name": "ackley", "dim": 2.5}, "integer"),
        ({"name": "ackley", "dim": True}, "integer"),
        ({"name": "ackley", "seed": -1}, "seed"),
        ({"name": "ackley", "seed": 1.0}, "seed"),
        ({"name": "ackley", "shfit": True}, "did you mean 'shift'"),
        ({"name": "branin", "active": 2}, "no option 'active'"),
        ({"name": "branin", "rescaled": True}, "no option 'rescaled'"),
        ({"name": "ackley", "shift": "false"}, "True or False"),
        ({"name": "ackley", "rotate": 1}, "True or False"),
        ({"name": "ackley", "noise": -1.0}, "finite number"),
        ({"name": "ackley", "noise": "much"}, "finite number"),
        ({"name": "hartmann", "rescaled": 1}, "True or False"),
        ({"name": "ackley", "dim": 5, "active": 6}, "from 1 to dim = 5"),
        ({"name": "ackley", "dim": 5, "active": 0}, "from 1 to dim = 5"),
        ({"name": "branin", "positions": "last"}, "'first', 'random'"),
        ({"name": "branin", "dim": 5, "positions": (0, 0)}, "2 distinct integers from 0 to 4"),
        ({"name": "branin", "dim": 5, "positions": (0, 5)}, "2 distinct integers from 0 to 4"),
        ({"name": "branin", "dim": 5, "positions": (-1, 1)}, "2 distinct integers from 0 to 4"),
        ({"name": "branin", "dim": 5, "positions": (0, 1, 2)}, "2 distinct integers from 0 to 4"),
        ({"name": "branin", "dim": 5, "positions": (0.5, 1.0)}, "2 distinct integers from 0 to 4"),
    ],
    ids=str,
)
def test_wrong_arguments_are_refused_in_clear_words(arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(ProblemError) as raised:
        make(**arguments)
    assert words in str(raised.value)
    assert isinstance(raised.value, ValueError)
    assert isinstance(raised.value, BoidsError)


def test_checks_of_options() -> None:
    assert flag("on", True) is True
    assert integer("n", np.int64(3), 1, 3) == 3
    assert type(integer("n", np.int64(3), 1, 3)) is int
    assert all(is_number(each) for each in (0, -1.5, np.float32(0.1), np.int8(3), math.inf))
    assert not any(is_number(each) for each in (True, np.bool_(True), "1", None, 1j, np.ones(1)))
    for wrong in (0, 4, 2.0, "2", None, True):
        with pytest.raises(ProblemError, match="n must be an integer from 1 to 3"):
            integer("n", wrong, 1, 3)


# Extras and files


@pytest.mark.parametrize("name", [name for name, factory in PROBLEMS.items() if factory.extra is not None])
def test_a_missing_extra_is_said_with_the_command_in_one_sentence(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extras, "find_spec", lambda module: None)
    extra = PROBLEMS[name].extra
    reason = PROBLEMS[name].available()
    packages = {
        "problems": "scikit-learn",
        "mujoco": "gymnasium, mujoco and imageio",
        "coco": "coco-experiment",
        "lander": "gymnasium and Box2D",
    }
    assert reason == f"needs {packages[str(extra)]}, not installed here; run `pip install 'boids-opt[{extra}]'`"
    with pytest.raises(MissingExtra) as raised:
        make(name)
    assert str(raised.value) == f"Problem {name!r} {reason}."


def test_only_what_is_missing_of_an_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extras, "find_spec", lambda module: None if module == "imageio" else object())
    assert PROBLEMS["hopper"].available() == "needs imageio, not installed here; run `pip install 'boids-opt[mujoco]'`"
    assert PROBLEMS["coco"].available() is PROBLEMS["ackley"].available() is None


def test_an_extra_that_is_installed_but_broken_is_said_with_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cocoex", None)  # its import fails
    with pytest.raises(
        MissingExtra, match=r"Problem 'coco' needs cocoex, but .*; run `pip install 'boids-opt\[coco\]'`"
    ):
        extras.load("cocoex", "coco", "coco")


def test_every_extra_can_be_installed() -> None:
    provided = {each for each in metadata("boids-opt").get_all("Provides-Extra") or () if each in extras.MODULES}
    assert provided == set(extras.MODULES)


def test_files_that_are_not_shipped_are_looked_for(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.setenv("BOIDS_DATA", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert "boids problems fetch mopta" in (PROBLEMS["mopta"].available() or "")
    (tmp_path / "mopta08_kriging.npz").touch()
    assert PROBLEMS["mopta"].available() is None


def test_mopta_is_in_the_registry_with_both_forms() -> None:
    soft, apart = made("mopta"), made("mopta", constrained=True)
    value, constraints = apart(np.full(124, 0.5))
    assert soft(np.full(124, 0.5)) == pytest.approx(334.1432291730, abs=1e-8)
    assert value == pytest.approx(303.2663811285, abs=1e-8)
    assert len(constraints) == apart.n_constraints == 68
    assert value + 10 * sum(max(0.0, each) for each in constraints) == pytest.approx(334.1432291730, abs=1e-8)
    assert data.find("mopta08_kriging.npz") is not None


def test_an_entry_needs_nothing_but_light_data() -> None:
    factory = ProblemFactory(
        build=constrained, summary="s", reference="r", domain="d", default_dim=2, minimum_dim=1, optimum=None
    )
    assert (factory.extra, factory.cost, factory.kind, factory.fixed_dim) == (None, "microseconds", "synthetic", False)
    assert factory.available() is None
    assert replace(factory, missing=lambda: "needs time").available() == "needs time"
    assert factory.options == ()


# The record: points of a box


@pytest.mark.parametrize("shape", [(), (4,), (3, 4), (1, 1, 5)])
def test_points_of_the_wrong_shape_are_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(ProblemError, match=r"\(5,\)"):
        make("sphere", 5)(np.zeros(shape))


@pytest.mark.parametrize("point", [{"a": 1.0}, "text", [[1.0, 2.0], [3.0]], None], ids=str)
def test_points_that_are_no_numbers_are_refused(point: Any) -> None:
    with pytest.raises(ProblemError, match=r"takes a point of shape \(5,\)"):
        make("sphere", 5)(point)


def test_a_problem_cannot_be_changed() -> None:
    problem = make("sphere", 3)
    with pytest.raises(ValueError, match="read-only"):
        problem.low[0] = 0.0
    with pytest.raises(AttributeError):
        problem.optimum = 1.0  # type: ignore[misc]  # that it is read-only is what is tested
    assert repr(problem) == "Problem('sphere', dim=3, active=3, optimum=0.0)"


def bowl(x: np.ndarray) -> np.ndarray:
    return np.sum(x**2, axis=1)


def test_a_problem_of_ones_own_needs_a_name_a_function_and_a_box() -> None:
    problem = Problem("bowl", bowl, low=[-1, -2], high=[1, 2])
    assert problem([1.0, 2.0]) == 5.0
    assert problem.optimum is None
    assert problem.minimisers.shape == (0, 2)
    assert problem.active.tolist() == [0, 1]


@pytest.mark.parametrize(
    ("low", "high"), [([0.0], [0.0]), ([1.0], [0.0]), ([0.0], [1.0, 2.0]), ([], []), ([[0.0]], [[1.0]])], ids=str
)
def test_a_box_that_is_none_is_refused(low: Any, high: Any) -> None:
    with pytest.raises(ProblemError, match="corners low < high"):
        Problem("bowl", bowl, low=low, high=high)


def test_an_evaluator_that_returns_another_shape_is_reported() -> None:
    problem = Problem("bowl", bowl, low=[-1], high=[1], n_constraints=1)
    with pytest.raises(ProblemError, match=r"must return an array of shape \(1, 2\) for 1 points, but returned \(1,\)"):
        problem([0.5])


# The record: constraints


def disc(x: np.ndarray) -> np.ndarray:
    """The sum of two coordinates, outside the unit disc and right of x = -0.5."""
    return np.column_stack([x[:, 0] + x[:, 1], 1 - np.sum(x**2, axis=1), -0.5 - x[:, 0]])


def constrained(dim: int = 2, seed: int = 0) -> Problem:
    return Problem("disc", disc, low=[-2.0, -2.0], high=[2.0, 2.0], n_constraints=2)


def test_a_constrained_problem_returns_pairs() -> None:
    problem = constrained()
    assert problem([0.5, 1.5]) == (2.0, [-1.5, -1.0])
    values, constraints = problem([[0.5, 1.5], [0.0, 0.0], [-1.0, 0.0]])
    assert values.tolist() == [2.0, 0.0, -1.0]
    assert constraints.tolist() == [[-1.5, -1.0], [1.0, -0.5], [0.0, 0.5]]


@pytest.mark.parametrize("vectorized", [False, True])
def test_minimize_takes_a_constrained_problem(vectorized: bool) -> None:
    problem = constrained()
    result = boids.minimize(problem, problem.space, 30, method="random", seed=0, n_constraints=2, vectorized=vectorized)
    assert result.nfev == 30
    assert not any(trial.failed for trial in result.trials)
    assert all(trial.constraints == tuple(problem(trial.x)[1]) for trial in result.trials)
    assert problem(result.x)[1][0] <= 0


# The record: named parameters


SPACE = Space(
    {
        "rate": Float(1e-3, 1, log=True),
        "depth": Int(1, 9),
        "kind": Categorical(["a", "b", None]),
        "on": Bool(),
        "weights": Float(0, 1, shape=3),
        "marks": Categorical([1, 2, 3], shape=2),
    }
)
POINT = {"rate": 0.1, "depth": 3, "kind": None, "on": True, "weights": np.array([0.1, 0.2, 0.3]), "marks": (1, 3)}


def mixed(point: Mapping[str, Any]) -> float:
    assert all(type(point[name]) is kind for name, kind in (("rate", float), ("depth", int), ("on", bool)))
    assert point["kind"] in ("a", "b", None)
    assert isinstance(point["marks"], tuple)
    return point["rate"] + point["depth"] + point["on"] + point["weights"].sum() + sum(point["marks"])


def mixed_constrained(point: Mapping[str, Any]) -> list[float]:
    return [mixed(point), point["depth"] - 5.0]


def test_a_named_problem_takes_dicts() -> None:
    problem = Problem("mixed", mixed, search_space=SPACE)
    assert problem(POINT) == pytest.approx(8.7)
    assert problem.space is SPACE
    assert problem.dim == SPACE.dim == problem.active.size
    assert problem.low.size == problem.high.size == 0
    assert problem.minimisers.shape == (0, SPACE.dim)
    assert pickle.loads(pickle.dumps(problem))(POINT) == problem(POINT)


@pytest.mark.parametrize("count", [0, 1, 4])
def test_a_named_problem_takes_columns(count: int) -> None:
    units = np.random.default_rng(0).uniform(-1, 1, (count, SPACE.dim))
    columns = SPACE.decode_many(units)
    points = [SPACE.decode(unit) for unit in units]
    problem = Problem("mixed", mixed, search_space=SPACE)
    np.testing.assert_array_equal(problem(columns), [mixed(point) for point in points])
    problem = Problem("mixed", mixed_constrained, search_space=SPACE, n_constraints=1)
    values, constraints = problem(columns)
    assert values.tolist() == [mixed(point) for point in points]
    assert constraints.tolist() == [[point["depth"] - 5.0] for point in points]


def test_a_named_problem_with_constraints() -> None:
    problem = Problem("mixed", mixed_constrained, search_space=SPACE, n_constraints=1)
    value, constraints = problem(POINT)
    assert value == pytest.approx(8.7)
    assert constraints == [-2.0]
    with pytest.raises(ProblemError, match=r"shape \(1,\)"):
        replace(problem, n_constraints=0)(POINT)


@pytest.mark.parametrize(
    ("point", "words"),
    [
        ({"rate": 0.1}, "no value for"),
        ({**POINT, "depth": 10}, "depth"),
        ({**POINT, "extra": 1}, "extra"),
        (np.zeros(3), "must be a dict"),
    ],
    ids=["missing", "outside", "unknown", "array"],
)
def test_wrong_named_points_are_refused(point: Any, words: str) -> None:
    with pytest.raises(SpaceError, match=words):
        Problem("mixed", mixed, search_space=SPACE)(point)


def test_a_space_and_a_box_exclude_each_other() -> None:
    with pytest.raises(ProblemError, match="one or the other"):
        Problem("mixed", mixed, low=[0.0], high=[1.0], search_space=SPACE)


@pytest.mark.parametrize("vectorized", [False, True])
def test_minimize_takes_a_named_problem(vectorized: bool) -> None:
    problem = Problem("mixed", mixed, search_space=SPACE)
    result = boids.minimize(problem, problem.space, 10, method="random", seed=0, vectorized=vectorized)
    assert not any(trial.failed for trial in result.trials)
    assert result.fun == problem(result.x)


# The record: state


@dataclass
class Drifting:
    """Every evaluation is one more than it would have been before."""

    calls: list[int] = field(default_factory=lambda: [0])

    def __call__(self, x: np.ndarray) -> np.ndarray:
        values = np.sum(x, axis=1) + self.calls[0] + np.arange(len(x))
        self.calls[0] += len(x)
        return values

    def state(self) -> dict[str, int]:
        return {"calls": self.calls[0]}

    def restore(self, state: dict[str, int]) -> None:
        self.calls[0] = state["calls"]


def test_state_is_the_evaluators() -> None:
    problem = Problem("drifting", Drifting(), low=[0.0], high=[1.0])
    assert problem.stateful
    assert [problem([0.5]) for _ in range(3)] == [0.5, 1.5, 2.5]
    state = json.loads(json.dumps(problem.state()))
    assert state == {"calls": 3}
    other = Problem("drifting", Drifting(), low=[0.0], high=[1.0])
    other.restore(state)
    assert other([0.5]) == 3.5


def test_a_pure_function_has_no_state() -> None:
    problem = make("sphere", 2)
    assert not problem.stateful
    assert problem.state() is None
    problem.restore(None)
    with pytest.raises(ProblemError, match="remembers 0 things"):
        problem.restore({"calls": 3})


# The universal laws, where the optimum is known (the synthetic problems have many more of these tests)


@pytest.mark.parametrize("name", [name for name, factory in PROBLEMS.items() if factory.optimum is not None])
def test_minimisers_attain_the_minimum_and_nothing_lies_below_it(name: str) -> None:
    problem = made(name)
    np.testing.assert_allclose(problem(problem.minimisers), problem.optimum, rtol=1e-13, atol=1e-10)
    unit = qmc.Sobol(problem.dim, seed=0).random(256)
    assert problem(problem.low + unit * (problem.high - problem.low)).min() > problem.optimum
