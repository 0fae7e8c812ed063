"""What the dashboard costs with many parameters and many trials.

    python benchmarks/dashboard.py

Makes a run of random search with 10 000 trials of 1000 parameters in a store, then prints the processor time of what
the server does for a visitor, and the memory of its process.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import boids


def make(path: Path, dim: int, trials: int) -> None:
    """Make the run."""
    boids.minimize(lambda x: float((x[:5] ** 2).sum()), [(-5, 10)] * dim, trials, method="random", seed=0, store=path)


def measure(path: Path) -> None:
    """Look at it as a visitor would."""
    from boids.dashboard.events import Newsfeed, as_event
    from boids.dashboard.insight import Insight, coordinates
    from boids.dashboard.library import Library
    from boids.dashboard.places import Places

    def timed(what: str, work: Callable[[], Any]) -> Any:
        begun = time.process_time()
        answer = work()
        print(f"{what:32} {time.process_time() - begun:8.4f} s")
        return answer

    library = Library(Places([path]))
    runs, _ = timed("the list of runs", library.runs)
    key = next(iter(runs))
    feed = Newsfeed(library, [key])
    first = timed("the first look at the run", lambda: [as_event(*event) for event in feed.news()])
    time.sleep(4)  # so long that it is read anew though its file is the same
    timed("a look without news", feed.news)
    run, _ = library.follow(key)
    found = timed("importance", lambda: Insight().importance(key, run))
    timed("parallel coordinates", lambda: coordinates(run, found["names"][:8]))
    timed("one trial", lambda: run.detail(7))
    print(f"{'first message':32} {sum(map(len, first)) / 1e6:8.2f} MB")
    print(f"{'memory':32} {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:8.0f} MB")


def main() -> None:
    """Make and measure, in processes of their own."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dim", type=int, default=1000)
    parser.add_argument("--trials", type=int, default=10_000)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "runs.db"
        spawn = multiprocessing.get_context("spawn")
        for work, arguments in ((make, (path, given.dim, given.trials)), (measure, (path,))):
            process = spawn.Process(target=work, args=arguments)
            process.start()
            process.join()
            if process.exitcode:
                raise SystemExit(process.exitcode)
        print(f"{'the store':32} {path.stat().st_size / 1e6:8.0f} MB")


if __name__ == "__main__":
    main()
