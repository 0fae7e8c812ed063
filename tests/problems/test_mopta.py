"""Mopta08: the original program's values, the formulas against loops, and the program's protocol with a stand-in."""

import json
import os
import pickle
import shutil
import signal
import stat
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from boids.errors import ProblemError
from boids.problems import PROBLEMS, Problem, data
from boids.problems.mopta import REFERENCE, SUMMARY, mopta
from boids.problems.mopta_kriging import CONSTANTS, DIM, FAMILIES, arrange, load
from boids.problems.mopta_program import Program

posix = pytest.mark.skipif(sys.platform == "win32", reason="the stand-in program is a script with a #! line")

#: The points of the reference values, by their names there.
POINTS: dict[str, Callable[[], np.ndarray]] = {
    "full(0.5)": lambda: np.full(DIM, 0.5),
    "zeros": lambda: np.zeros(DIM),
    "ones": lambda: np.ones(DIM),
    "numpy.random.default_rng(0).random(124)": lambda: np.random.default_rng(0).random(DIM),
    "numpy.random.default_rng(1).random(124)": lambda: np.random.default_rng(1).random(DIM),
    "numpy.random.default_rng(2).random(124)": lambda: np.random.default_rng(2).random(DIM),
    "numpy.random.RandomState(0).rand(124)": lambda: np.random.RandomState(0).rand(DIM),
    "linspace(0,1,124)": lambda: np.linspace(0, 1, DIM),
    "egobox REFSOL (mopta08_egobox_refsol.txt)": lambda: np.loadtxt(needed("mopta08_best_known.txt")),
}


def needed(file: str) -> Path:
    """Return the path of a file that is not shipped, or skip the test."""
    path = data.find(file)
    if path is None:
        pytest.skip(f"needs {file}, which is not shipped and not in {data.places()}")
    return path


@pytest.fixture(scope="module")
def soft() -> Problem:
    needed(CONSTANTS)
    return mopta(DIM, 0)


@pytest.fixture(scope="module")
def constrained() -> Problem:
    needed(CONSTANTS)
    return mopta(DIM, 0, constrained=True)


