"""The results of an experiment as a tidy table: one row per evaluation, and one record per run.

A table is made by `boids.bench.load` and never changes. Its columns are NumPy arrays of one length:

=============  ==============================================================================================
column         meaning
=============  ==============================================================================================
`problem`      label of the problem
`method`       label of the method
`repetition`   number of the repetition; the problem's instance depends on it alone, so runs can be paired by it
`n`            number of the evaluation in its run: 1, 2, …
`value`        what was measured; nan if the evaluation failed
`best`         the best feasible value so far; nan before the first
`seconds`      the method's own time since the evaluation before: all phases but the evaluation
`evaluate`     seconds of the evaluation itself
`cpu`          seconds of processor time in the same while, evaluation included; nan if unknown
`feasible`     whether all constraints were satisfied; True without constraints
`failed`       whether the evaluation failed
=============  ==============================================================================================
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from boids.errors import BoidsError, MissingExtra, did_you_mean

FloatArray: TypeAlias = NDArray[np.float64]
BoolArray: TypeAlias = NDArray[np.bool_]

COLUMNS = ("problem", "method", "repetition", "n", "value", "best", "seconds", "evaluate", "cpu", "feasible", "failed")
#: How a run stands that may still go on, and one that broke; all other words are the reason why it ended.
UNFINISHED, BROKEN = "unfinished", "error"


class ResultsError(BoidsError, ValueError):
    """Results of experiments cannot be found, or not be used as asked."""


@final
@dataclass(frozen=True)
class Run:
    """One run: what decided it, how it stands, and its evaluations as arrays.

    Attributes
    ----------
    problem, method
        Labels.
    path
        Where it was found, relative to the folder of the results.
    header
        What decided the run; see `docs/bench.md`.
    status
        Why it ended ("budget", "time limit", …), or "error", or "unfinished".
    message
        The last event's words on it.
    error, traceback
        Why the run broke; empty if it did not.
    value, best, seconds, evaluate, cpu, feasible, failed
        One number per evaluation, as in the table.
    times
        Seconds of the whole run by phase.
    errors
        Why evaluations failed, by their number n.
    environment
        `versions`, `commit`, `machine` and `threads` when it was begun, or last resumed.
    sessions
        In how many goes it was made.
    """

    problem: str
    method: str
    repetition: int
    path: str
    header: Mapping[str, Any] = field(repr=False)
    status: str
    message: str
    error: str
    traceback: str = field(repr=False)
    value: FloatArray = field(repr=False)
    best: FloatArray = field(repr=False)
    seconds: FloatArray = field(repr=False)
    evaluate: FloatArray = field(repr=False)
    cpu: FloatArray = field(repr=False)
    feasible: BoolArray = field(repr=False)
    times: Mapping[str, float] = field(repr=False)
    errors: Mapping[int, str] = field(default_factory=dict, repr=False)
    environment: Mapping[str, Any] = field(default_factory=dict, repr=False)
    sessions: int = 1

    @property
    def key(self) -> tuple[str, str, int]:
        """Problem, method and repetition."""
        return self.problem, self.method, self.repetition

    @property
    def evaluations(self) -> int:
        """How many evaluations were made."""
        return len(self.value)

    @property
    def failed(self) -> BoolArray:
        """Which of them failed."""
        return np.isnan(self.value)

    @property
    def found(self) -> float:
        """The best value of the run; nan if there is none."""
        return float(self.best[-1]) if len(self.best) else np.nan

    @property
    def has_ended(self) -> bool:
        """Whether the run came to its end, be it early: by its budget, a time limit, a space without further points."""
        return self.status not in (UNFINISHED, BROKEN)

    @property
    def budget(self) -> int:
        """How many evaluations were to be made."""
        return int(self.header["budget"])

    @property
    def optimum(self) -> float:
        """The problem's smallest value; nan if unknown."""
        return as_float(self.header["problem"].get("optimum"))

    @property
    def total_seconds(self) -> float:
        """Wall time of the run, without breaks."""
        return float(sum(self.times.values()))


@final
@dataclass(frozen=True)
class Planned:
    """A run that an experiment is to make."""

    problem: str
    method: str
    repetition: int
    budget: int
    path: str = ""

    @property
    def key(self) -> tuple[str, str, int]:
        """Problem, method and repetition."""
        return self.problem, self.method, self.repetition


