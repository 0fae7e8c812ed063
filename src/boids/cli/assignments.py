"""`key=value` on the command line: the options of a problem, and the settings of a method, checked by their types."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import fields, is_dataclass, replace
from typing import Any, Literal, get_args, get_origin, get_type_hints

from boids.cli.errors import InputError
from boids.errors import did_you_mean
from boids.settings import REFUSED, fitted, in_words

_WORDS = {"true": True, "false": False, "none": None}


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


def written(value: Any) -> str:
    """Return a value as the command line takes it, floats with six digits."""
    if isinstance(value, float):
        return f"{value:.6g}"
    if value is None or isinstance(value, bool):
        return str(value).lower()
    return str(value)


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
    # `none` is a word like any other where it is among the choices; elsewhere a word is what no value fits.
    for value in (text, literal(text)) if text in _choices(hint) else (literal(text), text):
        if (found := fitted(value, hint)) is not REFUSED:
            return found
    raise InputError(f"{label} must be {in_words(hint)}, got {text!r}.")


def _choices(hint: Any) -> tuple[Any, ...]:
    """Return the values that a `Literal` allows, nothing for other types."""
    return get_args(hint) if get_origin(hint) is Literal else ()
