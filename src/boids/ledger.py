"""The book of a run: which trials were asked for, which are pending, and what came back, in order.

===========  ================================================================  ===========
symbol       meaning                                                           shape
===========  ================================================================  ===========
N, n         number of trials; of those told, the failed ones included
C            number of black-box constraints
units        points in the signed cube                                         (·, D)
values       the outcomes; nan: failed                                         (·,)
constraints  the black-box constraints of the outcomes; nan: failed            (·, C)
noise        known variances of the values; nan: unknown                       (·,)
aims         the points as the method proposed them                            (·, D)
===========  ================================================================  ===========

Everything is kept in columns with a row per trial, and `Trial` objects are made when somebody wants them, so that a
hundred thousand cheap trials cost little more than their points. A history shows the outcomes in the order in which
they were told. As long as that is the order of the trials it is a view of the same columns; after that it has its own.
"""

from __future__ import annotations

import hashlib
import math
import operator
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, final

import numpy as np

from boids.errors import StoreError, TellError, shown
from boids.journal import TrialRow
from boids.records import Domain, FloatArray, History, Proposal, Trial, TrialState
from boids.space import Space
from boids.trial_rows import Held, made_row, outcome_of
from boids.values import Reading

_STATES: tuple[TrialState, ...] = ("pending", "done", "failed")
_SEEN = ("units", "values", "constraints", "noise", "aims")


