"""What an external program gets to read: the point as JSON, or as one value a line."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from boids.errors import CommandError, shorten


def render(params: Any, form: str) -> str:
    """Return the text of the input file for a point; `form` is "json" or "lines"."""
    values = {name: _plain(value, name) for name, value in _items(params)}
    if form == "json":
        return json.dumps(values, indent=1) + "\n"
    return "".join(f"{line}\n" for name, value in values.items() for line in _lines(value, name))


def as_word(params: Any, name: str) -> str:
    """Return a parameter's value as text, to stand in a command."""
    value = _plain(params[name], name)
    if isinstance(value, list):
        raise CommandError(
            f"Parameter {name!r} has {len(value)} components and cannot stand in a command as {{{name}}}; let the "
            "program read it from {input}."
        )
    return _text(value)


def _items(params: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(params, Mapping):
        yield from params.items()
    else:
        yield "x", np.asarray(params)


def _plain(value: Any, name: str) -> Any:
    """Return a value as JSON knows it: a bool, an int, a float, a string, None, or a list of these."""
    if isinstance(value, (np.ndarray, np.generic)):
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        return [_plain(each, name) for each in value]
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise CommandError(f"Parameter {name!r} cannot be written for a program: {type(value).__name__} {value!r}.")


def _lines(value: Any, name: str) -> Iterator[str]:
    if isinstance(value, list):
        for each in value:
            yield from _lines(each, name)
        return
    text = _text(value)
    if text.splitlines() not in ([], [text]):
        raise CommandError(
            f"Parameter {name!r} has the value {shorten(text)}, which is more than one line; use the format 'json'."
        )
    yield text


def _text(value: Any) -> str:
    """Return a single value as text: floats with all their digits, True and False as 1 and 0."""
    if isinstance(value, bool):
        return "1" if value else "0"
    if isinstance(value, float):
        return repr(value)
    return str(value)
