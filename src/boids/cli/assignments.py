"""`key=value` on the command line: the options of a problem, and the settings of a method, checked by their types."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterable
from typing import Any

from boids import configure
from boids.algorithms import ALGORITHMS, METHODS
from boids.configure import allowed
from boids.errors import InputError, did_you_mean
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
    """Return a method with some of its settings changed, as `boids.configure` does it."""
    return configure.configured(method, texts, _read)


def _read(text: str, hint: Any, label: str) -> Any:
    """Return the value of the annotated type that a text stands for."""
    # `none` is a word like any other where it is among the choices; elsewhere a word is what no value fits.
    for value in (text, literal(text)) if text in allowed(hint) else (literal(text), text):
        if (found := fitted(value, hint)) is not REFUSED:
            return found
    raise InputError(f"{label} must be {in_words(hint)}, got {text!r}.")


def method_class(name: str) -> Any:
    """Return the class of a method."""
    if name not in METHODS:
        hint = did_you_mean(name, METHODS, "see `boids methods`.")
        raise InputError(f"There is no method {name!r}; {hint} Methods: {', '.join(sorted(ALGORITHMS))}.")
    return METHODS[name]
