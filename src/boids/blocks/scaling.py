"""Putting values on a scale that a Gaussian process can work with, and back."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, final

import numpy as np
from scipy.optimize import minimize_scalar

from boids.records import FloatArray

Centre = Literal["mean", "median"]

_LARGEST = float(np.finfo(float).max)
#: A noise variance, in variances of the values, beyond which a value says nothing; more would only spoil the algebra.
_WORTHLESS = 1e10

#: λ of the Yeo-Johnson transform: 1 changes nothing, -2 draws in what lies a million deviations away.
_POWERS = (-2.0, 1.0)
#: Standardised values that differ by less differ by rounding.
_ALIKE = 1e-14
#: Skewness from which on a tail is long (an exponential distribution has 2); docs/experiments.md has what 2 did.
_LONG_TAIL = 3.0


@final
@dataclass(frozen=True, slots=True)
class Scale:
    """The map y -> (y / size - middle) / spread; `size` keeps squares of huge and tiny numbers in range."""

    size: float = 1.0
    middle: float = 0.0
    spread: float = 1.0

    @classmethod
    def of(cls, values: FloatArray, centre: Centre = "mean", flat: float = 0.0, ddof: int | None = None) -> Scale:
        """Return the scale on which `values`, which must be finite, have centre 0 and standard deviation 1.

        Parameters
        ----------
        centre
            "mean" goes with the sample standard deviation (ddof 1, BOIDS); "median" with the population's (ddof 0,
            BAxUS).
        flat
            A standard deviation below this counts as zero, and the values are then only centred (released code: 1e-6).
            The default 0.0 judges by rounding error alone, so that an objective measured in tiny units is not lost.
        ddof
            Of the standard deviation, if it is not the one that goes with the centre.
        """
        size = float(np.abs(values).max()) if len(values) else 0.0
        if size == 0.0:
            return cls()
        scaled = values / size
        middle = float(np.median(scaled) if centre == "median" else scaled.mean())
        if ddof is None:
            ddof = 0 if centre == "median" else 1
        spread = float(scaled.std(ddof=0 if len(values) == 1 else ddof))
        rounding = 1e-14 * max(1.0, abs(middle))
        if spread <= rounding:
            return cls(size, middle, np.inf)  # all the same: zeros
        if spread < flat / size:
            return cls(size, middle, 1.0 / size)
        return cls(size, middle, spread)

    def standardise(self, values: FloatArray) -> FloatArray:
        """Return values on this scale."""
        return np.asarray((values / self.size - self.middle) / self.spread)

    def restore(self, targets: FloatArray) -> FloatArray:
        """Return the values of numbers on this scale."""
        spread = self.spread if np.isfinite(self.spread) else 0.0
        with np.errstate(over="ignore"):  # values near the largest float have neighbours beyond it
            return np.clip((targets * spread + self.middle) * self.size, -_LARGEST, _LARGEST)

    def variance(self, variances: FloatArray) -> FloatArray:
        """Return variances of values as variances on this scale."""
        if not np.isfinite(self.spread):
            return np.zeros_like(variances)
        with np.errstate(over="ignore"):
            return np.minimum(variances / self.size / self.size / self.spread / self.spread, _WORTHLESS)


@final
@dataclass(frozen=True, slots=True)
class Taming:
    """A monotone map of standardised values that draws in a long tail of bad ones; nothing changes with λ = 1.

    Yeo & Johnson, *A New Family of Power Transformations*, Biometrika 2000, with λ ≤ 1 by maximum likelihood: the bad
    values come closer together and the good ones move apart, never the other way round. One huge value hides all
    differences in a standard deviation; the transform works on quantiles instead.

    Attributes
    ----------
    power
        λ.
    middle, half
        Median of the values, and half of the distance of two quantiles.
    after
        Makes the result standardised again.
    """

    power: float = 1.0
    middle: float = 0.0
    half: float = 1.0
    after: Scale = field(default_factory=Scale)

    @classmethod
    def of(cls, targets: FloatArray) -> Taming:
        """Return the map that standardised values need: none, unless their tail is long."""
        if len(targets) < 3 or skewness(targets) <= _LONG_TAIL:
            return cls()
        low, middle, high = np.quantile(targets, [0.16, 0.5, 0.84])
        if high - low <= _ALIKE:
            return cls()
        half = 0.5 * (high - low)
        y = (targets - middle) / half
        sizes = float(np.sign(y) @ np.log1p(np.abs(y)))

        def loss(power: float) -> float:
            return float(0.5 * len(y) * np.log(_powered(y, power).var()) - (power - 1.0) * sizes)

        power = float(minimize_scalar(loss, bounds=_POWERS, method="bounded", options={"xatol": 1e-3}).x)
        return cls(power, float(middle), float(half), Scale.of(_powered(y, power)))

    def __call__(self, targets: FloatArray) -> FloatArray:
        """Return the mapped values, which need not be those that the map was made for."""
        if self.power == 1.0:
            return targets
        return self.after.standardise(_powered((targets - self.middle) / self.half, self.power))


def standardise(values: FloatArray, centre: Centre = "mean", flat: float = 0.0) -> FloatArray:
    """Return values with centre 0 and standard deviation 1; failures (nan) count as the worst value seen.

    `values` (n,) may be anything finite, 1e300 and 1e-300 included; `centre` and `flat` are those of `Scale.of`.
    """
    filled = imputed(values)
    return Scale.of(filled, centre, flat).standardise(filled)


def skewness(targets: FloatArray) -> float:
    """Return the skewness of standardised values."""
    centred = targets - targets.mean()
    spread = float(np.sqrt(np.mean(centred**2)))
    return float(np.mean((centred / spread) ** 3)) if spread > _ALIKE else 0.0


def _powered(y: FloatArray, power: float) -> FloatArray:
    """Return the Yeo-Johnson transform of y with λ = `power` ≤ 1."""
    above = np.log1p(np.maximum(y, 0.0))
    upper = above if abs(power) < 1e-9 else np.expm1(power * above) / power
    lower = np.expm1((2.0 - power) * np.log1p(np.maximum(-y, 0.0))) / (2.0 - power)
    return np.asarray(np.where(y > 0.0, upper, -lower))


def imputed(values: FloatArray) -> FloatArray:
    """Return values with the worst one in the place of failures (nan); zeros if there is no success."""
    good = np.isfinite(values)
    return np.where(good, values, values[good].max()) if good.any() else np.zeros_like(values)
