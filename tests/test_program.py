"""External programs as objectives: commands, formats, results, failures, and that nothing is left running."""

from __future__ import annotations

import json
import math
import os
import pickle
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from boids.errors import BoidsError
from boids.process_group import describe_exit, end_group
from boids.program import CommandError, Program, ProgramError, command, end_running, process, results
from boids.program.folders import claim
from boids.program.inputs import render

PYTHON = [sys.executable, "-I", "-S"]  # starts in a third of the time
# Prints its arguments and what it can see of its surroundings, and then the value 0.
TELL_ALL = """
import json, os, sys
print(json.dumps({"argv": sys.argv[1:], "cwd": os.getcwd(), "env": dict(os.environ), "stdin": sys.stdin.read()}))
print(0.0)
"""
NASTY = [
    "; rm -rf x",
    "$(touch x)",
    "`touch x`",
    "a b",
    "'",
    '"',
    "*",
    "{lr}",
    "{{",
    "--help",
    "\\",
    "",
    "ü\n",
    "| cat",
]


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def python(code: str, *arguments: str, **options) -> Program:
    Path("code.py").write_text(code, encoding="utf-8")
    return Program([*PYTHON, "code.py", *arguments], **options)


def folders() -> list[str]:
    return sorted(path.name for path in Path("boids-work").iterdir())


def told(number: int = 0) -> dict:
    """What a `TELL_ALL` program printed."""
    return json.loads(Path(f"boids-work/{number:04d}/stdout.txt").read_text(encoding="utf-8").splitlines()[0])


def wait_for(condition, seconds: float = 30.0):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.01)


def is_gone(pid: int) -> bool:
    """Whether a process has ended; nobody but its parent can make a dead one disappear."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return not Path("/proc/self/stat").exists() or not Path(f"/proc/{pid}").exists()


def read_pid(path: Path) -> int:
    wait_for(lambda: path.exists() and path.read_text().endswith("\n"))
    return int(path.read_text())


# --- the point goes in -----------------------------------------------------------------------------------------------


def test_a_program_reads_a_file_and_writes_a_file():
    code = """
