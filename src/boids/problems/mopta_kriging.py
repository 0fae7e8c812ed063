"""Mopta08 by its formulas: the constraints are Kriging predictors, evaluated from a file of constants.

Each constraint is a predictor of a simulation's response,

    y = β_0 + Σ_k β_k v_k + Σ_j c_j exp(-Σ_k θ_k |v_k - S_jk|^1.9),    exp(y) + offset instead of y for some,
    g = (±y - u) / |u|,

where v are some of the variables, and constants. Three facts make an evaluation fast:

- S has only a few dozen different values per variable, the *levels*: there are 5 000 powers instead of 400 000;
- responses that read the same inputs share their sites S, so all exponents of such a family are one product;
- an input that is a constant contributes a constant factor to c_j.

======  =========================================================================
symbol  meaning, shape
======  =========================================================================
D       number of variables, 124
x       q points of [0, 1]^D, (q, D)
X       one point in the designers' units, (D,)
r       responses (q, 69): the mass f, then g_1 … g_68, feasible where g <= 0
n, d    sites of a family, and variables it reads
m       responses of a family
======  =========================================================================
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from boids.errors import ProblemError
from boids.problems import data
from boids.records import FloatArray, IntArray

DIM = 124
N_CONSTRAINTS = 68

#: The file with all constants of the formulas, which may be used but not shipped.
CONSTANTS = "mopta08_kriging.npz"
#: The families: the array that says what they read (None: every variable), and how many responses they have.
FAMILIES = (("map_uuuu", 1), ("map_eeee", 5), ("map_ssss", 3), (None, 46), ("map_rrrr", 13))
EXPONENT = 1.9

#: What the original program gives at (0.5, …, 0.5): mass, and sum of the violations.
CENTRE = (303.2663811285, 3.08768480445)

#: Products are made in blocks of so many rows: small enough for BLAS not to start threads (which made an
#: evaluation ten times slower on a busy machine), and for the cache.
ROWS = 32


@final
@dataclass(frozen=True, slots=True, eq=False)
class Family:
    """Responses that read the same variables; sites are in blocks, filled up with sites of no weight.

    Attributes
    ----------
    members
        Which of the 68 responses they are.
    levels
        Where in the table of powers |X_k - S_jk|^1.9 stands, (n / ROWS, ROWS, d).
    rates
        -θ, (d, m).
    weights
        c, with the factors of constant inputs, (n / ROWS, ROWS, m).
    """

    members: slice
    levels: NDArray[np.intp]
    rates: FloatArray
    weights: FloatArray


@final
@dataclass(frozen=True, slots=True, eq=False)
class Surrogates:
    """The mass and the 68 predictors, arranged for speed.

    Attributes
    ----------
    low, span
        X = low + x · span, (D,) each.
    mass
        f = mass · X, (D,).
    level_variable, level_value
        The different pairs (k, S_jk) of all sites, (l,) each.
    constant, trend
        y = constant + X · trend + …, (68,) and (D, 68).
    families
        Which add the terms with exponentials.
    logarithmic, offset
        Where exp(y) + offset replaces y, (68,) each.
    sign, bound
        g = (sign · y - bound) / |bound|, (68,) each.
    """

    low: FloatArray
    span: FloatArray
    mass: FloatArray
    level_variable: IntArray
    level_value: FloatArray
    constant: FloatArray
    trend: FloatArray
    families: tuple[Family, ...]
    logarithmic: NDArray[np.bool_]
    offset: FloatArray
    sign: FloatArray
    bound: FloatArray

    def __call__(self, x: FloatArray) -> FloatArray:
        """Return the responses (69,) at a point (D,)."""
        variables = self.low + x * self.span
        powers = np.abs(variables[self.level_variable] - self.level_value) ** EXPONENT
        y = self.constant + variables @ self.trend
        for family in self.families:
            # clip: all levels are in range, and not to check that saves a fifth of the time.
            exponents = powers.take(family.levels, mode="clip") @ family.rates
            y[family.members] += np.einsum("bnm,bnm->m", np.exp(exponents, out=exponents), family.weights)
        y[self.logarithmic] = np.exp(y[self.logarithmic]) + self.offset[self.logarithmic]
        responses = np.empty(1 + N_CONSTRAINTS)
        responses[0] = variables @ self.mass
        responses[1:] = (self.sign * y - self.bound) / np.abs(self.bound)
        return responses


@final
@dataclass(frozen=True, slots=True)
class Kriging:
    """X -> r by the formulas; holds the path alone, so that it can be sent to workers at no cost."""

    path: str

    def __call__(self, x: FloatArray) -> FloatArray:
        """Return the responses (q, 69) at the rows of `x`."""
        surrogates = load(self.path)
        responses = np.empty((len(x), 1 + N_CONSTRAINTS))
        # Point by point: a point's 600 kB of powers fit into the cache, those of many do not, and the value at a
        # point does not depend, in its last digit, on the points it is evaluated with.
        for row, point in zip(responses, x, strict=True):
            row[:] = surrogates(point)
        return responses


# The constants


@lru_cache(maxsize=4)
def load(path: str) -> Surrogates:
    """Read a file of constants, once per process, and check that it gives the original program's values.

    A worker on another machine may have the file elsewhere: if there is none at `path`, it is looked for.
    """
    found = Path(path) if Path(path).is_file() else data.find(CONSTANTS)
    if found is None:
        raise ProblemError(
            f"Problem 'mopta' needs {CONSTANTS} in every process that evaluates it, but found nothing at {path}, in "
            f"{data.places()}; put it into one of them."
        )
    try:
        with np.load(found, allow_pickle=False) as arrays:
            surrogates = arrange(dict(arrays))
        responses = surrogates(np.full(DIM, 0.5))
    except Exception as error:  # whatever comes of a file that is something else
        raise ProblemError(
            f"{found} should hold the constants of Mopta08, but {type(error).__name__}: {error}; "
            "delete it, or bring the right one."
        ) from error
    found_there = responses[0], np.sum(np.maximum(responses[1:], 0.0))
    if not np.allclose(found_there, CENTRE, rtol=0.0, atol=1e-7):
        raise ProblemError(
            f"{found} should give the mass {CENTRE[0]} and violations of {CENTRE[1]} at the centre, but gives "
            f"{found_there[0]:.10f} and {found_there[1]:.10f}; delete it, or bring the right one."
        )
    return surrogates


def arrange(arrays: Mapping[str, NDArray[Any]]) -> Surrogates:
    """Arrange the arrays of the constants file for fast evaluation.

    Parameters
    ----------
    arrays
        ``mass``, ``xl``, ``xu``, ``fixed`` (D,); ``gu``, ``sign``, ``uselog``, ``offset``, ``design_of``, ``n``,
        ``d`` (68,); ``map_*``, where k > 0 stands for variable k and k < 0 for the constant ``fixed[-k - 1]``;
        ``design0`` … (n, d); ``theta``, ``beta``, ``pcoef``, one response after the other.
    """
    theta = np.split(arrays["theta"], np.cumsum(arrays["d"])[:-1])
    beta = np.split(arrays["beta"], np.cumsum(arrays["d"] + 1)[:-1])
    coefficients = np.split(arrays["pcoef"], np.cumsum(arrays["n"])[:-1])
    constant, trend = np.zeros(N_CONSTRAINTS), np.zeros((DIM, N_CONSTRAINTS))
    parts: list[tuple[slice, IntArray, FloatArray, FloatArray, FloatArray]] = []
    first = 0
    for array, count in FAMILIES:
        members = slice(first, first + count)
        inputs = np.arange(1, DIM + 1) if array is None else arrays[array].astype(np.int64)
        is_variable = inputs > 0
        variables, fixed = inputs[is_variable] - 1, arrays["fixed"][-inputs[~is_variable] - 1]
        linear, rates = np.array(beta[members]).T, np.array(theta[members]).T
        constant[members] = linear[0] + fixed @ linear[1:][~is_variable]
        trend[variables, members] = linear[1:][is_variable]
        sites, weights = _merge(arrays, coefficients, members)
        distances = np.abs(fixed - sites[:, ~is_variable]) ** EXPONENT
        weights *= np.exp(-distances @ rates[~is_variable])
        parts.append((members, variables, sites[:, is_variable], rates[is_variable], weights))
        first += count
    level_variable, level_value, levels = _levels([(variables, sites) for _, variables, sites, _, _ in parts])
    families = tuple(
        Family(members, _in_blocks(positions), np.ascontiguousarray(-rates), _in_blocks(weights))
        for (members, _, _, rates, weights), positions in zip(parts, levels, strict=True)
    )
    return Surrogates(
        low=arrays["xl"],
        span=arrays["xu"] - arrays["xl"],
        mass=arrays["mass"],
        level_variable=level_variable,
        level_value=level_value,
        constant=constant,
        trend=trend,
        families=families,
        logarithmic=arrays["uselog"] != 0,
        offset=arrays["offset"],
        sign=arrays["sign"].astype(np.float64),
        bound=arrays["gu"],
    )


def _merge(
    arrays: Mapping[str, NDArray[Any]], coefficients: list[FloatArray], members: slice
) -> tuple[FloatArray, FloatArray]:
    """Return the different sites (n, d) of a family and the weights (n, m): 0 where a response lacks a site."""
    designs = arrays["design_of"][members]
    numbers = np.unique(designs)
    stacked = [arrays[f"design{number}"] for number in numbers]
    sites, place = np.unique(np.concatenate(stacked), axis=0, return_inverse=True)
    places = np.split(place.ravel(), np.cumsum([len(each) for each in stacked])[:-1])
    place_of = dict(zip(numbers, places, strict=True))
    weights = np.zeros((len(sites), len(designs)))
    for column, (design, own) in enumerate(zip(designs, coefficients[members], strict=True)):
        np.add.at(weights[:, column], place_of[design], own)
    return sites, weights


def _levels(parts: list[tuple[IntArray, FloatArray]]) -> tuple[IntArray, FloatArray, list[NDArray[np.intp]]]:
    """Return the different pairs (variable, value) of all sites, and for each part where its pairs are, (n, d)."""
    # As complex numbers, which sort by the real part first: ten times faster than to sort rows of two.
    pairs = [np.ravel(variables + 1j * sites) for variables, sites in parts]
    different, place = np.unique(np.concatenate(pairs), return_inverse=True)
    places = np.split(place, np.cumsum([len(each) for each in pairs])[:-1])
    shaped = [each.reshape(sites.shape).astype(np.intp) for each, (_, sites) in zip(places, parts, strict=True)]
    return different.real.astype(np.int64), np.ascontiguousarray(different.imag), shaped


def _in_blocks(rows: NDArray[Any]) -> NDArray[Any]:
    """Return an array (n, k) as (n / ROWS, ROWS, k), with zeros after the last row."""
    filled = np.zeros((-(-len(rows) // ROWS) * ROWS, rows.shape[1]), dtype=rows.dtype)
    filled[: len(rows)] = rows
    return filled.reshape(-1, ROWS, rows.shape[1])
