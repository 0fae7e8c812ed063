"""Benchmark problems; `PROBLEMS` maps the names users type to what is known about each, `make` builds one.

Every module of problems has its entries in a dict `FACTORIES`, and imports what is optional or heavy only when a
problem is made.
"""

from __future__ import annotations

from typing import Any

from boids.errors import ProblemError, did_you_mean
from boids.problems import coco, extras, lander, lasso, mopta, mujoco, rover, synthetic, tuning, wrappers
from boids.problems.problem import Problem, ProblemFactory, integer

#: What is known about each problem, by the names that users type.
PROBLEMS: dict[str, ProblemFactory] = {
    **synthetic.FACTORIES,
    **mopta.FACTORIES,
    **lasso.FACTORIES,
    **mujoco.FACTORIES,
    **coco.FACTORIES,
    **tuning.FACTORIES,
    **rover.FACTORIES,
    **lander.FACTORIES,
}

__all__ = ["PROBLEMS", "Problem", "ProblemFactory", "make", "wrappers"]


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
        the minimiser to a random point of the central 80 % of the box), `rotate` (True turns the function about
        it), `positions` ("first", "random" or integers: where the coordinates that matter go), `noise` (the
        standard deviation of noise), `active` (how many coordinates matter; not Branin and Hartmann) and
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
            known = factory.options
            hint = _suggestion(option, known) if known else "it has none"
            raise ProblemError(f"Problem {name!r} has no option {option!r}; {hint}.")
    size = factory.default_dim
    if dim is not None:
        size = integer(f"dim of problem {name!r}", dim, 1 if factory.dims else factory.minimum_dim)
    if factory.dims and size not in factory.dims:
        *others, last = map(str, factory.dims)
        choice = f"{', '.join(others)} or {last}" if others else last
        raise ProblemError(
            f"Problem {name!r} has dim = {choice}, but got {dim}; leave dim out for {factory.default_dim}."
        )
    number = integer(f"seed of problem {name!r}", 0 if seed is None else seed, 0)
    extras.require(factory.extra, name)  # better said now than in a worker
    return factory.build(size, number, **options)


def _suggestion(wrong: str, known: tuple[str, ...]) -> str:
    guess = did_you_mean(wrong, known, "")
    return f"{guess + ' Known are' if guess else 'take one of'} {', '.join(known)}"
