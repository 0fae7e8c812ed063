"""What an external program may answer, and how it is read.

A result is one of these, in a file or on standard output:

- a JSON object with the key "value" (also "objective", "fun" or "y"), and perhaps "constraints" (a list, or an object
  of numbers by name), "noise_variance", and "error" (a text) or "failed" (true) for an evaluation that failed;
- a JSON list, or numbers with white space between them: the value, then the constraints;
- a number.

A file holds the result and nothing else. On standard output other lines may come before it: the result is the last
line; or all of the output, if that is one JSON document; or the last line that is a JSON object with a known key.
Numbers may be nan or infinite, which the optimizer takes for a failed evaluation.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from boids.errors import ProgramError, shorten
from boids.records import Measurement

#: Bytes that are read of a result at the most.
LIMIT = 10_000_000

_VALUE_KEYS = ("value", "objective", "fun", "y")
_FAILURE_KEYS = ("error", "failed")
_NOT_JSON = object()


def read_file(path: Path, n_constraints: int) -> Measurement:
    """Return the result in a file."""
    # Only regular files: opening a pipe would wait for a writer.
    if not path.is_file():
        raise ProgramError(f"The program wrote no result file {path.name!r}")
    size = path.stat().st_size
    if size > LIMIT:
        raise ProgramError(f"The result file {path.name!r} is too large: {size} bytes, {LIMIT} are the limit")
    return parse_file(tail(path), n_constraints)


def read_stdout(path: Path, n_constraints: int) -> Measurement:
    """Return the result in what a program printed."""
    return parse_stdout(tail(path), n_constraints)


def tail(path: Path, limit: int = LIMIT) -> str:
    """Return the end of a text file, at most `limit` bytes; bytes that are no UTF-8 become question marks."""
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - limit))
        return file.read(limit).decode("utf-8-sig", errors="replace")


def parse_file(text: str, n_constraints: int) -> Measurement:
    """Return the result that a text is."""
    data = _load(text)
    if data is _NOT_JSON:
        got = f"not a number: {shorten(text.strip(), 60)}" if text.strip() else "empty"
        raise ProgramError(f"The result of the program is {got}")
    return _measurement(data, n_constraints)


def parse_stdout(text: str, n_constraints: int) -> Measurement:
    """Return the result that stands in the output of a program."""
    lines = [line.strip() for line in re.split(r"[\r\n]+", text) if line.strip()]
    if not lines:
        raise ProgramError("The program printed nothing, and a result was expected on standard output")
    data = _load(lines[-1])
    if data is _NOT_JSON and text.lstrip().startswith(("{", "[")):
        data = _load(text)
    if data is _NOT_JSON:
        objects = (_load(line) for line in reversed(lines) if line.startswith("{") and line.endswith("}"))
        data = next((each for each in objects if _is_result(each)), _NOT_JSON)
    if data is _NOT_JSON:
        raise ProgramError(f"The program printed no result; its last line is {shorten(lines[-1], 60)}")
    return _measurement(data, n_constraints)


def _load(text: str) -> Any:
    """Return a text as JSON, or numbers with white space between them as a list, or `_NOT_JSON`."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        pass
    words = text.split()
    try:
        return [_read_float(word) for word in words] if words else _NOT_JSON
    except ValueError:
        return _NOT_JSON


def _read_float(word: str) -> float:
    if "_" in word:  # Python would take 1_0 for 10
        raise ValueError(word)
    try:
        return float(word)
    except ValueError:
        return float(re.sub("[dD]", "e", word))  # 1.5D+02, as Fortran writes it


def _is_result(data: Any) -> bool:
    return isinstance(data, dict) and any(key in data for key in (*_VALUE_KEYS, *_FAILURE_KEYS))


def _measurement(data: Any, n_constraints: int) -> Measurement:
    """Return a result that has been read, checked."""
    noise_variance: float | None = None
    if isinstance(data, dict):
        value, constraints, noise_variance = _from_object(data)
    elif isinstance(data, list):
        if not data:
            raise ProgramError("The result of the program is an empty list")
        value, constraints = _number(data[0], "result"), _numbers(data[1:])
    else:
        value, constraints = _number(data, "result"), ()
    if len(constraints) != n_constraints:
        hint = "" if n_constraints else "; say so with n_constraints"
        expected = f"{n_constraints} constraint{'' if n_constraints == 1 else 's'}"
        raise ProgramError(f"The result of the program must have {expected}, got {len(constraints)}{hint}")
    return Measurement(value, constraints, noise_variance)


def _from_object(data: dict[str, Any]) -> tuple[float, tuple[float, ...], float | None]:
    if data.get("error") not in (None, False, ""):
        raise ProgramError(f"The program reports an error: {_show(data['error'])}")
    if data.get("failed") not in (None, False):
        raise ProgramError("The program reports that the evaluation failed")
    key = next((key for key in _VALUE_KEYS if key in data), None)
    if key is None:
        got = ", ".join(repr(each) for each in list(data)[:5]) or "none"
        raise ProgramError(f"The result of the program is an object without the key 'value'; its keys are {got}")
    constraints = data.get("constraints")
    if isinstance(constraints, dict):
        constraints = list(constraints.values())
    elif not isinstance(constraints, list):
        constraints = [] if constraints is None else [constraints]
    noise = data.get("noise_variance")
    if noise is not None:
        noise = _number(noise, "noise variance")
        if not 0.0 <= noise < float("inf"):
            raise ProgramError(f"The noise variance of the program must be a finite number of at least 0, got {noise}")
    return _number(data[key], "result"), _numbers(constraints), noise


def _numbers(values: list[Any]) -> tuple[float, ...]:
    return tuple(_number(each, f"constraint {i}") for i, each in enumerate(values, start=1))


def _show(value: Any) -> str:
    """Return a JSON value for a message; what holds others is only named, for it may be large, or very deep."""
    if isinstance(value, (list, dict)):
        return "a list" if isinstance(value, list) else "an object"
    return shorten(value) if isinstance(value, str) else json.dumps(value)


def _number(value: Any, label: str) -> float:
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        raise ProgramError(f"The {label} of the program is not a number: {_show(value)}")
    try:
        return float(value)
    except OverflowError:  # an integer beyond the range of a float
        return float("inf") if value > 0 else float("-inf")
