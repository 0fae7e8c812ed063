"""The synthetic functions of the field: Ackley, Branin, Hartmann-6, Levy, sphere, each in any dimension.

Formulas and domains: Surjanovic & Bingham, Virtual Library of Simulation Experiments (sfu.ca/~ssurjano). The
padded versions and the dimensions 100 and 500: Ngo et al., BOIDS, AAAI 2025, appendix.

Every function here is nowhere smaller than its optimum on all of R^d, not only in its box, so it may be
shifted: Ackley, Levy and sphere are sums of non-negative terms; Branin is a square plus a cosine, at least
5/(4π); and Hartmann's centres P lie in the unit cube, so moving a point of R⁶ to the nearest point of the
cube brings it closer to all of them, in every coordinate, and only lowers the value.

======  =========================================================================
symbol  meaning, shape
======  =========================================================================
D       coordinates of the problem (``dim``)
d_e     coordinates that matter (``active``); the values do not depend on the others
x       q points in natural units, (q, d_e)
======  =========================================================================
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np

from boids.errors import ProblemError
from boids.problems import wrappers
from boids.problems.problem import Evaluator, Problem
from boids.records import FloatArray, IntArray

#: "first", "random" (drawn by the seed), or where each coordinate that matters goes.
Positions: TypeAlias = str | Sequence[int] | IntArray

SUMMARIES = {
    "ackley": "one deep funnel under many shallow local minima",
    "sphere": "the sum of squares, the easiest smooth problem",
    "levy": "many local minima along each coordinate, steep ridges",
    "branin": "two coordinates and three equal minima; with dummies also easy for random search",
    "hartmann": "six coordinates and several local minima; with dummies also easy for random search",
}

#: What a fair comparison must know about the versions that are not shifted.
CENTRED = {
    "ackley": "optimum at the centre, which every linear embedding contains: shift=True is the fair version",
    "sphere": "optimum at the centre, which every linear embedding contains: shift=True is the fair version",
    "levy": "optimum near the centre, with equal coordinates, which favours embeddings: shift=True is fairer",
}

LIBRARY = "Surjanovic & Bingham, Virtual Library of Simulation Experiments"


# The functions, (q, d_e) -> (q,)


def ackley_values(x: FloatArray) -> FloatArray:
    """-20 exp(-0.2 sqrt(mean x²)) - exp(mean cos 2πx) + 20 + e."""
    radius = np.sqrt(np.mean(x**2, axis=1))
    waves = np.mean(np.cos(2 * np.pi * x), axis=1)
    # expm1 instead of 20 + e - …: no cancellation, so the value at the minimiser is 0 and not 4e-16.
    values: FloatArray = -20 * np.expm1(-0.2 * radius) - np.e * np.expm1(waves - 1)
    return values


def sphere_values(x: FloatArray) -> FloatArray:
    """sum x²."""
    values: FloatArray = np.sum(x**2, axis=1)
    return values


def levy_values(x: FloatArray) -> FloatArray:
    """sin²(πw₁) + Σ_{i<n} (wᵢ-1)² (1 + 10 sin²(πwᵢ+1)) + (wₙ-1)² (1 + sin²(2πwₙ)), w = 1 + (x-1)/4."""
    w = 1 + (x - 1) / 4
    first, inner, last = w[:, 0], w[:, :-1], w[:, -1]
    values: FloatArray = (
        np.sin(np.pi * first) ** 2
        + np.sum((inner - 1) ** 2 * (1 + 10 * np.sin(np.pi * inner + 1) ** 2), axis=1)
        + (last - 1) ** 2 * (1 + np.sin(2 * np.pi * last) ** 2)
    )
    return values


def branin_values(x: FloatArray) -> FloatArray:
    """(x₂ - 5.1/(4π²) x₁² + 5/π x₁ - 6)² + 10 (1 - 1/(8π)) cos x₁ + 10."""
    x1, x2 = x[:, 0], x[:, 1]
    valley = x2 - 5.1 / (4 * np.pi**2) * x1**2 + 5 / np.pi * x1 - 6
    values: FloatArray = valley**2 + 10 * (1 - 1 / (8 * np.pi)) * np.cos(x1) + 10
    return values


def hartmann_values(x: FloatArray) -> FloatArray:
    """-Σᵢ alphaᵢ exp(-Σⱼ Aᵢⱼ (xⱼ - Pᵢⱼ)²)."""
    squares = (x[:, np.newaxis, :] - HARTMANN_P) ** 2
    exponents = np.sum(HARTMANN_A * squares, axis=2)
    values: FloatArray = -np.sum(HARTMANN_ALPHA * np.exp(-exponents), axis=1)
    return values


def rescaled_hartmann_values(x: FloatArray) -> FloatArray:
    """-(2.58 + Σᵢ alphaᵢ exp(…)) / 1.94, the scale of the curves made with the released BOIDS code."""
    # The constants are mean and deviation of log(-f) for uniform x, but the usage is without the log.
    return (hartmann_values(x) - 2.58) / 1.94


HARTMANN_ALPHA = np.array([1.0, 1.2, 3.0, 3.2])
HARTMANN_A = np.array(
    [
        [10.0, 3.0, 17.0, 3.5, 1.7, 8.0],
        [0.05, 10.0, 17.0, 0.1, 8.0, 14.0],
        [3.0, 3.5, 1.7, 10.0, 17.0, 8.0],
        [17.0, 8.0, 0.05, 10.0, 0.1, 14.0],
    ]
)
HARTMANN_P = 1e-4 * np.array(
    [
        [1312.0, 1696.0, 5569.0, 124.0, 8283.0, 5886.0],
        [2329.0, 4135.0, 8307.0, 3736.0, 1004.0, 9991.0],
        [2348.0, 1451.0, 3522.0, 2883.0, 3047.0, 6650.0],
        [4047.0, 8828.0, 8732.0, 5743.0, 1091.0, 381.0],
    ]
)
#: The fixed point of Newton's method on the formula, in double precision.
HARTMANN_MINIMISER = np.array(
    [
        0.20168951100670543,
        0.15001069182345797,
        0.47687397422189703,
        0.2753324304940561,
        0.31165161660011326,
        0.6573005340656204,
    ]
)
HARTMANN_OPTIMUM = -3.322368011415515

#: Where cos x₁ = -1 and the square vanishes. On R² there is one for every odd multiple of π, but shifts that
#: keep the first of these three in the box never bring a fourth one in.
BRANIN_MINIMISERS = np.array([[-np.pi, 12.275], [np.pi, 2.275], [3 * np.pi, 2.475]])
BRANIN_OPTIMUM = 5 / (4 * np.pi)


# The problems, as the registry builds them: the function on its own box, then `shift`, then `pad`


def ackley(
    dim: int, seed: int, *, active: int | None = None, positions: Positions = "first", shift: bool = False
) -> Problem:
    """Ackley's function on [-32.768, 32.768]^D."""
    base = _on_cube("ackley", ackley_values, _active(active, dim), half_width=32.768, minimiser=0.0)
    return _arrange(base, dim, seed, positions, shift, dummies=(-32.768, 32.768))


