"""Initial designs in the cube [-1, 1]^d."""

from __future__ import annotations

from typing import Literal

import numpy as np

from boids.errors import MethodError
from boids.records import FloatArray

DesignName = Literal["latin-hypercube", "sobol", "uniform"]


def latin_hypercube(count: int, dim: int, rng: np.random.Generator) -> FloatArray:
    """Return `count` points: in every coordinate each of `count` equal cells holds one point, uniform in its cell."""
    cells = rng.permuted(np.tile(np.arange(count), (dim, 1)), axis=1).T
    return 2.0 * (cells + rng.random((count, dim))) / count - 1.0


def sobol(count: int, dim: int, rng: np.random.Generator) -> FloatArray:
    """Return the first `count` points of a scrambled Sobol sequence."""
    from scipy.stats import qmc  # half of the time that importing boids would take, and seldom needed

    if dim > qmc.Sobol.MAXDIM:
        raise MethodError(f"a Sobol design has at most {qmc.Sobol.MAXDIM} dimensions, not {dim}; use another design.")
    # random_base2 keeps SciPy from warning about counts that are no power of two; the surplus is dropped.
    points = qmc.Sobol(dim, rng=rng).random_base2(max(0, int(count - 1).bit_length()))
    return np.asarray(2.0 * points[:count] - 1.0, dtype=np.float64)


def uniform(count: int, dim: int, rng: np.random.Generator) -> FloatArray:
    """Return `count` independent uniform points."""
    return rng.uniform(-1.0, 1.0, (count, dim))


DESIGNS = {"latin-hypercube": latin_hypercube, "sobol": sobol, "uniform": uniform}
