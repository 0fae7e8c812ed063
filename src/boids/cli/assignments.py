"""`key=value` on the command line: the options of a problem, and the settings of a method, checked by their types."""

from __future__ import annotations

import ast
import math
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import fields, is_dataclass, replace
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from boids.cli.errors import InputError
from boids.errors import did_you_mean

_WORDS = {"true": True, "false": False, "none": None}
_KINDS = {bool: "true or false", int: "an integer", float: "a number", str: "text", NoneType: "none"}


def split(pairs: Iterable[str], option: str) -> dict[str, str]:
    """Return `key=value` pairs as a dict of texts."""
    texts: dict[str, str] = {}
    for pair in pairs:
        key, equals, text = pair.partition("=")
        key = key.strip()
        if not equals or not key:
            raise InputError(f"{option} expects key=value, got {pair!r}.")
        if key in texts:
            raise InputError(f"{option} {key}=… was given twice; give it once.")
        texts[key] = text.strip()
    return texts


def literal(text: str) -> Any:
    """Return the Python value that a text stands for, the text itself if it is none."""
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about odd escapes in what is only a text
            return ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return text


def configured(method: type[Any], texts: dict[str, str]) -> Any:
    """Return a method with some of its settings changed; `preset=NAME` chooses what the others are taken from."""
    return _changed(method, None, texts, f"Method {method.name!r}", "", tuple(_names(method())))


def settings(instance: Any, prefix: str = "") -> Iterator[tuple[str, Any, str, tuple[Any, ...]]]:
    """Yield (name, value, source, choices) of all settings, those of nested groups with dotted names."""
    hints = get_type_hints(type(instance))
    for field in fields(instance):
        value, source = getattr(instance, field.name), field.metadata.get("source", "")
        if is_dataclass(value):
            inner = settings(value, f"{prefix}{field.name}.")
            # A group has one source, which its first row tells.
            for row, (name, default, own, choices) in enumerate(inner):
                yield name, default, own or ("" if row else source), choices
        else:
            yield f"{prefix}{field.name}", value, source, _choices(hints[field.name])


def _changed(cls: type[Any], base: Any, texts: dict[str, str], owner: str, prefix: str, known: tuple[str, ...]) -> Any:
    """Return `base`, or one of the presets of its class, with new values; keys of nested groups have dots."""
    texts = dict(texts)
    presets: tuple[str, ...] = getattr(cls, "presets", ())
    if "preset" in texts and not any(field.name == "preset" for field in fields(cls)):
        base = _preset(cls, presets, texts.pop("preset"), owner)
    base = cls() if base is None else base

    groups: dict[str, dict[str, str]] = {}
    for key, text in texts.items():
        name, _, inner = key.partition(".")
        groups.setdefault(name, {})[inner] = text
    hints = get_type_hints(cls)
    values: dict[str, Any] = {}
    for name, inside in groups.items():
        wrong = next(f"{prefix}{key}" for key in texts if key.partition(".")[0] == name)
        if name not in {field.name for field in fields(cls)}:
            otherwise = "`boids methods NAME` lists them." if known else "it has none at all."
            raise InputError(f"{owner} has no setting {wrong!r}; {did_you_mean(wrong, known, otherwise)}")
        current = getattr(base, name)
        if is_dataclass(current) and not isinstance(current, type):
            if "" in inside:
                example = f"{prefix}{name}.{fields(current)[0].name}"
                raise InputError(f"{prefix}{name} is a group of settings; set one inside it, such as {example}=….")
            values[name] = _changed(type(current), current, inside, owner, f"{prefix}{name}.", known)
        elif set(inside) != {""}:
            raise InputError(f"{prefix}{name} has no settings inside, got {wrong!r}; write {prefix}{name}=….")
        else:
            values[name] = _read(inside[""], hints[name], f"{prefix}{name}")
    return replace(base, **values)


def _preset(cls: type[Any], presets: tuple[str, ...], name: str, owner: str) -> Any:
    if name not in presets:
        known = f"it has {', '.join(presets)}" if presets else "it has none"
        raise InputError(f"{owner} has no preset {name!r}; {known}.")
    return getattr(cls, name)()


def _names(instance: Any) -> Iterator[str]:
    return (name for name, *_ in settings(instance))


def _read(text: str, hint: Any, label: str) -> Any:
    """Return the value of the annotated type that a text stands for."""
    value = literal(text)
    for kind in _arms(hint):
        fits, converted = _fit(text, value, kind)
        if fits:
            return converted
    raise InputError(f"{label} must be {_in_words(hint)}, got {text!r}.")


def _fit(text: str, value: Any, kind: Any) -> tuple[bool, Any]:
    """Return whether a value, written as `text`, is of a type, and the value as that type."""
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if kind is float:
        return (True, float(value)) if is_number and abs(value) < math.inf else (False, None)
    if kind is int:
        return is_number and isinstance(value, int), value
    if kind in (bool, NoneType):
        return isinstance(value, kind), value
    if kind is str:
        return True, value if isinstance(value, str) else text
    if get_origin(kind) is Literal:
        # By the text, too: `none` is a word like any other where it is among the choices.
        found = [option for option in get_args(kind) if text == str(option) or value == option]
        return bool(found), found[0] if found else None
    if get_origin(kind) is tuple:
        return _fit_tuple(value, get_args(kind))
    return True, value


def _fit_tuple(value: Any, kinds: tuple[Any, ...]) -> tuple[bool, Any]:
    if not isinstance(value, (tuple, list)):
        return False, None
    if kinds[1:] == (Ellipsis,):
        kinds = (kinds[0],) * len(value)
    if len(kinds) != len(value):
        return False, None
    items = [_fit(str(item), item, kind) for item, kind in zip(value, kinds, strict=True)]
    return all(fits for fits, _ in items), tuple(item for _, item in items)


def _arms(hint: Any) -> tuple[Any, ...]:
    """Return the types of a union, or the one type."""
    return get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)


def _choices(hint: Any) -> tuple[Any, ...]:
    """Return the values that a `Literal` allows, nothing for other types."""
    return tuple(option for kind in _arms(hint) if get_origin(kind) is Literal for option in get_args(kind))


def _in_words(hint: Any) -> str:
    """Return a type as people say it."""
    if get_origin(hint) is Literal:
        return f"one of {', '.join(map(str, get_args(hint)))}"
    if get_origin(hint) is tuple:
        inside = get_args(hint)
        if inside[1:] == (Ellipsis,):
            return f"a tuple, each item {_in_words(inside[0])}"
        return f"({', '.join(_in_words(kind) for kind in inside)})"
    if len(_arms(hint)) > 1:
        return " or ".join(_in_words(kind) for kind in _arms(hint))
    return _KINDS.get(hint, str(getattr(hint, "__name__", hint)))
