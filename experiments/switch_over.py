"""What happens when a run passes `max_points`, beyond which the models of BOIDS see only the data around the swarm?

    python experiments/switch_over.py            # the runs that are still missing
    python experiments/switch_over.py --table

The limit is lowered to 300 data and runs go on to 600 evaluations, with and without it, from the same seeds; up to the
301st evaluation the two are the same run. Results go to switch_over.jsonl beside this file; runs that are there already
are not repeated.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import numpy as np
from scipy.stats import wilcoxon

import boids
from boids.algorithms import Boids

RESULTS = Path(__file__).with_suffix(".jsonl")
PROBLEMS = {
    "ackley-100 shifted": ("ackley", 100, {"shift": True}),
    "hartmann-500": ("hartmann", 500, {}),
}
LIMIT, BUDGET = 300, 600
SEEDS = range(5)
COUNTS = (300, 350, 400, 500, 600)


def run(problem: str, limit: int | None, seed: int) -> dict[str, object]:
    """Return the best values so far after `COUNTS` evaluations, and the processor time of the run."""
    name, dim, options = PROBLEMS[problem]
    target = boids.problems.make(name, dim=dim, **({"seed": seed} if options else {}), **options)
    method = Boids(line_search="climb", acquisition="logei", max_points=limit, rivals=False)
    begun = time.process_time()
    result = boids.minimize(target, target.space, BUDGET, method=method, seed=seed, progress=False)
    seconds = time.process_time() - begun
    best = {str(count): float(result.history[count - 1]) for count in COUNTS}
    return {"problem": problem, "limit": limit, "seed": seed, "best": best, "seconds": round(seconds, 1)}


def known() -> list[dict]:
    """Return the runs that have been made."""
    return [json.loads(line) for line in RESULTS.read_text().splitlines()] if RESULTS.exists() else []


def table(runs: list[dict]) -> str:
    """Return a Markdown table: mean ± standard error of the best values, with and without the limit."""
    lines = ["| problem | evaluations | all data | at most 300 | p, paired |", "|---|---|---|---|---|"]
    for problem in PROBLEMS:
        both: dict[int | None, dict[int, dict]] = {None: {}, LIMIT: {}}
        for each in runs:
            if each["problem"] == problem:
                both[each["limit"]][each["seed"]] = each["best"]
        seeds = sorted(set(both[None]) & set(both[LIMIT]))
        if len(seeds) < 2:
            continue
        for count in COUNTS:
            cells, ends = [], []
            for limit in (None, LIMIT):
                values = np.array([both[limit][seed][str(count)] for seed in seeds])
                ends.append(values)
                cells.append(f"{values.mean():.3f} ± {values.std(ddof=1) / np.sqrt(len(values)):.3f}")
            same = bool((ends[0] == ends[1]).all())
            p = "the same" if same else f"{wilcoxon(ends[0], ends[1]).pvalue:.2f}"
            lines.append(f"| {problem} ({len(seeds)} seeds) | {count} | {' | '.join(cells)} | {p} |")
    return "\n".join(lines)


def main() -> None:
    """Make the runs, or show them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--table", action="store_true")
    given = parser.parse_args()
    if not given.table:
        for seed in SEEDS:
            for problem in PROBLEMS:
                for limit in (LIMIT, None):
                    if not any((r["problem"], r["limit"], r["seed"]) == (problem, limit, seed) for r in known()):
                        made = run(problem, limit, seed)
                        with RESULTS.open("a") as file:
                            file.write(json.dumps(made) + "\n")
                        print(json.dumps(made), flush=True)
    print(table(known()))


if __name__ == "__main__":
    main()
