"""The methods, one file each; `ALGORITHMS` maps the names users type to their classes."""

from __future__ import annotations

from typing import Any

from boids.algorithms.boids import Boids
from boids.algorithms.protocol import Algorithm
from boids.algorithms.random_search import RandomSearch

ALGORITHMS: dict[str, type[Any]] = {cls.name: cls for cls in (Boids, RandomSearch)}

__all__ = ["ALGORITHMS", "Algorithm", "Boids", "RandomSearch"]
