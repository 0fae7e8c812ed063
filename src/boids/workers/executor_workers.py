"""Evaluations by any executor in the style of `concurrent.futures`: pools of processes or threads, loky, mpi4py."""

from __future__ import annotations

import math
import socket
import threading
import time
from collections import deque
from concurrent.futures import BrokenExecutor, CancelledError, ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from multiprocessing.reduction import ForkingPickler
from queue import Empty, SimpleQueue
from typing import Any, Self, final

from boids.errors import WorkersGone, shown
from boids.isolation.host import checked_timeout
from boids.isolation.worker import Answer, Function, call, refused
from boids.values import describe_error, positive_int
from boids.workers.evaluation import Deadline, Evaluation

#: Seconds to wait at a time, where the system would not let Ctrl-C through.
_LONGEST_WAIT = 3600.0


def evaluate(fun: Function, params: Any) -> tuple[Answer, str]:
    """Call the function where the executor wants it, and return what came of it and the worker's name: plain data."""
    answer = call(fun, params)
    try:
        ForkingPickler.dumps(answer.value)  # or the executor would fail, and nobody knew why
    except Exception as error:
        answer = refused(answer, error)
    thread = threading.current_thread()
    where = "" if thread is threading.main_thread() else f", thread {thread.name}"
    return answer, f"process {answer.pid} on {socket.gethostname()}{where}"


@dataclass(slots=True, eq=False)
class _Task:
    """An evaluation that the executor has; `is_dropped` if nobody waits for it any more."""

    key: int
    params: Any
    future: Any
    begun: float
    is_dropped: bool = False


