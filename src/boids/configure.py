"""A method with some of its settings changed, by their names; those of nested groups have dotted names."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, Literal, TypeAlias, get_args, get_origin, get_type_hints

from boids.errors import InputError, did_you_mean
from boids.settings import REFUSED, fitted, in_words

#: What is written, the annotated type, the setting's name -> the value.
Reader: TypeAlias = Callable[[Any, Any, str], Any]


def configured(method: type[Any], given: Mapping[str, Any], read: Reader | None = None) -> Any:
    """Return a method with some of its settings changed; `preset` names what the others are taken from.

    Parameters
    ----------
    read
        Makes a value of what is given; None takes it as it is, if its type is right.
    """
    owner = f"Method {method.name!r}"
    return _changed(method, None, given, read or fitting, owner, "", tuple(name for name, *_ in settings(method())))


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
            yield f"{prefix}{field.name}", value, source, allowed(hints[field.name])


def _changed(
    cls: type[Any], base: Any, given: Mapping[str, Any], read: Reader, owner: str, prefix: str, known: tuple[str, ...]
) -> Any:
    """Return `base`, or one of the presets of its class, with new values; keys of nested groups have dots."""
    given = dict(given)
    presets: tuple[str, ...] = getattr(cls, "presets", ())
    if "preset" in given and not any(field.name == "preset" for field in fields(cls)):
        base = _preset(cls, presets, given.pop("preset"), owner)
    base = cls() if base is None else base

    groups: dict[str, dict[str, Any]] = {}
    for key, value in given.items():
        name, _, inner = key.partition(".")
        groups.setdefault(name, {})[inner] = value
    hints = get_type_hints(cls)
    values: dict[str, Any] = {}
    for name, inside in groups.items():
        if isinstance(inside.get(""), Mapping):  # a group in one piece, as TOML writes it
            inside = {**inside.pop(""), **inside}
        wrong = next(f"{prefix}{key}" for key in given if key.partition(".")[0] == name)
        if name not in {field.name for field in fields(cls)}:
            otherwise = "`boids methods NAME` lists them." if known else "it has none at all."
            raise InputError(f"{owner} has no setting {wrong!r}; {did_you_mean(wrong, known, otherwise)}")
        current = getattr(base, name)
        if is_dataclass(current) and not isinstance(current, type):
            if "" in inside:
                example = f"{prefix}{name}.{fields(current)[0].name}"
                raise InputError(f"{prefix}{name} is a group of settings; set one inside it, such as {example}=….")
            values[name] = _changed(type(current), current, inside, read, owner, f"{prefix}{name}.", known)
        elif set(inside) != {""}:
            raise InputError(f"{prefix}{name} has no settings inside, got {wrong!r}; write {prefix}{name}=….")
        else:
            values[name] = read(inside[""], hints[name], f"{prefix}{name}")
    return replace(base, **values)


def _preset(cls: type[Any], presets: tuple[str, ...], name: str, owner: str) -> Any:
    if name not in presets:
        known = f"it has {', '.join(presets)}" if presets else "it has none"
        raise InputError(f"{owner} has no preset {name!r}; {known}.")
    return getattr(cls, name)()


def fitting(value: Any, hint: Any, label: str) -> Any:
    """Return the value as the annotated type; the word "none" is None where no word fits, for TOML has no other."""
    for meant in (value, None) if value == "none" else (value,):
        if (found := fitted(meant, hint)) is not REFUSED:
            return found
    raise InputError(f"{label} must be {in_words(hint)}, got {value!r}.")


def allowed(hint: Any) -> tuple[Any, ...]:
    """Return the values that a `Literal` allows, nothing for other types."""
    return get_args(hint) if get_origin(hint) is Literal else ()
