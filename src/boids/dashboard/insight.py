"""Which parameters mattered, and how the evaluated points lie along the most important of them."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from boids.dashboard.cells import Cells
from boids.dashboard.course import FollowedRun
from boids.importance import FEWEST, parameter_importance
from boids.records import IntArray

#: Evaluations that the model of the importance is fitted to: with a thousand parameters that takes a few seconds.
POINTS = 200
#: Parameters that are named, and evaluations that are drawn as lines.
MOST_NAMES, MOST_LINES = 2000, 300

CAVEAT = (
    "It is the slope of a Gaussian process with a length scale per parameter, fitted to this run, at the points that "
    "were evaluated. It does not tell what would matter elsewhere in the box, and not which of several parameters that "
    "were only ever moved together it was: those share the credit."
)


@final
@dataclass(frozen=True)
class _Known:
    birth: int
    successes: int
    document: dict[str, Any]


@final
class Insight:
    """Computes importances, one at a time, and remembers them until a run has grown by a quarter."""

    def __init__(self) -> None:
        self._turn = threading.Lock()
        self._known: dict[str, _Known] = {}

    def importance(self, key: str, run: FollowedRun) -> dict[str, Any]:
        """Return the most important parameters, how much they mattered, and how far that can be believed."""
        with self._turn:
            good = _successful(run.course.rows)
            known = self._known.get(key)
            if known is not None and known.birth == run.course.birth and len(good) < 1.25 * known.successes:
                return known.document
            document = _importance(run, good)
            if len(good) >= FEWEST:
                self._known[key] = _Known(run.course.birth, len(good), document)
            return document


def coordinates(run: FollowedRun, names: Sequence[str]) -> dict[str, Any]:
    """Return where evaluations lie on the axes of some parameters: the best of them, and a spread of the others."""
    rows = _successful(run.course.rows)
    chosen = sorted(int(rows[place][0]) for place in _spread([float(row[2]) for row in rows], MOST_LINES))
    if not chosen:
        return {"axes": [], "lines": []}
    table = run.points(chosen)
    where = {axis.name: place for place, axis in enumerate(table.axes)}
    places = [where[name] for name in names if name in where]
    return {
        "axes": [{"name": table.axes[place].name, "ticks": table.axes[place].ticks} for place in places],
        "lines": [
            {"number": number, "value": run.course.rows[number][2], "feasible": run.course.rows[number][3], "at": at}
            for number, at in zip(chosen, np.round(table.places[:, places], 4).tolist(), strict=True)
        ],
    }


def _importance(run: FollowedRun, good: Sequence[Cells]) -> dict[str, Any]:
    values = [float(row[2]) for row in good]
    chosen = _spread(values, POINTS)
    numbers = [int(good[place][0]) for place in chosen]
    if not numbers:
        return _document([], 0, 0, None, False, f"0 of the {FEWEST} successful evaluations that it takes")
    table = run.points(numbers)
    found = parameter_importance(table.units, [values[place] for place in chosen], table.labels, table.owner)
    held_out = float(found.held_out)
    return _document(
        found.top(MOST_NAMES),
        len(table.axes),
        found.n_used,
        round(held_out, 3) if np.isfinite(held_out) else None,
        found.by_rank,
        found.reason,
    )


def _document(
    top: Sequence[tuple[str, float]], parameters: int, used: int, held_out: float | None, by_rank: bool, reason: str
) -> dict[str, Any]:
    return {
        "names": [name for name, _ in top],
        "scores": [round(score, 5) for _, score in top],
        "parameters": parameters,
        "used": used,
        "held_out": held_out,
        "by_rank": by_rank,
        "reason": reason,
        "caveat": CAVEAT,
    }


def _successful(rows: Sequence[Cells]) -> list[Cells]:
    return [row for row in rows if row[1] == "done" and row[2] is not None]


def _spread(values: Sequence[float], count: int) -> IntArray:
    """Return the places, in order, of all values or, of too many, of the best and an even spread of the others."""
    if len(values) <= count:
        return np.arange(len(values))
    order = np.argsort(np.asarray(values), kind="stable")
    best, others = order[: count // 2], order[count // 2 :]
    return np.sort(np.concatenate([best, others[np.linspace(0, len(others) - 1, count - len(best)).astype(np.int64)]]))
