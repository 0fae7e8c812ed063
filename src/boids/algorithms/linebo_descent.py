"""The direction of descent of LineBO: steps against drawn gradients inside a small trust region.

Kirschner, Mutný, Hiller, Ischebeck & Krause, ICML 2019, "DescentLineBO". A gradient is drawn from the posterior at the
centre, and the point where the step against it leaves the trust region is evaluated. What is learnt of the gradient
in this way gives b, the least predicted point of such a step, and the direction of the next line: from the centre to b.

Notation
--------
b       the best predicted point                        (D,)
c, r    centre and half-width of the trust region       (D,), scalar
v       unit direction of a step                        (D,)
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from boids.blocks.line import chord
from boids.gp.posterior import Posterior
from boids.records import FloatArray

#: Original: the step of the difference quotient, 0.01 in a box one wide.
DIFFERENCE = 0.02
#: Original: a move below this share of the radius, or a predicted gain below this share, leads nowhere.
LEAST_MOVE, LEAST_GAIN = 0.02, 0.005


def against_gradient(draw: Callable[[FloatArray], FloatArray], centre: FloatArray) -> FloatArray:
    """Return the unit direction in which a draw of the posterior falls fastest at c, by difference quotients.

    On a face of the box, where that would lead outside, it is the one along the face.
    """
    dim = len(centre)
    # Towards the middle of the box, so that every point of the quotient is inside.
    steps = np.where(centre > 0.0, -DIFFERENCE, DIFFERENCE)
    values = np.asarray(draw(np.vstack([centre + np.diag(steps), centre])), dtype=np.float64)
    down = -(values[:dim] - values[dim]) / steps
    down[(np.abs(centre) >= 1.0) & (down * centre > 0.0)] = 0.0
    size = float(np.linalg.norm(down))
    return down / size if size > 0.0 else np.zeros(dim)


def reach(centre: FloatArray, direction: FloatArray, radius: float) -> float:
    """Return how far a step from c stays in the trust region, a box of half-width r, and in the cube."""
    steepest = float(np.abs(direction).max())
    if steepest == 0.0:
        return 0.0
    return min(radius / steepest, float(chord(centre[None], direction[None])[1][0]))


def line_search(
    posterior: Posterior, centre: FloatArray, direction: FloatArray, radius: float, count: int
) -> FloatArray:
    """Return b, the least predicted point of a step."""
    t = np.linspace(0.0, reach(centre, direction, radius), count)
    points = np.clip(centre + np.multiply.outer(t, direction), -1.0, 1.0)
    mean, _ = posterior.predict(points)
    return np.array(points[int(np.argmin(mean))])


def promising(posterior: Posterior, best: FloatArray, centre: FloatArray, radius: float, relative: bool) -> bool:
    """Whether b is far and, as predicted, low enough from the centre to be a direction.

    The gain counts relative to the centre's mean as in the original, or else in standard deviations of the values.
    """
    mean, _ = posterior.predict(np.vstack([centre, best]))
    scale = abs(float(mean[0])) if relative else 1.0
    far = np.abs(best - centre).max() >= LEAST_MOVE * radius
    return bool(far and mean[0] - mean[1] >= LEAST_GAIN * scale)
