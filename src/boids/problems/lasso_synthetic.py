"""The made-up regressions of LassoBench: correlated columns, of which a few matter.

Šehić, Gramfort, Salmon and Nardi, LassoBench: A High-Dimensional Hyperparameter Optimization Benchmark Suite for
Lasso, AutoML 2022, section 4.

======  =========================================================================
symbol  meaning, shape
======  =========================================================================
n, D    rows and columns
k       columns that matter
X       the columns, each normal with variance 1, neighbours correlated by 0.6, (n, D)
w       the true coefficients: 1, -1, 1 … at every (D / k)-th column, else 0, (D,)
y       X w + noise, (n,)
======  =========================================================================
"""

from __future__ import annotations

import numpy as np

from boids.records import FloatArray

#: (n, D, k) by the name of the benchmark.
SIZES: dict[str, tuple[int, int, int]] = {
    "simple": (30, 60, 3),
    "medium": (50, 100, 5),
    "high": (150, 300, 15),
    "hard": (500, 1000, 50),
}

CORRELATION = 0.6


def synthetic_regression(size: str, seed: int, snr: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return X, y and w of a benchmark; `snr` is |X w| / |noise|."""
    n, dim, support = SIZES[size]
    # The old generator, because the benchmark is defined by its numbers.
    draw = np.random.RandomState(seed)
    x = np.empty((n, dim))
    x[:, 0] = draw.randn(n)
    for column in range(1, dim):
        x[:, column] = CORRELATION * x[:, column - 1] + np.sqrt(1 - CORRELATION**2) * draw.randn(n)
    w = np.zeros(dim)
    w[:: dim // support] = (-1.0) ** np.arange(support)
    y = x @ w
    noise = draw.randn(n)
    y += noise * (np.linalg.norm(y) / (snr * np.linalg.norm(noise)))
    return x, y, w
