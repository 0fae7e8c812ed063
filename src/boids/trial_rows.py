"""Trials as rows of a journal: how a proposal and its outcome become one, and how they are read back."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from boids.errors import StoreError
from boids.journal import TrialRow
from boids.records import FloatArray, IntArray, MemoValue, Proposal, TrialState
from boids.values import Reading


@final
@dataclass(frozen=True)
class Held:
    """An outcome that has arrived, and when; it is told at once or later."""

    reading: Reading
    ended: float


def made_row(
    number: int,
    proposal: Proposal,
    started: float,
    *,
    attempts: int,
    asked: int,
    held: Held | None = None,
    told: int | None = None,
) -> TrialRow:
    """Return the row of a trial; see `TrialRow` for what is in it."""
    reading = None if held is None else held.reading
    good = reading if reading is not None and reading.error is None else None
    return TrialRow(
        number=number,
        unit=proposal.unit,
        aimed=proposal.aimed,
        memo=proposal.memo if told is None else {},
        info=proposal.info,
        state="pending" if told is None else "failed" if good is None else "done",
        value=None if good is None else good.value,
        constraints=None if good is None else good.constraints or None,
        noise_variance=None if good is None or math.isnan(good.noise_variance) else good.noise_variance,
        error=None if reading is None else reading.error,
        started=started,
        ended=None if held is None else held.ended,
        attempts=attempts,
        asked=asked,
        told=told,
    )


def outcome_of(row: TrialRow, n_constraints: int) -> Reading | None:
    """Return the outcome in a row, None if there is none."""
    if row.error is not None:
        return Reading.failed(row.error, n_constraints)
    if row.value is None:
        return None
    constraints = row.constraints or ()
    if len(constraints) != n_constraints:
        raise StoreError(f"one of its trials has {len(constraints)} constraints, the run has {n_constraints}")
    return Reading(row.value, tuple(constraints), math.nan if row.noise_variance is None else row.noise_variance)


@final
@dataclass(frozen=True, eq=False)
class TrialColumns:
    """Many rows as plain data: a column for each field of `TrialRow`, where nan stands for None; `told` is -1 then."""

    units: FloatArray
    aims: FloatArray | None
    memos: tuple[dict[str, MemoValue], ...]
    infos: tuple[Mapping[str, Any], ...]
    states: tuple[TrialState, ...]
    values: FloatArray
    constraints: FloatArray
    noise: FloatArray
    errors: tuple[str | None, ...]
    started: FloatArray
    ended: FloatArray
    attempts: IntArray
    asked: IntArray
    told: IntArray

    @classmethod
    def of(cls, rows: Sequence[TrialRow], dim: int, n_constraints: int) -> TrialColumns:
        """Return the rows as columns."""
        moved = any(row.aimed is not None for row in rows)
        failed = (math.nan,) * n_constraints
        return cls(
            units=np.array([row.unit for row in rows]).reshape(len(rows), dim),
            aims=np.array([row.unit if row.aimed is None else row.aimed for row in rows]) if moved else None,
            memos=tuple(dict(row.memo) for row in rows),
            infos=tuple(row.info for row in rows),
            states=tuple(row.state for row in rows),
            values=_column([row.value for row in rows]),
            constraints=np.array([row.constraints or failed for row in rows]).reshape(len(rows), n_constraints),
            noise=_column([row.noise_variance for row in rows]),
            errors=tuple(row.error for row in rows),
            started=_column([row.started for row in rows]),
            ended=_column([row.ended for row in rows]),
            attempts=np.array([row.attempts for row in rows], dtype=np.int64),
            asked=np.array([row.asked for row in rows], dtype=np.int64),
            told=np.array([-1 if row.told is None else row.told for row in rows], dtype=np.int64),
        )

    def rows(self) -> list[TrialRow]:
        """Return the rows again."""
        n, columns = len(self.units), [getattr(self, name) for name in _LENGTHS]
        if any(len(column) != n for column in columns) or (self.aims is not None and len(self.aims) != n):
            raise StoreError("its trials do not fit together")
        return [self._row(number) for number in range(n)]

    def _row(self, i: int) -> TrialRow:
        unit, aim = self.units[i], None if self.aims is None else self.aims[i]
        value, constraints = _number(self.values[i]), tuple(self.constraints[i].tolist())
        return TrialRow(
            number=i,
            unit=unit,
            aimed=None if aim is None or np.array_equal(aim, unit) else aim,
            memo=self.memos[i],
            info=self.infos[i],
            state=self.states[i],
            value=value,
            constraints=None if value is None else constraints or None,
            noise_variance=_number(self.noise[i]),
            error=self.errors[i],
            started=float(self.started[i]),
            ended=_number(self.ended[i]),
            attempts=int(self.attempts[i]),
            asked=int(self.asked[i]),
            told=None if self.told[i] < 0 else int(self.told[i]),
        )


_LENGTHS = (
    "memos", "infos", "states", "values", "constraints", "noise", "errors", "started", "ended", "attempts", "asked",
    "told",
)  # fmt: skip


def _column(numbers: Sequence[float | None]) -> FloatArray:
    return np.array([np.nan if number is None else number for number in numbers], dtype=float)


def _number(value: Any) -> float | None:
    return None if np.isnan(value) else float(value)
