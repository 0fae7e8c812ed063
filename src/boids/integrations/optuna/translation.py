"""Optuna's parameters as a `boids.Space`, and points of it as Optuna's values.

Parameters of a kind are one vector parameter of the space, so that a point of five hundred parameters costs a few
operations on arrays instead of five hundred objects. What has a step is counted in steps; choices are their numbers,
whatever they are.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any, Protocol, final

import numpy as np
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
    distribution_to_json,
)

from boids.errors import SpaceError
from boids.records import FloatArray
from boids.space import Categorical, Float, Int, Space
from boids.space.parameters import Parameter


class _Group(Protocol):
    """Parameters of one kind."""

    names: tuple[str, ...]
    parameter: Parameter

    def numbers(self, values: list[Any]) -> Any:
        """Return what the vector parameter is for Optuna's values."""

    def values(self, vector: Any) -> list[Any]:
        """Return Optuna's values again."""


@final
class _Floats:
    """Real numbers without a step."""

    def __init__(self, names: Sequence[str], each: Sequence[FloatDistribution]) -> None:
        self.names = tuple(names)
        self._low, self._high = (np.array([getattr(one, end) for one in each]) for end in ("low", "high"))
        self.parameter: Parameter = Float(self._low, self._high, log=each[0].log)

    def numbers(self, values: list[Any]) -> Any:
        return np.array(values, dtype=float)

    def values(self, vector: Any) -> list[Any]:
        inside: list[float] = np.clip(vector, self._low, self._high).tolist()
        return inside


@final
class _FloatSteps:
    """Real numbers with a step."""

    def __init__(self, names: Sequence[str], each: Sequence[FloatDistribution]) -> None:
        self.names = tuple(names)
        self._low, self._high, self._step = (
            np.array([getattr(one, field) for one in each]) for field in ("low", "high", "step")
        )
        counts = np.rint((self._high - self._low) / self._step).astype(np.int64)
        self.parameter: Parameter = Int(np.zeros_like(counts), counts)

    def numbers(self, values: list[Any]) -> Any:
        return np.rint((np.array(values, dtype=float) - self._low) / self._step).astype(np.int64)

    def values(self, vector: Any) -> list[Any]:
        inside: list[float] = np.clip(self._low + vector * self._step, self._low, self._high).tolist()
        return inside


@final
class _Ints:
    """Integers, with a step or on a log scale."""

    def __init__(self, names: Sequence[str], each: Sequence[IntDistribution]) -> None:
        self.names = tuple(names)
        low, high, self._step = (
            np.array([getattr(one, field) for one in each], dtype=np.int64) for field in ("low", "high", "step")
        )
        is_log = each[0].log
        self._offset = np.zeros_like(low) if is_log else low
        self.parameter: Parameter = Int(
            (low - self._offset) // self._step, (high - self._offset) // self._step, log=is_log
        )

    def numbers(self, values: list[Any]) -> Any:
        return (np.array(values, dtype=np.int64) - self._offset) // self._step

    def values(self, vector: Any) -> list[Any]:
        integers: list[int] = (self._offset + vector * self._step).tolist()
        return integers


@final
class _Choices:
    """Choices, equally many for each parameter."""

    def __init__(self, names: Sequence[str], each: Sequence[CategoricalDistribution]) -> None:
        self.names = tuple(names)
        self._each = tuple(each)
        self.parameter: Parameter = Categorical(range(len(each[0].choices)), shape=len(each))

    def numbers(self, values: list[Any]) -> Any:
        return [int(one.to_internal_repr(value)) for one, value in zip(self._each, values, strict=True)]

    def values(self, vector: Any) -> list[Any]:
        return [one.choices[place] for one, place in zip(self._each, vector, strict=True)]


@final
class Translation:
    """What a search space of Optuna's is in boids.

    Parameters
    ----------
    search_space
        Distributions by name, all of them `translatable`.
    """

    def __init__(self, search_space: Mapping[str, BaseDistribution]) -> None:
        self.search_space = dict(sorted(search_space.items()))  # the order must not depend on who asks
        kinds: dict[tuple[Any, ...], list[str]] = {}
        for name, distribution in self.search_space.items():
            kinds.setdefault(_kind(distribution), []).append(name)
        self._groups = {
            "-".join(map(str, kind)): _group(names, [self.search_space[name] for name in names])
            for kind, names in sorted(kinds.items())
        }
        self.space = Space({label: group.parameter for label, group in self._groups.items()})
        self._names = frozenset(self.search_space)

    def identity(self) -> str:
        """Return a few letters that are the same for the same search space, in any process."""
        document = [[name, distribution_to_json(each)] for name, each in self.search_space.items()]
        return hashlib.sha256(json.dumps(document).encode()).hexdigest()[:32]

    def unit(self, params: Mapping[str, Any]) -> FloatArray | None:
        """Return the point of the cube (D,) of a trial's values; None if some are missing or out of bounds."""
        if not self._names <= params.keys():
            return None
        try:
            point = {
                label: group.numbers([params[name] for name in group.names]) for label, group in self._groups.items()
            }
            return self.space.encode(point)
        except (SpaceError, ValueError, TypeError, OverflowError):  # a value that was fixed outside of its bounds
            return None

    def params(self, unit: FloatArray) -> dict[str, Any]:
        """Return the values of a point of the cube (D,)."""
        point, params = self.space.decode(unit), dict[str, Any]()
        for label, group in self._groups.items():
            params.update(zip(group.names, group.values(point[label]), strict=True))
        return params


def translatable(distribution: BaseDistribution) -> bool:
    """Return whether a parameter has more than one value, and can be one of a `boids.Space`."""
    if distribution.single():
        return False
    try:
        _group(["x"], [distribution])
    except (SpaceError, KeyError, OverflowError):
        return False
    return True


def _kind(distribution: BaseDistribution) -> tuple[Any, ...]:
    """Return what parameters must have in common to be one vector."""
    if isinstance(distribution, FloatDistribution):
        return ("float", "step") if distribution.step is not None else ("float", "log" if distribution.log else "")
    if isinstance(distribution, IntDistribution):
        return ("int", "log" if distribution.log else "")
    if isinstance(distribution, CategoricalDistribution):
        return ("choice", str(len(distribution.choices)))
    raise KeyError(type(distribution).__name__)


def _group(names: Sequence[str], each: Sequence[Any]) -> _Group:
    kind = _kind(each[0])
    if kind[0] == "float":
        return _FloatSteps(names, each) if kind[1] == "step" else _Floats(names, each)
    return _Ints(names, each) if kind[0] == "int" else _Choices(names, each)
