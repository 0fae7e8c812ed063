"""Evaluations on a Dask cluster: here one of four processes on this machine (needs `pip install 'boids-opt[dask]'`).

    python examples/dask_cluster.py [evaluations]

On a real cluster, give the scheduler's address: ``Client("tcp://host:8786")``, or `boids run … --dask tcp://host:8786`.
"""

import os
import sys

from distributed import Client, LocalCluster

import boids

BUDGET = int(sys.argv[1]) if len(sys.argv) > 1 else 80


def simulate(x):
    """Return a value, and a constraint that holds where it is not positive."""
    return float(((x - 1.0) ** 2).sum()), [float(x[0]) - 0.5]


def main():
    """Run the example."""
    with LocalCluster(n_workers=4, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
        result = boids.minimize(
            simulate,
            [(-5, 10)] * 60,
            BUDGET,
            seed=0,
            n_constraints=1,
            executor=client.get_executor(),  # as many at a time as there are workers
            asynchronous=True,
            lost="retry",  # an evaluation whose worker dies is made once more, by boids rather than by Dask
            store="runs.db",
        )
    print(
        result.message, f"best {result.fun:.4g}, {sum(t.attempts > 1 for t in result.trials)} evaluations begun twice"
    )
    os.remove("runs.db")


if __name__ == "__main__":
    main()
