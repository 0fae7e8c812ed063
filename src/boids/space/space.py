"""Space: the user's values to the signed cube and back.

======  =============================================================  ==========================
symbol  meaning                                                        shape
======  =============================================================  ==========================
D       number of encoded coordinates, ``space.dim``
u       point of the signed cube [-1, 1]^D, called ``unit``            (D,)
x       point in the user's units, called ``params``                   array, or dict by name
q       number of points that are treated together
N       number of natural columns: one per numeric component
======  =============================================================  ==========================

A space is a sequence of parameters, each of which owns a block of coordinates of u. A plain box is *one* anonymous
vector parameter, so that a thousand bounds cost one object and one vectorised operation.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cached_property
from types import MappingProxyType
from typing import Any, TypeVar, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from boids.errors import SpaceError
from boids.records import BoolArray, FloatArray, IntArray
from boids.space.checks import floats, shorten
from boids.space.codecs import Codec
from boids.space.definition import read_box, read_named
from boids.space.layout import Layout
from boids.space.parameters import PARAMETERS, Parameter

_Scalar = TypeVar("_Scalar", bound=np.generic)

#: How many points of a grid are made at a time.
_CHUNK = 256


@final
class Space:
    """A search space: a plain box whose points are arrays, or named parameters whose points are dicts.

    Parameters
    ----------
    definition
        A list of ``(low, high)`` pairs, a (D, 2) array, a `scipy.optimize.Bounds`, or a dict from names to
        parameters: `Float`, `Int`, `Categorical`, `Bool`, or short a pair ``(low, high)`` for a Float and a list
        of strings for a Categorical.

    Examples
    --------
    >>> Space([(-5, 5)] * 100).dim
    100
    >>> from boids import Categorical, Float, Int
    >>> space = Space({"rate": Float(1e-4, 1, log=True), "depth": Int(2, 9), "act": Categorical(["a", "b", "c"])})
    >>> space.decode([-1, 1, 0.3, 0.9, -0.2])
    {'rate': 0.0001, 'depth': 9, 'act': 'b'}
    >>> space.encode({"rate": 1, "depth": 2, "act": "a"}).tolist()
    [1.0, -0.875, 1.0, -1.0, -1.0]
    """

    def __init__(self, definition: Any) -> None:
        self._named = isinstance(definition, Mapping)
        parameters = read_named(definition) if self._named else {"x": read_box(definition)}
        self._parameters: dict[str, Parameter] = parameters
        if any("[" in name for name in parameters):  # else the names of components cannot meet
            for column, count in Counter(self.columns).items():
                if count > 1:
                    raise SpaceError(f"Two components would be called {column!r}; rename a parameter.")

    @classmethod
    def of(cls, definition: Any) -> Space:
        """Return `definition` itself if it is a space already, else the space it defines."""
        return definition if isinstance(definition, Space) else cls(definition)

    def __repr__(self) -> str:
        if not self._named:
            only = self._parameters["x"]
            return f"Space(<{self.dim} bounds>)" if only.kind == "float" else f"Space({only!r})"
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

    # What the space is made of

    @property
    def is_named(self) -> bool:
        """Whether points are dicts."""
        return self._named

    @property
    def names(self) -> tuple[str, ...]:
        """The parameters' names, in order; empty for a plain box."""
        return tuple(self._parameters) if self._named else ()

    @property
    def parameters(self) -> Mapping[str, Parameter]:
        """The parameters by name, in order; that of a plain box is called "x"."""
        return MappingProxyType(self._parameters)

    @cached_property
    def _blocks(self) -> list[tuple[str, Parameter, Codec, int]]:
        """Each parameter with its name, its codec and its first coordinate."""
        blocks, start = [], 0
        for name, parameter in self._parameters.items():
            codec = parameter.codec
            blocks.append((name, parameter, codec, start))
            start += codec.width
        return blocks

    @cached_property
    def _layout(self) -> Layout:
        return Layout((codec, start) for _, _, codec, start in self._blocks)

    @cached_property
    def _readers(self) -> list[tuple[str, Any, slice]]:
        """How to make each parameter's value out of which of the layout's numbers."""
        readers, start = [], 0
        for name, parameter in self._parameters.items():
            n = parameter.shape or 1
            readers.append((name, parameter.value, slice(start, start + n)))
            start += n
        return readers

    @cached_property
    def dim(self) -> int:
        """D, the number of encoded coordinates."""
        return sum(codec.width for _, _, codec, _ in self._blocks)

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """A name for each coordinate (D,): "lr", "w[3]", "act=b"."""
        return tuple(
            component + suffix
            for name, parameter in self._parameters.items()
            for component in _component_names(name, parameter.shape)
            for suffix in parameter.suffixes
        )

    @cached_property
    def owner(self) -> IntArray:
        """Which parameter each coordinate belongs to, as its number (D,)."""
        return _protected(np.repeat(np.arange(len(self._blocks)), [codec.width for _, _, codec, _ in self._blocks]))

    # Points: the user's units and the cube

    def decode(self, unit: ArrayLike) -> Any:
        """Return the point x of u (D,): an array for a plain box, a dict for a named space."""
        return self._decode(self._units(unit, ndim=1))

    def decode_many(self, units: ArrayLike) -> Any:
        """Return the points of (q, D) units: a matrix with q rows, or for a named space a dict of columns.

        The column of a scalar parameter is an array (q,), that of a vector an array (q, n). Choices come as a list
        of q choices, or of q tuples.
        """
        return self._decode(self._units(units, ndim=2))

    def encode(self, params: Any) -> FloatArray:
        """Return u (D,) of a point in the user's units; points outside the space are refused."""
        units = np.empty(self.dim)
        if not self._named:
            self._layout.encode(self._parameters["x"].numbers(params, "x"), units)
            return units
        if not isinstance(params, Mapping):
            raise SpaceError(
                f"A point of this space must be a dict with the names {shorten(self.names)}, "
                f"got {type(params).__name__}."
            )
        missing = [name for name in self._parameters if name not in params]
        if missing:
            raise SpaceError(f"The point has no value for {shorten(missing)}; give every parameter one.")
        unknown = [name for name in params if name not in self._parameters]
        if unknown:
            raise SpaceError(f"The point has a value for {shorten(unknown)}, which the space does not have.")
        numbers = [parameter.numbers(params[name], repr(name)) for name, parameter in self._parameters.items()]
        self._layout.encode(np.concatenate(numbers), units)
        return units

    def _decode(self, units: FloatArray) -> Any:
        numbers = self._layout.decode(units)
        if units.ndim == 1:
            values = {name: read(numbers[places]) for name, read, places in self._readers}
        else:
            values = {name: read(numbers[:, places]) for name, read, places in self._readers}
        return values if self._named else values["x"]

    def _units(self, units: ArrayLike, ndim: int) -> FloatArray:
        """Check u, and put back what rounding may have pushed out of the cube."""
        array = floats(units, "u")
        if array.ndim != ndim or array.shape[-1] != self.dim:
            expected = f"({self.dim},)" if ndim == 1 else f"(q, {self.dim})"
            raise SpaceError(f"Points of the cube must have the shape {expected}, got {array.shape}.")
        if not np.isfinite(array).all():
            raise SpaceError("Points of the cube must be finite, got nan or inf.")
        return np.clip(array, -1.0, 1.0, out=array)

    # Integers and choices: which points of the cube are evaluated

    @cached_property
    def discrete(self) -> BoolArray:
        """Which coordinates snap (D,)."""
        mask = np.zeros(self.dim, dtype=bool)
        mask[self._discrete.coordinates] = True
        return _protected(mask)

    @cached_property
    def is_continuous(self) -> bool:
        """Whether no coordinate snaps."""
        return self._discrete.size == 0

    @cached_property
    def _discrete(self) -> Layout:
        return Layout((codec, start) for _, _, codec, start in self._blocks if codec.counts is not None)

    def snap(self, units: NDArray[Any]) -> NDArray[Any]:
        """Return points (D,) or (q, D) with integers and choices at their places; the others keep every bit.

        The result decodes to the same values as the argument, and is exactly what `encode` makes of them. A float32
        array gives a float32 array, with the nearest such numbers that decode to the same values. In a space without
        integers and choices this is the argument itself.

        Examples
        --------
        >>> from boids import Bool, Int
        >>> Space({"k": Int(1, 2), "x": (0, 1), "on": Bool()}).snap(np.array([0.1, 0.2, -0.3])).tolist()
        [0.5, 0.2, -1.0]
        """
        units = self._checked(units)
        if self.is_continuous:
            return units
        snapped = np.array(units, dtype=units.dtype if units.dtype == np.float32 else float)
        self._discrete.snap(snapped)
        return snapped

    @cached_property
    def size(self) -> int | float:
        """The number of distinct points: an exact integer, or inf if any parameter is continuous."""
        counts = [codec.counts for _, _, codec, _ in self._blocks]
        if any(each is None for each in counts):
            return math.inf
        return math.prod(math.prod(each.tolist()) for each in counts if each is not None)

    def grid(self) -> Iterator[FloatArray]:
        """Return an iterator over all points (D,) of a finite space, snapped, made as they are asked for.

        They come in the order of nested loops over the parameters and their components: the last one changes
        fastest, integers rise, choices follow their list, and False comes before True.
        """
        if self.size == math.inf:
            raise SpaceError("A space with continuous parameters has no grid; draw points at random instead.")
        return self._grid()

    def _grid(self) -> Iterator[FloatArray]:
        counts = self._layout.spread(lambda codec: codec.counts, np.int64).tolist()
        low = self._layout.spread(lambda codec: codec.low, float)
        for first in range(0, int(self.size), _CHUNK):
            # The number of a point, written in a system whose digits have as many values as the components. It may
            # be too large for NumPy; how far the points of a chunk are beyond its first one is not.
            carry: Any = np.arange(min(_CHUNK, int(self.size) - first))
            numbers = np.empty((len(carry), len(counts)))
            for place in range(len(counts) - 1, -1, -1):
                first, digit = divmod(first, counts[place])
                carry, digits = np.divmod(digit + carry, counts[place])
                numbers[:, place] = low[place] + digits
            units = np.empty((len(carry), self.dim))
            self._layout.encode(numbers, units)
            yield from units

    # Natural columns: what linear constraints speak of

    @cached_property
    def _natural(self) -> Layout:
        return Layout((codec, start) for _, parameter, codec, start in self._blocks if parameter.is_numeric)

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The natural columns' names (N,), such as "lr", "n", "w[0]": all components but choices; Bools are 0 or 1."""
        numeric = [(name, each.shape) for name, each in self._parameters.items() if each.is_numeric]
        return tuple(column for name, shape in numeric for column in _component_names(name, shape))

    @cached_property
    def natural_index(self) -> IntArray:
        """The coordinate of u that each natural column owns (N,)."""
        return _protected(self._natural.coordinates)

    @cached_property
    def natural_low(self) -> FloatArray:
        """The lower bounds of the natural columns (N,)."""
        return self._natural.spread(lambda codec: codec.low, float)

    @cached_property
    def natural_high(self) -> FloatArray:
        """The upper bounds of the natural columns (N,)."""
        return self._natural.spread(lambda codec: codec.high, float)

    @cached_property
    def natural_integer(self) -> BoolArray:
        """Which natural columns are whole numbers (N,)."""
        return self._natural.spread(lambda codec: codec.counts is not None, bool)

    @cached_property
    def natural_log(self) -> BoolArray:
        """Which natural columns have a log scale (N,)."""
        return self._natural.spread(lambda codec: codec.is_log, bool)

    def natural(self, units: NDArray[Any]) -> FloatArray:
        """Return the natural columns (N,) or (q, N) of points (D,) or (q, D), with whole integers."""
        return self._natural.decode(self._checked(units).astype(float, copy=False))

    def from_natural(self, x: ArrayLike, unit: NDArray[Any]) -> FloatArray:
        """Return points whose natural columns are x (N,) or (q, N), and whose choices are those of `unit` (D,).

        What lies outside the bounds is clipped, and integers are rounded.
        """
        values = floats(x, "x")
        if values.ndim not in (1, 2) or values.shape[-1] != self._natural.size or np.isnan(values).any():
            raise SpaceError(
                f"x must hold {self._natural.size} numbers that are not nan, got the shape {values.shape}."
            )
        values = np.clip(np.where(self.natural_integer, np.rint(values), values), self.natural_low, self.natural_high)
        units = np.array(np.broadcast_to(self._checked(unit), (*values.shape[:-1], self.dim)), dtype=float)
        self._natural.encode(values, units)
        return units

    def _checked(self, units: ArrayLike) -> NDArray[Any]:
        array = np.asarray(units)
        if array.ndim not in (1, 2) or array.shape[-1] != self.dim:
            raise SpaceError(
                f"Points of the cube must have the shape ({self.dim},) or (q, {self.dim}), got {array.shape}."
            )
        return array

    # Files

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
                parameters[entry["name"]] = PARAMETERS[entry["kind"]](**arguments)
            return cls(parameters if manifest["named"] else parameters["x"])
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            reason = f"{type(error).__name__}: {error}"
            raise SpaceError(f"This is not the description of a space ({reason}).") from None


def _component_names(name: str, shape: int | None) -> list[str]:
    return [name] if shape is None else [f"{name}[{i}]" for i in range(shape)]


def _protected(array: NDArray[_Scalar]) -> NDArray[_Scalar]:
    array.setflags(write=False)
    return array
