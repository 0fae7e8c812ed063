"""Search spaces, the only file that knows parameter types: the user's values to the signed cube and back.

======  =============================================================  ===================
symbol  meaning                                                        shape
======  =============================================================  ===================
D       number of encoded coordinates, ``space.dim``
u       point of the signed cube [-1, 1]^D, called ``unit``            (D,)
t       the same point in [0, 1]^D, t = (u + 1) / 2                    (D,)
x       point in the user's units, called ``params``                   (D,) array, or dict
q       number of points that are decoded together
======  =============================================================  ===================

A space is a sequence of parameters, each of which owns a block of coordinates of u. A plain box is *one*
anonymous vector parameter, so that a thousand bounds cost one object and one vectorised operation. A further
parameter type is one more class with the members of `Parameter`, and one more entry in `_PARAMETERS`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from typing import Any, ClassVar, Protocol, final

import numpy as np

from boids.errors import SpaceError
from boids.records import FloatArray

_ACCEPTED = "a list of (low, high) pairs, a scipy.optimize.Bounds, or a dict {name: boids.Float(low, high)}"


class Parameter(Protocol):
    """What a parameter type must offer."""

    #: The type's name in a manifest.
    kind: ClassVar[str]

    @property
    def width(self) -> int:
        """Number of coordinates of u that the parameter owns."""

    def decode(self, block: FloatArray) -> Any:
        """Return the value for one block (width,), or an array with q values for a (q, width) matrix."""

    def encode(self, value: Any, label: str) -> FloatArray:
        """Return the block (width,) of a value; `label` names the parameter in errors."""

    def to_manifest(self) -> dict[str, Any]:
        """Return the JSON-able keyword arguments that make the parameter again."""


@final
@dataclass(frozen=True, slots=True, eq=False)
class Float:
    """A real parameter between two finite bounds, both included.

    Parameters
    ----------
    low, high
        The bounds. Two numbers make a scalar; two arrays of the same length make a vector parameter.

    Examples
    --------
    >>> Float(0, 1)
    Float(0.0, 1.0)
    """

    low: float | FloatArray
    high: float | FloatArray

    kind: ClassVar[str] = "float"

    def __post_init__(self) -> None:
        low, high = _bounds_of(self.low, self.high)
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)

    def __repr__(self) -> str:
        if self.is_scalar:
            return f"Float({self.low!r}, {self.high!r})"
        return f"Float(<{self.width} lows>, <{self.width} highs>)"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Float):
            return NotImplemented
        return np.array_equal(self.low, other.low) and np.array_equal(self.high, other.high)

    def __hash__(self) -> int:
        return hash((*np.atleast_1d(self.low).tolist(), *np.atleast_1d(self.high).tolist()))

    @property
    def is_scalar(self) -> bool:
        """Whether the value is a number, not an array."""
        return isinstance(self.low, float)

    @property
    def width(self) -> int:
        """One coordinate per component."""
        return 1 if isinstance(self.low, float) else len(self.low)

    def decode(self, block: FloatArray) -> Any:
        """Return low (1 - t) + high t, a form that hits both bounds exactly and never overflows."""
        # A single number goes without NumPy, whose overhead tells in a space of hundreds of names.
        u: Any = block if not self.is_scalar else float(block[0]) if block.ndim == 1 else block[:, 0]
        t = 0.5 * (u + 1.0)
        value = self.low * (1.0 - t) + self.high * t
        # The roundings of the sum may step over a bound by one unit in the last place.
        if isinstance(value, float):
            return min(max(value, self.low), self.high)
        return np.clip(value, self.low, self.high)

    def encode(self, value: Any, label: str) -> FloatArray:
        """Return u = ((x - low) - (high - x)) / (high - low), which is exactly -1 and 1 at the bounds."""
        x = _floats(value, label)
        if x.shape != np.shape(self.low):
            expected = "a number" if self.is_scalar else f"{self.width} numbers"
            raise SpaceError(f"{label} must be {expected}, got the shape {x.shape}.")
        x, low, high = np.atleast_1d(x, self.low, self.high)
        outside = np.flatnonzero(~((low <= x) & (x <= high)))  # written so that nan counts as outside
        if outside.size:
            i = int(outside[0])
            name = label if self.is_scalar else f"{label}[{i}]"
            raise SpaceError(f"{name} must lie in [{low[i]}, {high[i]}], got {x[i]}.")
        # high - low overflows for bounds near the largest float; a quarter of numbers that large is exact.
        scale = np.where(np.maximum(np.abs(low), np.abs(high)) > 1e300, 0.25, 1.0)
        low, high, x = low * scale, high * scale, x * scale
        unit: FloatArray = np.clip(((x - low) - (high - x)) / (high - low), -1.0, 1.0)
        return unit

    def to_manifest(self) -> dict[str, Any]:
        """Return the bounds as numbers or lists."""
        return {"low": np.asarray(self.low).tolist(), "high": np.asarray(self.high).tolist()}


_PARAMETERS: dict[str, type[Any]] = {Float.kind: Float}


@final
class Space:
    """A search space: a plain box whose points are arrays, or named parameters whose points are dicts.

    Parameters
    ----------
    definition
        A list of ``(low, high)`` pairs, a (D, 2) array, a `scipy.optimize.Bounds`, or a dict from names to
        parameters such as `Float`.

    Examples
    --------
    >>> Space([(-5, 5)] * 100).dim
    100
    >>> Space({"rate": Float(0, 1), "depth": Float(2, 8)}).decode([-1, 1])
    {'rate': 0.0, 'depth': 8.0}
    """

    def __init__(self, definition: Any) -> None:
        self._parameters: dict[str, Any]
        self._named = isinstance(definition, Mapping)
        if self._named:
            self._parameters = _check_named(definition)
        else:
            self._parameters = {"x": _box(definition)}

    @classmethod
    def of(cls, definition: Any) -> Space:
        """Return `definition` itself if it is a space already, else the space it defines."""
        return definition if isinstance(definition, Space) else cls(definition)

    def __repr__(self) -> str:
        if not self._named:
            return f"Space(<{self.dim} bounds>)"
        shown = [f"{name!r}: {parameter!r}" for name, parameter in list(self._parameters.items())[:8]]
        more = len(self._parameters) - len(shown)
        return "Space({" + ", ".join(shown) + (f", … {more} more" if more else "") + "})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Space):
            return NotImplemented
        # The order of the parameters decides which coordinates they own, so it belongs to the identity.
        mine, theirs = list(self._parameters.items()), list(other._parameters.items())
        return self._named == other._named and mine == theirs

    def __hash__(self) -> int:
        return hash((self._named, tuple(self._parameters.items())))

    @property
    def is_named(self) -> bool:
        """Whether points are dicts."""
        return self._named

    @property
    def names(self) -> tuple[str, ...]:
        """The parameters' names, in order; empty for a plain box."""
        return tuple(self._parameters) if self._named else ()

    @cached_property
    def dim(self) -> int:
        """D, the number of encoded coordinates."""
        return sum(parameter.width for parameter in self._parameters.values())

    @cached_property
    def low(self) -> FloatArray:
        """The lower bounds of all coordinates, (D,)."""
        return np.concatenate([np.atleast_1d(p.low) for p in self._parameters.values()])

    @cached_property
    def high(self) -> FloatArray:
        """The upper bounds of all coordinates, (D,)."""
        return np.concatenate([np.atleast_1d(p.high) for p in self._parameters.values()])

    def decode(self, unit: Any) -> Any:
        """Return the point x of u (D,): an array for a plain box, a dict for a named space."""
        return self._decode(self._units(unit, ndim=1))

    def decode_many(self, units: Any) -> Any:
        """Return the points of (q, D) units: a (q, D) array, or for a named space a dict of arrays."""
        return self._decode(self._units(units, ndim=2))

    def encode(self, params: Any) -> FloatArray:
        """Return u (D,) of a point in the user's units; points outside the space are refused."""
        if not self._named:
            block: FloatArray = self._parameters["x"].encode(params, "x")
            return block
        if not isinstance(params, Mapping):
            raise SpaceError(
                f"A point of this space must be a dict with the names {_shorten(self.names)}, "
                f"got {type(params).__name__}."
            )
        missing = [name for name in self._parameters if name not in params]
        if missing:
            raise SpaceError(f"The point has no value for {_shorten(missing)}; give every parameter one.")
        unknown = [name for name in params if name not in self._parameters]
        if unknown:
            raise SpaceError(f"The point has a value for {_shorten(unknown)}, which the space does not have.")
        return np.concatenate([p.encode(params[name], repr(name)) for name, p in self._parameters.items()])

    def to_manifest(self) -> dict[str, Any]:
        """Return a JSON-able description from which `from_manifest` makes an equal space."""
        parameters = [
            {"name": name, "kind": parameter.kind, **parameter.to_manifest()}
            for name, parameter in self._parameters.items()
        ]
        return {"named": self._named, "parameters": parameters}

    @classmethod
    def from_manifest(cls, manifest: Any) -> Space:
        """Return the space that `to_manifest` described."""
        try:
            parameters = {}
            for entry in manifest["parameters"]:
                arguments = {key: value for key, value in entry.items() if key not in ("name", "kind")}
                parameters[entry["name"]] = _PARAMETERS[entry["kind"]](**arguments)
            return cls(parameters if manifest["named"] else parameters["x"])
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            reason = f"{type(error).__name__}: {error}"
            raise SpaceError(f"This is not the description of a space ({reason}).") from None

    def _decode(self, units: FloatArray) -> Any:
        values, start = {}, 0
        for name, parameter in self._parameters.items():
            values[name] = parameter.decode(units[..., start : start + parameter.width])
            start += parameter.width
        return values if self._named else values["x"]

    def _units(self, units: Any, ndim: int) -> FloatArray:
        """Check the shape of u, and clip what rounding may have pushed out of the cube."""
        array = _floats(units, "u")
        if array.ndim != ndim or array.shape[-1] != self.dim:
            expected = f"({self.dim},)" if ndim == 1 else f"(q, {self.dim})"
            raise SpaceError(f"Points of the cube must have the shape {expected}, got {array.shape}.")
        if not np.isfinite(array).all():
            raise SpaceError("Points of the cube must be finite, got nan or inf.")
        clipped: FloatArray = np.clip(array, -1.0, 1.0)
        return clipped


