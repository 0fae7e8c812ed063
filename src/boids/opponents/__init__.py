"""What users run today, under the same API: methods whose work other packages do, for comparisons.

They are no part of boids: `OPPONENTS` maps their names to classes, the packages come with the extra `bench`, and are
imported when a run makes its first proposal.
"""

from __future__ import annotations

from typing import Any

from boids.opponents.botorch_default import BoTorch
from boids.opponents.library import how_to_get, installed
from boids.opponents.nevergrad_wizard import Nevergrad
from boids.opponents.optuna_samplers import OptunaCMAES, OptunaGP, OptunaTPE
from boids.opponents.smac_forest import SMAC

OPPONENTS: dict[str, type[Any]] = {
    cls.name: cls for cls in (OptunaTPE, OptunaCMAES, OptunaGP, BoTorch, Nevergrad, SMAC)
}

__all__ = [
    "OPPONENTS",
    "SMAC",
    "BoTorch",
    "Nevergrad",
    "OptunaCMAES",
    "OptunaGP",
    "OptunaTPE",
    "how_to_get",
    "installed",
]
