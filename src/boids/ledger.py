"""The book of a run: which trials were asked for, which are pending, and what came back, in order.

======  =====================================================================  ===========
symbol  meaning                                                                shape
======  =====================================================================  ===========
n       number of trials told, the failed ones included
units   points in the signed cube, one row per outcome                         (n, D)
values  the outcomes in the order in which they were told; nan: failed         (n,)
======  =====================================================================  ===========
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np

from boids.errors import StoreError, TellError
from boids.records import FloatArray, History, IntArray, Proposal, Trial
from boids.space import Space


@dataclass(frozen=True, eq=False)
class SavedLedger:
    """A ledger as plain data: a column for each property of the trials, where nan stands for None."""

    units: FloatArray
    values: FloatArray
    started: FloatArray
    ended: FloatArray
    errors: tuple[str | None, ...]
    infos: tuple[Mapping[str, Any], ...]
    told: IntArray
    pending: tuple[Proposal, ...]


@final
class Ledger:
    """Trials, pending proposals and outcomes; entries are added and closed, never removed.

    Attributes
    ----------
    trials
        All trials, by number.
    pending
        The proposals that wait for their outcome, by the trial's number, oldest first.
    n_failed
        Number of trials that failed.
    best
        The successful trial with the lowest value, the oldest among equals.
    """

    def __init__(self, space: Space) -> None:
        self._space = space
        self._told: list[int] = []
        self._units: FloatArray = np.empty((16, space.dim))
        self._values: FloatArray = np.empty(16)
        self.trials: list[Trial] = []
        self.pending: dict[int, Proposal] = {}
        self.n_failed = 0
        self.best: Trial | None = None

    def history(self) -> History:
        """Return the outcomes so far, as views that cannot be written to and do not change any more."""
        return self._history(len(self._told))

    def preview(self, trial: Trial, value: float) -> History:
        """Return the history as it will be once the trial is closed with this value (nan: failed)."""
        n = len(self._told)
        if n == len(self._values):  # twice the room, so that n outcomes cost O(n D) altogether
            self._units = np.concatenate([self._units, np.empty_like(self._units)])
            self._values = np.concatenate([self._values, np.empty_like(self._values)])
        # Row n is beyond what any earlier history shows, and is written again if this outcome is not kept.
        self._units[n], self._values[n] = trial.unit, value
        return self._history(n + 1)

    def open(self, proposals: Iterable[Proposal], now: float) -> list[Trial]:
        """Enter proposals as pending trials."""
        trials = []
        for number, proposal in enumerate(proposals, start=len(self.trials)):
            params = self._space.decode(proposal.unit)
            _protect(params)
            trials.append(Trial(number, params, proposal.unit, started=now, info=proposal.info))
            self.pending[number] = proposal
        self.trials += trials
        return trials

    def close(self, trial: Trial, value: float, error: str | None, now: float) -> Trial:
        """Enter the outcome of a pending trial: a value, or nan and why it failed."""
        self.preview(trial, value)
        if error is None:
            done = replace(trial, value=value, state="done", ended=now)
        else:
            done = replace(trial, error=error, state="failed", ended=now)
        self.trials[trial.id] = done
        self._told.append(trial.id)
        del self.pending[trial.id]
        self.n_failed += done.failed
        # Among equals the oldest wins, so that the order of the outcomes does not matter.
        if error is None and (self.best is None or (value, trial.id) < (self.best.value, self.best.id)):
            self.best = done
        return done

    def find(self, trial: Trial | int) -> Trial:
        """Return the pending trial that is meant by a trial or a number; a `TellError` if there is none."""
        try:
            number = trial.id if isinstance(trial, Trial) else operator.index(trial)
        except TypeError:
            raise TellError(f"Expected a trial from ask(), or its number, got {trial!r}.") from None
        if not 0 <= number < len(self.trials):
            raise TellError(f"Trial {number} was never asked for; {len(self.trials)} were, numbered from 0.")
        asked = self.trials[number]
        if isinstance(trial, Trial) and not np.array_equal(trial.unit, asked.unit):
            raise TellError(f"Trial {number} belongs to another optimizer: this one asked for another point.")
        if number not in self.pending:
            outcome = "that it failed" if asked.failed else f"the value {asked.value}"
            raise TellError(f"Trial {number} was already told {outcome}; every trial is told once.")
        return asked

    def save(self) -> SavedLedger:
        """Return everything as plain data."""
        return SavedLedger(
            units=np.array([trial.unit for trial in self.trials]).reshape(-1, self._space.dim),
            values=_column(trial.value for trial in self.trials),
            started=_column(trial.started for trial in self.trials),
            ended=_column(trial.ended for trial in self.trials),
            errors=tuple(trial.error for trial in self.trials),
            infos=tuple(trial.info for trial in self.trials),
            told=np.array(self._told, dtype=np.int64),
            pending=tuple(self.pending.values()),
        )

    @classmethod
    def restore(cls, space: Space, saved: SavedLedger) -> Ledger:
        """Return the ledger that was saved, by entering everything again."""
        ledger, n = cls(space), len(saved.units)
        told = [int(number) for number in saved.told]
        waiting = sorted(set(range(n)) - set(told))
        columns = (saved.values, saved.started, saved.ended, saved.errors, saved.infos)
        if (
            saved.units.shape != (n, space.dim)
            or any(len(column) != n for column in columns)
            or sorted([*told, *waiting]) != list(range(n))
            or len(waiting) != len(saved.pending)
        ):
            raise StoreError("its trials do not fit together")
        proposals = [Proposal(protected(unit), info=info) for unit, info in zip(saved.units, saved.infos, strict=True)]
        for number, proposal in zip(waiting, saved.pending, strict=True):
            proposals[number] = replace(proposal, unit=protected(proposal.unit))
        for proposal, started in zip(proposals, saved.started, strict=True):
            ledger.open([proposal], float(started))
        for number in told:
            error, ended = saved.errors[number], float(saved.ended[number])
            ledger.close(ledger.trials[number], float(saved.values[number]), error, ended)
        return ledger

    def _history(self, n: int) -> History:
        units, values = self._units[:n], self._values[:n]
        units.setflags(write=False)
        values.setflags(write=False)
        return History(units, values)


def protected(array: Any) -> FloatArray:
    """Return a copy that cannot be written to."""
    copy: FloatArray = np.array(array, dtype=float)
    copy.setflags(write=False)
    return copy


def _protect(params: Any) -> None:
    """Make the arrays of a point read-only: a trial is a record."""
    for value in params.values() if isinstance(params, dict) else (params,):
        if isinstance(value, np.ndarray):
            value.setflags(write=False)


def _column(numbers: Iterable[float | None]) -> FloatArray:
    return np.array([np.nan if number is None else number for number in numbers], dtype=float)
