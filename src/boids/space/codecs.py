"""Codecs: one number per component to coordinates of the signed cube and back, as pure vectorised arithmetic.

======  ======================================================================  ==========
symbol  meaning                                                                 shape
======  ======================================================================  ==========
n       number of components
w       number of coordinates, n or, for one-hot blocks, n k
u       coordinates in [-1, 1]; the leading axes are free                       (…, w)
c       numbers: a value, the index of a choice, or 0 and 1 for two choices     (…, n)
======  ======================================================================  ==========

Codecs know nothing of names and types. Those of the same `key` can be joined to a longer one, so that a space of
hundreds of single parameters is as quick as one vector. All of them obey, with equality of bits,

* ``decode(-1)`` and ``decode(1)`` are the bounds, and so is what lies beyond,
* ``decode(encode(c)) == c`` if the codec is discrete; `encode` then gives the one place in each cell that stands
  for it, so that ``encode(decode(u))`` snaps, and snapping twice is snapping once.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Protocol, final

import numpy as np

from boids.records import FloatArray, IntArray

#: Integers up to here are floats, too, and a cube of floats has a place for each of them.
LARGEST_INT = 2**53
#: The same on a log scale, whose cells are the narrower the larger the integer.
LARGEST_LOG_INT = 2**48

#: How many neighbouring floats `_settle` tries.
_STEPS = 16


class Codec(Protocol):
    """What a codec must offer."""

    @property
    def key(self) -> Hashable:
        """Codecs with equal keys can be joined."""

    @property
    def low(self) -> FloatArray:
        """The smallest numbers (n,)."""

    @property
    def high(self) -> FloatArray:
        """The largest numbers (n,)."""

    @property
    def is_log(self) -> bool:
        """Whether steps of u multiply the numbers, rather than add to them."""

    @property
    def counts(self) -> IntArray | None:
        """How many numbers each component can take, `low`, `low` + 1, … `high`; None for a continuum."""

    @property
    def width(self) -> int:
        """w, the number of coordinates."""

    @property
    def room(self) -> float:
        """How far u may move from where `encode` puts it before another number is meant; 0 for a continuum."""

    def decode(self, u: FloatArray) -> FloatArray:
        """Return the numbers (…, n) of coordinates (…, w)."""

    def encode(self, c: FloatArray) -> FloatArray:
        """Return the coordinates (…, w) of numbers (…, n) between the bounds."""


@final
@dataclass(frozen=True, eq=False)
class Interval:
    """Real numbers, uniform in u."""

    low: FloatArray
    high: FloatArray

    key: ClassVar[str] = "interval"
    is_log: ClassVar[bool] = False
    counts: ClassVar[None] = None
    room: ClassVar[float] = 0.0

    @property
    def width(self) -> int:
        """One coordinate per component."""
        return len(self.low)

    def decode(self, u: FloatArray) -> FloatArray:
        """Return low (1 - t) + high t for t = (u + 1) / 2: exact at both bounds, and it never overflows."""
        t = 0.5 * (u + 1.0)
        c = self.low * (1.0 - t)
        c += self.high * t
        # The roundings of the sum may step over a bound by one unit in the last place.
        return np.clip(c, self.low, self.high, out=c)

    def encode(self, c: FloatArray) -> FloatArray:
        """Return u = ((c - low) - (high - c)) / (high - low), which is exactly -1 and 1 at the bounds."""
        # high - low overflows for bounds near the largest float; a quarter of numbers that large is exact.
        scale = np.where(np.maximum(np.abs(self.low), np.abs(self.high)) > 1e300, 0.25, 1.0)
        low, high, c = self.low * scale, self.high * scale, c * scale
        return np.clip(((c - low) - (high - c)) / (high - low), -1.0, 1.0)


@final
@dataclass(frozen=True, eq=False)
class LogInterval:
    """Positive real numbers whose logarithm is uniform in u; high / low must be finite."""

    low: FloatArray
    high: FloatArray

    key: ClassVar[str] = "log interval"
    is_log: ClassVar[bool] = True
    counts: ClassVar[None] = None
    room: ClassVar[float] = 0.0

    @property
    def width(self) -> int:
        """One coordinate per component."""
        return len(self.low)

    @cached_property
    def _log_range(self) -> FloatArray:
        return _log_ratio(self.high, self.low)

    def decode(self, u: FloatArray) -> FloatArray:
        """Return low (high / low)^t for t = (u + 1) / 2."""
        return np.clip(_power(u, self.low, self.high, self._log_range), self.low, self.high)

    def encode(self, c: FloatArray) -> FloatArray:
        """Return u = (log(c / low) - log(high / c)) / log(high / low)."""
        return _log_position(c, self.low, self.high)


@final
@dataclass(frozen=True, eq=False)
class Cells:
    """Integers: [-1, 1] is cut into ``counts`` equal cells, one for each; `encode` gives their centres.

    Counting from the middle, where u = 0 is, tells 2^53 cells apart: the place of a centre is rounded by less than
    2^-54, a quarter of the narrowest cell, and the product in `decode`, 2^52 at most, to a multiple of 1/2 or finer,
    so that it stays between the edges.
    """

    low: FloatArray
    high: FloatArray

    key: ClassVar[str] = "cells"
    is_log: ClassVar[bool] = False

    @property
    def width(self) -> int:
        """One coordinate per component."""
        return len(self.low)

    @cached_property
    def counts(self) -> IntArray:
        """How many integers there are."""
        return (self.high - self.low).astype(np.int64) + 1

    @cached_property
    def room(self) -> float:
        """Half a cell."""
        return float(1.0 / self.counts.max())

    @cached_property
    def _half(self) -> FloatArray:
        return 0.5 * self.counts.astype(float)

    @cached_property
    def _middle(self) -> FloatArray:
        """The first integer of the upper half, or the one in the middle of an odd number."""
        return self.low + self.counts // 2

    @cached_property
    def _shift(self) -> FloatArray:
        """How far u = 0 is from the lower edge of the middle's cell, in cells."""
        return 0.5 * (self.counts % 2).astype(float)

    def decode(self, u: FloatArray) -> FloatArray:
        """Return the integer whose cell u lies in; the upper cell where two meet."""
        c = u * self._half
        c += self._shift
        np.floor(c, out=c)
        c += self._middle
        return np.clip(c, self.low, self.high, out=c)

    def encode(self, c: FloatArray) -> FloatArray:
        """Return the centres of the cells."""
        u = c - self._middle
        u += 0.5 - self._shift
        u /= self._half
        return u


