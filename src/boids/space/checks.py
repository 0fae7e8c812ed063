"""Checks of what people hand in: numbers, bounds and shapes; one clear sentence for whatever is wrong."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boids.errors import SpaceError, shown
from boids.records import BoolArray, FloatArray, IntArray

#: Stands for every integer beyond what a space can hold; the difference of two has room in an int64.
_HUGE = 2**60
#: The longest vector, far beyond what can be searched: a slip of the pen should not fill the memory.
_LONGEST = 10**6


def floats(value: Any, label: str) -> FloatArray:
    """Return numbers as a new float array of any shape."""
    array = array_of(value, label)
    if array.ndim == 0:
        return np.array(number(scalar(value), label))
    if array.dtype.kind not in "iuf":
        raise SpaceError(f"{label} must hold numbers, got an array of {array.dtype}.")
    with np.errstate(over="ignore"):  # a long double beyond the range of a float becomes inf, and is refused
        return array.astype(float)


def number(value: Any, label: str) -> float:
    """Return one real number as a float."""
    is_real: bool = isinstance(value, Real) and not isinstance(value, bool)
    if not is_real:
        raise SpaceError(f"{label} must be numeric, got {shown(value)}.")
    try:
        return float(value)
    except OverflowError:  # an integer beyond the range of a float
        return math.inf if value > 0 else -math.inf


def integers(value: Any, label: str) -> IntArray:
    """Return whole numbers of any type as a new integer array of any shape; what is huge is cut to ±2^60."""
    array = array_of(value, label)
    if array.ndim == 0:
        return np.array(_integer(scalar(value), label))
    if array.dtype.kind not in "iuf":
        raise SpaceError(f"{label} must hold integers, got an array of {array.dtype}.")
    if array.dtype.kind == "f":
        broken = np.flatnonzero(~(np.isfinite(array) & (np.floor(array) == array)))
        if broken.size:
            i = int(broken[0])
            raise SpaceError(f"{label}[{i}] must be an integer, got {array.flat[i]}.")
        array = np.clip(array, -float(_HUGE), float(_HUGE))
    elif array.dtype.kind == "u":
        array = np.minimum(array.astype(np.uint64), np.uint64(_HUGE))
    return array.astype(np.int64)


def _integer(value: Any, label: str) -> int:
    whole: int | None = None
    if isinstance(value, Integral) and not isinstance(value, bool):
        whole = int(value)
    elif isinstance(value, Real) and not isinstance(value, bool):
        as_float = number(value, label)
        whole = int(as_float) if as_float.is_integer() else None
    if whole is None:
        raise SpaceError(f"{label} must be an integer, got {shown(value)}.")
    return min(max(whole, -_HUGE), _HUGE)


def truths(value: Any, label: str) -> BoolArray:
    """Return truth values, or numbers that are 0 or 1, as a new boolean array of any shape."""
    array = array_of(value, label)
    if array.dtype.kind not in "biuf" or not ((array == 0) | (array == 1)).all():
        raise SpaceError(f"{label} must be True or False{' throughout' if array.ndim else ''}, got {shown(value)}.")
    return array.astype(bool)


def check_shape(array: NDArray[Any], shape: int | None, label: str, noun: str) -> None:
    """Refuse a value that is not a scalar, or not a vector of the parameter's length."""
    if array.shape != (() if shape is None else (shape,)):
        article = "an" if noun[0] in "aeio" else "a"
        expected = f"{article} {noun}" if shape is None else f"{shape} {noun}s"
        raise SpaceError(f"{label} must be {expected}, got the shape {array.shape}.")


def check_inside(values: NDArray[Any], low: Any, high: Any, label: str) -> None:
    """Refuse values beyond their bounds, and nan; all three are scalars or vectors."""
    outside = np.flatnonzero(~((low <= values) & (values <= high)))  # written so that nan counts as outside
    if outside.size:
        i = int(outside[0])
        name = f"{label}[{i}]" if values.ndim else label
        least, most = np.atleast_1d(low)[i], np.atleast_1d(high)[i]
        raise SpaceError(f"{name} must lie in [{least}, {most}], got {values.flat[i]}.")


