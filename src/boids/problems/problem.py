"""A benchmark problem as a frozen record: a function in natural units, its box, what is known of its minimum.

======  =========================================================================
symbol  meaning, shape
======  =========================================================================
D       number of coordinates (``dim``)
x       a point in natural units, (D,), or q points as the rows of a matrix, (q, D)
======  =========================================================================
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, final

import numpy as np
from numpy.typing import ArrayLike

from boids.errors import ProblemError
from boids.records import FloatArray, IntArray

if TYPE_CHECKING:
    from boids.space import Space

#: The values (q,) at the rows of a matrix (q, D). A module-level function or a callable dataclass, so that
#: a problem can be pickled and sent to a worker process.
Evaluator: TypeAlias = Callable[[FloatArray], FloatArray]


@final
@dataclass(frozen=True, eq=False, repr=False)
class Problem:
    """A function to minimise over a box; call it with a point (D,) or with a matrix of points (q, D).

    Attributes
    ----------
    name
        The name `boids.problems.make` knows it by.
    evaluate
        The values (q,) at the rows of a matrix (q, D).
    low, high
        The corners of the box, (D,) each.
    summary
        One line, with what a fair comparison must know about the problem.
    reference
        Where the problem comes from.
    optimum
        The smallest value over the box; None if nobody knows it.
    minimisers
        The points of the box that attain it, (k, D); no rows if unknown. Coordinates that do not matter are
        given as the middle of their range.
    active
        The coordinates that matter, (d_e,): ``active[j]`` is where the function's own coordinate j sits.
    cost
        The order of magnitude of one evaluation's time, in words.
    n_constraints
        How many constraint values come with each objective value.
    noisy
        Whether two evaluations of the same point may differ.
    """

    name: str
    evaluate: Evaluator
    low: FloatArray
    high: FloatArray
    summary: str
    reference: str
    optimum: float | None
    minimisers: FloatArray
    active: IntArray
    cost: str = "microseconds"
    n_constraints: int = 0
    noisy: bool = False

    def __post_init__(self) -> None:
        for field in ("low", "high", "minimisers"):
            _freeze(self, field, np.array(getattr(self, field), dtype=np.float64))
        _freeze(self, "active", np.array(self.active, dtype=np.int64))

    @property
    def dim(self) -> int:
        """The number of coordinates D."""
        return self.low.size

    @property
    def space(self) -> Space:
        """The box as a search space, as `boids.minimize` and `boids.Optimizer` take it."""
        from boids.space import Space

        return Space(list(zip(self.low.tolist(), self.high.tolist(), strict=True)))

    # Any: the result's type follows the argument's number of dimensions, which annotations cannot say.
    def __call__(self, x: ArrayLike) -> Any:
        """Return the value at a point (D,) as a float, or the values (q,) at the rows of a matrix (q, D)."""
        # C order: sums run over a point's coordinates in the same order however the matrix was laid out.
        points = np.ascontiguousarray(x, dtype=np.float64)
        if points.ndim not in (1, 2) or points.shape[-1] != self.dim:
            raise ProblemError(
                f"Problem {self.name!r} takes a point of shape ({self.dim},) or a matrix of shape "
                f"(q, {self.dim}), but got shape {points.shape}; make the problem with the dim you need."
            )
        if points.ndim == 1:
            return float(self.evaluate(points[np.newaxis])[0])
        return self.evaluate(points)

    def __repr__(self) -> str:
        return f"Problem({self.name!r}, dim={self.dim}, active={self.active.size}, optimum={self.optimum})"


@final
@dataclass(frozen=True, slots=True)
class ProblemFactory:
    """An entry of the registry: how to make a problem, and what to say about it before it is made.

    Attributes
    ----------
    build
        ``build(dim, seed, *, option=…)``; its keyword-only arguments are the problem's options.
    summary, reference
        One line each.
    domain
        The box in words.
    default_dim, minimum_dim
        The dimension if none is asked for, and the smallest possible one.
    optimum
        The smallest value with default options; None if nobody knows it.
    """

    build: Callable[..., Problem]
    summary: str
    reference: str
    domain: str
    default_dim: int
    minimum_dim: int
    optimum: float | None

    @property
    def options(self) -> tuple[str, ...]:
        """The names of the options that `boids.problems.make` takes for this problem."""
        parameters = inspect.signature(self.build).parameters.values()
        return tuple(each.name for each in parameters if each.kind is each.KEYWORD_ONLY)


def _freeze(problem: Problem, field: str, array: FloatArray | IntArray) -> None:
    """Store a private, read-only copy, so that no method can change the problem it is measured on."""
    array.setflags(write=False)
    object.__setattr__(problem, field, array)
