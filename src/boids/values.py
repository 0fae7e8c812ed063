"""Read numbers that people hand in: the limits of a run, and what came out of an evaluation."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from boids.errors import TellError
from boids.records import FAILED


def positive_int(value: Any, name: str) -> int:
    """Return an integer of at least 1; floats are refused, also whole ones."""
    if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < 1:
        raise ValueError(f"{name} must be an integer of at least 1, got {value!r}.")
    return int(value)


def real_number(value: Any, name: str) -> float:
    """Return a real number that is not nan."""
    is_real = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
    if not is_real or math.isnan(value):
        raise ValueError(f"{name} must be a number, got {value!r}.")
    return float(value)


def read_value(value: Any) -> tuple[float, str | None]:
    """Return the value as a float, and None or the reason why it counts as a failure.

    Numbers of any kind will do, and whatever NumPy takes for an array of one number. Everything else is a
    `TellError`: a mistake in the caller's code, rather than an evaluation that failed.
    """
    if value is FAILED:
        return math.nan, "The evaluation was reported as failed."
    number = _number(value)
    if math.isfinite(number):
        return number, None
    return math.nan, f"The value is {number}, not a finite number."


def describe_error(error: Any) -> str:
    """Return the reason for a failure, given as text or as an exception."""
    if isinstance(error, BaseException):
        return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    if isinstance(error, str):
        return error or "The evaluation failed."
    raise TellError(f"An error must be a string or an exception, got {error!r}.")


def _number(value: Any) -> float:
    if np.ma.is_masked(value):  # NumPy would read the number behind the mask
        return math.nan
    if isinstance(value, (str, bytes)):
        raise _not_a_number(value)
    if hasattr(value, "__array__"):
        array = np.asarray(value)
        if array.size != 1 or array.dtype.kind not in "biuf":
            raise _not_a_number(value)
        return float(array.item())
    try:
        return float(value)
    except OverflowError:  # an integer beyond the range of a float
        return math.inf if value > 0 else -math.inf
    except (TypeError, ValueError):
        raise _not_a_number(value) from None


def _not_a_number(value: Any) -> TellError:
    if isinstance(value, np.ndarray):
        got = f"an array of shape {value.shape} and type {value.dtype}"
    else:
        shown = repr(value)
        got = f"{type(value).__name__} {shown if len(shown) <= 60 else shown[:57] + '...'}"
    return TellError(f"The value must be one real number, or boids.FAILED for an evaluation that failed; got {got}.")
