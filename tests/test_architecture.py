"""The shape of the code: who may import whom, and what must not appear in `src`."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import boids

SOURCE = Path(boids.__file__).parent
FILES = sorted(SOURCE.rglob("*.py"))

# The layers, top first. A module may import whatever stands below its own row, and nothing beside or above it.
LAYERS = [
    ["__main__"],
    ["cli"],  # the command line
    ["dashboard"],  # watches runs of every kind
    ["bench", "integrations", "testing"],  # users of the whole library
    ["scipy_style"],  # minimize
    ["progress", "result"],  # how a run is shown and summed up
    ["drive", "plots"],  # the loop; pictures of runs
    ["here", "stopping"],  # evaluations in this process; why a run ends
    ["optimizer", "workers"],  # the one mutable object; where evaluations take place
    ["recording", "replay"],  # runs in a store; a recorded run made again
    ["run_file"],  # a run as plain data, and as a file
    ["run", "recommendation", "importance"],  # a run and its steps; what to make of its data
    ["setup"],  # what a run is
    [
        "earlier",
        "placement",
        "ledger",
        "snapshot",
        "store",
        "algorithms",
        "problems",
        "theory",
    ],  # points, books, files, methods
    ["trial_rows"],  # trials as rows of a journal
    ["packing", "journal"],  # what is written down of a run, and how
    ["program", "isolation"],  # objectives that are programs, or run in a process of their own
    ["opponents"],  # methods whose work other packages do
    ["blocks", "gp"],  # the pure pieces: neither knows of the other
    ["configure"],  # methods by the names of their settings
    ["plain", "values", "space", "settings", "citations", "durations", "user_code"],  # data, numbers and points
    ["records", "errors", "process_group"],  # the small things that everyone shares
]
# Modules that stand on less than their row allows.
STANDS_ON = {"problems": {"space", "records", "errors"}}

OPTIONAL = {
    "matplotlib", "torch", "sklearn", "pymoo", "optuna", "gest_api", "mujoco", "gymnasium", "jax", "numpyro", "dask",
    "distributed", "pyarrow", "pandas", "cma", "cocoex", "Box2D", "imageio", "cmaes", "gpytorch", "botorch",
    "nevergrad", "smac", "ConfigSpace", "starlette", "uvicorn",
}  # fmt: skip
# Adapters, which are imported by those who have the library; the package says so in a sentence if it is missing.
ADAPTS = {"integrations/optuna": "optuna", "integrations/gest": "gest_api", "integrations/sklearn": "sklearn"}
PICKLES = {"pickle", "cPickle", "dill", "cloudpickle", "joblib", "shelve", "marshal"}


def top(path: Path) -> str:
    """The part of the package that a file belongs to, e.g. "gp"; "" for the package's own `__init__`."""
    first = path.relative_to(SOURCE).parts[0]
    return "" if first == "__init__.py" else first.removesuffix(".py")


def parse(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def imports(path: Path) -> Iterator[tuple[int, str]]:
    """All imports of a file as (line, dotted name), wherever they stand."""
    package = ["boids", *path.relative_to(SOURCE).parent.parts]
    for node in ast.walk(parse(path)):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(package[: len(package) - node.level + 1]) if node.level else ""
            module = ".".join(part for part in (base, node.module) if part)
            for alias in node.names:
                yield node.lineno, f"{module}.{alias.name}"


def own_imports(path: Path) -> Iterator[tuple[int, str]]:
    """The parts of boids that a file imports, as (line, part)."""
    for line, name in imports(path):
        if name == "boids" or name.startswith("boids."):
            part = name.split(".")[1] if "." in name else ""
            if part == "__version__":
                continue
            yield line, boids._HOME.get(part, f"boids.{part}").split(".")[1]


def at_module_level(path: Path) -> Iterator[ast.AST]:
    """The nodes that run when a file is imported."""
    waiting: list[ast.AST] = [parse(path)]
    while waiting:
        node = waiting.pop()
        yield node
        is_later = isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
        is_for_types = isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        if not (is_later or is_for_types):
            waiting.extend(ast.iter_child_nodes(node))


def each(paths: list[Path]):
    return pytest.mark.parametrize("path", paths, ids=lambda path: str(path.relative_to(SOURCE)))


def level(part: str) -> int:
    for number, row in enumerate(LAYERS):
        if part in row:
            return number
    raise AssertionError(f"{part!r} has no place in LAYERS of {__file__}; decide where it stands, and add it")


@each([path for path in FILES if top(path)])
def test_dependencies_point_down(path):
    me = top(path)
    allowed = STANDS_ON.get(me) or {part for row in LAYERS[level(me) + 1 :] for part in row}
    wrong = [f"line {line}: boids.{part}" for line, part in own_imports(path) if part not in {me, *allowed}]
    assert not wrong, f"{me} must not import {wrong}; it may import {sorted(allowed)}"


def test_the_table_of_layers_has_no_doubles():
    parts = [part for row in LAYERS for part in row]
    assert len(parts) == len(set(parts))


def test_the_check_itself_finds_what_it_should(tmp_path, monkeypatch):
    monkeypatch.setattr(sys.modules[__name__], "SOURCE", tmp_path)
    (tmp_path / "gp").mkdir()
    path = tmp_path / "gp" / "fit.py"
    path.write_text(
        "from boids import minimize, __version__\nfrom boids.blocks.line import Lines\nfrom ..space import Space\n"
        "def f():\n    import boids.drive\n    from . import linalg\n    import matplotlib\n"
    )
    found = [part for _, part in own_imports(path)]
    assert found == ["scipy_style", "blocks", "space", "drive", "gp"]
    assert not any(isinstance(node, ast.Import) for node in at_module_level(path))


def test_import_is_light():
    code = "import boids, sys; print([m for m in ('numpy', 'scipy', 'rich', 'click') if m in sys.modules])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


@each(FILES)
def test_optional_packages_are_imported_where_they_are_used(path):
    adapted = ADAPTS.get(path.parent.relative_to(SOURCE).as_posix())
    for node in at_module_level(path):
        if isinstance(node, ast.Import):
            names = {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names = {node.module.split(".")[0]}
        else:
            continue
        assert not names & (OPTIONAL - {adapted}), f"line {node.lineno}: import it inside the function that needs it"


@each(FILES)
def test_nothing_dangerous(path):
    """No assert (python -O drops it), no pickle, eval or shell (files and names are data), no print in a library."""
    for node in ast.walk(parse(path)):
        assert not isinstance(node, ast.Assert), f"line {node.lineno}: raise an error that says what to do"
        if isinstance(node, ast.Call):
            called = node.func.id if isinstance(node.func, ast.Name) else ""
            assert called not in {"eval", "exec"}, f"line {node.lineno}: {called}"
            assert called != "print" or top(path) in {"cli", "progress"}, f"line {node.lineno}: print"
            for keyword in node.keywords:
                is_true = isinstance(keyword.value, ast.Constant) and keyword.value.value is True
                assert keyword.arg not in {"shell", "allow_pickle"} or not is_true, f"line {node.lineno}"
    for line, name in imports(path):
        assert name.split(".")[0] not in PICKLES, f"line {line}: {name}"


@each(FILES)
def test_files_stay_short(path):
    assert len(path.read_text(encoding="utf-8").splitlines()) < 400, "one file, one idea: split it"


@each(FILES)
def test_files_say_what_they_are(path):
    assert ast.get_docstring(parse(path)), "open the file with one sentence"


def test_no_drawers():
    assert not [path for path in FILES if path.stem in {"utils", "util", "helpers", "common", "misc", "manager"}]
