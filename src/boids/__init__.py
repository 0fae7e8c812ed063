"""Bayesian optimisation for expensive functions of 20 to 1000+ parameters.

The public names are loaded on first use, so that `import boids` costs next to nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from boids import algorithms, problems
    from boids.errors import (
        BoidsError,
        BudgetExhausted,
        MethodError,
        MissingExtra,
        ProblemError,
        SpaceError,
        StoreError,
        TellError,
    )
    from boids.optimizer import Optimizer
    from boids.records import FAILED, Trial
    from boids.result import Result
    from boids.scipy_style import minimize
    from boids.space import Float, Space

_HOME = {
    "minimize": "boids.scipy_style",
    "Optimizer": "boids.optimizer",
    "Result": "boids.result",
    "Trial": "boids.records",
    "FAILED": "boids.records",
    "Space": "boids.space",
    "Float": "boids.space",
    "BoidsError": "boids.errors",
    "BudgetExhausted": "boids.errors",
    "MethodError": "boids.errors",
    "MissingExtra": "boids.errors",
    "ProblemError": "boids.errors",
    "SpaceError": "boids.errors",
    "StoreError": "boids.errors",
    "TellError": "boids.errors",
}

__all__ = [
    "FAILED",
    "BoidsError",
    "BudgetExhausted",
    "Float",
    "MethodError",
    "MissingExtra",
    "Optimizer",
    "ProblemError",
    "Result",
    "Space",
    "SpaceError",
    "StoreError",
    "TellError",
    "Trial",
    "algorithms",
    "minimize",
    "problems",
]


def __getattr__(name: str) -> Any:
    if name in ("algorithms", "problems"):
        return import_module(f"boids.{name}")
    if name in _HOME:
        value = getattr(import_module(_HOME[name]), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'boids' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
