"""Where evaluations take place: in this process, in others, or on a Dask cluster."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, final

from boids.cli.output import note
from boids.cli.targets import FunctionElsewhere, FunctionTarget, Objective, Target
from boids.errors import InputError
from boids.isolation import isolate

if TYPE_CHECKING:
    from boids.workers import Workers

#: Seconds between two looks for the first worker of a cluster.
_LOOK = 0.2


@final
@dataclass(frozen=True)
class Placing:
    """Where evaluations take place, as plain data.

    Attributes
    ----------
    workers
        How many evaluations are made at a time; None is one in this process, or as many as a cluster has room for.
    dask
        The address of a scheduler, or a file that has it.
    asynchronous, lost
        See `boids.drive.run`.
    isolate
        Whether a single evaluation at a time takes place in a process of its own, too.
    eval_timeout
        Seconds that an evaluation may take; None if there is no limit, or if a program sees to it itself.
    vectorized, batch
        Whether the function takes several points, and how many come together.
    """

    workers: int | None = None
    dask: str | None = None
    asynchronous: bool = False
    lost: Literal["retry", "fail"] = "retry"
    isolate: bool = False
    eval_timeout: float | None = None
    vectorized: bool = False
    batch: int = 1

    def __post_init__(self) -> None:
        is_parallel = self.dask is not None or (self.workers or 1) > 1
        if self.vectorized and is_parallel:
            option = "--workers" if self.dask is None else "--dask"
            raise InputError(f"{option} is for one point at a time; a --vectorized function gets several with --batch.")
        if self.batch > 1 and not (self.vectorized or self.dask is not None):
            raise InputError(
                f"--batch {self.batch} needs --vectorized, an objective that takes several points at once; for several "
                "evaluations at the same time use --workers."
            )
        if self.asynchronous and not is_parallel:
            raise InputError("--async needs several workers; say how many with --workers N, or where with --dask.")
        if self.isolate and self.dask is not None:
            raise InputError("--isolate is for evaluations on this machine; it does not go with --dask.")

    @property
    def elsewhere(self) -> str | None:
        """The option that takes evaluations out of this process, None if they stay."""
        if self.dask is not None:
            return "--dask"
        if (self.workers or 1) > 1:
            return "--workers"
        if self.isolate:
            return "--isolate"
        return "--eval-timeout" if self.eval_timeout is not None else None

    def check_memory(self, objective: Objective, target: Target) -> None:
        """Refuse what an objective whose values depend on earlier evaluations cannot do."""
        if objective.memory is None:
            return
        whose = f"problem {target.name!r}, whose values depend on earlier evaluations"
        if self.batch > 1:
            raise InputError(f"--batch {self.batch} is not possible for {whose}; evaluate one point at a time.")
        if (option := self.elsewhere) is not None:
            raise InputError(f"{option} is not possible for {whose}: another process would keep them to itself.")

    def changed(
        self, workers: int | None, dask: str | None, asynchronous: bool | None, lost: Literal["retry", "fail"] | None
    ) -> Placing:
        """Return what a resumed run is to do instead; None is as before, but one of the first two means both."""
        new = self
        if workers is not None or dask is not None:
            is_parallel = dask is not None or (workers or 1) > 1
            new = replace(
                new,
                workers=workers,
                dask=dask,
                batch=new.batch if new.vectorized else 1,
                asynchronous=new.asynchronous and is_parallel,
            )
        if asynchronous is not None:
            new = replace(new, asynchronous=asynchronous)
        return new if lost is None else replace(new, lost=lost)


@final
@dataclass(frozen=True)
class Team:
    """Those who evaluate.

    Attributes
    ----------
    placing
        Where; with the number of points that come together, if that was left to the cluster.
    fun
        The objective, for evaluations in this process.
    workers
        The others, None if there are none.
    """

    placing: Placing
    fun: Callable[[Any], Any]
    workers: Workers | None = None

    @property
    def size(self) -> int:
        """How many evaluations can go on at the same time."""
        return 1 if self.workers is None else max(1, self.workers.size)

    @property
    def batch(self) -> int:
        """How many trials are asked for at a time."""
        placing = self.placing
        if self.workers is None or placing.dask is None:
            return placing.batch if self.workers is None else self.size
        return placing.workers or placing.batch


@contextmanager
def assembled(placing: Placing, objective: Objective, target: Target, folder: str) -> Iterator[Team]:
    """Have those who evaluate at hand; before anything that starts a thread, for workers are forked.

    Parameters
    ----------
    folder
        Where the run was begun.
    """
    if placing.elsewhere is None:
        yield Team(placing, objective.fun)
    elif placing.vectorized:  # workers take one point at a time
        with isolate(objective.fun, timeout=placing.eval_timeout) as fun:
            yield Team(placing, fun)
    elif placing.dask is None:
        from boids.workers import ProcessWorkers

        with ProcessWorkers(objective.fun, placing.workers or 1, timeout=placing.eval_timeout) as workers:
            yield Team(placing, objective.fun, workers)
    else:
        with _on_dask(placing.dask, placing, objective, target, folder) as cluster:
            if not (placing.workers or placing.asynchronous or placing.batch > 1):
                # Batches of this size from now on, so that a resumed run makes the same ones.
                placing = replace(placing, batch=_first_size(cluster, placing.dask))
            yield Team(placing, objective.fun, cluster)


def _on_dask(where: str, placing: Placing, objective: Objective, target: Target, folder: str) -> Workers:
    from boids.workers import DaskWorkers

    # A program and a problem are plain data; a function is imported anew where it is called.
    fun = FunctionElsewhere(target.name, folder) if isinstance(target, FunctionTarget) else objective.fun
    try:
        return DaskWorkers(_address(where), fun, placing.workers, timeout=placing.eval_timeout)
    except ValueError as error:  # not an address; something that cannot be sent
        raise InputError(f"--dask {where}: {str(error).rstrip('.')}.") from error


def _address(where: str) -> str:
    """Return the address of a scheduler, which may be in a file that the scheduler has written."""
    if not os.path.isfile(where):
        if ":" not in where:
            raise InputError(
                f"--dask must be a scheduler's address like tcp://host:8786, or its --scheduler-file, got {where!r}."
            )
        return where
    try:
        with open(where, encoding="utf-8") as file:
            return str(json.load(file)["address"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"--dask {where}: it is not a file that a Dask scheduler has written.") from error


def _first_size(cluster: Workers, where: str) -> int:
    """Wait for a worker, and return how many there are."""
    if not cluster.size:
        note(f"There is no worker at {where} yet; waiting for the first one.")
    while not (size := cluster.size):
        time.sleep(_LOOK)
    return size