@pytest.fixture
def nothing_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No constants and no program anywhere; returns the empty data folder."""
    (tmp_path / "data").mkdir()
    monkeypatch.setenv("BOIDS_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "caches"))
    load.cache_clear()
    return tmp_path / "data"


# The original program's values


def test_all_reference_points_are_tried() -> None:
    assert set(json.loads(needed("mopta08_reference_values.json").read_text())) == set(POINTS)


@pytest.mark.parametrize("name", POINTS)
def test_values_of_the_original_program(name: str, soft: Problem, constrained: Problem) -> None:
    expected = json.loads(needed("mopta08_reference_values.json").read_text())[name]
    point = POINTS[name]()
    responses = constrained.evaluate(point[np.newaxis])[0]
    assert responses[0] == pytest.approx(expected["f"], abs=1e-8)
    np.testing.assert_allclose(responses[1:], expected["g"], rtol=0, atol=1e-8)
    assert np.sum(responses[1:] > 0) == expected["n_violated"]
    assert soft(point) == pytest.approx(expected["soft"], abs=1e-8)


@pytest.mark.parametrize(
    ("name", "mass", "value", "violated"),
    [
        ("full(0.5)", 303.2663811285, 334.1432291730, 15),
        ("zeros", 151.9679342742, 623.2188686556, 46),
        ("ones", 454.5648279828, 481.3040920160, 10),
        ("numpy.random.default_rng(0).random(124)", 314.9406426531, 428.1787924210, 24),
        ("numpy.random.default_rng(1).random(124)", 302.8913342009, 517.5792408836, 26),
        ("numpy.random.default_rng(2).random(124)", 304.0057362056, 403.8372870145, 32),
        ("numpy.random.RandomState(0).rand(124)", 312.6240878042, 359.0462694002, 21),
        ("linspace(0,1,124)", 285.3135392194, 358.7730307329, 18),
        ("egobox REFSOL (mopta08_egobox_refsol.txt)", 222.2323638812, 222.2323638812, 0),
    ],
)
def test_published_values(
    name: str, mass: float, value: float, violated: int, soft: Problem, constrained: Problem
) -> None:
    point = POINTS[name]()
    responses = constrained.evaluate(point[np.newaxis])[0]
    assert responses[0] == pytest.approx(mass, abs=1e-8)
    assert soft(point) == pytest.approx(value, abs=1e-8)
    assert np.count_nonzero(responses[1:] > 0) == violated


@pytest.mark.parametrize(
    ("number", "value"), [(1, 0.0769711666), (10, -0.4054567333), (22, 0.1566302338), (68, -0.1493386920)]
)
def test_published_constraints_at_the_centre(number: int, value: float, constrained: Problem) -> None:
    _, constraints = constrained(np.full(DIM, 0.5))
    assert constraints[number - 1] == pytest.approx(value, abs=1e-8)


def test_one_variable_after_the_other_has_the_published_effects(soft: Problem) -> None:
    # The differences between the two ends of each variable's range, the others at the centre.
    ends = np.full((2, DIM, DIM), 0.5)
    for end in (0, 1):
        np.fill_diagonal(ends[end], end)
    effects = np.abs(soft(ends[1]) - soft(ends[0]))
    assert np.median(effects) == pytest.approx(1.5, abs=0.05)
    assert effects.max() == pytest.approx(151, abs=0.5)
    assert np.count_nonzero(effects > 1) == 78


def test_uniform_points_have_the_published_distribution(soft: Problem) -> None:
    # 2000 other uniform points had the mean 403.4. The difference of two such means lies within 5 of its standard
    # errors with a false-alarm rate below 1e-6, and the seed is fixed.
    values = soft(np.random.default_rng(3).random((2000, DIM)))
    error = np.std(values) * np.sqrt(2 / 2000)
    assert np.mean(values) == pytest.approx(403.4, abs=5 * error)
    assert values.min() > 222.2324
    assert values.max() < 800


def test_the_mass_is_linear_and_violations_add_to_it(soft: Problem, constrained: Problem) -> None:
    points = np.random.default_rng(4).random((50, DIM))
    responses = constrained.evaluate(points)
    at_zero, at_units = constrained.evaluate(np.zeros((1, DIM)))[0, 0], constrained.evaluate(np.eye(DIM))[:, 0]
    np.testing.assert_allclose(responses[:, 0], at_zero + points @ (at_units - at_zero), rtol=1e-12)
    penalties = 10 * np.where(responses > 0, responses, 0)[:, 1:].sum(axis=1)
    assert np.all(penalties > 0)
    np.testing.assert_allclose(soft(points), responses[:, 0] + penalties, rtol=1e-14)


# The record


def test_the_record(soft: Problem, constrained: Problem) -> None:
    for problem in (soft, constrained):
        assert (problem.name, problem.dim, problem.optimum) == ("mopta", DIM, None)
        np.testing.assert_array_equal(problem.low, np.zeros(DIM))
        np.testing.assert_array_equal(problem.high, np.ones(DIM))
        assert problem.minimisers.shape == (0, DIM)
        assert problem.reference == REFERENCE
        assert problem.summary.startswith(SUMMARY)
        assert not problem.noisy
    assert soft.n_constraints == 0
    assert constrained.n_constraints == 68
    assert constrained.evaluate(np.full((3, DIM), 0.5)).shape == (3, 69)
    assert soft(np.full((3, DIM), 0.5)).shape == (3,)
    assert soft(np.empty((0, DIM))).shape == (0,)


def test_the_seed_does_not_matter(soft: Problem) -> None:
    assert mopta(DIM, 7)(np.full(DIM, 0.25)) == soft(np.full(DIM, 0.25))


def test_a_value_does_not_depend_on_the_points_beside_it(soft: Problem, constrained: Problem) -> None:
    points = np.random.default_rng(5).random((7, DIM))
    np.testing.assert_array_equal(soft(points), [soft(point) for point in points])
    np.testing.assert_array_equal(soft(np.asfortranarray(points)), soft(points))
    one_by_one = [constrained.evaluate(point[np.newaxis])[0] for point in points]
    np.testing.assert_array_equal(constrained.evaluate(points), one_by_one)
    with ThreadPoolExecutor(4) as threads:
        np.testing.assert_array_equal(list(threads.map(soft, points)), soft(points))


def test_workers_get_the_path_and_read_the_constants_themselves(soft: Problem, constrained: Problem) -> None:
    points = np.random.default_rng(6).random((2, DIM))
    for problem in (soft, constrained):
        assert len(pickle.dumps(problem)) < 8000
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as workers:
        np.testing.assert_array_equal(workers.submit(soft, points).result(), soft(points))


def test_a_worker_that_has_the_constants_elsewhere_finds_them(
    soft: Problem, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    shutil.copy(needed(CONSTANTS), here)
    monkeypatch.setenv("BOIDS_DATA", str(here))
    problem = mopta(DIM, 0)
    here.rename(there)
    load.cache_clear()  # as in a new process
    monkeypatch.setenv("BOIDS_DATA", str(there))
    point = np.full(DIM, 0.5)
    assert problem(point) == soft(point)


# The formulas, with made-up constants of the same form: these tests need no files


def made_up(seed: int) -> dict[str, np.ndarray]:
    """Constants with designs that overlap, single sites, constant inputs, trends and logarithms."""
    rng = np.random.default_rng(seed)
    design_of = np.array([0] + [1] * 5 + [2] * 3 + [3] * 9 + [4, 5, 6] + [7] * 34 + [8] * 13)
    arrays: dict[str, np.ndarray] = {
        "mass": rng.uniform(0.1, 8, DIM),
        "fixed": rng.uniform(0.3, 1.2, DIM),
        "xl": rng.uniform(0.5, 1, DIM),
        "xu": rng.uniform(2, 4, DIM),
        "gu": rng.uniform(1, 30, 68) * rng.choice([-1, 1], 68),
        "sign": rng.choice([-1, 1], 68).astype(np.int8),
        "uselog": rng.integers(0, 2, 68).astype(np.int8),
        "offset": rng.standard_normal(68),
        "design_of": design_of.astype(np.int8),
    }
    width = {None: DIM}
    for name, length in (("map_uuuu", 91), ("map_eeee", 96), ("map_ssss", 84), ("map_rrrr", 44)):
        variables = rng.permutation(DIM)[: length // 2 if name != "map_rrrr" else length] + 1
        constants = -(rng.permutation(DIM)[: length - len(variables)] + 1)
        arrays[name], width[name] = np.concatenate([variables, constants]).astype(np.int16), length
    common = rng.integers(14, 84, (40, DIM)) / 20
    for number, array in enumerate(("map_uuuu", "map_eeee", "map_ssss", None, None, None, None, None, "map_rrrr")):
        rows = rng.permutation(len(common))[: rng.integers(1, len(common))]
        rows = np.concatenate([rows, rows[:2]])  # a site that stands there twice counts twice
        arrays[f"design{number}"] = common[rows][:, : width[array]]
    shapes = [arrays[f"design{number}"].shape for number in design_of]
    arrays["n"], arrays["d"] = (np.array(each) for each in zip(*shapes, strict=True))
    arrays["theta"] = 10 ** rng.uniform(-5, -1, arrays["d"].sum())
    arrays["beta"] = 0.02 * rng.standard_normal((arrays["d"] + 1).sum())
    arrays["pcoef"] = rng.standard_normal(arrays["n"].sum())
    return arrays


def by_the_book(arrays: dict[str, np.ndarray], x: np.ndarray) -> np.ndarray:
    """The formulas, response by response and site by site."""
    big = arrays["xl"] + x * (arrays["xu"] - arrays["xl"])
    theta = iter(np.split(arrays["theta"], np.cumsum(arrays["d"])))
    beta = iter(np.split(arrays["beta"], np.cumsum(arrays["d"] + 1)))
    pcoef = iter(np.split(arrays["pcoef"], np.cumsum(arrays["n"])))
    maps = [name for name, count in FAMILIES for _ in range(count)]
    responses = [arrays["mass"] @ big]
    for i, name in enumerate(maps):
        inputs = range(1, DIM + 1) if name is None else arrays[name].tolist()
        v = np.array([big[k - 1] if k > 0 else arrays["fixed"][-k - 1] for k in inputs])
        b, t = next(beta), next(theta)
        y = b[0] + b[1:] @ v
        for coefficient, site in zip(next(pcoef), arrays[f"design{arrays['design_of'][i]}"], strict=True):
            y += coefficient * np.exp(-np.sum(t * np.abs(v - site) ** 1.9))
        if arrays["uselog"][i]:
            y = np.exp(y) + arrays["offset"][i]
        bound = arrays["gu"][i]
        responses.append((arrays["sign"][i] * y - bound) / abs(bound))
    return np.array(responses)


@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=10)
def test_the_fast_form_is_the_formulas(seed: int) -> None:
    arrays = made_up(seed)
    surrogates = arrange(arrays)
    for x in (np.random.default_rng(seed).random(DIM), np.zeros(DIM), np.ones(DIM)):
        np.testing.assert_allclose(surrogates(x), by_the_book(arrays, x), rtol=1e-11, atol=1e-11)


def test_at_a_site_the_power_is_zero() -> None:
    arrays = made_up(1)
    arrays["xl"], arrays["xu"] = np.zeros(DIM), np.full(DIM, 4.5)
    x = arrays["design3"][0] / 4.5
    np.testing.assert_allclose(arrange(arrays)(x), by_the_book(arrays, x), rtol=1e-11, atol=1e-11)


def test_nan_gives_nan() -> None:
    assert np.all(np.isnan(arrange(made_up(2))(np.full(DIM, np.nan))))


# Wrong files and options


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, ["the official program or mopta08_kriging.npz", "`boids problems fetch mopta`", "executable=PATH"]),
        ({"source": "constants"}, ["needs mopta08_kriging.npz", "source='executable'"]),
        ({"source": "executable"}, ["needs the official program", "`boids problems fetch mopta`"]),
    ],
)
def test_without_the_files_the_remedy_is_named(
    options: dict[str, Any], words: list[str], nothing_found: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(data, "this_system", lambda: ("linux", "x86_64"))
    with pytest.raises(ProblemError) as raised:
        mopta(DIM, 0, **options)
    assert str(nothing_found) in str(raised.value)
    assert all(each in str(raised.value) for each in words)


def test_on_a_system_without_a_program_no_download_is_recommended(
    nothing_found: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(data, "this_system", lambda: ("plan9", "mips"))
    with pytest.raises(ProblemError, match=r"executable=PATH, or put mopta08_kriging\.npz") as raised:
        mopta(DIM, 0)
    assert "fetch" not in str(raised.value)
    assert PROBLEMS["mopta"].available() == "needs its program, not shipped; bring mopta08_kriging.npz"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"constrained": "false"}, "True or False"),
        ({"source": "binary"}, "'auto', 'constants' or 'executable'"),
        ({"timeout": 0}, "positive number of seconds"),
        ({"timeout": float("nan")}, "positive number of seconds"),
        ({"timeout": True}, "positive number of seconds"),
        ({"executable": "/nowhere/mopta"}, "path of a program"),
        ({"executable": 7}, "path of a program"),
        ({"executable": "mopta", "source": "constants"}, "give one of them"),
    ],
    ids=str,
)
def test_wrong_options_are_refused(options: dict[str, Any], words: str, nothing_found: Path) -> None:
    with pytest.raises(ProblemError, match=words):
        mopta(**{"dim": DIM, "seed": 0, **options})


def test_other_files_are_refused(nothing_found: Path) -> None:
    path = nothing_found / CONSTANTS
    contents: list[Callable[[], object]] = [
        lambda: path.write_bytes(b""),
        lambda: path.write_text("<html>not found</html>"),
        lambda: np.savez(path, mass=np.ones(DIM)),
        lambda: np.savez(path, **{**made_up(0), "theta": np.ones(3)}),
    ]
    for write in contents:
        write()
        with pytest.raises(ProblemError, match=r"should hold the constants of Mopta08, but .*; delete it"):
            mopta(DIM, 0)
    np.savez(path, **made_up(0))
    with pytest.raises(ProblemError, match=r"should give the mass 303\.2663811285"):
        mopta(DIM, 0)


@pytest.mark.parametrize(("array", "words"), [("mass", "303.2663811285"), ("gu", "violations of 3.08768480445")])
def test_constants_that_are_almost_right_are_refused(
    array: str, words: str, soft: Problem, nothing_found: Path
) -> None:
    with np.load(soft.evaluate.responses.path) as constants:
        np.savez(nothing_found / CONSTANTS, **{**constants, array: constants[array] * (1 + 1e-6)})
    with pytest.raises(ProblemError, match=rf"should give .*{words}.*; delete it, or bring the right one"):
        mopta(DIM, 0)


def test_constants_that_are_gone_are_missed_in_words(soft: Problem, nothing_found: Path) -> None:
    evaluate = pickle.loads(pickle.dumps(soft)).evaluate
    object.__setattr__(evaluate.responses, "path", str(nothing_found / "gone.npz"))
    with pytest.raises(ProblemError, match=r"needs mopta08_kriging\.npz"):
        evaluate(np.full((1, DIM), 0.5))


# The official program's protocol, with a stand-in that the test writes

STAND_IN = """#!{python} -ES
import os, sys, time
numbers = [float(line) for line in open("input.txt")]
{body}
"""
#: The mass is the sum, and constraint i is variable i minus 1/2, in Fortran's F27.16.
ANSWER = """
assert len(numbers) == 124 and sys.argv[1:] == [] and os.listdir() == ["input.txt"], os.listdir()
with open("output.txt", "w") as file:
    for value in [sum(numbers), *(number - 0.5 for number in numbers[:68])]:
        file.write(f"{value:27.16f}\\n")
