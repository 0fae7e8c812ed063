"""What an experiment consists of: methods × problems × repetitions, read from a TOML file and checked.

```toml
title = "Two methods on Ackley"
budget = 300
seeds = 10                     # repetitions 0 … 9, or a list
time_limit = "2h"              # per run; a run that reaches it is kept and marked
[[method]]
name = "hesbo"                 # or "module:Class" of your own
label = "HeSBO (d=10)"
options = { target_dim = 10 }
budget = 500                   # goes before the problem's and the experiment's, as does time_limit
seeds = 5                      # fewer or other repetitions than the experiment's
problems = ["ackley-100"]      # labels; all of them if left out
[[problem]]
name = "ackley"                # or "module:function" of your own, called with dim, seed and the options
dim = 100
options = { shift = true }
```
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from pathlib import Path
from typing import Any, TypeVar, final

from boids import durations
from boids.errors import InputError, did_you_mean, shown
from boids.values import is_integer

E = TypeVar("E", "MethodEntry", "ProblemEntry")

#: More repetitions than this are a mistake.
MOST_SEEDS = 100_000


@final
@dataclass(frozen=True)
class MethodEntry:
    """A method with its settings, and where it is to be run."""

    name: str
    label: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    budget: int | None = None
    time_limit: float | None = None
    seeds: tuple[int, ...] | None = None
    problems: tuple[str, ...] | None = None


@final
@dataclass(frozen=True)
class ProblemEntry:
    """A problem with its options."""

    name: str
    label: str = ""
    dim: int | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    budget: int | None = None
    time_limit: float | None = None


@final
@dataclass(frozen=True)
class Spec:
    """An experiment."""

    title: str
    budget: int
    seeds: tuple[int, ...]
    time_limit: float | None
    methods: tuple[MethodEntry, ...]
    problems: tuple[ProblemEntry, ...]

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Spec:
        """Read and check a TOML file."""
        name = os.fspath(path)
        try:
            content = tomllib.loads(Path(path).read_text(encoding="utf-8"))
        except OSError as error:
            raise InputError(f"The experiment {name!r} cannot be read: {error.strerror}.") from error
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise InputError(f"The experiment {name!r} is not TOML: {error}.") from error
        try:
            return cls.of(content, Path(path).stem)
        except InputError as error:
            raise InputError(f"The experiment {name!r} cannot be used: {error}") from error

    @classmethod
    def of(cls, content: Mapping[str, Any], title: str = "Experiment") -> Spec:
        """Check the content of such a file."""
        _known(content, ("title", "budget", "seeds", "time_limit", "method", "problem"), "An experiment")
        problems = _entries(content, "problem", ProblemEntry)
        methods = _entries(content, "method", MethodEntry)
        labels = [entry.label for entry in problems]
        for method in methods:
            for label in method.problems or ():
                if label not in labels:
                    hint = did_you_mean(label, labels, f"they are called {', '.join(labels)}.")
                    raise InputError(f"problems of the method {method.label!r} has no {label!r} to refer to; {hint}")
        return cls(
            title=_text(content.get("title", title), "title"),
            budget=_count(content.get("budget", 300), "budget"),
            seeds=_seeds(content.get("seeds", 10), "seeds"),
            time_limit=_limit(content.get("time_limit"), "time_limit"),
            methods=methods,
            problems=problems,
        )


def slug(label: str) -> str:
    """Return a label as the name of a folder.

    Examples
    --------
    >>> slug("HeSBO (d=10)")
    'hesbo-d-10'
    """
    return re.sub(r"[^a-z0-9]+", "-", label.lower()).strip("-")


def _entries(content: Mapping[str, Any], key: str, kind: type[E]) -> tuple[E, ...]:
    """Return the tables [[method]] or [[problem]]."""
    tables = content.get(key)
    if not isinstance(tables, list) or not tables or not all(isinstance(table, dict) for table in tables):
        raise InputError(f"it needs at least one table [[{key}]].")
    entries = tuple(_entry(table, key, kind) for table in tables)
    places: dict[str, str] = {}
    for entry in entries:
        place = slug(entry.label)
        if not place:
            raise InputError(f"the label {entry.label!r} needs a letter or a digit a–z, 0–9, to name a folder by.")
        if place in places:
            raise InputError(
                f"two {key}s are called {places[place]!r} and {entry.label!r}, which is too much alike for the names "
                "of their folders; give one of them another label."
            )
        places[place] = entry.label
    return entries


def _entry(table: Mapping[str, Any], key: str, kind: type[E]) -> E:
    where = f"[[{key}]]"
    _known(table, tuple(f.name for f in fields(kind)), where)
    if missing := [f.name for f in fields(kind) if f.default is f.default_factory is MISSING and f.name not in table]:
        raise InputError(f"{where} needs a {missing[0]}.")
    given: dict[str, Any] = {"name": _text(table["name"], f"name in {where}")}
    where = f"[[{key}]] {given['name']!r}"
    if "dim" in table:
        given["dim"] = _count(table["dim"], f"dim in {where}")
    given["label"] = _text(table.get("label", _default_label(given)), f"label in {where}")
    given["options"] = _table(table.get("options", {}), f"options in {where}")
    given["time_limit"] = _limit(table.get("time_limit"), f"time_limit in {where}")
    if "budget" in table:
        given["budget"] = _count(table["budget"], f"budget in {where}")
    if "seeds" in table:
        given["seeds"] = _seeds(table["seeds"], f"seeds in {where}")
    if "problems" in table:
        given["problems"] = tuple(_text(each, f"problems in {where}") for each in _list(table["problems"], where))
    return kind(**given)


def _default_label(given: Mapping[str, Any]) -> str:
    return f"{given['name']}-{given['dim']}" if "dim" in given else given["name"]


def _known(table: Mapping[str, Any], keys: Sequence[str], where: str) -> None:
    for key in table:
        if key not in keys:
            hint = did_you_mean(key, keys, f"it has {', '.join(keys)}.")
            raise InputError(f"{where} has no {key!r}; {hint}")


def _text(value: Any, what: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise InputError(f"{what} must be a text, got {shown(value)}.")
    return value.strip()


def _count(value: Any, what: str) -> int:
    if not is_integer(value) or value < 1:
        raise InputError(f"{what} must be a whole number of at least 1, got {shown(value)}.")
    return int(value)


def _seeds(value: Any, what: str) -> tuple[int, ...]:
    if is_integer(value) and 1 <= value <= MOST_SEEDS:
        return tuple(range(value))
    if isinstance(value, list) and value and all(is_integer(each) and 0 <= each < 1 << 32 for each in value):
        if len(set(value)) == len(value):
            return tuple(value)
        raise InputError(f"{what} must be different from each other, got {shown(value)}.")
    raise InputError(f"{what} must be a number of repetitions, or a list of numbers from 0, got {shown(value)}.")


def _limit(value: Any, what: str) -> float | None:
    if value is None:
        return None
    if isinstance(value, str):
        try:
            return durations.seconds(value)
        except ValueError as error:
            raise InputError(f"{what}: {error}") from error
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < float("inf"):
        raise InputError(f"{what} must be seconds, or a text such as '2h', got {shown(value)}.")
    return float(value)


def _table(value: Any, what: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise InputError(f"{what} must be a table such as {{ target_dim = 10 }}, got {shown(value)}.")
    return value


def _list(value: Any, where: str) -> list[Any]:
    if not isinstance(value, list) or not value:
        raise InputError(f"problems in {where} must be a list of problems' labels, got {shown(value)}.")
    return value
