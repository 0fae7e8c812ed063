"""Read numbers that people hand in: the limits of a run, and what came out of an evaluation."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from boids.errors import EvaluationError, TellError, shown
from boids.records import FAILED, Measurement

#: What an evaluation is asked for; it alone may fail to come.
_VALUE = "The value"


def positive_int(value: Any, name: str) -> int:
    """Return an integer of at least 1; floats are refused, also whole ones."""
    if not is_integer(value) or value < 1:
        raise ValueError(f"{name} must be an integer of at least 1, got {shown(value)}.")
    return int(value)


def is_integer(value: Any) -> bool:
    """Whether a value is a whole number by its type; bools and NumPy's spans of time only look like one."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, (bool, np.timedelta64))


def real_number(value: Any, name: str) -> float:
    """Return a real number that is not nan."""
    if not (is_integer(value) or isinstance(value, (float, np.floating))) or math.isnan(number := _as_float(value)):
        raise ValueError(f"{name} must be a number, got {shown(value)}.")
    return number


def _as_float(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:  # an integer beyond the range of a float
        return math.inf if value > 0 else -math.inf


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


@final
@dataclass(frozen=True, slots=True)
class Reading:
    """What came out of an evaluation, checked.

    Attributes
    ----------
    value
        nan exactly if the evaluation failed.
    constraints
        One number per black-box constraint; nan if the evaluation failed.
    noise_variance
        nan if unknown.
    error
        Why the evaluation failed.
    """

    value: float
    constraints: tuple[float, ...] = ()
    noise_variance: float = math.nan
    error: str | None = None

    @classmethod
    def failed(cls, error: str, n_constraints: int) -> Reading:
        """Return the reading of an evaluation that failed."""
        return cls(math.nan, (math.nan,) * n_constraints, error=error)


def read_outcome(value: Any, constraints: Any = None, noise_variance: Any = None, *, n_constraints: int = 0) -> Reading:
    """Return what an objective returned, or a caller told, as a `Reading`.

    `value` may be a number, a pair ``(value, [c1, …])`` if there are constraints, or a `Measurement`. A value or a
    constraint that is nan or infinite is a failed evaluation; what cannot be read at all is a `TellError`.
    """
    if isinstance(value, Measurement):
        value, constraints, noise_variance = (
            value.value,
            constraints if constraints is not None else _given(value.constraints),
            noise_variance if noise_variance is not None else value.noise_variance,
        )
    elif n_constraints and constraints is None and isinstance(value, (tuple, list)) and len(value) == 2:
        value, constraints = value
    elif (
        not n_constraints and isinstance(value, tuple) and len(value) == 2 and isinstance(value[1], (list, np.ndarray))
    ):
        raise TellError("A value came with constraints, but the run has none; say how many with n_constraints.")
    number, error = read_value(value)
    if error is not None:
        return Reading.failed(error, n_constraints)
    noise = _noise_variance(noise_variance)
    read = _constraints(constraints, n_constraints)
    broken = [i for i, each in enumerate(read) if not math.isfinite(each)]
    if broken:
        which = f"Constraint {broken[0] + 1} of {n_constraints}"
        return Reading.failed(f"{which} is {read[broken[0]]}, not a finite number.", n_constraints)
    return Reading(number, read, noise)


def _constraints(constraints: Any, expected: int) -> tuple[float, ...]:
    """Return the constraints' values as floats."""
    if constraints is None:
        if not expected:
            return ()
        raise TellError(
            f"The run has {_counted(expected)}, but no values came for them; return (value, [c1, …]), "
            "or tell(trial, value, constraints=[c1, …])."
        )
    if isinstance(constraints, (str, bytes, dict, set)):
        raise TellError(f"Constraints must be a list of {expected} numbers, got {type(constraints).__name__}.")
    try:
        is_list = isinstance(constraints, (list, tuple)) or np.ndim(constraints) > 0
        items = list(constraints) if is_list else [constraints]
    except Exception:  # it may be an object of any library
        raise TellError(f"Constraints must be a list of {expected} numbers, got {shown(constraints)}.") from None
    if len(items) != expected:
        hint = ""
        if not expected:
            hint = "; say so with n_constraints"
        elif items:
            hint = f"; return one value for each, or say n_constraints={len(items)}"
        raise TellError(f"The run has {_counted(expected)}, but {len(items)} came{hint}.")
    return tuple(_constraint(item, i) for i, item in enumerate(items, start=1))


def _constraint(value: Any, place: int) -> float:
    try:
        return math.nan if value is FAILED else _number(value)
    except TellError:
        raise TellError(f"Constraint {place} must be one real number, got {shown(value)}.") from None


def _given(constraints: Any) -> Any:
    """Return the constraints of a measurement, None if there are none; they may be an array."""
    return None if isinstance(constraints, (tuple, list)) and not constraints else constraints


def _counted(constraints: int) -> str:
    return "1 constraint" if constraints == 1 else f"{constraints} constraints"


def _noise_variance(variance: Any) -> float:
    if variance is None:
        return math.nan
    number = _number(variance, "A noise variance")
    if not 0.0 <= number < math.inf:
        raise TellError(f"A noise variance must be a finite number of at least 0, got {number}.")
    return number


def describe_error(error: Any) -> str:
    """Return the reason for a failure, given as text or as an exception."""
    if isinstance(error, EvaluationError):
        return str(error)  # a sentence that says it all
    if isinstance(error, BaseException):
        name = type(error).__name__
        try:
            return f"{name}: {error}" if str(error) else f"{name}{_where(error)}"
        except Exception:  # an exception that cannot be printed
            return name
    if isinstance(error, str):
        return error or "The evaluation failed."
    raise TellError(f"An error must be a string or an exception, got {shown(error)}.")


def _where(error: BaseException) -> str:
    """Say where an exception comes from that says nothing itself, as a bare `assert` does."""
    last = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    return "" if last is None else f" ({os.path.basename(last.tb_frame.f_code.co_filename)}, line {last.tb_lineno})"


def _number(value: Any, what: str = _VALUE) -> float:
    if np.ma.is_masked(value):  # NumPy would read the number behind the mask
        return math.nan
    if isinstance(value, (str, bytes)):
        raise _not_a_number(value, what)
    if hasattr(value, "__array__"):
        try:
            array = np.asarray(value)
        except Exception as error:  # a tensor that keeps its gradient, or lives on another device
            raise _not_a_number(value, what, error) from None
        if array.size != 1 or array.dtype.kind not in "biuf":
            raise _not_a_number(value, what)
        return float(array.item())
    try:
        return _as_float(value)
    except Exception:  # the value may be an object of any library
        raise _not_a_number(value, what) from None


def _not_a_number(value: Any, what: str, error: Exception | None = None) -> TellError:
    if isinstance(value, np.ndarray):
        got = f"an array of shape {value.shape} and type {value.dtype}"
    else:
        got = f"{type(value).__name__} {shown(value, 60)}"
    if error is not None:
        got = f"{got}, which cannot be converted ({shown(describe_error(error))})"
    or_failed = ", or boids.FAILED for an evaluation that failed" if what == _VALUE else ""
    return TellError(f"{what} must be one real number{or_failed}; got {got}.")
