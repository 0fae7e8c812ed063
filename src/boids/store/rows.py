"""Trials, heads and progress as rows of tables, and back, exactly.

SQLite has no nan and no negative zero. A float that is one of them is kept as its eight bytes instead, in the same
column. Text that is not Unicode (lone surrogates, as in names of files that are not UTF-8) is kept with the strange
characters written out, as ``\\udc80``.
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, cast, final

import numpy as np

from boids.errors import StoreError, shorten, shown
from boids.journal import Snapshot, TrialRow
from boids.packing import pack, unpack
from boids.plain import AnyArray, decode, encode, jsonable
from boids.records import FloatArray, MemoValue, TrialState
from boids.store.runs import RunHead
from boids.store.tables import Cell, Cells, digest, from_total, to_total, trial_place

_MEMO = Mapping[str, MemoValue]
_LONGEST = 1 << 63  # integers from here on do not fit
_MOST_TRIALS = 1 << 32


@final
@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run has come, as one row; `state` and `memory` are digests, `trials` is a sum of checksums."""

    run: int
    status: str
    updated: float
    asked: int
    told: int
    failed: int
    added: int
    repeated: int
    best: float | None
    feasible: bool | None
    exhausted: bool
    times: Mapping[str, float]
    meta: Mapping[str, Any]
    state: bytes
    memory: bytes | None
    trials: int

    def after(self, snapshot: Snapshot) -> Progress:
        """Return the row after a snapshot."""
        return replace(
            self,
            asked=snapshot.asked,
            told=snapshot.told,
            failed=snapshot.failed,
            added=snapshot.added,
            best=snapshot.best,
            feasible=snapshot.feasible,
            exhausted=snapshot.exhausted,
            times=dict(snapshot.times),
            state=digest(snapshot.state),
        )

    def cells(self) -> Cells:
        """Return the row as cells."""
        feasible = None if self.feasible is None else int(self.feasible)
        return (
            self.run, text(self.status), from_float(self.updated), self.asked, self.told, self.failed, self.added,
            self.repeated, from_float(self.best), feasible, int(self.exhausted), to_json(self.times, "times"),
            to_json(self.meta, "meta"), self.state, self.memory, from_total(self.trials),
        )  # fmt: skip

    @classmethod
    def of(cls, cells: Cells) -> Progress:
        """Return the row that these cells are."""
        (run, status, updated, asked, told, failed, added, repeated, best, feasible, exhausted, times, meta, state,
         memory, trials) = cast("tuple[Any, ...]", cells)  # fmt: skip
        return cls(
            run, status, cast("float", to_float(updated)), asked, told, failed, added, repeated, to_float(best),
            None if feasible is None else bool(feasible), bool(exhausted), json.loads(times), json.loads(meta), state,
            memory, to_total(trials),
        )  # fmt: skip

    def snapshot(self, state: bytes) -> Snapshot:
        """Return the snapshot that this row and the state make up."""
        return Snapshot(
            state, self.asked, self.told, self.failed, self.added, self.best, self.feasible,
            self.exhausted, self.times,
        )  # fmt: skip


def head_cells(run: int, head: RunHead) -> Cells:
    """Return the head of a run as cells; of the setup only the digest."""
    return (
        run, text(head.id), from_float(head.created), text(head.method), text(head.problem), integer(head.dim, "dim"),
        integer(head.budget, "budget"), str(int(head.seed)), digest(head.setup),
    )  # fmt: skip


def head_of(cells: Cells, setup: bytes) -> RunHead:
    """Return the head that these cells are."""
    _, name, created, method, problem, dim, budget, seed, _ = cast("tuple[Any, ...]", cells)
    return RunHead(name, cast("float", to_float(created)), method, problem, dim, budget, int(seed), setup)


