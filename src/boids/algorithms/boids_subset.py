"""Which data the models of BOIDS are made of when there are more than an exact Gaussian process should take.

The cost of a model grows with the third power of its data, its memory with the second. The next proposal is on a line
through a particle or close to an incumbent, and what it needs to know is what happened there: the length scales of a
high-dimensional model do not reach much further. So beyond `max_points` the models see a local subset, chosen anew for
every proposal while the swarm moves (ours; the paper's runs end before). A quarter of the places go to each of

- the best rows, which say where the incumbents are and what there is to beat,
- the latest rows, of which most lie where the search goes now, and which no ranking has sorted out,
- the nearest to the leader g,
- the nearest to any particle x_i or personal incumbent p_i, from where the lines start.

No chance is involved, so that a run is the same as without a limit until it gets there; and the first row that is left
out is the one that matters least, so that nothing jumps.

Notation
--------
Z       rows of the current run, in the subspace         (n, d)
ℓ       length scales of the last fit                    (d,)
g       the leader                                       (d,)
x, p    particles and their personal incumbents          (m, d)
"""

from __future__ import annotations

import numpy as np

from boids.blocks.swarm import Swarm
from boids.gp.linalg import squared_distances
from boids.records import BoolArray, FloatArray, IntArray

#: Rows whose distances are computed at a time: memory stays flat.
_BLOCK_ROWS = 1024


def local_rows(
    points: FloatArray, merits: FloatArray, swarm: Swarm | None, lengthscales: FloatArray | None, limit: int
) -> IntArray:
    """Return which `limit` of the n rows are kept, in ascending order.

    Parameters
    ----------
    points, merits
        Z, and what the rows are ranked by (n,), lower is better; nan, failed, ranks last.
    swarm
        Where the search is; before there is one, the best row stands for it.
    lengthscales
        ℓ, the units in which distances are measured; None: all the same.
    """
    count = len(points)
    if count <= limit:
        return np.arange(count)
    known = np.where(np.isnan(merits), np.inf, merits)
    leader = points[[int(np.argmin(known))]] if swarm is None else swarm.leader[None]
    others = leader if swarm is None else np.vstack([swarm.positions, swarm.best_positions])
    rankings = (
        np.argsort(known, kind="stable"),
        np.arange(count)[::-1],
        np.argsort(_distances(points, leader, lengthscales), kind="stable"),
        np.argsort(_distances(points, others, lengthscales), kind="stable"),
    )
    kept: BoolArray = np.zeros(count, dtype=bool)
    for place, ranking in enumerate(rankings):
        share = limit * (place + 1) // len(rankings) - limit * place // len(rankings)
        kept[ranking[~kept[ranking]][:share]] = True
    return np.flatnonzero(kept)


def _distances(points: FloatArray, centres: FloatArray, lengthscales: FloatArray | None) -> FloatArray:
    """Return the squared distance (n,) of every point to the nearest of the centres (k, d)."""
    unit = 1.0 if lengthscales is None else lengthscales
    scaled = centres / unit
    nearest = np.empty(len(points))
    for begin in range(0, len(points), _BLOCK_ROWS):
        rows = slice(begin, begin + _BLOCK_ROWS)
        nearest[rows] = squared_distances(points[rows] / unit, scaled).min(axis=1)
    return nearest
