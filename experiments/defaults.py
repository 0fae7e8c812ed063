"""Where should `Boids()` depart from the released behaviour? Surrogate and failure tolerance, one after the other.

    python experiments/defaults.py --workers 2

Every variant gets the same problems, budgets and seeds. Results go to defaults.jsonl beside this file, one line per
finished run; runs that are there already are not repeated. `--table` prints means and standard errors.
"""

from __future__ import annotations

import argparse
import json
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np

import boids
from boids.algorithms import Boids
from boids.gp.model import Surrogate

RESULTS = Path(__file__).with_suffix(".jsonl")
BUDGET = 300
SEEDS = range(3)
VARIANTS = {
    "released behaviour": Boids(surrogate=Surrogate(), failure_tolerance="released"),
    "regularised surrogate": Boids(surrogate=Surrogate.regularised(), failure_tolerance="released"),
    "and tolerance of BAxUS": Boids(surrogate=Surrogate.regularised(), failure_tolerance="baxus"),
}
PROBLEMS = {
    "hartmann-500": ("hartmann", 500, {}),
    "branin-500": ("branin", 500, {}),
    "ackley-100 shifted": ("ackley", 100, {"shift": True}),
    "levy-100 shifted": ("levy", 100, {"shift": True}),
}


def run(problem: str, variant: str, seed: int) -> dict[str, object]:
    """Run one job and return its line."""
    name, dim, options = PROBLEMS[problem]
    target = boids.problems.make(name, dim=dim, seed=seed, **options)
    begin = time.perf_counter()
    result = boids.minimize(target, target.space, BUDGET, method=VARIANTS[variant], seed=seed)
    return {
        "problem": problem,
        "variant": variant,
        "seed": seed,
        "fun": {str(n): float(result.history[n - 1]) for n in (50, 100, 200, BUDGET)},
        "seconds": round(time.perf_counter() - begin, 1),
        "version": boids.__version__,
    }


def finished() -> list[dict]:
    """Return the lines on file."""
    return [json.loads(line) for line in RESULTS.read_text().splitlines()] if RESULTS.exists() else []


def table() -> str:
    """Return mean ± standard error of the best value so far, per problem, number of evaluations and variant."""
    lines = ["| problem | evaluations | " + " | ".join(VARIANTS) + " |", "|---|---|" + "---|" * len(VARIANTS)]
    for problem in PROBLEMS:
        for count in (100, 200, BUDGET):
            cells = []
            for variant in VARIANTS:
                runs = [r for r in finished() if (r["problem"], r["variant"]) == (problem, variant)]
                values = np.array([r["fun"][str(count)] for r in runs])
                error = values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.nan
                cells.append(f"{values.mean():.3f} ± {error:.3f}" if len(values) else "–")
            lines.append(f"| {problem} | {count} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    """Run what is missing, or print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--table", action="store_true")
    args = parser.parse_args()
    if not args.table:
        done = {(r["problem"], r["variant"], r["seed"]) for r in finished()}
        jobs = [(p, v, s) for s in SEEDS for p in PROBLEMS for v in VARIANTS if (p, v, s) not in done]
        with ProcessPoolExecutor(args.workers) as pool:
            for line in pool.map(run, *zip(*jobs, strict=True)) if jobs else ():
                with RESULTS.open("a") as file:
                    file.write(json.dumps(line) + "\n")
    print(table())


if __name__ == "__main__":
    main()