def trial_cells(run: int, row: TrialRow, dim: int) -> Cells:
    """Return a trial as cells, or raise a `StoreError` if it cannot be one."""
    _check_trial(row, dim)
    number = integer(row.number, "number")
    memo: bytes | None = None
    if row.memo:
        arrays: list[AnyArray] = []
        content = encode(dict(row.memo), _MEMO, arrays, "memo")
        memo = pack(content, arrays)
    return (
        trial_place(run, number), run, number, row.state, from_float(row.value), from_array(row.constraints),
        from_float(row.noise_variance), None if row.error is None else text(row.error), from_float(row.started),
        from_float(row.ended), integer(row.attempts, "attempts"), integer(row.asked, "asked"),
        None if row.told is None else integer(row.told, "told"), to_json(row.info, "info"), memo,
        from_array(row.unit), from_array(row.aimed),
    )  # fmt: skip


def trial_of(cells: Cells) -> TrialRow:
    """Return the trial that these cells are."""
    (_, _, number, state, value, constraints, noise_variance, error, started, ended, attempts, asked, told, info, memo,
     unit, aimed) = cast("tuple[Any, ...]", cells)  # fmt: skip
    kept: Mapping[str, MemoValue] = {}
    if memo is not None:
        content, arrays = unpack(memo)
        kept = decode(content, _MEMO, arrays, "memo")
    return TrialRow(
        number=number,
        unit=cast("FloatArray", to_array(unit)),
        aimed=to_array(aimed),
        memo=kept,
        info=json.loads(info),
        state=cast("TrialState", state),
        value=to_float(value),
        constraints=None if constraints is None else tuple(cast("FloatArray", to_array(constraints)).tolist()),
        noise_variance=to_float(noise_variance),
        error=error,
        started=cast("float", to_float(started)),
        ended=to_float(ended),
        attempts=attempts,
        asked=asked,
        told=told,
    )


def _check_trial(row: TrialRow, dim: int) -> None:
    closed = row.state in ("done", "failed")
    for right, wrong in (
        (0 <= row.number < _MOST_TRIALS, "its number is out of range"),
        (np.shape(row.unit) == (dim,), f"its point has the shape {np.shape(row.unit)}, not ({dim},)"),
        (row.aimed is None or np.shape(row.aimed) == (dim,), f"its aim has not the shape ({dim},)"),
        (closed or row.state == "pending", f"its state is {shown(row.state)}"),
        ((row.told is not None) == closed, f"it is {row.state}, but told is {row.told}"),
        (row.value is not None or row.state != "done", "it is done, but has no value"),
        (row.value is None or row.state != "failed", f"it failed, but its value is {row.value}"),
    ):
        if not right:
            raise StoreError(f"Trial {shown(row.number)} cannot be written down: {wrong}.")


def from_float(value: float | None) -> Cell:
    """Return a float as SQLite can keep it."""
    if value is None:
        return None
    value = float(value)
    survives = not math.isnan(value) and (value != 0.0 or math.copysign(1.0, value) > 0.0)
    return value if survives else struct.pack("<d", value)


def to_float(cell: Cell) -> float | None:
    """Return the float that a cell is."""
    if isinstance(cell, bytes):
        return float(struct.unpack("<d", cell)[0])
    return cast("float | None", cell)


def from_array(values: Any) -> bytes | None:
    """Return numbers as little-endian float64."""
    return None if values is None else np.ascontiguousarray(values, dtype="<f8").tobytes()


def to_array(cell: Cell) -> FloatArray | None:
    """Return the array that a cell is; nobody can write to it."""
    return None if cell is None else np.frombuffer(cast("bytes", cell), "<f8").astype(np.float64, copy=False)


def text(value: str) -> str:
    """Return text as Unicode can have it."""
    return str(value).encode("utf-8", "backslashreplace").decode()


def to_json(value: Any, where: str) -> str:
    """Return JSON-able data as text; nan and infinity in Python's spelling."""
    try:
        return json.dumps(jsonable(value, where))
    except (ValueError, RecursionError) as error:
        raise StoreError(f"{where}: {shorten(str(error))}; only plain data can be kept.") from None


def integer(value: int, where: str) -> int:
    """Return an integer that SQLite can keep."""
    number = int(value)
    if not -_LONGEST <= number < _LONGEST:
        raise StoreError(f"{where}: {shown(number)} does not fit into 64 bits.")
    return number
