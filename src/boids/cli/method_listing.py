"""`boids methods`: what there is, and the settings of one of them."""

from __future__ import annotations

from typing import Any

from rich.table import Table
from rich.text import Text

from boids import plain
from boids.algorithms import ALGORITHMS
from boids.algorithms.protocol import CONSIDERED
from boids.cli.assignments import method_class, written
from boids.cli.output import emit, emit_json, table
from boids.configure import settings
from boids.opponents import OPPONENTS, how_to_get, installed


def methods(*, as_json: bool) -> None:
    """List all methods, those of other packages apart."""
    if as_json:
        emit_json([_about(cls) for cls in (*ALGORITHMS.values(), *OPPONENTS.values())])
        return
    listed = table("method", "what it does", "considers", "paper")
    for name, cls in sorted(ALGORITHMS.items()):
        listed.add_row(name, cls.summary, "\n".join(cls.considers), cls.reference)
    others = table("in other packages", "what it does", "considers", "here")
    for name, cls in OPPONENTS.items():
        others.add_row(name, cls.summary, "\n".join(cls.considers), "yes" if installed(cls.modules) else "no")
    emit(
        listed,
        "",
        others,
        "",
        "A method that considers",
        *(f"  {word + ',':12} {meaning}" for word, meaning in CONSIDERED.items()),
        "All of them take mixed spaces, failures, constraints, noise and batches.",
        f"Those in other packages, to compare with: {how_to_get()}",
        "Settings of one of them: boids methods NAME",
    )


def method(name: str, *, as_json: bool) -> None:
    """List the settings of a method."""
    cls = method_class(name)
    rows = list(settings(cls()))
    if as_json:
        listed = [
            {
                "name": setting,
                "default": plain.jsonable(default, setting),
                "choices": list(choices),
                "source": source,
            }
            for setting, default, source, choices in rows
        ]
        emit_json({**_about(cls), "settings": listed})
        return
    considered = "; ".join(CONSIDERED[word] for word in cls.considers)
    emit(Text(f"{name}: {cls.summary}\n{cls.reference}\n" + f"It {considered}.\n" * bool(considered)))
    if name in OPPONENTS and not installed(cls.modules):
        emit(Text(f"It is not installed: {how_to_get()}\n"))
    if not rows:
        emit("It has no settings.")
        return
    # Groups apart, for their dotted names are long and would leave the sources no room.
    single = [row for row in rows if "." not in row[0]]
    grouped = [row for row in rows if "." in row[0]]
    tables = [_settings_table(single), *(["", _settings_table(grouped)] if grouped else [])]
    emit(*tables, "", f"Change them with boids run … --method {name} --set {rows[0][0]}={written(rows[0][1])}")
    if presets := _presets(cls):
        emit(f"Presets: {', '.join(f'--set preset={preset}' for preset in presets)}")


def _about(cls: type[Any]) -> dict[str, Any]:
    return {
        "name": cls.name,
        "summary": cls.summary,
        "reference": cls.reference,
        "considers": list(cls.considers),
        "presets": list(_presets(cls)),
        "package": getattr(cls, "package", "boids-opt"),
        "installed": installed(getattr(cls, "modules", ())),
    }


def _presets(cls: type[Any]) -> tuple[str, ...]:
    presets: tuple[str, ...] = getattr(cls, "presets", ())
    return presets


def _settings_table(rows: list[tuple[str, Any, str, tuple[Any, ...]]]) -> Table:
    listed = table("setting", "default", "source")
    for name, default, source, choices in rows:
        others = ", ".join(str(choice) for choice in choices if choice != default)
        lines = [source] * bool(source) + [f"or {others}"] * bool(others)
        listed.add_row(name, written(default), "\n".join(lines))
    return listed
