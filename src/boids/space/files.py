"""Spaces in files: TOML or JSON with a table of parameters, and what else belongs to the description of a problem.

.. code-block:: toml

    linear_constraints = ["x1 <= x2", "sum(w) <= 10"]     # optional; strings or tables
    n_constraints = 3                                     # optional: how many constraint values the objective returns

    [parameters]
    lr = { type = "float", low = 1e-5, high = 1, log = true }
    n = { type = "int", low = 1, high = 100 }
    act = { type = "categorical", choices = ["a", "b", "c"] }
    on = { type = "bool" }
    w = { type = "float", low = -1, high = 1, shape = 40 }
    x1 = [0, 1]                                           # short for a float
    x2 = [0, 1]

JSON has the same structure.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from boids.errors import SpaceError, did_you_mean, shown
from boids.space.definition import read_parameter
from boids.space.parameters import PARAMETERS
from boids.space.space import Space

_KEYS = ("parameters", "linear_constraints", "n_constraints")


@dataclass(frozen=True, slots=True)
class SpaceFile:
    """What a file says.

    Attributes
    ----------
    space
        The search space; its points are dicts.
    linear
        The linear input constraints as they stand in the file, strings or tables.
    n_constraints
        How many black-box constraint values the objective returns; None if the file does not say.
    """

    space: Space
    linear: tuple[str | dict[str, Any], ...] = ()
    n_constraints: int | None = None


def read_space(path: str | os.PathLike[str]) -> SpaceFile:
    """Return what a .toml or .json file says about a space; a `SpaceError` names the file and what is wrong in it."""
    path = Path(path)
    try:
        return _read_document(_load(path))
    except SpaceError as error:
        raise SpaceError(f"{path}: {error}") from None


def space_document(space: Space) -> dict[str, Any]:
    """Return the JSON-able content of a file that describes a space; a plain box becomes the vector "x".

    Examples
    --------
    >>> from boids import Int
    >>> space_document(Space({"n": Int(1, 9)}))
    {'parameters': {'n': {'type': 'int', 'low': 1, 'high': 9}}}
    """
    described = {name: {"type": each.kind, **each.to_manifest()} for name, each in space.parameters.items()}
    return {"parameters": described}


def _load(path: Path) -> Any:
    """Return the content of a file as plain data."""
    suffix = path.suffix.lower()
    if suffix not in (".toml", ".json"):
        raise SpaceError(f"The name of a space file must end in .toml or .json, got {path.name!r}.")
    try:
        text = path.read_bytes().decode("utf-8-sig")  # some editors begin a file with a mark
    except OSError as error:
        raise SpaceError(f"The file cannot be read: {error.strerror or error}.") from None
    except UnicodeDecodeError as error:
        raise SpaceError(f"The file is not text in UTF-8: {error.reason} at byte {error.start}.") from None
    try:
        if suffix == ".json":
            import json

            return json.loads(text, object_pairs_hook=_without_doubles)
        import tomllib

        return tomllib.loads(text)
    except SpaceError:
        raise
    except (ValueError, RecursionError) as error:
        raise SpaceError(f"The file is not {suffix[1:].upper()}: {error}.") from None


def _without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object of JSON, which would silently keep the last of two equal keys."""
    content = dict(pairs)
    if len(content) < len(pairs):
        keys = [key for key, _ in pairs]
        raise SpaceError(f"The key {next(key for key in keys if keys.count(key) > 1)!r} stands twice in one object.")
    return content


def _read_document(document: Any) -> SpaceFile:
    if not isinstance(document, Mapping):
        raise SpaceError(f"Expected a table with the key 'parameters', got {shown(document)}.")
    _check_keys(document, _KEYS, ("parameters",), "The file")
    parameters = document["parameters"]
    if not isinstance(parameters, Mapping):
        raise SpaceError(f"'parameters' must be a table of parameters by name, got {shown(parameters)}.")
    linear = document.get("linear_constraints", [])
    if not isinstance(linear, list) or not all(isinstance(each, (str, dict)) for each in linear):
        raise SpaceError(f"'linear_constraints' must be a list of strings or tables, got {shown(linear)}.")
    count = document.get("n_constraints")
    if count is not None and (not isinstance(count, int) or isinstance(count, bool) or count < 0):
        raise SpaceError(f"'n_constraints' must be an integer of at least 0, got {shown(count)}.")
    space = Space({name: _read_parameter(entry, f"Parameter {name!r}") for name, entry in parameters.items()})
    return SpaceFile(space, tuple(linear), count)


def _read_parameter(entry: Any, label: str) -> Any:
    """Return a parameter from its table, or from a shorthand."""
    if not isinstance(entry, Mapping):
        return read_parameter(entry, label)
    if "type" not in entry:
        raise SpaceError(f"{label} has no 'type'; it must be one of {', '.join(map(repr, PARAMETERS))}.")
    kind = entry["type"]
    if not isinstance(kind, str) or kind not in PARAMETERS:
        known = f"it must be one of {', '.join(map(repr, PARAMETERS))}."
        raise SpaceError(f"{label} has the unknown type {shown(kind)}; {did_you_mean(str(kind), PARAMETERS, known)}")
    arguments = {key: value for key, value in entry.items() if key != "type"}
    signature = inspect.signature(PARAMETERS[kind]).parameters.values()
    needed = [each.name for each in signature if each.default is each.empty]
    _check_keys(arguments, [each.name for each in signature], needed, label)
    try:
        return PARAMETERS[kind](**arguments)
    except SpaceError as error:
        raise SpaceError(f"{label}: {error}") from None


def _check_keys(table: Mapping[str, Any], known: Iterable[str], needed: Iterable[str], label: str) -> None:
    for key in table:
        if key not in known:
            hint = did_you_mean(key, known, f"it may have {', '.join(map(repr, known))}.")
            raise SpaceError(f"{label} has the unknown key {key!r}; {hint}")
    for key in needed:
        if key not in table:
            raise SpaceError(f"{label} has no {key!r}; it needs {' and '.join(map(repr, needed))}.")
