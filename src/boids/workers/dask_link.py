"""The connection to a Dask scheduler: its workers, tasks on one of them, and news of both in one inbox.

The client is our own, also where the caller has one: what is subscribed to, cancelled and closed is nobody else's.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import logging
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import Any, TypeAlias, final
from uuid import uuid4

from boids.errors import MissingExtra
from boids.workers.dask_task import evaluate

#: A number and what came of its task; a number alone whose evaluation has begun; None if workers have come or gone.
News: TypeAlias = "tuple[int, Any] | int | None"

#: What a task that was cancelled raises; in older versions of distributed the first, now the second.
CANCELLED = (asyncio.CancelledError, concurrent.futures.CancelledError)

#: Bytes of a function that is sent once to every worker; a smaller one comes with every task.
_BIG = 2**20

#: Seconds that closing a client may take.
_CLOSING = 5.0


@final
@dataclass(frozen=True, slots=True)
class Machine:
    """A Dask worker.

    Attributes
    ----------
    address
        Under which it is reached; another one may follow it there.
    directory
        Its local directory, which no other worker has had or will have.
    threads
        How many tasks it runs at a time.
    has_nanny
        Whether it can be restarted from afar.
    is_open
        Whether it takes tasks; one that is short of memory or about to leave does not, but may still be at some.
    load
        How many tasks it was running a moment ago; also of others, and of a run that has ended and left them behind.
    """

    address: str
    directory: str
    threads: int
    has_nanny: bool
    is_open: bool = field(default=True, compare=False)
    load: int = field(default=0, compare=False)

    @classmethod
    def of(cls, address: str, info: Mapping[str, Any]) -> Machine:
        """Return a worker as its scheduler describes it."""
        counts = info["metrics"].get("task_counts", {})
        load = sum(int(counts.get(state, 0)) for state in ("executing", "cancelled", "resumed"))
        is_open = info.get("status", "running") in ("init", "running")
        return cls(address, info["local_directory"], int(info["nthreads"]), bool(info["nanny"]), is_open, load)


@final
@dataclass(slots=True)
class Link:
    """A client of a Dask scheduler.

    Attributes
    ----------
    address
        Of the scheduler.
    inbox
        Where news arrive, from the client's own thread.
    """

    address: str
    inbox: SimpleQueue[News]
    client: Any
    code: bytes
    topic: str = field(default_factory=lambda: f"boids-{uuid4().hex}")
    name: str = field(default_factory=lambda: uuid4().hex)
    #: The scheduler's own name: another one may follow it under its address.
    scheduler: str = ""
    #: A big function, where it has arrived.
    functions: dict[Machine, Any] = field(default_factory=dict)

    @classmethod
    def open(cls, address: str, security: Any, code: bytes, inbox: SimpleQueue[News], timeout: float) -> Link:
        """Connect to a scheduler; OSError if it does not answer in time."""
        from distributed import Client

        make_client: Any = Client  # has no types
        client = make_client(address, security=security, timeout=timeout, set_as_default=False, name="boids")
        link = cls(address, inbox, client, code)
        client.subscribe_topic("all", link._note_workers)
        client.subscribe_topic(link.topic, link._note_beginning)
        return link

    @property
    def is_alive(self) -> bool:
        """Whether the scheduler was there when it was last heard of."""
        return bool(self.client.status == "running")

    def is_same(self, cancelled: BaseException) -> bool:
        """Whether the scheduler was there all the time, though a task was cancelled."""
        return self.is_alive and getattr(cancelled, "reason", "") != "scheduler-connection-lost"

    def machines(self) -> dict[str, Machine]:
        """Ask the scheduler for its workers, by address; OSError if it is gone."""
        info = self.client.scheduler_info(n_workers=-1)
        if info["id"] != (self.scheduler or info["id"]):
            raise OSError("The scheduler was restarted, and the client has connected to the new one by itself.")
        self.scheduler = info["id"]
        machines = {address: Machine.of(address, each) for address, each in info["workers"].items()}
        self.functions = {machine: sent for machine, sent in self.functions.items() if machine in machines.values()}
        return machines

    def send(self, machine: Machine, function: Any, number: int, point: bytes, reports_beginning: bool) -> Any:
        """Begin an evaluation on a worker, and on no other.

        Returns
        -------
        The future of the task, to be cancelled when its outcome is of no interest any more.
        """
        future = self.client.submit(
            evaluate,
            function,
            self.name,
            point,
            machine.directory,
            self.topic if reports_beginning else "",
            number,
            key=f"boids-evaluation-{uuid4().hex}",
            workers=[machine.address],
            allow_other_workers=False,
            retries=0,
            pure=False,
        )
        asyncio.run_coroutine_threadsafe(self._fetch(future, number), self.client.loop.asyncio_loop)
        return future

    def function_on(self, machine: Machine) -> Any:
        """Return the function as an argument of a task: as it is, or as data that the worker has already."""
        if len(self.code) <= _BIG:
            return self.code
        if machine not in self.functions or self.functions[machine].cancelled():
            self.functions[machine] = self.client.scatter(self.code, workers=[machine.address], hash=False)
        return self.functions[machine]

    def forget(self, future: Any) -> None:
        """Let the scheduler forget a task."""
        with suppress(Exception):  # the scheduler is gone
            future.cancel(force=True)

    def restart(self, machine: Machine) -> None:
        """Let the nanny of a worker start it again, without waiting for it."""

        async def restart() -> None:
            with suppress(Exception):  # it is gone anyhow
                await self.client.restart_workers([machine.address], raise_for_error=False)

        asyncio.run_coroutine_threadsafe(restart(), self.client.loop.asyncio_loop)

    def close(self) -> None:
        """Close the client."""
        logger = logging.getLogger("distributed.client")
        logger.addFilter(_is_worth_knowing)
        try:
            if self.is_alive:
                for topic in ("all", self.topic):  # or the scheduler would send us the news that we are gone
                    self.client.unsubscribe_topic(topic)
            self.client.close(timeout=_CLOSING)
        except Exception:  # the scheduler is gone
            return
        finally:
            logger.removeFilter(_is_worth_knowing)

    async def _fetch(self, future: Any, number: int) -> None:
        try:
            outcome = await self.client.gather(future, asynchronous=True)
        except BaseException as error:
            outcome = error
        self.inbox.put((number, outcome))

    def _note_workers(self, event: tuple[float, Any]) -> None:
        if isinstance(event[1], dict) and event[1].get("action") in ("add-worker", "remove-worker"):
            self.inbox.put(None)

    def _note_beginning(self, event: tuple[float, Any]) -> None:
        self.inbox.put(int(event[1]))


def _is_worth_knowing(record: logging.LogRecord) -> bool:
    """Whether a message is more than that the client stops looking for its scheduler when it is closed."""
    is_cancelled = record.exc_info is not None and isinstance(record.exc_info[1], CANCELLED)
    return not (is_cancelled or str(record.msg).startswith("Failed to reconnect"))


def find_scheduler(source: Any) -> tuple[str, Any]:
    """Return the address of a scheduler and how to be secure with it, from whatever stands for a Dask cluster."""
    try:
        from distributed import Client
        from distributed.cfexecutor import ClientExecutor
        from distributed.deploy.cluster import Cluster
    except ImportError as error:
        raise MissingExtra(
            "Evaluations on a Dask cluster need distributed, which is not installed; install it with: "
            "pip install 'boids-opt[dask]'"
        ) from error
    if isinstance(source, str):
        return source, None
    if isinstance(source, ClientExecutor):
        source = source._client
    if isinstance(source, Cluster):
        return source.scheduler_address, getattr(source, "security", None)
    if isinstance(source, Client):
        if source.scheduler is None or source.status != "running":
            raise ValueError(f"The Dask client is not connected to a scheduler, it is {source.status}; give a new one.")
        return str(source.scheduler.address), source.security
    raise ValueError(f"A Dask client, or the address of a scheduler like 'tcp://host:8786', is needed, got {source!r}.")
