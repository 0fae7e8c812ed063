"""The initial design of BOIDS, with linear constraints or without."""

from __future__ import annotations

import numpy as np

from boids.algorithms.boids_settings import BoidsSettings
from boids.blocks.design import DESIGNS
from boids.blocks.embedding import Embedding
from boids.records import Domain, FloatArray

#: Random points among which a design looks for some that satisfy linear constraints.
DESIGN_DRAWS = 2000


def initial_design(
    settings: BoidsSettings,
    embedding: Embedding,
    domain: Domain,
    count: int,
    rng: np.random.Generator,
    extent: float | FloatArray = 1.0,
) -> FloatArray:
    """Return the initial design (count, d); where linear constraints forbid a point, an allowed one takes its place.

    `extent` says how far from the origin of the subspace the points may be: all of them, or each one (count, 1).
    """
    if domain.repairing is not None:
        return domain.sample(count, rng)
    design = extent * DESIGNS[settings.design](count, embedding.dim, rng)
    if domain.violating is None or not count:
        return design
    wrong = np.flatnonzero(domain.violating(embedding.lift(design)) > 0.0)
    others = rng.uniform(-np.max(extent), np.max(extent), (DESIGN_DRAWS, embedding.dim))
    violation = domain.violating(embedding.lift(others))
    # The least wrong of many; the shell moves what is still not allowed.
    design[wrong] = others[np.argsort(violation, kind="stable")[: len(wrong)]]
    return design
