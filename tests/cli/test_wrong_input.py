"""Wrong input is one clear line, and nothing is begun."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
from cli.support import BOX, kept
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from boids.algorithms import ALGORITHMS
from boids.problems import PROBLEMS

WRONG = [
    (("rum",), "did you mean 'run'?"),
    (
        ("frobnicate",),
        "delete, bench, report, dashboard, methods, problems, space",
    ),
    (("--frobnicate",), "--frobnicate"),
    (("run",), "TARGET"),
    (("run", "ackley", "extra"), "extra"),
    (("run", "ackly"), "'ackley'"),
    (("run", "sphere", "--option", "name=x"), "name"),
    (("run", "sphere", "--dim", "4", "--option", "active=2", "--option", "positions=[[1,2],[3]]"), "positions must be"),
    (("run", "./folder/m.py:f", *BOX), "write m:function"),
    (("run", "folder/m.py", *BOX), "write module:function, as in m:NAME"),
    (("run", "ackley", "--sed", "1"), "--seed"),
    (("run", "ackley", "--dim", "abc"), "--dim"),
    (("run", "ackley", "--dim", "0"), "--dim"),
    (("run", "hartmann", "--dim", "3"), "at least 6"),
    (("run", "ackley", "--budget", "0"), "--budget"),
    (("run", "ackley", "--budget", "1.5"), "--budget"),
    (("run", "ackley", "--seed", "-1"), "--seed"),
    (("run", "ackley", "--low", "1"), "has its own bounds"),
    (("run", "ackley", "--high", "1"), "has its own bounds"),
    (("run", "ackley", "--method", "bouds"), "did you mean 'boids'?"),
    (("run", "ackley", "--method", "xyz"), "Methods: alebo, baxus, boids"),
    (("run", "ackley", "--option", "shift"), "key=value"),
    (("run", "ackley", "--option", "shfit=true"), "'shift'"),
    (("run", "ackley", "--option", "shift=maybe"), "shift"),
    (("run", "ackley", "--option", "active=1.5"), "active"),
    (("run", "ackley", "--option", "active=1", "--option", "active=2"), "twice"),
    (("run", "ackley", "--option", "positions={1,2}"), "positions"),
    (("run", "ackley", "--option", "dim=3"), "use --dim"),
    (("run", "ackley", "--option", "seed=abc"), "seed"),
    (("run", "ackley", "--set", "particles"), "key=value"),
    (("run", "ackley", "--set", "=3"), "key=value"),
    (("run", "ackley", "--set", "partciles=3"), "did you mean 'particles'?"),
    (("run", "ackley", "--set", "generations=3"), "did you mean 'search.generations'?"),
    (("run", "ackley", "--set", "surrogate.kernal=rbf"), "did you mean 'surrogate.kernel'?"),
    (("run", "ackley", "--set", "surrogate=3"), "group of settings"),
    (("run", "ackley", "--set", "particles.x=3"), "no settings inside"),
    (("run", "ackley", "--set", "particles=abc"), "particles must be a whole number, got 'abc'"),
    (("run", "ackley", "--set", "particles=2.5"), "particles must be a whole number"),
    (("run", "ackley", "--set", "particles=0"), "particles"),
    (("run", "ackley", "--set", "inertia=true"), "inertia must be a finite number"),
    (("run", "ackley", "--set", "ts_noise=1"), "ts_noise must be True or False"),
    (("run", "ackley", "--set", "initial_dim=x"), "initial_dim must be a whole number or None"),
    (("run", "ackley", "--set", "acquisition=pi"), "acquisition must be one of 'ts', "),
    (("run", "ackley", "--set", "surrogate.noise_bounds=(1,)"), "(a finite number, a finite number)"),
    (("run", "ackley", "--set", "surrogate.noise_bounds=(2, 1)"), "low < high"),
    (("run", "ackley", "--set", "preset=papr"), "it has paper, released"),
    (("run", "ackley", "--method", "random", "--set", "a=3"), "it has none at all"),
    (("run", "ackley", "--method", "random", "--set", "preset=a"), "it has none"),
    (("run", "ackley", "--timeout", "0"), "--timeout"),
    (("run", "ackley", "--timeout", "nan"), "--timeout"),
    (("run", "ackley", "--target", "inf"), "--target"),
    (("run", "ackley", "--patience", "0"), "--patience"),
    (("run", "ackley", "--batch", "4"), "needs --vectorized"),
    (("run", "ackley", "--store", "missing/x.db"), "make it first"),
    (("run", "ackley", "--store", "."), "is a folder, not a store"),
    (("run", "ackley", "--store", "MODULE.py"), "is not a store of boids"),
    (("run", "ackley", "--workers", "0"), "--workers"),
    (("run", "ackley", "--workers", "2", "--vectorized"), "a --vectorized function gets several with --batch"),
    (("run", "ackley", "--dask", "tcp://localhost:1", "--vectorized"), "--dask is for one point at a time"),
    (("run", "ackley", "--dask", "tcp://localhost:1", "--isolate"), "does not go with --dask"),
    (("run", "ackley", "--dask", "localhost"), "--dask must be a scheduler's address like tcp://host:8786"),
    (("run", "ackley", "--dask", "foo://localhost:1"), "--dask foo://localhost:1: "),
    (("run", "ackley", "--dask", "space.toml"), "not a file that a Dask scheduler has written"),
    (("run", "ackley", "--async"), "--async needs several workers"),
    (("run", "ackley", "--async", "--workers", "1"), "--async needs several workers"),
    (("run", "ackley", "--lost", "ignore"), "--lost"),
    (("run", "ackley", "--from", "x"), "There is no store 'boids-runs.db'"),
    (("run", "ackley", "--x0", "none.json"), "--x0 none.json: the file cannot be read"),
    (("run", "ackley", "--x0", "MODULE.py"), "is not JSON"),
    (("run", "MODULE:sphere", "--low", "0", "--high", "1"), "--dim is missing"),
    (("run", "MODULE:sphere", "--dim", "2", "--high", "1"), "--low is missing"),
    (("run", "MODULE:sphere", "--dim", "2", "--low", "1"), "--high is missing"),
    (("run", "MODULE:sphere", "--dim", "2", "--low", "1", "--high", "1"), "--low must be less than --high"),
    (("run", "MODULE:sphere", "--dim", "2", "--low", "nan", "--high", "1"), "--low"),
    (("run", "MODULE:sphere", *BOX, "--option", "shift=true"), "--option is for problems"),
    (("run", "MODULE:spher", *BOX), "did you mean 'sphere'?"),
    (("run", "MODULE:Model.iner", *BOX), ":Model' has no 'iner'; did you mean 'Inner'?"),
    (("run", "MODULE:number", *BOX), "must be a function, got int"),
    (("run", "MODULE:number.real.x", *BOX), "has no 'x'"),
    (("run", "MODULE:", *BOX), "module:function"),
    (("run", ":sphere", *BOX), "module:function"),
    (("run", "MODULE.py:sphere", *BOX), "write objectives_"),
    (("run", "MODULE.py", *BOX[:2]), "module:function"),
    (("run", "no_such_module:f", *BOX), "There is no module 'no_such_module'"),
    (("run", "json.no_such:f", *BOX), "There is no module 'json.no_such'"),
    (("run", "..:f", *BOX), "'..'"),
    (("run", "--command", "true", "ackley"), "--command and the TARGET 'ackley' exclude each other"),
    (("run", "--command", "true"), "--space is missing; a program needs --space FILE"),
    (("run", "--command", "true", "--space", "space.toml", "--dim", "2"), "--dim and --space exclude each other"),
    (("run", "--command", "true", *BOX, "--isolate"), "runs in a process of its own anyway"),
    (("run", "--command", "true", *BOX, "--vectorized"), "one point at a time"),
    (("run", "--command", "true", *BOX, "--option", "a=1"), "--option is for problems"),
    (("run", "--command", "", *BOX), "The command is empty"),
    (("run", "--command", "'", *BOX), "cannot be split into words"),
    (("run", "--command", "true | cat", *BOX), "no shell reads it"),
    (("run", "--command", "./no-such-program {input}", *BOX), "is not a file that exists"),
    (("run", "--command", "true {cuont}", "--space", "space.toml"), "did you mean 'count'?"),
    (("run", "--command", "true {weights}", *BOX), "{weights}"),
    (("run", "--command", "true", *BOX, "--workdir", "space.toml"), "must be a folder"),
    (("run", "--command", "true", *BOX, "--workdir", "space.toml/x"), "choose another with --workdir"),
    (("run", "--command", "true", *BOX, "--format", "yaml"), "--format"),
    (("run", "--command", "true", *BOX, "--keep", "some"), "--keep"),
    (("run", "--command", "true", *BOX, "--eval-timeout", "0"), "--eval-timeout"),
    (("run", "MODULE:sphere", *BOX, "--format", "json"), "--format is for external programs"),
    (("run", "MODULE:sphere", *BOX, "--keep", "all"), "--keep is for external programs"),
    (("run", "MODULE:sphere"), "--space is missing; a function of your own needs --space FILE"),
    (("run", "MODULE:sphere", *BOX, "--space", "space.toml"), "--dim and --space exclude each other"),
    (("run", "MODULE:sphere", *BOX, "--penalty", "10"), "say how many with --constraints N"),
    (("run", "MODULE:sphere", *BOX, "--penalty", "-1", "--constraints", "1"), "--penalty"),
    (("run", "MODULE:sphere", *BOX, "--constraints", "-1"), "--constraints"),
    (("run", "MODULE:sphere", *BOX, "--linear", "x[0] <= y"), "'y'"),
    (("run", "MODULE:sphere", *BOX, "--linear", "x[0] >= 11"), "x[0]"),
    (("run", "MODULE:sphere", "--space", "none.toml"), "none.toml: The file cannot be read"),
    (("run", "MODULE:sphere", "--space", "MODULE.py"), "must end in .toml or .json"),
    (("run", "ackley", "--space", "space.toml"), "problem 'ackley' has its own"),
    (("run", "ackley", "--constraints", "2"), "knows how many it has"),
    (("run", "space.toml"), "--command 'space.toml {input} {output}'"),
    (("run", "ackley", "--plot", "run.gif"), "--plot must end in .png, .svg or .pdf"),
    (("run", "ackley", "--plot", "missing/run.png"), "there is no folder 'missing'"),
    (("resume",), "There is no unfinished run in 'boids-runs.db'"),
    (("resume", "x", "--folder", "missing"), "there is no such folder"),
    (("resume", "--store", "none.db"), "There is no store 'none.db'"),
    (("resume", "x", "--store", "."), "is a folder, not a store"),
    (("resume", "x", "--store", "MODULE.py"), "is not a store of boids"),
    (("runs", "--store", "none.db"), "There is no store 'none.db'"),
    (("runs", "x"), "x"),
    (("show",), "There is no run in 'boids-runs.db' yet"),
    (("show", "x"), "There is no store 'boids-runs.db'"),
    (("show", "x", "--trials", "0"), "--trials"),
    (("show", "x", "--plot", "run.gif"), "--plot must end in"),
    (("export", "x"), "There is no store"),
    (("export", "x", "--csv", "--json"), "--csv and --json exclude each other"),
    (("export", "x", "--parquet"), "name a file with --output FILE"),
    (("export", "x", "--output", "boids-runs.db"), "that is the store itself"),
    (("delete", "x", "--yes"), "There is no store"),
    (("replay", "x"), "There is no store"),
    (("space",), "FILE"),
    (("space", "none.toml"), "none.toml: The file cannot be read"),
    (("problems", "acley"), "did you mean 'ackley'?"),
    (("problems", "fetch"), "what can be fetched is mopta"),
    (("problems", "fetch", "ackley"), "There is nothing to fetch for 'ackley'"),
    (("methods", "bouds"), "did you mean 'boids'?"),
]


@pytest.mark.parametrize(("arguments", "words"), WRONG, ids=lambda value: value if isinstance(value, str) else None)
def test_wrong_input_is_one_clear_line(cli, folder, arguments, words):
    answer = cli(*arguments)
    assert answer.code == 2
    assert answer.out.replace("imported\n", "") == ""
    assert re.fullmatch(r"boids: \S.*\S\n", answer.err), answer.err
    assert words in answer.err
    assert not list(folder.path.glob("**/*.db*"))  # nothing was begun
    assert not (folder.path / "boids-work").exists()


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("1 / 0", "ZeroDivisionError: division by zero"),
        ("def f(x:", "SyntaxError"),
        ("import no_such_library", "ModuleNotFoundError: No module named 'no_such_library'"),
        ("raise RuntimeError('two\\nlines')", "RuntimeError: two lines"),
        ("import sys; sys.exit(3)", "SystemExit: 3"),
        ("from boids.errors import SpaceError; raise SpaceError('x')", "SpaceError: x"),
    ],
)
def test_a_module_that_cannot_be_imported(cli, folder, source, words):
    (folder.path / "unusable_module.py").write_text(source)
    answer = cli("run", "unusable_module:f", *BOX)
    assert answer.code == 2
    assert answer.err.startswith("boids: Importing 'unusable_module' failed with ")
    assert words in answer.err
    assert answer.err.count("\n") == 1


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[parameters]\na = [1, 0]", "Parameter 'a'"),
        ("[parameters]\na = { type = 'flaot', low = 0, high = 1 }", "did you mean 'float'?"),
        ("[parameters]\na = { type = 'float', low = 0, hihg = 1 }", "did you mean 'high'?"),
        ("[parameters]\na = { type = 'float', low = 0, high = 1, log = true }", "log scale"),
        ("[parameters]", "parameter"),
        ("parameters = 3", "'parameters' must be a table"),
        ("a = [0, 1]", "unknown key 'a'"),
        ("[parameters\n", "not TOML"),
        ("n_constraints = -1\n[parameters]\na = [0, 1]", "'n_constraints' must be"),
        ("linear_constraints = ['a >= 2']\n[parameters]\na = [0, 1]", "a >= 2"),
        ("linear_constraints = ['b >= 2']\n[parameters]\na = [0, 1]", "'b'"),
    ],
)
def test_a_wrong_space_file(cli, folder, text, words):
    (folder.path / "wrong.toml").write_text(text)
    for arguments in (("run", "MODULE:sphere", "--space", "wrong.toml"), ("space", "wrong.toml")):
        answer = cli(*arguments)
        assert answer.code == 2
        assert words in answer.err
        assert answer.err.startswith("boids: wrong.toml: ")
        assert answer.err.count("\n") == 1


#: Options with values that are sensible, odd or wrong, in combinations that may make no sense.
TARGETS = [("MODULE:sphere",), ("MODULE:constrained",), ("sphere",), ("--command", "echo 1"), ()]
OPTIONS = [
    ("--space", "space.toml"),
    ("--space", "none.toml"),
    ("--dim", "3"),
    ("--low", "0"),
    ("--high", "1"),
    ("--high", "-1"),
    ("--linear", "low + count <= 3"),
    ("--linear", "x[0] <= x[1]"),
    ("--option", "shift=true"),
    ("--constraints", "0"),
    ("--constraints", "2"),
    ("--penalty", "3"),
    ("--noisy",),
    ("--eval-timeout", "20"),
    ("--isolate",),
    ("--workers", "2"),
    ("--async",),
    ("--lost", "fail"),
    ("--vectorized",),
    ("--batch", "2"),
    ("--format", "lines"),
    ("--result", "stdout"),
    ("--keep", "none"),
    ("--workdir", "work"),
    ("--json",),
    ("--json-lines",),
    ("--quiet",),
    ("--target", "1"),
    ("--no-store",),
]


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(TARGETS), st.sets(st.sampled_from(OPTIONS), max_size=7))
def test_any_combination_of_options_is_a_run_or_one_line(cli, target, options):
    given = [word for option in sorted(options) for word in option]
    answer = cli("run", *target, *given, "--budget", 2, "--method", "random", "--seed", 0)
    assert answer.code in (0, 1, 2)
    if answer.code == 2:
        (line,) = [line for line in answer.err.splitlines() if line != "imported"]
        assert line.startswith("boids: ")
    else:
        assert answer.out


def test_a_wrong_command_line_in_a_process_of_its_own(folder):
    done = subprocess.run([sys.executable, "-m", "boids", "run", "ackly"], capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr == "boids: There is no problem 'ackly'; did you mean 'ackley'? " + (
        f"Known are {', '.join(PROBLEMS)}.\n"
    )


def test_a_bug_shows_its_traceback_and_keeps_the_evaluations(cli, monkeypatch):
    def fails(self, state, history, proposal, outcome, rng):
        if len(history) == 3:
            raise ZeroDivisionError
        return state

    monkeypatch.setattr(ALGORITHMS["random"], "tell", fails)
    with pytest.raises(ZeroDivisionError):
        cli("run", "sphere", "--dim", 2, "--budget", 5, "--method", "random")
    assert kept().n_told == 2
    assert cli("runs", "--json").json[0]["status"] == "stopped"