print("done")
"""


@pytest.fixture
def stand_in(tmp_path: Path) -> Callable[..., str]:
    def write(body: str = ANSWER) -> str:
        path = tmp_path / "bin" / "stand in"
        path.parent.mkdir(exist_ok=True)
        path.write_text(STAND_IN.format(python=sys.executable, body=body))
        path.chmod(0o755)
        return str(path)

    return write


def answers(x: np.ndarray) -> np.ndarray:
    return np.column_stack([x.sum(axis=1), x[:, :68] - 0.5])


@posix
def test_the_program_gets_a_point_and_gives_the_responses(stand_in: Callable[..., str]) -> None:
    points = np.random.default_rng(0).random((2, DIM))
    points[0, :4] = 0.0, 1.0, 1e-300, 1 / 3  # text that Python writes in different ways
    problem = mopta(DIM, 0, executable=stand_in(), constrained=True)
    assert problem.n_constraints == 68
    np.testing.assert_allclose(problem.evaluate(points), answers(points), rtol=0, atol=1e-13)
    soft = mopta(DIM, 0, executable=stand_in(), source="executable")
    expected = points[0].sum() + 10 * np.maximum(points[0, :68] - 0.5, 0).sum()
    assert soft(points[0]) == pytest.approx(expected, abs=1e-11)
    assert "by the official program" in soft.summary


@posix
def test_each_run_has_a_folder_of_its_own_that_goes_away(
    stand_in: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "log"
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    monkeypatch.chdir(tmp_path / "temporary")
    body = f"{ANSWER}\nwith open({str(log)!r}, 'a') as file: file.write(os.getcwd() + '\\n')"
    problem = mopta(DIM, 0, executable=stand_in(body), constrained=True)
    points = np.random.default_rng(0).random((4, DIM))
    with ThreadPoolExecutor(4) as threads:
        rows = list(threads.map(lambda point: problem.evaluate(point[np.newaxis])[0], points))
    np.testing.assert_allclose(rows, answers(points), rtol=0, atol=1e-13)
    folders = log.read_text().split()
    assert len(set(folders)) == 4
    assert str(tmp_path) not in folders
    assert os.listdir(temporary) == []


@posix
def test_a_relative_path_is_relative_to_where_the_problem_is_made(
    stand_in: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = Path(stand_in())
    monkeypatch.chdir(path.parent)
    problem = mopta(DIM, 0, executable=path.name)
    monkeypatch.chdir("/")
    copy = pickle.loads(pickle.dumps(problem))
    assert copy(np.zeros(DIM)) == 0.0


@posix
@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("print('bad input'); sys.exit(3)", "ended with 3 and printed 'bad input'"),
        ("print('oops', file=sys.stderr); os.abort()", "crashed with SIGABRT and printed 'oops'"),
        ("print('done')", "wrote no such file and printed 'done'"),
        ("open('output.txt', 'w').write('1.0\\n' * 68)", "wrote 68;"),
        ("open('output.txt', 'w').write('1.0\\n' * 70)", "wrote 70;"),
        ("open('output.txt', 'w').write('1.0\\n' * 60 + 'NaN\\n' + '1.0\\n' * 8)", "wrote NaN in line 61"),
        ("open('output.txt', 'w').write('Infinity\\n' * 69)", "wrote Infinity in line 1"),
        ("open('output.txt', 'w').write('*' * 27 + '\\n')", r"wrote something else .*\*\*\*"),
        ("open('output.txt', 'wb').write(b'\\xff')", "wrote something else"),
        ("time.sleep(60)", "within 0.5 seconds, but did not and was stopped; give it more with timeout"),
    ],
)
def test_a_program_that_goes_wrong_is_an_error_in_words(
    body: str, words: str, stand_in: Callable[..., str], tmp_path: Path
) -> None:
    path = stand_in(body)
    problem = mopta(DIM, 0, executable=path, timeout=0.5 if "sleep" in body else 60)
    with pytest.raises(ProblemError, match=words) as raised:
        problem(np.full(DIM, 0.5))
    assert path in str(raised.value)


@posix
def test_what_a_stopped_program_has_started_is_stopped_too(stand_in: Callable[..., str], tmp_path: Path) -> None:
    pid_file, end_file = tmp_path / "pid", tmp_path / "end"
    body = f"""
