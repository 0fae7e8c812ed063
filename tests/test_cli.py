"""The command line: what it does, what it says about wrong input, and how a run survives its end."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

import boids
from boids.algorithms import ALGORITHMS, Boids
from boids.blocks.nsga2 import NSGA2
from boids.cli import assignments, main, session
from boids.cli.errors import InputError
from boids.cli.target import Target
from boids.errors import StoreError
from boids.problems import PROBLEMS, make

# A small search, so that the runs of BOIDS itself take a fraction of a second.
QUICK = ("--set", "search.generations=3", "--set", "search.population=20", "--set", "max_candidates=50")

MODULE = '''
import os
import time
from pathlib import Path

print("imported")  # noise on stdout

def sphere(x):
    return float(x @ x)

def rows(x):
    assert x.ndim == 2
    return (x**2).sum(axis=1)

def noisy(x):
    print("from Python")
    os.system("echo from a child")
    os.write(1, b"from C\\\\n")
    return 1.0

def broken(x):
    raise RuntimeError("the solver\\\\ndiverged [/red]")

def touchy(x):
    if x[0] > 0:
        raise RuntimeError("too large")
    return float(x @ x)

def quits(x):
    raise SystemExit(7)

def _calls():
    with open("calls", "a") as file:
        file.write("x")
    return os.path.getsize("calls")

def stops_at_4(x):
    if _calls() == 4:
        raise KeyboardInterrupt
    return float(x @ x)

def sleeps_at_4(x):
    if _calls() == 4:
        time.sleep(60)
    return float(x @ x)

def swallows(x):
    """Catches Ctrl-C, as some simulators' wrappers do."""
    if _calls() == 4:
        try:
            os.kill(os.getpid(), 2)
            time.sleep(60)
        except BaseException:
            pass
    return float(x @ x)

def reads_the_snapshot(x):
    from boids import Optimizer
    with open("told", "a") as file:
        file.write(f"{Optimizer.load('run.npz').n_told} ")
    return float(x @ x)

def removes_the_folder(x):
    import shutil
    shutil.rmtree("folder", ignore_errors=True)
    return float(x @ x)

number = 3

class Model:
    class Inner:
        loss = staticmethod(sphere)