def read_shape(shape: Any) -> int | None:
    """Return the length of a vector given as an integer or a tuple of one; None for a scalar."""
    if shape is None:
        return None
    length = shape[0] if isinstance(shape, (tuple, list)) and len(shape) == 1 else shape
    if not isinstance(length, (int, np.integer)) or isinstance(length, (bool, np.timedelta64)) or length < 1:
        raise SpaceError(f"shape must be a positive integer (the length of a vector) or None, got {shown(shape)}.")
    if length > _LONGEST:
        raise SpaceError(f"shape must be at most {_LONGEST}, got {length}.")
    return int(length)


def read_flag(flag: Any, label: str) -> bool:
    """Return True or False."""
    if not isinstance(flag, (bool, np.bool_)):
        raise SpaceError(f"{label} must be True or False, got {shown(flag)}.")
    return bool(flag)


@dataclass(frozen=True, slots=True)
class Bounds:
    """Two bounds that have been read: 0-d arrays for a scalar, else vectors of a length."""

    low: NDArray[Any]
    high: NDArray[Any]
    length: int | None
    kind: str

    def require(self, holds: Any, condition: str, remedy: str) -> None:
        """Refuse the bounds, and name the first pair for which a condition does not hold."""
        wrong = np.flatnonzero(~holds)
        if wrong.size:
            i = int(wrong[0])
            name = self.kind if self.length is None else f"bounds[{i}]"
            pair = (self.low.flat[i].item(), self.high.flat[i].item())
            raise SpaceError(f"{name} must have {condition}, got {pair}; {remedy}.")


def read_bounds(low: NDArray[Any], high: NDArray[Any], shape: Any, kind: str) -> Bounds:
    """Return bounds that are finite and in order; a scalar is repeated if anything makes the parameter a vector."""
    length = read_shape(shape)
    lengths = {array.size for array in (low, high) if array.ndim}
    if max(low.ndim, high.ndim) > 1 or 0 in lengths or len(lengths) > 1:
        raise SpaceError(
            "The bounds must be two numbers or two arrays of the same length, "
            f"got the shapes {low.shape} and {high.shape}."
        )
    if lengths and length not in (None, *lengths):
        raise SpaceError(f"shape={length} does not fit {lengths.pop()} bounds; leave shape out.")
    length = lengths.pop() if lengths else length
    if length is not None:
        low, high = (np.array(np.broadcast_to(array, length)) for array in (low, high))
    bounds = Bounds(low, high, length, kind)
    bounds.require(np.isfinite(low) & np.isfinite(high), "two finite bounds", "boids searches a bounded box")
    bounds.require(low != high, "low < high", "leave out a parameter that is fixed")
    bounds.require(low < high, "low < high", "swap the two")
    return bounds


def scalar(value: Any) -> Any:
    """Return what a NumPy scalar or a 0-d array of any library holds; everything else as it is."""
    if not hasattr(value, "__array__"):
        return value
    array = array_of(value, "A value")
    return array.item() if array.ndim == 0 else value


def shorten(names: Iterable[Any], limit: int = 5) -> str:
    """Return a list of names for an error message, cut after a few."""
    names = list(names)
    more = f" and {len(names) - limit} more" if len(names) > limit else ""
    return ", ".join(shown(name, 60) for name in names[:limit]) + more


def array_of(value: Any, label: str) -> NDArray[Any]:
    """Return whatever NumPy makes of a value; what is masked is nan."""
    try:
        with np.errstate(all="ignore"):
            return np.asarray(value if np.ma.getmask(value) is np.ma.nomask else np.ma.filled(value, np.nan))
    except ValueError:  # lists of different lengths
        raise SpaceError(f"{label} must hold numbers, got lists of different lengths.") from None
    except Exception:  # a number that no float can hold, or an object of another library that refuses
        raise SpaceError(f"{label} must hold numbers, got {shown(value)}.") from None
