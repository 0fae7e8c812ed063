"""Benchmark problems; `PROBLEMS` maps the names users type to what is known about each, `make` builds one."""

from __future__ import annotations

from typing import Any

import numpy as np

from boids.errors import ProblemError, did_you_mean
from boids.problems import synthetic
from boids.problems.problem import Problem, ProblemFactory

PROBLEMS: dict[str, ProblemFactory] = {
    "ackley": ProblemFactory(
        build=synthetic.ackley,
        summary=f"{synthetic.SUMMARIES['ackley']}; {synthetic.CENTRED['ackley']}",
        reference=synthetic.LIBRARY,
        domain="[-32.768, 32.768]^D",
        default_dim=100,
        minimum_dim=1,
        optimum=0.0,
    ),
    "branin": ProblemFactory(
        build=synthetic.branin,
        summary=synthetic.SUMMARIES["branin"],
        reference=synthetic.LIBRARY,
        domain="[-5, 10] x [0, 15] x [0, 1]^(D-2)",
        default_dim=500,
        minimum_dim=2,
        optimum=synthetic.BRANIN_OPTIMUM,
    ),
    "hartmann": ProblemFactory(
        build=synthetic.hartmann,
        summary=synthetic.SUMMARIES["hartmann"],
        reference=synthetic.LIBRARY,
        domain="[0, 1]^D",
        default_dim=500,
        minimum_dim=6,
        optimum=synthetic.HARTMANN_OPTIMUM,
    ),
    "levy": ProblemFactory(
        build=synthetic.levy,
        summary=f"{synthetic.SUMMARIES['levy']}; {synthetic.CENTRED['levy']}",
        reference=synthetic.LIBRARY,
        domain="[-10, 10]^D",
        default_dim=100,
        minimum_dim=1,
        optimum=0.0,
    ),
    "sphere": ProblemFactory(
        build=synthetic.sphere,
        summary=f"{synthetic.SUMMARIES['sphere']}; {synthetic.CENTRED['sphere']}",
        reference=synthetic.LIBRARY,
        domain="[-5.12, 5.12]^D",
        default_dim=100,
        minimum_dim=1,
        optimum=0.0,
    ),
}

__all__ = ["PROBLEMS", "Problem", "ProblemFactory", "make"]


def make(name: str, dim: int | None = None, seed: int | None = None, **options: Any) -> Problem:
    """Make a benchmark problem.

    Parameters
    ----------
    name
        One of `PROBLEMS`.
    dim
        The number of coordinates, those that do not matter included; None is the problem's default.
    seed
        Decides everything random about the problem (where a shift goes, random positions). None stands for 0,
        not for a fresh draw: a problem must be the same function whenever it is made, as on resuming a run.
    **options
        The problem's own options, see ``PROBLEMS[name].options``. The synthetic ones take `shift` (True moves
        the minimiser to a random point of the central 80 % of the box), `positions` ("first", "random" or
        integers: where the coordinates that matter go), `active` (how many matter; Ackley, Levy, sphere) and
        `rescaled` (Hartmann on the scale of the released BOIDS code).

    Examples
    --------
    >>> problem = make("ackley", dim=20, active=5, shift=True, seed=3)
    >>> round(problem(problem.minimisers[0]), 12) == problem.optimum
    True
    """
    if name not in PROBLEMS:
        raise ProblemError(f"There is no problem {name!r}; {_suggestion(str(name).lower(), tuple(PROBLEMS))}.")
    factory = PROBLEMS[name]
    for option in options:
        if option not in factory.options:
            raise ProblemError(f"Problem {name!r} has no option {option!r}; {_suggestion(option, factory.options)}.")
    dim = _integer("dim", factory.default_dim if dim is None else dim, factory.minimum_dim, name)
    seed = _integer("seed", 0 if seed is None else seed, 0, name)
    return factory.build(dim, seed, **options)


def _suggestion(wrong: str, known: tuple[str, ...]) -> str:
    guess = did_you_mean(wrong, known, "")
    return f"{guess + ' Known are' if guess else 'take one of'} {', '.join(known)}"


def _integer(argument: str, value: Any, minimum: int, problem: str) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < minimum:
        raise ProblemError(
            f"{argument} of problem {problem!r} must be an integer of at least {minimum}, but got {value!r}."
        )
    return int(value)
