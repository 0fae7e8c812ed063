"""The workers that fit to what a caller calls an executor."""

from __future__ import annotations

from typing import Any

from boids.isolation.worker import Function
from boids.workers.dask_workers import DaskWorkers, is_from_dask
from boids.workers.evaluation import Workers
from boids.workers.executor_workers import ExecutorWorkers


def workers_for(executor: Any, fun: Function, count: int | None = None, timeout: float | None = None) -> Workers:
    """Return workers that evaluate `fun` by an executor, or on a Dask cluster.

    Parameters
    ----------
    executor
        Anything in the style of `concurrent.futures`; for Dask a `Client`, what its `get_executor` returns, a cluster
        object, or the address of a scheduler.
    count
        How many evaluations to have there at a time; None is as many as there are workers.
    timeout
        Seconds that an evaluation may take; None is no limit.
    """
    if isinstance(executor, str) or is_from_dask(executor):
        return DaskWorkers(executor, fun, count, timeout=timeout)
    return ExecutorWorkers(executor, fun, count, timeout=timeout)
