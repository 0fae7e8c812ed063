"""Evaluations in processes of this machine, which take any function and outlive whatever it does.

Each worker has a keeper, see `boids.isolation.keeper`; the caller waits for all of their connections at once and needs
no threads.
"""

from __future__ import annotations

import math
import time
import weakref
from collections import deque
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Any, Self, final

from boids.errors import WorkersGone, shown
from boids.isolation.host import Host, StartMethod, checked_start_method, checked_timeout, make_host
from boids.isolation.worker import Function, describe_ending, receive
from boids.values import positive_int
from boids.workers.evaluation import Deadline, Evaluation

#: Bytes that a worker's memory may grow after its first evaluation; if it has doubled too, the worker is replaced.
MEMORY_GROWTH = 2**30

#: More processes than this are a slip of the finger, and the end of most machines.
MOST_PROCESSES = 1000
#: Seconds to wait at a time: the system's calls count in milliseconds, and not beyond 2^31 of them.
_LONGEST_WAIT = 86400.0
#: How often to hand over a point to a worker that turns out to be dead.
_TRIES = 3


@dataclass(slots=True, eq=False)
class _Slot:
    """A worker and what it is doing: `key` is None while it is idle."""

    host: Host
    key: int | None = None
    connection: Connection[Any, Any] | None = None
    begun: float = 0.0
    first_memory: int = 0  # of the present process, after its first evaluation; 0 before that


