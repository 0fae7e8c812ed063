"""`boids problems`: what there is, and what is known of one of them."""

from __future__ import annotations

import inspect
from typing import Any

from rich.console import Group
from rich.table import Table
from rich.text import Text

from boids import plain
from boids.cli.assignments import written
from boids.cli.output import emit, emit_json, facts, table
from boids.errors import InputError, StoreError, did_you_mean
from boids.problems import PROBLEMS, ProblemFactory
from boids.problems.data import DOWNLOADS

_HEADINGS = ["dim", "optimum", "extra", "domain", "cost"]


def problems(*, as_json: bool) -> None:
    """List all problems."""
    if as_json:
        emit_json([_about(name) for name in PROBLEMS])
        return
    for kind in dict.fromkeys(factory.kind for factory in PROBLEMS.values()):
        emit(_list(kind, [name for name, factory in PROBLEMS.items() if factory.kind == kind]), "")
    emit(
        "* is a default; choose with --dim.",
        "Options of one of them: boids problems NAME; give them as --option shift=true.",
        "--option seed=N changes what is random about a problem.",
        f"Files that are not shipped: boids problems fetch {'|'.join(DOWNLOADS)}",
    )


def problem(name: str, *, as_json: bool) -> None:
    """Show what is known of a problem, and its options."""
    if name not in PROBLEMS:
        hint = did_you_mean(name, [*PROBLEMS, "fetch"], f"problems are {', '.join(PROBLEMS)}.")
        raise InputError(f"There is no problem {name!r}; {hint}")
    about, factory = _about(name), PROBLEMS[name]
    if as_json:
        emit_json(about)
        return
    rows = facts()
    rows.add_row("dimension", _dimensions(factory))
    rows.add_row("domain", factory.domain)
    rows.add_row("optimum", _optimum(factory))
    rows.add_row("kind", about["kind"])
    rows.add_row("one evaluation", about["cost"])
    if about["extra"]:
        rows.add_row("needs", f"pip install 'boids-opt[{about['extra']}]'")
    if name in DOWNLOADS:
        rows.add_row("files", f"boids problems fetch {name}")
    if about["missing"]:
        rows.add_row("not available", about["missing"])
    rows.add_row("reference", factory.reference)
    options = table("option", "default")
    for option, default in about["defaults"].items():
        options.add_row(option, written(default))
    options.add_row("seed", "0")
    emit(Text(f"{name}: {factory.summary}\n"), rows, "", options, "")
    emit(f"Run it with boids run {name} --option {next(iter(about['defaults']), 'seed')}=…")


def _about(name: str) -> dict[str, Any]:
    """Return what is known of a problem, JSON-able."""
    factory = PROBLEMS[name]
    parameters = inspect.signature(factory.build).parameters
    defaults = {option: parameters[option].default for option in factory.options}
    return {
        "name": name,
        "dim": factory.default_dim,
        "minimum_dim": factory.minimum_dim,
        "dims": list(factory.dims),
        "domain": factory.domain,
        "optimum": factory.optimum,
        "kind": factory.kind,
        "extra": factory.extra,
        "cost": factory.cost,
        "missing": factory.available(),
        "options": list(factory.options),
        "defaults": {option: _plain(default) for option, default in defaults.items()},
        "remark": factory.summary,
        "reference": factory.reference,
    }


def _list(kind: str, names: list[str]) -> Table:
    """Return problems of one kind as a table whose rows have a line of facts and one of words."""
    listed = table(kind, "")
    listed.expand = True
    listed.columns[1].ratio = 1
    listed.columns[1].header = _grid(_HEADINGS)
    for name in names:
        factory, missing = PROBLEMS[name], PROBLEMS[name].available()
        dim = f"{factory.default_dim}{'' if factory.fixed_dim else '*'}"
        cells = [dim, _optimum(factory), factory.extra or "", factory.domain, factory.cost]
        words = [Text(factory.summary, "dim")]
        if missing is not None:
            words.append(Text(missing, "yellow"))
        listed.add_row(name, Group(_grid(cells), *words))
    return listed


def _grid(cells: list[str]) -> Table:
    """Return cells as a line of columns that are as wide in every row."""
    grid = Table.grid(padding=(0, 2, 0, 0), expand=True)
    grid.add_column(width=5, justify="right")
    grid.add_column(width=8, justify="right")
    grid.add_column(width=8)
    grid.add_column(ratio=3, overflow="fold")
    grid.add_column(ratio=2, overflow="fold")
    grid.add_row(*cells)
    return grid


def _dimensions(factory: ProblemFactory) -> str:
    if factory.fixed_dim:
        return str(factory.default_dim)
    others = f"one of {', '.join(map(str, factory.dims))}" if factory.dims else f"at least {factory.minimum_dim}"
    return f"{factory.default_dim} by default, {others}"


def _optimum(factory: ProblemFactory) -> str:
    return "unknown" if factory.optimum is None else f"{factory.optimum:.6g}"


def _plain(value: Any) -> Any:
    try:
        return plain.jsonable(value)
    except StoreError:  # a default that is no plain data is shown as it is written
        return repr(value)
