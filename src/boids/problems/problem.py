"""A benchmark problem as a frozen record: a function in natural units, its space, what is known of its minimum.

======  =========================================================================
symbol  meaning, shape
======  =========================================================================
D       number of coordinates (``dim``); of a named space, its encoded coordinates
C       number of constraints, which hold where their values are ≤ 0
x       a point in natural units, (D,), or q points as the rows of a matrix, (q, D);
        in a named space a dict, or a dict of columns with q entries each
======  =========================================================================
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, final, runtime_checkable

import numpy as np

from boids.errors import ProblemError
from boids.problems import extras
from boids.records import FloatArray, IntArray

if TYPE_CHECKING:
    from boids.space import Space

#: Over a box: the values (q,), or with constraints (q, 1 + C), at the rows of a matrix (q, D). Over a named space: the
#: value, or the value and the constraints (1 + C,), at one dict. A module-level function or a callable dataclass, so
#: that a problem can be pickled and sent to a worker process. A wrapper holds what it wraps as ``inner``.
Evaluator: TypeAlias = Callable[[Any], Any]

Kind: TypeAlias = Literal["synthetic", "real", "simulated"]


@runtime_checkable
class Stateful(Protocol):
    """An evaluator whose values depend on what it has evaluated before."""

    def state(self) -> Any:
        """Return what it remembers, as JSON can hold it."""

    def restore(self, state: Any) -> None:
        """Go back to what `state` returned."""


def _none_given() -> Any:
    return ()


@final
@dataclass(frozen=True, eq=False, repr=False)
class Problem:
    """A function to minimise over a space; call it with a point, or with many points at once.

    Over a box a point is an array (D,), and many are a matrix (q, D); over a named space they are a dict, and a dict of
    columns. The result is a float, or the values (q,). With constraints it is a pair: ``(value, [c1, …])`` for a point,
    the values (q,) and a matrix (q, C) for many.

    Attributes
    ----------
    name
        The name `boids.problems.make` knows it by.
    evaluate
        The function itself, see `Evaluator`.
    low, high
        The corners of the box, (D,) each; empty if there is a `search_space`.
    summary
        One line, with what a fair comparison must know about the problem.
    reference
        Where the problem comes from.
    optimum
        The smallest value over the box, without noise; None if nobody knows it.
    minimisers
        Known points of the box that attain it, (k, D); no rows if none is known. Coordinates that do not matter are
        given as the middle of their range.
    active
        The coordinates that matter, (d_e,): ``active[j]`` is where the function's own coordinate j sits. All of them
        if not given.
    cost
        The order of magnitude of one evaluation's time, in words.
    n_constraints
        How many constraint values come with each objective value.
    noisy
        Whether two evaluations of the same point may differ.
    search_space
        The space, if it is not a box.
    """

    name: str
    evaluate: Evaluator
    low: FloatArray = field(default_factory=_none_given)
    high: FloatArray = field(default_factory=_none_given)
    summary: str = ""
    reference: str = ""
    optimum: float | None = None
    minimisers: FloatArray = field(default_factory=_none_given)
    active: IntArray = field(default_factory=_none_given)
    cost: str = "microseconds"
    n_constraints: int = 0
    noisy: bool = False
    search_space: Space | None = None

    def __post_init__(self) -> None:
        low, high = np.array(self.low, dtype=np.float64), np.array(self.high, dtype=np.float64)
        if self.search_space is not None and (low.size or high.size or len(self.minimisers)):
            raise ProblemError(
                f"Problem {self.name!r} has a search_space, which leaves no place for low, high and minimisers, "
                "the points of a box; give one or the other."
            )
        if self.search_space is None and (
            low.ndim != 1 or not low.size or low.shape != high.shape or not all(low < high)
        ):
            raise ProblemError(
                f"Problem {self.name!r} must have corners low < high of one shape (D,), but got the shapes "
                f"{low.shape} and {high.shape}, or some low >= high; give both, or a search_space."
            )
        minimisers = np.array(self.minimisers, dtype=np.float64)
        dim = low.size if self.search_space is None else self.search_space.dim
        _freeze(self, "low", low)
        _freeze(self, "high", high)
        _freeze(self, "minimisers", minimisers if minimisers.size else np.empty((0, dim)))
        _freeze(self, "active", np.array(self.active if len(self.active) else np.arange(dim), dtype=np.int64))

    @property
    def dim(self) -> int:
        """The number of coordinates D."""
        return self.low.size if self.search_space is None else self.search_space.dim

    @property
    def space(self) -> Space:
        """The search space, as `boids.minimize` and `boids.Optimizer` take it."""
        if self.search_space is not None:
            return self.search_space
        from boids.space import Space

        return Space(list(zip(self.low.tolist(), self.high.tolist(), strict=True)))

    # Evaluation

    # Any: the result's type follows the argument's number of dimensions, which annotations cannot say.
    def __call__(self, x: Any) -> Any:
        """Return the value at a point, or the values at many; with constraints a pair."""
        many, values = self._over_box(x) if self.search_space is None else self._over_names(self.search_space, x)
        if not self.n_constraints:
            return values if many else float(values[0])
        return (values[:, 0], values[:, 1:]) if many else (float(values[0, 0]), values[0, 1:].tolist())

    def _over_box(self, x: Any) -> tuple[bool, FloatArray]:
        """Return whether `x` is a matrix, and the values of its rows."""
        try:
            # C order: sums run over a point's coordinates in the same order however the matrix was laid out.
            points = np.ascontiguousarray(x, dtype=np.float64)
            shape = f"shape {points.shape}"
        except (TypeError, ValueError):
            points, shape = np.empty(0), f"{type(x).__name__} that is none"
        if points.ndim not in (1, 2) or points.shape[-1] != self.dim or np.ndim(x) == 0:
            raise ProblemError(
                f"Problem {self.name!r} takes a point of shape ({self.dim},) or a matrix of shape "
                f"(q, {self.dim}), but got {shape}; make the problem with the dim you need."
            )
        points = points[np.newaxis] if (single := points.ndim == 1) else points
        return not single, self._checked(self.evaluate(points), len(points))

    def _over_names(self, space: Space, x: Any) -> tuple[bool, FloatArray]:
        """Return whether `x` is a dict of columns, and the values of its points."""
        many, points = _points(space, x)
        for point in points:
            space.encode(point)  # says what is wrong with a point
        one_row, none = ((1, -1), (0, 1 + self.n_constraints)) if self.n_constraints else ((-1,), (0,))
        rows = [self._checked(np.reshape(self.evaluate(point), one_row), 1) for point in points]
        return many, np.concatenate([np.empty(none), *rows])

    def _checked(self, values: Any, rows: int) -> FloatArray:
        array = np.asarray(values, dtype=np.float64)
        expected = (rows, 1 + self.n_constraints) if self.n_constraints else (rows,)
        if array.shape != expected:
            raise ProblemError(
                f"The evaluator of problem {self.name!r} must return an array of shape {expected} for {rows} points, "
                f"but returned {array.shape}; correct it, or n_constraints."
            )
        return array

    # State

    @property
    def stateful(self) -> bool:
        """Whether values depend on what was evaluated before; then one process must make all evaluations."""
        return next(_stateful_parts(self.evaluate), None) is not None

    def state(self) -> Any:
        """Return what the evaluator remembers, as JSON can hold it; None if it remembers nothing.

        If several wrappers remember something, it is a list, the outermost first.
        """
        states = [part.state() for part in _stateful_parts(self.evaluate)]
        return states if len(states) > 1 else states[0] if states else None

    def restore(self, state: Any) -> None:
        """Go back to what `state` returned, so that the next values are those that followed."""
        parts = list(_stateful_parts(self.evaluate))
        states = state if len(parts) > 1 else [state] if parts else [] if state is None else [state]
        if not isinstance(states, list) or len(states) != len(parts):
            raise ProblemError(
                f"Problem {self.name!r} remembers {len(parts)} things, but the state to restore is {state!r}; "
                "make the problem with the same options as that one."
            )
        for part, own in zip(parts, states, strict=True):
            part.restore(own)

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
    dims
        The only possible dimensions, if there are few; empty if all from `minimum_dim` on are.
    optimum
        The smallest value with default options; None if nobody knows it.
    extra
        The extra that it needs, None if it needs none.
    cost
        The order of magnitude of one evaluation's time, in words.
    kind
        "real": data or a program of an application; "simulated": a simulator's model of one; "synthetic": a formula.
    missing
        Returns why the problem cannot be made here, besides a missing extra, or None; for problems with files that
        are not shipped.
    """

    build: Callable[..., Problem]
    summary: str
    reference: str
    domain: str
    default_dim: int
    minimum_dim: int
    optimum: float | None
    extra: str | None = None
    cost: str = "microseconds"
    kind: Kind = "synthetic"
    dims: tuple[int, ...] = ()
    missing: Callable[[], str | None] | None = None

    @property
    def fixed_dim(self) -> bool:
        """Whether `default_dim` is the only possible dimension."""
        return self.dims == (self.default_dim,)

    @property
    def options(self) -> tuple[str, ...]:
        """The names of the options that `boids.problems.make` takes for this problem."""
        parameters = inspect.signature(self.build).parameters.values()
        return tuple(each.name for each in parameters if each.kind is each.KEYWORD_ONLY)

    def available(self) -> str | None:
        """Return None if the problem can be made here, else what it needs; imports nothing."""
        reason = None if self.extra is None else extras.missing(self.extra)
        if reason is None and self.missing is not None:
            reason = self.missing()
        return reason


