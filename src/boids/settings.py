"""Settings: dataclass fields that say where their default comes from, and are checked when an object is made."""

from __future__ import annotations

import math
import numbers
from dataclasses import field, fields
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np

from boids.errors import MethodError, shown

_WORDS = {int: "a whole number", float: "a finite number", bool: "True or False", NoneType: "None", str: "a text"}
#: What `fitted` returns for a value that does not fit.
REFUSED = object()


def setting(default: Any, source: str = "", least: float = -math.inf, most: float = math.inf) -> Any:
    """Return a dataclass field with a default, the place it comes from, and the least and greatest value allowed."""
    return field(default=default, metadata={"source": source, "least": least, "most": most})


def check_settings(settings: Any) -> None:
    """Check every field of a frozen dataclass against its annotation, or raise a MethodError that names it.

    NumPy numbers and lists are put in as plain numbers and tuples, so that settings can be saved as they are.
    """
    hints = get_type_hints(type(settings))
    for f in fields(settings):
        value, hint = getattr(settings, f.name), hints[f.name]
        least, most = f.metadata.get("least", -math.inf), f.metadata.get("most", math.inf)
        checked = fitted(value, hint)
        outside = isinstance(checked, (int, float)) and not least <= checked <= most
        if checked is REFUSED or outside:
            bounds = [f"at least {least:g}"] * (least > -math.inf) + [f"at most {most:g}"] * (most < math.inf)
            wanted = " of ".join([in_words(hint), " and ".join(bounds)]) if bounds else in_words(hint)
            raise MethodError(f"{f.name} must be {wanted}; got {shown(value)}.")
        object.__setattr__(settings, f.name, checked)


def fitted(value: Any, hint: Any) -> Any:
    """Return the value as the annotated type, or `REFUSED`; NumPy numbers become plain, lists tuples."""
    if get_origin(hint) in (Union, UnionType):
        fits = (fitted(value, arm) for arm in get_args(hint))
        return next((each for each in fits if each is not REFUSED), REFUSED)
    if get_origin(hint) is Literal:
        same = any(type(choice) is type(value) and choice == value for choice in get_args(hint))
        return value if same else REFUSED
    if get_origin(hint) is tuple:
        kinds = get_args(hint)
        if isinstance(value, (tuple, list)) and kinds[1:] == (Ellipsis,):
            kinds = kinds[:1] * len(value)
        if not isinstance(value, (tuple, list)) or len(value) != len(kinds):
            return REFUSED
        items = tuple(fitted(item, kind) for item, kind in zip(value, kinds, strict=True))
        return REFUSED if REFUSED in items else items
    # bool is a kind of int to Python, not to people.
    if hint in (int, float):
        kind = numbers.Integral if hint is int else numbers.Real
        if not isinstance(value, kind) or isinstance(value, (bool, np.timedelta64)):
            return REFUSED
        try:
            return hint(value) if math.isfinite(value) else REFUSED
        except OverflowError:  # an integer beyond the range of a float
            return REFUSED
    return value if isinstance(value, hint) else REFUSED


def in_words(hint: Any) -> str:
    """Return a type as people say it."""
    if get_origin(hint) in (Union, UnionType):
        return " or ".join(map(in_words, get_args(hint)))
    if get_origin(hint) is Literal:
        return f"one of {', '.join(map(repr, get_args(hint)))}"
    if get_origin(hint) is tuple:
        return f"({', '.join('…' if kind is Ellipsis else in_words(kind) for kind in get_args(hint))})"
    return _WORDS.get(hint) or f"of type {hint.__name__}"