@final
class ProcessWorkers:
    """Evaluations in `count` processes of this machine.

    A function that crashes its process, ends it or takes too long fails that evaluation, and the worker is replaced,
    as is one whose memory has grown out of bounds. Every evaluation begins in the folder in which the workers were
    made. What a function prints goes where the caller's output goes; everything it has started ends with its process.

    Parameters
    ----------
    fun
        The objective. What it returns must be something that `multiprocessing` can pass on.
    count
        The number of processes.
    timeout
        Seconds that an evaluation may take; None is no limit.
    start_method
        "fork", the default where the system has it, takes any function; see `boids.isolation.isolate`.
    memory_growth
        A worker that has grown by more than so many bytes, and to more than twice its size, is replaced.
    """

    def __init__(
        self,
        fun: Function,
        count: int,
        *,
        timeout: float | None = None,
        start_method: StartMethod | None = None,
        memory_growth: int = MEMORY_GROWTH,
    ) -> None:
        if not callable(fun):
            raise ValueError(f"fun must be callable, got {fun!r}.")
        self._count = positive_int(count, "n_workers")
        if self._count > MOST_PROCESSES:
            raise ValueError(f"n_workers must be at most {MOST_PROCESSES} on one machine, got {shown(count)}.")
        self._timeout = checked_timeout(timeout)
        self._memory_growth = memory_growth
        method = checked_start_method(start_method)
        hosts: list[Host] = []
        self._finalizer = weakref.finalize(self, _end_all, hosts)  # also when the interpreter exits
        try:
            for _ in range(self._count):  # all keepers before the first worker: they have no more than they need
                hosts.append(make_host(fun, method, is_one_of_many=True))
            for host in hosts:
                host.start()
            for host in hosts:
                host.connect()
        except BaseException:
            self._finalizer()
            raise
        self._slots = [_Slot(host) for host in hosts]
        self._queue: deque[tuple[int, Any]] = deque()
        self._ended: list[Evaluation] = []

    @property
    def size(self) -> int:
        """The number of processes."""
        return self._count

    def submit(self, key: int, params: Any) -> None:
        """Begin an evaluation, or queue it until a process is free."""
        if not self._finalizer.alive:
            raise WorkersGone("These workers have been closed; make new ones.")
        self._queue.append((key, params))
        self._begin_queued()

    def wait(self, timeout: float | None = None) -> list[Evaluation]:
        """Return all evaluations that have ended, by key; see `Workers`."""
        deadline = Deadline(timeout)
        while True:
            self._begin_queued()
            busy = [slot for slot in self._slots if slot.key is not None]
            left = 0.0 if self._ended or not busy else min(deadline.left, self._until_overdue(busy))
            ready = _ready(busy, min(left, _LONGEST_WAIT))
            for slot in busy:
                if slot.connection in ready or slot.host.sentinel in ready:
                    self._collect(slot, has_answered=slot.connection in ready)
            self._end_overdue()
            self._begin_queued()
            if self._ended or not busy or deadline.left == 0.0:
                ended, self._ended = sorted(self._ended, key=lambda each: each.key), []
                return ended

    def cancel(self) -> None:
        """Forget everything that was submitted, and end the processes that are at it."""
        self._queue.clear()
        self._ended.clear()
        busy = [slot for slot in self._slots if slot.key is not None]
        for slot in busy:
            slot.host.begin_to_end()
        for slot in busy:
            self._end(slot)

    def close(self) -> None:
        """End all processes; nothing happens the second time."""
        self._queue.clear()
        self._ended.clear()
        self._finalizer()
        for slot in self._slots:
            slot.key = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _begin_queued(self) -> None:
        for slot in self._slots:
            if not self._queue:
                return
            if slot.key is None:
                self._begin(slot, *self._queue.popleft())

    def _begin(self, slot: _Slot, key: int, params: Any) -> None:
        for _ in range(_TRIES):
            connection = slot.host.connect()
            if connection is not slot.connection:
                slot.connection, slot.first_memory = connection, 0
            slot.key, slot.begun = key, time.monotonic()
            try:
                connection.send(params)
            except OSError:  # died just now, before the function was called
                self._end(slot)
            else:
                return
        error = "The process of the evaluation could not be started."
        self._ended.append(Evaluation(key, error=error, lost=True))

    def _collect(self, slot: _Slot, has_answered: bool) -> None:
        """Take the answer of a worker, or find out how it died."""
        key, connection = slot.key, slot.connection
        if key is None or connection is None:
            return
        try:
            if not has_answered:  # dead, while something that it has started holds its end of the connection
                raise EOFError
            answer = receive(connection)
        except (EOFError, OSError):
            seconds, code = time.monotonic() - slot.begun, self._end(slot)
            error = f"The process of the evaluation {describe_ending(code)}."
            self._ended.append(Evaluation(key, error=error, lost=code is None, seconds=seconds, worker=_name(slot)))
            return
        except BaseException:  # interrupted in the middle of the answer
            error = "The answer of the evaluation was interrupted."
            self._ended.append(Evaluation(key, error=error, lost=True, worker=_name(slot)))
            self._end(slot)
            raise
        slot.key = None
        slot.host.pid = answer.pid or slot.host.pid
        self._ended.append(Evaluation.of(key, answer, _name(slot)))
        slot.first_memory = slot.first_memory or answer.memory
        if answer.memory > max(2 * slot.first_memory, slot.first_memory + self._memory_growth):
            self._end(slot)

    def _until_overdue(self, busy: list[_Slot]) -> float:
        if self._timeout is None:
            return math.inf
        return max(0.0, min(slot.begun for slot in busy) + self._timeout - time.monotonic())

    def _end_overdue(self) -> None:
        if self._timeout is None:
            return
        now = time.monotonic()
        overdue = [slot for slot in self._slots if slot.key is not None and now - slot.begun >= self._timeout]
        for slot in overdue:
            slot.host.begin_to_end()
        for slot in overdue:
            if slot.key is not None:
                error = f"The evaluation took longer than {self._timeout:g} s and was ended."
                key, seconds = slot.key, now - slot.begun
                self._end(slot)
                self._ended.append(Evaluation(key, error=error, seconds=seconds, worker=_name(slot)))

    def _end(self, slot: _Slot) -> int | None:
        """End the process of a worker, and return its exit code; the next evaluation gets a new one."""
        slot.key = slot.connection = None
        return slot.host.end()


def _ready(busy: list[_Slot], timeout: float) -> list[Any]:
    signs = [sign for slot in busy for sign in (slot.connection, slot.host.sentinel) if sign is not None]
    return wait(signs, timeout) if signs else []


def _name(slot: _Slot) -> str:
    return f"process {slot.host.pid}" if slot.host.pid else ""


def _end_all(hosts: list[Host]) -> None:
    for host in hosts:
        host.begin_to_end()
    for host in hosts:
        host.stop()
        host.close()
