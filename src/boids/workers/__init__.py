"""Where evaluations take place when it is not in this process: own processes, any executor, a Dask cluster."""

from boids.errors import WorkersGone
from boids.workers.choice import workers_for
from boids.workers.dask_workers import DaskWorkers
from boids.workers.evaluation import Evaluation, Workers
from boids.workers.executor_workers import ExecutorWorkers
from boids.workers.process_workers import ProcessWorkers

__all__ = [
    "DaskWorkers",
    "Evaluation",
    "ExecutorWorkers",
    "ProcessWorkers",
    "Workers",
    "WorkersGone",
    "workers_for",
]
