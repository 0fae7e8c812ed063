"""What BOIDS makes of points that it did not propose: a user's own design, or outcomes of an earlier run.

Such a guest may be anywhere in the cube, while the models know only a random subspace of it. Two rules (ours; the paper
has no guests):

- The nested subspaces are laid through the best guest known when the design begins, so that the search begins there,
  whatever the subspace, and every later subspace still has it. The initial design surrounds it: from a good point
  almost every long way leads up, and a model of nothing else finds no way down. But a guest may be no good. So the very
  first proposal is the middle of the box, where the papers' subspaces go through; it counts as a guest itself, and if
  it is the best of all everything is as in the papers (experiments/warm_start.py).
- Other guests take part as soon as the subspace has them, all of them at the latest when it has grown to the input
  space. They are data like any other, may lead the swarm and may be where a particle begins, but no line is credited
  with them, and they neither use up patience nor restore it. After a restart, which begins without the outcomes of the
  run that it ends, the guests are there again: they are what the user knows.

What was found by a sweep that was given up for subspaces (boids_sweeps.py), or by a run that stood still and began anew
(boids_beginnings.py), is a guest of all that follows, too.

Notation
--------
D, d    input dimension, subspace dimension
u       a guest, in [-1, 1]^D
c       the point that the subspaces are laid through      (D,)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from boids.algorithms.boids_models import Data
from boids.algorithms.boids_state import BoidsState
from boids.blocks.embedding import Embedding
from boids.records import BoolArray, Domain, FloatArray, History, IntArray, Proposal

#: A guest is in the subspace if a point of it is as near as this in every coordinate of [-1, 1]^D.
_TOLERANCE = 1e-6
#: Guests looked at together: memory stays flat.
_BLOCK_ROWS = 1000


def best_guest(state: BoidsState, history: History, pending: Sequence[Proposal]) -> FloatArray | None:
    """Return c: the best guest that was told, feasible ones first, or else the first that is pending.

    None if there is none, or if it is the middle of the box.
    """
    merits = _merits(history, state.guests)
    if not np.isnan(merits).all():
        best = state.guests[int(np.nanargmin(merits))]
        return np.array(history.units[best]) if history.aims[best].any() else None
    return next((np.array(proposal.unit) for proposal in pending if proposal.is_guest), None)


def held(embedding: Embedding, units: FloatArray, domain: Domain) -> BoolArray:
    """Return which points (k, D) the subspace has, once integers and categories are made whole."""
    if not embedding.splittable and embedding.centre is None:
        return np.ones(len(units), dtype=bool)
    if domain.snapping is None:
        return embedding.holds(units, _TOLERANCE)
    images = domain.snapping(embedding.lift(embedding.average(units)))
    return np.asarray(np.abs(images - units).max(axis=-1) <= _TOLERANCE)


def received(state: BoidsState, history: History) -> BoidsState:
    """Take in a guest, the last row of the history."""
    row = np.array([len(history) - 1])
    state = replace(state, guests=np.append(state.guests, row))
    if state.asked:
        return _joined(state, history, row)
    if len(state.queue) and not state.embedding.splittable and not np.isnan(history.values[-1]):
        # In the input space a point is a point: what the user has evaluated need not be designed. In a subspace only
        # the one that it is laid through counts, and where it leads is for the design to find out.
        return replace(state, queue=state.queue[:-1], design_size=state.design_size - 1)
    return state


def invited(state: BoidsState, history: History) -> BoidsState:
    """Look for guests that the present subspace has, which is new, and let them take part."""
    return _joined(state, history, np.setdiff1d(state.guests, state.rows))


def _joined(state: BoidsState, history: History, rows: IntArray) -> BoidsState:
    """Return the state with those of `rows` in it that the subspace has."""
    blocks = [rows[k : k + _BLOCK_ROWS] for k in range(0, len(rows), _BLOCK_ROWS)]
    there = [block[held(state.embedding, history.units[block], history.domain)] for block in blocks]
    rows = np.concatenate([rows[:0], *there])
    if not len(rows):
        return state
    state = replace(
        state,
        rows=np.concatenate([state.rows, rows]),
        owners=np.concatenate([state.owners, np.full(len(rows), -1)]),
    )
    values = history.values[rows]
    if state.swarm is None or np.isnan(values).all():
        return state
    best = int(np.nanargmin(values))
    return replace(state, swarm=state.swarm.follow(state.aims(history, rows[best : best + 1])[0], float(values[best])))


def _merits(history: History, rows: IntArray) -> FloatArray:
    """Return numbers in the order of these rows, feasibility first; nan where the evaluation failed."""
    constraints = None if history.constraints is None else history.constraints[rows]
    nowhere = np.empty((len(rows), 0))  # points have no say, and may be gigabytes
    return Data(nowhere, history.values[rows], constraints, None).ranked()
