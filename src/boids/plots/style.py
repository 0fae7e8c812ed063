"""One look for all panels: colours that colour-blind people can tell apart, and axes without ornaments.

The colours are those of Okabe & Ito, *Color Universal Design*, 2008; the greys are readable on white and on black.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BLUE, ORANGE, GREEN, RED, PURPLE, SKY = "#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9"
#: What is there to compare with, and what is said in passing.
PALE, GREY = "#A9BDCC", "#7F7F7F"
SMALL, TINY = 9, 8
#: Marks explained in a row beside the title.
_MOST_IN_A_ROW = 5


def plain(axes: Axes, title: str) -> None:
    """Give axes their title, and take away the frame."""
    axes.set_title(title, loc="left", fontsize=SMALL + 1, fontweight="bold", pad=7.0)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=TINY)


def marks(
    axes: Axes,
    x: NDArray[Any],
    y: NDArray[Any] | float,
    where: NDArray[np.bool_],
    marker: str,
    *,
    colour: str,
    size: float,
    label: str,
    edge: float = 0.0,
    hollow: bool = False,
) -> None:
    """Mark some of the points, all in one way; a number for `y` is a height on the axes, from 0 to 1."""
    if where.any():
        on_edge = isinstance(y, float)
        axes.plot(
            x[where],
            np.broadcast_to(y, x.shape)[where],
            marker,
            color=colour,
            markersize=size,
            markeredgewidth=edge,
            markerfacecolor="none" if hollow else colour,
            transform=axes.get_xaxis_transform() if on_edge else axes.transData,
            label=label,
        )


def mark_restarts(axes: Axes, restarted: NDArray[np.int64], label: str = "") -> None:
    """Draw a line before each evaluation with which a method started again."""
    for number, at in enumerate(restarted.tolist()):
        axes.axvline(at - 0.5, color=GREY, linestyle=":", linewidth=1.0, label=label if label and not number else None)


def legend(axes: Axes, *, columns: int = 0) -> None:
    """Explain the marks in a row or two above the axes, where it covers nothing, or in so many columns below them."""
    handles, labels = axes.get_legend_handles_labels()
    if handles:
        axes.legend(
            handles,
            labels,
            loc="upper left" if columns else "lower right",
            bbox_to_anchor=(0.0, 0.0) if columns else (1.0, 1.0),
            ncols=columns or (len(handles) if len(handles) <= _MOST_IN_A_ROW else (len(handles) + 1) // 2),
            frameon=False,
            fontsize=TINY,
            borderpad=0.1,
            borderaxespad=0.3,
            columnspacing=1.2,
            handletextpad=0.4,
            handlelength=1.4,
        )


def percent(share: float) -> str:
    """Return a share as whole percents, the sign on the same line as the number."""
    return f"{100.0 * share:.0f}\N{NO-BREAK SPACE}%"


def empty(axes: Axes, text: str) -> None:
    """Say in the middle of axes why they are empty; what they would be read by goes."""
    axes.tick_params(left=False, bottom=False, labelleft=False, labelbottom=False)
    axes.spines[:].set_visible(False)
    axes.set_ylabel("")
    axes.text(0.5, 0.5, text, transform=axes.transAxes, ha="center", va="center", fontsize=SMALL, color=GREY)


def note(axes: Axes, text: str) -> None:
    """Write a note from the upper left corner of axes to the right edge of the figure."""
    written = axes.text(0.0, 1.0, text, va="top", fontsize=TINY - 0.5, color=GREY, transform=axes.transAxes, wrap=True)
    written.set_in_layout(False)  # its place is given, and not to grow with the text
