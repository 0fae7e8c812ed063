"""The formulas of the synthetic problems: each maps q points to their values, in any dimension unless it says so.

Formulas and domains: Surjanovic & Bingham, Virtual Library of Simulation Experiments (sfu.ca/~ssurjano), but for
Alpine N.1 (Jamil & Yang, A literature survey of benchmark functions for global optimisation problems, 2013) and the
ellipsoid (Hansen et al., Real-parameter black-box optimization benchmarking 2009: noiseless functions definitions).

Every function here is nowhere smaller than its optimum on all of R^d, not only in its box, so it may be shifted and
rotated. Most are sums of non-negative terms. Branin is a square plus a cosine, at least 5/(4π). Styblinski–Tang is a
sum of quartics whose minimum over the whole line is the one in the box. Hartmann's centres P lie in the unit cube, so
moving a point of R⁶ to the nearest point of the cube brings it closer to all of them, in every coordinate, and only
lowers the value. Schwefel's formula has no minimum outside its box, and is continued in another way there.

======  =========================================================================
symbol  meaning, shape
======  =========================================================================
n       number of coordinates
x       q points in natural units, (q, n); the values are (q,)
======  =========================================================================
"""

from __future__ import annotations

import numpy as np

from boids.records import FloatArray


def ackley(x: FloatArray) -> FloatArray:
    """-20 exp(-0.2 sqrt(mean x²)) - exp(mean cos 2πx) + 20 + e."""
    radius = np.sqrt(np.mean(x**2, axis=1))
    waves = np.mean(np.cos(2 * np.pi * x), axis=1)
    # expm1 instead of 20 + e - …: no cancellation, so the value at the minimiser is 0 and not 4e-16.
    values: FloatArray = -20 * np.expm1(-0.2 * radius) - np.e * np.expm1(waves - 1)
    return values


def alpine(x: FloatArray) -> FloatArray:
    """Σ |x sin x + 0.1 x|, which is 0 also wherever all sin xᵢ are -0.1 or xᵢ are 0."""
    values: FloatArray = np.sum(np.abs(x * np.sin(x) + 0.1 * x), axis=1)
    return values


def ellipsoid(x: FloatArray) -> FloatArray:
    """Σ 10^(6 (i-1)/(n-1)) xᵢ², of condition 10⁶; x₁² if n = 1."""
    n = x.shape[1]
    values: FloatArray = np.sum(10.0 ** (6 * np.arange(n) / max(n - 1, 1)) * x**2, axis=1)
    return values


def griewank(x: FloatArray) -> FloatArray:
    """Σ xᵢ²/4000 - Π cos(xᵢ/√i) + 1."""
    waves = np.prod(np.cos(x / np.sqrt(np.arange(1, x.shape[1] + 1))), axis=1)
    values: FloatArray = np.sum(x**2, axis=1) / 4000 + (1 - waves)
    return values


def levy(x: FloatArray) -> FloatArray:
    """sin²(πw₁) + Σ_{i<n} (wᵢ-1)² (1 + 10 sin²(πwᵢ+1)) + (wₙ-1)² (1 + sin²(2πwₙ)), w = 1 + (x-1)/4."""
    w = 1 + (x - 1) / 4
    first, inner, last = w[:, 0], w[:, :-1], w[:, -1]
    values: FloatArray = (
        np.sin(np.pi * first) ** 2
        + np.sum((inner - 1) ** 2 * (1 + 10 * np.sin(np.pi * inner + 1) ** 2), axis=1)
        + (last - 1) ** 2 * (1 + np.sin(2 * np.pi * last) ** 2)
    )
    return values


def powell(x: FloatArray) -> FloatArray:
    """Σ (a + 10b)² + 5(c - d)² + (b - 2c)⁴ + 10(a - d)⁴ over groups (a, b, c, d) of four coordinates in a row."""
    a, b, c, d = (x[:, first::4] for first in range(4))
    terms = (a + 10 * b) ** 2 + 5 * (c - d) ** 2 + (b - 2 * c) ** 4 + 10 * (a - d) ** 4
    values: FloatArray = np.sum(terms, axis=1)
    return values


def rastrigin(x: FloatArray) -> FloatArray:
    """Σ x² + 10 (1 - cos 2πx)."""
    values: FloatArray = np.sum(x**2 + 10 * (1 - np.cos(2 * np.pi * x)), axis=1)
    return values


