"""The methods of a table side by side, after the same number of evaluations.

A run that ended early, by a smaller budget or a time limit, is compared with the best value it had, and marked as
*carried*. A run that is unfinished or broke before that number is missing, for nobody knows how it would have gone on;
missing runs are left out of every comparison, and counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import final

import numpy as np

from boids.bench import statistics
from boids.bench.statistics import Ranks, SignedRank
from boids.bench.table import BoolArray, FloatArray, ResultsError, Run, Table
from boids.errors import did_you_mean

#: The share of the best-covered method's blocks that a method must have to take part in the ranking.
_COVERED = 0.5


@final
@dataclass(frozen=True)
class Comparison:
    """Values of k methods on N blocks, each a problem and a repetition.

    Attributes
    ----------
    methods, problems
        Labels.
    at
        After how many evaluations, for each problem.
    blocks
        Problem and repetition of each row.
    values
        N × k; nan where a run is missing, infinity where it found nothing feasible.
    carried
        N × k; which values are those of a run that ended before.
    """

    methods: tuple[str, ...]
    problems: tuple[str, ...]
    at: dict[str, int]
    blocks: tuple[tuple[str, int], ...]
    values: FloatArray
    carried: BoolArray

    def on(self, problem: str) -> Comparison:
        """Return the part on one problem."""
        rows = np.array([block[0] == problem for block in self.blocks], dtype=np.bool_)
        return replace(
            self,
            problems=(problem,),
            at={problem: self.at[problem]},
            blocks=tuple(block for block in self.blocks if block[0] == problem),
            values=self.values[rows],
            carried=self.carried[rows],
        )

    def per_problem(self) -> FloatArray:
        """Return the methods' median on every problem, problems × k; nan where there is no run."""
        return np.array([statistics.quartiles(self.on(problem).values)[1] for problem in self.problems])

    def ranking(self) -> tuple[tuple[str, ...], Ranks]:
        """Return the average ranks, and the methods they belong to.

        Every block counts once: methods are ranked on the same instance of the same problem. Hence the tests speak of
        these problems, not of problems in general. A method that has less than half of the blocks of the method with
        the most does not take part, so that it does not cost the others theirs.
        """
        covered = (~np.isnan(self.values)).sum(axis=0)
        kept = np.flatnonzero((covered > 0) & (covered >= _COVERED * covered.max(initial=0)))
        return tuple(self.methods[place] for place in kept), statistics.rank(self.values[:, kept])

    def shared_by(self, methods: Sequence[str]) -> tuple[str, ...]:
        """Return the problems with a block on which all these methods have a value."""
        columns = self.values[:, [self._place(method) for method in methods]]
        complete = np.asarray(~np.isnan(columns).any(axis=1))
        return tuple(problem for problem, rows in zip(self.problems, self._rows(), strict=True) if complete[rows].any())

    def against(self, reference: str, *, by_problem: bool = False) -> list[tuple[str, SignedRank, float]]:
        """Return the test of every other method against the reference: label, test, and p-value after Holm.

        The pairs are the blocks. Differences are those to the reference, divided by the spread of all values on the
        problem (upper minus lower quartile), so that they can be ranked across problems; negative is better.

        With `by_problem`, a problem is one pair, with the median of its differences: a test that speaks of problems
        like these, and needs more of them, for it does not take repetitions for new problems.
        """
        place = self._place(reference)
        scaled = self._differences(place)
        if by_problem:
            medians = [statistics.quartiles(scaled[rows])[1] for rows in self._rows()]
            scaled = np.array(medians).reshape(len(medians), len(self.methods))
        others = [other for other in range(len(self.methods)) if other != place]
        tests = [statistics.signed_rank(scaled[:, other]) for other in others]
        corrected = statistics.holm([test.p for test in tests])
        return [(self.methods[other], test, float(p)) for other, test, p in zip(others, tests, corrected, strict=True)]

    def _rows(self) -> list[BoolArray]:
        """Return which blocks are of which problem, for each problem."""
        return [np.array([block[0] == problem for block in self.blocks], dtype=np.bool_) for problem in self.problems]

    def _place(self, method: str) -> int:
        if method not in self.methods:
            hint = did_you_mean(method, self.methods, f"methods are {', '.join(self.methods)}.")
            raise ResultsError(f"There is no method {method!r} in these results; {hint}")
        return self.methods.index(method)

    def _differences(self, reference: int) -> FloatArray:
        with np.errstate(invalid="ignore"):
            differences = self.values - self.values[:, [reference]]
        both = np.isposinf(self.values) & np.isposinf(self.values[:, [reference]])
        differences[both] = 0.0  # neither found anything
        for rows in self._rows():
            values = self.values[rows]
            low, _, high = statistics.quartiles(values[np.isfinite(values)][:, None])
            spread = float(high[0] - low[0])
            if spread > 0.0:
                differences[rows] /= spread
        return differences


def compare(table: Table, at: int | None = None) -> Comparison:
    """Compare the methods of a table.

    Parameters
    ----------
    table
        Results.
    at
        After how many evaluations; if not given, after as many as the longest finished run on each problem made, or,
        if none is finished, as all its runs have made.
    """
    if at is not None and at < 1:
        raise ResultsError(f"The number of evaluations to compare at must be at least 1, got {at}.")
    problems = tuple(problem for problem in table.problems if any(run.problem == problem for run in table.runs))
    runs = {run.key: run for run in table.runs}
    places: dict[str, int] = {}
    blocks: list[tuple[str, int]] = []
    for problem in problems:
        mine = [run for run in table.runs if run.problem == problem]
        places[problem] = at or _common(mine)
        blocks += [(problem, repetition) for repetition in sorted({run.repetition for run in mine})]
    values = np.full((len(blocks), len(table.methods)), np.nan)
    carried = np.zeros(values.shape, dtype=np.bool_)
    for row, (problem, repetition) in enumerate(blocks):
        for column, method in enumerate(table.methods):
            run = runs.get((problem, method, repetition))
            if run is not None:
                values[row, column], carried[row, column] = value_at(run, places[problem])
    return Comparison(table.methods, problems, places, tuple(blocks), values, carried)


def value_at(run: Run, n: int) -> tuple[float, bool]:
    """Return the best value of a run after n evaluations, and whether it is that of an earlier end; nan if missing."""
    if run.evaluations < n and not run.has_ended:
        return np.nan, False
    best = run.best[min(n, run.evaluations) - 1] if run.evaluations else np.nan
    return float(np.inf if np.isnan(best) else best), run.evaluations < n


def needed(table: Table, comparison: Comparison, tolerance: float) -> FloatArray:
    """Return after how many evaluations each method has solved each block; nan where its run is missing."""
    runs = {run.key: run for run in table.runs}
    rows = []
    for (problem, repetition), values in zip(comparison.blocks, comparison.values, strict=True):
        curves = [
            np.empty(0) if np.isnan(value) else runs[problem, method, repetition].best[: comparison.at[problem]]
            for method, value in zip(comparison.methods, values, strict=True)
        ]
        rows.append(statistics.evaluations_needed(curves, tolerance))
    return np.array(rows).reshape(len(rows), len(comparison.methods))


def _common(runs: Sequence[Run]) -> int:
    ended = [run.evaluations for run in runs if run.has_ended]
    begun = [run.evaluations for run in runs if run.evaluations]
    return max(1, max(ended)) if ended else min(begun, default=1)
