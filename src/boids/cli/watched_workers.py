"""Workers as a run on the command line sees them: a signal ends the wait, and the first failure is remembered."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Self, final

from boids.cli.failures import FirstFailure
from boids.cli.interrupts import Interrupts
from boids.errors import WorkersGone
from boids.workers import Evaluation, Workers


@final
class WatchedWorkers:
    """Workers, in the sense of `boids.workers.Workers`, around others, which are closed by whoever has made them."""

    def __init__(self, workers: Workers, interrupts: Interrupts, first_failure: FirstFailure) -> None:
        self._workers, self._interrupts, self._first_failure = workers, interrupts, first_failure

    @property
    def size(self) -> int:
        """How many evaluations can go on at the same time now."""
        with _explained():
            return self._workers.size

    def submit(self, key: int, params: Any) -> None:
        """Begin an evaluation, or queue it until a worker is free."""
        self._workers.submit(key, params)

    def wait(self, timeout: float | None = None) -> list[Evaluation]:
        """Return all evaluations that have ended; a signal ends the wait."""
        with _explained(), self._interrupts.window():
            ended = self._workers.wait(timeout)
        for evaluation in ended:
            if evaluation.error is not None:
                self._first_failure.take(evaluation.details)
        return ended

    def cancel(self) -> None:
        """Forget everything that was submitted; it is the end of the run, and must not be cut."""
        self._interrupts.disarm()
        self._workers.cancel()

    def close(self) -> None:
        """Leave the workers to whoever has made them."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


@contextmanager
def _explained() -> Iterator[None]:
    """Take workers where the function cannot be loaded for workers that are not there: the run can go on elsewhere."""
    try:
        yield
    except ValueError as error:
        raise WorkersGone(str(error)) from error
