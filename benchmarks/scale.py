"""Very many parameters, very many trials: processor time and peak memory of a proposal after `add_trials`.

    python benchmarks/scale.py             # all cases, each in a process of its own, as a Markdown table
    python benchmarks/scale.py --write     # and put it into docs/benchmarks.md

Every case begins with n earlier trials of an objective with D parameters, handed over by `Optimizer.add_trials`. Then
trials are asked for and told until some of them have come from the model. With the default settings the model is in a
subspace at that time; the worst case, which a long run comes to in the end, is the input space itself with all data
(`embedding=False`). One BLAS thread, and processor time rather than wall time: the numbers hold on a busy machine.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import tempfile
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

import boids
from boids.algorithms import Boids

SIZES = [(10_000, 1_000), (1_000, 10_000)]
SEARCHES: dict[str, dict[str, Any]] = {
    "climb": {"line_search": "climb", "acquisition": "logei"},
    "nsga2": {"line_search": "nsga2", "acquisition": "ts"},
}
SPACES = {"subspaces": True, "input space": False}


def bowl(units: np.ndarray) -> np.ndarray:
    """Return a bowl in 30 of the parameters, with ripples, and a slight slope in the others."""
    active = units[:, :30] - 0.3
    return np.sum(active**2 - 0.1 * np.cos(9.0 * active), axis=1) + 0.1 * units[:, 30:].mean(axis=1)


def measure(dim: int, count: int, search: str, space: str, proposals: int) -> dict[str, Any]:
    """Measure one case; meant for a process of its own, whose peak memory it reports."""
    method = Boids(embedding=SPACES[space], **SEARCHES[search])
    optimizer = boids.Optimizer([(-1, 1)] * dim, budget=1000, method=method, seed=0)
    units = np.random.default_rng(0).uniform(-1, 1, (count, dim))
    begun = time.process_time()
    optimizer.add_trials(list(zip(units, bowl(units), strict=True)))
    adding, seconds, phases = time.process_time() - begun, list[float](), dict[str, float]()
    while len(seconds) < proposals:
        before, begun = optimizer.times, time.process_time()
        trial = optimizer.ask()
        spent = time.process_time() - begun
        if trial.info["phase"] == "line":
            seconds.append(spent)
            for phase in ("fit", "select", "optimise"):
                phases[phase] = max(phases.get(phase, 0.0), optimizer.times[phase] - before[phase])
        optimizer.tell(trial, float(bowl(trial.unit[None])[0]))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "run.npz"
        begun = time.process_time()
        optimizer.save(file)
        saving, size = time.process_time() - begun, file.stat().st_size / 1e6
        begun = time.process_time()
        boids.Optimizer.load(file)
        loading = time.process_time() - begun
    return {
        "dim": dim,
        "count": count,
        "search": search,
        "space": space,
        "adding": adding,
        "median": float(np.median(seconds)),
        "largest": max(seconds),
        "first": seconds[0],
        "phases": phases,
        "saving": saving,
        "file_mb": size,
        "loading": loading,
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "diagnostics": {
            k: v for k, v in optimizer.diagnostics.items() if k in ("subspace_dim", "guests", "guests_in_use")
        },
    }


def main() -> None:
    """Measure what the arguments ask for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--one", nargs=5, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        dim, count, search, space, proposals = given.one
        print(json.dumps(measure(int(dim), int(count), search, space, int(proposals))))


if __name__ == "__main__":
    main()
