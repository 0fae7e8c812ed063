"""A polytope inside the unit cube, perhaps with columns on grids: whether it is empty, and its nearest points.

======  =================================================================================  ==========
symbol  meaning                                                                            shape
======  =================================================================================  ==========
k, m    number of columns and of rows
y, p    points of the cube [0, 1]^k; a discrete column of y takes the values i / steps     (k,)
A       the rows, scaled to Σ_j |A_ij| = 1: over the cube A y changes by 1, in any units   (m, k)
l, h    lower and upper bounds of A y, equal for an equation, perhaps infinite             (m,)
w       weights of the squared distances of the columns                                    (k,)
======  =================================================================================  ==========
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import final

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array, diags_array, hstack, vstack

from boids.records import BoolArray, FloatArray, IntArray
from boids.space.projection import project

#: How far a row may be violated, as a share of its range over the cube.
TOLERANCE = 1e-9
#: How far inside its inequalities a nearest point aims to be, so that rounding does not put it outside.
MARGIN = 1e-12

# The accuracy of HiGHS is some 1e-7: a solution this far inside the inequalities survives it.
_SOLVER_MARGIN = 1e-6
# Nodes of the branch and bound, to find out whether there is any point, and to find a near one. A limit of seconds
# would let the answer depend on the machine.
_NODES, _FEW_NODES = 20_000, 500


@final
@dataclass(frozen=True, slots=True, eq=False)
class Polytope:
    """All y of the cube with l ≤ A y ≤ h, each discrete column (steps > 0) on its grid."""

    rows: FloatArray
    lower: FloatArray
    upper: FloatArray
    steps: IntArray

    @property
    def discrete(self) -> BoolArray:
        """Which columns are on a grid, (k,)."""
        return self.steps > 0

    @property
    def equations(self) -> BoolArray:
        """Which rows are equations, (m,)."""
        same: BoolArray = self.lower == self.upper
        return same

    def holds(self, y: FloatArray) -> bool:
        """Whether a point of the cube satisfies all rows, to the tolerance."""
        activity = self.rows @ y
        return bool(np.all((activity <= self.upper + TOLERANCE) & (activity >= self.lower - TOLERANCE)))

    def select(self, rows: BoolArray | IntArray) -> Polytope:
        """Return the polytope with only some of its rows."""
        return replace(self, rows=self.rows[rows], lower=self.lower[rows], upper=self.upper[rows])

    def over(self, columns: IntArray) -> Polytope:
        """Return the polytope over some of its columns, the rows having no others."""
        return replace(self, rows=self.rows[:, columns], steps=self.steps[columns])

    def point(self, thorough: bool = True) -> FloatArray | None:
        """Return a point near the middle of the cube, or None if none was found."""
        middle = np.full(len(self.steps), 0.5)
        return self.nearest(middle, np.ones_like(middle), nodes=_NODES if thorough else _FEW_NODES)

    def nearest(
        self, point: FloatArray, w: FloatArray, margin: float = MARGIN, nodes: int = _FEW_NODES
    ) -> FloatArray | None:
        """Return the point of the polytope nearest to a point of the cube, or None if none was found.

        Nearest in Σ w (y - p)²; but if that point leaves the polytope when its discrete columns are rounded, nearest
        in Σ √w |y - p|, which a mixed-integer linear program can minimise.
        """
        y = self._nearest_relaxed(point, w, margin)
        if y is None or not self.discrete.any():
            return y
        settled = self._settle(y, point, w, margin)
        for room in (0.0, _SOLVER_MARGIN):
            if settled is None:
                y = self._nearest_mixed(point, np.sqrt(w), room, nodes)
                settled = None if y is None else self._settle(y, point, w, margin)
        return settled

    def _nearest_relaxed(self, point: FloatArray, w: FloatArray, margin: float) -> FloatArray | None:
        """Return the nearest point, were all columns continuous."""
        for wanted in (margin, 0.0):
            room = np.minimum(wanted, 0.25 * (self.upper - self.lower))  # an equation has none
            lower, upper = self.lower + room, self.upper - room
            y = project(self.rows, lower, upper, point, w)
            if (w != w[0]).any():  # different weights cost digits; from so near a point, equal ones get them back
                y = project(self.rows, lower, upper, y, np.ones_like(w))
            if self.holds(y):
                return y
        return None

    def _settle(self, y: FloatArray, point: FloatArray, w: FloatArray, margin: float) -> FloatArray | None:
        """Round the discrete columns of y, then move the continuous ones to where the rows hold again, if they can."""
        discrete, free = self.discrete, ~self.discrete
        settled = y.copy()
        settled[discrete] = np.rint(y[discrete] * self.steps[discrete]) / self.steps[discrete]
        if free.any():
            taken = self.rows[:, discrete] @ settled[discrete]
            rest = Polytope(self.rows[:, free], self.lower - taken, self.upper - taken, self.steps[free])
            moved = rest._nearest_relaxed(point[free], w[free], margin)
            if moved is None:
                return None
            settled[free] = moved
        return settled if self.holds(settled) else None

    def _nearest_mixed(self, point: FloatArray, costs: FloatArray, margin: float, nodes: int) -> FloatArray | None:
        """Return the minimiser of Σ costs |y - p|, or the best that few nodes find, with the accuracy of the solver."""
        k = len(point)
        room = np.minimum(margin, 0.25 * (self.upper - self.lower))
        # The unknowns are y, with a discrete column as its number of steps, and the distances |y - p|.
        unit = 1.0 / np.maximum(self.steps, 1)
        y, distance, rows = diags_array(unit), diags_array(np.ones(k)), self.rows * unit
        # The solver's accuracy is absolute: no step of a discrete column may be too small for it.
        least = np.min(np.abs(rows), axis=1, where=self.discrete & (rows != 0.0), initial=1.0)[:, None]
        inside = hstack([csr_array(rows / least), csr_array(rows.shape)])
        beside = vstack([hstack([y, -distance]), hstack([-y, -distance])])
        found = milp(
            np.concatenate([np.zeros(k), costs]),
            integrality=np.concatenate([self.discrete, np.zeros(k)]),
            bounds=Bounds(np.zeros(2 * k), np.concatenate([np.maximum(self.steps, 1), np.ones(k)])),
            constraints=[
                LinearConstraint(inside, (self.lower + room) / least[:, 0], (self.upper - room) / least[:, 0]),
                LinearConstraint(beside, -np.inf, np.concatenate([point, -point])),
            ],
            # Presolving is no quicker here, and the solver's way back from it may print a line to stdout.
            options={"node_limit": nodes, "presolve": False},
        )
        return None if found.x is None else np.clip(found.x[:k] * unit, 0.0, 1.0)
