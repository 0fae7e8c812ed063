"""News for one visitor: the first message says everything, every other one only what has changed since."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, final

from boids.dashboard.cells import columns
from boids.dashboard.library import Library
from boids.errors import BoidsError


@final
class Newsfeed:
    """What one visitor has been told, and what is new for them.

    Parameters
    ----------
    library
        The runs.
    keys
        Runs whose course is followed.
    """

    def __init__(self, library: Library, keys: Sequence[str]) -> None:
        self._library, self._keys = library, tuple(dict.fromkeys(keys))
        self._lines: dict[str, dict[str, Any]] | None = None
        self._remarks: list[str] = []
        self._facts: dict[str, dict[str, Any]] = {}
        self._seen: dict[str, tuple[int, int]] = {}

    def news(self) -> list[tuple[str, dict[str, Any]]]:
        """Return events with what is in them; none if nothing has changed."""
        return [*self._of_the_list(), *(event for key in self._keys for event in self._of_run(key))]

    def _of_the_list(self) -> Iterator[tuple[str, dict[str, Any]]]:
        lines, remarks = self._library.runs()
        before = self._lines
        changed = [line for key, line in lines.items() if before is None or before.get(key) != line]
        gone = [key for key in before or () if key not in lines]
        if before is None or changed or gone or remarks != self._remarks:
            yield "runs", {"all": before is None, "runs": changed, "gone": gone, "remarks": remarks}
        self._lines, self._remarks = lines, remarks

    def _of_run(self, key: str) -> Iterator[tuple[str, dict[str, Any]]]:
        try:
            run, facts = self._library.follow(key)
        except KeyError:
            facts, run = {"key": key, "trouble": "There is no such run; it may have been deleted."}, None
        except BoidsError as error:
            facts, run = {"key": key, "trouble": str(error)}, None
        if run is not None:
            course, seen = run.course, self._seen.get(key)
            now = course.birth, course.revision
            if seen != now:
                is_all = seen is None or seen[0] != course.birth
                rows = course.rows if is_all or seen is None else course.since(seen[1])
                yield "trials", {"key": key, "all": is_all, "columns": columns(rows)}
                self._seen[key] = now
        if facts != self._facts.get(key):
            yield "facts", facts
            self._facts[key] = facts


def as_event(name: str, content: Any) -> bytes:
    """Return an event as it is sent."""
    return f"event: {name}\ndata: {json.dumps(content, separators=(',', ':'), allow_nan=False)}\n\n".encode()
