"""What people may give as linear constraints, read into inequalities over the natural columns, and written as text."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from boids.errors import SpaceError, did_you_mean, shown
from boids.records import FloatArray
from boids.space.checks import floats, number, shorten
from boids.space.expression import Inequality, Names, read_text
from boids.space.polytope import TOLERANCE

_ACCEPTED = (
    "scipy.optimize.LinearConstraint objects, strings such as 'x1 <= x2' and "
    'tables such as {"coefficients": {"x1": 1, "w": 2}, "upper": 3}, one or a list of them'
)
_KEYS = ("coefficients", "lower", "upper")
#: How many terms of a row are written out.
_TERMS = 6
#: The smallest range of a row over the box by which numbers can be divided.
_SMALLEST = 1e-290


def read_inequalities(definition: Any, names: Names) -> list[Inequality]:
    """Return the inequalities and equations of a definition; none for None and an empty list."""
    if definition is None:
        return []
    if isinstance(definition, str):
        return read_text(definition, names)
    if isinstance(definition, Mapping):
        return [_read_table(definition, names)]
    if isinstance(definition, (list, tuple)):
        return [inequality for each in definition for inequality in read_inequalities(each, names)]
    if all(hasattr(definition, name) for name in ("A", "lb", "ub")):  # a scipy.optimize.LinearConstraint
        return _read_matrix(definition, names)
    raise SpaceError(f"Linear constraints must be {_ACCEPTED}; got {shown(definition)}.")


def informative(inequalities: list[Inequality], low: FloatArray, high: FloatArray, names: Names) -> list[Inequality]:
    """Return what the bounds low ≤ x ≤ high (N,) do not say already, one inequality per combination of columns."""
    kept = []
    for inequality in _merged(inequalities, names):
        factors, where = inequality.coefficients, f"Linear constraint {shown(inequality.text)}"
        with np.errstate(over="ignore", invalid="ignore"):
            least, most = np.sort(np.stack([factors * low, factors * high]), axis=0).sum(axis=1).tolist()
            scale = most - least
            widest = float((high - low).max(initial=0.0, where=factors != 0.0))
        if not math.isfinite(scale + widest) or (scale < _SMALLEST and factors.any()):
            raise SpaceError(f"{where}: its values are beyond the range of floats; use other units.")
        slack = TOLERANCE * scale
        if least > inequality.upper + slack or most < inequality.lower - slack:
            raise SpaceError(f"{where} cannot hold: the bounds keep it between {least:.6g} and {most:.6g}.")
        if least < inequality.lower or most > inequality.upper:
            kept.append(inequality)
    return kept


def _merged(inequalities: list[Inequality], names: Names) -> list[Inequality]:
    """Return the inequalities with those of the same coefficients, up to the sign, made one."""
    merged: dict[bytes, Inequality] = {}
    for new in inequalities:
        opposite = (-new.coefficients + 0.0).tobytes()
        if opposite in merged:
            new = Inequality(-new.coefficients + 0.0, -new.upper, -new.lower, new.text)
        key = new.coefficients.tobytes()
        old = merged.get(key, new)
        lower, upper = max(old.lower, new.lower), min(old.upper, new.upper)
        if lower > upper:
            texts = shorten(dict.fromkeys((old.text, new.text)))
            raise SpaceError(f"Linear constraints {texts} cannot hold together: there is nothing between the bounds.")
        text = new.text if old.text == new.text else write_inequality(new.coefficients, lower, upper, names)
        merged[key] = Inequality(new.coefficients, lower, upper, text)
    return list(merged.values())


def write_inequality(coefficients: FloatArray, lower: float, upper: float, names: Names) -> str:
    """Return an inequality as text, such as "x1 - 2*x2 <= 3"; long sums are cut.

    Examples
    --------
    >>> from boids import Space
    >>> write_inequality(np.array([1.0, -2.0]), -np.inf, 3.0, Names(Space([(0, 1)] * 2)))
    'x[0] - 2*x[1] <= 3'
    """
    left = coefficients.copy()
    terms = []
    for name, places in names.vectors.items():
        if len(places) > 1 and left[places[0]] != 0.0 and (left[places] == left[places[0]]).all():
            terms.append((int(places[0]), float(left[places[0]]), f"sum({name})"))
            left[places] = 0.0
    columns = names.space.columns
    terms += [(int(place), float(left[place]), columns[place]) for place in np.flatnonzero(left)]
    parts = []
    for _, factor, name in sorted(terms)[:_TERMS]:
        size = "" if abs(factor) == 1.0 else f"{_plain(abs(factor))}*"
        parts += ["-" if factor < 0.0 else "+", f"{size}{name}"]
    if len(terms) > _TERMS:
        parts += ["+", f"… {len(terms) - _TERMS} more terms"]
    text = " ".join(parts[1:]) if parts[:1] == ["+"] else "-" + " ".join(parts[1:])
    text = text if terms else "0"
    if lower == upper:
        return f"{text} == {_plain(lower)}"
    if math.isfinite(lower) and math.isfinite(upper):
        return f"{_plain(lower)} <= {text} <= {_plain(upper)}"
    return f"{text} <= {_plain(upper)}" if math.isfinite(upper) else f"{text} >= {_plain(lower)}"


def _read_matrix(definition: Any, names: Names) -> list[Inequality]:
    """Return the rows of a scipy.optimize.LinearConstraint."""
    matrix = definition.A.toarray() if hasattr(definition.A, "toarray") else definition.A
    matrix = np.atleast_2d(floats(matrix, "A of a LinearConstraint"))
    columns = names.space.columns
    if matrix.ndim != 2 or matrix.shape[1] != len(columns):
        raise SpaceError(
            f"A of a LinearConstraint must have one column for each of the space's {len(columns)} numbers "
            f"({shorten(columns)}), got the shape {matrix.shape}."
        )
    if not np.isfinite(matrix).all():
        raise SpaceError("A of a LinearConstraint must be finite, got nan or inf.")
    ends = []
    for value, label in ((definition.lb, "lb"), (definition.ub, "ub")):
        array = floats(value, f"{label} of a LinearConstraint")
        try:
            array = np.broadcast_to(array, len(matrix))
        except ValueError:
            raise SpaceError(
                f"{label} of a LinearConstraint must be a number or one for each of the {len(matrix)} rows of A, "
                f"got the shape {array.shape}."
            ) from None
        ends.append(array.tolist())
    rows = zip(matrix + 0.0, *ends, strict=True)
    return [_inequality(row, lower, upper, names) for row, lower, upper in rows]


def _read_table(table: Mapping[Any, Any], names: Names) -> Inequality:
    """Return what a table with coefficients and bounds says."""
    label = f"Linear constraint {shown(dict(table))}"
    for key in table:
        if key not in _KEYS:
            hint = did_you_mean(str(key), _KEYS, f"use {shorten(_KEYS)}.")
            raise SpaceError(f"{label}: there is no entry {key!r}; {hint}")
    given = table.get("coefficients")
    if not isinstance(given, Mapping) or not given:
        raise SpaceError(f'{label}: "coefficients" must be a table with a factor for each name, got {shown(given)}.')
    coefficients, seen = np.zeros(len(names.places)), np.zeros(len(names.places), dtype=bool)
    for name, factor in given.items():
        places: Any = names.vectors.get(name) if name in names.vectors else names.places.get(name)
        if places is None:
            raise SpaceError(f"{label}: {names.unknown(str(name))}")
        factors = floats(factor, f"{label}: the factor of {name!r}")
        if factors.ndim and factors.shape != np.shape(places):
            expected = f"one number or {len(places)}" if np.ndim(places) else "a number"
            raise SpaceError(f"{label}: the factor of {name!r} must be {expected}, got the shape {factors.shape}.")
        if seen[places].any():
            raise SpaceError(f"{label}: {name!r} has two factors; give one.")
        coefficients[places], seen[places] = factors + 0.0, True
    ends = []
    for key, missing in (("lower", -math.inf), ("upper", math.inf)):
        value = table.get(key)
        ends.append(missing if value is None else number(value, f"{label}: {key!r}"))
    if not np.isfinite(coefficients).all():
        raise SpaceError(f"{label}: the factors must be finite.")
    return _inequality(coefficients, ends[0], ends[1], names)


def _inequality(coefficients: FloatArray, lower: float, upper: float, names: Names) -> Inequality:
    """Return the inequality with its text, or refuse bounds that bound nothing."""
    text = write_inequality(coefficients, lower, upper, names)
    if math.isnan(lower) or math.isnan(upper) or lower == math.inf or upper == -math.inf:
        raise SpaceError(f"Linear constraint {text!r}: a bound must be a number, got {lower} and {upper}.")
    return Inequality(coefficients, lower, upper, text)


def _plain(value: float) -> str:
    """Return a number without a needless ".0"."""
    text = repr(float(value))
    return text.removesuffix(".0")
