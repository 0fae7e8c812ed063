"""BoidsGenerator: boids' methods as a generator of gest-api, the way into libEnsemble, Optimas and Xopt.

The generator standard of the CAMPA consortium, https://github.com/campa-consortium/gest-api.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import Any, final

import numpy as np
from gest_api import Generator
from gest_api.vocs import VOCS

from boids.algorithms import Algorithm
from boids.errors import SpaceError, shown
from boids.integrations.course import Course, planned
from boids.integrations.gest.translation import Translation
from boids.records import FloatArray
from boids.setup import Setup
from boids.values import Reading, is_integer, positive_int

#: Where gest-api has the number of a suggestion.
_ID = "_id"


@final
class BoidsGenerator(Generator):  # type: ignore[misc]  # the library has no types
    """Let a method of boids suggest the points of a problem with one objective.

    Suggestions whose results have not been ingested are under way, and taken into account by all methods that can.
    Results may come late, in any order and not at all. Those without an ``_id`` were not suggested here: they are
    learnt from as earlier evaluations. A nan or None among the objective and the constraints is a failure.

    Parameters
    ----------
    vocs
        The problem: continuous and discrete variables, one objective, any constraints, constants and observables.
    method
        A name such as "boids", or an algorithm with its settings, such as ``boids.algorithms.Boids(particles=30)``.
    budget
        The number of evaluations that the method plans with, best that of the whole run; None means 500. A run may
        go on beyond it.
    seed
        A non-negative integer makes a run reproducible whose results come in the same order.
    noisy
        Whether two evaluations of one point may differ; otherwise none is suggested twice while others are left.
    log
        The names of continuous variables that are searched on a logarithmic scale.

    Attributes
    ----------
    vocs
        The problem, which Xopt asks its generator for.

    Examples
    --------
    >>> vocs = VOCS(variables={f"x{i}": [-1.0, 1.0] for i in range(30)}, objectives={"f": "MINIMIZE"})
    >>> generator = BoidsGenerator(vocs, budget=20, seed=0)
    >>> for point in generator.suggest(4):
    ...     generator.ingest([point | {"f": sum(point[f"x{i}"] ** 2 for i in range(30))}])
    >>> sorted(generator.suggest(1)[0])[:2]
    ['_id', 'x0']
    """

    returns_id = True

    def __init__(
        self,
        vocs: VOCS,
        method: str | Algorithm[Any] = "boids",
        budget: int | None = None,
        seed: int | None = None,
        *,
        noisy: bool = False,
        log: Collection[str] = (),
    ) -> None:
        super().__init__(vocs)
        self.vocs = vocs
        self._translation = Translation(vocs, log)
        method, plan = planned(method, budget)
        space, n_constraints = self._translation.space, self._translation.n_constraints
        self._course = Course(Setup.of(space, plan, method, seed, noisy, n_constraints, (), None, None))
        self._next = 0

    def __repr__(self) -> str:
        course = self._course
        under_way = f"{len(course.open)} under way"
        return f"<BoidsGenerator {course.setup.algorithm.name}, {len(course.told)} ingested, {under_way}>"

    def _validate_vocs(self, vocs: VOCS) -> None:
        """Refuse a VOCS that boids cannot search, with a `ValueError` that says why."""
        if not isinstance(vocs, VOCS):
            raise ValueError(f"vocs must be a gest_api.vocs.VOCS, got {shown(vocs)}.")
        Translation(vocs)

    def suggest(self, num_points: int | None = None) -> list[dict[str, Any]]:
        """Return points to evaluate, each with its variables, the constants and an ``_id``.

        Parameters
        ----------
        num_points
            How many; None leaves it to the method, which gives as many as it can without missing any outcome: all
            that is left of its initial design, or of a population, and then one at a time.
        """
        if num_points is None:
            count = self._ready()
        elif is_integer(num_points) and num_points == 0:  # what libEnsemble asks for when no result has come
            count = 0
        else:
            count = positive_int(num_points, "num_points")
        return [self._suggestion() for _ in range(count)]

    def _ready(self) -> int:
        """Return how many points the method can propose at once, within its budget."""
        course = self._course
        left = course.setup.budget - len(course.told) - len(course.open)
        return max(1, min(left, course.ready))

    def _suggestion(self) -> dict[str, Any]:
        course, number = self._course, self._next
        state, proposal = course.propose(number, ())
        point = self._translation.point(course.setup.space.decode(proposal.unit))
        course.accept(number, proposal, state)
        self._next += 1
        return point | {_ID: number}

    def ingest(self, results: list[dict[str, Any]]) -> None:
        """Learn from results: all of them or, if one cannot be read, none."""
        if isinstance(results, Mapping) or not hasattr(results, "__iter__"):
            raise ValueError(f"results must be a list of dicts, got {shown(results)}.")
        read: list[tuple[int | None, FloatArray, Reading]] = []
        for place, result in enumerate(results):
            label = f"results[{place}]"
            if not isinstance(result, Mapping):
                raise ValueError(f"{label} must be a dict, got {shown(result)}.")
            number = self._number(result, label, [known for known, _, _ in read])
            read.append((number, self._unit(number, result, label), self._translation.reading(result, label)))
        for number, unit, reading in read:
            if number is None:
                number, self._next = self._next, self._next + 1
            self._course.tell(number, unit, reading)

    def _number(self, result: Mapping[str, Any], label: str, before: list[int | None]) -> int | None:
        """Return which suggestion a result belongs to, None if to none."""
        number = result.get(_ID)
        if isinstance(number, (float, np.floating)) and (math.isnan(number) or number.is_integer()):
            number = None if math.isnan(number) else int(number)  # a column of a data frame with and without numbers
        if number is None:
            return None
        if not is_integer(number) or number not in self._course.open or number in before:
            is_late = is_integer(number) and (number in self._course.told or number in before)
            what = "has been ingested already" if is_late else "was not suggested by this generator"
            raise ValueError(f"{label}: the _id {shown(number)} {what}; leave out the _id of other points.")
        return int(number)

    def _unit(self, number: int | None, result: Mapping[str, Any], label: str) -> FloatArray:
        """Return the point of the cube at which a result was evaluated."""
        space, translation = self._course.setup.space, self._translation
        if number is not None:
            suggested = self._course.open[number].unit
            if translation.is_at(result, space.decode(suggested)):
                return suggested
        try:
            return space.encode(translation.params(result, label))
        except SpaceError as error:
            raise SpaceError(f"{label} is not a point of the VOCS: {error}") from None

    def finalize(self) -> None:
        """Do nothing: there is nothing to close, and all that was ingested has been learnt."""
