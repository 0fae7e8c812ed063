"""Evaluations on the ranks of an MPI job, through mpi4py.futures (needs `pip install mpi4py` and an MPI).

    mpiexec -n 5 python -m mpi4py.futures examples/mpi.py [evaluations]      # one rank drives, four evaluate

Without MPI the same script evaluates in threads.
"""

import sys
from concurrent.futures import ThreadPoolExecutor

import boids


def simulate(x):  # at the top level of the module, for it is sent to the other ranks by its name
    """Return the squared distance to the best point."""
    return float(((x - 1.0) ** 2).sum())


def main():
    """Run the example; the other ranks import this file, but do not come here."""
    budget = int(sys.argv[1]) if len(sys.argv) > 1 else 80
    try:
        from mpi4py.futures import MPIPoolExecutor as Executor
    except ImportError:
        Executor = ThreadPoolExecutor
    with Executor() as executor:  # as many evaluations at a time as it has workers
        result = boids.minimize(simulate, [(-5, 10)] * 60, budget, seed=0, executor=executor)
    print(f"{Executor.__name__}: {result.message} best {result.fun:.4g}")


if __name__ == "__main__":
    main()
