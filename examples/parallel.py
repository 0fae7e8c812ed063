"""Several evaluations at a time: in processes of their own, in batches or as soon as one is free.

python examples/parallel.py [evaluations]
"""

import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import boids

BUDGET = int(sys.argv[1]) if len(sys.argv) > 1 else 80
SPACE = [(-5, 10)] * 60


def simulate(x):
    """Return the squared distance to the best point, or crash."""
    time.sleep(0.05)  # stands for minutes
    if x[0] > 9.0:
        os._exit(1)  # even this is only a failed evaluation
    return float(((x - 1.0) ** 2).sum())


def main():
    """Run the example."""
    # Batches of four: the run depends on the seed and the size of the batches, not on which evaluation ends first.
    first, second = (boids.minimize(simulate, SPACE, BUDGET, seed=0, n_workers=4) for _ in range(2))
    print("batches of 4:", first.message, f"best {first.fun:.4g}, the same again: {first.fun == second.fun}")

    # Asynchronous: no worker waits for another. Any function will do, also a lambda or a closure.
    shift = 2.0
    result = boids.minimize(
        lambda x: simulate(x) + shift, SPACE, BUDGET, seed=0, n_workers=4, asynchronous=True, eval_timeout=60
    )
    print("asynchronous:", result.message, f"best {result.fun:.4g}")

    # Any executor in the style of concurrent.futures; threads are right for an objective that only waits.
    with ThreadPoolExecutor(4) as pool:
        result = boids.minimize(lambda x: float((x**2).sum()), SPACE, BUDGET, seed=0, executor=pool)
    print("an executor: ", result.message, f"best {result.fun:.4g}")


if __name__ == "__main__":
    main()
