"""The initial design of BOIDS, with linear constraints or without, all over a subspace or around a point."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from boids.algorithms.boids_settings import BoidsSettings
from boids.blocks.design import DESIGNS
from boids.blocks.embedding import Embedding
from boids.records import Domain, FloatArray

#: The share of the subspace's width that the design takes up around a centre. Lines still cross the whole box.
EXTENT_AROUND = 0.2
#: Random points among which a design looks for some that satisfy linear constraints.
DESIGN_DRAWS = 2000
#: How often a design point that is nothing but the centre goes twice as far from it.
MOST_DOUBLINGS = 10


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


def laid_through(
    settings: BoidsSettings,
    embedding: Embedding,
    centre: FloatArray,
    domain: Domain,
    count: int,
    rng: np.random.Generator,
) -> tuple[Embedding, FloatArray]:
    """Return the subspace moved to a point (D,), and a design (count, d) around that.

    Design points that are nothing but the point itself once integers and categories are made whole move away from it.
    """
    embedding = replace(embedding, centre=centre)
    design = initial_design(settings, embedding, domain, count, rng, EXTENT_AROUND)
    if domain.snapping is not None:
        home = domain.snapping(centre)
        for _ in range(MOST_DOUBLINGS):
            same = (domain.snapping(embedding.lift(design)) == home).all(axis=-1)
            if not same.any():
                break
            design[same] = np.clip(2.0 * design[same], -1.0, 1.0)
    return embedding, design
