"""Evaluations on a Dask cluster, whose workers come and go, and which must not repeat one on its own account.

Dask runs the tasks of a dead worker again elsewhere. Here a task is tied to one worker, and to its process: when that
is gone, the evaluation is reported as lost, and whoever has submitted it decides. Nothing of the scheduler's settings,
which others depend on, is changed.
"""

from __future__ import annotations

import math
import time
from collections import Counter, deque
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Any, Self, final

from boids.errors import WorkersGone
from boids.isolation.host import checked_timeout
from boids.isolation.worker import Answer, Function
from boids.values import describe_error, positive_int, real_number
from boids.workers.dask_link import CANCELLED, Link, Machine, News, find_scheduler
from boids.workers.dask_task import serialise
from boids.workers.evaluation import Deadline, Evaluation

#: Seconds to wait for a scheduler that is gone.
PATIENCE = 300.0

#: Seconds for the first connection, and for each attempt to connect again, also if the caller has less time.
_FIRST_ATTEMPT, _ATTEMPT, _SHORTEST_ATTEMPT = 30.0, 3.0, 1.0
#: Seconds between two looks at the connection, and at the list of workers if the scheduler sends no news of it.
_CHECK, _REFRESH = 1.0, 5.0


@dataclass(slots=True, eq=False)
class _Task:
    """An evaluation on a worker; `is_dropped` if nobody waits for it any more, `begun` as soon as that is known."""

    key: int
    machine: Machine
    future: Any
    sent: float
    begun: float | None = None
    is_dropped: bool = False


