"""The methods, one file each; `ALGORITHMS` maps the names users type to their classes, `find` gets one ready.

`METHODS` has those of other packages besides (`boids.opponents`), which can be named wherever a method can.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Mapping
from typing import Any

from boids.algorithms.alebo import ALEBO
from boids.algorithms.baxus import Baxus
from boids.algorithms.boids import Boids
from boids.algorithms.cmabo import CMABO
from boids.algorithms.cmaes import CMAES
from boids.algorithms.hesbo import HeSBO
from boids.algorithms.linebo import LineBO
from boids.algorithms.protocol import Algorithm
from boids.algorithms.pso import PSO
from boids.algorithms.random_search import RandomSearch
from boids.algorithms.rducb import RDUCB
from boids.algorithms.saasbo import SAASBO
from boids.algorithms.sobol import Sobol
from boids.algorithms.standard_bo import StandardBO
from boids.algorithms.turbo import Turbo
from boids.algorithms.vanilla_bo import VanillaBO
from boids.errors import MethodError, did_you_mean, shown
from boids.opponents import OPPONENTS

#: The methods of this package, by the names that users type.
ALGORITHMS: dict[str, type[Any]] = {
    cls.name: cls
    for cls in (
        Boids,
        RandomSearch,
        LineBO,
        CMABO,
        CMAES,
        PSO,
        Sobol,
        RDUCB,
        Turbo,
        Baxus,
        StandardBO,
        VanillaBO,
        HeSBO,
        ALEBO,
        SAASBO,
    )
}

#: The methods of this package and of others, by name; a view of both, so that what is added to either is seen.
METHODS: Mapping[str, type[Any]] = ChainMap(ALGORITHMS, OPPONENTS)

__all__ = [
    "ALEBO",
    "ALGORITHMS",
    "CMABO",
    "CMAES",
    "METHODS",
    "PSO",
    "RDUCB",
    "SAASBO",
    "Algorithm",
    "Baxus",
    "Boids",
    "HeSBO",
    "LineBO",
    "RandomSearch",
    "Sobol",
    "StandardBO",
    "Turbo",
    "VanillaBO",
    "find",
]

_MEMBERS = ("name", "State", "init", "ready", "ask", "tell", "diagnostics")


def find(method: Any) -> Algorithm[Any]:
    """Return the algorithm of that name with its default settings, or `method` itself if it is one."""
    if isinstance(method, str):
        if method in METHODS:
            algorithm: Algorithm[Any] = METHODS[method]()
            return algorithm
        hint = did_you_mean(method, METHODS, "see the list.")
        raise MethodError(f"There is no method {shown(method)}; {hint} Methods: {', '.join(sorted(ALGORITHMS))}.")
    if isinstance(method, type):
        raise MethodError(
            f"The method must be an instance, got the class {method.__name__}; write {method.__name__}()."
        )
    missing = [name for name in _MEMBERS if not hasattr(method, name)]
    if missing:
        raise MethodError(f"A method must be a name or an algorithm, got {shown(method)}, which has no {missing[0]!r}.")
    found: Algorithm[Any] = method
    return found
