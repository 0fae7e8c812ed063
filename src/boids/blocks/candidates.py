"""Candidates for a discrete search: quasi-random points of a box, and which of them is best.

Eriksson et al. (TuRBO), NeurIPS 2019, appendix; the perturbation of few coordinates at a time is from Regis &
Shoemaker, *Combining radial basis function surrogates and dynamic coordinate search*, 2013.

Notation
--------
c       centre                                  (d,)
C       candidates                              (q, d)
U       their images in the cube [-1, 1]^D      (q, D)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boids.blocks.design import sobol
from boids.records import FloatArray, History, Proposal

#: Joe and Kuo's direction numbers end here; beyond, plain random points do.
MOST_SOBOL_DIMENSIONS = 21201
#: A candidate nearer than this to a pending point, in every coordinate of [-1, 1]^D, would be evaluated twice.
SEPARATION = 1e-6
#: Candidates that are looked up among the points tried before, best first.
MOST_LOOKED_UP = 200


def box_candidates(low: FloatArray, high: FloatArray, count: int, rng: np.random.Generator) -> FloatArray:
    """Return `count` scrambled Sobol points of the box with these corners."""
    dim = len(low)
    unit = 0.5 * (sobol(count, dim, rng) + 1.0) if dim <= MOST_SOBOL_DIMENSIONS else rng.random((count, dim))
    unit *= high - low
    unit += low
    return np.clip(unit, low, high, out=unit)


def perturbed_candidates(
    centre: FloatArray, low: FloatArray, high: FloatArray, count: int, perturbed: float, rng: np.random.Generator
) -> FloatArray:
    """Return points that differ from c in `perturbed` coordinates on average, and at least in one.

    Every coordinate of a Sobol point of the box is kept with the probability min(1, perturbed / d); the others are c's.
    """
    points = box_candidates(low, high, count, rng)
    dim = len(centre)
    if dim <= perturbed:
        return points
    # Single precision: twice as fast, and the probability is no more than a rule of thumb.
    mask = rng.random((count, dim), dtype=np.float32) < perturbed / dim
    still = np.flatnonzero(~mask.any(axis=1))
    mask[still, rng.integers(dim, size=len(still))] = True
    return np.where(mask, points, centre)


def choose(draw: FloatArray, images: NDArray[Any], pending: Sequence[Proposal], history: History) -> int:
    """Return the row with the lowest draw among those that are allowed and neither pending nor tried before.

    If there is none, the row with the lowest draw of all: the shell moves what cannot be evaluated.

    Parameters
    ----------
    draw
        What to minimise (q,).
    images
        U.
    """
    domain = history.domain
    lowest = np.where(np.isnan(draw), np.inf, draw)
    excluded = np.isinf(lowest)
    if domain.violating is not None and domain.repairing is None:
        excluded |= domain.violating(images) > 0.0
    for proposal in pending:
        excluded |= np.abs(images - proposal.unit).max(axis=1) < SEPARATION
    left = np.flatnonzero(~excluded)
    if not len(left):
        return int(np.argmin(lowest))
    left = left[np.argsort(lowest[left], kind="stable")]
    if domain.snapping is not None and not domain.noisy:
        # Continuous points are hardly ever hit twice; whole numbers are.
        return int(next((row for row in left[:MOST_LOOKED_UP] if not history.tried(images[row])), left[0]))
    return int(left[0])
