"""The synthetic problems: Ackley, Branin, Hartmann-6, Levy and others, in any dimension, some or all of which matters.

The formulas and where they come from: `boids.problems.formulas`. The padded versions and the dimensions 100 and 500:
Ngo et al., BOIDS, AAAI 2025, appendix.

A problem is made in this order: the function of its own d_e coordinates in its own box; moved (`shift`); turned
(`rotate`); its coordinates spread over D (`positions`); noise on its values (`noise`). What is random about the first
four follows from the seed, and each of them draws for itself: to turn a problem does not move it.

======  =========================================================================
symbol  meaning, shape
======  =========================================================================
D       coordinates of the problem (``dim``)
d_e     coordinates that matter (``active``); the values do not depend on the others
======  =========================================================================
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias, final

import numpy as np

from boids.errors import ProblemError
from boids.problems import formulas, wrappers
from boids.problems.problem import Evaluator, Problem, ProblemFactory, flag, is_integer
from boids.records import IntArray

#: "first", "random" (drawn by the seed), or where each coordinate that matters goes.
Positions: TypeAlias = str | Sequence[int] | IntArray

LIBRARY = "Surjanovic & Bingham, Virtual Library of Simulation Experiments"
SURVEY = "Jamil & Yang, A literature survey of benchmark functions for global optimisation problems, 2013"
BBOB = "Hansen et al., Real-parameter black-box optimization benchmarking 2009"

#: What a fair comparison must know about the versions that are not shifted.
CENTRED = "optimum at the centre, which every linear embedding contains: shift=True is the fair version"
EQUAL = "all coordinates of the minimiser are equal, which favours embeddings: shift=True is fairer"


@final
@dataclass(frozen=True, slots=True)
class AnyDimension:
    """A function of any number of coordinates with the same range each, as the registry builds it.

    Attributes
    ----------
    name
        The problem's name.
    values
        The formula.
    low, high
        The range of each coordinate, also of those that do not matter.
    minimiser
        Each coordinate of the minimiser.
    character
        What it looks like, in a few words.
    bias
        What a fair comparison must know about the version that is not shifted.
    optimum
        The smallest value, per coordinate.
    group
        The number of coordinates that matter is a multiple of this one.
    minimum
        How many coordinates it has at least.
    reference
        Where it comes from.
    """

    name: str
    values: Evaluator
    low: float
    high: float
    minimiser: float
    character: str
    bias: str
    optimum: float = 0.0
    group: int = 1
    minimum: int = 1
    reference: str = LIBRARY

    def __call__(
        self,
        dim: int,
        seed: int,
        *,
        active: int | None = None,
        positions: Positions = "first",
        shift: bool = False,
        rotate: bool = False,
        noise: float = 0.0,
    ) -> Problem:
        """Return the function of `active` coordinates, moved, turned, spread over `dim` coordinates, with noise."""
        count = self._count(active, dim)
        base = Problem(
            name=self.name,
            evaluate=self.values,
            low=np.full(count, self.low),
            high=np.full(count, self.high),
            summary=self.character,
            reference=self.reference,
            optimum=self.optimum * count,
            minimisers=np.full((1, count), self.minimiser),
        )
        return _arrange(base, dim, seed, positions, shift, rotate, noise, (self.low, self.high), self.bias)

    def factory(self) -> ProblemFactory:
        """Return the entry in the registry."""
        return ProblemFactory(
            build=self,
            summary=f"{self.character}; {self.bias}",
            reference=self.reference,
            domain=f"[{self.low:g}, {self.high:g}]^D",
            default_dim=100,
            minimum_dim=self.minimum,
            optimum=self.optimum * 100,
        )

    def _count(self, active: int | None, dim: int) -> int:
        """Return how many coordinates matter: as many as possible unless said otherwise."""
        most = dim // self.group * self.group
        if active is None:
            return most
        if not is_integer(active) or not self.minimum <= active <= dim or active % self.group:
            multiple = f" that is a multiple of {self.group}" if self.group > 1 else ""
            usual = "all of them" if most == dim else most
            raise ProblemError(
                f"active must be an integer from {self.minimum} to dim = {dim}{multiple}, the number of coordinates "
                f"that matter, but got {active!r}; leave it out to have {usual} matter."
            )
        return int(active)


ANY_DIMENSION = (
    AnyDimension(
        "ackley", formulas.ackley, -32.768, 32.768, 0.0,
        "one deep funnel under many shallow local minima", CENTRED,
    ),
    AnyDimension(
        "alpine", formulas.alpine, -10.0, 10.0, 0.0,
        "kinks and many equal minima, one of them 0", CENTRED, reference=SURVEY,
    ),
    AnyDimension(
        "ellipsoid", formulas.ellipsoid, -5.0, 5.0, 0.0,
        "a sum of squares whose weights go from 1 to a million", CENTRED, reference=BBOB,
    ),
    AnyDimension(
        "griewank", formulas.griewank, -600.0, 600.0, 0.0,
        "a wide bowl with ripples that fade in high dimensions", CENTRED,
    ),
    AnyDimension(
        "levy", formulas.levy, -10.0, 10.0, 1.0,
        "many local minima along each coordinate, steep ridges", EQUAL,
    ),
    AnyDimension(
        "powell", formulas.powell, -4.0, 5.0, 0.0,
        "groups of four coordinates in flat valleys", EQUAL, group=4, minimum=4,
    ),
    AnyDimension(
        "rastrigin", formulas.rastrigin, -5.12, 5.12, 0.0,
        "a bowl with deep local minima on a grid", CENTRED,
    ),
    AnyDimension(
        "rosenbrock", formulas.rosenbrock, -5.0, 10.0, 1.0,
        "one long curved valley through all coordinates", EQUAL, minimum=2,
    ),
    AnyDimension(
        "schwefel", formulas.schwefel, -500.0, 500.0, formulas.SCHWEFEL_MINIMISER,
        "deep local minima far from the optimum, which is near a corner", EQUAL,
    ),
    AnyDimension(
        "sphere", formulas.sphere, -5.12, 5.12, 0.0,
        "the sum of squares, the easiest smooth problem", CENTRED,
    ),
    AnyDimension(
        "styblinski-tang", formulas.styblinski_tang, -5.0, 5.0, formulas.STYBLINSKI_TANG_MINIMISER,
        "two minima along each coordinate, one of them deeper", EQUAL, optimum=formulas.STYBLINSKI_TANG_OPTIMUM,
    ),
)  # fmt: skip


# The two functions that have a dimension of their own


def branin(
    dim: int,
    seed: int,
    *,
    positions: Positions = "first",
    shift: bool = False,
    rotate: bool = False,
    noise: float = 0.0,
) -> Problem:
    """Branin's function on [-5, 10] × [0, 15], the other coordinates on [0, 1]."""
    base = Problem(
        name="branin",
        evaluate=formulas.branin,
        low=np.array([-5.0, 0.0]),
        high=np.array([10.0, 15.0]),
        summary=BRANIN.summary,
        reference=LIBRARY,
        optimum=formulas.BRANIN_OPTIMUM,
        minimisers=formulas.BRANIN_MINIMISERS,
    )
    return _arrange(base, dim, seed, positions, shift, rotate, noise, (0.0, 1.0))


