"""Where a proposal really goes: to whole integers and categories, into linear constraints, to a point not tried yet.

A method proposes points of the cube and need not know any of this. What it aimed at is kept beside what is evaluated.

======  ==========================================================================
symbol  meaning
======  ==========================================================================
u       point of the signed cube [-1, 1]^D
σ       size of a random step away from a point that was tried before
======  ==========================================================================
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import numpy as np

from boids.gp.linalg import blas_threads
from boids.records import Domain, FloatArray
from boids.space import Space
from boids.space.linear import LinearConstraints

#: Random steps away from a point that was tried before; σ grows from the first to the last of these sizes.
_STEPS, _SMALLEST_STEP, _LARGEST_STEP = 100, 0.02, 2.0
#: A space of at most so many points is searched from end to end for one that is left.
_LISTABLE = 200_000
#: Points drawn at random when all steps ended at points that were tried before.
_DRAWS = 200


@final
@dataclass(frozen=True)
class Placement:
    """A space with its linear constraints, as far as it decides which points can be evaluated."""

    space: Space
    linear: LinearConstraints | None
    noisy: bool

    def domain(self, n_constraints: int) -> Domain:
        """Return what methods may know of it."""
        return Domain(
            dim=self.space.dim,
            n_constraints=n_constraints,
            noisy=self.noisy,
            snapping=None if self.space.is_continuous else self.space.snap,
            violating=None if self.linear is None else self.linear.violation,
            sampling=None if self.linear is None else self.sample,
            repairing=self.allowed if self.linear is not None and self.linear.is_thin else None,
        )

    @property
    def points(self) -> float:
        """How many different points there are at the most; inf if one may be evaluated again and again."""
        return math.inf if self.noisy else self.space.size

    def allowed(self, unit: FloatArray) -> FloatArray:
        """Return the point itself if it can be evaluated, else the nearest one that can.

        A point at the edge of a linear inequality goes inside to the last bit: objectives take roots of differences.
        """
        snapped: FloatArray = self.space.snap(unit)
        if self.linear is None or bool(self.linear.inside(snapped)):
            return snapped
        with blas_threads(0):  # its systems are small: further threads would only get in each other's way
            return self.linear.repair(snapped)

    def sample(self, count: int, rng: np.random.Generator) -> FloatArray:
        """Return random allowed points (count, D)."""
        if self.linear is None:
            return np.asarray(self.space.snap(rng.uniform(-1.0, 1.0, (count, self.space.dim))))
        with blas_threads(0):
            return self.linear.sample(count, rng)

    def place(
        self, unit: FloatArray, tried: Callable[[FloatArray], bool], rng: Callable[[], np.random.Generator]
    ) -> FloatArray | None:
        """Return the point to evaluate for a proposal, None if all points have been tried.

        Parameters
        ----------
        tried
            Whether a point need not be tried again.
        rng
            Makes a generator if chance is needed, which it rarely is.
        """
        point = self.allowed(unit)
        if not tried(point):
            return point
        return self._another(point, tried, rng())

    def _another(
        self, point: FloatArray, tried: Callable[[FloatArray], bool], rng: np.random.Generator
    ) -> FloatArray | None:
        """Return an allowed point near `point` that has not been tried."""
        for step in np.geomspace(_SMALLEST_STEP, _LARGEST_STEP, _STEPS):
            # A few coordinates at a time: near means that most stay as they are.
            moving = rng.random(self.space.dim) < max(step / _LARGEST_STEP, 1.0 / self.space.dim)
            moving[rng.integers(self.space.dim)] = True
            moved = np.where(moving, point + step * rng.standard_normal(self.space.dim), point)
            other = self.allowed(np.clip(moved, -1.0, 1.0))
            if not tried(other):
                return other
        for unit in self._rest(rng):
            if not tried(unit):
                return unit
        return None

    def _rest(self, rng: np.random.Generator) -> list[FloatArray] | FloatArray:
        """Return where else to look: everywhere if the space is small, else at random."""
        if self.space.size <= _LISTABLE:
            units = list(self.space.grid())
            if self.linear is not None:
                units = [
                    unit for unit, holds in zip(units, self.linear.satisfied(np.array(units)), strict=True) if holds
                ]
            return [units[i] for i in rng.permutation(len(units))]
        return self.sample(_DRAWS, rng)