def flag(option: str, value: Any) -> bool:
    """Return True or False, and refuse anything else: the text "false" would count as true."""
    if not isinstance(value, bool):
        raise ProblemError(f"{option} must be True or False, but got {value!r}; write {option}=True to switch it on.")
    return value


def integer(option: str, value: Any, low: int, high: int | None = None) -> int:
    """Return an integer between two bounds, both included, and refuse anything else, also whole floats."""
    if not is_integer(value) or value < low or (high is not None and value > high):
        bounds = f"of at least {low}" if high is None else f"from {low} to {high}"
        raise ProblemError(f"{option} must be an integer {bounds}, but got {value!r}; choose one of these.")
    return int(value)


def is_integer(value: Any) -> bool:
    """Return whether a value is an integer, of Python or of NumPy; True and False are none."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def is_number(value: Any) -> bool:
    """Return whether a value is a real number, of Python or of NumPy; True and False are none."""
    return is_integer(value) or isinstance(value, (float, np.floating))


def _points(space: Space, x: Any) -> tuple[bool, list[Mapping[str, Any]]]:
    """Return whether `x` is a dict of columns, and its points, with values of the types that `decode` gives."""
    if not isinstance(x, Mapping) or not set(space.names) <= set(x):
        return False, [x]  # `encode` will say what is wrong
    name, parameter = next(iter(space.parameters.items()))
    if np.ndim(x[name]) <= (parameter.shape is not None):
        return False, [x]
    rows = range(len(x[name]))
    return True, [{name: _plain(column[row]) for name, column in x.items()} for row in rows]


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _stateful_parts(evaluate: Any) -> Iterator[Stateful]:
    """Yield the parts of a chain of wrappers that remember something, the outermost first."""
    while evaluate is not None:
        if isinstance(evaluate, Stateful):
            yield evaluate
        evaluate = getattr(evaluate, "inner", None)


def _freeze(problem: Problem, attribute: str, array: FloatArray | IntArray) -> None:
    """Store a private, read-only copy, so that no method can change the problem it is measured on."""
    array.setflags(write=False)
    object.__setattr__(problem, attribute, array)
