"""What keepers of forked workers and spawners of fresh ones have in common, and the choice between them."""

from __future__ import annotations

import math
import os
from multiprocessing.connection import Connection
from typing import Any, Literal, Protocol, TypeAlias

from boids.isolation.keeper import Keeper
from boids.isolation.spawner import Spawner
from boids.isolation.worker import Function
from boids.values import real_number

StartMethod: TypeAlias = Literal["fork", "spawn"]


class Host(Protocol):
    """Where workers come from; there is one at a time."""

    #: The process id of the worker, or of the last one; 0 if it is not known.
    pid: int

    @property
    def sentinel(self) -> Any:
        """What becomes ready to read when the worker is dead."""

    def start(self) -> None:
        """Begin to start a worker, unless there is one."""

    def connect(self) -> Connection[Any, Any]:
        """Return the connection to the worker, a new one if need be."""

    def begin_to_end(self) -> None:
        """Ask the worker to end, without waiting, so that several may end at the same time."""

    def end(self) -> int | None:
        """End the worker and everything it has started, and return its exit code, or None if that is not known."""

    def stop(self) -> None:
        """End the worker for good; an evaluation that another thread waits for finds it dead."""

    def close(self) -> None:
        """Give back what is left, when no evaluation is going on any more."""


def make_host(fun: Function, start_method: StartMethod, *, is_one_of_many: bool = False) -> Host:
    """Return a host of workers for a function; `is_one_of_many` if others are made for the same function."""
    return Keeper(fun, is_one_of_many) if start_method == "fork" else Spawner(fun)


def checked_start_method(start_method: StartMethod | None) -> StartMethod:
    """Return how to start workers; None is the best that the system has."""
    chosen: StartMethod = start_method or ("fork" if hasattr(os, "fork") else "spawn")
    known = ("fork", "spawn") if hasattr(os, "fork") else ("spawn",)
    if chosen not in known:
        raise ValueError(f"start_method must be {' or '.join(map(repr, known))}, got {start_method!r}.")
    return chosen


def checked_timeout(timeout: float | None) -> float | None:
    """Return the limit of an evaluation."""
    if timeout is not None and not 0.0 < real_number(timeout, "timeout") < math.inf:
        raise ValueError(f"timeout must be a positive number of seconds, or None, got {timeout!r}.")
    return timeout
