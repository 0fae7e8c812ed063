"""The panels that show a method at work: the growing subspace, and the lines that were followed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from boids.plots import style
from boids.plots.record import DESIGN, SWEEP, RunRecord

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Ticks of the dimension closer than this on the axis, as a share of it, would overlap.
_CLOSEST = 0.11


def draw_growth(axes: Axes, beneath: Axes | None, run: RunRecord) -> None:
    """Draw the subspace's dimension on a logarithmic axis and, if there are axes for it, K beneath."""
    style.plain(axes, "Subspace dimension")
    known = np.isfinite(run.dims)
    count, dims = run.count[known], run.dims[known]
    axes.step(count, dims, where="post", color=style.GREEN, linewidth=2.0)
    axes.set_yscale("log")
    low, high = float(dims.min()), float(dims.max())
    stretch = (max(high, 2.0 * low) / low) ** 0.12
    axes.set_ylim(low / stretch, max(high, 2.0 * low) * stretch)
    ticks = _apart(sorted(set(dims.tolist())))
    axes.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.minorticks_off()
    style.mark_restarts(axes, run.restarted)
    if beneath is not None:
        style.plain(beneath, "Termination factor K")
        known = np.isfinite(run.factors)
        beneath.step(run.count[known], run.factors[known], where="post", color=style.PURPLE, linewidth=1.2)
        style.mark_restarts(beneath, run.restarted)
        beneath.locator_params(axis="y", integer=True, nbins=3)
        top = float(run.factors[known].max())
        beneath.set_ylim(min(0.0, float(run.factors[known].min())) - 0.3, max(top, 1.0) * 1.15)


def draw_lines(axes: Axes, beside: Axes, run: RunRecord) -> None:
    """Draw which line every evaluation was on, and beside it how often each line was chosen."""
    style.plain(axes, "Lines chosen")
    style.plain(beside, "Evaluations per line")
    known = np.isfinite(run.lines)
    design, swept = (known & (run.lines == each) for each in (DESIGN, SWEEP))
    followed = known & ~design
    improved = followed & run.improved
    failed = followed & run.failed
    rest = followed & ~improved & ~failed
    tick = float(np.clip(190.0 / (run.n_lines + 2), 2.5, 9.0))  # as high as a row, in points
    width = 1.0 if run.n > 200 else 1.4
    apart = max(2.0, 0.08 * run.n_lines)  # from the lines
    sweep_row = -apart
    design_row = sweep_row - apart if swept.any() else -apart
    x, y = run.count, np.select([design, swept], [design_row, sweep_row], run.lines)
    style.marks(axes, x, y, design, "|", colour=style.GREY, size=tick, label="initial design", edge=width)
    style.marks(axes, x, y, rest, "|", colour=style.PALE, size=tick, label="no improvement", edge=width)
    style.marks(axes, x, y, failed, "x", colour=style.RED, size=0.6 * tick, label="failed", edge=1.0)
    style.marks(axes, x, y, improved, "o", colour=style.BLUE, size=max(3.5, 0.6 * tick), label="improved the best")
    style.mark_restarts(axes, run.restarted)
    # Line 0 on top, and above it what is on no line.
    top = design_row if design.any() else sweep_row if swept.any() else 0.0
    axes.set_ylim(run.n_lines - 0.2, top - 0.8)
    step = next(s for s in (1, 2, 5, 10, 20, 50, 100, 200, 500, run.n_lines) if run.n_lines <= 8 * s)
    ticks = {float(line): str(line) for line in range(0, run.n_lines, step)}
    if design.any():
        ticks[design_row] = "design"
    if swept.any():
        ticks[sweep_row] = "sweeps"
    axes.set_yticks(list(ticks), list(ticks.values()))
    axes.set_ylabel("line", fontsize=style.SMALL)
    style.legend(axes)

    rows = np.arange(run.n_lines)
    left = np.zeros(run.n_lines)
    for where, colour in ((improved, style.BLUE), (rest, style.PALE), (failed, style.RED)):
        counts = np.bincount(run.lines[where & ~swept].astype(np.int64), minlength=run.n_lines)[: run.n_lines]
        beside.barh(rows, counts, left=left, height=0.75, color=colour)
        left = left + counts
    beside.tick_params(labelleft=False, left=False)
    beside.set_xlim(0.0, 1.05 * max(float(left.max()), 1.0))
    beside.locator_params(axis="x", integer=True)
    beside.set_xlabel("evaluations", fontsize=style.SMALL)


def _apart(ticks: list[float]) -> list[float]:
    """Return ticks of a logarithmic axis without those that would overlap one above, the largest first kept."""
    span = np.log(ticks[-1] / ticks[0]) or 1.0
    kept = [ticks[-1]]
    for tick in reversed(ticks[:-1]):
        if np.log(kept[-1] / tick) / span > _CLOSEST:
            kept.append(tick)
    return kept[::-1]