'''


@dataclass
class Answer:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        assert self.out.count("\n") == 1, self.out
        return json.loads(self.out, parse_constant=lambda word: pytest.fail(f"{word} is not JSON"))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The current folder, with a module of objectives of a name of its own."""
    name = f"objectives_{abs(hash(str(tmp_path)))}"
    (tmp_path / f"{name}.py").write_text(MODULE.replace("\\\\n", "\\n"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setenv("COLUMNS", "80")
    yield SimpleNamespace(path=tmp_path, module=name, box=("--low", "-5", "--high", "10"))
    sys.modules.pop(name, None)


@pytest.fixture
def cli(folder, capsys):
    """Call `main` as the console script does."""

    def call(*arguments: Any) -> Answer:
        code = main([str(argument).replace("MODULE", folder.module) for argument in arguments])
        captured = capsys.readouterr()
        return Answer(code, captured.out, captured.err)

    return call


def only_file(folder) -> str:
    (path,) = (folder.path / "boids-runs").iterdir()
    return f"boids-runs/{path.name}"


def start(folder, *arguments: str) -> subprocess.Popen[str]:
    # Under a shell that ignores Ctrl-C in background jobs, its children would ignore it, too.
    code = (
        "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); "
        "from boids.cli import main; sys.exit(main())"
    )
    words = [argument.replace("MODULE", folder.module) for argument in arguments]
    return subprocess.Popen(
        [sys.executable, "-c", code, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


# --- help and lists -----------------------------------------------------------------------------------------


def test_version_and_help(cli):
    assert cli("--version").out == f"boids {boids.__version__}\n"
    for arguments in ([], ["--help"], ["-h"]):
        answer = cli(*arguments)
        assert answer.code == 0
        assert all(command in answer.out for command in ("run", "resume", "methods", "problems"))
    for command in ("run", "resume", "methods", "problems"):
        assert cli(command, "--help").code == 0


def test_help_loads_nothing_heavy():
    code = (
        "import sys; from boids.cli import main; main(['run', '--help']); "
        "sys.exit(any(name in sys.modules for name in ('numpy', 'scipy', 'rich')))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True).returncode == 0


def test_python_dash_m():
    done = subprocess.run([sys.executable, "-m", "boids", "--version"], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, f"boids {boids.__version__}\n")


def test_methods_are_listed(cli):
    answer = cli("methods")
    assert answer.code == 0
    assert max(map(len, answer.out.splitlines())) <= 80
    for name, cls in ALGORITHMS.items():
        assert re.search(rf"^{name} ", answer.out, re.MULTILINE)
        assert cls.reference in answer.out
    listed = cli("methods", "--json").json
    assert [each["name"] for each in listed] == list(ALGORITHMS)
    assert listed[0]["presets"] == ["paper", "released"]


def test_every_setting_is_listed_and_can_be_given_back(cli):
    listed = cli("methods", "boids", "--json").json["settings"]
    names = [each["name"] for each in listed]
    assert {"particles", "surrogate.kernel", "search.generations"} <= set(names)
    texts = {each["name"]: str(each["default"]) for each in listed}
    assert assignments.configured(Boids, texts) == Boids()
    table = cli("methods", "boids").out
    assert max(map(len, table.splitlines())) <= 80
    for each in listed:
        assert re.search(rf"^{re.escape(each['name'])} ", table, re.MULTILINE)
        assert each["source"].split(" ")[0] in table
    assert "preset=paper" in table
    assert "no settings" in cli("methods", "random").out


def test_problems_are_listed(cli):
    answer = cli("problems")
    assert max(map(len, answer.out.splitlines())) <= 80
    for name, factory in PROBLEMS.items():
        assert re.search(rf"^{name} +{factory.default_dim} ", answer.out, re.MULTILINE)
        assert factory.domain in answer.out
    listed = cli("problems", "--json").json
    assert [each["name"] for each in listed] == list(PROBLEMS)
    assert listed[0]["optimum"] == 0.0
    assert "shift" in listed[0]["options"]


# --- runs ---------------------------------------------------------------------------------------------------


def test_json_is_the_contract(cli, folder):
    answer = cli("run", "ackley", "--dim", 5, "--budget", 12, "--seed", 1, "--method", "random", "--json")
    assert answer.code == 0
    assert answer.err == ""  # not a terminal, so no progress
    line = answer.json
    assert " ".join(line) == "id method problem dim seed fun x nfev failed status message times saved"
    expected = boids.minimize(make("ackley", dim=5), make("ackley", dim=5).space, 12, method="random", seed=1)
    assert line["fun"] == expected.fun
    assert line["x"] == expected.x.tolist()
    assert (line["method"], line["problem"], line["dim"], line["seed"]) == ("random", "ackley", 5, 1)
    assert (line["nfev"], line["failed"], line["status"]) == (12, 0, "budget")
    assert {"fit", "select", "optimise", "evaluate", "other"} <= line["times"].keys()
    assert line["saved"] == only_file(folder) == f"boids-runs/{line['id']}.npz"
    assert boids.Optimizer.load(line["saved"]).best.value == line["fun"]


def test_the_end_for_people(cli, folder):
    answer = cli("run", "MODULE:touchy", "--dim", 30, *folder.box, "--budget", 20, "--seed", 3, "--method", "random")
    assert answer.code == 0
    saved = only_file(folder)
    optimizer = boids.Optimizer.load(saved)
    assert f"{optimizer.best.value:.8g}" in answer.out
    assert f"20 of 20, {optimizer.n_failed} failed" in answer.out
    assert "… 25 more" in answer.out
    assert "RuntimeError: too large" in answer.out
    assert "All evaluations of the budget were made." in answer.out
    assert re.search(r"^evaluate +[\d.]+ +[\d.]+ m?s +\d+%$", answer.out, re.MULTILINE)
    assert f'  boids.Optimizer.load("{saved}")\n' in answer.out
    assert "resume" not in answer.out
    assert max(map(len, answer.out.splitlines())) <= 80
    assert [line.split("/")[0].strip() for line in answer.err.splitlines()[1:]] == [str(2 * i) for i in range(1, 11)]


def test_quiet_and_no_store(cli, folder):
    answer = cli("run", "sphere", "--dim", 3, "--budget", 5, "--method", "random", "--quiet", "--no-store")
    assert answer.code == 0
    assert answer.err == ""
    assert "not saved" in answer.out
    assert not (folder.path / "boids-runs").exists()
    line = cli("run", "sphere", "--dim", 3, "--budget", 5, "--method", "random", "--json", "--no-store").json
    assert line["saved"] is None


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
    code = cli(*common, "--save", "a.npz", "--set", "particles=7", "--set", "surrogate.kernel=rbf", *QUICK).code
    assert code == 0
    method = boids.Optimizer.load("a.npz").algorithm
    assert (method.particles, method.surrogate.kernel, method.search.generations) == (7, "rbf", 3)
    assert cli(*common, "--save", "b.npz", "--set", "preset=paper", "--set", "particles=9", *QUICK).code == 0
    paper = boids.Optimizer.load("b.npz").algorithm
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
    first = [session.new_id(Target("a/b:../c d.é"), 5) for _ in range(50)]
    assert len(set(first)) == 50
    assert all(re.fullmatch(r"\d{8}-\d{6}-[A-Za-z0-9_-]+-5-[0-9a-f]{8}", each) for each in first)
    assert session.new_id(Target("x" * 500), 5).count("x") == 24


# --- wrong input --------------------------------------------------------------------------------------------

BOX = ("--dim", "2", "--low", "-5", "--high", "10")
WRONG = [
    (("rum",), "did you mean 'run'?"),
    (("frobnicate",), "commands are methods, problems, resume, run"),
    (("--frobnicate",), "--frobnicate"),
    (("run",), "TARGET"),
    (("run", "ackley", "extra"), "extra"),
    (("run", "ackly"), "'ackley'"),
    (("run", "sphere", "--option", "name=x"), "name"),
    (("run", "sphere", "--dim", "4", "--option", "active=2", "--option", "positions=[[1,2],[3]]"), "positions must be"),
    (("run", "./folder/m.py:f", *BOX), "write m:function"),
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
    (("run", "ackley", "--method", "xyz"), "methods are boids, random"),
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
    (("run", "ackley", "--save", "x.npz", "--no-store"), "exclude each other"),
    (("run", "ackley", "--save", "missing/x.npz"), "cannot be written"),
    (("run", "ackley", "--save", "MODULE.py"), "exists already"),
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
    (("resume",), "FILE"),
    (("resume", "no-such-file.npz"), "There is no snapshot"),
    (("resume", "."), "cannot be read"),
    (("resume", "MODULE.py"), "is not a boids snapshot"),
    (("methods", "bouds"), "did you mean 'boids'?"),
    (("problems", "ackley"), "ackley"),
]


@pytest.mark.parametrize(("arguments", "words"), WRONG, ids=lambda value: value if isinstance(value, str) else None)
def test_wrong_input_is_one_clear_line(cli, folder, arguments, words):
    answer = cli(*arguments)
    assert answer.code == 2
    assert answer.out.replace("imported\n", "") == ""
    assert re.fullmatch(r"boids: \S.*\S\n", answer.err), answer.err
    assert words in answer.err
    assert not list(folder.path.glob("**/*.npz"))  # nothing was begun


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
        cli("run", "sphere", "--dim", 2, "--budget", 5, "--method", "random", "--save", "run.npz")
    assert boids.Optimizer.load("run.npz").n_told == 2


# --- saving and resuming ------------------------------------------------------------------------------------


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


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_signals_end_a_run_that_can_be_resumed(cli, folder, number, code):
    process = start(
        folder, "run", "MODULE:sleeps_at_4", *BOX, "--budget", "9", "--method", "random", "--save", "run.npz"
    )
    try:
        deadline = time.monotonic() + 50
        while not (Path("calls").exists() and os.path.getsize("calls") == 4):
            assert process.poll() is None, process.communicate()
            assert time.monotonic() < deadline
            time.sleep(0.02)
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
    cli("run", "MODULE:stops_at_4", *BOX, "--budget", 9, "--method", "random", "--save", "run.npz")
    other = boids.Optimizer([(0, 1)] * 2, budget=9, method="random", seed=0)
    other.save("bounds.npz", meta=boids.Optimizer.load("run.npz").meta)
    for name, words in {
        "python.npz": "boids.Optimizer.load",
        "odd.npz": "cannot be resumed",
        "bounds.npz": "other bounds",
    }.items():
        answer = cli("resume", name)
        assert answer.code == 2
        assert words in answer.err
        assert answer.err.count("\n") == 1


def test_a_run_is_saved_while_it_goes(cli, folder, monkeypatch):
    monkeypatch.setattr(session, "_INTERVAL", 0.0)
    monkeypatch.setattr(session, "_SHARE", 1e9)
    arguments = ("run", "MODULE:reads_the_snapshot", *BOX, "--budget", 5, "--method", "random", "--save", "run.npz")
    assert cli(*arguments).code == 0
    assert Path("told").read_text().split() == ["0", "1", "2", "3", "4"]
    assert boids.Optimizer.load("run.npz").meta["fields"]["status"] == "budget"


def test_saving_takes_a_small_share_of_the_time(monkeypatch):
    now, saves = [100.0], []
    monkeypatch.setattr(session.time, "monotonic", lambda: now[0])

    def save(path, meta):
        saves.append(now[0])
        now[0] += 1.0  # a slow disk

    stub = SimpleNamespace(save=save, add_time=lambda phase, seconds: None)
    saver = session.Saver(stub, Path("run.npz"), session.RunRecord("id", Target("sphere"), session.Limits()))
    while now[0] < 300.0:
        saver.save_if_due()
        now[0] += 0.5
    assert saves == [100.0, 151.0, 202.0, 253.0]


def test_a_save_that_fails_is_told_and_does_not_end_the_run(cli, folder, monkeypatch):
    monkeypatch.setattr(session, "_INTERVAL", 0.0)
    monkeypatch.setattr(session, "_SHARE", 1e9)
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


# --- pipes --------------------------------------------------------------------------------------------------


def test_nothing_but_json_on_stdout(folder):
    process = start(folder, "run", "MODULE:noisy", *BOX, "--budget", "2", "--method", "random", "--json", "--no-store")
    out, err = process.communicate(timeout=50)
    assert process.returncode == 0
    assert Answer(0, out, err).json["fun"] == 1.0
    for words in ("imported", "from Python", "from a child", "from C"):
        assert words in err


def test_a_reader_that_has_seen_enough(folder):
    process = start(folder, "methods", "boids")
    process.stdout.close()
    assert process.wait(timeout=50) == 141
    assert process.stderr.read() == ""
    process.stderr.close()


# --- key=value ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Inner:
    word: str = "a"
    pair: tuple[float, float] = (1.0, 2.0)
    many: tuple[int, ...] = ()
    presets: ClassVar[tuple[str, ...]] = ("loud",)

    @classmethod
    def loud(cls):
        return cls(word="A")


@dataclass(frozen=True)
class Method:
    name: ClassVar[str] = "toy"
    integer: int = 1
    number: float = 1.0
    flag: bool = False
    maybe: int | None = None
    choice: Literal["none", "true", "1", 2] = "1"
    inner: Inner = field(default_factory=Inner)


def given_settings(**texts):
    return assignments.configured(Method, {key.replace("__", "."): text for key, text in texts.items()})


@given(st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.none() | st.integers(), st.booleans())
def test_values_come_back_exactly(integer, number, maybe, flag):
    method = given_settings(integer=repr(integer), number=repr(number), maybe=str(maybe), flag=str(flag).upper())
    assert (method.integer, method.number, method.maybe, method.flag) == (integer, number, maybe, flag)
    assert type(method.number) is float


@given(st.floats(-1e9, 1e9), st.integers(), st.lists(st.integers()))
def test_tuples_come_back_exactly(low, high, many):
    method = given_settings(inner__pair=f"({low!r}, {high})", inner__many=repr(many))
    assert method.inner.pair == (low, float(high))
    assert method.inner.many == tuple(many)


@given(st.text())
def test_any_text_is_a_value_or_an_input_error(text):
    for name in ("integer", "number", "flag", "maybe", "choice", "inner.pair", "inner", "integer.x", text):
        with suppress(InputError):
            assignments.configured(Method, {name: text})


@given(st.text())
def test_words_may_be_quoted(text):
    assert given_settings(inner__word=repr(text)).inner.word == text
    if not set(text) & {"'", '"'}:
        assert given_settings(inner__word=text).inner.word == text


def test_words_that_look_like_values_are_words_where_they_are_choices():
    assert [given_settings(choice=text).choice for text in ("none", "true", "1", "2")] == ["none", "true", "1", 2]


def test_numbers_where_words_are_wanted():
    assert given_settings(inner__word="12").inner.word == "12"
    assert given_settings(inner__word="'quoted'").inner.word == "quoted"


def test_presets_of_a_group():
    assert given_settings(inner__preset="loud", inner__many="[1]").inner == Inner("A", many=(1,))
    with pytest.raises(InputError, match="has no preset 'quiet'; it has loud"):
        given_settings(inner__preset="quiet")


def test_settings_that_only_fit_together_are_set_together():
    texts = {"termination_min": "5", "termination_initial": "6"}
    assert assignments.configured(Boids, texts) == Boids(termination_min=5, termination_initial=6)


@given(st.text().filter(lambda key: "=" not in key), st.text())
def test_split_is_at_the_first_equals_sign(key, value):
    if key.strip():
        assert assignments.split([f"{key}={value}"], "--set") == {key.strip(): value.strip()}
    else:
        with pytest.raises(InputError, match="key=value"):
            assignments.split([f"{key}={value}"], "--set")


@pytest.mark.parametrize("closed", ["stdout", "stderr"])
def test_a_closed_stream_is_survived(closed, tmp_path):
    """As `>&-` and some daemons leave it."""
    script = f"import sys; sys.{closed} = None; from boids.cli import main; sys.exit(main(sys.argv[1:]))"
    arguments = ["run", "sphere", "--dim", "2", "--budget", "3", "--method", "random"]
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments], cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    assert len(list((tmp_path / "boids-runs").glob("*.npz"))) == 1
