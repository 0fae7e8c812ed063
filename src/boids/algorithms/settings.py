"""Fields of a method that say where their default comes from and what values make sense."""

from __future__ import annotations

import math
from dataclasses import MISSING, Field, field, fields
from typing import Any, Literal, get_args, get_origin, get_type_hints

from boids.errors import MethodError


def setting(default: Any, source: str, least: float | None = None) -> Any:
    """Return a dataclass field with a default, the place it comes from, and the least value allowed."""
    return field(default=default, metadata={"source": source, "least": least})


def describe(method: Any) -> list[tuple[str, Any, str]]:
    """Return (name, default, source) for every setting of a method class or instance."""

    def default_of(f: Field[Any]) -> Any:
        if f.default is not MISSING:
            return f.default
        return f.default_factory() if f.default_factory is not MISSING else None

    return [(f.name, default_of(f), f.metadata.get("source", "")) for f in fields(method)]


def check_settings(method: Any) -> None:
    """Raise a MethodError that names the first setting whose value makes no sense."""
    hints = get_type_hints(type(method))
    for f in fields(method):
        value, least = getattr(method, f.name), f.metadata.get("least")
        if get_origin(hints[f.name]) is Literal and value not in get_args(hints[f.name]):
            choices = ", ".join(map(repr, get_args(hints[f.name])))
            raise MethodError(f"{f.name} must be one of {choices}; got {value!r}.")
        if least is None or (value is None and type(None) in get_args(hints[f.name])):
            continue
        whole = hints[f.name] is int or int in get_args(hints[f.name])
        number = isinstance(value, int if whole else (int, float)) and not isinstance(value, bool)
        if not (number and math.isfinite(value) and value >= least):
            kind = "a whole number" if whole else "a number"
            raise MethodError(f"{f.name} must be {kind} of at least {least}; got {value!r}.")
