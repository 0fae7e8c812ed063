"""What every part measures with: processor time, processes of their own, and a kernel that machines are compared by.

Everything is processor time with one BLAS thread, since others may use the machine, too. Neighbours still cost cache
and memory bandwidth; the calibration kernel, measured between the cases of the same part, shows how much.
"""

from __future__ import annotations

import json
import os
import platform
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import scipy

ROOT = Path(__file__).parent.parent

Numbers = dict[str, float]


@contextmanager
def processor_clock() -> Iterator[None]:
    """Let the library's own stopwatches, which show wall time, measure processor time."""
    wall = time.perf_counter
    time.perf_counter = time.process_time
    try:
        yield
    finally:
        time.perf_counter = wall


def seconds_of(work: Callable[[], object], repeats: int = 5, least: float = 0.0) -> float:
    """Return the median processor time of a call, over at least so many calls and seconds."""
    times: list[float] = []
    while len(times) < repeats or sum(times) < least:
        begun = time.process_time()
        work()
        times.append(time.process_time() - begun)
    return float(np.median(times))


def calibration() -> float:
    """Return the seconds of the calibration kernel: a bit of everything that proposals are made of.

    One 500×500 double matrix product, ten products of a 1000×1000 matrix with a vector, 500,000 cosines, and 1000
    sums of three numbers, in which Python itself is what takes the time.
    """
    rng = np.random.default_rng(0)
    square, matrix, vector = rng.normal(size=(500, 500)), rng.normal(size=(1000, 1000)), rng.normal(size=1000)
    angles, few = rng.normal(size=500_000), np.ones(3)

    def kernel() -> None:
        square @ square
        for _ in range(10):
            matrix @ vector
        np.cos(angles)
        for _ in range(1000):
            few.sum()

    return seconds_of(kernel, repeats=9)


def facts() -> dict[str, Any]:
    """Return what a reader must know of the machine."""
    return {
        "processor": platform.machine(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
    }


def peak_megabytes() -> float:
    """Return the most memory that this process has had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def in_own_process(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function of this package in a fresh interpreter, so that time and peak memory are its own."""
    name = f"{function.__module__}:{function.__name__}"
    command = [sys.executable, "-m", "benchmarks", "--call", name, json.dumps(arguments)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{name}{arguments} was to return numbers, but failed:\n{done.stderr.strip()}")
    return json.loads(done.stdout.splitlines()[-1])


def child_seconds(command: Sequence[str], repeats: int = 5) -> float:
    """Return the median processor time of a command, user and system."""
    times = []
    for _ in range(repeats):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return float(np.median(times))
