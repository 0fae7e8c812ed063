"""Experiments: methods × problems × repetitions, and what to make of them; files are the interface between the two.

`load` reads results; the names are loaded on first use.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from boids.bench.comparison import Comparison, compare
    from boids.bench.loading import load
    from boids.bench.table import Run, Table

_HOME = {
    "Comparison": "boids.bench.comparison",
    "Run": "boids.bench.table",
    "Table": "boids.bench.table",
    "compare": "boids.bench.comparison",
    "load": "boids.bench.loading",
}

__all__ = ["Comparison", "Run", "Table", "compare", "load"]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
