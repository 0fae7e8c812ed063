"""The types of parameters: numbers and truth values here, choices in `categorical`; all of them in `PARAMETERS`.

======  =====================================================================  ==========
symbol  meaning                                                                shape
======  =====================================================================  ==========
n       number of components: 1, or the length of a vector parameter
c       one number per component: the value, or the index of a choice          (n,)
q       number of points that are read together
======  =====================================================================  ==========

A parameter turns the user's values into numbers c and back, and names the codec that gives these numbers their
coordinates in the signed cube. A further type is one more class with the members of `Parameter`, and one more entry
in `PARAMETERS`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from boids.records import FloatArray, IntArray
from boids.space import checks, codecs
from boids.space.categorical import Categorical
from boids.space.codecs import Codec


class Parameter(Protocol):
    """What a parameter type must offer."""

    #: The type's name in manifests and files.
    kind: ClassVar[str]
    #: Whether the numbers c mean something to the user, as those of a choice's index do not.
    is_numeric: ClassVar[bool]

    @property
    def shape(self) -> int | None:
        """The length of a vector, None for a scalar."""

    @property
    def suffixes(self) -> Sequence[str]:
        """What to add to a component's name for each of its coordinates."""

    @property
    def codec(self) -> Codec:
        """How the numbers c become coordinates."""

    def numbers(self, value: Any, label: str) -> FloatArray:
        """Return c (n,) of a value of the user; `label` names the parameter in errors."""

    def value(self, numbers: FloatArray) -> Any:
        """Return the user's value of numbers (n,), or the q values of a matrix (q, n)."""

    def to_manifest(self) -> dict[str, Any]:
        """Return the JSON-able keyword arguments that make the parameter again."""


@final
@dataclass(frozen=True, init=False, eq=False, repr=False, slots=True)
class Float:
    """A real parameter between two finite bounds, both included.

    Values are floats; those of a vector are float64 arrays.

    Parameters
    ----------
    low, high
        The bounds. Arrays make a vector parameter with bounds of their own for each component.
    log
        Whether to search on a logarithmic scale; the bounds must be positive.
    shape
        The length of a vector whose components share their bounds.

    Examples
    --------
    >>> Float(0, 1)
    Float(0.0, 1.0)
    >>> Float(1e-5, 1, log=True)
    Float(1e-05, 1.0, log=True)
    >>> Float(-1, 1, shape=40)
    Float(-1.0, 1.0, shape=40)
    """

    low: float | FloatArray
    high: float | FloatArray
    log: bool
    shape: int | None

    kind: ClassVar[str] = "float"
    is_numeric: ClassVar[bool] = True
    suffixes: ClassVar[tuple[str]] = ("",)

    def __init__(
        self, low: ArrayLike, high: ArrayLike, *, log: bool = False, shape: int | tuple[int] | None = None
    ) -> None:
        lows, highs = checks.floats(low, "The lower bound"), checks.floats(high, "The upper bound")
        bounds = checks.read_bounds(lows, highs, shape, "Float")
        if checks.read_flag(log, "log"):
            bounds.require(bounds.low > 0.0, "low > 0 for a log scale", "give a small positive bound or leave log out")
            with np.errstate(over="ignore"):
                bounds.require(
                    np.isfinite(bounds.high / bounds.low), "high / low < 1.8e308 for a log scale", "raise low"
                )
        _fill(self, low=_owned(bounds.low), high=_owned(bounds.high), log=bool(log), shape=bounds.length)

    def __repr__(self) -> str:
        return _with_bounds(self)

    def __eq__(self, other: object) -> bool:
        return _identity(self) == _identity(other) if isinstance(other, Float) else NotImplemented

    def __hash__(self) -> int:
        return hash(_identity(self))

    @property
    def codec(self) -> Codec:
        """Uniform in the value or in its logarithm."""
        low, high = np.atleast_1d(self.low, self.high)
        return codecs.LogInterval(low, high) if self.log else codecs.Interval(low, high)

    def numbers(self, value: Any, label: str) -> FloatArray:
        """Return the values themselves; those out of bounds are refused."""
        array = checks.floats(value, label)
        checks.check_shape(array, self.shape, label, "number")
        checks.check_inside(array, self.low, self.high, label)
        return np.atleast_1d(array)

    def value(self, numbers: FloatArray) -> Any:
        """Return a float or an array of floats."""
        return _plain(numbers, self.shape, float, np.float64)

    def to_manifest(self) -> dict[str, Any]:
        """Return the bounds, and what is not at its default."""
        return _bounds_manifest(self)


