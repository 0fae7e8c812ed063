"""Linear constraints on the parameters: which points satisfy them, the nearest ones that do, random ones that do.

========  =============================================================================  ==========
symbol    meaning                                                                        shape
========  =============================================================================  ==========
D, N      number of coordinates and of natural columns of the space
k         number of natural columns that some row names; all others are left alone
m         number of rows
u         points of the signed cube [-1, 1]^D                                            (q, D)
v         those of their coordinates that belong to the k columns                        (q, k)
x         the k columns in the user's units                                              (q, k)
y         the same in [0, 1]: y = (x - low) / span                                       (q, k)
C         coefficients in the user's units: lower ≤ C x ≤ upper                          (m, k)
A, l, h   the same rows for y, divided by their range over the box: l ≤ A y ≤ h          (m, k)
========  =============================================================================  ==========

Rows that share no columns fall into parts, each of them a `Polytope`: a point is repaired only in those parts where it
must be, and random points are drawn in each part by itself, which lets simple rejection go a long way.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from boids.errors import SpaceError, shown
from boids.records import BoolArray, FloatArray, IntArray
from boids.space.columns import Columns
from boids.space.expression import Names
from boids.space.inequalities import informative, read_inequalities, write_inequality
from boids.space.parts import Part, find_parts
from boids.space.polytope import MARGIN, TOLERANCE, Polytope
from boids.space.space import Space

# How far inside the inequalities a repaired point aims to be: more if rounding on the way through the cube asks for it.
_MARGINS = (MARGIN, 1e1 * MARGIN, 1e2 * MARGIN)
# Rejection may use so many uniform points per point that is wanted, in batches of so many.
_TRIES, _BATCH = 100, 1000
# How much larger than their distance the bounds of a column may be; beyond it, floats are coarser than the column.
_COARSEST = 1e15
# A sparse product pays off for matrices with at least so many entries, of which at most such a share is not zero.
_MANY, _SPARSE = 20_000, 0.1


@final
@dataclass(frozen=True, eq=False, repr=False)
class LinearConstraints:
    """Linear equations and inequalities between the parameters of a space, in the user's units.

    `LinearConstraints.of` makes them. A row counts as satisfied up to 1e-9 of its range over the box, inequalities and
    equations alike, since points are rounded on their way through the cube. What `repair` and `sample` return is inside
    the inequalities, so that ``C @ x <= upper`` holds exactly and an objective may take its square root, except where
    there is no room for it or where the bounds of a parameter are much larger than their distance.

    Attributes
    ----------
    space
        The space.
    columns
        The places of the k columns among `space.columns`, (k,).
    coefficients, lower, upper
        C (m, k) and its bounds (m,).
    texts
        The rows as the user wrote them; has no part in equality.

    Examples
    --------
    >>> space = Space([(0, 1)] * 3)
    >>> constraints = LinearConstraints.of(space, ["x[0] <= x[1]", "sum(x) == 1"])
    >>> constraints.rows
    ('x[0] - x[1] <= 0', 'sum(x) == 1')
    >>> constraints.satisfied(space.encode([0.2, 0.3, 0.5]))
    True
    >>> space.decode(constraints.repair(space.encode([0.9, 0.9, 0.9]))).round(6).tolist()
    [0.333333, 0.333333, 0.333333]
    """

    space: Space
    columns: IntArray
    coefficients: FloatArray
    lower: FloatArray
    upper: FloatArray
    texts: tuple[str, ...]

    @classmethod
    def of(cls, space: Space, definition: Any) -> LinearConstraints | None:
        """Return the constraints that a definition makes, or None if there are none.

        Parameters
        ----------
        definition
            A `scipy.optimize.LinearConstraint` over `space.columns`; a text such as ``"x1 <= 2*x2 + 1"``,
            ``"0 <= sum(w) - n <= 3"`` or ``"w[0] + w[1] == 1"`` (``x`` in a plain box); a table
            ``{"coefficients": {"x1": 1, "w": 2}, "lower": 0, "upper": 3}``; or a list of these.

        Raises
        ------
        SpaceError
            If the definition cannot be read, or no point of the space satisfies it.
        """
        if isinstance(definition, LinearConstraints):
            if definition.space != space:
                raise SpaceError("The linear constraints were made for another space; make them again for this one.")
            return definition
        names = Names(space)
        try:
            read = read_inequalities(definition, names)
        except RecursionError:
            raise SpaceError("Linear constraints must be a list, got one nested too deep.") from None
        given = informative(read, space.natural_low, space.natural_high, names)
        if not given:
            return None
        matrix = np.array([each.coefficients for each in given])
        columns = np.flatnonzero(matrix.any(axis=0))
        lower, upper = np.array([[each.lower, each.upper] for each in given]).T
        texts = tuple(each.text for each in given)
        constraints = cls(space, columns, np.ascontiguousarray(matrix[:, columns]), lower, upper, texts)
        constraints._parts  # noqa: B018  finds out whether any point satisfies them, while the user is looking
        return constraints

    def __eq__(self, other: object) -> bool:
        return self._identity == other._identity if isinstance(other, LinearConstraints) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._identity)

    def __repr__(self) -> str:
        return f"LinearConstraints({shown(self.describe(), 200)})"

    @cached_property
    def _identity(self) -> tuple[Any, ...]:
        arrays = (self.columns, self.coefficients, self.lower, self.upper)
        return (self.space, *(tuple(array.ravel().tolist()) for array in arrays))

    # What people and files read

    @cached_property
    def rows(self) -> tuple[str, ...]:
        """The rows as texts, such as "x1 - x2 <= 0"; long sums are cut."""
        names, factors = Names(self.space), np.zeros((len(self.lower), len(self.space.columns)))
        factors[:, self.columns] = self.coefficients
        rows = zip(factors, self.lower.tolist(), self.upper.tolist(), strict=True)
        return tuple(write_inequality(row, lower, upper, names) for row, lower, upper in rows)

    def describe(self) -> str:
        """Return all rows in one line."""
        return "; ".join(self.rows)

    def to_manifest(self) -> list[dict[str, Any]]:
        """Return JSON-able tables, exact to the last bit, from which `from_manifest` makes equal constraints."""
        names = [self.space.columns[column] for column in self.columns]
        tables = []
        for factors, lower, upper in zip(
            self.coefficients.tolist(), self.lower.tolist(), self.upper.tolist(), strict=True
        ):
            table: dict[str, Any] = {
                "coefficients": {name: factor for name, factor in zip(names, factors, strict=True) if factor != 0.0}
            }
            ends = {"lower": lower, "upper": upper}
            tables.append(table | {key: end for key, end in ends.items() if math.isfinite(end)})
        return tables

    @classmethod
    def from_manifest(cls, space: Space, manifest: Any) -> LinearConstraints | None:
        """Return the constraints that `to_manifest` described."""
        return cls.of(space, manifest)

    # Which points satisfy the rows

    @cached_property
    def _columns(self) -> Columns:
        return Columns(self.space, self.columns)

    @cached_property
    def _polytope(self) -> Polytope:
        """A, l and h."""
        columns = self._columns
        rows = self.coefficients * columns.span
        scale = np.abs(rows).sum(axis=1)
        base = self.coefficients @ columns.low
        with np.errstate(over="ignore"):  # an end so far away is none
            lower, upper = (self.lower - base) / scale, (self.upper - base) / scale
        return Polytope(rows / scale[:, None], lower, upper, columns.steps)

    @cached_property
    def _tolerance(self) -> FloatArray:
        """What counts as satisfied, (m,): more if the roundings of x, which are those of its bounds, are larger."""
        columns = self._columns
        with np.errstate(over="ignore"):
            size = np.minimum(np.maximum(np.abs(columns.low), np.abs(columns.high)) / columns.span, _COARSEST)
        return TOLERANCE + 8.0 * np.finfo(float).eps * (np.abs(self._polytope.rows) @ size)

    @cached_property
    def _by_column(self) -> Any:
        """A transposed, (k, m)."""
        rows = self._polytope.rows
        is_sparse = rows.size >= _MANY and np.count_nonzero(rows) <= _SPARSE * rows.size
        return csr_array(rows.T) if is_sparse else np.ascontiguousarray(rows.T)

    @cached_property
    def _parts(self) -> list[Part]:
        return find_parts(self._polytope, self.texts)

    @cached_property
    def is_thin(self) -> bool:
        """Whether equations between continuous parameters leave random points no chance: then repair, do not filter."""
        return any(part.is_thin for part in self._parts)

    def violation(self, units: NDArray[Any]) -> Any:
        """Return the largest violation of any row: a float for u (D,), an array (q,) for (q, D).

        It is a share of the row's range over the box, so that rows can be compared, and 0 where all rows are satisfied.
        """
        units = np.asarray(units)
        dim = self.space.dim
        if units.ndim not in (1, 2) or units.shape[-1] != dim:
            raise SpaceError(f"Points of the cube must have the shape ({dim},) or (q, {dim}), got {units.shape}.")
        v = np.atleast_2d(units).take(self._columns.coordinates, axis=1).astype(float, copy=False)
        violations = self._excess(v).max(axis=1)
        return float(violations[0]) if units.ndim == 1 else violations

    def satisfied(self, units: NDArray[Any]) -> Any:
        """Return whether all rows are satisfied: a bool for u (D,), an array (q,) for (q, D)."""
        return self.violation(units) == 0.0

    def inside(self, units: NDArray[Any]) -> Any:
        """Return whether the inequalities hold exactly and the equations up to rounding: a bool, or an array (q,)."""
        units = np.asarray(units)
        v = np.atleast_2d(units).take(self._columns.coordinates, axis=1).astype(float, copy=False)
        holds = (self._excess(v) == 0.0).all(axis=1) & ~self._outside(v).any(axis=1)
        return bool(holds[0]) if units.ndim == 1 else holds

    def _outside(self, v: FloatArray) -> BoolArray:
        """Return which inequalities (q, m) do not hold to the last bit in the user's units, at coordinates v (q, k)."""
        activity = self._columns.x(v) @ self.coefficients.T
        return ((activity < self.lower) | (activity > self.upper)) & ~self._polytope.equations

    def _excess(self, v: FloatArray) -> FloatArray:
        """Return the violation (q, m) of each row at coordinates v (q, k), 0 within the tolerance."""
        activity = self._columns.y(v) @ self._by_column
        excess = np.maximum(activity - self._polytope.upper, self._polytope.lower - activity)
        return np.where(excess <= self._tolerance, 0.0, excess)

    # The nearest allowed point

    def repair(self, unit: NDArray[Any]) -> FloatArray:
        """Return the allowed point nearest to u (D,), snapped; a point inside is only snapped.

        Nearest in the cube, with log-scaled parameters taken as linear around where they are. Parameters that have
        nothing to do with a violated row keep every bit.
        """
        repaired = np.array(self.space.snap(np.asarray(unit, dtype=float)))
        if repaired.ndim != 1:
            raise SpaceError(f"A point of the cube must have the shape ({self.space.dim},), got {repaired.shape}.")
        v = repaired[self._columns.coordinates]
        excess, outside = self._excess(v[None, :])[0], self._outside(v[None, :])[0]
        for part in self._parts:
            if excess[part.rows].any():
                v = self._repaired(part, v)
            elif outside[part.rows].any():
                moved = self._repaired(part, v)
                # Where there is no room inside, all that moving leads to is another point at the edge.
                v = v if self._outside(moved[None, :])[0, part.rows].any() else moved
        repaired[self._columns.coordinates] = v
        return repaired

    def _repaired(self, part: Part, v: FloatArray) -> FloatArray:
        """Return coordinates (k,) near v at which the rows of one part hold."""
        y, w = self._columns.y(v)[part.columns], self._columns.weights(self._columns.x(v))[part.columns]
        moved = v
        for margin in _MARGINS:
            nearest = part.polytope.nearest(y, w, margin)
            if nearest is None:
                break
            moved = self._moved(part, nearest, v)
            activity = self.coefficients[part.rows] @ self._columns.x(moved)
            inside = (activity >= self.lower[part.rows]) & (activity <= self.upper[part.rows])
            if (inside | part.polytope.equations).all():
                return moved
        if self._excess(moved[None, :])[0, part.rows].any():
            return self._moved(part, part.anchor, v)  # no solver knows a nearer one
        return moved

    def _moved(self, part: Part, goal: FloatArray, v: FloatArray) -> FloatArray:
        """Return coordinates (k,) with the columns of a part at the y of a goal; what does not move keeps every bit."""
        y = self._columns.y(v)
        target = y.copy()
        target[part.columns] = goal
        moved: FloatArray = np.where(target == y, v, self._columns.v(self._columns.of_y(target)))
        return moved

    # Random allowed points

    def sample(self, count: int, rng: np.random.Generator) -> FloatArray:
        """Return random allowed points (count, D), snapped.

        They are uniform in the cube where rejection finds enough of them. Else they come from walks through the allowed
        region, which are close to uniform for continuous parameters; integers are rounded to the nearest allowed ones.
        """
        units = rng.uniform(-1.0, 1.0, (count, self.space.dim))
        for part, accepted in zip(self._parts, self._accepted(count, rng), strict=True):
            missing = count - len(accepted)
            v = np.concatenate([accepted, self._walked(part, missing, rng)]) if missing else accepted
            units[:, self._columns.coordinates[part.columns]] = v
        units = np.array(self.space.snap(units))
        for i in np.flatnonzero(~self.inside(units)):
            units[i] = self.repair(units[i])
        return units

    def _accepted(self, count: int, rng: np.random.Generator) -> list[FloatArray]:
        """Return for each part up to `count` uniform points (…, its columns) that satisfy its rows."""
        found = [[np.empty((0, len(part.columns)))] for part in self._parts]
        missing = {i: count for i, part in enumerate(self._parts) if not part.is_thin}
        for _ in range(max(1, _TRIES * count // _BATCH)):
            if not missing:
                break
            v = rng.uniform(-1.0, 1.0, (_BATCH, len(self.columns)))
            holds = self._excess(v) == 0.0
            for i in list(missing):
                part = self._parts[i]
                found[i].append(v[np.ix_(holds[:, part.rows].all(axis=1), part.columns)][: missing[i]])
                missing[i] -= len(found[i][-1])
                if missing[i] == 0 or len(found[i][-1]) == 0:  # enough, or hopeless
                    del missing[i]
        return [np.concatenate(pieces) for pieces in found]

    def _walked(self, part: Part, count: int, rng: np.random.Generator) -> FloatArray:
        """Return `count` points (count, columns of the part) of walks through a part."""
        y = np.zeros((count, len(self.columns)))
        y[:, part.columns] = part.sample(count, self._columns.offsets[part.columns], rng)
        v: FloatArray = self._columns.v(self._columns.of_y(y))[:, part.columns]
        return v
