"""How much faster a run is with workers: an objective that sleeps a second, one at a time and with 8 workers.

    python benchmarks/workers.py

Prints the wall time per evaluation of each way and its ratio to the serial one, measured in one go. Sleeping costs no
processor, so this measures what boids itself adds: fits, proposals, processes, the store.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import boids


def main() -> None:
    """Measure everything."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=1.0, help="that an evaluation takes")
    parser.add_argument("--workers", type=int, default=8)
    parser.add_argument("--serial", type=int, default=20, help="evaluations of the serial run")
    parser.add_argument("--budget", type=int, default=120, help="evaluations of the parallel runs")
    parser.add_argument("--dim", type=int, default=100)
    given = parser.parse_args()
    problem = boids.problems.make("levy", dim=given.dim)

    def slow(x: Any) -> float:
        time.sleep(given.seconds)
        return float(problem(x))

    def timed(budget: int, **options: Any) -> float:
        with tempfile.TemporaryDirectory() as folder:
            begun = time.perf_counter()
            boids.minimize(slow, problem.space, budget, seed=0, store=Path(folder) / "runs.db", **options)
            return (time.perf_counter() - begun) / budget

    serial = timed(given.serial)
    print(f"{'one at a time':<34} {serial:6.3f} s per evaluation")
    with ThreadPoolExecutor(given.workers) as pool:
        ways: dict[str, dict[str, Any]] = {
            f"{given.workers} processes, synchronous": {"n_workers": given.workers},
            f"{given.workers} processes, asynchronous": {"n_workers": given.workers, "asynchronous": True},
            f"{given.workers} threads, asynchronous": {"executor": pool, "asynchronous": True},
        }
        for name, options in ways.items():
            each = timed(given.budget, **options)
            print(f"{name:<34} {each:6.3f} s per evaluation, 1/{serial / each:.1f} of serial", flush=True)


if __name__ == "__main__":
    main()
