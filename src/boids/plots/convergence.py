"""The panel of convergence: every evaluation, and the best so far."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from boids.plots import style
from boids.plots.record import RunRecord
from boids.records import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: A logarithmic axis needs a best value that falls by more than this factor.
_DECADES = 100.0
#: Out of view is what lies above most values and the early best ones by more than so many times their height.
_REACH = 2.0
#: The best value of the first evaluations, such a share of them, may be out of view.
_HEAD = 0.05


@final
@dataclass(frozen=True)
class View:
    """The part of the axis of values that is shown."""

    low: float
    high: float
    is_log: bool

    @classmethod
    def of(cls, values: FloatArray, best: FloatArray) -> View:
        """Choose the view for values (n,) and the best so far (n,), nan where there is none.

        The best value is always in view. What is far above everything else, a penalty of 1e9 say, is not.
        """
        shown, line = values[np.isfinite(values)], best[np.isfinite(best)]
        if not shown.size:
            return cls(0.0, 1.0, False)
        settled = line[int(_HEAD * len(line)) :]
        is_log = bool(settled.size and settled[-1] > 0.0 and settled[0] > _DECADES * settled[-1])
        if is_log:
            shown, line, settled = np.log10(shown[shown > 0.0]), np.log10(line), np.log10(settled)
        quarter, three_quarters = (float(q) for q in np.quantile(shown, [0.25, 0.75]))
        if line.size:
            bottom, base = float(line[-1]), max(three_quarters, float(settled[0]))
            top = base + _REACH * (base - bottom)
            floor = bottom - (top - bottom)  # only infeasible values lie below the best
        else:
            top = three_quarters + _REACH * (three_quarters - quarter)
            floor = quarter - _REACH * (three_quarters - quarter)
        shown = shown[(floor <= shown) & (shown <= top)]
        low, high = float(shown.min()), float(shown.max())
        # Without a range of its own the axis gets one that goes with the number's size.
        margin = 0.08 * (high - low) or 0.5 * (abs(low) if not is_log and low else 1.0)
        low, high = low - margin, high + margin
        return cls(10.0 ** max(low, -307.0), 10.0 ** min(high, 307.0), True) if is_log else cls(low, high, False)


def draw(axes: Axes, run: RunRecord) -> None:
    """Draw every evaluation as a dot and the best so far as a line."""
    style.plain(axes, "Convergence")
    axes.set_ylabel("objective", fontsize=style.SMALL)
    view = View.of(run.values, run.best)
    if view.is_log:
        axes.set_yscale("log")
    axes.set_ylim(view.low, view.high)
    style.mark_restarts(axes, run.restarted, "restart")
    above, below = run.values > view.high, run.values < view.low
    inside, size = ~run.failed & ~above & ~below, 2.5 if run.n > 400 else 4.0
    x, y = run.count, run.values
    style.marks(axes, x, y, inside & ~run.infeasible, "o", colour=style.PALE, size=size, label="evaluation")
    style.marks(
        axes,
        x,
        y,
        inside & run.infeasible,
        "o",
        colour=style.ORANGE,
        size=size,
        label="infeasible",
        edge=0.8,
        hollow=True,
    )
    if np.isfinite(run.best).any():
        axes.step(x, run.best, where="post", color=style.BLUE, linewidth=2.0, label="best so far")
        axes.plot(x[-1:], run.best[-1:], "o", color=style.BLUE, markersize=4.5)
    if np.isfinite(run.estimate):
        axes.axhline(run.estimate, color=style.GREEN, linestyle="--", linewidth=1.2, label="estimate")
    # What has no place on the axis of values stands on its edges.
    style.marks(axes, x, 0.98, above, "^", colour=style.GREY, size=4.5, label="off scale")
    style.marks(axes, x, 0.02, below, "v", colour=style.GREY, size=4.5, label="" if above.any() else "off scale")
    style.marks(axes, x, 0.018, run.failed, "|", colour=style.RED, size=5.5, label="failed", edge=1.2)
    if not run.n or run.failed.all():
        style.empty(axes, "every evaluation failed" if run.n else "no evaluation was finished")
    style.legend(axes)
