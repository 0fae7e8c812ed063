"""Why evaluations failed: the reasons by how often they occurred, and where the first failure comes from."""

from __future__ import annotations

import re
import traceback
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, final

from boids.errors import ProgramError
from boids.records import Trial

#: Begins the end of a program's error, which is different for every evaluation.
_FILES = "; its files are in "
#: A frame of boids itself, wherever it is installed.
_OWN = re.compile(r'  File "[^"]*[/\\]boids[/\\](isolation|workers|cli)[/\\]')
#: Stands in the traceback of a program's failure, whose files tell more.
_PROGRAM = re.compile(r"^boids\.errors\.ProgramError", re.MULTILINE)
_NUMBER = re.compile(r"0x[0-9a-fA-F]+|[-+]?\d+(\.\d*)?([eE][-+]?\d+)?")


@final
@dataclass(frozen=True)
class Reason:
    """A reason for failures.

    Attributes
    ----------
    text
        In the words of the first failure.
    count
        How many evaluations failed for it.
    folder
        Where the files of the first one are; empty if there are none.
    """

    text: str
    count: int
    folder: str = ""


def reasons(trials: Iterable[Trial]) -> list[Reason]:
    """Return the reasons of all failures, the most frequent first; what differs only in numbers is one reason."""
    found: dict[str, Reason] = {}
    for trial in trials:
        if not trial.failed:
            continue
        head, has_files, tail = (trial.error or "").rpartition(_FILES)
        text, folder = (f"{head}.", tail.removesuffix(".")) if has_files else (tail, "")
        kind = _NUMBER.sub("#", text)
        first = found.get(kind) or Reason(text, 0, folder)
        found[kind] = Reason(first.text, first.count + 1, first.folder)
    return sorted(found.values(), key=lambda reason: -reason.count)


@final
class FirstFailure:
    """Remembers where the first failure comes from, for a run in which nothing succeeds.

    Attributes
    ----------
    traceback
        Of the function's exception, from the function on; None if there was none, or if files tell more.
    """

    def __init__(self) -> None:
        self.traceback: str | None = None
        self._is_first = True

    def watch(self, fun: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """Return the objective, watched."""

        def watched(x: Any) -> Any:
            try:
                return fun(x)
            except (Exception, SystemExit) as error:
                if self._is_first:
                    self.traceback = _traceback(error)
                self._is_first = False
                raise

        return watched

    def take(self, details: str) -> None:
        """Take note of a failure elsewhere, of which there is a traceback as text, or none."""
        if self._is_first and details and not _PROGRAM.search(details):
            self.traceback = _from_the_function_on(details)
        self._is_first = False


def _traceback(error: BaseException) -> str | None:
    """Return where an exception comes from, without the frame that called the function."""
    if isinstance(error, ProgramError):
        return None
    if notes := getattr(error, "__notes__", []):  # those of another process
        return "\n".join(notes)
    begin = None if error.__traceback__ is None else error.__traceback__.tb_next
    return "".join(traceback.format_exception(type(error), error, begin)).rstrip()


def _from_the_function_on(details: str) -> str:
    """Return the text of a traceback without the frames of boids that called the function."""
    head, *frames = re.split(r'^(?=  File ")', details.rstrip(), flags=re.MULTILINE)
    own = next((i for i, frame in enumerate(frames) if not _OWN.match(frame)), 0)
    return "".join([head, *frames[own:]])
