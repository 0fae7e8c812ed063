"""Where the panels stand: what runs along the evaluations in a column, what sums up beside and below it.

==================  ==================
convergence         importance
subspace            importance
factor K            its note
lines               counts of the lines
time                time
==================  ==================
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from boids.plots import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Inches.
_COLUMN, _BESIDE = 6.4, 4.0
_CONVERGENCE, _SUBSPACE, _FACTOR, _TIME, _TITLE = 2.9, 1.5, 1.0, 0.8, 0.4
_PER_BAR, _AROUND_BARS, _NOTE, _WIDE_NOTE = 0.2, 0.7, 1.05, 0.6
_PER_LINE, _AROUND_LINES, _MOST_LINES = 0.085, 0.8, 3.0

#: Panels whose horizontal axis is the evaluation, from the top.
_ALONG_THE_RUN = ("convergence", "subspace", "factor", "lines")


def place(figure: Figure, parts: Sequence[str], *, bars: int, lines: int, has_factor: bool) -> dict[str, Axes]:
    """Size the figure for its parts and return the axes by name: the parts, and "factor" and "counts" if needed."""
    heights = {
        "convergence": _CONVERGENCE,
        "subspace": _SUBSPACE,
        "factor": _FACTOR,
        "lines": min(_AROUND_LINES + _PER_LINE * lines, _MOST_LINES),
        "importance": _AROUND_BARS + _PER_BAR * max(bars, 3),
        "time": _TIME,
    }
    present = {*parts, *({"factor"} if "subspace" in parts and has_factor else ())}
    column = [name for name in _ALONG_THE_RUN if name in present]
    partners = [name for name in column if name != "lines"]  # what the panel of importance can stand beside
    is_beside = "importance" in present and bool(partners)
    has_two_columns = is_beside or "lines" in present
    note = _NOTE if is_beside else _WIDE_NOTE
    heights["importance"] += note
    if is_beside:
        missing = heights["importance"] - sum(heights[name] for name in partners)
        heights[partners[0]] += max(0.0, missing)
    below = ["time"] if is_beside else ["importance", "time"]
    rows = [*column, *(name for name in below if name in present)]
    figure.set_size_inches(_COLUMN + _BESIDE * has_two_columns, _TITLE + sum(heights[name] for name in rows))

    grid = figure.add_gridspec(
        len(rows),
        2 if has_two_columns else 1,
        height_ratios=[heights[name] for name in rows],
        width_ratios=[_COLUMN, _BESIDE] if has_two_columns else None,
    )
    axes: dict[str, Axes] = {}
    for row, name in enumerate(column):
        axes[name] = figure.add_subplot(grid[row, 0], sharex=axes.get(column[0]), label=name)
    if "importance" in present:
        cell = grid[: len(partners), 1] if is_beside else grid[rows.index("importance"), :]
        height = sum(heights[name] for name in (partners if is_beside else ["importance"]))
        pair = cell.subgridspec(2, 1, height_ratios=[height - note, note])
        # In a grid of its own: room for long names must not be taken from the note.
        axes["importance"] = figure.add_subplot(pair[0].subgridspec(1, 1)[0], label="importance")
        axes["note"] = figure.add_subplot(pair[1], label="note")
    if "time" in present:
        axes["time"] = figure.add_subplot(grid[rows.index("time"), :], label="time")
    if "lines" in present:
        axes["counts"] = figure.add_subplot(grid[rows.index("lines"), 1], sharey=axes["lines"], label="counts")
    return axes


def is_wide(figure: Figure) -> bool:
    """Whether the figure has two columns."""
    return bool(figure.get_figwidth() > _COLUMN)


def finish(figure: Figure, axes: dict[str, Axes], n: int, title: str) -> None:
    """Label the axis of the evaluations once, at the bottom of its column, and write the title."""
    from matplotlib.ticker import FixedLocator, MaxNLocator

    column = [axes[name] for name in _ALONG_THE_RUN if name in axes]
    for panel in column if n else []:
        panel.set_xlim(0.5, max(n, 1) + 0.5 + 0.01 * n)
        panel.tick_params(labelbottom=panel is column[-1])
    if column and n:
        column[-1].set_xlabel("evaluation", fontsize=style.SMALL)
        whole = MaxNLocator(integer=True, nbins=8, steps=[1, 2, 5, 10])
        column[-1].xaxis.set_major_locator(whole if n >= 10 else FixedLocator(range(1, n + 1)))
        figure.align_ylabels(column)
    if title:
        figure.suptitle(title, fontsize=style.SMALL + 3, x=0.01, ha="left")
