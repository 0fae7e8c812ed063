"""From what people write to parameters: a box, or a dict of parameters and of shorthands for them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from numbers import Real
from typing import Any

import numpy as np

from boids.errors import SpaceError, shown
from boids.space.categorical import Categorical
from boids.space.checks import array_of, number
from boids.space.parameters import PARAMETERS, Float

_ACCEPTED = "a list of (low, high) pairs, a scipy.optimize.Bounds, or a dict {name: boids.Float(low, high)}"
_PARAMETER = (
    "boids.Float(low, high), Int(low, high), Categorical(choices) or Bool(); "
    "a pair (low, high) of numbers is short for a Float, a list of strings for a Categorical"
)


def read_named(definition: Mapping[Any, Any]) -> dict[str, Any]:
    """Return the parameters of a named space, in the order given."""
    if not definition:
        raise SpaceError("The space is empty; give at least one parameter.")
    for name in definition:
        if not isinstance(name, str) or not name:
            raise SpaceError(f"A parameter's name must be a non-empty string, got {shown(name)}.")
    return {name: read_parameter(parameter, f"Parameter {name!r}") for name, parameter in definition.items()}


def read_parameter(definition: Any, label: str) -> Any:
    """Return a parameter as it is, or the one that a shorthand stands for."""
    if _is_parameter(definition):
        return definition
    try:
        if isinstance(definition, (list, tuple)) or getattr(definition, "ndim", 0) == 1:
            if len(definition) and all(isinstance(item, str) for item in definition):
                return Categorical(definition)
            if len(definition) == 2 and all(
                isinstance(item, Real) and not isinstance(item, bool) for item in definition
            ):
                return Float(*definition)
    except SpaceError as error:
        raise SpaceError(f"{label}: {error}") from None
    raise SpaceError(f"{label} must be a {_PARAMETER}; got {shown(definition)}.")


def read_box(definition: Any) -> Any:
    """Return the one anonymous vector parameter of a plain box."""
    if _is_parameter(definition):
        if definition.shape is None or not definition.is_numeric:
            raise SpaceError(f'A space of one parameter needs a name for it; write {{"x": {definition!r}}}.')
        return definition
    if hasattr(definition, "lb") and hasattr(definition, "ub"):  # a scipy.optimize.Bounds; saves importing it
        try:
            return Float(*np.broadcast_arrays(np.atleast_1d(definition.lb), np.atleast_1d(definition.ub)))
        except ValueError as error:
            if isinstance(error, SpaceError):
                raise
            shapes = f"{np.shape(definition.lb)} and {np.shape(definition.ub)}"
            raise SpaceError(f"Lower and upper bounds must have the same shape, got {shapes}.") from None
    has_order = isinstance(definition, Iterable) and not isinstance(definition, (str, bytes, Set))
    if not has_order or getattr(definition, "ndim", 1) == 0:
        raise SpaceError(f"A space must be {_ACCEPTED}, got {shown(definition)}.")
    pairs = definition if isinstance(definition, np.ndarray) else list(definition)
    if len(pairs) == 0:
        raise SpaceError("The space is empty; give at least one (low, high) pair.")
    try:
        bounds = array_of(pairs, "bounds")
    except SpaceError:  # of different lengths, or not of numbers
        bounds = np.empty(0)
    if len(pairs) == 2 and bounds.ndim == 2 and bounds.shape[1] > 2:
        raise SpaceError(
            f"Bounds must be one pair (low, high) per parameter, got two rows of {bounds.shape[1]}; "
            "write list(zip(lows, highs)), or scipy.optimize.Bounds(lows, highs)."
        )
    if bounds.dtype.kind not in "iuf" or bounds.shape != (len(pairs), 2):
        bounds = np.array([_pair(pair, f"bounds[{i}]") for i, pair in enumerate(pairs)])  # to find the culprit
    return Float(bounds[:, 0], bounds[:, 1])


def _pair(pair: Any, label: str) -> tuple[float, float]:
    """Return one (low, high) pair as floats."""
    if _is_parameter(pair):
        raise SpaceError(f"{label} must be a pair (low, high), got {pair!r}; parameters of other types need names.")
    try:
        low, high = pair
    except (TypeError, ValueError):
        hint = "; write [(low, high)] for a single parameter" if not hasattr(pair, "__len__") else ""
        raise SpaceError(f"{label} must be a pair (low, high), got {shown(pair)}{hint}.") from None
    return number(low, f"The lower bound of {label}"), number(high, f"The upper bound of {label}")


def _is_parameter(definition: Any) -> bool:
    return isinstance(definition, tuple(PARAMETERS.values()))
