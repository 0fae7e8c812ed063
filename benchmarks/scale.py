"""Very many parameters, very many trials: processor time and peak memory of a proposal after `add_trials`.

    python benchmarks/scale.py             # all cases, each in a process of its own, as a Markdown table
    python benchmarks/scale.py --write     # and put it into docs/benchmarks.md, in place of the table there

Every case begins with n earlier trials of an objective with D parameters, handed over by `Optimizer.add_trials`. Then
trials are asked for and told until some of them have come from the model. With the default settings the model is in a
subspace at that time; the worst case, which a long run comes to in the end, is the input space itself with all data
(`embedding=False`). One BLAS thread, and processor time rather than wall time. Neighbours on the machine still cost
cache and memory bandwidth: each case also times the calibration kernel of benchmarks/speed.py.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

import boids
from boids.algorithms import Boids

PAGE = Path(__file__).parent.parent / "docs" / "benchmarks.md"
SIZES = [(10_000, 1_000), (1_000, 10_000)]
SEARCHES: dict[str, dict[str, Any]] = {
    "climb": {"line_search": "climb", "acquisition": "logei"},
    "nsga2": {"line_search": "nsga2", "acquisition": "ts"},
}
SPACES = {"subspace": True, "input": False}
PROPOSALS = 3
HEAD = (
    "| D | n | search | model in | `add_trials` | first proposal | others | peak memory | save | load | kernel |\n"
    "|---|---|---|---|---|---|---|---|---|---|---|\n"
)


def bowl(units: np.ndarray) -> np.ndarray:
    """Return a bowl in 30 of the parameters, with ripples, and a slight slope in the others."""
    active = units[:, :30] - 0.3
    return np.sum(active**2 - 0.1 * np.cos(9.0 * active), axis=1) + 0.1 * units[:, 30:].mean(axis=1)


def kernel() -> float:
    """Milliseconds of one 1000×1000 double matrix product: the median of ten."""
    a, times = np.random.default_rng(0).normal(size=(1000, 1000)), []
    for _ in range(10):
        begun = time.process_time()
        a @ a
        times.append(1000.0 * (time.process_time() - begun))
    return float(np.median(times))


def measure(dim: int, count: int, search: str, space: str) -> dict[str, Any]:
    """Measure one case; meant for a process of its own, whose peak memory it reports."""
    method = Boids(embedding=SPACES[space], **SEARCHES[search])
    optimizer = boids.Optimizer([(-1, 1)] * dim, budget=1000, method=method, seed=0)
    units = np.random.default_rng(0).uniform(-1, 1, (count, dim))
    before = kernel()
    begun = time.process_time()
    optimizer.add_trials(list(zip(units, bowl(units), strict=True)))
    adding, seconds = time.process_time() - begun, list[float]()
    while len(seconds) < PROPOSALS:
        begun = time.process_time()
        trial = optimizer.ask()
        if trial.info["phase"] == "line":
            seconds.append(time.process_time() - begun)
        optimizer.tell(trial, float(bowl(trial.unit[None])[0]))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "run.npz"
        begun = time.process_time()
        optimizer.save(file)
        saving = time.process_time() - begun
        begun = time.process_time()
        boids.Optimizer.load(file)
        loading = time.process_time() - begun
    return {
        "dim": dim,
        "count": count,
        "search": search,
        "space": space,
        "adding": adding,
        "first": seconds[0],
        "others": max(seconds[1:]),
        "all": seconds,
        "peak_mb": peak,
        "saving": saving,
        "loading": loading,
        "kernel": 0.5 * (before + kernel()),
        "system": resource.getrusage(resource.RUSAGE_SELF).ru_stime,
    }


def in_own_process(dim: int, count: int, search: str, space: str) -> dict[str, Any]:
    """Call `measure` in a fresh interpreter, so that the peak memory is the case's own."""
    command = [sys.executable, __file__, "--one", str(dim), str(count), search, space]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return json.loads(output.splitlines()[-1])


def row(case: dict[str, Any]) -> str:
    """Return a case as a row of the table."""
    cells = [
        f"{case['dim']:,}",
        f"{case['count']:,}",
        case["search"],
        f"the {case['space']}" + (" space" if case["space"] == "input" else ""),
        f"{case['adding']:.1f} s",
        f"{case['first']:.2f} s",
        f"**{case['others']:.2f} s**",
        f"{case['peak_mb']:.0f} MB",
        f"{case['saving']:.1f} s",
        f"{case['loading']:.1f} s",
        f"{case['kernel']:.0f} ms",
    ]
    return f"| {' | '.join(cells)} |\n"


def write(table: str) -> None:
    """Put the table into the page, in place of the one that is there."""
    page = PAGE.read_text()
    old = re.compile(re.escape(HEAD) + r"(\|.*\n)*")
    if not old.search(page):
        raise SystemExit(f"{PAGE.name} has no table of this kind; put the heading of one where it belongs.")
    PAGE.write_text(old.sub(lambda _: table, page, count=1))


def main() -> None:
    """Measure what the arguments ask for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="put the table into docs/benchmarks.md")
    parser.add_argument("--one", nargs=4, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        dim, count, search, space = given.one
        print(json.dumps(measure(int(dim), int(count), search, space)))
        return
    table = HEAD
    print(table, end="", flush=True)
    for search in SEARCHES:
        for space in ("input", "subspace"):
            for dim, count in SIZES:
                table += row(in_own_process(dim, count, search, space))
                print(table.splitlines()[-1], flush=True)
    if given.write:
        write(table)


if __name__ == "__main__":
    main()