@final
@dataclass(frozen=True, eq=False)
class LogCells:
    """Positive integers k: log-uniform on [low - 1/2, high + 1/2], cut at the halves; `encode` gives k's own place."""

    low: FloatArray
    high: FloatArray

    key: ClassVar[str] = "log cells"
    is_log: ClassVar[bool] = True

    @property
    def width(self) -> int:
        """One coordinate per component."""
        return len(self.low)

    @cached_property
    def counts(self) -> IntArray:
        """How many integers there are."""
        return (self.high - self.low).astype(np.int64) + 1

    @cached_property
    def room(self) -> float:
        """From the largest integer to the upper edge of its cell, the narrowest."""
        return float((2.0 * _log_ratio(self.high + 0.5, self.high) / self._log_range).min())

    @cached_property
    def _log_range(self) -> FloatArray:
        return _log_ratio(self.high + 0.5, self.low - 0.5)

    @cached_property
    def _is_fine(self) -> bool:
        """Whether the roundings of `_power` and `_log_position` may be as large as half an integer."""
        return bool((self.high * (1.0 + self._log_range)).max() > 2.0**44)

    def decode(self, u: FloatArray) -> FloatArray:
        """Return the integer next to low' (high' / low')^t, where low' and high' are the outer edges."""
        c = _power(u, self.low - 0.5, self.high + 0.5, self._log_range)
        c += 0.5
        np.floor(c, out=c)
        return np.clip(c, self.low, self.high, out=c)

    def encode(self, c: FloatArray) -> FloatArray:
        """Return the integers' own places, which are nearer to the upper edges of their cells."""
        u = _log_position(c, self.low - 0.5, self.high + 0.5)
        return _settle(self, u, c) if self._is_fine else u


