"""Categorical: a parameter whose values are choices without an order."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np

from boids.errors import SpaceError, did_you_mean, shown
from boids.records import FloatArray
from boids.space import checks
from boids.space.codecs import Codec, OneHot, Signs


@final
@dataclass(frozen=True, init=False, eq=False, repr=False, slots=True)
class Categorical:
    """One of several choices without an order.

    Values are the choices themselves; those of a vector are tuples, which hold choices of any type and turn into
    lists in JSON. Two choices take one coordinate of the cube, more take one each.

    Parameters
    ----------
    choices
        At least two distinct strings, numbers, bools or None.
    shape
        The length of a vector.

    Examples
    --------
    >>> Categorical(["adam", "sgd", None])
    Categorical(['adam', 'sgd', None])
    """

    choices: tuple[Any, ...]
    shape: int | None

    kind: ClassVar[str] = "categorical"
    is_numeric: ClassVar[bool] = False

    def __init__(self, choices: Iterable[Any], *, shape: int | tuple[int] | None = None) -> None:
        object.__setattr__(self, "choices", _read_choices(choices))
        object.__setattr__(self, "shape", checks.read_shape(shape))

    def __repr__(self) -> str:
        shape = "" if self.shape is None else f", shape={self.shape}"
        return f"Categorical([{checks.shorten(self.choices, 8)}]{shape})"

    def __eq__(self, other: object) -> bool:
        return self._identity == other._identity if isinstance(other, Categorical) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._identity)

    @property
    def _identity(self) -> tuple[Any, ...]:
        # With their types, because 1 == 1.0 == True.
        return (self.shape, *((type(choice), choice) for choice in self.choices))

    @property
    def suffixes(self) -> tuple[str, ...]:
        """The choices; the one coordinate of two choices says how much it is the second."""
        return tuple(f"={choice}" for choice in (self.choices if len(self.choices) > 2 else self.choices[1:]))

    @property
    def codec(self) -> Codec:
        """A sign for two choices, a one-hot block for more."""
        n, k = self.shape or 1, len(self.choices)
        return Signs(n) if k == 2 else OneHot(n, k)

    def numbers(self, value: Any, label: str) -> FloatArray:
        """Return the indices of the choices."""
        places = {choice: place for place, choice in enumerate(self.choices)}
        if self.shape is None:
            return np.array([self._place(places, value, label)], dtype=float)
        is_sequence = isinstance(value, (list, tuple)) or getattr(value, "ndim", None) == 1
        if not is_sequence or len(value) != self.shape:
            got = len(value) if is_sequence else shown(value)
            raise SpaceError(f"{label} must be a list of {self.shape} choices, got {got}.")
        return np.array([self._place(places, each, f"{label}[{i}]") for i, each in enumerate(value)], dtype=float)

    def _place(self, places: dict[Any, int], value: Any, label: str) -> int:
        value = checks.scalar(value)
        try:
            place = places.get(value)
        except TypeError:  # not hashable, so not a choice
            place = None
        # 1.0 may stand for 1, as in files that do not tell the two apart, but True may not.
        if place is not None and isinstance(value, bool) == isinstance(self.choices[place], bool):
            return place
        words = [choice for choice in self.choices if isinstance(choice, str)]
        hint = did_you_mean(value, words, "") if isinstance(value, str) else ""
        among = f"must be one of {checks.shorten(self.choices)}, got {shown(value)}"
        raise SpaceError(f"{label} {among}; {hint}" if hint else f"{label} {among}.")

    def value(self, numbers: FloatArray) -> Any:
        """Return a choice, or the tuple of a vector; lists of these for a matrix (q, n)."""
        pick = self.choices.__getitem__
        if numbers.ndim == 1:
            chosen = tuple(map(pick, numbers.astype(int).tolist()))
            return chosen[0] if self.shape is None else chosen
        if self.shape is None:
            return list(map(pick, numbers[:, 0].astype(int).tolist()))
        return [tuple(map(pick, row)) for row in numbers.astype(int).tolist()]

    def to_manifest(self) -> dict[str, Any]:
        """Return the choices, and the shape of a vector."""
        return {"choices": list(self.choices), **({} if self.shape is None else {"shape": self.shape})}


def _read_choices(choices: Any) -> tuple[Any, ...]:
    """Return the choices of a categorical parameter as plain Python objects."""
    is_list = isinstance(choices, Iterable) and not isinstance(choices, (str, bytes, Set, Mapping))
    if not is_list or getattr(choices, "ndim", 1) == 0:
        raise SpaceError(f"choices must be a list of strings, numbers, bools or None, got {shown(choices)}.")
    plain = tuple(checks.scalar(choice) for choice in choices)
    if len(plain) < 2:
        got = shown(list(plain))
        raise SpaceError(f"choices must be at least two, got {got}; leave out a parameter that is fixed.")
    seen: dict[Any, Any] = {}
    for choice in plain:
        is_float = type(choice) is float and math.isfinite(choice)
        if not (is_float or type(choice) in (str, int, bool, type(None))):
            raise SpaceError(f"A choice must be a string, a finite number, a bool or None, got {shown(choice)}.")
        if choice in seen:
            same = type(seen[choice]) is type(choice)
            how = "twice" if same else f"and {seen[choice]!r}, which are equal in Python"
            raise SpaceError(f"choices must be distinct, got {choice!r} {how}; leave one out.")
        seen[choice] = choice
    return plain
