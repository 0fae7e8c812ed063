"""Sweeps: a step in every coordinate around the best point, then long steps down the slope that these have shown.

Ours. With two or three evaluations per dimension there is little more to be learnt than a slope, and a plane through
D + 1 points is enough to follow it: Powell, *A direct search optimization method that models the objective and
constraint functions by linear interpolation* (COBYLA), 1994. Here a model of all data takes the plane's place, so that
a direction that is known to be bad is not tried, and other proposals can be made in between (`Turns`).

Notation
--------
d       dimension
r       radius of the ball around the best point in which a descent stays
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias, final

import numpy as np

from boids.blocks.maximise import Acquisition
from boids.records import FloatArray, IntArray

#: What kind of proposal a point is.
Turn: TypeAlias = Literal["line", "coordinate", "descent"]

#: The first sweep's steps; the side of the box is 2.
STEP = 0.33
#: Every sweep's steps are half as long as the one's before, down to this.
LEAST_STEP = 0.05
#: The first descent's r is this √d.
RADIUS = 0.15
#: What r is multiplied by after a descent that found something better, and after another one.
LONGER, SHORTER = 1.5, 0.6
#: After so many descents in a row that did not, there is a new sweep.
MISSES = 4
#: Coordinates that a probe looks at, the share of them that must matter, and what a change must be of the largest one
#: to say that a coordinate does.
PROBED, MOST, CHANGE = 12, 2.0 / 3.0, 1e-3
#: Steps that have to lead up before they are made together, and by what share their changes may fail to add up; with
#: plenty of evaluations by more, since there is time for several sweeps.
UPHILL, APART, APART_WITH_PLENTY = 3, 0.25, 1.0 / 3.0
#: Steps of the search for the lowest point in the ball, from each of its starts.
STARTS, STEPS = 2, 25


@final
@dataclass(frozen=True, slots=True)
class Sweep:
    """Where a sweep stands; every method returns a new one."""

    order: IntArray  # coordinates still to be tried (k,)
    step: float
    radius: float
    misses: int = 0
    done: int = 0  # sweeps before this one

    @classmethod
    def first(cls, dim: int, rng: np.random.Generator) -> Sweep:
        """Begin with all coordinates."""
        return cls(rng.permutation(dim), STEP, RADIUS * math.sqrt(dim))

    @property
    def descends(self) -> bool:
        """Whether all coordinates have been tried."""
        return not len(self.order)

    def radius_beside(self, others: int) -> float:
        """Return r for a descent while `others` are being evaluated: shorter and longer in turns, or all were one."""
        times = (others + 1) // 2
        return self.radius * (SHORTER if others % 2 else LONGER) ** times

    def tried(self) -> Sweep:
        """Go on to the next coordinate."""
        return replace(self, order=self.order[1:])

    def descended(self, better: bool, dim: int, rng: np.random.Generator) -> Sweep:
        """Take notice of a descent's outcome."""
        if better:
            return replace(self, radius=self.radius * LONGER, misses=0)
        if self.misses + 1 < MISSES:
            return replace(self, radius=self.radius * SHORTER, misses=self.misses + 1)
        step = max(0.5 * self.step, LEAST_STEP)
        return Sweep(rng.permutation(dim), step, RADIUS * math.sqrt(dim), done=self.done + 1)