@final
class DaskWorkers:
    """Evaluations on the workers of a Dask cluster, one per thread of each.

    What functions print stays on the workers. A worker that dies loses its evaluations, a scheduler that dies all of
    them; workers that come later are used as soon as they are there. The workers need `boids` too.

    Parameters
    ----------
    source
        The address of a scheduler, like "tcp://host:8786"; a `Client`, what its `get_executor` returns, or a cluster
        object, all of which are left as they are.
    fun
        The objective; it may be a lambda or a closure, and is sent once to every worker.
    count
        How many evaluations to have there at a time; None is no limit but the workers' threads.
    timeout
        Seconds that an evaluation may take; None is no limit. A worker on which it takes longer is restarted if it has
        a nanny, and otherwise not used any more.
    patience
        Seconds to wait for a scheduler that is gone.
    """

    def __init__(
        self,
        source: Any,
        fun: Function,
        count: int | None = None,
        *,
        timeout: float | None = None,
        patience: float = PATIENCE,
    ) -> None:
        if not callable(fun):
            raise ValueError(f"fun must be callable, got {fun!r}.")
        self._count = math.inf if count is None else positive_int(count, "n_workers")
        self._timeout = checked_timeout(timeout)
        self._patience = real_number(patience, "patience")
        self._address, self._security = find_scheduler(source)
        try:
            self._code = serialise(fun)
        except Exception as error:
            raise ValueError(
                f"fun cannot be sent to the Dask workers ({describe_error(error)}); leave out what it holds that "
                "belongs to this process, such as locks, open files and connections."
            ) from None
        self._inbox: SimpleQueue[News] = SimpleQueue()
        self._queue: deque[tuple[int, Any]] = deque()
        self._tasks: dict[int, _Task] = {}
        self._n_sent = 0
        self._ended: list[Evaluation] = []
        self._machines: dict[str, Machine] = {}
        self._unusable: set[Machine] = set()  # hanging
        self._unreachable: set[Machine] = set()  # when the list of workers was last asked for
        self._refreshed = -math.inf
        self._gone_since = time.monotonic()
        self._is_closed = False
        self._link: Link | None = None
        self._connect(min(self._patience, _FIRST_ATTEMPT))
        if self._link is None:
            raise WorkersGone(f"The Dask scheduler {self._address} does not answer; is it running?")

    @property
    def size(self) -> int:
        """How many evaluations can go on at the same time now; 0 if there is no worker, or no scheduler."""
        self._attend(0.0)
        in_vain = Counter(task.machine for task in self._tasks.values() if task.is_dropped)
        return int(min(self._count, sum(max(0, each.threads - in_vain[each]) for each in self._usable())))

    def submit(self, key: int, params: Any) -> None:
        """Send an evaluation to a worker, or queue it until one is free."""
        if self._is_closed:
            raise WorkersGone("These workers have been closed; make new ones.")
        self._queue.append((key, params))
        self._begin_queued()

    def wait(self, timeout: float | None = None) -> list[Evaluation]:
        """Return all evaluations that have ended, by key; see `Workers`."""
        deadline = Deadline(timeout)
        while True:
            self._begin_queued()
            waiting = bool(self._queue) or any(not task.is_dropped for task in self._tasks.values())
            left = 0.0 if self._ended or not waiting else deadline.left
            if left > 0.0 and self._link is None:
                self._connect_again(left)
            else:
                self._attend(min(left, self._until_overdue(), _CHECK))
            self._drop_overdue()
            self._begin_queued()
            if self._ended or not waiting or deadline.left == 0.0:
                ended, self._ended = sorted(self._ended, key=lambda each: each.key), []
                return ended

    def cancel(self) -> None:
        """Forget everything that was submitted; what is running goes on in vain, and occupies its worker."""
        self._queue.clear()
        self._ended.clear()
        for task in self._tasks.values():
            task.is_dropped = True

    def close(self) -> None:
        """Forget everything and close the connection; nothing happens the second time."""
        self._is_closed = True
        self._queue.clear()
        self._ended.clear()
        self._tasks.clear()
        self._machines.clear()
        link, self._link = self._link, None
        if link is not None:
            link.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    # --- the scheduler ---

    def _connect(self, timeout: float) -> None:
        """Try to reach the scheduler."""
        begun = time.monotonic()
        try:
            self._link = Link.open(self._address, self._security, self._code, self._inbox, timeout)
            self._refresh()
        except OSError:
            # Refused right away: a scheduler that is just starting needs a moment.
            time.sleep(max(0.0, min(0.2, timeout - (time.monotonic() - begun))))

    def _connect_again(self, timeout: float) -> None:
        self._connect(max(_SHORTEST_ATTEMPT, min(timeout, _ATTEMPT)))
        if self._link is None and time.monotonic() - self._gone_since > self._patience:
            raise WorkersGone(
                f"The Dask scheduler {self._address} has not answered for {self._patience:g} s; start it again and "
                "continue the run."
            )

    def _lose_scheduler(self) -> None:
        link, self._link = self._link, None
        self._gone_since = time.monotonic()
        self._machines.clear()
        self._unusable.clear()
        self._unreachable.clear()
        for number in list(self._tasks):
            self._lose(number, f"The connection to the Dask scheduler {self._address} was lost during the evaluation.")
        if link is not None:
            link.close()

    # --- workers and what becomes of them ---

    def _refresh(self) -> None:
        """Ask for the list of workers, and find out what was lost with those that are not there any more."""
        if self._link is None:
            return
        self._refreshed = time.monotonic()
        try:
            self._machines = self._link.machines()
        except (OSError, RuntimeError):  # the client is closing
            self._lose_scheduler()
            return
        alive = set(self._machines.values())
        self._unusable &= alive
        self._unreachable.clear()
        for number, task in list(self._tasks.items()):
            if task.machine not in alive:
                self._lose(number, _lost_with(task.machine))

    def _usable(self) -> list[Machine]:
        excluded = self._unusable | self._unreachable
        return [machine for machine in self._machines.values() if machine.is_open and machine not in excluded]

    def _begin_queued(self) -> None:
        while self._queue and self._link is not None:
            busy = Counter(task.machine for task in self._tasks.values())
            in_use = sum(not task.is_dropped for task in self._tasks.values())
            free = [machine for machine in self._usable() if machine.threads > busy[machine]]
            if not free or in_use >= self._count:
                return
            machine = max(free, key=lambda each: each.threads - max(busy[each], each.load))
            try:
                function = self._link.function_on(machine)
            except Exception:
                if not self._link.is_alive:
                    self._lose_scheduler()
                    return
                self._unreachable.add(machine)  # news of it will come
                continue
            key, params = self._queue.popleft()  # first, so that an interrupt cannot make it begin twice
            self._begin(self._link, machine, function, key, params)

    def _begin(self, link: Link, machine: Machine, function: Any, key: int, params: Any) -> None:
        number, self._n_sent = self._n_sent, self._n_sent + 1
        point = serialise(params)  # opaque to Dask, which looks for keys of tasks in lists and dicts
        try:
            future = link.send(machine, function, number, point, reports_beginning=self._timeout is not None)
        except Exception as error:  # whether it has left this process is not known, so it must not be sent again
            reason = f"The evaluation could not be sent to the Dask worker {machine.address} ({describe_error(error)})."
            self._ended.append(Evaluation(key, error=reason, lost=True, worker=machine.address))
            if not link.is_alive:
                self._lose_scheduler()
        else:
            self._tasks[number] = _Task(key, machine, future, time.monotonic())

    def _attend(self, timeout: float) -> None:
        """Wait for news and take in all there are."""
        is_changed = time.monotonic() - self._refreshed > _REFRESH
        try:
            news = self._inbox.get(timeout=timeout) if timeout > 0.0 else self._inbox.get_nowait()
            while True:
                match news:
                    case None:
                        is_changed = True
                    case int():
                        if news in self._tasks:
                            self._tasks[news].begun = time.monotonic()
                    case (number, outcome):
                        self._take(number, outcome)
                news = self._inbox.get_nowait()
        except Empty:
            pass
        if self._link is not None and not self._link.is_alive:
            self._lose_scheduler()
        elif is_changed:
            self._refresh()

    def _take(self, number: int, outcome: Any) -> None:
        """Take what came of a task."""
        task = self._tasks.get(number)
        if task is None:  # lost long ago
            return
        if self._link is None or (isinstance(outcome, CANCELLED) and not self._link.is_same(outcome)):
            self._lose_scheduler()
            return
        del self._tasks[number]
        if task.is_dropped:
            return
        address = task.machine.address
        match outcome:
            case Answer(interrupted=False):
                self._ended.append(Evaluation.of(task.key, outcome, address))
                return
            case str():
                raise ValueError(
                    f"fun cannot be loaded on the Dask worker {address} ({outcome}); what it is made of must be "
                    "importable there."
                )
            case ImportError():
                raise ValueError(
                    f"The Dask worker {address} cannot make evaluations ({describe_error(outcome)}); boids must be "
                    "installed there."
                )
            case Answer():
                error = f"The evaluation was interrupted on the Dask worker {address}."
            case BaseException() if not (isinstance(outcome, CANCELLED) or type(outcome).__name__ == "KilledWorker"):
                error = f"The Dask worker {address} could not make the evaluation ({describe_error(outcome)})."
            case _:  # None: another process stands there now; cancelled: the function was lost with the worker
                error = _lost_with(task.machine)
        seconds = time.monotonic() - task.sent
        self._ended.append(Evaluation(task.key, error=error, lost=True, seconds=seconds, worker=address))

    def _lose(self, number: int, error: str) -> None:
        """Give up a task whose worker or scheduler is gone."""
        task = self._tasks.pop(number)
        if self._link is not None:
            self._link.forget(task.future)  # or it would wait for a worker under the same address
        if not task.is_dropped:
            seconds = time.monotonic() - (task.begun or task.sent)
            worker = task.machine.address
            self._ended.append(Evaluation(task.key, error=error, lost=True, seconds=seconds, worker=worker))

    def _until_overdue(self) -> float:
        if self._timeout is None:
            return math.inf
        begun = min((task.begun for task in self._tasks.values() if task.begun is not None), default=math.inf)
        return max(0.0, begun + self._timeout - time.monotonic())

    def _drop_overdue(self) -> None:
        """Give up evaluations that take too long, and the workers that they keep busy."""
        now = time.monotonic()
        for number, task in list(self._tasks.items()):
            if self._timeout is None or task.begun is None or now - task.begun < self._timeout:
                continue
            if number not in self._tasks:  # lost with a worker that was restarted for the sake of another one
                continue
            del self._tasks[number]
            machine = task.machine
            self._unusable.add(machine)
            measure = (
                "which is restarted" if machine.has_nanny else "which has no nanny to restart it and is left alone"
            )
            error = (
                f"The evaluation took longer than {self._timeout:g} s on the Dask worker {machine.address}, {measure}."
            )
            if not task.is_dropped:
                seconds = now - task.begun
                self._ended.append(Evaluation(task.key, error=error, seconds=seconds, worker=machine.address))
            if self._link is None:
                continue
            self._link.forget(task.future)
            if machine.has_nanny:
                for other in [each for each, its in self._tasks.items() if its.machine == machine]:
                    self._lose(other, _lost_with(machine))
                self._link.restart(machine)


def is_from_dask(source: Any) -> bool:
    """Whether an object belongs to Dask; imports nothing."""
    return any(kind.__module__.partition(".")[0] == "distributed" for kind in type(source).__mro__)


def _lost_with(machine: Machine) -> str:
    return f"The Dask worker {machine.address} was lost during the evaluation."