@final
@dataclass(frozen=True)
class Table:
    """Results: `table["best"]` is a column, `table.runs` are the runs.

    Attributes
    ----------
    runs
        The runs, by problem, method and repetition.
    planned
        What was to be run; empty if no plan was found.
    title
        The plan's title.
    remarks
        What is wrong with the files, a sentence each: damaged runs that were left out, runs found twice.
    """

    runs: tuple[Run, ...]
    planned: tuple[Planned, ...] = ()
    title: str = ""
    remarks: tuple[str, ...] = ()

    def __len__(self) -> int:
        return sum(run.evaluations for run in self.runs)

    def __repr__(self) -> str:
        return (
            f"<Table: {len(self)} evaluations in {len(self.runs)} runs of {len(self.methods)} methods "
            f"on {len(self.problems)} problems>"
        )

    def __getitem__(self, column: str) -> NDArray[Any]:
        if column not in COLUMNS:
            hint = did_you_mean(column, COLUMNS, f"columns are {', '.join(COLUMNS)}.")
            raise KeyError(f"There is no column {column!r}; {hint}")
        return self.columns[column]

    @cached_property
    def columns(self) -> dict[str, NDArray[Any]]:
        """All columns by name."""
        lengths = [run.evaluations for run in self.runs]
        made: dict[str, NDArray[Any]] = {
            name: np.repeat(np.array([getattr(run, name) for run in self.runs], dtype=kind), lengths)
            for name, kind in (("problem", np.str_), ("method", np.str_), ("repetition", np.int64))
        }
        made["n"] = _joined([np.arange(1, length + 1) for length in lengths], np.int64)
        for name in ("value", "best", "seconds", "evaluate", "cpu"):
            made[name] = _joined([getattr(run, name) for run in self.runs], np.float64)
        for name in ("feasible", "failed"):
            made[name] = _joined([getattr(run, name) for run in self.runs], np.bool_)
        for column in made.values():
            column.flags.writeable = False
        return made

    @property
    def _all(self) -> tuple[Run | Planned, ...]:
        return (*self.planned, *self.runs)

    @cached_property
    def problems(self) -> tuple[str, ...]:
        """Labels of the problems, as the plan orders them."""
        return tuple(dict.fromkeys(each.problem for each in self._all))

    @cached_property
    def methods(self) -> tuple[str, ...]:
        """Labels of the methods, as the plan orders them."""
        return tuple(dict.fromkeys(each.method for each in self._all))

    @property
    def repetitions(self) -> tuple[int, ...]:
        """Numbers of the repetitions."""
        return tuple(sorted({each.repetition for each in self._all}))

    @cached_property
    def missing(self) -> tuple[Planned, ...]:
        """What was planned, and of which nothing was found."""
        made = {run.key for run in self.runs}
        return tuple(each for each in self.planned if each.key not in made)

    def where(
        self,
        *,
        problem: str | tuple[str, ...] | None = None,
        method: str | tuple[str, ...] | None = None,
        repetition: int | tuple[int, ...] | None = None,
    ) -> Table:
        """Return the part of the table with these labels, one or several of each.

        Raises
        ------
        ResultsError
            If a label does not occur.
        """
        kept = {
            "problem": self._known("problem", problem, self.problems),
            "method": self._known("method", method, self.methods),
            "repetition": self._known("repetition", repetition, self.repetitions),
        }

        def fits(each: Run | Planned) -> bool:
            return all(getattr(each, name) in labels for name, labels in kept.items())

        return replace(self, runs=tuple(filter(fits, self.runs)), planned=tuple(filter(fits, self.planned)))

    def curves(self, problem: str, method: str) -> tuple[NDArray[np.int64], FloatArray]:
        """Return how the runs of a method on a problem went on.

        Returns
        -------
        repetitions
            Of each run.
        best
            The best value so far, a row per run; nan before the first feasible value and after the last evaluation.
        """
        runs = self.where(problem=problem, method=method).runs
        curves = np.full((len(runs), max((run.evaluations for run in runs), default=0)), np.nan)
        for row, run in zip(curves, runs, strict=True):
            row[: run.evaluations] = run.best
        return np.array([run.repetition for run in runs], dtype=np.int64), curves

    def to_pandas(self) -> Any:
        """Return the evaluations as a pandas DataFrame.

        Raises
        ------
        MissingExtra
            If pandas is not installed.
        """
        try:
            import pandas as pd
        except ImportError as error:
            raise MissingExtra(
                "A DataFrame needs pandas, which is not installed; install it with: pip install pandas"
            ) from error
        return pd.DataFrame(dict(self.columns))

    @staticmethod
    def _known(what: str, asked: Any, known: tuple[Any, ...]) -> tuple[Any, ...]:
        if asked is None:
            return known
        labels = asked if isinstance(asked, tuple | list | set | frozenset) else (asked,)
        for label in labels:
            if label not in known:
                listed = f"there are {', '.join(map(str, known)) or 'none'}."
                hint = did_you_mean(str(label), map(str, known), listed)
                raise ResultsError(f"There is no {what} {label!r} in these results; {hint}")
        return tuple(labels)


def as_float(value: Any) -> float:
    """Return a number as a float, nan for None."""
    return np.nan if value is None else float(value)


def _joined(parts: list[NDArray[Any]], kind: Any) -> NDArray[Any]:
    return np.concatenate(parts).astype(kind) if parts else np.empty(0, dtype=kind)
