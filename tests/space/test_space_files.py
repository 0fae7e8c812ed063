"""Space files: TOML and JSON say the same, and every mistake is named with its file and parameter."""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from space.strategies import named_spaces

from boids import Bool, Categorical, Float, Int, Space, SpaceError
from boids.space import SpaceFile, read_space, space_document

TOML = """
linear_constraints = ["x1 <= x2", { weights = { x1 = 1, w = -1 }, upper = 3 }]
n_constraints = 3

[parameters]
lr = { type = "float", low = 1e-5, high = 1, log = true }
n = { type = "int", low = 1, high = 1e2 }
act = { type = "categorical", choices = ["a", "b", "c"] }
on = { type = "bool" }
w = { type = "float", low = -1, high = 1, shape = 40 }
x1 = [0, 1]
x2 = [0, 1.5]
solver = ["lu", "qr"]
[parameters."a b"]
type = "int"
low = [1, 2]
high = [3, 4]
"""

SPACE = Space(
    {
        "lr": Float(1e-5, 1, log=True),
        "n": Int(1, 100),
        "act": Categorical(["a", "b", "c"]),
        "on": Bool(),
        "w": Float(-1, 1, shape=40),
        "x1": Float(0, 1),
        "x2": Float(0, 1.5),
        "solver": Categorical(["lu", "qr"]),
        "a b": Int([1, 2], [3, 4]),
    }
)


def write(folder, text, name="space.toml"):
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_toml(tmp_path):
    read = read_space(write(tmp_path, TOML))
    assert read.space == SPACE
    assert read.linear == ("x1 <= x2", {"weights": {"x1": 1, "w": -1}, "upper": 3})
    assert read.n_constraints == 3


def test_json_says_the_same(tmp_path):
    document = {**space_document(SPACE), "n_constraints": 3, "linear_constraints": ["x1 <= x2"]}
    read = read_space(write(tmp_path, json.dumps(document), "space.JSON"))
    assert read == SpaceFile(SPACE, ("x1 <= x2",), 3)


def test_only_parameters_are_needed(tmp_path):
    path = write(tmp_path, "[parameters]\na = [0, 1]\n")
    assert read_space(str(path)) == SpaceFile(Space({"a": (0, 1)}), (), None)


def test_a_mark_at_the_beginning_is_no_mistake(tmp_path):
    path = tmp_path / "space.json"
    path.write_text('{"parameters": {"a": [0, 1]}}', encoding="utf-8-sig")
    assert read_space(path).space == Space({"a": (0, 1)})


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(named_spaces(extreme=True))
def test_documents_are_read_back(tmp_path, space):
    assert read_space(write(tmp_path, json.dumps(space_document(space)), "space.json")).space == space


