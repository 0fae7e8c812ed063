"""A rover's route through a field of obstacles, as a smoothing spline of 30 or 50 control points.

Wang, Gehring, Kohli & Jegelka, Batched large-scale Bayesian optimization in high-dimensional spaces, AISTATS 2018: the
large rover domain, without the noise on the control points, and as a cost to be minimised (they maximise 5 - cost).

The route c(t), t in [0, 1], is the cubic spline through the control points with the default smoothing of SciPy. Its
cost is the integral of a density along the route: 0.05, and 20 more in obstacles and outside [0, 1)²; and 10 times the
city-block distances from its ends to the start (0.05, 0.05) and the goal (0.95, 0.95).

======  =========================================================================
symbol  meaning, shape
======  =========================================================================
D       number of variables, twice the number n of control points
x       q points of [0, 1]^D, (q, D): the control points' coordinates, in turn
p       control points (n, 2): -margin + (1 + 2 margin) x
c       the route at 1000 values of t, (1000, 2)
m       number of obstacles, squares of side 0.05 that include their lower left edges
======  =========================================================================
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np

from boids.errors import ProblemError
from boids.problems import data
from boids.problems.problem import Problem, ProblemFactory, is_number
from boids.records import FloatArray

#: The centres of the original obstacles, one per line, which may be used but not shipped.
ORIGINAL = "rover_large_obstacle_centres.csv"

START, GOAL = np.array([0.05, 0.05]), np.array([0.95, 0.95])
SIDE = 0.05
OBSTACLES = 113
#: Obstacles of a field of our own keep this far away from start and goal, so that the rover can begin and end.
FREE = 0.1
DENSITY, COLLISION, ENDS = 0.05, 20.0, 10.0
STEPS = 1000
#: A step of at most this share of the route counts as none.
SAME_PLACE = 1e-12

SUMMARY = "the route of a rover around obstacles; smooth but for collisions, neighbouring coordinates belong together"
REFERENCE = "Wang et al., Batched large-scale Bayesian optimization in high-dimensional spaces, AISTATS 2018"
COST = "a millisecond"


@final
@dataclass(frozen=True, slots=True, eq=False)
class RouteCost:
    """x -> the cost of its route."""

    centres: FloatArray
    margin: float

    def __call__(self, x: FloatArray) -> FloatArray:
        """Return the costs (q,) of the rows of `x`."""
        points = -self.margin + (1 + 2 * self.margin) * x
        return np.array([self._cost(route(each.reshape(-1, 2))) for each in points], dtype=np.float64)

    def _cost(self, c: FloatArray) -> float:
        x, y = c[:, :1], c[:, 1:]
        low, high = self.centres.T - SIDE / 2, self.centres.T + SIDE / 2
        inside = (x >= low[0]) & (x < high[0]) & (y >= low[1]) & (y < high[1])
        outside = np.any((c < 0) | (c >= 1), axis=1)
        density = DENSITY + COLLISION * (np.any(inside, axis=1) | outside)  # where obstacles overlap, they count once
        lengths = np.linalg.norm(np.diff(c, axis=0), axis=1)
        ends = np.sum(np.abs(c[0] - START)) + np.sum(np.abs(c[-1] - GOAL))
        return float(np.sum(lengths * (density[:-1] + density[1:]) / 2) + ENDS * ends)


def route(points: FloatArray) -> FloatArray:
    """Return the route c (1000, 2) of some control points (n, 2).

    SciPy refuses control points that follow each other at the same place, or a rounding error away from it; here they
    count once, and a rover that stays where it is has a route of one point.
    """
    from scipy.interpolate import splev, splprep

    if not np.isfinite(points).all():
        return np.full((STEPS, 2), np.nan)
    lengths = np.linalg.norm(np.diff(points, axis=0), axis=1)
    different = points[np.concatenate([[True], lengths > SAME_PLACE * np.sum(lengths)])]
    if len(different) == 1:
        return np.repeat(different, STEPS, axis=0)
    spline: Any = splprep(different.T, k=min(3, len(different) - 1))[0]
    return np.column_stack(splev(np.linspace(0, 1, STEPS), spline))


# The problem, as the registry builds it


def rover(dim: int, seed: int, *, field: str = "own", margin: float = 0.1) -> Problem:
    """The rover's route on [0, 1]^D.

    Parameters
    ----------
    field
        "own": obstacles drawn by the seed; "original": those of the paper, from a file that is not shipped.
    margin
        How far control points may lie outside the field; 0 in some later benchmarks.
    """
    if dim % 2:
        raise ProblemError(f"dim of problem 'rover' must be even, two per control point, but got {dim}; add one.")
    if not is_number(margin) or not 0 <= margin <= 1:
        raise ProblemError(f"margin must be a number from 0 to 1, but got {margin!r}; leave it out for 0.1.")
    if field not in ("own", "original"):
        raise ProblemError(f"field must be 'own' or 'original', but got {field!r}; leave it out for obstacles by seed.")
    centres = original_centres() if field == "original" else own_centres(seed)
    note = "the paper's obstacles" if field == "original" else "obstacles drawn by the seed"
    return Problem(
        name="rover",
        evaluate=RouteCost(centres, float(margin)),
        low=np.zeros(dim),
        high=np.ones(dim),
        summary=f"{SUMMARY}; {note}",
        reference=REFERENCE,
        cost=COST,
    )


def own_centres(seed: int) -> FloatArray:
    """Draw centres (113, 2) uniformly, but none whose square comes close to the start or the goal."""
    rng = np.random.default_rng(seed)
    centres: list[Any] = []
    while len(centres) < OBSTACLES:
        centre = rng.random(2)
        if all(np.max(np.abs(centre - end)) > SIDE / 2 + FREE for end in (START, GOAL)):
            centres.append(centre)
    return np.array(centres)


def original_centres() -> FloatArray:
    """Return the centres (113, 2) of the paper's obstacles."""
    path = data.find(ORIGINAL)
    if path is None:
        raise ProblemError(
            f"field='original' needs {ORIGINAL}, which boids may not ship, but found nothing in {data.places()}; "
            "put it into one of them, or leave field out."
        )
    try:
        centres = np.loadtxt(path, delimiter=",")
    except ValueError as error:
        raise ProblemError(f"{path} must hold two numbers per line, but {error}; bring the right file.") from None
    if centres.shape != (OBSTACLES, 2):
        raise ProblemError(
            f"{path} must hold {OBSTACLES} lines of two numbers, but has the shape {centres.shape}; "
            "bring the right file."
        )
    return centres


FACTORIES: dict[str, ProblemFactory] = {
    "rover": ProblemFactory(
        build=rover,
        summary=SUMMARY,
        reference=REFERENCE,
        domain="[0, 1]^D",
        default_dim=60,
        minimum_dim=8,
        optimum=None,
        cost=COST,
        kind="simulated",
    )
}
