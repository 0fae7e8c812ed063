"""What a VOCS is in boids: its variables as a `boids.Space`, its results as outcomes, and points on their way back.

VOCS is what gest-api calls a problem: Variables, Objectives, Constraints and other Settings.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any, final

import numpy as np
from gest_api.vocs import (
    VOCS,
    BoundsConstraint,
    ContextualVariable,
    ContinuousVariable,
    DiscreteVariable,
    GreaterThanConstraint,
    LessThanConstraint,
    MaximizeObjective,
    MinimizeObjective,
)

from boids.errors import SpaceError, TellError, did_you_mean, shown
from boids.space import Categorical, Float, Int, Space
from boids.space.parameters import Parameter
from boids.values import Reading, read_outcome, read_value

#: How far a variable may be from what was suggested and still be the same, of its size: a float of single precision.
_ROUNDING = 1e-5


@final
@dataclass(frozen=True)
class _Variable:
    """A variable of a VOCS.

    Attributes
    ----------
    parameter
        None if it has only one value.
    values
        The values of a discrete variable in a fixed order, whose places the parameter counts; else None.
    """

    parameter: Parameter | None
    values: tuple[Any, ...] | None = None

    def taken(self, value: Any, label: str) -> Any:
        """Return what the parameter is for a value of the VOCS."""
        if self.values is None:
            return value
        for place, each in enumerate(self.values):
            if _same(value, each):
                return place
        raise SpaceError(f"{label} must be one of {shown(list(self.values))}, got {shown(value)}.")

    def given(self, value: Any) -> Any:
        """Return the value of the VOCS again."""
        return value if self.values is None else self.values[value]


@final
class Translation:
    """See the module.

    Parameters
    ----------
    vocs
        With one objective; a `ValueError` says what cannot be translated.
    log
        The names of the variables with a logarithmic scale.

    Attributes
    ----------
    space
        Of all variables that have more than one value.
    n_constraints
        Number of black-box constraints; bounds are two.
    """

    def __init__(self, vocs: VOCS, log: Collection[str] = ()) -> None:
        self._objective, self._sign = _objective(vocs)
        self._limits = [limit for name, each in vocs.constraints.items() for limit in _limits(name, each)]
        names = {log} if isinstance(log, str) else set(log)
        for name in sorted(names - set(vocs.variables)):
            hint = did_you_mean(name, vocs.variables, f"the variables are {shown(list(vocs.variables))}.")
            raise ValueError(f"log names {name!r}, which is no variable of the VOCS; {hint}")
        self._variables = {name: _variable(name, each, name in names) for name, each in vocs.variables.items()}
        self._constants = {name: each.value for name, each in vocs.constants.items()}
        parameters = {name: each.parameter for name, each in self._variables.items() if each.parameter is not None}
        if not parameters:
            raise ValueError("The VOCS has no variable with more than one value; give it something to vary.")
        self.space = Space(parameters)

    @property
    def n_constraints(self) -> int:
        """Number of black-box constraints."""
        return len(self._limits)

    def point(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """Return a point of the space as one of the VOCS, with its constants."""
        variables = {
            name: each.values[0] if each.parameter is None and each.values else each.given(params[name])
            for name, each in self._variables.items()
        }
        return variables | self._constants

    def params(self, result: Mapping[str, Any], label: str) -> dict[str, Any]:
        """Return where a result was evaluated, as a point of the space."""
        missing = [name for name in self._variables if name not in result]
        if missing:
            raise ValueError(f"{label} lacks the variable {missing[0]!r}; without an _id, results name all variables.")
        taken = {name: each.taken(result[name], f"{label}: {name}") for name, each in self._variables.items()}
        return {name: taken[name] for name in self.space.names}

    def is_at(self, result: Mapping[str, Any], params: Mapping[str, Any]) -> bool:
        """Whether a result was evaluated at a point of the space, as far as it says, but for rounding."""
        wanted = self.point(params)
        return all(_same(result[name], wanted[name]) for name in self._variables if name in result)

    def reading(self, result: Mapping[str, Any], label: str) -> Reading:
        """Return what came out of an evaluation; a nan or None among it is a failure."""
        needed = [self._objective, *(name for name, _, _ in self._limits)]
        missing = [name for name in needed if name not in result]
        if missing:
            raise ValueError(
                f"{label} lacks {missing[0]!r}; every result has the objective and all constraints of the VOCS, "
                "nan if the evaluation failed."
            )
        try:
            outcomes = {name: math.nan if result[name] is None else read_value(result[name])[0] for name in needed}
            constraints = [sign * (outcomes[name] - limit) for name, sign, limit in self._limits]
            return read_outcome(
                self._sign * outcomes[self._objective], constraints or None, n_constraints=self.n_constraints
            )
        except TellError as error:
            raise TellError(f"{label}: {error}") from None


def _objective(vocs: VOCS) -> tuple[str, float]:
    """Return the objective's name, and the sign that makes it one to minimise."""
    if len(vocs.objectives) != 1:
        raise ValueError(
            f"The VOCS must have one objective, got {len(vocs.objectives)}; combine several into one, or make all but "
            "one constraints or observables."
        )
    ((name, objective),) = vocs.objectives.items()
    if isinstance(objective, MinimizeObjective):
        return name, 1.0
    if isinstance(objective, MaximizeObjective):
        return name, -1.0
    raise ValueError(f"The objective {name!r} must be MINIMIZE or MAXIMIZE, got {type(objective).__name__}.")


