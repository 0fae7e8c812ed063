"""Runs to write down: what an optimizer would hand to its journal, made up from a seed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from boids.journal import Snapshot, TrialRow
from boids.packing import pack
from boids.store import RunHead, StoredRun


@dataclass(frozen=True)
class Step:
    """One call of `write`, and how the run stands after it."""

    rows: tuple[TrialRow, ...]
    snapshot: Snapshot
    memory: Any
    all_rows: tuple[TrialRow, ...]


def head(name: str = "run-1", *, dim: int = 3, seed: int = 0) -> RunHead:
    return RunHead(name, 1.7e9 + seed, "boids", "ackley", dim, 100, seed, pack({"setup": name}, [np.arange(dim)]))


def empty(state: bytes = b"start") -> Snapshot:
    return Snapshot(state, 0, 0, 0, 0, None, None, False, {})


def pending(number: int, asked: int, unit: Any = (0.5, -0.5, 1.0), **changes: Any) -> TrialRow:
    row = TrialRow(
        number, np.asarray(unit, float), None, {}, {}, "pending", None, None, None, None, 1e9, None, 1, asked, None
    )
    return replace(row, **changes)


def done(row: TrialRow, value: float, told: int, **changes: Any) -> TrialRow:
    return replace(row, state="done", value=value, told=told, memo={}, ended=row.started + 0.01, **changes)


def snapshot_of(rows: tuple[TrialRow, ...] | list[TrialRow], state: bytes = b"state") -> Snapshot:
    values = [row.value for row in rows if row.state == "done"]
    return Snapshot(
        state,
        len(rows),
        sum(row.told is not None for row in rows),
        sum(row.state == "failed" for row in rows),
        sum(row.attempts == 0 for row in rows),
        min(values, default=None),
        True if values else None,
        False,
        {"fit": 0.1 * len(rows), "other": 1 / 3},
    )


def steps(seed: int, *, dim: int = 3, state_size: int = 200) -> Iterator[Step]:
    """Ask, tell, fail and begin again in an order that depends on the seed, for ever."""
    rng = np.random.default_rng(seed)
    rows: list[TrialRow] = []
    events = 0
    while True:
        waiting = [row for row in rows if row.state == "pending"]
        changed: list[TrialRow] = []
        if not waiting or rng.random() < 0.45:
            for _ in range(rng.integers(1, 3)):
                unit = rng.uniform(-1, 1, dim)
                memo = {"z": rng.normal(size=2), "line": int(rng.integers(9)), "share": rng.random(), "name": "µ"}
                changed.append(pending(len(rows) + len(changed), events, unit, memo=memo, info={"d": 2}))
                events += 1
        else:
            row = waiting[rng.integers(len(waiting))]
            kind = rng.random()
            if kind < 0.2:
                changed.append(replace(row, attempts=row.attempts + 1))
            elif kind < 0.4:
                changed.append(replace(row, state="failed", error="no\nluck", told=events, memo={}, ended=1e9 + 1))
                events += 1
            else:
                changed.append(done(row, float(rng.normal()), events, constraints=(0.1, -0.2), noise_variance=0.5))
                events += 1
        for row in changed:
            rows[row.number : row.number + 1] = [row]
        state = pack({"seen": len(rows)}, [rng.normal(size=state_size // 8)])
        yield Step(tuple(changed), snapshot_of(rows, state), {"events": events}, tuple(rows))


def row_key(row: TrialRow) -> tuple[Any, ...]:
    """All of a trial, comparable: floats and arrays by their bytes."""
    return tuple(_exact(getattr(row, name)) for name in TrialRow.__slots__)


def run_key(run: StoredRun) -> tuple[Any, ...]:
    """All of a run but the time of the last write, comparable."""
    rest = (run.head, run.status, run.meta, run.memory, run.snapshot)
    return (*map(repr, rest), tuple(map(row_key, run.rows)))


def step_key(step: Step) -> tuple[Any, ...]:
    """What `read_key` should give after this step."""
    return repr(step.snapshot), tuple(map(row_key, step.all_rows))


def read_key(run: StoredRun) -> tuple[Any, ...]:
    return repr(run.snapshot), tuple(map(row_key, run.rows))


def _exact(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.tobytes()
    if isinstance(value, float):
        return "float", value.hex()
    if isinstance(value, dict):
        return tuple((key, _exact(item)) for key, item in value.items())
    if isinstance(value, (list, tuple)):
        return type(value).__name__, tuple(map(_exact, value))
    return type(value).__name__, value
