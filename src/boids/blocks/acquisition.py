"""Acquisition functions of a predicted mean and variance, all to be *minimised* over x for a function to be minimised.

Expected improvement: Močkus 1978; its logarithm: Ament, Daulton, Eriksson, Balandat & Bakshy, *Unexpected Improvements
to Expected Improvement*, NeurIPS 2023; confidence bound: Srinivas, Krause, Kakade & Seeger, ICML 2010.

Notation
--------
μ, s²   predicted mean and variance        (q,)
y*      best value so far
u       (y* - μ) / s
h(u)    φ(u) + u Φ(u), so that the expected improvement is s h(u)
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import erfcx, ndtr

from boids.records import FloatArray

_LOG_SQRT_2PI = 0.5 * math.log(2.0 * math.pi)
_SQRT_HALF_PI = math.sqrt(0.5 * math.pi)


def marginal_draw(
    mean: NDArray[Any], variance: NDArray[Any], normals: NDArray[Any], noise_variance: float = 0.0
) -> NDArray[Any]:
    """Return μ + √(s² + σ²) z with the normals fixed per row: the Thompson sampling of the released BOIDS code."""
    draw: NDArray[Any] = mean + np.sqrt(variance + noise_variance) * np.resize(normals, len(mean))
    return draw


def negative_ucb(mean: NDArray[Any], variance: NDArray[Any], beta: float) -> NDArray[Any]:
    """Return the lower confidence bound μ - √β s."""
    bound: NDArray[Any] = mean - math.sqrt(beta) * np.sqrt(variance)
    return bound


def negative_ei(mean: FloatArray, variance: FloatArray, best: float) -> FloatArray:
    """Return minus the expected improvement."""
    deviation = np.sqrt(variance)
    u = (best - mean) / deviation
    return np.asarray(-deviation * (np.exp(-0.5 * u * u - _LOG_SQRT_2PI) + u * ndtr(u)))


def negative_log_ei(mean: FloatArray, variance: FloatArray, best: float) -> FloatArray:
    """Return minus the logarithm of the expected improvement, finite however small the improvement."""
    deviation = np.sqrt(variance)
    return -(log_h((best - mean) / deviation) + np.log(deviation))


def log_h(u: FloatArray) -> FloatArray:
    """Return log h(u) for any u, finite and exact down to -1e10 and beyond."""
    u = np.asarray(u, dtype=np.float64)
    plain = np.maximum(u, -1.0)
    upper = np.log(np.exp(-0.5 * plain * plain - _LOG_SQRT_2PI) + plain * ndtr(plain))
    lower = -0.5 * u * u - _LOG_SQRT_2PI + _log_h_over_phi(np.minimum(u, -1.0))
    return np.where(u > -1.0, upper, lower)


def log_h_slope(u: FloatArray) -> FloatArray:
    """Return d log h / du = Φ(u) / h(u)."""
    u = np.asarray(u, dtype=np.float64)
    plain = np.maximum(u, -1.0)
    upper = ndtr(plain) / (np.exp(-0.5 * plain * plain - _LOG_SQRT_2PI) + plain * ndtr(plain))
    tail = np.minimum(u, -1.0)
    # Φ/φ and h/φ, so that numerator and denominator lose their vanishing common factor.
    lower = _SQRT_HALF_PI * erfcx(-tail / math.sqrt(2.0)) * np.exp(-_log_h_over_phi(tail))
    return np.where(u > -1.0, upper, lower)


def log_h_with_slope(u: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return log h(u) and its derivative; for a single u, as in a climb, without the cost of arrays."""
    u = np.asarray(u, dtype=np.float64)
    if u.size != 1:
        return log_h(u), log_h_slope(u)
    value, slope = _one_log_h_with_slope(u.item())
    return np.full(u.shape, value), np.full(u.shape, slope)


def _one_log_h_with_slope(u: float) -> tuple[float, float]:
    """Return log h(u) and Φ(u) / h(u) as `log_h` and `log_h_slope` do."""
    if math.isnan(u):
        return u, u
    if u > -1.0:
        density, below = math.exp(-0.5 * u * u - _LOG_SQRT_2PI), 0.5 * math.erfc(-u / math.sqrt(2.0))
        h = density + u * below
        return math.log(h), below / h
    ratio = _SQRT_HALF_PI * float(erfcx(-u / math.sqrt(2.0)))  # Φ/φ
    if u > -100.0:
        log_rest = math.log1p(ratio * u)
    else:
        s = u**-2.0
        log_rest = math.log(s) + math.log1p(s * (-3.0 + s * (15.0 - 105.0 * s)))
    return -0.5 * u * u - _LOG_SQRT_2PI + log_rest, ratio * math.exp(-log_rest)


def _log_h_over_phi(u: FloatArray) -> FloatArray:
    """Return log(h(u)/φ(u)) = log(1 - w), w = |u| Φ(u)/φ(u) < 1, for u ≤ -1.

    Near -1 from the scaled complementary error function; from -100 on, where w is 1 to many digits, from the series
    1 - w = u⁻² - 3 u⁻⁴ + 15 u⁻⁶ - 105 u⁻⁸ + …
    """
    middle = np.maximum(u, -100.0)
    log_w = np.log(_SQRT_HALF_PI * erfcx(-middle / math.sqrt(2.0)) * -middle)
    near = log1mexp(log_w)
    s = np.minimum(u, -100.0) ** -2.0
    far = np.log(s) + np.log1p(s * (-3.0 + s * (15.0 - 105.0 * s)))
    return np.where(u > -100.0, near, far)


def log1mexp(w: FloatArray) -> FloatArray:
    """Return log(1 - exp(w)) for w < 0 without cancellation."""
    w = np.minimum(w, -np.finfo(np.float64).tiny)
    near = np.log(-np.expm1(np.maximum(w, -1.0)))
    far = np.log1p(-np.exp(np.minimum(w, -0.5)))
    return np.where(w > -math.log(2.0), near, far)
