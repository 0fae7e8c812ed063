"""What the repetitions of a method on a problem have in common: its best value so far, as a curve with a band.

Runs that ended early are carried forward to the end of the method's longest run. Runs that are unfinished or broke are
left out if there are others, since a curve would jump where they end; if there are no others, the curve goes as far as
all of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from boids.bench import statistics
from boids.bench.table import FloatArray, Run, Table


@final
@dataclass(frozen=True)
class Band:
    """A curve.

    Attributes
    ----------
    n
        Numbers of evaluations.
    mean, error
        Mean of the best values so far, and its standard error; nan for a single run, nan before all runs have a value.
    low, median, high
        Quartiles.
    runs
        How many runs it is made of.
    left_out
        How many unfinished or broken runs are not in it.
    has_ended
        Whether its runs have ended, or may still go on.
    """

    n: NDArray[np.int64]
    mean: FloatArray
    error: FloatArray
    low: FloatArray
    median: FloatArray
    high: FloatArray
    runs: int
    left_out: int
    has_ended: bool


def band(table: Table, problem: str, method: str, points: int | None = None) -> Band | None:
    """Return the curve of a method on a problem, None if there is nothing to draw.

    Parameters
    ----------
    table, problem, method
        What to draw.
    points
        At most about so many numbers of evaluations, denser at the beginning; all if not given.
    """
    runs = [run for run in table.runs if (run.problem, run.method) == (problem, method) and run.evaluations]
    ended = [run for run in runs if run.has_ended]
    used = ended or runs
    if not used:
        return None
    length = max(run.evaluations for run in ended) if ended else min(run.evaluations for run in runs)
    n = thinned(length, points)
    values = np.array([_at(run, n) for run in used])
    low, median, high = statistics.quartiles(np.where(np.isnan(values), np.inf, values))
    mean, error = statistics.mean_and_error(values)
    partly = np.isnan(values).any(axis=0)  # a mean of those that have found something would be too good
    low, median, high = (np.where(np.isfinite(each), each, np.nan) for each in (low, median, high))
    return Band(
        n,
        np.where(partly, np.nan, mean),
        np.where(partly, np.nan, error),
        low,
        median,
        high,
        runs=len(used),
        left_out=len(runs) - len(used),
        has_ended=bool(ended),
    )


def thinned(length: int, points: int | None) -> NDArray[np.int64]:
    """Return some of the numbers 1 … length, with both ends, denser at the beginning."""
    if points is None or length <= points:
        return np.arange(1, length + 1)
    even = np.linspace(1, length, 2 * points // 3)
    early = np.geomspace(1, length, points - len(even))
    return np.unique(np.rint(np.concatenate([even, early])).astype(np.int64))


def _at(run: Run, n: NDArray[np.int64]) -> FloatArray:
    values: FloatArray = run.best[np.minimum(n, run.evaluations) - 1]
    return values
