"""Layout: which codec turns which coordinates of the cube into which numbers.

======  ===================================================================  ============
symbol  meaning                                                              shape
======  ===================================================================  ============
D       number of coordinates of the space
m       number of components of the layout, which may leave coordinates out
u       points of the cube; the leading axis is free                         (…, D)
c       one number per component                                             (…, m)
======  ===================================================================  ============
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from boids.records import FloatArray, IntArray
from boids.space.codecs import Codec, join

#: Places along the last axis; a slice where they stand side by side, because that needs no copy.
Places: TypeAlias = slice | IntArray

#: Rounding a coordinate to float32 moves it by 2^-25 at most.
_FLOAT32_STEP = 2.0**-24


@dataclass(frozen=True, slots=True, eq=False)
class _Group:
    """A codec with the places of its coordinates and of its components."""

    codec: Codec
    coordinates: Places
    components: Places


@final
class Layout:
    """The codecs of a space, or of some of its parameters; those of a kind are joined and work at one go.

    Parameters
    ----------
    codecs
        Each with its first coordinate. The components are numbered in this order.
    """

    def __init__(self, codecs: Iterable[tuple[Codec, int]]) -> None:
        kinds: dict[Hashable, list[tuple[Codec, IntArray, IntArray]]] = {}
        owned: list[IntArray] = []
        self.size = 0
        for codec, start in codecs:
            n = len(codec.low)
            coordinates, components = np.arange(start, start + codec.width), np.arange(self.size, self.size + n)
            kinds.setdefault(codec.key, []).append((codec, coordinates, components))
            owned.append(coordinates)
            self.size += n
        self._groups = [
            _Group(join(list(of_a_kind)), _places(coordinates), _places(components))
            for of_a_kind, coordinates, components in (zip(*members, strict=True) for members in kinds.values())
        ]
        #: The coordinates that the layout speaks of, in the order of its codecs.
        self.coordinates: IntArray = np.concatenate([np.empty(0, dtype=np.int64), *owned])

    def decode(self, units: FloatArray) -> FloatArray:
        """Return the numbers c (…, m) of points u (…, D)."""
        if len(self._groups) == 1:  # saves a copy, which tells for a plain box
            return self._groups[0].codec.decode(_take(units, self._groups[0].coordinates))
        numbers = np.empty((*units.shape[:-1], self.size))
        for group in self._groups:
            numbers[..., group.components] = group.codec.decode(_take(units, group.coordinates))
        return numbers

    def encode(self, numbers: FloatArray, units: FloatArray) -> None:
        """Write the coordinates of numbers c (…, m) into points u (…, D), the others stay as they are."""
        for group in self._groups:
            units[..., group.coordinates] = group.codec.encode(_take(numbers, group.components))

    def snap(self, units: NDArray[Any]) -> None:
        """Move points u (…, D) of either precision, in place, to where `encode` puts what they decode to."""
        for group in self._groups:
            codec, block = group.codec, _take(units, group.coordinates)
            numbers = codec.decode(block.astype(float, copy=False))
            snapped = codec.encode(numbers)
            if units.dtype == np.float32 and codec.room < _FLOAT32_STEP:
                # Where cells are as narrow as this, and lopsided, the nearest float32 may lie next door.
                rounded = snapped.astype(np.float32)
                snapped = np.where(codec.decode(rounded.astype(float)) == numbers, rounded, block)
            units[..., group.coordinates] = snapped

    def spread(self, of_codec: Callable[[Codec], Any], dtype: type[Any]) -> NDArray[Any]:
        """Return a property of the codecs, such as their bounds, for each component (m,)."""
        spread = np.empty(self.size, dtype=dtype)
        for group in self._groups:
            spread[group.components] = of_codec(group.codec)
        spread.setflags(write=False)
        return spread


def _places(pieces: Iterable[IntArray]) -> Places:
    """Return the union of places as a slice if they stand side by side."""
    places: IntArray = np.concatenate(list(pieces))
    first, last = int(places[0]), int(places[-1])
    return slice(first, last + 1) if last - first + 1 == len(places) else places


def _take(array: NDArray[Any], places: Places) -> Any:
    # `take` is quicker than an index, and leaves the rows contiguous.
    return array[..., places] if isinstance(places, slice) else array.take(places, axis=-1)