@final
class Ledger:
    """Trials, pending proposals and outcomes; entries are made and closed.

    Attributes
    ----------
    pending
        The proposals that wait for their outcome, by the trial's number, oldest first.
    held
        The outcomes of pending trials that have arrived before their turn, by the trial's number.
    n_failed, n_added, n_added_failed
        Number of trials that failed, of those that were added with their outcomes, and of those that are both.
    best
        The best successful trial: the feasible one with the lowest value, or the least infeasible one while there is
        none; the oldest among equals.
    """

    def __init__(self, space: Space, domain: Domain | None = None) -> None:
        self._space = space
        self._domain = Domain(space.dim) if domain is None else domain
        self._size = 0
        self._columns: dict[str, Any] = {
            "units": np.empty((16, space.dim)),
            "values": np.empty(16),
            "constraints": np.empty((16, self._domain.n_constraints)),
            "noise": np.empty(16),
            "started": np.empty(16),
            "ended": np.empty(16),
            "states": np.empty(16, dtype=np.int8),
            "attempts": np.empty(16, dtype=np.int32),
            "asked": np.empty(16, dtype=np.int64),
            "told": np.empty(16, dtype=np.int64),
        }
        self._errors: dict[int, str] = {}
        self._infos: dict[int, Mapping[str, Any]] = {}
        self._n_told = 0
        self._events = 0
        self._in_order: dict[str, FloatArray] | None = None  # the outcomes as they were told, if not in order of trials
        self._made: list[Trial] | None = None
        self._open: dict[int, Trial] = {}  # those that are pending, as soon as they have been made
        self._seen: set[bytes] = set()
        self._failed: set[bytes] = set()
        self._knows_noise = False
        self.pending: dict[int, Proposal] = {}
        self.held: dict[int, Held] = {}
        self.n_failed = 0
        self.n_added = 0
        self.n_added_failed = 0
        self.best: Trial | None = None

    def __len__(self) -> int:
        """Return N."""
        return self._size

    @property
    def n_told(self) -> int:
        """The number of trials with an outcome that was told, n."""
        return self._n_told

    @property
    def n_points(self) -> int:
        """The number of different points among the trials."""
        return len(self._seen)

    @property
    def trials(self) -> list[Trial]:
        """All trials, by number; made at the first call and kept up to date from then on."""
        if self._made is None:
            self._made = [self.trial(number) for number in range(self._size)]
        return self._made

    def trial(self, number: int) -> Trial:
        """Return one trial."""
        if self._made is not None:
            return self._made[number]
        if number in self._open:
            return self._open[number]
        columns, waiting = self._columns, self.pending.get(number)
        unit = protected(columns["units"][number]) if waiting is None else waiting.unit
        params = self._space.decode(unit)
        _protect(params)
        trial = Trial(
            number,
            params,
            unit,
            started=float(columns["started"][number]),
            info=self._infos.get(number, {}),
            attempts=int(columns["attempts"][number]),
        )
        if waiting is not None:
            self._open[number] = trial
            return trial
        return self._done(trial, self._outcome(number), float(columns["ended"][number]))

    # --- what methods see ---------------------------------------------------------------------------------

    def history(self) -> History:
        """Return the outcomes so far, as views that cannot be written to and do not change any more."""
        return self._history(self._n_told, self._knows_noise)

    def preview(self, number: int, reading: Reading) -> History:
        """Return the history as it will be once the trial is closed with this reading."""
        n = self._n_told
        if self._in_order is None and number != n:
            room = {name: column for name, column in self._columns.items() if name in _SEEN}
            self._in_order = {name: column.copy() for name, column in room.items()}
        columns = self._columns if self._in_order is None else self._in_order
        if n == len(columns["values"]):
            self._in_order = columns = _grown(columns)
        unit, aimed = self.pending[number].unit, self.pending[number].aimed
        if aimed is not None and "aims" not in columns:
            columns["aims"] = columns["units"].copy()
        # Row n is beyond what any earlier history shows, and is written again if this outcome is not kept.
        row: dict[str, Any] = {
            "units": unit,
            "values": reading.value,
            "constraints": reading.constraints,
            "noise": reading.noise_variance,
            "aims": unit if aimed is None else aimed,
        }
        for name in _SEEN:
            if name in columns:
                columns[name][n] = row[name]
        return self._history(n + 1, self._knows_noise or not math.isnan(reading.noise_variance))

    def tried(self, unit: FloatArray) -> bool:
        """Whether a point need not be tried again: it was asked for before, or if values are noisy it failed."""
        return _fingerprint(unit) in (self._failed if self._domain.noisy else self._seen)

    def _history(self, n: int, knows_noise: bool) -> History:
        columns = self._columns if self._in_order is None else self._in_order
        views = {name: columns[name][:n] for name in _SEEN if name in columns}
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

    # --- entries ------------------------------------------------------------------------------------------

    def open(self, proposals: Iterable[Proposal], now: float, *, attempts: int = 1) -> list[Trial]:
        """Enter proposals as pending trials."""
        return [self.trial(self._enter(proposal, now, attempts)) for proposal in proposals]

    def close(self, number: int, held: Held) -> Trial:
        """Enter the outcome of a pending trial."""
        reading, done = held.reading, self.finished(number, held)
        self.preview(number, reading)
        columns = self._columns
        columns["values"][number] = reading.value
        columns["constraints"][number] = reading.constraints
        columns["noise"][number] = reading.noise_variance
        columns["ended"][number] = held.ended
        columns["states"][number] = _STATES.index(done.state)
        columns["told"][number] = self._events
        self._events += 1
        self._n_told += 1
        self.n_failed += done.failed
        self.n_added += not done.attempts
        self.n_added_failed += done.failed and not done.attempts
        if reading.error is None:
            self._knows_noise |= done.noise_variance is not None
        else:
            self._errors[number] = reading.error
            self._failed.add(_fingerprint(done.unit))
        del self.pending[number]
        self._open.pop(number, None)
        self.held.pop(number, None)
        if self._made is not None:
            self._made[number] = done
        self.best = self.better(done)
        return done

    def finished(self, number: int, held: Held) -> Trial:
        """Return a pending trial as it will be with its outcome."""
        return self._done(self.trial(number), held.reading, held.ended)

    def begin_again(self, number: int) -> None:
        """Enter that the evaluation of a pending trial is begun once more."""
        self._columns["attempts"][number] += 1
        self._open.pop(number, None)
        if self._made is not None:
            self._made[number] = replace(self._made[number], attempts=self._made[number].attempts + 1)

    def withdraw(self) -> None:
        """Remove the latest entry, a pending trial, as if it had never been made."""
        self._size -= 1
        self._events -= 1
        unit = self.pending.pop(self._size).unit
        if not (self._columns["units"][: self._size] == unit).all(axis=1).any():
            self._seen.discard(_fingerprint(unit))
        self._infos.pop(self._size, None)
        self._open.pop(self._size, None)
        if self._made is not None:
            self._made.pop()

    def better(self, done: Trial) -> Trial | None:
        """Return the better one of a finished trial and the best so far."""
        worse = done.failed or (self.best is not None and merit(self.best) <= merit(done))
        return self.best if worse else done

    def find(self, trial: Trial | int) -> int:
        """Return the number of the pending trial that is meant by a trial or a number; a `TellError` if none is."""
        try:
            number = trial.id if isinstance(trial, Trial) else operator.index(trial)
        except TypeError:
            raise TellError(f"Expected a trial from ask(), or its number, got {shown(trial)}.") from None
        if not 0 <= number < self._size:
            raise TellError(f"Trial {number} was never asked for; {self._size} were, numbered from 0.")
        if isinstance(trial, Trial) and not np.array_equal(trial.unit, self._columns["units"][number]):
            raise TellError(f"Trial {number} belongs to another optimizer: this one asked for another point.")
        if number not in self.pending:
            asked = self.trial(number)
            outcome = "that it failed" if asked.failed else f"the value {asked.value}"
            raise TellError(f"Trial {number} was already told {outcome}; every trial is told once.")
        return number

    def _enter(self, proposal: Proposal, now: float, attempts: int) -> int:
        number = self._size
        if number == len(self._columns["values"]):
            self._columns = _grown(self._columns)
        columns = self._columns
        if proposal.aimed is not None and "aims" not in columns:
            columns["aims"] = columns["units"].copy()
        row: dict[str, Any] = {
            "units": proposal.unit,
            "aims": proposal.aim,
            "values": np.nan,
            "constraints": np.nan,
            "noise": np.nan,
            "started": now,
            "ended": np.nan,
            "states": 0,
            "attempts": attempts,
            "asked": self._events,
            "told": -1,
        }
        for name, column in columns.items():
            column[number] = row[name]
        if proposal.info:
            self._infos[number] = proposal.info
        self.pending[number] = proposal
        self._seen.add(_fingerprint(proposal.unit))
        self._events += 1
        self._size += 1
        if self._made is not None:
            made, self._made = self._made, None
            made.append(self.trial(number))
            self._made = made
        return number

    def _outcome(self, number: int) -> Reading:
        """Return what came out of a trial that was told."""
        columns = self._columns
        return Reading(
            float(columns["values"][number]),
            tuple(columns["constraints"][number].tolist()),
            float(columns["noise"][number]),
            self._errors.get(number),
        )

    def _done(self, trial: Trial, reading: Reading, now: float) -> Trial:
        """Return a trial with its outcome."""
        if reading.error is not None:
            return replace(trial, error=reading.error, state="failed", ended=now)
        constraints = reading.constraints if self._domain.n_constraints else None
        noise = None if math.isnan(reading.noise_variance) else reading.noise_variance
        return replace(
            trial, value=reading.value, constraints=constraints, noise_variance=noise, state="done", ended=now
        )

    # --- as rows of a journal -----------------------------------------------------------------------------

    def drafts(self, proposals: Sequence[Proposal], now: float) -> list[TrialRow]:
        """Return the rows of trials as they will be once these proposals are entered."""
        size, events = self._size, self._events
        return [made_row(size + i, proposal, now, attempts=1, asked=events + i) for i, proposal in enumerate(proposals)]

    def row(self, number: int, *, held: Held | None = None, told: bool = False, more_attempts: int = 0) -> TrialRow:
        """Return the row of a trial: as it is, or as it will be once its outcome is held or told, or begun again."""
        columns, waiting = self._columns, self.pending.get(number)
        if waiting is None:
            aimed = columns["aims"][number] if "aims" in columns else None
            aimed = None if aimed is None or np.array_equal(aimed, columns["units"][number]) else aimed
            waiting = Proposal(columns["units"][number], info=self._infos.get(number, {}), aimed=aimed)
            held, when = Held(self._outcome(number), float(columns["ended"][number])), int(columns["told"][number])
        else:
            held, when = held or self.held.get(number), self._events if told else -1
        return made_row(
            number,
            waiting,
            float(columns["started"][number]),
            attempts=int(columns["attempts"][number]) + more_attempts,
            asked=int(columns["asked"][number]),
            held=held,
            told=None if when < 0 else when,
        )

    @classmethod
    def restore(cls, space: Space, rows: Sequence[TrialRow], domain: Domain | None = None) -> Ledger:
        """Return the ledger with these rows, by entering everything again in the order of the events."""
        ledger = cls(space, domain)
        count = ledger._domain.n_constraints
        events: list[tuple[int, TrialRow]] = [(row.asked, row) for row in rows]
        events += [(row.told, row) for row in rows if row.told is not None]
        for place, (event, row) in enumerate(sorted(events, key=lambda each: each[0])):
            is_new = event == row.asked
            in_turn = row.number == len(ledger) if is_new else row.number in ledger.pending
            points = (row.unit,) if row.aimed is None else (row.unit, row.aimed)
            if event != place or not in_turn or any(point.shape != (space.dim,) for point in points):
                raise StoreError("its trials do not fit together")
            reading = outcome_of(row, count)
            if is_new:
                aimed = None if row.aimed is None else protected(row.aimed)
                proposal = Proposal(protected(row.unit), dict(row.memo), dict(row.info), aimed=aimed)
                ledger._enter(proposal, row.started, row.attempts)
            elif reading is None or row.ended is None:
                raise StoreError("one of its trials has no outcome")
            else:
                ledger.close(row.number, Held(reading, row.ended))
            if is_new and row.told is None and reading is not None and row.ended is not None:
                ledger.held[row.number] = Held(reading, row.ended)
        return ledger


def merit(trial: Trial) -> tuple[float, float, int]:
    """Return what a successful trial is judged by: feasibility, value, age; never the order of the outcomes."""
    return trial.violation, math.inf if trial.value is None else trial.value, trial.id


def protected(array: Any) -> FloatArray:
    """Return a copy that cannot be written to."""
    copy: FloatArray = np.array(array, dtype=float)
    copy.setflags(write=False)
    return copy


def _grown(columns: dict[str, Any]) -> dict[str, Any]:
    """Return columns with twice the room, so that n entries cost O(n D) altogether."""
    return {name: np.concatenate([column, np.empty_like(column)]) for name, column in columns.items()}


def _fingerprint(unit: FloatArray) -> bytes:
    """Return a few bytes for a point, the same for 0.0 and -0.0."""
    return hashlib.blake2b((unit + 0.0).tobytes(), digest_size=16).digest()


def _protect(params: Any) -> None:
    """Make the arrays of a point read-only: a trial is a record."""
    for value in params.values() if isinstance(params, dict) else (params,):
        if isinstance(value, np.ndarray):
            value.setflags(write=False)
