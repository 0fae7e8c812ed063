"""A process that carries a run out: `python writing_process.py PATH RUN SEED COUNT STATE_SIZE`.

It begins the run or goes on with it, says "begun", writes step after step of `stored_runs.steps`, and says the number
of each as soon as it is written.
"""

from __future__ import annotations

import itertools
import sys

from stored_runs import empty, head, read_key, step_key, steps

from boids.errors import StoreError
from boids.store import Store


def carry_out(path: str, run: str, seed: int, count: int, size: int) -> None:
    store = Store(path)
    script = enumerate(itertools.islice(steps(seed, state_size=size), count))
    try:
        stored, writer = store.resume(run)
    except StoreError as error:
        if "There is no" not in str(error):
            raise
        writer = store.create(head(run, seed=seed), empty())
    else:
        if stored.rows:
            while read_key(stored) != step_key(next(script)[1]):
                pass
    print("begun", flush=True)
    with writer:
        for number, step in script:
            writer.write(step.rows, step.snapshot)
            print(number, flush=True)


if __name__ == "__main__":
    path, run, seed, count, size = sys.argv[1:]
    try:
        carry_out(path, run, int(seed), int(count), int(size))
    except StoreError as error:
        sys.exit(str(error))
