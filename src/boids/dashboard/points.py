"""Points as a table with a column per parameter: where each lies on its parameter's axis, and how it is written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from boids.importance import bars
from boids.records import FloatArray
from boids.space import Space


@final
@dataclass(frozen=True, eq=False)
class Axis:
    """The axis of a parameter.

    Attributes
    ----------
    name
        Of the parameter, or of a component of a vector.
    ticks
        Places between 0 and 1 with what is written beside them.
    """

    name: str
    ticks: tuple[tuple[float, str], ...]


@final
@dataclass(frozen=True, eq=False)
class PointTable:
    """Some points of a run.

    Attributes
    ----------
    units
        The points in the signed cube (n, D).
    labels, owner
        Names of the D coordinates, and the parameter that each belongs to.
    axes
        One for each parameter.
    places
        Where the points lie on the axes, between 0 and 1 (n, P).
    """

    units: FloatArray
    labels: tuple[str, ...]
    owner: Any
    axes: tuple[Axis, ...]
    places: FloatArray

    @classmethod
    def of_units(cls, space: Space, units: FloatArray) -> PointTable:
        """Return the table of points whose space is known."""
        groups, names = bars(space.labels, space.owner)
        low, high = (flat(space.decode(np.full(space.dim, end))) for end in (-1.0, 1.0))
        axes, columns = [], []
        for group, name in enumerate(names):
            members = np.flatnonzero(groups == group)
            if len(members) == 1:
                columns.append((units[:, members[0]] + 1.0) / 2.0)
                axes.append(Axis(name, ((0.0, written(low[name])), (1.0, written(high[name])))))
            else:  # a category: one coordinate for each of its choices
                choices = [space.labels[member].partition("=")[2] for member in members]
                columns.append(np.argmax(units[:, members], axis=1) / (len(members) - 1))
                axes.append(Axis(name, _even(choices)))
        places = np.clip(np.stack(columns, axis=1), 0.0, 1.0) if columns else np.empty((len(units), 0))
        return cls(units, space.labels, space.owner, tuple(axes), places)

    @classmethod
    def of_values(cls, points: Sequence[Mapping[str, Any]]) -> PointTable:
        """Return the table of points of whose space nothing is known: axes reach as far as the points do."""
        names = list(dict.fromkeys(name for point in points for name in point))
        axes, columns = [], []
        for name in names:
            values = [point.get(name) for point in points]
            if all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in values):
                numbers = np.array(values, dtype=float)
                low, high = float(numbers.min()), float(numbers.max())
                columns.append((numbers - low) / (high - low) if high > low else np.full(len(numbers), 0.5))
                axes.append(Axis(name, ((0.0, written(low)), (1.0, written(high)))))
            else:
                words = [written(value) for value in values]
                choices = sorted(set(words))
                columns.append(np.array([choices.index(word) for word in words]) / max(1, len(choices) - 1))
                axes.append(Axis(name, _even(choices)))
        places = np.stack(columns, axis=1) if columns else np.empty((len(points), 0))
        return cls(2.0 * places - 1.0, tuple(names), np.arange(len(names)), tuple(axes), places)


def flat(params: Any) -> dict[str, Any]:
    """Return a point as one value for each name: "lr", "w[3]", and "x[0]" in a plain box."""
    items = params.items() if isinstance(params, Mapping) else [("x", params)]
    values: dict[str, Any] = {}
    for name, value in items:
        if isinstance(value, (np.ndarray, list, tuple)):
            plain = value.tolist() if isinstance(value, np.ndarray) else value
            values |= {f"{name}[{place}]": item for place, item in enumerate(plain)}
        else:
            values[name] = value.item() if isinstance(value, np.generic) else value
    return values


def written(value: Any) -> str:
    """Return a value as people read it."""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _even(choices: Sequence[str]) -> tuple[tuple[float, str], ...]:
    last = max(1, len(choices) - 1)
    return tuple((place / last, choice) for place, choice in enumerate(choices))