def test_the_document_of_a_box_is_a_vector(tmp_path):
    read = read_space(write(tmp_path, json.dumps(space_document(Space([(0, 1)] * 3))), "space.json"))
    assert read.space == Space({"x": Float(0, 1, shape=3)})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a = \nb = 1", r"The file is not TOML: .*line 1"),
        ("x = 1\nx = 2\n", r"The file is not TOML: .*line 2"),
        ("", "The file has no 'parameters'; it needs 'parameters'"),
        ("n_constraints = 3", "The file has no 'parameters'"),
        ("[parameter]\na = [0, 1]", "The file has the unknown key 'parameter'; did you mean 'parameters'?"),
        (
            "[xyz]",
            "The file has the unknown key 'xyz'; it may have 'parameters', 'linear_constraints', 'n_constraints'.",
        ),
        ("parameters = 3", "'parameters' must be a table of parameters by name, got 3"),
        ("[parameters]", "The space is empty; give at least one parameter"),
        ("n_constraints = -1\n[parameters]\na = [0, 1]", "'n_constraints' must be an integer of at least 0, got -1"),
        (
            "n_constraints = true\n[parameters]\na = [0, 1]",
            "'n_constraints' must be an integer of at least 0, got True",
        ),
        ("linear_constraints = 'x < y'\n[parameters]\na = [0, 1]", "'linear_constraints' must be a list of strings or"),
        (
            "linear_constraints = [3]\n[parameters]\na = [0, 1]",
            "'linear_constraints' must be a list of strings or tables",
        ),
        ("[parameters]\na = 3", r"Parameter 'a' must be a boids.Float(low, high)"),
        ("[parameters]\na = [1, 0]", r"Parameter 'a': Float must have low < high"),
        (
            "[parameters]\na = {}",
            "Parameter 'a' has no 'type'; it must be one of 'float', 'int', 'categorical', 'bool'.",
        ),
        ("[parameters]\na = {type = 3}", "Parameter 'a' has the unknown type 3; it must be one of"),
        ("[parameters]\na = {type = 'flaot'}", "Parameter 'a' has the unknown type 'flaot'; did you mean 'float'?"),
        (
            "[parameters]\na = {type = 'xyz'}",
            "Parameter 'a' has the unknown type 'xyz'; it must be one of 'float', 'int'",
        ),
        (
            "[parameters]\na = {type = 'float', low = 0, hihg = 1}",
            "Parameter 'a' has the unknown key 'hihg'; did you mean 'high'?",
        ),
        (
            "[parameters]\na = {type = 'bool', low = 0}",
            "Parameter 'a' has the unknown key 'low'; it may have 'shape'.",
        ),
        ("[parameters]\na = {type = 'int', low = 0}", "Parameter 'a' has no 'high'; it needs 'low' and 'high'."),
        ("[parameters]\na = {type = 'categorical'}", "Parameter 'a' has no 'choices'; it needs 'choices'."),
        ("[parameters]\na = {type = 'int', low = 0.5, high = 2}", "Parameter 'a': The lower bound must be an integer"),
        (
            "[parameters]\na = {type = 'float', low = 0, high = 2, log = 'yes'}",
            "Parameter 'a': log must be True or False",
        ),
        ("[parameters]\na = {type = 'bool', shape = 0}", "Parameter 'a': shape must be a positive integer"),
        (
            "[parameters]\na = {type = 'categorical', choices = [2020-01-01, 1]}",
            "Parameter 'a': A choice must be a string",
        ),
        ("[parameters]\na = {type = 'float', low = 0, high = inf}", "Parameter 'a': Float must have two finite bounds"),
        ("[parameters]\n'' = [0, 1]", "A parameter's name must be a non-empty string"),
    ],
)
def test_mistakes_in_toml(tmp_path, text, message):
    path = write(tmp_path, text)
    with pytest.raises(SpaceError) as caught:
        read_space(path)
    assert str(caught.value).startswith(f"{path}: ")
    if message.startswith("The file is not"):
        assert caught.match(message)
    else:
        assert message in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"parameters": {"a": [0, 1]', r"The file is not JSON: .*line 1 column"),
        ("[1, 2]", r"Expected a table with the key 'parameters', got \[1, 2\]"),
        ('{"parameters": {"a": [0, 1], "b": [0, 1], "a": [0, 2]}}', r"The key 'a' stands twice in one object"),
        ("[" * 100_000, "The file is not JSON"),
        ('{"parameters": {"a": {"type": "categorical", "choices": [NaN, 1]}}}', "A choice must be a string, a finite"),
    ],
)
def test_mistakes_in_json(tmp_path, text, message):
    with pytest.raises(SpaceError, match=message):
        read_space(write(tmp_path, text, "space.json"))


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(SpaceError, match=r"none\.toml: The file cannot be read: No such file"):
        read_space(tmp_path / "none.toml")
    (tmp_path / "folder.json").mkdir()
    with pytest.raises(SpaceError, match=r"folder\.json: The file cannot be read"):
        read_space(tmp_path / "folder.json")
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe[")
    with pytest.raises(SpaceError, match=r"bytes\.toml: The file is not text in UTF-8"):
        read_space(tmp_path / "bytes.toml")
    for name in ("space.yaml", "space"):
        with pytest.raises(SpaceError, match=rf"must end in \.toml or \.json, got '{name}'"):
            read_space(tmp_path / name)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(max_size=30), st.sampled_from(["a.toml", "a.json"]))
def test_any_text_is_read_or_refused(tmp_path, text, name):
    path = tmp_path / name
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    with pytest.raises(SpaceError):
        read_space(path)


plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)
keys = st.sampled_from(["low", "high", "log", "shape", "choices"])


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.fixed_dictionaries({"type": st.sampled_from(["float", "int", "categorical", "bool"])}),
    st.dictionaries(keys, plain, max_size=4),
)
def test_any_table_is_read_or_refused(tmp_path, kind, arguments):
    path = write(tmp_path, json.dumps({"parameters": {"a": {**kind, **arguments}}}), "a.json")
    try:
        assert read_space(path).space.dim >= 1
    except SpaceError as error:
        sentence = str(error)
    else:
        return
    assert sentence.startswith(f"{path}: Parameter 'a'")