child = os.fork()
if child:
    open({str(pid_file)!r}, "w").write(str(child))
time.sleep(30)
open({str(end_file)!r}, "w").close()
"""
    with pytest.raises(ProblemError, match="was stopped"):
        mopta(DIM, 0, executable=stand_in(body), timeout=2.0)(np.zeros(DIM))
    child = int(pid_file.read_text())
    for _ in range(100):
        if not running(child):
            break
        time.sleep(0.05)
    else:
        os.kill(child, signal.SIGKILL)
        pytest.fail("the program's child is still running")
    assert not end_file.exists()  # neither of the two has come to its end by itself


def running(pid: int) -> bool:
    """Whether a process runs; one that has ended, but that nobody has waited for, does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        if Path("/proc/self").exists():
            return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@posix
def test_a_program_that_cannot_be_started_says_why(stand_in: Callable[..., str], tmp_path: Path) -> None:
    path = Path(stand_in())
    point = np.full((1, DIM), 0.5)
    with pytest.raises(ProblemError, match="no such file; run `boids problems fetch mopta`"):
        Program(str(tmp_path / "nothing"), 1.0)(point)
    path.chmod(stat.S_IRUSR)
    with pytest.raises(ProblemError, match=r"may not be executed; allow it with `chmod \+x`"):
        Program(str(path), 1.0)(point)
    path.write_bytes(b"MZ\x00not for this system")
    path.chmod(0o755)
    with pytest.raises(ProblemError, match="not a program for this system"):
        Program(str(path), 1.0)(point)
    path.write_text("#!/no/such/interpreter\n")
    with pytest.raises(ProblemError, match="the system refuses"):
        Program(str(path), 1.0)(point)


