"""What there is: `boids methods` and `boids problems`."""

from __future__ import annotations

from typing import Any

from rich import box
from rich.table import Table
from rich.text import Text

from boids import plain
from boids.algorithms import ALGORITHMS
from boids.cli.assignments import settings
from boids.cli.ending import emit, emit_json
from boids.cli.errors import InputError
from boids.errors import did_you_mean
from boids.problems import PROBLEMS


def methods(*, as_json: bool) -> None:
    """List all methods."""
    if as_json:
        emit_json([_about(cls) for cls in ALGORITHMS.values()])
        return
    table = _table("method", "what it does", "paper")
    for name, cls in ALGORITHMS.items():
        table.add_row(name, cls.summary, cls.reference)
    emit(table, "", "Settings of one of them: boids methods NAME")


def method(name: str, *, as_json: bool) -> None:
    """List the settings of a method."""
    if name not in ALGORITHMS:
        hint = did_you_mean(name, ALGORITHMS, f"methods are {', '.join(sorted(ALGORITHMS))}.")
        raise InputError(f"There is no method {name!r}; {hint}")
    cls = ALGORITHMS[name]
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
    emit(Text(f"{name}: {cls.summary}\n{cls.reference}\n"))
    if not rows:
        emit("It has no settings.")
        return
    # Groups apart, for their dotted names are long and would leave the sources no room.
    single = [row for row in rows if "." not in row[0]]
    grouped = [row for row in rows if "." in row[0]]
    tables = [_settings_table(single), *(["", _settings_table(grouped)] if grouped else [])]
    emit(*tables, "", f"Change them with boids run … --method {name} --set {rows[0][0]}={_written(rows[0][1])}")
    if presets := _presets(cls):
        emit(f"Presets: {', '.join(f'--set preset={preset}' for preset in presets)}")


def problems(*, as_json: bool) -> None:
    """List all problems."""
    if as_json:
        emit_json(
            [
                {
                    "name": name,
                    "dim": problem.default_dim,
                    "minimum_dim": problem.minimum_dim,
                    "domain": problem.domain,
                    "optimum": problem.optimum,
                    "options": list(problem.options),
                    "remark": problem.summary,
                    "reference": problem.reference,
                }
                for name, problem in PROBLEMS.items()
            ]
        )
        return
    table = _table("problem", f"{'dim':>4}  {'domain':<34} optimum")
    for name, problem in PROBLEMS.items():
        optimum = "unknown" if problem.optimum is None else f"{problem.optimum:.6g}"
        lines = [f"{problem.default_dim:>4}  {problem.domain:<34} {optimum}", problem.summary]
        table.add_row(name, "\n".join([*lines, f"options: {', '.join(problem.options)}"]))
    emit(table, Text("\nGive one as --option shift=true; --option seed=N changes what is random about a problem."))


def _about(cls: type[Any]) -> dict[str, Any]:
    return {"name": cls.name, "summary": cls.summary, "reference": cls.reference, "presets": list(_presets(cls))}


def _presets(cls: type[Any]) -> tuple[str, ...]:
    presets: tuple[str, ...] = getattr(cls, "presets", ())
    return presets


def _written(value: Any) -> str:
    """Return a value as `--set` takes it."""
    if isinstance(value, float):
        return f"{value:.6g}"
    if value is None or isinstance(value, bool):
        return str(value).lower()
    return str(value)


def _settings_table(rows: list[tuple[str, Any, str, tuple[Any, ...]]]) -> Table:
    table = _table("setting", "default", "source")
    for name, default, source, choices in rows:
        others = ", ".join(str(choice) for choice in choices if choice != default)
        lines = [source] * bool(source) + [f"or {others}"] * bool(others)
        table.add_row(name, _written(default), "\n".join(lines))
    return table


def _table(*headings: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1, 0, 0), header_style="cyan")
    for number, heading in enumerate(headings):
        table.add_column(heading, no_wrap=number == 0, overflow="fold", style="bold" if number == 0 else "")
    return table
