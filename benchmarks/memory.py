"""Memory of many cheap evaluations in one process: 100,000 ask/tell of random search, with and without a store.

    python benchmarks/memory.py

Prints the resident memory after every fifth of the run. What a run must keep is its points: 8 bytes per parameter and
trial; the rest is what a trial costs.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from pathlib import Path

import boids


def resident() -> float:
    """Return the resident memory of this process in MB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 1e6


def measure(count: int, dim: int, store: Path | None) -> None:
    """Run and print."""
    optimizer = boids.Optimizer([(-1, 1)] * dim, budget=count, method="random", seed=0, store=store)
    begun, first = time.perf_counter(), 0.0
    for number in range(count):
        trial = optimizer.ask()
        optimizer.tell(trial, float(trial.x[0]))
        if (number + 1) % (count // 5) == 0:
            now = resident()
            first = first or now
            print(f"  {number + 1:>7} told  {now:7.1f} MB  {time.perf_counter() - begun:7.1f} s", flush=True)
    per_trial = (resident() - first) * 1e6 / (count * 4 / 5)
    print(f"  {per_trial:.0f} bytes a trial, of which {8 * dim} are its point")
    optimizer.close()


def main() -> None:
    """Measure everything."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--dim", type=int, default=20)
    given = parser.parse_args()
    print(f"random search, {given.dim} parameters, in memory")
    measure(given.count, given.dim, None)
    with tempfile.TemporaryDirectory() as folder:
        print(f"random search, {given.dim} parameters, kept in a store")
        measure(given.count // 5, given.dim, Path(folder) / "runs.db")


if __name__ == "__main__":
    main()