@final
@dataclass(frozen=True, eq=False)
class Signs:
    """0 and 1: one coordinate each, 0 for u < 0 and 1 for u >= 0; `encode` gives -1 and 1."""

    n: int

    key: ClassVar[str] = "signs"
    is_log: ClassVar[bool] = False
    room: ClassVar[float] = 1.0

    @property
    def width(self) -> int:
        """One coordinate per component."""
        return self.n

    @cached_property
    def low(self) -> FloatArray:
        """Zeros."""
        return np.zeros(self.n)

    @cached_property
    def high(self) -> FloatArray:
        """Ones."""
        return np.ones(self.n)

    @cached_property
    def counts(self) -> IntArray:
        """Two each."""
        return np.full(self.n, 2, dtype=np.int64)

    def decode(self, u: FloatArray) -> FloatArray:
        """Return 0 for u < 0, else 1."""
        return (u >= 0.0).astype(float)

    def encode(self, c: FloatArray) -> FloatArray:
        """Return -1 for 0 and 1 for 1."""
        return 2.0 * c - 1.0


@final
@dataclass(frozen=True, eq=False)
class OneHot:
    """Indices 0 … k - 1: k coordinates each, of which the largest counts, the first among equals.

    `encode` gives 1 for the index and -1 for the others. The k coordinates of a component stand side by side.
    """

    n: int
    k: int

    is_log: ClassVar[bool] = False
    room: ClassVar[float] = 1.0

    @property
    def key(self) -> tuple[str, int]:
        """Blocks of the same length can be joined."""
        return ("one-hot", self.k)

    @property
    def width(self) -> int:
        """A block of k coordinates per component."""
        return self.n * self.k

    @cached_property
    def low(self) -> FloatArray:
        """Zeros."""
        return np.zeros(self.n)

    @cached_property
    def high(self) -> FloatArray:
        """The last index."""
        return np.full(self.n, self.k - 1.0)

    @cached_property
    def counts(self) -> IntArray:
        """k each."""
        return np.full(self.n, self.k, dtype=np.int64)

    def decode(self, u: FloatArray) -> FloatArray:
        """Return the index of the largest coordinate of each block."""
        c: FloatArray = u.reshape(*u.shape[:-1], self.n, self.k).argmax(axis=-1).astype(float)
        return c

    def encode(self, c: FloatArray) -> FloatArray:
        """Return blocks of -1 with a single 1."""
        blocks = np.where(c[..., np.newaxis] == np.arange(self.k), 1.0, -1.0)
        return blocks.reshape(*c.shape[:-1], self.width)


def join(codecs: Sequence[Any]) -> Codec:
    """Return one codec with the components of several that have the same key, one after the other."""
    first = codecs[0]
    if len(codecs) == 1:
        joined: Codec = first
    elif isinstance(first, OneHot):
        joined = OneHot(sum(codec.n for codec in codecs), first.k)
    elif isinstance(first, Signs):
        joined = Signs(sum(codec.n for codec in codecs))
    else:
        joined = type(first)(
            np.concatenate([codec.low for codec in codecs]), np.concatenate([codec.high for codec in codecs])
        )
    return joined


def _log_ratio(above: FloatArray, below: FloatArray) -> FloatArray:
    """Return log(above / below) without the cancellation of a ratio near 1."""
    return np.log1p((above - below) / below)


def _power(u: FloatArray, low: FloatArray, high: FloatArray, log_range: FloatArray) -> FloatArray:
    """Return low (high / low)^t, reckoned from the nearer bound so that both are exact and errors stay small."""
    factor = np.exp(np.maximum(0.5 - 0.5 * np.abs(u), 0.0) * log_range)
    return np.where(u < 0.0, low * factor, high / factor)


def _log_position(c: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
    """Return the inverse of `_power`, exact at both bounds."""
    above, below = _log_ratio(c, low), _log_ratio(high, c)
    return np.clip((above - below) / (above + below), -1.0, 1.0)


def _settle(codec: Codec, u: FloatArray, c: FloatArray) -> FloatArray:
    """Move the coordinates that rounding put into a neighbour's cell home, one float at a time."""
    for _ in range(_STEPS):
        error = c - codec.decode(u)
        if not error.any():
            break
        u = np.where(error == 0.0, u, np.nextafter(u, 2.0 * np.sign(error)))
    return u