@posix
def test_the_fetched_program_is_used_if_there_are_no_constants(
    stand_in: Callable[..., str], nothing_found: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fetched = nothing_found / "mopta08_elf64.bin"
    shutil.copy(stand_in(), fetched)
    monkeypatch.setattr(data, "this_system", lambda: ("linux", "x86_64"))
    with pytest.raises(ProblemError, match="must have the SHA-256 2ad78a25"):  # somebody else's program is not run
        mopta(DIM, 0)
    official = data.Download(fetched.name, data.checksum(fetched), (), ("linux", "x86_64"))
    monkeypatch.setattr(data, "DOWNLOADS", {"mopta": (official,)})
    for source in ("auto", "executable"):
        assert mopta(DIM, 0, source=source)(np.zeros(DIM)) == 0.0
    with pytest.raises(ProblemError, match=r"needs mopta08_kriging\.npz"):
        mopta(DIM, 0, source="constants")


@posix
def test_the_files_keep_the_digits(stand_in: Callable[..., str], soft: Problem) -> None:
    # The stand-in answers with the formulas' values: what is left is the way through the two files.
    body = f"""
sys.path[:] = {sys.path!r}
import numpy as np
from boids.problems.mopta_kriging import Kriging
with open("output.txt", "w") as file:
    for value in Kriging({soft.evaluate.responses.path!r})(np.array([numbers]))[0]:
        file.write(f"{{value:27.16f}}\\n")
"""
    program = mopta(DIM, 0, executable=stand_in(body))
    for name in ("full(0.5)", "numpy.random.default_rng(0).random(124)"):
        assert program(POINTS[name]()) == pytest.approx(soft(POINTS[name]()), abs=1e-10)
