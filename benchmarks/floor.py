"""Every phase of a proposal against the linear algebra that it cannot do without.

The floor of a phase is what its matrix products, factorisations, passes over matrices and transcendental functions
would take at the rates of this machine, measured in the same process: products and factorisations at that of a large
matrix product, one point at a time at that of a matrix times a vector, which is as fast as memory is.

Notation
--------
n, d    data of the model, dimension of the space that it is in
G, E    gradients of the acquisition function in a proposal, evaluations of the likelihood in a refit
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.machine import Numbers, calibration, in_own_process, seconds_of
from benchmarks.proposals import Moment, median_times
from benchmarks.text import markdown, milliseconds

SIZES = [(300, 100), (1000, 100), (1000, 500)]
#: Of the default settings: points judged before the climbs, points on the lines, random features of a draw.
CANDIDATES, ON_LINES, FEATURES = 512, 5000, 1024


@dataclass(frozen=True)
class Rates:
    """What the machine does in a second: operations, or function values."""

    product: float  # of two 1000×1000 matrices, double precision
    single: float  # the same in single precision
    vector: float  # of an n×n matrix with a vector
    kernel: float  # square root and exponential, double
    single_kernel: float
    single_cosine: float

    @classmethod
    def measured(cls, n: int) -> Rates:
        """Measure them, all with one thread."""
        rng = np.random.default_rng(0)
        large, square, vector = rng.normal(size=(1000, 1000)), rng.normal(size=(n, n)), rng.normal(size=n)
        numbers = rng.uniform(0.0, 3.0, (500, 1000))
        small, few = large.astype(np.float32), numbers.astype(np.float32)

        def rate(work: Callable[[], object], count: float) -> float:
            return count / seconds_of(work, repeats=7, least=0.05)

        return cls(
            product=rate(lambda: large @ large, 2e9),
            single=rate(lambda: small @ small, 2e9),
            vector=rate(lambda: square @ vector, 2.0 * n * n),
            kernel=rate(lambda: np.exp(np.sqrt(numbers)), numbers.size),
            single_kernel=rate(lambda: np.exp(np.sqrt(few)), few.size),
            single_cosine=rate(lambda: np.cos(few), few.size),
        )


def floors(n: int, d: int, gradients: float, likelihoods: float, rates: Rates) -> dict[str, tuple[float, float]]:
    """Return of every phase the operations of its linear algebra, and the seconds that all of it would take."""
    triangle, distances = n**3 / 3.0, 2.0 * n * n * d
    condition = distances + triangle
    # A draw: features at the data, and at the points on the lines; kernel values there, and what both add up to.
    draw, sums = 2.0 * n * d * FEATURES, 2.0 * ON_LINES * (n + FEATURES)
    inverses, judged = 2.0 * triangle, CANDIDATES * (2.0 * n * d + n * n)
    step = 2.0 * n * n + 6.0 * n * d
    # The likelihood: distances, the factor, the inverse from it, and the gradient in the length scales.
    likelihood = 2.0 * distances + 3.0 * triangle
    return {
        "fit": (condition, condition / rates.product + n * n / rates.kernel),
        "select": (
            draw + sums,
            (draw + sums) / rates.single
            + ON_LINES * n / rates.single_kernel
            + ON_LINES * FEATURES / rates.single_cosine,
        ),
        "optimise": (
            inverses + judged + gradients * step,
            (inverses + judged) / rates.product
            + CANDIDATES * n / rates.kernel
            + gradients * (step / rates.vector + n / rates.kernel),
        ),
        "refit": (
            likelihoods * likelihood,
            likelihoods * (likelihood / rates.product + n * n / rates.kernel),
        ),
    }


def case(n: int, d: int, repeats: int) -> dict[str, Any]:
    """Measure one size; meant for a process of its own."""
    moment = Moment.of(n, d)
    times, rates, kernel = median_times(moment, repeats), Rates.measured(n), calibration()
    found = floors(n, d, times["gradients"], times["likelihoods"], rates)
    return {
        "n": n,
        "d": d,
        "gradients": times["gradients"],
        "likelihoods": times["likelihoods"],
        "kernel": kernel,
        "product": rates.product,
        "vector": rates.vector,
        "phases": [
            {"phase": phase, "operations": operations, "floor": floor, "seconds": times[phase]}
            for phase, (operations, floor) in found.items()
        ],
    }


def measure(tiny: bool = False) -> dict[str, Any]:
    """Measure every size in a process of its own."""
    sizes, repeats = ([(60, 5)], 1) if tiny else (SIZES, 5)
    return {"cases": [in_own_process(case, n, d, repeats) for n, d in sizes]}


def numbers(result: dict[str, Any]) -> Numbers:
    """Return what is compared with the baseline: how far each phase is above its floor, in any case a ratio."""
    return {
        f"n = {each['n']}, d = {each['d']}, {row['phase']}": row["seconds"] / each["kernel"]
        for each in result["cases"]
        for row in each["phases"]
    }


def section(result: dict[str, Any]) -> str:
    """Return the table."""
    rows = []
    for each in result["cases"]:
        for row in each["phases"]:
            steps = {"optimise": f", G = {each['gradients']:.0f}", "refit": f", E = {each['likelihoods']:.0f}"}
            rows.append(
                [
                    f"{each['n']}",
                    f"{each['d']}",
                    row["phase"] + steps.get(row["phase"], ""),
                    f"{row['operations'] / 1e9:.3f}",
                    milliseconds(row["floor"]),
                    milliseconds(row["seconds"]),
                    f"{row['seconds'] / row['floor']:.1f}" if row["floor"] else "–",
                ]
            )
    rates = "; ".join(
        f"n = {each['n']}, d = {each['d']}: {each['product'] / 1e9:.0f} and {each['vector'] / 1e9:.1f}"
        for each in result["cases"]
    )
    table = markdown(["n", "d", "phase", "GFlop", "floor (ms)", "measured (ms)", "measured / floor"], rows)
    return f"{table}\n\nRates, in GFlop/s, of a matrix times a matrix and of a matrix times a vector: {rates}."
