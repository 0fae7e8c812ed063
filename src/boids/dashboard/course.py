"""The course of a run: what is known of it so far, with a number for every change, so that only news travel."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, final

from boids.dashboard.cells import Cells
from boids.dashboard.points import PointTable


@final
@dataclass
class Course:
    """Trials by number, and when each of them changed last.

    Attributes
    ----------
    rows
        The cells of each trial.
    revision
        Counts the changes.
    birth
        Changes when all that was known before is void: another run is kept under the same name.
    """

    rows: list[Cells] = field(default_factory=list)
    revision: int = 0
    birth: int = 0
    _changed: list[int] = field(default_factory=list)

    def put(self, rows: Iterable[Cells]) -> None:
        """Take in new or changed trials."""
        for row in rows:
            place = row[0]
            if place < len(self.rows):
                if self.rows[place] == row:
                    continue
                self.revision += 1
                self.rows[place], self._changed[place] = row, self.revision
            else:
                self.revision += 1
                self.rows.append(row)
                self._changed.append(self.revision)

    def since(self, revision: int) -> list[Cells]:
        """Return the trials that have changed since."""
        if revision == self.revision:
            return []
        return [row for row, changed in zip(self.rows, self._changed, strict=True) if changed > revision]

    def clear(self) -> None:
        """Forget everything."""
        self.rows, self._changed, self.birth = [], [], self.birth + 1


class FollowedRun(Protocol):
    """A run that somebody looks at, wherever it is kept."""

    course: Course

    def refresh(self) -> dict[str, Any]:
        """Bring the course up to date, and return the other facts of the run, JSON-able."""

    def points(self, numbers: Sequence[int]) -> PointTable:
        """Return the points of some trials."""

    def detail(self, number: int) -> dict[str, Any] | None:
        """Return all that is known of one trial, JSON-able; None if there is no such trial."""
