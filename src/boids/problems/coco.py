"""The functions of COCO's suite bbob-largescale: 24 of them, in 20 to 640 dimensions, any number of instances.

Elhara, Varelas, Nguyen, Tušar, Brockhoff, Hansen & Auger, COCO: The large scale black-box optimization benchmarking
(bbob-largescale) test suite, 2019. Evaluated by the package coco-experiment (extra `coco`), unobserved, so that no
files are written.

======  =========================================================================
symbol  meaning, shape
======  =========================================================================
D       number of variables, one of `DIMENSIONS`
x       q points of [-5, 5]^D, (q, D)
======  =========================================================================
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, final

import numpy as np

from boids.problems import extras
from boids.problems.problem import Problem, ProblemFactory, integer
from boids.records import FloatArray

DIMENSIONS = (20, 40, 80, 160, 320, 640)

FUNCTIONS = (
    "sphere",
    "separable ellipsoid",
    "separable Rastrigin",
    "Büche-Rastrigin",
    "linear slope",
    "attractive sector",
    "step ellipsoid",
    "Rosenbrock",
    "rotated Rosenbrock",
    "ellipsoid",
    "discus",
    "bent cigar",
    "sharp ridge",
    "different powers",
    "Rastrigin",
    "Weierstrass",
    "Schaffer F7",
    "ill-conditioned Schaffer F7",
    "Griewank-Rosenbrock",
    "Schwefel",
    "Gallagher's 101 peaks",
    "Gallagher's 21 peaks",
    "Katsuura",
    "Lunacek bi-Rastrigin",
)
DEFAULT = 15
#: The smallest value of the default function, for a list of problems that is made without the package.
DEFAULT_OPTIMUM = 1000.0

SUMMARY = "one of the 24 functions of COCO's bbob-largescale, shifted, most of them rotated"
REFERENCE = (
    "Elhara et al., COCO: The large scale black-box optimization benchmarking (bbob-largescale) test suite, 2019"
)


@final
@dataclass(frozen=True, slots=True)
class SuiteFunction:
    """x -> the values of a function of the suite; holds its numbers alone, and opens it again in a worker."""

    function: int
    instance: int
    dim: int

    def __call__(self, x: FloatArray) -> FloatArray:
        """Return the values (q,) at the rows of `x`."""
        _, function = opened(self.function, self.instance, self.dim)
        return np.array([function(point) for point in x], dtype=np.float64)


@lru_cache(maxsize=32)
def opened(function: int, instance: int, dim: int) -> tuple[Any, Any]:
    """Open a function of the suite, once per process; the suite comes with it, for it must outlive its functions."""
    cocoex = extras.load("cocoex", "coco", "coco")
    suite = cocoex.Suite("bbob-largescale", f"instances: {instance}", f"dimensions: {dim} function_indices: {function}")
    return suite, suite[0]


def optimum(function: int, instance: int) -> float:
    """Return the smallest value of a function of the suite, which is the same in every dimension.

    The suite tells it for its small dimensions only, where the functions have the same smallest values.
    """
    cocoex = extras.load("cocoex", "coco", "coco")
    return float(cocoex.BareProblem("bbob", function, DIMENSIONS[0], instance).best_value())


# The problem, as the registry builds it


def coco(dim: int, seed: int, *, function: int = DEFAULT, instance: int = 1) -> Problem:
    """A function of bbob-largescale on [-5, 5]^D; its minimiser is not told.

    Parameters
    ----------
    function
        Its number in the suite, 1 to 24; see `FUNCTIONS`.
    instance
        Which shift and which rotation; the suite's own instances are 1 to 15, others work as well.
    """
    del seed  # `instance` takes its place
    number = integer("function", function, 1, len(FUNCTIONS))
    which = integer("instance", instance, 1, 10**9)  # the suite's integers have 32 bits on some systems
    opened(number, which, dim)  # what is missing is better said now than in a worker
    return Problem(
        name="coco",
        evaluate=SuiteFunction(number, which, dim),
        low=np.full(dim, -5.0),
        high=np.full(dim, 5.0),
        summary=f"{SUMMARY}; function {number}, {FUNCTIONS[number - 1]}, instance {which}",
        reference=REFERENCE,
        optimum=optimum(number, which),
    )


FACTORIES: dict[str, ProblemFactory] = {
    "coco": ProblemFactory(
        build=coco,
        summary=SUMMARY,
        reference=REFERENCE,
        domain="[-5, 5]^D",
        default_dim=160,
        minimum_dim=DIMENSIONS[0],
        dims=DIMENSIONS,
        optimum=DEFAULT_OPTIMUM,
        extra="coco",
    )
}
