"""Plain data: typed values to JSON and arrays, and back, exactly.

`encode` and `decode` are guided by a type's annotations alone: a file cannot name a class to import or to call, it
can only fill in the fields of classes that the caller's type reaches. Types may be built from

============================================  =====================================================
annotation                                    kept exactly
============================================  =====================================================
``bool, int, float, str, None``               value, also nan, ±inf and -0.0
``np.ndarray``, ``NDArray[...]``              dtype, shape, order in memory (C or Fortran) and bytes
``tuple[X, ...]``, ``tuple[X, Y]``            length and items
``dict[str, X]``, ``Mapping[str, X]``         keys, their order, and values
``X | Y``, ``Optional[X]``, ``Literal[...]``  the first type that fits
dataclasses                                   the fields that ``__init__`` takes
``Any``                                       JSON-able data; tuples become lists, NumPy's become plain
============================================  =====================================================

A strided view comes back contiguous. NumPy may sum the two in different orders, so a method that is to resume bit
for bit keeps contiguous arrays in its state.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

from boids.errors import BoidsError, StoreError

_SCALARS: dict[Any, tuple[type, ...]] = {
    bool: (bool, np.bool_),
    int: (int, np.integer),
    float: (float, int, np.integer),
    str: (str,),
}

AnyArray = NDArray[Any]


def encode(value: Any, kind: Any, arrays: list[AnyArray], where: str = "value") -> Any:
    """Return `value`, of type `kind`, as JSON-able data; its arrays are appended to `arrays`."""
    origin, args = get_origin(kind), get_args(kind)
    if kind is Any:
        return jsonable(value, where)
    if origin in (Union, UnionType):
        kept = len(arrays)

        def attempt(arm: Any) -> Any:
            del arrays[kept:]  # what an arm that did not fit has left behind
            return encode(value, arm, arrays, where)

        return _first_fit(args, attempt, kind, where)
    if np.ndarray in (kind, origin):
        if not isinstance(value, np.ndarray) or value.dtype.kind not in "biufcSU":
            raise _unfit(where, "an array of numbers", value)
        arrays.append(value)
        return {"array": len(arrays) - 1}
    if _is_record(kind):
        hints = _init_fields(kind)
        if type(value) is not kind:
            raise _unfit(where, _name(kind), value)
        inside = {name: encode(getattr(value, name), hint, arrays, f"{where}.{name}") for name, hint in hints.items()}
        return {"class": _name(kind), "fields": inside}
    if origin is tuple:
        if not isinstance(value, tuple):
            raise _unfit(where, "a tuple", value)
        kinds = _tuple_kinds(args, len(value), where)
        return [encode(v, k, arrays, f"{where}[{i}]") for i, (v, k) in enumerate(zip(value, kinds, strict=True))]
    if origin in (dict, Mapping) and args[0] is str:
        _check_keys(value, where)
        return {key: encode(item, args[1], arrays, f"{where}[{key!r}]") for key, item in value.items()}
    return _plain(value, kind, where)


def decode(document: Any, kind: Any, arrays: Sequence[AnyArray], where: str = "value") -> Any:
    """Return the value of type `kind` that `encode` turned into `document` and `arrays`."""
    origin, args = get_origin(kind), get_args(kind)
    if kind is Any:
        return document
    if origin in (Union, UnionType):
        return _first_fit(args, lambda arm: decode(document, arm, arrays, where), kind, where)
    if np.ndarray in (kind, origin):
        index = document.get("array") if isinstance(document, dict) else None
        if type(index) is not int or not 0 <= index < len(arrays):
            raise _unfit(where, "an array", document)
        return arrays[index]
    if _is_record(kind):
        if not isinstance(document, dict) or document.get("class") != _name(kind):
            raise _unfit(where, _name(kind), document)
        inside, hints = document.get("fields"), _init_fields(kind)
        if not isinstance(inside, dict) or inside.keys() != hints.keys():
            raise _unfit(where, f"the fields {', '.join(hints)}", inside)
        values = {name: decode(inside[name], hint, arrays, f"{where}.{name}") for name, hint in hints.items()}
        try:
            return kind(**values)
        except (TypeError, ValueError, BoidsError) as error:
            raise StoreError(f"{where}: {_name(kind)} refuses its saved fields ({error}).") from None
    if origin is tuple:
        if not isinstance(document, list):
            raise _unfit(where, "a list", document)
        kinds = _tuple_kinds(args, len(document), where)
        items = enumerate(zip(document, kinds, strict=True))
        return tuple(decode(item, k, arrays, f"{where}[{i}]") for i, (item, k) in items)
    if origin in (dict, Mapping) and args[0] is str:
        _check_keys(document, where)
        return {key: decode(item, args[1], arrays, f"{where}[{key!r}]") for key, item in document.items()}
    return _plain(document, kind, where)


def jsonable(value: Any, where: str = "value") -> Any:
    """Return `value` with tuples as lists, and NumPy's scalars and arrays as plain numbers and lists."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (np.generic, np.ndarray)) and value.dtype.kind in "biufSU":
        return value.tolist()
    if isinstance(value, (list, tuple)):
        return [jsonable(item, f"{where}[{i}]") for i, item in enumerate(value)]
    _check_keys(value, where)
    return {key: jsonable(item, f"{where}[{key!r}]") for key, item in value.items()}


