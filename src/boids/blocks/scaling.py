"""Putting objective values on a scale that a Gaussian process can work with."""

from __future__ import annotations

from typing import Literal

import numpy as np

from boids.records import FloatArray

Centre = Literal["mean", "median"]


def standardise(values: FloatArray, centre: Centre = "mean", flat: float = 0.0) -> FloatArray:
    """Return values with centre 0 and standard deviation 1; failures (nan) count as the worst value seen.

    Parameters
    ----------
    values
        Objective values (n,), nan for failed evaluations. Anything finite is fine, 1e300 and 1e-300 included.
    centre
        "mean" goes with the sample standard deviation (ddof 1, BOIDS); "median" with the population's (ddof 0, BAxUS).
    flat
        A standard deviation below this counts as zero, and the values are then only centred (released code: 1e-6).
        The default 0.0 judges by rounding error alone, so that an objective measured in tiny units is not lost.
    """
    good = np.isfinite(values)
    if not good.any():
        return np.zeros_like(values)
    filled = np.where(good, values, values[good].max())
    # Divide by the largest magnitude first, so that squares neither overflow nor underflow.
    size = float(np.abs(filled).max())
    if size == 0.0:
        return np.zeros_like(values)
    scaled = filled / size
    middle = float(np.median(scaled) if centre == "median" else scaled.mean())
    deviations = scaled - middle
    spread = float(scaled.std(ddof=0 if centre == "median" or len(values) == 1 else 1))
    rounding = 1e-14 * max(1.0, abs(middle))
    if spread <= rounding:
        return np.zeros_like(values)
    if spread < flat / size:
        return deviations * size
    return deviations / spread