def sphere(
    dim: int, seed: int, *, active: int | None = None, positions: Positions = "first", shift: bool = False
) -> Problem:
    """The sum of squares on [-5.12, 5.12]^D."""
    base = _on_cube("sphere", sphere_values, _active(active, dim), half_width=5.12, minimiser=0.0)
    return _arrange(base, dim, seed, positions, shift, dummies=(-5.12, 5.12))


def levy(
    dim: int, seed: int, *, active: int | None = None, positions: Positions = "first", shift: bool = False
) -> Problem:
    """Levy's function on [-10, 10]^D."""
    base = _on_cube("levy", levy_values, _active(active, dim), half_width=10.0, minimiser=1.0)
    return _arrange(base, dim, seed, positions, shift, dummies=(-10.0, 10.0))


def branin(dim: int, seed: int, *, positions: Positions = "first", shift: bool = False) -> Problem:
    """Branin's function on [-5, 10] × [0, 15], the other coordinates on [0, 1]."""
    base = Problem(
        name="branin",
        evaluate=branin_values,
        low=np.array([-5.0, 0.0]),
        high=np.array([10.0, 15.0]),
        summary=SUMMARIES["branin"],
        reference=LIBRARY,
        optimum=BRANIN_OPTIMUM,
        minimisers=BRANIN_MINIMISERS,
        active=np.arange(2),
    )
    return _arrange(base, dim, seed, positions, shift, dummies=(0.0, 1.0))