def _plain(value: Any, kind: Any, where: str) -> Any:
    """Check a scalar, None or a Literal, which look the same in Python and in JSON."""
    if get_origin(kind) is Literal:
        if not any(type(value) is type(option) and value == option for option in get_args(kind)):
            raise _unfit(where, f"one of {', '.join(map(repr, get_args(kind)))}", value)
        return value
    if kind is NoneType or kind is None:
        if value is not None:
            raise _unfit(where, "None", value)
        return None
    if kind not in _SCALARS:
        raise StoreError(f"{where}: values of the type {_name(kind)} cannot be saved; use plain data.")
    if not isinstance(value, _SCALARS[kind]) or (isinstance(value, bool) and kind is not bool):
        raise _unfit(where, _name(kind), value)
    return value.item() if isinstance(value, np.generic) else value


def _first_fit(arms: tuple[Any, ...], attempt: Callable[[Any], Any], kind: Any, where: str) -> Any:
    """Return the first attempt that fits among the arms of a union."""
    reasons = []
    for arm in arms:
        try:
            return attempt(arm)
        except StoreError as error:
            reasons.append(str(error))
    raise StoreError(f"{where}: the value fits no type in {kind} ({'; '.join(reasons)}).")


def _is_record(kind: Any) -> bool:
    return isinstance(kind, type) and is_dataclass(kind)


@cache
def _init_fields(kind: Any) -> dict[str, Any]:
    """Return the fields that a dataclass is made from, with their resolved types."""
    try:
        hints = get_type_hints(kind)
    except NameError as error:
        raise StoreError(f"The annotations of {_name(kind)} cannot be resolved ({error}).") from None
    return {field.name: hints[field.name] for field in fields(kind) if field.init}


def _tuple_kinds(args: tuple[Any, ...], length: int, where: str) -> Sequence[Any]:
    """Return the type of every item of a tuple."""
    if len(args) == 2 and args[1] is Ellipsis:
        return (args[0],) * length
    if len(args) != length:
        raise StoreError(f"{where}: expected {len(args)} items, got {length}.")
    return args


def _check_keys(value: Any, where: str) -> None:
    if not isinstance(value, Mapping) or not all(type(key) is str for key in value):
        raise _unfit(where, "plain data with strings as keys", value)


def _unfit(where: str, expected: str, got: Any) -> StoreError:
    shown = repr(got)
    return StoreError(f"{where}: expected {expected}, got {shown if len(shown) < 60 else type(got).__name__}.")


def _name(kind: Any) -> str:
    return str(getattr(kind, "__name__", kind))
