"""Follow a run in a store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, final

import numpy as np

from boids import packing, plain, run_file
from boids.dashboard import cells
from boids.dashboard.course import Course
from boids.dashboard.listing import of_summary
from boids.dashboard.points import PointTable, flat
from boids.errors import BoidsError
from boids.journal import TrialRow
from boids.records import FloatArray
from boids.setup import Setup
from boids.space import Space
from boids.store import RunNews, Store

#: Entries of a list among the diagnostics that are worth a look; length scales of a thousand parameters are not.
_LONGEST_LIST = 100


@final
class StoredCourse:
    """A run in a store, of which only news are read.

    Attributes
    ----------
    course
        Its trials.
    """

    def __init__(self, path: Path, run_id: str) -> None:
        self.course = Course()
        self._path, self._store, self._id = path, Store(path, timeout=2.0), run_id
        self._created = 0.0
        self._waiting: set[int] = set()
        self._packed = b""
        self._setup: Setup | None = None
        self._space: Space | None = None

    def refresh(self) -> dict[str, Any]:
        """Read what is new."""
        news = self._store.news(self._id, len(self.course.rows), self._waiting)
        if self._created and news.summary.created != self._created:  # deleted, and begun again under the same name
            self.course.clear()
            self._waiting.clear()
            news = self._store.news(self._id)
        self._created = news.summary.created
        for row in news.rows:
            (self._waiting.add if row.state == "pending" else self._waiting.discard)(row.number)
        self.course.put(map(cells.of_row, news.rows))
        self._set_up(news.setup)
        return {
            **of_summary(self._path, news.summary),
            "constraints": 0 if self._setup is None else self._setup.n_constraints,
            "noisy": self._setup is not None and self._setup.noisy,
            "times": {phase: cells.number(seconds) for phase, seconds in news.times.items()},
            "workers": _workers(news.meta),
            "diagnostics": self._diagnostics(news),
        }

    def points(self, numbers: Sequence[int]) -> PointTable:
        """Read the points of some trials."""
        rows = self._store.trials(self._id, numbers)
        units = np.array([row.unit for row in rows], dtype=float)
        if self._space is None or not len(rows):
            return PointTable.of_values([_unnamed(row.unit) for row in rows])
        return PointTable.of_units(self._space, units)

    def detail(self, number: int) -> dict[str, Any] | None:
        """Read one trial."""
        rows = self._store.trials(self._id, [number])
        return _detail(rows[0], self._space) if rows else None

    def _set_up(self, packed: bytes) -> None:
        """Find out what the run is; of a method of somebody else's at least the space."""
        if packed == self._packed:
            return
        self._packed, self._setup, self._space = packed, None, None
        try:
            content, arrays = packing.unpack(packed)
            saved: run_file.SavedSetup = plain.decode(content["setup"], run_file.SavedSetup, arrays, "setup")
            self._space = Space.from_manifest(saved.space)
            self._setup = run_file.decode_setup(content, arrays)
        except (BoidsError, KeyError, TypeError, ValueError):
            return  # the trials can be shown all the same

    def _diagnostics(self, news: RunNews) -> dict[str, Any]:
        if self._setup is None:
            return {}
        try:
            content, arrays = packing.unpack(news.state)
            algorithm = self._setup.algorithm
            said = algorithm.diagnostics(plain.decode(content, algorithm.State, arrays, "state"))
        except (BoidsError, KeyError, TypeError, ValueError):  # the state of another version of the method
            return {}
        return {name: kept for name, value in said.items() if (kept := _brief(value)) is not None}


def _brief(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        kept = [cells.number(item) for item in value]
        return kept if kept and len(kept) <= _LONGEST_LIST and None not in kept else None
    return value if isinstance(value, (str, bool)) else cells.number(value)


def _workers(meta: Mapping[str, Any]) -> int | None:
    """Return how many evaluations may be made at a time, if `boids run` has noted it."""
    try:
        placing = meta["fields"]["placing"]["fields"]
        return int(placing["workers"] or placing["batch"])
    except (KeyError, TypeError, ValueError):
        return None


def _detail(row: TrialRow, space: Space | None) -> dict[str, Any]:
    values = _unnamed(row.unit) if space is None else flat(space.decode(row.unit))
    return {
        "cells": dict(zip(cells.FIELDS, cells.of_row(row), strict=True)),
        "error": row.error,
        "constraints": None if row.constraints is None else [cells.number(value) for value in row.constraints],
        "noise_variance": cells.number(row.noise_variance),
        "names": list(values),
        "values": [shown(value) for value in values.values()],
    }


def shown(value: Any) -> Any:
    """Return a parameter's value as JSON has it."""
    return (
        value
        if isinstance(value, (bool, str))
        else cells.number(value)
        if cells.number(value) is not None
        else str(value)
    )


def _unnamed(unit: FloatArray) -> dict[str, Any]:
    return {f"u[{place}]": value for place, value in enumerate(unit.tolist())}