import json, sys
point = json.load(open(sys.argv[1]))
value = point["lr"] + sum(point["w"]) + point["n"] + (point["act"] == "relu") + (point["on"] is True)
json.dump({"value": value, "constraints": [point["n"] - 10, -1.5]}, open(sys.argv[2], "w"))
"""
    program = python(code, "{input}", "{output}", n_constraints=2)
    point = {"lr": 0.1, "n": np.int64(7), "act": "relu", "on": np.bool_(True), "w": np.array([1.0, 2.5])}
    measured = program(point)
    assert measured.value == 0.1 + 3.5 + 7 + 1 + 1
    assert measured.constraints == (-3.0, -1.5)
    assert measured.noise_variance is None
    assert folders() == []


def test_json_keeps_types_and_digits():
    point = {
        "lr": np.float64(0.1) + 0.2,
        "n": np.int64(3),
        "on": True,
        "act": "ü\n",
        "w": np.array([1e-300, 0.1]),
        "k": np.array([1, 2]),
    }
    assert json.loads(render(point, "json")) == {
        "lr": 0.1 + 0.2,
        "n": 3,
        "on": True,
        "act": "ü\n",
        "w": [1e-300, 0.1],
        "k": [1, 2],
    }
    assert json.loads(render(np.array([0.1, 2.0]), "json")) == {"x": [0.1, 2.0]}


def test_lines_have_one_value_each():
    point = {"lr": 0.1 + 0.2, "n": 3, "on": False, "act": "a b", "w": np.array([[1.0, 2e-9], [3.0, 4.0]])}
    expected = "0.30000000000000004\n3\n0\na b\n1.0\n2e-09\n3.0\n4.0\n"
    assert render(point, "lines") == expected


def test_lines_go_in_and_out_by_fixed_names():
    measured = Program("cp input.txt output.txt", format="lines", n_constraints=2)([3.5, 0.25, -1.0])
    assert (measured.value, measured.constraints) == (3.5, (0.25, -1.0))


@given(st.lists(st.floats(allow_nan=False), min_size=1, max_size=5))
def test_numbers_survive_both_formats_exactly(numbers):
    box = np.array(numbers)
    assert json.loads(render(box, "json"))["x"] == numbers
    assert [float(line) for line in render(box, "lines").splitlines()] == numbers


@pytest.mark.parametrize("text", ["two\nlines", "end\n", "a\rb", "a\x0bb", "a\u2028b"])
def test_a_text_of_two_lines_is_refused_in_lines(text):
    with pytest.raises(CommandError, match="more than one line; use the format 'json'"):
        render({"act": text}, "lines")


def test_what_json_does_not_know_is_refused():
    with pytest.raises(CommandError, match="Parameter 'a' cannot be written for a program: complex"):
        render({"a": 1j}, "json")


# --- the command -----------------------------------------------------------------------------------------------------


def test_values_in_the_command_reach_the_program_as_they_are():
    program = python(TELL_ALL, *(f"--{i}=<{{p{i}}}>" for i in range(len(NASTY))), "{lr}", "{n}", "{on}", keep="all")
    point = {"lr": np.float64(1e-05), "n": 3, "on": True, **{f"p{i}": text for i, text in enumerate(NASTY)}}
    program(point)
    assert told()["argv"] == [*(f"--{i}=<{text}>" for i, text in enumerate(NASTY)), "1e-05", "3", "1"]
    assert not Path("x").exists()
    assert not Path("boids-work/0000/x").exists()


@given(st.lists(st.text()), st.text(), st.dictionaries(st.sampled_from("abc"), st.text(), min_size=3))
def test_filling_puts_each_value_in_its_place_and_nowhere_else(literals, end, values):
    names = [sorted(values)[i % 3] for i in range(len(literals))]
    word = "".join(command._literal(text) + f"{{{name}}}" for text, name in zip(literals, names, strict=True))
    expected = "".join(text + values[name] for text, name in zip(literals, names, strict=True)) + end
    word += command._literal(end)
    assert command.fill(word, values) == expected
    assert command.placeholders(word) == names


def test_a_program_runs_in_its_own_folder_and_knows_it():
    program = python(TELL_ALL, "{input}", "{output}", "{dir}", "{trial}", "{{x}}", result="stdout", keep="all")
    for number in range(2):
        program({"a": 1.0})
        folder = Path(f"boids-work/{number:04d}").absolute()
        seen = told(number)
        assert seen["argv"] == [
            str(folder / "input.json"), str(folder / "output.json"), str(folder), str(number), "{x}"
        ]  # fmt: skip
        assert Path(seen["cwd"]).samefile(folder)
        assert seen["env"]["BOIDS_TRIAL_DIR"] == str(folder)
        assert seen["env"]["PATH"] == os.environ["PATH"]
        assert seen["stdin"] == ""
        assert json.loads((folder / "command.json").read_text())[-1] == "{x}"


def test_variables_are_added():
    python(TELL_ALL, env={"SOLVER": "fast"}, keep="all")({"a": 1.0})
    assert told()["env"]["SOLVER"] == "fast"


def test_paths_of_the_current_folder_still_hold(tmp_path, monkeypatch):
    here = tmp_path / "odd {name}"
    here.mkdir()
    monkeypatch.chdir(here)
    (here / "case.toml").touch()
    (here / "mesh").mkdir()
    (here / "mesh" / "coarse").touch()
    arguments = ["case.toml", "--case=case.toml", "mesh/coarse", "./mesh", "mesh", "none", "-o=", "case.toml{{"]
    program = python(TELL_ALL, *arguments, keep="all")
    monkeypatch.chdir(tmp_path)
    program({"a": 1.0})
    seen = json.loads((here / "boids-work/0000/stdout.txt").read_text().splitlines()[0])["argv"]
    case = str(here / "case.toml")
    assert seen == [
        case, f"--case={case}", str(here / "mesh" / "coarse"), str(here / "mesh"), "mesh", "none", "-o=", "case.toml{"
    ]  # fmt: skip


def test_a_script_of_the_current_folder(tmp_path):
    Path("simulate").write_text("#!/bin/sh\necho 1.5 > $2\n")
    with pytest.raises(CommandError, match=r"is not found in the folders of PATH|is not executable"):
        Program("simulate {input} {output}")
    with pytest.raises(CommandError, match=r"'./simulate' is not executable; run `chmod \+x ./simulate`, or"):
        Program("./simulate {input} {output}")
    Path("simulate").chmod(0o755)
    with pytest.raises(CommandError, match=r"write './simulate' for the one in the current folder"):
        Program("simulate {input} {output}")
    assert Program("./simulate {input} {output}")([1.0]).value == 1.5
    assert Program("simulate {input} {output}", env={"PATH": f"{tmp_path}:{os.environ['PATH']}"})([1.0]).value == 1.5


@pytest.mark.parametrize(
    ("words", "options", "message"),
    [
        ("", {}, "The command is empty"),
        ([], {}, "The command is empty"),
        (["true", 3], {}, "must be strings, got 3"),
        (3, {}, "must be a string or a list of strings, got 3"),
        (b"true", {}, "must be a string or a list"),
        ("true 'x", {}, "cannot be split into words: No closing quotation"),
        ("true {input} > {output}", {}, "has '>' in it, but no shell reads it; put what needs a shell into a script"),
        ("true | cat", {}, "no shell reads it"),
        (["true", "\0"], {}, "cannot hold the character 0"),
        ("no-such-program {input}", {}, "'no-such-program' is not found in the folders of PATH; check its spelling"),
        ("./no-such-program {input}", {}, "'./no-such-program' is not a file that exists"),
        ("./sub", {}, "'./sub' is a folder"),
        ("{dir}/simulate", {}, "The program must be fixed"),
        ("true {x", {}, "a lone brace; write {{ or }} for a literal one"),
        ("true }", {}, "a lone brace"),
        ("true {inptu}", {"names": ["lr"]}, "did you mean 'input'?"),
        ("true {lrr}", {"names": ["lr"]}, "did you mean 'lr'?"),
        ("true {}", {"names": ["lr"]}, "known are {input}, {output}, {dir}, {trial}, {lr}."),
        ("""true '{"a": 1}'""", {"names": ["lr"]}, "Braces that are meant as such are written {{ and }}."),
        ("true {dir}", {"names": ["dir"]}, "rename the parameter"),
        ("true", {"format": "jsn"}, "format must be one of 'json', 'lines', got 'jsn'; did you mean 'json'?"),
        ("true", {"result": None}, "result must be one of"),
        ("true", {"keep": True}, "keep must be one of"),
        ("true", {"timeout": 0}, "timeout must be a positive number of seconds, or None, got 0"),
        ("true", {"timeout": math.inf}, "timeout must be"),
        ("true", {"timeout": "5"}, "timeout must be"),
        ("true", {"n_constraints": -1}, "n_constraints must be an integer of at least 0, got -1"),
        ("true", {"n_constraints": 1.0}, "n_constraints must be"),
        ("true", {"env": {"A": 1}}, "env must be a dict of strings"),
        ("true", {"env": "A=1"}, "env must be a dict of strings"),
        ("true", {"workdir": None}, "workdir must be the path of a folder"),
        ("true", {"workdir": "file"}, "workdir must be a folder, but 'file' is a file"),
    ],
)
def test_what_is_wrong_is_said_before_anything_runs(words, options, message):
    Path("sub").mkdir()
    Path("file").touch()
    with pytest.raises(CommandError) as caught:
        Program(words, **options)
    assert message in str(caught.value)
    assert str(caught.value).endswith((".", "?"))
    assert isinstance(caught.value, BoidsError)
    assert isinstance(caught.value, ValueError)
    assert not Path("boids-work").exists()


@given(st.one_of(st.text(), st.lists(st.text(alphabet="{}ab=-/ \0"))))
def test_any_command_is_taken_or_refused_clearly(words):
    try:
        program = Program(words, names=["a"])
    except CommandError:
        return
    assert Path(command.fill(program.words[0], {})).is_absolute()


def test_placeholders_are_checked_in_the_first_evaluation_if_names_are_not_known():
    with pytest.raises(CommandError, match=r"did you mean 'lr'\?"):
        Program("true {lrr}")({"lr": 1.0})
    with pytest.raises(CommandError, match=r"known are \{input\}"):
        Program("true {lr}")([1.0])
    with pytest.raises(CommandError, match="'w' has 2 components and cannot stand in a command"):
        Program("true {w}")({"w": np.zeros(2)})
    assert not Path("boids-work").exists()


def test_it_is_plain_data():
    def make(**options):
        return Program(["true", "{input}"], env={"A": "1"}, **options)

    program = make()
    assert program == make()
    assert hash(program) == hash(make())
    assert program != make(timeout=1.0)
    copy = pickle.loads(pickle.dumps(program))
    assert copy == program
    assert copy.words == program.words
    assert "'true'" in repr(program)
    with pytest.raises(AttributeError):
        program.timeout = 3.0


# --- the result comes out --------------------------------------------------------------------------------------------

RESULTS = [
    ("3.5", (3.5,)),
    ("-1e-3\n", (-1e-3,)),
    ("3.5 1 -2", (3.5, 1.0, -2.0)),
    ("[3.5, 1, -2]", (3.5, 1.0, -2.0)),
    ('{"value": 3.5}', (3.5,)),
    ('{"objective": 3.5}', (3.5,)),
    ('{"fun": 3.5}', (3.5,)),
    ('{"y": 3.5, "note": "x", "error": null, "failed": false}', (3.5,)),
    ('{"value": 3.5, "constraints": [1, -2]}', (3.5, 1.0, -2.0)),
    ('{"value": 3.5, "constraints": {"mass": 1, "stress": -2.0}}', (3.5, 1.0, -2.0)),
    ('{"value": 3.5, "constraints": 0.5}', (3.5, 0.5)),
    ("NaN", (math.nan,)),
    ("nan", (math.nan,)),
    ("-Infinity", (-math.inf,)),
    ("inf 1", (math.inf, 1.0)),
    ("[NaN, -Infinity]", (math.nan, -math.inf)),
    ("1" * 400, (math.inf,)),
    ("-" + "1" * 5000, (-math.inf,)),
    ("1e999", (math.inf,)),
    ("  0.15D+02\t-1.0d-1 ", (15.0, -0.1)),  # as Fortran writes it
    ("\ufeff3.5", (3.5,)),
]


@pytest.mark.parametrize(("text", "expected"), RESULTS)
def test_forms_of_a_result(tmp_path, text, expected):
    path = tmp_path / "output.json"
    path.write_text(text, encoding="utf-8")
    for read in (results.read_file, results.read_stdout):
        measured = read(path, len(expected) - 1)
        np.testing.assert_array_equal([measured.value, *measured.constraints], expected)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "empty"),
        (" \n ", "empty"),
        ("abc", "not a number: 'abc'"),
        ("3.5 abc", "not a number: '3.5 abc'"),
        ("1,5", "not a number"),
        ("1_0", "not a number"),
        ("{", "not a number"),
        ("null", "not a number: null"),
        ("true", "not a number: true"),
        ('"3.5"', "not a number: '3.5'"),
        ("[]", "an empty list"),
        ("[[1]]", "not a number: a list"),
        ("[1, true]", "constraint 1 of the program is not a number: true"),
        ("{}", "an object without the key 'value'; its keys are none"),
        ('{"val": 1}', "an object without the key 'value'; its keys are 'val'"),
        ('{"value": null}', "not a number: null"),
        ('{"value": {}}', "not a number: an object"),
        ('{"value": 1, "constraints": ["a"]}', "constraint 1 of the program is not a number: 'a'"),
        ('{"value": 1, "error": "no convergence"}', "reports an error: 'no convergence'"),
        ('{"error": ["a"]}', "reports an error: a list"),
        ('{"value": 1, "failed": true}', "reports that the evaluation failed"),
        ('{"value": 1, "noise_variance": -1}', "noise variance of the program must be a finite number of at least 0"),
        ('{"value": 1, "noise_variance": NaN}', "noise variance"),
        ('{"value": 1, "noise_variance": "a"}', "noise variance of the program is not a number: 'a'"),
        ("1 2 3", "must have 0 constraints, got 2; say so with n_constraints"),
        ("[" * 100_000, "not a number"),
        ("[" * 400 + "]" * 400, "not a number"),
    ],
)
def test_what_is_no_result(text, message):
    with pytest.raises(ProgramError) as caught:
        results.parse_file(text, 0)
    assert message in str(caught.value)


def test_the_number_of_constraints_must_be_right():
    with pytest.raises(ProgramError, match="must have 1 constraint, got 0"):
        results.parse_file("1.0", 1)
    with pytest.raises(ProgramError, match="must have 3 constraints, got 2"):
        results.parse_file('{"value": 1, "constraints": [1, 2]}', 3)


def test_a_noise_variance_is_passed_on():
    assert results.parse_file('{"value": 1, "noise_variance": 0.25}', 0).noise_variance == 0.25
    assert results.parse_file('{"value": 1, "noise_variance": null}', 0).noise_variance is None


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("step 1\n10\nstep 2\n5.5\n", 5.5),
        ("10%\r50%\r2.5", 2.5),
        ('chat\n{"value": 1.5}\n\n', 1.5),
        ('{"value": 1.5}\nDone.\n', 1.5),  # says that it is the result, and may come earlier
        ('{"value": 1.5}\n{"event": "exit"}\nDone.', 1.5),
        ('{"value": 1}\n{"value": 2}\nDone.', 2.0),
        ('{\n "value": 1.5,\n "constraints": [\n ]\n}\n', 1.5),
        ('[\n1.5\n]\n', 1.5),
        ('{"value": 1}\n3', 3.0),
    ],
)  # fmt: skip
def test_where_the_result_stands_in_the_output(text, value):
    assert results.parse_stdout(text, 0).value == value


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "printed nothing, and a result was expected"),
        ("10\nERROR: diverged\n", "printed no result; its last line is 'ERROR: diverged'"),  # 10 was no result
        ('chat\n{\n "value": 1,\n "constraints": [\n 0.5\n ]\n}', "its last line is '}'"),  # and neither is 0.5
        ('{"event": "exit"}', "without the key 'value'"),
    ],
)
def test_a_number_among_other_lines_is_not_taken_for_the_result(text, message):
    with pytest.raises(ProgramError) as caught:
        results.parse_stdout(text, 0)
    assert message in str(caught.value)


SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.integers(10**300, 10**320), st.just("1e5")
)
JSON = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(
            st.sampled_from(["value", "y", "constraints", "noise_variance", "error", "failed", "other"]), inner
        ),
    ),
    max_leaves=12,
)


@given(st.one_of(st.text(), JSON.map(json.dumps), st.text(alphabet='{}[]",:0123456789.eE+-naif \n')), st.integers(0, 2))
@example("\x1c1", 0)
@example('{"value": 1' + "0" * 4400 + "}", 0)
def test_any_output_is_a_result_or_an_error(text, n_constraints):
    for parse in (results.parse_file, results.parse_stdout):
        try:
            measured = parse(text, n_constraints)
        except ProgramError:
            continue
        assert isinstance(measured.value, float)
        assert len(measured.constraints) == n_constraints
        assert all(isinstance(each, float) for each in measured.constraints)


@given(st.lists(st.floats(), min_size=1, max_size=5), st.lists(st.text(alphabet=st.characters(codec="utf-8"))))
def test_numbers_come_back_exactly_in_every_form(numbers, chat):
    value, *constraints = numbers
    forms = [
        json.dumps(numbers),
        json.dumps({"value": value, "constraints": constraints}),
        json.dumps({"y": value, "constraints": {f"c{i}": each for i, each in enumerate(constraints)}}),
        " ".join(map(repr, numbers)),
    ]
    for form in forms:
        read = [
            results.parse_file(form, len(constraints)),
            results.parse_stdout("\n".join([*chat, form]), len(constraints)),
        ]
        for measured in read:
            np.testing.assert_array_equal([measured.value, *measured.constraints], numbers)


def test_where_the_result_is_read_from():
    both = "open('output.json', 'w').write('1'); print(2)"
    assert python(both)([0.0]).value == 1.0
    assert python(both, result="file")([0.0]).value == 1.0
    assert python(both, result="stdout")([0.0]).value == 2.0
    assert python("print(2)")([0.0]).value == 2.0
    assert python("open('output.txt', 'w').write('1'); print(2)", format="lines")([0.0]).value == 1.0
    with pytest.raises(ProgramError, match=r"wrote no result file 'output.json'"):
        python("print(2)", result="file")([0.0])
    with pytest.raises(ProgramError, match=r"wrote no result file 'output.json'"):
        python("print(2)", "{output}")([0.0])
    with pytest.raises(ProgramError, match=r"wrote no result file 'output.json'"):
        python("import os; os.mkfifo('output.json'); print(2)")([0.0])  # reading it would take forever


def test_results_of_unreasonable_size(monkeypatch):
    monkeypatch.setattr(results, "LIMIT", 1000)
    with pytest.raises(ProgramError, match="is too large: 2000 bytes, 1000 are the limit"):
        python("open('output.json', 'w').write('1' * 2000)")([0.0])


def test_a_chatty_program_does_not_get_stuck():
    code = "import sys\nfor _ in range(2000): print('x' * 1000); print('y' * 1000, file=sys.stderr)\nprint(4.5)"
    assert python(code)([0.0]).value == 4.5


def test_nan_is_for_the_optimizer_to_judge():
    assert math.isnan(python("print('nan')")([0.0]).value)


# --- failures --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("raise ValueError('bad mesh')", "The program ended with exit code 1; stderr ends with 'ValueError: bad mesh'"),
        ("import sys; print(1.0); sys.exit(3)", "The program ended with exit code 3;"),
        ("import os; os.kill(os.getpid(), 11)", "The program was killed by signal SEGV;"),
        ("import os; os.kill(os.getpid(), 9)", "The program was killed by signal KILL (which the system sends when"),
        ("import os; os._exit(139)", "The program ended with exit code 139 (signal SEGV, if by a shell);"),
        ("print('hello')", "The program printed no result; its last line is 'hello';"),
        ("import os; os.write(2, b'\\xff\\x00\\n'); print('nothing')", r"stderr ends with '�\x00'"),
        ("print(1, 2)", "must have 0 constraints, got 1; say so with n_constraints;"),
    ],
)
def test_a_failure_is_one_sentence_with_all_that_is_needed(code, message):
    with pytest.raises(ProgramError) as caught:
        python(code)([0.0])
    error = caught.value
    assert message in str(error)
    assert str(error).endswith(f"; its files are in {os.path.join('boids-work', '0000')}.")
    assert "\n" not in str(error)
    assert isinstance(error, BoidsError)
    assert error.folder == os.path.join("boids-work", "0000")
    assert sorted(os.listdir(error.folder)) == ["command.json", "input.json", "stderr.txt", "stdout.txt"]
    copy = pickle.loads(pickle.dumps(error))
    assert (str(copy), copy.reason, copy.stderr, copy.folder) == (str(error), error.reason, error.stderr, error.folder)


def test_a_program_that_cannot_be_started():
    Path("simulate").write_bytes(b"\x7fNOT")
    Path("simulate").chmod(0o755)
    with pytest.raises(ProgramError, match=r"could not be started: .*; its files are in"):
        Program("./simulate")([0.0])
    with pytest.raises(ProgramError, match=r"could not be started: .*null byte"):
        Program("true {a}")({"a": "\0"})
    with pytest.raises(ProgramError, match=r"could not be started: .*too long"):
        Program("true {a}")({"a": "x" * 10_000_000})


def test_no_folder_can_be_made():
    program = Program("true", workdir="work")
    Path("work").touch()
    with pytest.raises(ProgramError, match="No folder could be made for the program"):
        program([0.0])


def test_a_text_that_no_file_can_hold():
    with pytest.raises(ProgramError, match="cannot be written or read"):
        Program("true", format="lines")({"a": "\ud800"})


@pytest.mark.parametrize(("keep", "kept"), [("failed", ["0001"]), ("all", ["0000", "0001", "0002"]), ("none", [])])
def test_which_folders_are_kept(keep, kept):
    program = python("import json; print(1 / json.load(open('input.json'))['x'][0])", keep=keep)
    assert program([2.0]).value == 0.5
    with pytest.raises(ProgramError, match="ZeroDivisionError") as caught:
        program([0.0])
    assert program([4.0]).value == 0.25
    assert folders() == kept
    assert bool(caught.value.folder) == (keep != "none")
    assert "ZeroDivisionError" in caught.value.stderr


def test_numbers_go_on_after_what_is_there(tmp_path):
    for name in ("0041", "notes", "0007"):
        (tmp_path / "work" / name).mkdir(parents=True)
    assert [claim(tmp_path / "work")[0] for _ in range(3)] == [42, 43, 44]
    (tmp_path / "work" / "0044").rmdir()
    assert claim(tmp_path / "work") == (45, tmp_path / "work" / "0045")


def test_threads_do_not_share_folders():
    program = python("import json; print(json.load(open('input.json'))['x'][0])", keep="all")
    with ThreadPoolExecutor(2) as pool:
        values = [measured.value for measured in pool.map(lambda i: program([float(i)]), range(40))]
    assert values == [float(i) for i in range(40)]
    assert folders() == [f"{i:04d}" for i in range(40)]


def test_processes_do_not_share_folders(tmp_path):
    code = "from pathlib import Path; from boids.program.folders import claim\n" + (
        "for _ in range(100): (claim(Path('work').absolute())[1] / 'mine').touch(exist_ok=False)"
    )
    both = [subprocess.Popen([sys.executable, "-c", code]) for _ in range(2)]
    assert [each.wait(60) for each in both] == [0, 0]
    assert len(list(Path("work").glob("*/mine"))) == 200


# --- nothing is left running -----------------------------------------------------------------------------------------


def with_child(after: str = "wait", before: str = "true", **options) -> tuple[Program, Path]:
    """A program that starts another one, which stays; its process id appears in the file."""
    pid = Path("child.pid").absolute()
    return Program(["sh", "-c", f"{before}; sleep 600 & echo $! > new; mv new {pid}; {after}"], **options), pid


def test_a_timeout_ends_the_whole_group():
    program, pid = with_child(timeout=1.0)
    with pytest.raises(ProgramError, match="The program took longer than 1 s and was ended; its files are in"):
        program([0.0])
    assert is_gone(read_pid(pid))


def test_a_timeout_ends_also_those_who_do_not_listen(monkeypatch):
    monkeypatch.setattr(process, "end_group", partial(end_group, grace=0.1))
    program, pid = with_child(before="trap '' TERM", timeout=1.0)
    with pytest.raises(ProgramError, match="took longer than 1 s"):
        program([0.0])
    child = read_pid(pid)
    wait_for(lambda: is_gone(child))


def test_a_timeout_leaves_time_for_a_last_word():
    script = "trap 'echo stopped at step 3 >&2; exit 0' TERM; sleep 600 & wait"
    with pytest.raises(ProgramError, match=r"longer than 1 s and was ended; stderr ends with 'stopped at step 3'"):
        Program(["sh", "-c", script], timeout=1.0)([0.0])


def test_what_a_program_leaves_behind_is_ended():
    program, pid = with_child(after="echo 1.5")
    assert program([0.0]).value == 1.5
    assert is_gone(read_pid(pid))


def test_an_interrupt_ends_the_program_first():
    program, pid = with_child()
    main = f"""
