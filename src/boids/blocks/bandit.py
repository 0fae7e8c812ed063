"""Which line to follow: a bandit whose arms are lines and whose rewards come from one posterior draw.

Ngo, Ha, Chan & Zhang (BOIDS), AAAI 2025, Eq. 2 and Alg. LINE-SELECT; Thompson, *Biometrika* 1933.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from boids.blocks.line import Lines
from boids.records import BoolArray, FloatArray

#: What a line loses for each evaluation that is under way on it, in standard deviations of the lines' rewards: another
#: line that is nearly as good is preferred, and one that is not does not become better by being free.
CROWDING = 0.25


def select_line(
    draw: Callable[[FloatArray, FloatArray, FloatArray], FloatArray],
    lines: Lines,
    per_line: int,
    rng: np.random.Generator,
    busy: Sequence[int] = (),
) -> tuple[int, FloatArray]:
    """Return the line on which the draw goes lowest, and the reward (-minimum) of every line.

    Parameters
    ----------
    draw
        One realisation of the posterior of the function to be minimised, as a function of origins (m, d), directions
        (m, d) and parameters t (m, k): its values (m, k) at origins + t directions.
    per_line
        Uniform candidates on every chord.
    busy
        Lines that are being evaluated, as often as they are: each time costs a line `CROWDING` of its reward.
    """
    t = lines.parameters(per_line, rng)
    rewards = -np.asarray(draw(lines.origins, lines.directions, t), dtype=np.float64).min(axis=1)
    load = np.bincount(np.asarray(busy, dtype=np.int64), minlength=len(rewards))
    return int(np.argmax(rewards - CROWDING * rewards.std() * load)), rewards


def least_busy(count: int, busy: Sequence[int]) -> BoolArray:
    """Return which of `count` lines are named least often in `busy`."""
    load = np.bincount(np.asarray(busy, dtype=np.int64), minlength=count)
    return np.asarray(load == load.min())
