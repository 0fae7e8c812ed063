"""Some of the natural columns of a space, in three scales: coordinates of the cube, the user's units, and [0, 1].

======  =======================================================================  ==========
symbol  meaning                                                                  shape
======  =======================================================================  ==========
k       number of columns
v       coordinates in [-1, 1]; the leading axes are free                        (…, k)
x       values in the user's units                                               (…, k)
y       the same in [0, 1]: y = (x - low) / span                                 (…, k)
t       (v + 1) / 2: like y, but uniform in the logarithm where x is log-scaled
======  =======================================================================  ==========
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, final

import numpy as np

from boids.records import BoolArray, FloatArray, IntArray
from boids.space.codecs import Codec, Signs
from boids.space.layout import Layout
from boids.space.space import Space

# The largest dt / dy of a log-scaled column, that of a linear one being 1: a slope of 1e4 at the lower end of a column
# from 1e-5 to 1 says little about the way to its middle, and costs the solvers their digits.
_STEEPEST = 1e3


@final
class Columns:
    """Columns of a space, given by their places among its natural columns in rising order."""

    def __init__(self, space: Space, places: IntArray) -> None:
        #: The coordinates of u that belong to the columns, (k,).
        self.coordinates: IntArray = space.natural_index[places]
        self.low: FloatArray = space.natural_low[places]
        self.high: FloatArray = space.natural_high[places]
        self.span: FloatArray = self.high - self.low
        self.integer: BoolArray = space.natural_integer[places]
        self.log: BoolArray = space.natural_log[places]
        self._layout = _layout(space, places)
        # All others are linear and continuous: their y is t.
        self._curved = np.flatnonzero(self.integer | self.log)
        self._curved_layout = _layout(space, places[self._curved])

    def x(self, v: FloatArray) -> FloatArray:
        """Return the values of coordinates."""
        return self._layout.decode(v)

    def v(self, x: FloatArray) -> FloatArray:
        """Return the coordinates of values within the bounds."""
        v = np.empty_like(x)
        self._layout.encode(x, v)
        return v

    def y(self, v: FloatArray) -> FloatArray:
        """Return the scaled values of coordinates."""
        y: FloatArray = v * 0.5
        y += 0.5
        curved = self._curved
        if curved.size:
            x = self._curved_layout.decode(v.take(curved, axis=-1))
            y[..., curved] = (x - self.low[curved]) / self.span[curved]
        return y

    def of_y(self, y: FloatArray) -> FloatArray:
        """Return the values of y, whole where they must be."""
        x = self.low * (1.0 - y) + self.high * y
        return np.clip(np.where(self.integer, np.rint(x), x), self.low, self.high)

    @cached_property
    def steps(self) -> IntArray:
        """The number of steps from the lowest to the highest integer, 0 for a continuous column, (k,)."""
        return np.where(self.integer, self.span, 0.0).astype(np.int64)

    @cached_property
    def offsets(self) -> FloatArray:
        """The number a (k,) for which the density of y is 1 / (y + a) where t is uniform; inf where it is constant."""
        return np.where(self.log, self.low / self.span, np.inf)

    def weights(self, x: FloatArray) -> FloatArray:
        """Return (dt / dy)² at x (k,): what a small step of y counts for in the cube."""
        slopes = np.ones_like(x)
        log = self.log
        with np.errstate(over="ignore", divide="ignore"):  # next to the smallest floats
            slopes[log] = self.span[log] / x[log] / np.log(self.high[log] / self.low[log])
        return np.minimum(slopes, _STEEPEST) ** 2


def _layout(space: Space, places: IntArray) -> Layout:
    """Return the layout of the columns alone, so that reading two of a thousand columns costs no more than two."""
    codecs, first, width = [], 0, 0
    for parameter in space.parameters.values():
        if parameter.is_numeric:
            n = parameter.shape or 1
            own = places[(places >= first) & (places < first + n)] - first
            if own.size:
                codecs.append((_some(parameter.codec, own), width))
            first, width = first + n, width + len(own)
    return Layout(codecs)


def _some(codec: Any, components: IntArray) -> Codec:
    """Return a codec of some of the components, each of which has one coordinate."""
    if isinstance(codec, Signs):
        return Signs(len(components))
    some: Codec = type(codec)(codec.low[components], codec.high[components])
    return some
