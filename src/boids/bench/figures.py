"""The figures of a report for papers and slides: PDF, SVG or PNG (extra `plot`, matplotlib).

Figures are made without pyplot, so that no backend is chosen and nothing global is touched. A method has the same
colour, line and mark in all of them.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from boids.bench import statistics
from boids.bench.comparison import Comparison, compare, needed
from boids.bench.curves import Band, band
from boids.bench.findings import LARGEST_RATIO, processor_seconds
from boids.bench.looks import Look, looks
from boids.bench.table import ResultsError, Table
from boids.durations import short_time
from boids.errors import MissingExtra, StoreError
from boids.plots import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Statistic: TypeAlias = Literal["mean", "median"]
FORMATS = ("pdf", "svg", "png")
_DPI = 200
#: Points of a curve: more would not be seen, and make a vector file large.
_POINTS = 160
#: The largest regret must be so many times the smallest for a logarithmic axis.
_DECADES = 30.0
#: The share of evaluations that may lie above a linear axis, how far a band may reach below the lines, as a share of
#: their range, and the widest figure's panels in a row.
_STEEP, _BAND, _COLUMNS = 0.08, 0.3, 3
#: A line is far above the others if it ends so many times as far from the lowest value as they do. It is cut off if at
#: least so many are left.
_FAR, _FEWEST = 2.5, 3


def save_figures(
    table: Table, folder: str | os.PathLike[str], formats: Sequence[str] = ("pdf",), *, at: int | None = None
) -> list[Path]:
    """Draw all figures into a folder, which is made if need be.

    Returns
    -------
    list of Path
        ``curves-mean``, ``curves-median``, ``ranks``, ``profile`` and ``times``, in each format; those without
        content are left out.
    """
    for form in formats:
        if form not in FORMATS:
            raise ResultsError(f"There is no format {form!r} for figures; formats are {', '.join(FORMATS)}.")
    comparison = compare(table, at)
    drawn = {
        "curves-mean": curves(table, "mean"),
        "curves-median": curves(table, "median"),
        "ranks": ranks(comparison),
        "profile": profile(table, comparison),
        "times": times(table),
    }
    written = []
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
        for name, figure in drawn.items():
            if figure is None:
                continue
            for form in formats:
                written.append(Path(folder) / f"{name}.{form}")
                save(figure, written[-1])
    except OSError as error:
        raise StoreError(f"The figures cannot be written to {os.fspath(folder)!r}: {error.strerror}.") from error
    return written


def save(figure: Figure, path: Path) -> None:
    """Save a figure in the format that the file's name ends in; the same results give the same file."""
    from matplotlib import rc_context

    form = path.suffix[1:]
    undated: dict[str, Any] = {"pdf": {"CreationDate": None}, "svg": {"Date": None}}
    with rc_context({"svg.hashsalt": path.stem}):  # names in an SVG are random otherwise
        figure.savefig(path, dpi=_DPI, metadata=undated.get(form, {}))


