"""What all workers have in common: how one evaluation ended, and what can be asked of those who make them."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Protocol, Self, final

from boids.isolation.worker import Answer


@final
@dataclass(frozen=True, slots=True)
class Evaluation:
    """How one evaluation ended.

    Attributes
    ----------
    key
        What was given to `Workers.submit`.
    value
        What the function returned.
    error
        Why the evaluation failed, in a sentence; None if the function returned.
    details
        A traceback for people, if there is one.
    lost
        The worker has vanished, and nothing is known of the function itself; `error` says what happened.
    seconds
        How long the evaluation took, measured where it took place if possible.
    worker
        The worker's name for people, e.g. "process 1234".
    """

    key: int
    value: Any = None
    error: str | None = None
    details: str = ""
    lost: bool = False
    seconds: float = 0.0
    worker: str = ""

    @classmethod
    def of(cls, key: int, answer: Answer, worker: str) -> Evaluation:
        """Return the evaluation that a worker has answered."""
        if answer.returned:
            return cls(key, answer.value, seconds=answer.seconds, worker=worker)
        return cls(key, error=answer.value, details=answer.details, seconds=answer.seconds, worker=worker)


class Workers(Protocol):
    """Evaluations of one function in other places, several at a time; for use from one thread.

    A context manager: leaving it closes the workers.
    """

    @property
    def size(self) -> int:
        """How many evaluations can go on at the same time now; it may change, and be 0 for a while."""

    def submit(self, key: int, params: Any) -> None:
        """Begin an evaluation, or queue it until a worker is free; the key is for the caller to know it by."""

    def wait(self, timeout: float | None = None) -> list[Evaluation]:
        """Return all evaluations that have ended, by key; wait for one if need be, but not longer than `timeout`.

        The list is empty after the timeout, and if nothing was submitted. Ctrl-C ends the wait and does no harm.
        """

    def cancel(self) -> None:
        """Forget everything that was submitted; what is running is ended where possible, or else goes on in vain."""

    def close(self) -> None:
        """Forget everything and give the workers back; nothing happens the second time."""

    def __enter__(self) -> Self:
        """Return the workers."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the workers."""


@final
class Deadline:
    """A moment that may be given as None, for never."""

    def __init__(self, seconds: float | None) -> None:
        self._at = math.inf if seconds is None else time.monotonic() + seconds

    @property
    def left(self) -> float:
        """Seconds until then, not below 0."""
        return max(0.0, self._at - time.monotonic())
