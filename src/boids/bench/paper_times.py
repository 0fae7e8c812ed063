"""The paper's table of run times, to compare one's own with.

Source: the BOIDS paper (AAAI 2025, `boids.cite("boids")`), appendix, table "Runtime (in seconds) of BOIDS and
baselines". The paper does not say what is counted, but cheap methods take longer on problems that are dear to evaluate
(LineBO: 0.04 s on Ackley, 0.48 s on HalfCheetah), so that evaluations seem to be in it. Its machine is another one
than yours.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

SOURCE = "the BOIDS paper (AAAI 2025), appendix, average runtime per iteration in seconds"

#: Name and number of parameters.
_PROBLEMS = (
    ("ackley", 100),
    ("branin", 500),
    ("half-cheetah", 102),
    ("mopta", 124),
    ("lasso-dna", 180),
    ("hartmann", 500),
)
#: Name and, for methods with several, dimension of the subspace.
_SECONDS: dict[tuple[str, int | None], tuple[float, ...]] = {
    ("boids", None): (11.90, 23.10, 12.41, 12.88, 15.16, 23.04),
    ("standard-bo", None): (3.56, 1.73, 3.85, 3.93, 3.89, 4.31),
    ("baxus", None): (6.97, 12.80, 12.26, 8.56, 10.53, 12.82),
    ("linebo", None): (0.04, 0.06, 0.48, 0.34, 0.73, 0.06),
    ("turbo", None): (3.88, 2.97, 3.57, 3.92, 3.99, 4.42),
    ("cmabo", None): (4.19, 6.73, 4.44, 4.39, 4.89, 7.70),
    ("saasbo", None): (46.16, 339.42, 51.31, 63.77, 92.37, 310.97),
    ("hesbo", 10): (0.42, 0.48, 0.67, 0.56, 0.69, 0.46),
    ("hesbo", 20): (0.47, 0.48, 0.68, 0.58, 0.72, 0.46),
    ("alebo", 10): (36.60, 65.44, 74.33, 70.43, 89.80, 71.24),
    ("alebo", 20): (149.06, 189.64, 278.27, 133.86, 268.93, 202.17),
    ("rducb", None): (111.51, 227.42, 86.18, 110.21, 33.57, 155.70),
    ("cmaes", None): (3.4e-4, 1.0e-3, 0.06, 0.05, 0.08, 8.7e-4),
    ("pso", None): (0.6e-4, 0.8e-4, 3.5e-3, 0.01, 3.0e-4, 0.9e-4),
}


def paper_seconds(header: Mapping[str, Any]) -> float | None:
    """Return the paper's seconds per iteration for the problem and method of a run's header, None if it has none."""
    problem, method = header["problem"], header["method"]
    place = (problem.get("name"), problem.get("dim"))
    if place not in _PROBLEMS:
        return None
    settings = {**(method.get("settings") or {}), **(method.get("options") or {})}
    for key in ((method.get("name"), None), (method.get("name"), settings.get("target_dim"))):
        if key in _SECONDS:
            return _SECONDS[key][_PROBLEMS.index(place)]
    return None
