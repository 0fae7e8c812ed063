"""The baselines next to what is published of the originals, as the table of docs/methods/regression.md.

boids bench experiments/regression.toml --out results/regression
python experiments/regression_table.py results/regression            # prints the table
python experiments/regression_table.py results/regression --write    # and puts it into the page
"""

from __future__ import annotations

import argparse
import csv
import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from common import put_between

from boids.bench import run_log
from boids.bench.spec import slug

PAGE = Path(__file__).parent.parent / "docs" / "methods" / "regression.md"
VALUES = Path(__file__).parent / "regression.csv"

ALEBO = "ALEBO's repository, 50 runs"
PYCMA, PYSWARMS, UNIFORM = "pycma itself, 10 to 20 runs", "pyswarms itself, 30 runs", "30 runs"


@dataclass(frozen=True)
class Published:
    """What is known of an original: best value after `at` evaluations, mean with standard error, or median."""

    problem: str
    method: str
    at: int
    mean: float | None
    error: float | None
    median: float | None
    source: str


LATE = "hartmann-100 (positions 60-65)"
PUBLISHED = [
    Published("branin-100", "Sobol", 10, 5.179, 0.622, 4.31, ALEBO + ", said to be after 50"),
    Published("hartmann-100", "Sobol", 200, -2.325, 0.039, None, ALEBO),
    Published("branin-100", "CMA-ES (centre, 1/4)", 50, 1.642, 0.175, 1.26, ALEBO),
    Published("hartmann-100", "CMA-ES (centre, 1/4)", 200, -2.747, 0.027, None, ALEBO),
    Published("branin-100", "TuRBO-1", 50, 1.755, 0.329, 0.796, ALEBO),
    Published("hartmann-100", "TuRBO-1", 200, -3.078, 0.057, None, ALEBO),
    Published("branin-100", "HeSBO (d=4)", 50, 2.149, 0.716, 0.431, ALEBO),
    Published("hartmann-100", "HeSBO (d=12)", 200, -2.708, 0.091, -3.016, ALEBO),
    Published("branin-100", "ALEBO (d=4)", 50, 0.749, 0.212, 0.402, ALEBO),
    Published("hartmann-100", "ALEBO (d=12)", 200, -3.173, 0.032, None, ALEBO),
    Published(LATE, "LineBO coordinate, original", 200, -0.266, 0.047, -0.136, ALEBO),
    Published("hartmann-100", "LineBO random, original", 200, -0.485, 0.079, None, ALEBO),
    Published("hartmann-100", "LineBO descent, original", 200, -0.648, 0.079, None, ALEBO),
    Published("branin-100", "SAASBO", 46, None, None, 0.398, "SAASBO's notebook, 1 run"),
    Published("ackley-100", "CMA-ES (random start)", 1000, 20.60, 0.05, None, PYCMA),
    Published("branin-500", "CMA-ES (random start)", 1000, 0.418, 0.005, None, PYCMA),
    Published("hartmann-500", "CMA-ES (random start)", 1000, -2.947, 0.044, None, PYCMA),
    Published("ackley-100", "CMA-ES (centre)", 1000, 19.99, 0.14, None, PYCMA),
    Published("branin-500", "CMA-ES (centre)", 1000, 0.423, 0.007, None, PYCMA),
    Published("hartmann-500", "CMA-ES (centre)", 1000, -3.028, 0.031, None, PYCMA),
    Published("ackley-100", "PSO", 1000, 19.78, 0.06, None, PYSWARMS),
    Published("branin-500", "PSO", 1000, 0.411, 0.005, None, PYSWARMS),
    Published("hartmann-500", "PSO", 1000, -3.095, 0.017, None, PYSWARMS),
    Published("ackley-100", "PSO (nearest)", 1000, 20.70, 0.02, None, PYSWARMS),
    Published("hartmann-500", "PSO (nearest)", 1000, -3.107, 0.071, None, PYSWARMS),
    Published("ackley-100", "random search", 1000, 20.85, 0.01, None, UNIFORM),
    Published("branin-500", "random search", 1000, 0.452, 0.010, None, UNIFORM),
    Published("hartmann-500", "random search", 1000, -2.688, 0.041, None, UNIFORM),
]


def best_at(folder: Path, entry: Published) -> dict[int, float]:
    """Return the best values of all runs after so many evaluations, by repetition."""
    files = (folder / slug(entry.problem) / slug(entry.method)).glob("*.jsonl")
    logs = sorted(map(run_log.read, files), key=lambda log: log.header["repetition"])
    return {
        log.header["repetition"]: log.evaluations[entry.at - 1]["best"]
        for log in logs
        if len(log.evaluations) >= entry.at
    }


def row(folder: Path, entry: Published) -> str:
    """Return a line of the table."""
    values = np.array(list(best_at(folder, entry).values()))
    head = f"| {entry.method} | {entry.problem} @{entry.at} |"
    if not len(values):
        return f"{head} not run | | | {entry.source} |"
    mean, median = values.mean(), np.median(values)
    error = values.std(ddof=1) / math.sqrt(len(values)) if len(values) > 1 else math.nan
    if entry.mean is None or entry.error is None:
        known, apart = f"{entry.median:.3f}", "–"
    else:
        off = abs(mean - entry.mean) / math.hypot(error, entry.error)
        beyond = "better" if mean < entry.mean else "worse"
        apart = f"{off:.1f}" + (f", **{beyond}**" if off > 2.0 else "")
        known = f"{entry.mean:.3f} ± {entry.error:.3f}" + (f" (median {entry.median:.3f})" if entry.median else "")
    ours = f"{mean:.3f} ± {error:.3f} (median {median:.3f}, {len(values)} seeds)"
    return f"{head} {ours} | {known} | {apart} | {entry.source} |"


def table(folder: Path) -> str:
    """Return the whole table."""
    head = (
        "| method | problem @evaluations | ours: mean ± s.e. | published | combined s.e. apart | source |\n"
        "|---|---|---|---|---|---|"
    )
    return "\n".join([head, *(row(folder, entry) for entry in PUBLISHED)])


def main() -> None:
    """Print the table, and put it into the page if asked to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    made = table(given.folder)
    print(made)
    if given.write:
        put_between(PAGE, "measured", made)
        with VALUES.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(["problem", "method", "evaluations", "repetition", "best"])
            for entry in PUBLISHED:
                for repetition, best in best_at(given.folder, entry).items():
                    writer.writerow([entry.problem, entry.method, entry.at, repetition, repr(best)])


if __name__ == "__main__":
    main()