def hartmann(
    dim: int, seed: int, *, rescaled: bool = False, positions: Positions = "first", shift: bool = False
) -> Problem:
    """Hartmann's six-dimensional function on [0, 1]^D; `rescaled` as in the released BOIDS code."""
    _check_flag("rescaled", rescaled)
    base = Problem(
        name="hartmann",
        evaluate=rescaled_hartmann_values if rescaled else hartmann_values,
        low=np.zeros(6),
        high=np.ones(6),
        summary=SUMMARIES["hartmann"],
        reference=LIBRARY,
        optimum=(HARTMANN_OPTIMUM - 2.58) / 1.94 if rescaled else HARTMANN_OPTIMUM,
        minimisers=HARTMANN_MINIMISER[np.newaxis],
        active=np.arange(6),
    )
    return _arrange(base, dim, seed, positions, shift, dummies=(0.0, 1.0))


def _on_cube(name: str, values: Evaluator, dim: int, *, half_width: float, minimiser: float) -> Problem:
    """Return a function of any dimension with minimum 0, attained where all coordinates equal `minimiser`."""
    return Problem(
        name=name,
        evaluate=values,
        low=np.full(dim, -half_width),
        high=np.full(dim, half_width),
        summary=SUMMARIES[name],
        reference=LIBRARY,
        optimum=0.0,
        minimisers=np.full((1, dim), minimiser),
        active=np.arange(dim),
    )


def _arrange(
    base: Problem, dim: int, seed: int, positions: Positions, shifted: bool, *, dummies: tuple[float, float]
) -> Problem:
    """Shift the function if asked to, spread its coordinates over `dim`, and say so in the summary."""
    _check_flag("shift", shifted)
    # Two streams: the shift must not depend on whether positions were drawn too.
    shift_rng, positions_rng = np.random.default_rng(seed).spawn(2)
    problem, notes = base, [base.summary]
    if shifted:
        problem = wrappers.shift(problem, wrappers.random_offset(problem, shift_rng))
        notes.append("minimiser moved to a random place")
    elif base.name in CENTRED:
        notes.append(CENTRED[base.name])
    if dim > base.dim:
        notes.append(f"{base.dim} of {dim} coordinates matter")
    where: Sequence[int] | IntArray | None
    if not isinstance(positions, str):
        where = positions
    elif positions == "random":
        where = wrappers.random_positions(base.dim, dim, positions_rng)
    elif positions == "first":
        where = None
    else:
        raise ProblemError(
            f"positions must be 'first', 'random' or {base.dim} integers, but got {positions!r}; "
            "leave it out to have the coordinates that matter first."
        )
    low, high = dummies
    return replace(wrappers.pad(problem, dim, positions=where, low=low, high=high), summary="; ".join(notes))


def _active(active: int | None, dim: int) -> int:
    """Return how many coordinates matter: all of them unless said otherwise."""
    if active is None:
        return dim
    if isinstance(active, bool) or not isinstance(active, (int, np.integer)) or not 1 <= active <= dim:
        raise ProblemError(
            f"active must be an integer from 1 to dim = {dim}, the number of coordinates that matter, "
            f"but got {active!r}; leave it out to have all of them matter."
        )
    return int(active)


def _check_flag(option: str, value: object) -> None:
    """Refuse anything but True and False: the text "false" would count as true."""
    if not isinstance(value, bool):
        raise ProblemError(f"{option} must be True or False, but got {value!r}; write {option}=True to switch it on.")
