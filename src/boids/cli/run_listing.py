"""`boids runs`: what is in a store, a line for each run."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rich.table import Table

from boids.cli import shelf
from boids.cli.output import emit, emit_json, emit_wide, one_line, table
from boids.store import RUNNING

if TYPE_CHECKING:
    from boids.store import RunSummary

_NAME = 20
_HEADINGS = ("id", "method", "problem", "dim", "evaluations", "failed", "best", "status", "age")


def list_runs(store: str, *, as_json: bool) -> None:
    """Write the runs in a store, newest last."""
    found = shelf.runs(store)
    if as_json:
        emit_json([about(each) for each in found])
        return
    if not found:
        emit(f"There are no runs in {store} yet; `boids run` keeps them there.")
        return
    listed = _listed(found, [each.id for each in found])
    room = shutil.get_terminal_size().columns
    if sys.stdout.isatty() and listed.__rich_measure__(*_measuring()).maximum > room:
        listed = _listed(found, _short([each.id for each in found]))
    emit_wide(listed)
    emit("", "More of one of them, by the beginning or end of its id: boids show ID")


def about(run: RunSummary) -> dict[str, Any]:
    """Return what there is to say about a run without reading all of it."""
    return {
        "id": run.id,
        "method": run.method,
        "problem": run.problem,
        "dim": run.dim,
        "seed": run.seed,
        "budget": run.budget,
        "nfev": run.nfev,
        "failed": run.failed,
        "fun": run.fun,
        "feasible": run.feasible,
        "status": status_of(run),
        "active": run.active,
        "added": run.added,
        "repeated": run.repeated,
        "created": run.created,
        "updated": run.updated,
    }


def status_of(run: RunSummary) -> str:
    """Return how a run stands, in a word: "running" now, "stopped" if it was killed, or why it ended."""
    if run.active:
        return RUNNING
    return "stopped" if run.status == RUNNING else run.status


def ago(seconds: float) -> str:
    """Return how long ago something was, in a whole number."""
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds / size:.0f} {unit}"
    return f"{max(0.0, seconds):.0f} s"


def _listed(found: Sequence[RunSummary], names: Sequence[str]) -> Table:
    listed, now = table(*_HEADINGS), time.time()
    for column in listed.columns:
        column.no_wrap = True
        if column.header in ("dim", "evaluations", "failed", "best", "age"):
            column.justify = "right"
    for name, run in zip(names, found, strict=True):
        problem = one_line(run.problem) or "-"
        best = "none" if run.fun is None else f"{run.fun:.6g}" + ("" if run.feasible else " (infeasible)")
        listed.add_row(
            one_line(name),
            one_line(run.method),
            problem if len(problem) <= _NAME else f"{problem[: _NAME - 1]}…",
            str(run.dim),
            f"{run.nfev}/{run.budget}",
            str(run.failed),
            best,
            one_line(status_of(run)),
            ago(now - run.created),
        )
    return listed


def _short(ids: Sequence[str]) -> list[str]:
    """Return the last word of each id where that is enough to find it."""
    ends = [each.rpartition("-")[2] for each in ids]
    return [
        end if len(end) >= 6 and sum(other.endswith(end) or other.startswith(end) for other in ids) == 1 else each
        for end, each in zip(ends, ids, strict=True)
    ]


def _measuring() -> tuple[Any, Any]:
    from rich.console import Console

    console = Console(width=10_000)
    return console, console.options
