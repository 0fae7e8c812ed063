"""The file of one run of an experiment: append-only JSON lines, which are all that an analysis needs to know.

The first line is the header, with the key ``boids_run`` (the version of the format) and everything that decides the
run. Every further line is an evaluation, with the key ``n``, or an event, with the key ``event``. `docs/bench.md`
lists the fields. A line is written as a whole: what is left of one after a crash has no newline and is cut off by
whoever goes on with the run, and left out by whoever reads it.

While a run is carried out its file is locked, so that two processes never write to it; reading is always possible.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self, final

from boids.errors import StoreError
from boids.store import locks

#: Version of the format.
FORMAT = 1
#: How the names of the files end.
SUFFIX = ".jsonl"
#: Bytes at the end of a file to look at first.
_TAIL = 1 << 15
#: A point as `OpenRun.append` writes it. In a text of JSON the quotes would have backslashes before them.
_POINT = re.compile(rb',"x":\[[^\[\]]*\]')


@final
@dataclass(frozen=True)
class RunLog:
    """What a file holds.

    Attributes
    ----------
    header
        The first line.
    evaluations
        The evaluations in their order: n = 1, 2, …
    events
        The other lines.
    """

    header: Mapping[str, Any]
    evaluations: list[dict[str, Any]] = field(default_factory=list)
    events: list[dict[str, Any]] = field(default_factory=list)

    @property
    def status(self) -> str:
        """How the run stands: "budget", "time limit" or another reason of its end; "error"; "unfinished"."""
        return _status(self.events[-1] if self.events else None)

    @property
    def seconds(self) -> float:
        """Wall time of the run so far, without breaks."""
        return float(sum(sum(row["times"].values()) for row in self.evaluations))


def read(path: str | os.PathLike[str]) -> RunLog:
    """Return what a run has found so far, also while it is carried out."""
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise StoreError(f"The run {os.fspath(path)!r} cannot be read: {error.strerror}.") from error
    log = parse(content, path)
    if log is None:
        raise StoreError(f"The run {os.fspath(path)!r} has no header yet; it was interrupted before it began.")
    return log


def parse(content: bytes, path: str | os.PathLike[str], *, points: bool = True) -> RunLog | None:
    """Return what the whole lines of a file say, None if there is none.

    Without `points`, the evaluations have no ``x``, which is most of a file: reading is several times as fast.
    """
    lines = content[: content.rfind(b"\n") + 1].splitlines()
    if not lines:
        return None
    if not points:
        lines[1:] = [_POINT.sub(b"", line, count=1) for line in lines[1:]]
    try:
        header, *rest = (json.loads(line) for line in lines)
        if header["boids_run"] != FORMAT:
            raise StoreError(
                f"The run {os.fspath(path)!r} has the format {header['boids_run']}, but this boids reads {FORMAT}."
            )
        log = RunLog(header)
        for row in rest:
            (log.events if "event" in row else log.evaluations).append(row)
        if [row["n"] for row in log.evaluations] != list(range(1, len(log.evaluations) + 1)):
            raise ValueError("its evaluations are not numbered 1, 2, …")
        if any("times" not in row for row in log.evaluations):
            raise ValueError("an evaluation has no times")
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise StoreError(f"The run {os.fspath(path)!r} is damaged, or no run of an experiment: {error}.") from error
    return log


@final
@dataclass(frozen=True)
class Glance:
    """What the beginning and the end of a file say.

    Attributes
    ----------
    header
        The first line.
    status
        As that of a `RunLog`.
    evaluations
        How many have been made.
    best
        The best value, None if there is none.
    last
        The last line.
    """

    header: Mapping[str, Any]
    status: str
    evaluations: int
    best: float | None
    last: Mapping[str, Any]


def glance(path: str | os.PathLike[str]) -> Glance | None:
    """Look at the beginning and the end of a file, however long it is; None if there is nothing in it."""
    try:
        with open(path, "rb") as file:
            first, size = file.readline(), file.seek(0, os.SEEK_END)
            if not first.endswith(b"\n"):
                return None
            span = _TAIL
            while True:  # until an evaluation is in sight, or all of the file
                begin = max(len(first), size - span)
                file.seek(begin)
                lines = file.read(size - begin).split(b"\n")[begin > len(first) : -1]
                rows = [json.loads(line) for line in lines]
                evaluation = next((row for row in reversed(rows) if "event" not in row), None)
                if evaluation is not None or begin == len(first):
                    break
                span *= 4
            header = json.loads(first)
            last, found = rows[-1] if rows else header, evaluation or {"n": 0, "best": None}
            return Glance(header, _status(last), int(found["n"]), found["best"], last)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StoreError(f"The run {os.fspath(path)!r} cannot be read: {error.strerror}.") from error
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise StoreError(f"The run {os.fspath(path)!r} is damaged, or no run of an experiment: {error}.") from error


def _status(last: Mapping[str, Any] | None) -> str:
    """Return how a run stands whose last event, or last line, is this one."""
    event = None if last is None else last.get("event")
    if event == "end" and last is not None:
        return str(last["status"])
    return "error" if event == "error" else "unfinished"


class RunTaken(StoreError):
    """Another process carries out the run."""


@final
class OpenRun:
    """The file of a run that this process carries out; a context manager.

    Attributes
    ----------
    log
        What the file had in it when it was opened, None if nothing; not kept up to date.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        # One descriptor for everything: closing any other of this file would drop the lock.
        self._descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o666)
        try:
            if not locks.lock(self._descriptor, 0):
                raise RunTaken(f"The run {os.fspath(path)!r} is carried out by another process.")
            content = self._content()
            self.log = parse(content, path)
            whole = content.rfind(b"\n") + 1
            if whole < len(content):
                os.ftruncate(self._descriptor, whole)
            os.lseek(self._descriptor, 0, os.SEEK_END)
        except BaseException:
            os.close(self._descriptor)
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._descriptor)

    def append(self, row: Mapping[str, Any]) -> None:
        """Write a line."""
        line = json.dumps(row, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode() + b"\n"
        while line:  # a full disk or a signal may cut a write short
            line = line[os.write(self._descriptor, line) :]

    def _content(self) -> bytes:
        parts = []
        while part := os.read(self._descriptor, 1 << 20):
            parts.append(part)
        return b"".join(parts)