def hartmann(
    dim: int,
    seed: int,
    *,
    rescaled: bool = False,
    positions: Positions = "first",
    shift: bool = False,
    rotate: bool = False,
    noise: float = 0.0,
) -> Problem:
    """Hartmann's six-dimensional function on [0, 1]^D; `rescaled` as in the released BOIDS code."""
    flag("rescaled", rescaled)
    base = Problem(
        name="hartmann",
        evaluate=formulas.rescaled_hartmann if rescaled else formulas.hartmann,
        low=np.zeros(6),
        high=np.ones(6),
        summary=HARTMANN.summary,
        reference=LIBRARY,
        optimum=(formulas.HARTMANN_OPTIMUM - 2.58) / 1.94 if rescaled else formulas.HARTMANN_OPTIMUM,
        minimisers=formulas.HARTMANN_MINIMISER[np.newaxis],
    )
    return _arrange(base, dim, seed, positions, shift, rotate, noise, (0.0, 1.0))


BRANIN = ProblemFactory(
    build=branin,
    summary="two coordinates and three equal minima; with dummies also easy for random search",
    reference=LIBRARY,
    domain="[-5, 10] x [0, 15] x [0, 1]^(D-2)",
    default_dim=500,
    minimum_dim=2,
    optimum=formulas.BRANIN_OPTIMUM,
)
HARTMANN = ProblemFactory(
    build=hartmann,
    summary="six coordinates and several local minima; with dummies also easy for random search",
    reference=LIBRARY,
    domain="[0, 1]^D",
    default_dim=500,
    minimum_dim=6,
    optimum=formulas.HARTMANN_OPTIMUM,
)

FACTORIES: dict[str, ProblemFactory] = dict(
    sorted({"branin": BRANIN, "hartmann": HARTMANN, **{each.name: each.factory() for each in ANY_DIMENSION}}.items())
)


def _arrange(
    base: Problem,
    dim: int,
    seed: int,
    positions: Positions,
    shifted: bool,
    rotated: bool,
    deviation: float,
    dummies: tuple[float, float],
    bias: str = "",
) -> Problem:
    """Move, turn and spread the function, add noise, and say so in the summary."""
    flag("shift", shifted)
    flag("rotate", rotated)
    # A stream each: the shift must not depend on whether positions were drawn too.
    shift_rng, positions_rng, rotation_rng = np.random.default_rng(seed).spawn(3)
    problem, notes = base, [base.summary]
    if shifted:
        problem = wrappers.shift(problem, wrappers.random_offset(problem, shift_rng))
        notes.append("minimiser moved to a random place")
    elif bias:
        notes.append(bias)
    if rotated:
        problem = wrappers.rotate(problem, wrappers.random_rotation(problem.dim, rotation_rng))
        notes.append("rotated about the minimiser")
    if dim > base.dim:
        notes.append(f"{base.dim} of {dim} coordinates matter")
    where: Sequence[int] | IntArray | None
    if not isinstance(positions, str):
        where = positions
    elif positions == "random":
        where = wrappers.random_positions(base.dim, dim, positions_rng)
    elif positions == "first":
        where = None
    else:
        raise ProblemError(
            f"positions must be 'first', 'random' or {base.dim} integers, but got {positions!r}; "
            "leave it out to have the coordinates that matter first."
        )
    low, high = dummies
    problem = wrappers.pad(problem, dim, positions=where, low=low, high=high)
    if deviation != 0.0:
        problem = wrappers.noise(problem, deviation, seed=seed)
        notes.append(f"noise of deviation {deviation:g}")
    return replace(problem, summary="; ".join(notes))