@final
class ExecutorWorkers:
    """Evaluations by an executor that belongs to the caller, and is never shut down here.

    Parameters
    ----------
    executor
        Anything with ``submit(function, *arguments)`` that returns a future.
    fun
        The objective; for an executor of processes it must be at the top level of a module, as must what it returns.
    count
        How many evaluations to have there at a time; None asks the executor for its number of workers.
    timeout
        Seconds after which an evaluation counts as failed; None is no limit. The executor cannot end it, so it
        occupies its worker until it returns.
    """

    def __init__(self, executor: Any, fun: Function, count: int | None = None, *, timeout: float | None = None) -> None:
        if not callable(getattr(executor, "submit", None)):
            raise ValueError(f"executor must have a method submit(function, *arguments), got {shown(executor)}.")
        if not callable(fun):
            raise ValueError(f"fun must be callable, got {fun!r}.")
        self._count = _own_count(executor) if count is None else positive_int(count, "n_workers")
        self._timeout = checked_timeout(timeout)
        self._executor, self._fun = executor, fun
        if isinstance(executor, ProcessPoolExecutor):
            self._check_sendable()
        self._queue: deque[tuple[int, Any]] = deque()
        self._tasks: dict[int, _Task] = {}
        self._n_submitted = 0
        self._done: SimpleQueue[int] = SimpleQueue()
        self._ended: list[Evaluation] = []
        self._gone: str | None = None

    @property
    def size(self) -> int:
        """How many evaluations can go on at the same time; fewer while some that were given up go on in vain."""
        self._collect(0.0)
        return max(0, self._count - sum(task.is_dropped for task in self._tasks.values()))

    def submit(self, key: int, params: Any) -> None:
        """Hand an evaluation to the executor, or queue it until one of its workers is free."""
        if self._gone is not None:
            raise WorkersGone(self._gone)
        self._queue.append((key, params))
        self._begin_queued()

    def wait(self, timeout: float | None = None) -> list[Evaluation]:
        """Return all evaluations that have ended, by key; see `Workers`."""
        deadline = Deadline(timeout)
        while True:
            self._begin_queued()
            waiting = bool(self._queue) or any(not task.is_dropped for task in self._tasks.values())
            left = 0.0 if self._ended or not waiting else min(deadline.left, self._until_overdue())
            self._collect(min(left, _LONGEST_WAIT))
            self._drop_overdue()
            self._begin_queued()
            if self._ended or not waiting or deadline.left == 0.0:
                ended, self._ended = sorted(self._ended, key=lambda each: each.key), []
                return ended
            self._check_for_hope()

    def cancel(self) -> None:
        """Forget everything that was submitted; what is running goes on in vain."""
        self._queue.clear()
        self._ended.clear()
        for number, task in list(self._tasks.items()):
            task.is_dropped = True
            if task.future.cancel():
                self._tasks.pop(number, None)

    def close(self) -> None:
        """Forget everything that was submitted; the executor stays as it is."""
        self.cancel()
        self._gone = self._gone or "These workers have been closed; make new ones."

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _begin_queued(self) -> None:
        # No more than there are workers, for the time of an evaluation would begin in the executor's queue.
        while self._queue and len(self._tasks) < self._count and self._gone is None:
            key, params = self._queue.popleft()
            try:
                future = self._executor.submit(evaluate, self._fun, params)
            except Exception as error:
                self._queue.appendleft((key, params))
                if not isinstance(error, (BrokenExecutor, RuntimeError)):
                    self._check_sendable()
                self._gone = f"The executor takes no more evaluations ({describe_error(error)}); give a new one."
                break
            number = self._n_submitted
            self._n_submitted += 1
            self._tasks[number] = _Task(key, params, future, time.monotonic())
            future.add_done_callback(partial(_put, self._done, number))
        if self._queue and self._gone is not None and not self._tasks and not self._ended:
            raise WorkersGone(self._gone)

    def _collect(self, timeout: float) -> None:
        """Wait until a future is done, and take all that are."""
        try:
            number = self._done.get(timeout=timeout) if timeout > 0.0 else self._done.get_nowait()
            while True:
                task = self._tasks.pop(number, None)
                if task is not None and not task.is_dropped:
                    self._ended.append(self._evaluation(task))
                number = self._done.get_nowait()
        except Empty:
            return

    def _evaluation(self, task: _Task) -> Evaluation:
        try:
            answer, worker = task.future.result()
        except CancelledError:
            error = "The executor has cancelled the evaluation."
        except BrokenExecutor as broken:
            error = f"The executor broke during the evaluation ({describe_error(broken)})."
            self._gone = f"The executor is broken ({describe_error(broken)}); give a new one."
        except BaseException as unknown:  # not the function's, which come as answers
            self._check_sendable()
            error = f"The executor could not make the evaluation ({describe_error(unknown)})."
        else:
            if answer.interrupted:  # Ctrl-C reaches the processes of a pool too
                error = "The evaluation was interrupted."
            else:
                return Evaluation.of(task.key, answer, worker)
        return Evaluation(task.key, error=error, lost=True, seconds=time.monotonic() - task.begun)

    def _until_overdue(self) -> float:
        begun = [task.begun for task in self._tasks.values() if not task.is_dropped]
        if self._timeout is None or not (begun or self._tasks):
            return math.inf
        # If all workers are busy in vain: until there is no hope that one comes back.
        since = min(begun) if begun else max(task.begun for task in self._tasks.values()) + self._timeout
        return max(0.0, since + self._timeout - time.monotonic())

    def _drop_overdue(self) -> None:
        if self._timeout is None:
            return
        now = time.monotonic()
        for number, task in list(self._tasks.items()):
            if task.is_dropped or now - task.begun < self._timeout or task.future.done():
                continue
            if task.future.cancel():  # it had not even begun, for the executor has other things to do
                self._tasks.pop(number, None)
                self._queue.appendleft((task.key, task.params))
                continue
            task.is_dropped = True
            error = (
                f"The evaluation took longer than {self._timeout:g} s; the executor cannot end it, so its worker stays "
                "busy until it returns."
            )
            self._ended.append(Evaluation(task.key, error=error, seconds=now - task.begun))

    def _check_for_hope(self) -> None:
        """Raise an error if all workers are busy with evaluations that were given up, for longer than is reasonable."""
        if self._timeout is None or self.size > 0:
            return
        if time.monotonic() - max(task.begun for task in self._tasks.values()) >= 2.0 * self._timeout:
            raise WorkersGone(
                f"All {self._count} workers of the executor are still busy with evaluations that have taken longer "
                f"than twice the limit of {self._timeout:g} s; end them, and give a new executor."
            )

    def _check_sendable(self) -> None:
        try:
            ForkingPickler.dumps(self._fun)
        except Exception as error:
            raise ValueError(
                f"fun cannot be sent to the executor's workers ({describe_error(error)}); define it at the top level "
                "of a module, or use n_workers=…, which takes any function."
            ) from None


def _own_count(executor: Any) -> int:
    for name in ("_max_workers", "num_workers"):  # the latter is mpi4py's
        count = getattr(executor, name, None)
        if isinstance(count, int) and count > 0:
            return count
    raise ValueError(f"How many workers {shown(executor)} has is not known; say it with n_workers.")


def _put(done: SimpleQueue[int], number: int, _: Any) -> None:
    done.put(number)
