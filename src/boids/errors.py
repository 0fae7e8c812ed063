"""Every exception that boids raises on purpose; one sentence each: expected, got, remedy."""

from collections.abc import Iterable
from typing import Any


class BoidsError(Exception):
    """Base of all errors that boids raises on purpose."""


class SpaceError(BoidsError, ValueError):
    """A search space, or a point of it, is not valid."""


class StoreError(BoidsError):
    """A saved run cannot be read or written."""


class BudgetExhausted(BoidsError):
    """`Optimizer.ask` was called after the last evaluation of the budget had been handed out."""


class SpaceExhausted(BudgetExhausted):
    """`Optimizer.ask` was called after every point of a finite space had been handed out."""


class MissingExtra(BoidsError, ImportError):
    """A feature needs an optional dependency that is not installed."""


class MethodError(BoidsError, ValueError):
    """A method's name or one of its options is not valid."""


class ProblemError(BoidsError, ValueError):
    """A benchmark problem's name, one of its options or a point given to it is not valid."""


class TellError(BoidsError, ValueError):
    """`Optimizer.tell` got a value that is not a number, or a trial that is not waiting for one."""


class InputError(BoidsError, ValueError):
    """Something that was written for boids, on the command line or in a file, is not valid."""


class EvaluationError(BoidsError):
    """An evaluation in another process raised, ended the process, or took too long."""


class WorkersGone(BoidsError):
    """There is nobody left who could evaluate: an executor is broken or shut down, a scheduler cannot be reached."""


class CommandError(BoidsError, ValueError):
    """An external program's command, one of its options, or a point that is to be handed to it is not valid."""


class ProgramError(EvaluationError):
    """An evaluation by an external program failed.

    Attributes
    ----------
    reason
        What happened, without a full stop.
    stderr
        The end of what the program wrote to standard error.
    folder
        Where the files of the evaluation are, as the user would write it; empty if they were not kept.
    """

    def __init__(self, reason: str, stderr: str = "", folder: str = "") -> None:
        super().__init__(reason, stderr, folder)  # all of it, so that it survives the way back from a worker process
        self.reason = reason
        self.stderr = stderr
        self.folder = folder

    def __str__(self) -> str:
        lines = self.stderr.strip().splitlines()
        said = f"; stderr ends with {shorten(lines[-1].strip())}" if lines else ""
        kept = f"; its files are in {self.folder}" if self.folder else ""
        return f"{self.reason}{said}{kept}."


def shorten(text: str, limit: int = 200) -> str:
    """Return a text for a message: quoted, without control characters, and cut."""
    return repr(text if len(text) <= limit else text[: limit - 1] + "…")


def shown(value: Any, limit: int = 80) -> str:
    """Return any object for a message: in one line, and cut."""
    try:
        text = " ".join(repr(value).split())
    except Exception:  # whatever a library's object does, or a list that is nested deeper than Python goes
        text = f"<{type(value).__name__}>"
    return text if len(text) <= limit else text[: limit - 1] + "…"


def did_you_mean(wrong: str, known: Iterable[str], otherwise: str) -> str:
    """Return a question that names the known word closest to a wrong one, or `otherwise` if none is close."""
    from difflib import get_close_matches  # only when something is wrong

    words = sorted(known)
    # Whoever writes "generations" means "search.generations".
    close = [word for word in words if word.rpartition(".")[2] == wrong]
    if not close:
        by_lower = {word.lower(): word for word in words}
        close = [by_lower[word] for word in get_close_matches(wrong.lower(), by_lower, n=1, cutoff=0.65)]
    return f"did you mean {' or '.join(map(repr, close))}?" if close else otherwise