def _check_named(definition: Mapping[Any, Any]) -> dict[str, Any]:
    """Return the parameters of a named space, in the order given."""
    if not definition:
        raise SpaceError("The space is empty; give at least one parameter.")
    for name, parameter in definition.items():
        if not isinstance(name, str) or not name:
            raise SpaceError(f"A parameter's name must be a non-empty string, got {name!r}.")
        if not isinstance(parameter, tuple(_PARAMETERS.values())):
            raise SpaceError(f"Parameter {name!r} must be a boids.Float(low, high), got {parameter!r}.")
    return dict(definition)


def _box(definition: Any) -> Any:
    """Return the one anonymous vector parameter of a plain box."""
    if isinstance(definition, tuple(_PARAMETERS.values())):
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
        raise SpaceError(f"A space must be {_ACCEPTED}, got {definition!r}.")
    pairs = definition if isinstance(definition, np.ndarray) else list(definition)
    if len(pairs) == 0:
        raise SpaceError("The space is empty; give at least one (low, high) pair.")
    try:
        bounds = np.asarray(pairs)
    except ValueError:  # of different lengths
        bounds = np.empty(0)
    if bounds.dtype.kind not in "iuf" or bounds.shape != (len(pairs), 2):
        bounds = np.array([_pair(pair, f"bounds[{i}]") for i, pair in enumerate(pairs)])  # to find the culprit
    return Float(bounds[:, 0], bounds[:, 1])


