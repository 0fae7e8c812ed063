"""Follow a run of an experiment, a file of JSON lines to which lines are only ever added."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, final

from boids.bench import run_log
from boids.dashboard import cells
from boids.dashboard.course import Course
from boids.dashboard.listing import of_log
from boids.dashboard.points import PointTable, flat
from boids.dashboard.stored_run import shown
from boids.errors import StoreError


@final
class LoggedCourse:
    """A run of an experiment, of whose file only the new lines are read.

    Attributes
    ----------
    course
        Its evaluations.
    """

    def __init__(self, path: Path) -> None:
        self.course = Course()
        self._path = path
        self._begin_anew()

    def _begin_anew(self) -> None:
        self._read = 0
        self._inode = 0
        self._clock = 0.0
        self._times: dict[str, float] = {}
        self._header: Mapping[str, Any] = {}
        self._lines: list[tuple[int, int]] = []  # where the evaluations are in the file: offset and length

    def refresh(self) -> dict[str, Any]:
        """Read the lines that are new."""
        try:
            self._read_on()
        except OSError as error:
            raise StoreError(f"The run {str(self._path)!r} cannot be read: {error.strerror}.") from error
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise StoreError(f"The run {str(self._path)!r} is damaged: {error}.") from error
        found = run_log.glance(self._path)
        if found is None:
            raise StoreError(f"The run {str(self._path)!r} has just begun; there is nothing in it yet.")
        return {
            **of_log(self._path, found),
            "failed": sum(row[1] == "failed" for row in self.course.rows),
            "constraints": int(self._header.get("problem", {}).get("constraints") or 0),
            "noisy": bool(self._header.get("problem", {}).get("noisy")),
            "times": {phase: round(seconds, 6) for phase, seconds in self._times.items()},
            "workers": 1,
            "diagnostics": {},
        }

    def points(self, numbers: Sequence[int]) -> PointTable:
        """Read the points of some evaluations."""
        return PointTable.of_values([flat(self._evaluation(number)["x"]) for number in sorted(set(numbers))])

    def detail(self, number: int) -> dict[str, Any] | None:
        """Read one evaluation."""
        if not 0 <= number < len(self._lines):
            return None
        row = self._evaluation(number)
        values = flat(row["x"])
        constraints = row.get("constraints")
        return {
            "cells": dict(zip(cells.FIELDS, self.course.rows[number], strict=True)),
            "error": row.get("error"),
            "constraints": None if constraints is None else [cells.number(value) for value in constraints],
            "noise_variance": None,
            "names": list(values),
            "values": [shown(value) for value in values.values()],
        }

    def _read_on(self) -> None:
        with open(self._path, "rb") as file:
            found = self._path.stat()
            if found.st_size < self._read or (self._inode and found.st_ino != self._inode):  # begun anew
                self.course.clear()
                self._begin_anew()
            self._inode = found.st_ino
            file.seek(self._read)
            content = file.read()
        fresh = []
        for line in content[: content.rfind(b"\n") + 1].splitlines(keepends=True):
            row = json.loads(line)
            if not self._read:
                self._header = row
            elif "event" in row:
                if row["event"] in ("begun", "resumed"):
                    self._clock = max(self._clock, datetime.fromisoformat(str(row["at"])).timestamp())
            else:
                fresh.append(self._taken(row))
                self._lines.append((self._read, len(line)))
            self._read += len(line)
        self.course.put(fresh)

    def _taken(self, row: Mapping[str, Any]) -> cells.Cells:
        for phase, seconds in row["times"].items():
            self._times[phase] = self._times.get(phase, 0.0) + float(seconds)
            self._clock += float(seconds)
        return cells.of_evaluation(row, self._clock)

    def _evaluation(self, number: int) -> dict[str, Any]:
        begin, length = self._lines[number]
        with open(self._path, "rb") as file:
            file.seek(begin)
            row: dict[str, Any] = json.loads(file.read(length))
        return row
