"""All runs that can be found, and the courses of those that somebody looks at; unchanged files are not read again."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, final

from boids.bench import run_log
from boids.dashboard.course import FollowedRun
from boids.dashboard.listing import LIVE, of_log, of_summary
from boids.dashboard.logged_run import LoggedCourse
from boids.dashboard.places import Places
from boids.dashboard.stored_run import StoredCourse
from boids.errors import BoidsError, StoreError
from boids.store import Store

#: Seconds for which what was read is as good as new, for folders that are searched, and for files that did not change:
#: a process that has died leaves no other trace than its lock.
FRESH, SEARCH, RECHECK = 0.4, 3.0, 3.0
#: Courses that are kept in memory.
_MOST_COURSES = 16


@final
@dataclass
class _Shelf:
    """What a file said when it was last read."""

    looks: tuple[Any, ...] = ()
    read: float = -1e9
    lines: list[dict[str, Any]] = field(default_factory=list)
    remark: str = ""


@final
@dataclass
class _Followed:
    """A run that somebody looks at; its facts, or why there are none."""

    run: FollowedRun
    looks: tuple[Any, ...] = ()
    read: float = -1e9
    facts: dict[str, Any] = field(default_factory=dict)
    guard: threading.Lock = field(default_factory=threading.Lock)


@final
class Library:
    """The runs in some places; may be asked by several threads.

    Parameters
    ----------
    places
        Where to look.
    clock
        Gives seconds.
    """

    def __init__(self, places: Places, clock: Any = time.monotonic) -> None:
        self.places = places
        self._clock = clock
        self._guard = threading.Lock()
        self._stores: list[Path] = []
        self._logs: list[Path] = []
        self._searched = self._listed = -1e9
        self._shelves: dict[Path, _Shelf] = {}
        self._lines: dict[str, dict[str, Any]] = {}
        self._remarks: list[str] = []
        self._followed: OrderedDict[str, _Followed] = OrderedDict()

    def runs(self) -> tuple[dict[str, dict[str, Any]], list[str]]:
        """Return a line for each run by key, and a sentence for each file that cannot be read."""
        with self._guard:
            now = self._clock()
            if now - self._listed >= FRESH:
                self._list(now)
            return dict(self._lines), list(self._remarks)

    def follow(self, key: str) -> tuple[FollowedRun, dict[str, Any]]:
        """Return a run with its course up to date, and its other facts; a KeyError if there is no such run."""
        line = self.runs()[0].get(key)
        if line is None:
            raise KeyError(key)
        path = Path(line["place"])
        with self._guard:
            followed = self._followed.get(key)
            if followed is None:
                is_stored = line["kind"] == "store"
                followed = _Followed(StoredCourse(path, line["id"]) if is_stored else LoggedCourse(path))
                self._followed[key] = followed
            self._followed.move_to_end(key)
            while len(self._followed) > _MOST_COURSES:
                self._followed.popitem(last=False)
        with followed.guard:
            looks, now = _looks(path), self._clock()
            if looks != followed.looks or now - followed.read >= RECHECK:
                followed.facts = followed.run.refresh()
                followed.looks, followed.read = looks, now
            return followed.run, followed.facts

    def _list(self, now: float) -> None:
        if now - self._searched >= SEARCH:
            self._stores, self._logs = self.places.look()
            self._searched = now
        lines: dict[str, dict[str, Any]] = {}
        remarks = []
        for path in (*self._stores, *self._logs):
            shelf = self._shelves.setdefault(path, _Shelf())
            looks = _looks(path)
            if looks != shelf.looks or (now - shelf.read >= RECHECK and _may_change(shelf)):
                _read(path, shelf, is_store=path.suffix != run_log.SUFFIX)
                shelf.looks, shelf.read = looks, now
            lines |= {line["key"]: line for line in shelf.lines}
            remarks += [shelf.remark] * bool(shelf.remark)
        self._lines, self._remarks, self._listed = lines, remarks, self._clock()


def _may_change(shelf: _Shelf) -> bool:
    """Whether there may be news though the file is the same."""
    return bool(shelf.remark) or any(line["standing"] == LIVE for line in shelf.lines)


def _read(path: Path, shelf: _Shelf, *, is_store: bool) -> None:
    shelf.remark = ""
    try:
        if is_store:
            shelf.lines = [of_summary(path, run) for run in Store(path, timeout=2.0).runs()]
        else:
            found = run_log.glance(path)
            shelf.lines = [] if found is None else [of_log(path, found)]
    except (BoidsError, OSError, KeyError, TypeError, ValueError) as error:
        # What was read before stays in sight; the page says what is wrong.
        said = str(error) if isinstance(error, StoreError) else f"The file {str(path)!r} cannot be read: {error!r}."
        shelf.remark = said


def _looks(path: Path) -> tuple[Any, ...]:
    """Return what changes if a file does, or the log beside it."""
    found: list[Any] = []
    for each in (path, Path(f"{path}-wal")):
        try:
            stat = each.stat()
            found += [stat.st_ino, stat.st_size, stat.st_mtime_ns]
        except OSError:
            found.append(None)
    return tuple(found)