@final
@dataclass(frozen=True, init=False, eq=False, repr=False, slots=True)
class Int:
    """An integer between two bounds, both included.

    Values are ints; those of a vector are int64 arrays. Uniform points of the cube give every integer the same
    probability or, on a log scale, that of the interval from k - 1/2 to k + 1/2 under a log-uniform distribution.

    Parameters
    ----------
    low, high
        The bounds, up to 2^53 in size; arrays make a vector parameter.
    log
        Whether to search on a logarithmic scale; the bounds must then lie between 1 and 2^48, because the floats of
        the cube are too coarse to tell larger integers apart.
    shape
        The length of a vector whose components share their bounds.

    Examples
    --------
    >>> Int(1, 100, log=True)
    Int(1, 100, log=True)
    """

    low: int | IntArray
    high: int | IntArray
    log: bool
    shape: int | None

    kind: ClassVar[str] = "int"
    is_numeric: ClassVar[bool] = True
    suffixes: ClassVar[tuple[str]] = ("",)

    def __init__(
        self, low: ArrayLike, high: ArrayLike, *, log: bool = False, shape: int | tuple[int] | None = None
    ) -> None:
        lows, highs = checks.integers(low, "The lower bound"), checks.integers(high, "The upper bound")
        bounds = checks.read_bounds(lows, highs, shape, "Int")
        if checks.read_flag(log, "log"):
            bounds.require(bounds.low >= 1, "low >= 1 for a log scale", "raise it or leave log out")
            bounds.require(
                bounds.high <= codecs.LARGEST_LOG_INT, "high <= 2**48 for a log scale", "lower it or leave log out"
            )
        largest = np.maximum(np.abs(bounds.low), np.abs(bounds.high))
        bounds.require(largest <= codecs.LARGEST_INT, "bounds within ±2**53", "use a Float")
        bounds.require(bounds.high - bounds.low < codecs.LARGEST_INT, "at most 2**53 integers", "use a Float")
        _fill(self, low=_owned(bounds.low), high=_owned(bounds.high), log=bool(log), shape=bounds.length)

    def __repr__(self) -> str:
        return _with_bounds(self)

    def __eq__(self, other: object) -> bool:
        return _identity(self) == _identity(other) if isinstance(other, Int) else NotImplemented

    def __hash__(self) -> int:
        return hash(_identity(self))

    @property
    def codec(self) -> Codec:
        """Cells that are equal in the value or in its logarithm."""
        low, high = np.atleast_1d(np.asarray(self.low, dtype=float), np.asarray(self.high, dtype=float))
        return codecs.LogCells(low, high) if self.log else codecs.Cells(low, high)

    def numbers(self, value: Any, label: str) -> FloatArray:
        """Return the values themselves; what is broken or out of bounds is refused."""
        array = checks.integers(value, label)
        checks.check_shape(array, self.shape, label, "integer")
        checks.check_inside(array, self.low, self.high, label)
        return np.atleast_1d(array).astype(float)

    def value(self, numbers: FloatArray) -> Any:
        """Return an int or an array of integers."""
        return _plain(numbers, self.shape, int, np.int64)

    def to_manifest(self) -> dict[str, Any]:
        """Return the bounds, and what is not at its default."""
        return _bounds_manifest(self)


@final
@dataclass(frozen=True, init=False, slots=True)
class Bool:
    """True or False.

    Values are bools; those of a vector are boolean arrays. 0 and 1 are understood, too.

    Parameters
    ----------
    shape
        The length of a vector.

    Examples
    --------
    >>> Bool(shape=3)
    Bool(shape=3)
    """

    shape: int | None

    kind: ClassVar[str] = "bool"
    is_numeric: ClassVar[bool] = True
    suffixes: ClassVar[tuple[str]] = ("",)

    def __init__(self, *, shape: int | tuple[int] | None = None) -> None:
        _fill(self, shape=checks.read_shape(shape))

    def __repr__(self) -> str:
        return "Bool()" if self.shape is None else f"Bool(shape={self.shape})"

    @property
    def codec(self) -> Codec:
        """The sign of one coordinate each."""
        return codecs.Signs(self.shape or 1)

    def numbers(self, value: Any, label: str) -> FloatArray:
        """Return 0 for False and 1 for True."""
        array = checks.truths(value, label)
        checks.check_shape(array, self.shape, label, "truth value")
        return np.atleast_1d(array).astype(float)

    def value(self, numbers: FloatArray) -> Any:
        """Return a bool or an array of them."""
        return _plain(numbers, self.shape, bool, np.bool_)

    def to_manifest(self) -> dict[str, Any]:
        """Return the shape of a vector."""
        return {} if self.shape is None else {"shape": self.shape}


#: All types, by the name they have in manifests and files.
PARAMETERS: dict[str, type[Any]] = {each.kind: each for each in (Float, Int, Categorical, Bool)}


def _plain(numbers: FloatArray, shape: int | None, kind: type[Any], dtype: type[np.generic]) -> Any:
    """Return numbers (n,) or (q, n) as a Python scalar, or as a contiguous array that is the caller's own."""
    if shape is not None:
        return numbers.astype(dtype)
    return kind(numbers.item(0)) if numbers.ndim == 1 else numbers[:, 0].astype(dtype)


def _fill(parameter: Any, **fields: Any) -> None:
    for name, value in fields.items():
        object.__setattr__(parameter, name, value)


def _owned(bound: NDArray[Any]) -> Any:
    """Return a bound as a Python number or as an array that cannot be written to."""
    bound.setflags(write=False)
    return bound if bound.ndim else bound.item()


def _bounds_manifest(parameter: Float | Int) -> dict[str, Any]:
    low, high = np.asarray(parameter.low), np.asarray(parameter.high)
    if parameter.shape is not None and (low == low[0]).all() and (high == high[0]).all():
        manifest = {"low": low[0].item(), "high": high[0].item(), "shape": parameter.shape}
    else:
        manifest = {"low": low.tolist(), "high": high.tolist()}
    return {**manifest, "log": True} if parameter.log else manifest


def _with_bounds(parameter: Float | Int) -> str:
    """Return the text that makes the parameter again, or a short one for a vector with many bounds."""
    manifest = _bounds_manifest(parameter)
    is_long = isinstance(manifest["low"], list)
    bounds = [f"<{parameter.shape} {end}s>" if is_long else repr(manifest[end]) for end in ("low", "high")]
    options = [f"{key}={manifest[key]}" for key in ("log", "shape") if key in manifest]
    return f"{type(parameter).__name__}({', '.join([*bounds, *options])})"


def _identity(parameter: Float | Int) -> tuple[Any, ...]:
    low, high = np.asarray(parameter.low), np.asarray(parameter.high)
    return (parameter.shape, parameter.log, *low.ravel().tolist(), *high.ravel().tolist())
