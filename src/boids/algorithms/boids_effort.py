"""How long BOIDS searches on its line when every step is expensive: thousands of data in thousands of dimensions.

The settings say how long a search may be; where a step takes so much work that this would be many seconds, a search
is cut to what takes about two (ours), unless `max_points` is None. With 1000 data nothing is cut below 1000 dimensions.

Notation
--------
n, d    data of the model, subspace dimension
"""

from __future__ import annotations

from dataclasses import replace

from boids.algorithms.boids_settings import BoidsSettings
from boids.blocks.nsga2 import NSGA2

#: Multiply-adds of all climbs for a proposal: point by point, they are as fast as memory is.
CLIMBING = 3e9
#: Multiply-adds of NSGA-II, whose batches are matrix products.
BREEDING = 5e10
#: Numbers that make up the waves of a drawn function.
WAVES = 5e6
#: What is left at the least: steps of a climb, generations, points to begin with, waves.
FEWEST_STEPS, FEWEST_GENERATIONS, FEWEST_STARTS, FEWEST_WAVES = 10, 10, 100, 100


def steps_per_climb(settings: BoidsSettings, n: int, d: int) -> int:
    """Return how many evaluations with gradients a climb may take; each is n (2 n + 3 d) multiply-adds."""
    if settings.max_points is None:
        return settings.climb_evaluations
    affordable = int(CLIMBING / (settings.climbs * n * (2.0 * n + 3.0 * d)))
    return min(settings.climb_evaluations, max(FEWEST_STEPS, affordable))


def features_of_a_draw(settings: BoidsSettings, d: int) -> int:
    """Return how many random features a drawn function has, with d numbers each; fewer beyond 4900 dimensions."""
    if settings.max_points is None:
        return settings.path_features
    return min(settings.path_features, max(FEWEST_WAVES, int(WAVES / d)))


def shortened(settings: BoidsSettings, starts: int, n: int, d: int) -> tuple[NSGA2, int]:
    """Return NSGA-II and its number of starting points, both cut alike; a point is n (d + n / 2) multiply-adds."""
    search = settings.search
    offspring = search.population if search.offspring is None else search.offspring
    points = starts + offspring * (search.generations - 1)
    share = BREEDING / max(1.0, points * n * (d + 0.5 * n))
    if share >= 1.0 or settings.max_points is None:
        return search, starts
    generations = min(search.generations, max(FEWEST_GENERATIONS, int(share * search.generations)))
    return replace(search, generations=generations), min(starts, max(FEWEST_STARTS, int(share * starts)))
