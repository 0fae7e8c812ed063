"""Points that users bring along: where to start, and what they evaluated before."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from boids.errors import SpaceError, TellError, shown
from boids.records import FloatArray, Trial
from boids.space import Space
from boids.space.linear import LinearConstraints
from boids.trial_rows import Held
from boids.values import Reading, read_outcome


@final
@dataclass(frozen=True, eq=False)
class Earlier:
    """An evaluation that somebody else made: a point u of the cube (D,), when it began, and its outcome."""

    unit: FloatArray
    started: float
    held: Held


def starting_points(space: Space, linear: LinearConstraints | None, x0: Any) -> FloatArray:
    """Return the points (k, D) of the cube at which a run is to begin: none, one, or a list of them."""
    if x0 is None:
        return np.empty((0, space.dim))
    is_one = isinstance(x0, Mapping) or not isinstance(x0, Iterable) or (_is_flat(x0) and not space.is_named)
    units: list[FloatArray] = []
    for number, point in enumerate([x0] if is_one else x0):
        label = "x0" if is_one else f"x0[{number}]"
        try:
            unit = space.encode(point)
        except SpaceError as error:
            raise SpaceError(f"{label} is not a point of the space: {error}") from None
        if linear is not None and not bool(linear.satisfied(unit)):
            raise SpaceError(f"{label} breaks a linear constraint; begin at a point that satisfies all of them.")
        if any(np.array_equal(unit, other) for other in units):
            raise SpaceError(f"{label} is there twice; give every starting point once.")
        units.append(unit)
    return np.array(units).reshape(-1, space.dim)


def earlier_trials(space: Space, trials: Any, n_constraints: int) -> list[Earlier]:
    """Return evaluations made before as points and outcomes.

    Parameters
    ----------
    trials
        Trials, pairs (point, outcome), or something with trials such as a `Result` or an `Optimizer`. Trials that are
        still pending are left out.
    """
    found, now = [], time.time()
    for number, each in enumerate(_listed(trials)):
        label = f"trials[{number}]"
        if isinstance(each, Trial):
            if each.state == "pending":
                continue
            params, reading = each.params, _reading_of(each, n_constraints, label)
            started, ended = each.started or now, each.ended or now
        else:
            params, reading = _pair(each, n_constraints, label)
            started = ended = now
        try:
            unit = space.encode(params)
        except SpaceError as error:
            raise SpaceError(f"{label} is not a point of the space: {error}") from None
        found.append(Earlier(unit, started, Held(reading, ended)))
    return found


def _listed(trials: Any) -> Iterable[Any]:
    given = getattr(trials, "trials", trials)
    if isinstance(given, (str, bytes, Mapping)) or not isinstance(given, Iterable):
        raise ValueError(f"trials must be a list of trials or of pairs (point, outcome), got {shown(trials)}.")
    return given


def _pair(each: Any, n_constraints: int, label: str) -> tuple[Any, Reading]:
    if not isinstance(each, (tuple, list)) or len(each) != 2:
        raise ValueError(f"{label} must be a trial or a pair (point, outcome), got {shown(each)}.")
    params, outcome = each
    try:
        return params, read_outcome(outcome, n_constraints=n_constraints)
    except TellError as error:
        raise TellError(f"{label}: {error}") from None


def _reading_of(trial: Trial, n_constraints: int, label: str) -> Reading:
    if trial.failed:
        return Reading.failed(trial.error or "The evaluation failed.", n_constraints)
    try:
        return read_outcome(trial.value, trial.constraints, trial.noise_variance, n_constraints=n_constraints)
    except TellError as error:
        raise TellError(f"{label}: {error}") from None


def _is_flat(points: Any) -> bool:
    """Whether this is a list of numbers rather than of points."""
    try:
        return np.ndim(points) == 0 or (len(points) > 0 and np.ndim(points[0]) == 0)
    except (TypeError, ValueError):  # a ragged list
        return False
