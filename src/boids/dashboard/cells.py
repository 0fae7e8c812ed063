"""A trial as it travels to the page: a few numbers and words, never its point, however many parameters there are."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from boids.journal import TrialRow

#: What travels of a trial, in this order; None where there is nothing to say.
FIELDS = (
    "number", "state", "value", "feasible", "worst", "started", "ended", "attempts", "phase", "line", "reward", "dim",
    "K", "restarts", "error",
)  # fmt: skip
Cells: TypeAlias = tuple[Any, ...]

#: Of an error message; all of it is shown with the trial.
_LONGEST = 160


def of_row(row: TrialRow) -> Cells:
    """Return the cells of a trial in a store."""
    worst, feasible = _constraint(row.constraints)
    return (
        row.number, row.state, number(row.value), feasible if row.state == "done" else None, worst, number(row.started),
        number(row.ended), row.attempts, *_facts(row.info), _short(row.error),
    )  # fmt: skip


def of_evaluation(row: Mapping[str, Any], ended: float) -> Cells:
    """Return the cells of an evaluation in the file of an experiment's run, whose clock said `ended` after it."""
    worst, feasible = _constraint(row.get("constraints"))
    seconds = float(row["times"].get("evaluate", 0.0))
    failed = row["value"] is None
    info = {**row.get("info", {}), "phase": row.get("phase")}
    return (
        int(row["n"]) - 1, "failed" if failed else "done", number(row["value"]), None if failed else feasible, worst,
        ended - seconds, ended, 1, *_facts(info), _short(row.get("error")),
    )  # fmt: skip


def columns(rows: Sequence[Cells]) -> dict[str, list[Any]]:
    """Return rows as columns, in which many of them take less room."""
    if not rows:
        return {name: [] for name in FIELDS}
    return {name: list(column) for name, column in zip(FIELDS, zip(*rows, strict=True), strict=True)}


def number(value: Any) -> float | int | None:
    """Return a number that JSON has; None for everything else."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return value if math.isfinite(value) else None


def _facts(info: Mapping[str, Any]) -> Cells:
    """Return phase, line, reward, dimension, K and restarts."""
    phase = info.get("phase")
    numbers = (number(info.get(name)) for name in ("line", "reward", "dim", "K", "restarts"))
    return (phase if isinstance(phase, str) else None, *numbers)


def _constraint(values: Sequence[float] | None) -> tuple[float | int | None, bool]:
    """Return the largest constraint, and whether all of them hold; without any they do."""
    if not values:
        return None, True
    worst = max(values)
    return number(worst), bool(worst <= 0.0)


def _short(error: str | None) -> str | None:
    if error is None:
        return None
    line = " ".join(error.split())
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"