def curves(table: Table, statistic: Statistic = "mean") -> Figure | None:
    """Draw the best value so far on every problem: mean ± standard error, or median and quartiles."""
    problems = [problem for problem in table.problems if any(run.problem == problem for run in table.runs)]
    if not problems:
        return None
    columns = min(_COLUMNS, len(problems))
    rows = -(-len(problems) // columns)
    figure = _figure(4.0 * columns, 2.9 * rows + 0.24 * -(-len(table.methods) // (3 * columns)) + 0.3)
    panels = figure.subplots(rows, columns, squeeze=False).ravel()
    drawn: dict[str, Any] = {}
    for place, (axes, problem) in enumerate(zip(panels, problems, strict=False)):
        drawn |= _draw_problem(axes, table, problem, statistic)
        if place + columns >= len(problems):  # nothing below it
            axes.set_xlabel("evaluations", fontsize=style.SMALL)
    for axes in panels[len(problems) :]:
        axes.set_axis_off()
    _legend(figure, {method: drawn[method] for method in table.methods if method in drawn}, 3 * columns)
    return figure


def ranks(comparison: Comparison) -> Figure | None:
    """Draw the critical-difference diagram: average ranks, and bars that join what is not significantly apart."""
    methods, found = comparison.ranking()
    if not found.blocks or len(methods) < 2:
        return None
    by_method = looks(comparison.methods)
    order = np.argsort(found.average, kind="stable")
    half, groups, k = (len(order) + 1) // 2, found.groups(), len(methods)
    figure = _figure(7.2, 0.85 + 0.13 * len(groups) + 0.24 * half)
    axes = figure.add_subplot()
    axes.set_axis_off()
    deepest = 0.6 + 0.55 * len(groups) + half
    margin = 0.42 * (k - 1)
    axes.set_xlim(1 - margin, k + margin)
    axes.set_ylim(deepest + 0.2, -2.6)
    line: dict[str, Any] = {"color": "black", "linewidth": 1.0, "solid_capstyle": "butt"}
    axes.plot([1, k], [0, 0], **line)
    for tick in range(1, k + 1):
        axes.plot([tick, tick], [-0.22, 0], **line)
        axes.text(tick, -0.35, str(tick), ha="center", va="bottom", fontsize=style.TINY)
    reach = min(found.difference, k - 1.0)
    axes.plot([1, 1 + reach], [-1.9, -1.9], **line)
    for end in (1, 1 + reach):
        axes.plot([end, end], [-2.1, -1.7], **line)
    axes.text(1 + reach + 0.02 * k, -1.9, f"CD = {found.difference:.2f}", va="center", fontsize=style.TINY)
    for number, group in enumerate(groups):
        low, high = found.average[list(group)].min(), found.average[list(group)].max()
        height = 0.5 + 0.55 * number
        axes.plot([low - 0.02 * k / 4, high + 0.02 * k / 4], [height] * 2, color="black", linewidth=3.2)
    for place, number in enumerate(order):
        is_left = place < half
        depth = 0.6 + 0.55 * len(groups) + (place if is_left else k - 1 - place) + 0.4
        rank, method = found.average[number], methods[number]
        edge = 1 - 0.03 * k if is_left else k + 0.03 * k
        look = by_method[method]
        axes.plot([rank, rank, edge], [0, depth, depth], color=look.light, linewidth=1.3, linestyle=_line(look))
        axes.plot([rank], [0], look.mark, color=look.light, markersize=4.5)
        label = f"{_short(method)}  {rank:.2f}" if is_left else f"{rank:.2f}  {_short(method)}"
        shift = -0.01 * k if is_left else 0.01 * k
        axes.text(edge + shift, depth, label, ha="right" if is_left else "left", va="center", fontsize=style.TINY)
    if not found.are_different:
        said = "Friedman's test does not tell the methods apart."
        axes.text(k + margin, -1.9, said, ha="right", va="center", fontsize=style.TINY, color=style.GREY)
    return figure


def profile(table: Table, comparison: Comparison, tolerance: float = 0.01) -> Figure | None:
    """Draw the share of problems × repetitions solved to a tolerance: data profile and performance profile.

    On the left against evaluations (Moré & Wild), on the right against their ratio to those of the fastest method
    (Dolan & Moré).
    """
    if not comparison.blocks:
        return None
    solved = needed(table, comparison, tolerance)
    at = np.arange(1, max(2, *comparison.at.values()) + 1)
    ratios = np.geomspace(1.0, LARGEST_RATIO, 200)
    figure = _figure(8.6, 3.4)
    drawn: dict[str, Any] = {}
    first = _boids(table)
    left, right = figure.subplots(1, 2, sharey=True)
    for axes, x, shares in (
        (left, at, statistics.data_profile(solved, at)),
        (right, ratios, statistics.performance_profile(solved, ratios)),
    ):
        for place, (method, look) in enumerate(looks(comparison.methods).items()):
            if not np.isnan(shares[place]).any():
                is_first = method == first
                drawn[method] = _line_with_marks(axes, x, shares[place], look, place, is_first=is_first)
        axes.set_xlim(x[0], x[-1])
        _grid(axes)
    style.plain(left, f"Solved to {100.0 * tolerance:g} %")
    style.plain(right, "Relative to the fastest")
    left.set_ylim(-0.02, 1.02)
    left.yaxis.set_major_formatter(lambda share, _: f"{100.0 * share:.0f} %")
    left.set_xlabel("evaluations", fontsize=style.SMALL)
    left.set_ylabel("problems × repetitions", fontsize=style.SMALL)
    right.set_xscale("log")
    right.set_xticks([1, 2, 5, 10, 20], ["1", "2", "5", "10", "20"])
    right.minorticks_off()
    right.set_xlabel("× evaluations of the fastest", fontsize=style.SMALL)
    _legend(figure, drawn, 0)
    return figure


def times(table: Table) -> Figure | None:
    """Draw the seconds per evaluation that each method takes for itself, averaged over problems, the longest first.

    A mark shows the processor's time for method and evaluation, where it was measured.
    """
    by_method = looks(table.methods)
    means: dict[str, float] = {}
    processor: dict[str, float] = {}
    for method in table.methods:
        runs = [run for run in table.runs if run.method == method and run.evaluations]
        problems = dict.fromkeys(run.problem for run in runs)
        by_problem = [[run for run in runs if run.problem == problem] for problem in problems]
        seconds = [np.concatenate([run.seconds for run in here]).mean() for here in by_problem]
        if seconds and np.mean(seconds) > 0.0:
            means[method] = float(np.mean(seconds))
            processor[method] = float(np.mean([processor_seconds(here) for here in by_problem]))
    if not means:
        return None
    ordered = sorted(means, key=lambda method: -means[method])
    figure = _figure(6.4, 0.7 + 0.24 * len(ordered))
    axes = figure.add_subplot()
    style.plain(axes, "Time per iteration")
    rows = np.arange(len(ordered))
    axes.barh(rows, [means[method] for method in ordered], height=0.7, color=[by_method[m].light for m in ordered])
    axes.set_yticks(rows, [_short(method) for method in ordered])
    axes.set_ylim(len(ordered) - 0.4, -0.6)
    axes.set_xscale("log")
    measured = np.array([processor[method] for method in ordered])
    every = [*means.values(), *measured[measured > 0.0]]
    least, most = min(every), max(every)
    axes.set_xlim(least / 2.0, most * (most / least) ** (0.45 if (measured > 0.0).any() else 0.12) * 1.6)
    for row, method in enumerate(ordered):
        own, both = means[method], processor[method]
        said = short_time(own) + (f"   processor {short_time(both)}" if both > 0.0 else "")
        axes.annotate(
            said, (max(own, np.nan_to_num(both)), row), (5, 0), textcoords="offset points", va="center",
            fontsize=style.TINY, color=style.GREY,
        )  # fmt: skip
    if (measured > 0.0).any():
        axes.plot(measured, rows, "|", color="black", markersize=11, markeredgewidth=1.8)
    axes.tick_params(axis="y", length=0)
    says = "; | processor time of both" if (measured > 0.0).any() else ""
    axes.set_xlabel(f"seconds per evaluation, without the evaluation itself{says}", fontsize=style.SMALL)
    return figure


def _draw_problem(axes: Axes, table: Table, problem: str, statistic: Statistic) -> dict[str, Any]:
    lines = {method: band(table, problem, method, _POINTS) for method in table.methods}
    found = {method: line for method, line in lines.items() if line is not None}
    optima = {run.optimum for run in table.runs if run.problem == problem}
    optimum = optima.pop() if len(optima) == 1 else np.nan
    every = np.concatenate([getattr(line, statistic) for line in found.values()] or [np.empty(0)])
    every = every[np.isfinite(every)]
    regret = every - optimum
    is_log = bool(
        np.isfinite(optimum) and every.size and regret.min() >= 0.0 and (regret > 0.0).any()
        and regret.max() > _DECADES * regret[regret > 0.0].min()
    )  # fmt: skip
    offset = optimum if is_log else 0.0
    style.plain(axes, problem)
    _grid(axes)
    drawn: dict[str, Any] = {}
    first = _boids(table)
    for place, (method, look) in enumerate(looks(table.methods).items()):
        line = found.get(method)
        if line is None:
            continue
        centre, low, high = (each - offset for each in _edges(line, statistic))
        if is_log:
            low = np.maximum(low, np.where(centre > 0.0, centre / 10.0, np.nan))
        if np.isfinite(low).any():
            at = _corners(low, high)
            axes.fill_between(line.n[at], low[at], high[at], color=look.light, alpha=0.14, linewidth=0.0)
        drawn[method] = _line_with_marks(axes, line.n, centre, look, place, is_first=method == first)
    if is_log:
        axes.set_yscale("log")
    elif every.size:
        _cut_beginning(axes, found, statistic)
    axes.set_xlim(1, max((int(line.n[-1]) for line in found.values()), default=1) + 0.5)
    axes.set_ylabel("best value − optimum" if is_log else "best value", fontsize=style.SMALL)
    return drawn


def _cut_beginning(axes: Axes, found: dict[str, Band], statistic: Statistic) -> None:
    """Let a linear axis end below the first steep descent and below lines far above the others, which are named.

    Both would flatten all the rest.
    """
    last = max(line.n[-1] for line in found.values())
    settled = {method: getattr(line, statistic)[line.n >= _STEEP * last] for method, line in found.items()}
    settled = {method: values[np.isfinite(values)] for method, values in settled.items() if np.isfinite(values).any()}
    least = min((values.min() for values in settled.values()), default=0.0)
    shown = sorted(settled.values(), key=lambda values: values[-1])
    while len(shown) > _FEWEST and shown[-1][-1] - least > _FAR * (shown[-2][-1] - least) > 0.0:
        shown.pop()
    most = max((values.max() for values in shown), default=0.0)
    if most > least:
        size = most - least
        below = np.concatenate([_edges(line, statistic)[1] for line in found.values()])
        lowest = min([least, *below[np.isfinite(below)]])  # a band is shown, unless it would flatten the lines
        low, high = max(lowest, least - _BAND * size), most + 0.05 * size
        axes.set_ylim(low - 0.05 * size, high)
        above = [method for method, values in settled.items() if values[-1] > high]
        if above:
            words = f"above: {', '.join(above)}"
            axes.annotate(
                words,
                (0.98, 0.97),
                xycoords="axes fraction",
                ha="right",
                va="top",
                fontsize=style.TINY,
                color=style.GREY,
            )


def _edges(line: Band, statistic: Statistic) -> tuple[Any, Any, Any]:
    if statistic == "mean":
        return line.mean, line.mean - line.error, line.mean + line.error
    return line.median, line.low, line.high


def _line_with_marks(axes: Axes, x: Any, y: Any, look: Look, place: int, *, is_first: bool = False) -> Any:
    """Draw a line with a few marks, at other places than those of the other lines; the first one stands out."""
    known = np.flatnonzero(np.isfinite(y))
    shares = (np.arange(4) + 0.2 + 0.12 * (place % 5)) / 4.0
    marked = sorted({int(known[int(share * len(known))]) for share in shares}) if known.size else []
    at = np.union1d(_corners(y), np.array(marked, dtype=np.int64))
    (line,) = axes.plot(
        x[at], y[at], color=look.light, linewidth=2.1 if is_first else 1.4, zorder=3.0 if is_first else 2.0,
        linestyle=_line(look), marker=look.mark, markersize=5.0 if is_first else 4.0,
        markevery=np.searchsorted(at, marked).tolist(),
    )  # fmt: skip
    return line


def _corners(*curves: Any) -> Any:
    """Return the places where one of the curves turns: the others are on the lines between these, and need no room."""
    turns = np.zeros(len(curves[0]), dtype=np.bool_)
    turns[[0, -1]] = True
    for curve in curves:
        before, after = curve[:-1], curve[1:]
        moves = (before != after) & ~(np.isnan(before) & np.isnan(after))
        turns[1:-1] |= moves[1:] | moves[:-1]
    return np.flatnonzero(turns)


def _grid(axes: Axes) -> None:
    axes.set_axisbelow(True)
    axes.grid(axis="y", color="#E4E8EB", linewidth=0.7)


def _boids(table: Table) -> str | None:
    """Return the label of the method that stands out."""
    return next((run.method for run in table.runs if run.header["method"].get("name") == "boids"), None)


def _line(look: Look) -> Any:
    return (0, look.dashes) if look.dashes else "-"


def _legend(figure: Figure, lines: dict[str, Any], columns: int) -> None:
    """Explain the lines below the figure, in columns, or at its right."""
    if not lines:
        return
    figure.legend(
        list(lines.values()), [_short(method) for method in lines],
        loc="outside lower center" if columns else "outside right center", ncols=columns or 1,
        frameon=False, fontsize=style.TINY, handlelength=2.6, columnspacing=1.4,
    )  # fmt: skip


def _short(label: str) -> str:
    # A dollar sign would begin a formula.
    return (label if len(label) <= 24 else label[:23] + "…").replace("$", r"\$")


def _figure(width: float, height: float) -> Figure:
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtra(
            "Figures need matplotlib, which is not installed; install it with: pip install 'boids-opt[plot]'"
        ) from error
    return Figure(figsize=(width, height), layout="constrained")