@final
@dataclass(frozen=True, slots=True)
class Probe:
    """Whether a sweep is worth its evaluations, from its first steps: if most coordinates matter, each for itself.

    Where a function depends on a tenth of its inputs, nine steps of ten are wasted. And where what a step does depends
    on all the others, slopes that were learnt one by one do not last. So steps that led up are made together: if
    coordinates matter each for itself, their changes add up. With plenty of evaluations only this ends a sweep: what it
    wastes on coordinates that do not matter is little then, and that it tells the others apart is worth more, so that
    it goes on without further question as soon as too many have changed nothing.
    """

    count: int  # of the steps to look at
    plenty: bool  # whether the sweep goes on though few coordinates matter
    coordinates: IntArray  # of the steps so far (k,)
    origins: FloatArray  # where these were before (k,)
    steps: FloatArray  # how far they went (k,)
    changes: FloatArray  # of the value (k,)
    together: bool = False  # whether the steps that led up have been proposed together
    passed: bool | None = None  # the verdict

    @classmethod
    def first(cls, dim: int, plenty: bool) -> Probe:
        """Begin without any step."""
        return cls(min(PROBED, dim), plenty, np.empty(0, dtype=np.int64), np.empty(0), np.empty(0), np.empty(0))

    def seen(self, coordinate: int, origin: float, step: float, change: float) -> Probe:
        """Take notice of a step; decided as soon as too many have changed too little, beside the largest change."""
        changes = np.append(self.changes, change)
        sizes = np.abs(changes[: self.count])
        idle = np.count_nonzero(sizes <= CHANGE * sizes.max())
        return replace(
            self,
            coordinates=np.append(self.coordinates, coordinate),
            origins=np.append(self.origins, origin),
            steps=np.append(self.steps, step),
            changes=changes,
            passed=self.plenty if idle > (1.0 - MOST) * self.count else self.passed,
        )

    def joined(self, best: FloatArray) -> tuple[FloatArray, float] | None:
        """Return the best point (d,) after all steps that led up, and how far they led up one by one.

        None if it is too soon, or has been done. Steps count that were made from where the best point is in their
        coordinate: while others were being evaluated, it may have become another one.
        """
        up = (self.changes > 0.0) & (best[self.coordinates] == self.origins)
        if self.together or len(self.changes) < self.count or np.count_nonzero(up) < UPHILL:
            return None
        point = best.copy()
        point[self.coordinates[up]] += self.steps[up]
        return point, float(self.changes[up].sum())

    def judged(self, expected: float, change: float) -> Probe:
        """Take notice of what these steps have changed together."""
        apart = APART_WITH_PLENTY if self.plenty else APART
        return replace(self, passed=abs(change - expected) <= apart * expected)


@final
@dataclass(frozen=True, slots=True)
class Turns:
    """Whose turn it is, by what sweeps and lines have gained lately: shares of the way from the median to the best."""

    sweep: float = 0.05
    line: float = 0.05

    #: Both kinds get at least so many of the proposals.
    LEAST = 0.1
    #: How much of a gain is remembered at the next proposal of its kind.
    MEMORY = 0.93

    @property
    def share(self) -> float:
        """The share of proposals that sweeps get."""
        mine, others = self.sweep**2 + 1e-12, self.line**2 + 1e-12
        return min(max(mine / (mine + others), self.LEAST), 1.0 - self.LEAST)

    def credited(self, turn: Turn, gain: float) -> Turns:
        """Take notice of what a proposal has gained, 0 to 1."""
        old = self.line if turn == "line" else self.sweep
        new = self.MEMORY * old + (1.0 - self.MEMORY) * gain
        return replace(self, line=new) if turn == "line" else replace(self, sweep=new)


def gain(merits: FloatArray) -> float:
    """Return how much the last of these (n,) is below the others' least, of the way from there to their median."""
    before, last = merits[:-1], merits[-1]
    if np.isnan(last) or np.isnan(before).all():
        return 0.0
    best = float(np.nanmin(before))
    span = float(np.nanmedian(merits)) - best
    return min(1.0, max(0.0, best - float(last)) / span) if span > 0.0 else 0.0


def both_ways(centre: FloatArray, coordinate: int, step: float, low: FloatArray, high: FloatArray) -> FloatArray:
    """Return the points (≤ 2, d) a step up and down from `centre` (d,); none where a wall is in the way."""
    points = np.repeat(centre[None], 2, axis=0)
    points[:, coordinate] = np.clip(
        centre[coordinate] + step * np.array([1.0, -1.0]), low[coordinate], high[coordinate]
    )
    return np.asarray(points[np.abs(points[:, coordinate] - centre[coordinate]) > 0.01 * step])


def descents(
    slope: Acquisition, centre: FloatArray, radius: float, low: FloatArray, high: FloatArray, rng: np.random.Generator
) -> FloatArray:
    """Return points (k, d) of a ball, cut off by the box, the lowest first: steps down from near its centre."""

    def inside(point: FloatArray) -> FloatArray:
        way = np.clip(point, low, high) - centre
        length = float(np.linalg.norm(way))
        return np.clip(centre + way * min(1.0, radius / max(length, 1e-300)), low, high)

    points, values = [], []
    for _ in range(STARTS):
        point = inside(centre + 0.3 * radius * rng.standard_normal(len(centre)) / math.sqrt(len(centre)))
        pace = 0.5 * radius
        for _ in range(STEPS):
            value, gradient = slope.slopes(point[None])
            points.append(point)
            values.append(float(value[0]))
            length = float(np.linalg.norm(gradient[0]))
            if not (math.isfinite(length) and length > 0.0):
                break
            point = inside(point - pace * gradient[0] / length)
            pace *= 0.9
    order = np.argsort(np.where(np.isnan(values), np.inf, values), kind="stable")
    return np.array(points)[order]