def _limits(name: str, constraint: Any) -> list[tuple[str, float, float]]:
    """Return an output's name, a sign and a limit: sign · (output - limit) is ≤ 0 where the constraint holds."""
    if isinstance(constraint, LessThanConstraint):
        return [(name, 1.0, constraint.value)]
    if isinstance(constraint, GreaterThanConstraint):
        return [(name, -1.0, constraint.value)]
    if isinstance(constraint, BoundsConstraint):
        low, high = constraint.range
        return [(name, -1.0, low), (name, 1.0, high)]
    raise ValueError(
        f"The constraint {name!r} must be LESS_THAN, GREATER_THAN or BOUNDS, got {type(constraint).__name__}."
    )


def _variable(name: str, variable: Any, is_log: bool) -> _Variable:
    try:
        if isinstance(variable, ContextualVariable):
            raise SpaceError("a contextual variable is not to be chosen, and boids has no use for others.")
        if isinstance(variable, ContinuousVariable):
            return _Variable(_interval(variable, is_log))
        if isinstance(variable, DiscreteVariable):
            if is_log:
                raise SpaceError("a set of values has no logarithmic scale; leave it out of log.")
            return _choice(variable)
    except SpaceError as error:
        raise SpaceError(f"The variable {name!r} cannot be searched: {error}") from None
    raise ValueError(f"The variable {name!r} must be continuous or discrete, got {type(variable).__name__}.")


def _interval(variable: ContinuousVariable, is_log: bool) -> Parameter:
    """Return real numbers, or whole ones if the type says so; a vector if it has a shape."""
    dtype, shape = _dtype(variable.dtype)
    low, high = variable.domain
    if dtype.kind in "iu":
        if not (math.isfinite(low) and math.isfinite(high)):
            raise SpaceError(f"its bounds must be finite, got {shown([low, high])}.")
        return Int(math.ceil(low), math.floor(high), log=is_log, shape=shape)
    if dtype.kind != "f":
        raise SpaceError(f"its type must be that of real or whole numbers, got {shown(variable.dtype)}.")
    return Float(low, high, log=is_log, shape=shape)


def _dtype(given: Any) -> tuple[np.dtype[Any], int | None]:
    """Return a type, and the length of a vector, as gest-api writes them: float, "f8", (float, (3,)) or (3,)."""
    kind, shape = given, None
    if isinstance(given, tuple):
        has_kind = len(given) > 1 and isinstance(given[0], (type, str))
        kind, shape = (given[0], given[1]) if has_kind else (float, given)
    lengths: tuple[int, ...] = () if shape is None else (shape,) if isinstance(shape, int) else tuple(shape)
    if len(lengths) > 1:
        raise SpaceError(f"it may be a number or a vector, got the shape {shown(lengths)}.")
    try:
        return np.dtype(float if kind is None else kind), lengths[0] if lengths else None
    except TypeError:
        raise SpaceError(f"its type must be one of NumPy's, got {shown(given)}.") from None


def _choice(variable: DiscreteVariable) -> _Variable:
    """Return places in a list of values: numbers have an order, everything else has none."""
    has_order = all(isinstance(each, Real) and not isinstance(each, bool) for each in variable.values)
    # The order of a set of strings differs from process to process; the space must not.
    values = tuple(sorted(variable.values, key=None if has_order else lambda each: (type(each).__name__, repr(each))))
    if len(values) == 1:
        return _Variable(None, values)
    return _Variable(Int(0, len(values) - 1) if has_order else Categorical(range(len(values))), values)


def _same(one: Any, other: Any) -> bool:
    """Whether two values of a variable are the same but for rounding."""
    if isinstance(other, np.ndarray):
        return np.shape(one) == other.shape and bool(np.allclose(one, other, rtol=_ROUNDING, atol=0.0))
    try:
        return bool(one == other) or math.isclose(one, other, rel_tol=_ROUNDING)
    except (TypeError, ValueError):  # words, or not one value
        return False