def rosenbrock(x: FloatArray) -> FloatArray:
    """Σ_{i<n} 100 (xᵢ₊₁ - xᵢ²)² + (xᵢ - 1)²; n is at least 2."""
    here, following = x[:, :-1], x[:, 1:]
    values: FloatArray = np.sum(100 * (following - here**2) ** 2 + (here - 1) ** 2, axis=1)
    return values


def schwefel(x: FloatArray) -> FloatArray:
    """Σ 418.98… - x sin √|x|; outside [-500, 500] the value at the nearest point plus the square of the distance."""
    inside = np.clip(x, -500, 500)
    terms = SCHWEFEL_PEAK - inside * np.sin(np.sqrt(np.abs(inside)))
    values: FloatArray = np.sum(terms + (x - inside) ** 2, axis=1)
    return values


def sphere(x: FloatArray) -> FloatArray:
    """Σ x²."""
    values: FloatArray = np.sum(x**2, axis=1)
    return values


def styblinski_tang(x: FloatArray) -> FloatArray:
    """Σ (x⁴ - 16x² + 5x) / 2."""
    values: FloatArray = np.sum(x**4 - 16 * x**2 + 5 * x, axis=1) / 2
    return values


def branin(x: FloatArray) -> FloatArray:
    """(x₂ - 5.1/(4π²) x₁² + 5/π x₁ - 6)² + 10 (1 - 1/(8π)) cos x₁ + 10; n is 2."""
    x1, x2 = x[:, 0], x[:, 1]
    valley = x2 - 5.1 / (4 * np.pi**2) * x1**2 + 5 / np.pi * x1 - 6
    values: FloatArray = valley**2 + 10 * (1 - 1 / (8 * np.pi)) * np.cos(x1) + 10
    return values


def hartmann(x: FloatArray) -> FloatArray:
    """-Σᵢ alphaᵢ exp(-Σⱼ Aᵢⱼ (xⱼ - Pᵢⱼ)²); n is 6."""
    squares = (x[:, np.newaxis, :] - HARTMANN_P) ** 2
    exponents = np.sum(HARTMANN_A * squares, axis=2)
    values: FloatArray = -np.sum(HARTMANN_ALPHA * np.exp(-exponents), axis=1)
    return values


def rescaled_hartmann(x: FloatArray) -> FloatArray:
    """-(2.58 + Σᵢ alphaᵢ exp(…)) / 1.94, the scale of the curves made with the released BOIDS code; n is 6."""
    # The constants are mean and deviation of log(-f) for uniform x, but the usage is without the log.
    return (hartmann(x) - 2.58) / 1.94


#: The root of sin √x + √x/2 cos √x in the box's last wave, and x sin √x there.
SCHWEFEL_MINIMISER = 420.968746359982
SCHWEFEL_PEAK = 418.98288727243374

#: The least root of 4x³ - 32x + 5, and the value per coordinate there.
STYBLINSKI_TANG_MINIMISER = -2.903534027771177
STYBLINSKI_TANG_OPTIMUM = -39.166165703771415

#: Where cos x₁ = -1 and the square vanishes. On R² there is one for every odd multiple of π, but shifts that
#: keep the first of these three in the box never bring a fourth one in.
BRANIN_MINIMISERS = np.array([[-np.pi, 12.275], [np.pi, 2.275], [3 * np.pi, 2.475]])
BRANIN_OPTIMUM = 5 / (4 * np.pi)

HARTMANN_ALPHA = np.array([1.0, 1.2, 3.0, 3.2])
HARTMANN_A = np.array(
    [
        [10.0, 3.0, 17.0, 3.5, 1.7, 8.0],
        [0.05, 10.0, 17.0, 0.1, 8.0, 14.0],
        [3.0, 3.5, 1.7, 10.0, 17.0, 8.0],
        [17.0, 8.0, 0.05, 10.0, 0.1, 14.0],
    ]
)
HARTMANN_P = 1e-4 * np.array(
    [
        [1312.0, 1696.0, 5569.0, 124.0, 8283.0, 5886.0],
        [2329.0, 4135.0, 8307.0, 3736.0, 1004.0, 9991.0],
        [2348.0, 1451.0, 3522.0, 2883.0, 3047.0, 6650.0],
        [4047.0, 8828.0, 8732.0, 5743.0, 1091.0, 381.0],
    ]
)
#: The fixed point of Newton's method on the formula, in double precision.
HARTMANN_MINIMISER = np.array(
    [
        0.20168951100670543,
        0.15001069182345797,
        0.47687397422189703,
        0.2753324304940561,
        0.31165161660011326,
        0.6573005340656204,
    ]
)
HARTMANN_OPTIMUM = -3.322368011415515
