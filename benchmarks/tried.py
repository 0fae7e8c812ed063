"""What was tried to make proposals cheaper: each change measured both ways, and whether it was kept.

What is no setting any more is done here as it was done before.

Notation
--------
n, d    data of the model, dimension of the space that it is in
κ       covariances between the data and a point    (n,)
L, K    Cholesky factor, covariance matrix of the data
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.linalg import lapack

from benchmarks.machine import Numbers, calibration, in_own_process, seconds_of
from benchmarks.proposals import Moment, counted
from benchmarks.text import markdown, milliseconds
from boids.algorithms.boids_climb import improvement
from boids.blocks.acquisition import log_h, log_h_slope, log_h_with_slope
from boids.gp.linalg import inverse_from_cholesky, inverse_from_inverse_factor, triangular_product
from boids.gp.posterior import Posterior
from boids.gp.slopes import Slopes

SIZES = [(300, 100), (1000, 100)]

Row = dict[str, Any]


def row(change: str, before: float, after: float, verdict: str, note: str = "") -> Row:
    """Return one line of the table; times in seconds."""
    return {"change": change, "before": before, "after": after, "verdict": verdict, "note": note}


def algebra(n: int, d: int) -> list[Row]:
    """Compare ways to compute the same numbers."""
    moment = Moment.of(n, d)
    posterior = moment.posterior()
    slopes, rng = Slopes.of(posterior), np.random.default_rng(1)
    points = rng.uniform(-1.0, 1.0, (4, d))
    one, u = points[:1], np.array([-1.7])
    root = np.asfortranarray(posterior.inverse_factor)
    kappa = slopes.cross(slopes.cross.scale(one))

    def by_factors() -> None:
        half = triangular_product(root, kappa.T)
        np.asarray(half.T @ root)

    many = rng.uniform(-1.0, 1.0, (512, d))
    double, single = posterior.predictor(np.float64), posterior.predictor(np.float32)
    alpha = improvement(posterior, None, float(posterior.outputs.min()))

    def timed(work: Callable[[], object]) -> float:
        return seconds_of(work, repeats=7, least=0.1)

    return [
        row(
            "K⁻¹κ for the gradient at one point: one product with K⁻¹ instead of two with L⁻¹",
            timed(by_factors),
            timed(lambda: kappa @ slopes.precision),
            "kept",
            f"a whole gradient of log EI now takes {milliseconds(timed(lambda: alpha.slopes(one)))} ms",
        ),
        row(
            "log h and its slope of one number: without arrays",
            timed(lambda: (log_h(u), log_h_slope(u))),
            timed(lambda: log_h_with_slope(u)),
            "kept",
            "once per gradient",
        ),
        row(
            "K⁻¹ from L⁻¹ (`dlauum`) instead of from L (`dpotri`)",
            timed(lambda: inverse_from_cholesky(posterior.factor)),
            timed(lambda: inverse_from_inverse_factor(posterior.inverse_factor)),
            "kept",
            "L⁻¹ is there for the candidates' variances",
        ),
        row(
            "four gradients in one batch instead of one by one",
            timed(lambda: [slopes(point[None]) for point in points]),
            timed(lambda: slopes(points)),
            "open",
            "the climbs would have to go in step",
        ),
        row(
            "512 candidates judged in single precision",
            timed(lambda: double(many)),
            timed(lambda: single(many)),
            "not kept",
            "variances near zero, which decide log EI near the data, are lost; NSGA-II with noisy draws does it",
        ),
        row(
            "solving with the factor for 512 variances instead of multiplying with its inverse",
            timed(lambda: double(many)),
            timed(lambda: _by_solving(posterior, many)),
            "not kept",
            "slower, and the climbs need the inverse anyway",
        ),
    ]


def settings(n: int, d: int, repeats: int) -> list[Row]:
    """Compare settings: phases of the same proposals."""
    default = _phases(n, d, repeats)
    to_the_end = _phases(n, d, repeats, trial_evaluations=100)
    genetic = _phases(n, d, repeats, line_search="nsga2", acquisition="ts")
    fewer_on_lines = _phases(n, d, repeats, bandit_candidates=1000)
    fewer_features = _phases(n, d, repeats, path_features=256)
    double = _phases(n, d, repeats, search_precision="double")
    fewer_starts = _phases(n, d, repeats, line_samples=64, near_samples=64)
    share = max(1.0, 0.02 * n)
    return [
        row(
            "climbing log EI instead of NSGA-II on three objectives (*optimise*)",
            genetic["optimise"],
            default["optimise"],
            "kept",
            "equal quality: below",
        ),
        row(
            "ten steps from every start, only the highest to the end (*optimise*)",
            to_the_end["optimise"],
            default["optimise"],
            "kept",
            f"{to_the_end['gradients']:.0f} gradients before, {default['gradients']:.0f} after",
        ),
        row(
            "the draw for the bandit in single precision (*select*)",
            double["select"],
            default["select"],
            "kept",
            "its noise is far above the rounding",
        ),
        row(
            "1000 points on the lines instead of 5000 (*select*)",
            default["select"],
            fewer_on_lines["select"],
            "not kept",
            "the published number; it is a setting (`bandit_candidates`)",
        ),
        row(
            "256 random features instead of 1024 (*select*)",
            default["select"],
            fewer_features["select"],
            "not kept",
            "coarser draws; it is a setting (`path_features`)",
        ),
        row(
            "128 candidates instead of 512 (*optimise*)",
            default["optimise"],
            fewer_starts["optimise"],
            "not kept",
            "it is a setting (`line_samples`, `near_samples`)",
        ),
        row(
            "a refit when the data have grown by 2 % instead of at every proposal (a proposal's share of it)",
            default["refit"],
            default["refit"] / share,
            "kept",
            f"shared by {share:.0f} proposals",
        ),
        row(
            "a refit at 10 % instead of 2 % (a proposal's share of it)",
            default["refit"] / share,
            default["refit"] / (5.0 * share),
            "not kept",
            "what it costs in quality is not measured; it is a setting (`refit_fraction`)",
        ),
    ]


def case(n: int, d: int, repeats: int) -> dict[str, Any]:
    """Measure all changes; meant for a process of its own."""
    return {"n": n, "d": d, "rows": [*algebra(n, d), *settings(n, d, repeats)], "kernel": calibration()}


def measure(tiny: bool = False) -> dict[str, Any]:
    """Measure in a process of its own."""
    sizes, repeats = ([(50, 5)], 1) if tiny else (SIZES, 5)
    return {"cases": [in_own_process(case, n, d, repeats) for n, d in sizes]}


def numbers(result: dict[str, Any]) -> Numbers:
    """Return nothing: what was given up may become slower."""
    return {}


def section(result: dict[str, Any]) -> str:
    """Return the table: a line for each change, a column for each size."""
    cases = result["cases"]
    columns = [f"n = {each['n']}, d = {each['d']} (ms)" for each in cases]
    rows = []
    for same in zip(*(each["rows"] for each in cases), strict=True):
        times = [f"{milliseconds(each['before'])} → {milliseconds(each['after'])}" for each in same]
        rows.append([same[0]["change"], *times, same[0]["verdict"], same[-1]["note"]])
    return markdown(["change", *columns, "verdict", "remark"], rows)


def _phases(n: int, d: int, repeats: int, **changes: Any) -> Numbers:
    """Return the median phases of a proposal with these settings, its gradients, and what a refit takes."""
    moment = Moment.of(n, d, **changes)
    with counted() as count:
        times = [moment.propose(moment.fitted, seed) for seed in range(repeats)]
    found = {phase: float(np.median([each[phase] for each in times])) for phase in times[0]}
    refit = moment.propose(moment.due, 0)["fit"] - found["fit"]
    return {**found, "refit": refit, "gradients": count["gradients"] / repeats}


def _by_solving(posterior: Posterior, points: np.ndarray) -> np.ndarray:
    """Return the variances explained at points (q,), by triangular solves."""
    kappa = posterior.cross()(posterior.cross().scale(points))
    half, _ = lapack.dtrtrs(posterior.factor, kappa.T, lower=1)
    return np.asarray(np.einsum("ji,ji->i", half, half))
