"""The book of a run: which trials were asked for, which are pending, and what came back, in order.

===========  ================================================================  ===========
symbol       meaning                                                           shape
===========  ================================================================  ===========
n, C         number of trials told, the failed ones included; of constraints
units        points in the signed cube, one row per outcome                    (n, D)
values       the outcomes in the order in which they were told; nan: failed    (n,)
constraints  the black-box constraints of the outcomes; nan: failed            (n, C)
noise        known variances of the values; nan: unknown                       (n,)
aims         the points as the method proposed them                            (n, D)
===========  ================================================================  ===========
"""

from __future__ import annotations

import hashlib
import math
import operator
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np

from boids.errors import StoreError, TellError, shown
from boids.records import Domain, FloatArray, History, IntArray, Proposal, Trial
from boids.space import Space
from boids.values import Reading


@dataclass(frozen=True, eq=False)
class SavedLedger:
    """A ledger as plain data: a column for each property of the trials, where nan stands for None."""

    units: FloatArray
    values: FloatArray
    started: FloatArray
    ended: FloatArray
    constraints: FloatArray
    noise: FloatArray
    aims: FloatArray | None
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
        The best successful trial: the feasible one with the lowest value, or the least infeasible one while there is
        none; the oldest among equals.
    """

    def __init__(self, space: Space, domain: Domain | None = None) -> None:
        self._space = space
        self._domain = Domain(space.dim) if domain is None else domain
        self._told: list[int] = []
        self._rows: dict[str, FloatArray] = {
            "units": np.empty((16, space.dim)),
            "values": np.empty(16),
            "constraints": np.empty((16, self._domain.n_constraints)),
            "noise": np.empty(16),
        }
        self._seen: set[bytes] = set()
        self._failed: set[bytes] = set()
        self._knows_noise = False
        self.trials: list[Trial] = []
        self.pending: dict[int, Proposal] = {}
        self.n_failed = 0
        self.best: Trial | None = None

    def history(self) -> History:
        """Return the outcomes so far, as views that cannot be written to and do not change any more."""
        return self._history(len(self._told), self._knows_noise)

    def preview(self, trial: Trial, reading: Reading) -> History:
        """Return the history as it will be once the trial is closed with this reading."""
        n = len(self._told)
        if n == len(self._rows["values"]):  # twice the room, so that n outcomes cost O(n D) altogether
            self._rows = {name: np.concatenate([rows, np.empty_like(rows)]) for name, rows in self._rows.items()}
        aimed = self.pending[trial.id].aimed
        if aimed is not None and "aims" not in self._rows:
            self._rows["aims"] = self._rows["units"].copy()
        # Row n is beyond what any earlier history shows, and is written again if this outcome is not kept.
        row: dict[str, Any] = {
            "units": trial.unit,
            "values": reading.value,
            "constraints": reading.constraints,
            "noise": reading.noise_variance,
            "aims": trial.unit if aimed is None else aimed,
        }
        for name, rows in self._rows.items():
            rows[n] = row[name]
        return self._history(n + 1, self._knows_noise or not math.isnan(reading.noise_variance))

    def tried(self, unit: FloatArray) -> bool:
        """Whether a point need not be tried again: it was asked for before, or if values are noisy it failed."""
        return _fingerprint(unit) in (self._failed if self._domain.noisy else self._seen)

    def open(self, proposals: Iterable[Proposal], now: float) -> list[Trial]:
        """Enter proposals as pending trials."""
        trials = []
        for number, proposal in enumerate(proposals, start=len(self.trials)):
            params = self._space.decode(proposal.unit)
            _protect(params)
            trials.append(Trial(number, params, proposal.unit, started=now, info=proposal.info))
            self.pending[number] = proposal
            self._seen.add(_fingerprint(proposal.unit))
        self.trials += trials
        return trials

    def close(self, trial: Trial, reading: Reading, now: float) -> Trial:
        """Enter the outcome of a pending trial."""
        self.preview(trial, reading)
        if reading.error is None:
            constraints = reading.constraints if self._domain.n_constraints else None
            noise = None if math.isnan(reading.noise_variance) else reading.noise_variance
            done = replace(
                trial, value=reading.value, constraints=constraints, noise_variance=noise, state="done", ended=now
            )
            self._knows_noise |= noise is not None
        else:
            done = replace(trial, error=reading.error, state="failed", ended=now)
            self._failed.add(_fingerprint(trial.unit))
        self.trials[trial.id] = done
        self._told.append(trial.id)
        del self.pending[trial.id]
        self.n_failed += done.failed
        if not done.failed and (self.best is None or merit(done) < merit(self.best)):
            self.best = done
        return done

    def find(self, trial: Trial | int) -> Trial:
        """Return the pending trial that is meant by a trial or a number; a `TellError` if there is none."""
        try:
            number = trial.id if isinstance(trial, Trial) else operator.index(trial)
        except TypeError:
            raise TellError(f"Expected a trial from ask(), or its number, got {shown(trial)}.") from None
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
            constraints=self._by_trial("constraints"),
            noise=self._by_trial("noise"),
            aims=self._by_trial("aims") if "aims" in self._rows else None,
            errors=tuple(trial.error for trial in self.trials),
            infos=tuple(trial.info for trial in self.trials),
            told=np.array(self._told, dtype=np.int64),
            pending=tuple(self.pending.values()),
        )

    @classmethod
    def restore(cls, space: Space, saved: SavedLedger, domain: Domain | None = None) -> Ledger:
        """Return the ledger that was saved, by entering everything again."""
        ledger, n = cls(space, domain), len(saved.units)
        told = [int(number) for number in saved.told]
        waiting = sorted(set(range(n)) - set(told))
        columns = (saved.values, saved.started, saved.ended, saved.errors, saved.infos, saved.noise)
        if (
            saved.units.shape != (n, space.dim)
            or saved.constraints.shape != (n, ledger._domain.n_constraints)
            or (saved.aims is not None and saved.aims.shape != (n, space.dim))
            or any(len(column) != n for column in columns)
            or sorted([*told, *waiting]) != list(range(n))
            or len(waiting) != len(saved.pending)
        ):
            raise StoreError("its trials do not fit together")
        aims: Iterable[Any] = [None] * n if saved.aims is None else saved.aims
        proposals = [
            Proposal(protected(unit), info=info, aimed=None if aim is None else protected(aim))
            for unit, info, aim in zip(saved.units, saved.infos, aims, strict=True)
        ]
        for number, proposal in zip(waiting, saved.pending, strict=True):
            aimed = None if proposal.aimed is None else protected(proposal.aimed)
            proposals[number] = replace(proposal, unit=protected(proposal.unit), aimed=aimed)
        for proposal, started in zip(proposals, saved.started, strict=True):
            ledger.open([proposal], float(started))
        for number in told:
            reading = Reading(
                float(saved.values[number]),
                tuple(saved.constraints[number].tolist()),
                float(saved.noise[number]),
                saved.errors[number],
            )
            ledger.close(ledger.trials[number], reading, float(saved.ended[number]))
        return ledger

    def _by_trial(self, name: str) -> FloatArray:
        """Return rows of the history in the order of the trials' numbers, nan for pending ones."""
        rows = self._rows[name]
        ordered = np.full((len(self.trials), *rows.shape[1:]), np.nan)
        ordered[self._told] = rows[: len(self._told)]
        return ordered

    def _history(self, n: int, knows_noise: bool) -> History:
        views = {name: rows[:n] for name, rows in self._rows.items()}
        for view in views.values():
            view.setflags(write=False)
        return History(
            units=views["units"],
            values=views["values"],
            constraints=views["constraints"] if self._domain.n_constraints else None,
            noise=views["noise"] if knows_noise else None,
            aimed=views.get("aims"),
            space=self._domain,
            tried=self.tried,
        )


def merit(trial: Trial) -> tuple[float, float, int]:
    """Return what a successful trial is judged by: feasibility, value, age; never the order of the outcomes."""
    return trial.violation, math.inf if trial.value is None else trial.value, trial.id


def _fingerprint(unit: FloatArray) -> bytes:
    """Return a few bytes for a point, the same for 0.0 and -0.0."""
    return hashlib.blake2b((unit + 0.0).tobytes(), digest_size=16).digest()


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
