"""Pictures of a run, made to be read at a hundred parameters and more: `plot` (extra `plot`, matplotlib).

One file draws one kind of panel on axes that it is given; `layout` says where the axes stand, `record` holds the run as
arrays. Figures are made without pyplot, so that no backend is chosen and nothing global is touched.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from boids.errors import MissingExtra, did_you_mean
from boids.plots import convergence, layout, shares, subspace
from boids.plots.notebook import show_itself
from boids.plots.record import RunRecord
from boids.values import positive_int

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: The panels, in the order in which they are drawn.
PARTS = ("convergence", "subspace", "lines", "importance", "time")
_SUFFIXES = (".png", ".svg", ".pdf")
_DPI = 150


def plot(
    result: Any,
    *,
    space: Any = None,
    path: str | os.PathLike[str] | None = None,
    parts: Sequence[str] | None = None,
    top: int = 15,
    title: str | None = None,
) -> Figure:
    """Draw how a run went; each panel is left out where the run has nothing to show in it.

    ============  ==========================================================================================
    part          shows
    ============  ==========================================================================================
    convergence   every evaluation and the best so far; failures, infeasible points, restarts
    subspace      the subspace's dimension over the run and, if the method has one, its termination factor K
    lines         which line every evaluation was on, how often each was chosen, and which ones improved
    importance    the parameters along which a model of the run is steepest (`boids.importance`)
    time          where the seconds went
    ============  ==========================================================================================

    Parameters
    ----------
    result
        What `boids.minimize` returned.
    space
        The search space, for the parameters' names; that of the result if not given.
    path
        Where to save the picture: a .png, .svg or .pdf file.
    parts
        The panels to draw, all if not given.
    top
        Number of parameters in the panel of importance.
    title
        Text above the picture; a summary of the run if not given, none for "".

    Returns
    -------
    matplotlib.figure.Figure
        The figure; its axes have the parts' names as labels (`axes.get_label()`), for changes of your own.

    Raises
    ------
    MissingExtra
        If matplotlib is not installed.
    """
    chosen, target = _checked_parts(parts), _checked_path(path)
    positive_int(top, "top")
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtra(
            "Pictures need matplotlib, which is not installed; install it with: pip install 'boids-opt[plot]'"
        ) from error

    run = RunRecord.of(result, space)
    wanted = [part for part in PARTS if part in chosen and run.shows(part)]
    if not wanted:
        raise ValueError(
            f"A run of {run.method!r} has nothing to show in {', '.join(chosen)}; it has in "
            f"{', '.join(part for part in PARTS if run.shows(part))}."
        )
    found = run.importance() if "importance" in wanted else None
    bars = 0 if found is None else min(top, len(found.labels))
    figure = Figure(layout="constrained")
    axes = layout.place(figure, wanted, bars=bars, lines=run.n_lines, has_factor=run.has_factor)
    if "convergence" in wanted:
        convergence.draw(axes["convergence"], run)
    if "subspace" in wanted:
        subspace.draw_growth(axes["subspace"], axes.get("factor"), run)
    if "lines" in wanted:
        subspace.draw_lines(axes["lines"], axes["counts"], run)
    if found is not None:
        shares.draw_importance(axes["importance"], axes["note"], found, top)
    if "time" in wanted:
        shares.draw_times(axes["time"], run.times, columns=6 if layout.is_wide(figure) else 3)
    layout.finish(figure, axes, run.n, run.headline if title is None else title)
    if target is not None:
        figure.savefig(target, dpi=_DPI)
    return show_itself(figure)


def _checked_parts(parts: Sequence[str] | None) -> Sequence[str]:
    if parts is None:
        return PARTS
    chosen = [parts] if isinstance(parts, str) else list(parts)
    for part in chosen:
        if part not in PARTS:
            hint = did_you_mean(str(part), PARTS, "see the list.")
            raise ValueError(f"There is no part {part!r}; {hint} Parts: {', '.join(PARTS)}.")
    if not chosen:
        raise ValueError(f"parts must name at least one panel; got none. Parts: {', '.join(PARTS)}.")
    return chosen


def _checked_path(path: str | os.PathLike[str] | None) -> PurePath | None:
    if path is None:
        return None
    target = PurePath(path)
    if target.suffix.lower() not in _SUFFIXES:
        raise ValueError(f"path must end in {', '.join(_SUFFIXES[:-1])} or {_SUFFIXES[-1]}, got {os.fspath(path)!r}.")
    return target