def _pair(pair: Any, label: str) -> tuple[float, float]:
    """Return one (low, high) pair as floats."""
    try:
        low, high = pair
    except (TypeError, ValueError):
        hint = "; write [(low, high)] for a single parameter" if np.ndim(pair) == 0 else ""
        raise SpaceError(f"{label} must be a pair (low, high), got {pair!r}{hint}.") from None
    return _number(low, f"The lower bound of {label}"), _number(high, f"The upper bound of {label}")


def _bounds_of(low: Any, high: Any) -> tuple[Any, Any]:
    """Return both bounds checked, as two floats or two read-only arrays."""
    lows, highs = _floats(low, "The lower bound"), _floats(high, "The upper bound")
    if lows.shape != highs.shape or lows.ndim > 1 or lows.size == 0:
        raise SpaceError(
            "The bounds must be two numbers or two arrays of the same length, "
            f"got the shapes {lows.shape} and {highs.shape}."
        )
    wrong = np.flatnonzero(~(np.isfinite(lows) & np.isfinite(highs) & (lows < highs)))
    if wrong.size:
        i = int(wrong[0])
        name = f"bounds[{i}]" if lows.ndim else "Float"
        pair = (float(lows.flat[i]), float(highs.flat[i]))
        if not np.isfinite(pair).all():
            raise SpaceError(f"{name} must have two finite bounds, got {pair}; boids searches a bounded box.")
        remedy = "leave out a parameter that is fixed" if pair[0] == pair[1] else "swap the two"
        raise SpaceError(f"{name} must have low < high, got {pair}; {remedy}.")
    if lows.ndim == 0:
        return float(lows), float(highs)
    lows.setflags(write=False)
    highs.setflags(write=False)
    return lows, highs


def _floats(value: Any, label: str) -> FloatArray:
    """Return numbers as a new float array of any shape."""
    try:
        array = np.asarray(value)
    except ValueError:  # lists of different lengths
        raise SpaceError(f"{label} must hold numbers, got lists of different lengths.") from None
    if array.ndim == 0:
        return np.array(_number(array[()] if isinstance(value, np.ndarray) else value, label))
    if array.dtype.kind not in "iuf":
        raise SpaceError(f"{label} must hold numbers, got an array of {array.dtype}.")
    with np.errstate(over="ignore"):  # a long double beyond the range of a float becomes inf, and is refused
        return array.astype(float)


def _number(value: Any, label: str) -> float:
    """Return one real number as a float."""
    if not isinstance(value, Real) or isinstance(value, bool):
        raise SpaceError(f"{label} must be numeric, got {value!r}.")
    try:
        return float(value)
    except OverflowError:  # an integer beyond the range of a float
        return math.inf


def _shorten(names: Iterable[Any], limit: int = 5) -> str:
    """Return a list of names for an error message, cut after a few."""
    names = list(names)
    more = f" and {len(names) - limit} more" if len(names) > limit else ""
    return ", ".join(repr(name) for name in names[:limit]) + more
