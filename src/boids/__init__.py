"""Bayesian optimisation for expensive functions of 20 to 1000+ parameters.

The public names are loaded on first use, so that `import boids` costs next to nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from boids import algorithms, problems
    from boids.citations import cite
    from boids.errors import (
        BoidsError,
        BudgetExhausted,
        CommandError,
        EvaluationError,
        MethodError,
        MissingExtra,
        ProblemError,
        ProgramError,
        SpaceError,
        SpaceExhausted,
        StoreError,
        TellError,
        WorkersGone,
    )
    from boids.integrations.scipy import scipy_method
    from boids.isolation import Isolated, isolate
    from boids.optimizer import Optimizer
    from boids.program import Program
    from boids.records import FAILED, Measurement, Trial
    from boids.result import Result
    from boids.scipy_style import minimize
    from boids.space import Bool, Categorical, Float, Int, Space
    from boids.store import Store

_HOME = {
    "minimize": "boids.scipy_style",
    "Optimizer": "boids.optimizer",
    "Result": "boids.result",
    "Trial": "boids.records",
    "FAILED": "boids.records",
    "Space": "boids.space",
    "Float": "boids.space",
    "Int": "boids.space",
    "Categorical": "boids.space",
    "Bool": "boids.space",
    "BoidsError": "boids.errors",
    "BudgetExhausted": "boids.errors",
    "MethodError": "boids.errors",
    "MissingExtra": "boids.errors",
    "ProblemError": "boids.errors",
    "SpaceError": "boids.errors",
    "StoreError": "boids.errors",
    "TellError": "boids.errors",
    "Measurement": "boids.records",
    "Program": "boids.program",
    "isolate": "boids.isolation",
    "Isolated": "boids.isolation",
    "EvaluationError": "boids.errors",
    "ProgramError": "boids.errors",
    "CommandError": "boids.errors",
    "SpaceExhausted": "boids.errors",
    "WorkersGone": "boids.errors",
    "Store": "boids.store",
    "cite": "boids.citations",
    "scipy_method": "boids.integrations.scipy",
}

__all__ = [
    "FAILED",
    "BoidsError",
    "Bool",
    "BudgetExhausted",
    "Categorical",
    "CommandError",
    "EvaluationError",
    "Float",
    "Int",
    "Isolated",
    "Measurement",
    "MethodError",
    "MissingExtra",
    "Optimizer",
    "ProblemError",
    "Program",
    "ProgramError",
    "Result",
    "Space",
    "SpaceError",
    "SpaceExhausted",
    "Store",
    "StoreError",
    "TellError",
    "Trial",
    "WorkersGone",
    "algorithms",
    "cite",
    "isolate",
    "minimize",
    "problems",
    "scipy_method",
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
