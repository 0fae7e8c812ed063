"""The panels of shares: which parameters mattered, and where the time went."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import TYPE_CHECKING

from boids.durations import short_time
from boids.importance import Importance
from boids.plots import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Below this Q² a bar says next to nothing: pure noise reaches 0.2 by luck.
_TELLING = 0.3
_CAVEAT = (
    "This is the slope of a fitted model around the evaluated points, not of the objective over the whole box. "
    "Parameters that were only moved together share the credit, and what does not matter here may matter elsewhere."
)
_LONGEST_NAME = 20
_PHASES = {
    "fit": style.BLUE,
    "select": style.SKY,
    "optimise": style.GREEN,
    "lift": style.PURPLE,
    "evaluate": style.ORANGE,
}
_OTHER, _UNKNOWN = style.PALE, style.GREY
_DARK = (style.BLUE, style.GREEN)
#: The smallest share that has room for its number.
_LEGIBLE = 0.035


def draw_importance(axes: Axes, beneath: Axes, found: Importance, top: int) -> None:
    """Draw the scores of the most important parameters, and say beneath what they do not tell."""
    is_telling = bool(found.reason) or found.held_out >= _TELLING
    style.plain(axes, "Parameter importance" if is_telling else "Importance (unreliable)")
    beneath.set_axis_off()
    if found.reason:
        style.empty(axes, "nothing to say:\n" + textwrap.fill(found.reason, 36))
        return
    ranked = found.top(top)
    rows = range(len(ranked))
    axes.barh(rows, [score for _, score in ranked], height=0.72, color=style.BLUE if is_telling else style.PALE)
    axes.set_yticks(rows, [_shortened(label) for label, _ in ranked])
    axes.set_ylim(max(len(ranked), 3) - 0.4, -0.6)
    axes.set_xlim(0.0, 1.08 * ranked[0][1])
    axes.tick_params(axis="y", length=0)
    axes.locator_params(axis="x", nbins=5)
    axes.xaxis.set_major_formatter(lambda share, _: f"{100.0 * share:.3g} %")
    others = len(found.labels) - len(ranked)
    rest = max(0.0, 1.0 - sum(score for _, score in ranked))
    remarks = [_quality(found), _CAVEAT]
    if others > 0:
        remarks.insert(0, f"The other {others} parameters share {style.percent(rest)}.")
    style.note(beneath, " ".join(remarks))


def _shortened(name: str) -> str:
    """Return a name that is not too long, with its beginning and its end."""
    return name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 9]}…{name[-8:]}"


def _quality(found: Importance) -> str:
    """Say how far the model can be trusted."""
    share = style.percent(max(0.0, found.held_out)) if found.held_out < 0.985 else "almost all"
    of_what = f"variance of held-out {'ranks' if found.by_rank else 'values'}"
    if found.held_out < _TELLING:
        return f"The model explains only {share} of the {of_what}: do not trust these bars."
    return f"The model explains {share} of the {of_what}."


def draw_times(axes: Axes, times: Mapping[str, float], columns: int) -> None:
    """Draw the seconds of each phase as one bar, explained in so many columns."""
    seconds = {name: max(0.0, float(value)) for name, value in times.items()}
    known = [name for name in _PHASES if seconds.get(name)]
    others = [name for name in seconds if name not in (*_PHASES, "other") and seconds[name]]
    names = [*known, *others, *(["other"] if seconds.get("other") else [])]
    total = sum(seconds[name] for name in names)
    style.plain(axes, f"Time: {short_time(total)}")
    left = 0.0
    for name in names:
        share, colour = seconds[name] / total, _PHASES.get(name, _OTHER if name == "other" else _UNKNOWN)
        label = f"{name} {short_time(seconds[name])}"
        axes.barh([0.0], [share], left=left, height=1.0, color=colour, label=label)
        if share > _LEGIBLE:
            ink = "white" if colour in _DARK else "black"
            axes.text(
                left + share / 2, 0.0, style.percent(share), ha="center", va="center", fontsize=style.TINY, color=ink
            )
        left += share
    axes.set_xlim(0.0, 1.0)
    axes.set_ylim(-0.5, 0.5)
    axes.set_axis_off()
    style.legend(axes, columns=columns)