import signal, sys
from boids.program import Program
signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job of a shell ignores it from birth
try:
    Program({program.command!r})([0.0])
except KeyboardInterrupt:
    sys.exit(42)
"""
    caller = subprocess.Popen([sys.executable, "-c", main])
    child = read_pid(pid)
    caller.send_signal(signal.SIGINT)
    assert caller.wait(60) == 42
    wait_for(lambda: is_gone(child))
    assert folders() == []  # the evaluation has not failed


def test_an_interrupt_before_the_start_prevents_it(tmp_path):
    with open("out", "wb") as stdout, open("err", "wb") as stderr:
        start = process._Start(["touch", "started"], tmp_path, os.environ, stdout, stderr)
        start.end()
        start.run()  # as the thread may do, late
    assert not Path("started").exists()
    assert process._running == set()


def test_programs_of_other_threads_can_be_ended():
    program, pid = with_child()
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(program, [0.0])
        child = read_pid(pid)
        end_running()
        with pytest.raises(ProgramError, match="was killed by signal TERM"):
            future.result(60)
    wait_for(lambda: is_gone(child))
    assert process._running == set()


def test_how_a_process_ended():
    assert describe_exit(0) == "ended with exit code 0"
    assert describe_exit(255) == "ended with exit code 255"
    assert describe_exit(-40) == "was killed by signal 40"
    assert describe_exit(-15) == "was killed by signal TERM"
