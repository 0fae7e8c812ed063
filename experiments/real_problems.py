"""BOIDS on the three real problems of its paper: Mopta-124, LassoDNA-180 and HalfCheetah-102.

    BOIDS_DATA=… python experiments/real_problems.py --workers 2
    python experiments/real_problems.py --table          # and the picture in docs/images

Every run gets 300 evaluations. Results go to real_problems.jsonl beside this file, one line per finished run with the
best value after every tenth evaluation; runs that are there already are not repeated.
"""

from __future__ import annotations

import argparse
import json
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np

import boids

RESULTS = Path(__file__).with_suffix(".jsonl")
PICTURE = Path(__file__).parent.parent / "docs" / "images" / "real_problems.png"
BUDGET, STEP = 300, 10
SEEDS = range(3)
PROBLEMS = {"mopta": "Mopta-124", "lasso-dna": "LassoDNA-180", "half-cheetah": "HalfCheetah-102"}
METHODS = ("boids", "random")
COUNTS = (50, 100, 200, 300)


def run(problem: str, method: str, seed: int) -> dict[str, object]:
    """Run one job and return its line."""
    target = boids.problems.make(problem)
    begin = time.perf_counter()
    result = boids.minimize(target, target.space, BUDGET, method=method, seed=seed)
    return {
        "problem": problem,
        "method": method,
        "seed": seed,
        "best": [float(value) for value in result.history[STEP - 1 :: STEP]],
        "seconds": round(time.perf_counter() - begin, 1),
        "times": {phase: round(seconds, 1) for phase, seconds in result.times.items()},
        "version": boids.__version__,
    }


def finished() -> list[dict]:
    """Return the lines on file."""
    return [json.loads(line) for line in RESULTS.read_text().splitlines()] if RESULTS.exists() else []


def curves(problem: str, method: str) -> np.ndarray:
    """Return the best values so far of all finished runs, (seeds, BUDGET / STEP)."""
    lines = [r["best"] for r in finished() if (r["problem"], r["method"]) == (problem, method)]
    return np.array(lines).reshape(len(lines), BUDGET // STEP)


def table() -> str:
    """Return mean ± standard error of the best value, and the single runs at the end."""
    lines = ["| problem | method | " + " | ".join(f"{n} evaluations" for n in COUNTS) + " | runs |"]
    lines.append("|---|---|" + "---|" * (len(COUNTS) + 1))
    for problem, label in PROBLEMS.items():
        for method in METHODS:
            values = curves(problem, method)
            if not len(values):
                continue
            digits = 4 if problem == "lasso-dna" else 1
            cells = []
            for count in COUNTS:
                column = values[:, count // STEP - 1]
                error = column.std(ddof=1) / np.sqrt(len(column)) if len(column) > 1 else np.nan
                cells.append(f"{column.mean():.{digits}f} ± {error:.{digits}f}")
            runs = ", ".join(f"{value:.{digits}f}" for value in values[:, -1])
            lines.append(f"| {label} | {method} | " + " | ".join(cells) + f" | {runs} |")
    return "\n".join(lines)


def draw() -> None:
    """Save the curves of all runs."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 3.4), layout="constrained")
    for axes, (problem, label) in zip(figure.subplots(1, len(PROBLEMS)), PROBLEMS.items(), strict=True):
        for method, colour in zip(METHODS, ("tab:blue", "0.6"), strict=True):
            for i, curve in enumerate(curves(problem, method)):
                count = np.arange(STEP, BUDGET + 1, STEP)
                axes.plot(count, curve, color=colour, linewidth=1.5, label=method if i == 0 else None)
        axes.set(title=label, xlabel="evaluations", xlim=(0, BUDGET))
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False)
    figure.axes[0].set_ylabel("best value so far")
    figure.savefig(PICTURE, dpi=150)


def main() -> None:
    """Run what is missing, or print the table and save the picture."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--table", action="store_true")
    args = parser.parse_args()
    if not args.table:
        done = {(r["problem"], r["method"], r["seed"]) for r in finished()}
        jobs = [(p, m, s) for s in SEEDS for m in METHODS for p in PROBLEMS if (p, m, s) not in done]
        with ProcessPoolExecutor(args.workers) as pool:
            for line in pool.map(run, *zip(*jobs, strict=True)) if jobs else ():
                with RESULTS.open("a") as file:
                    file.write(json.dumps(line) + "\n")
    print(table())
    draw()


if __name__ == "__main__":
    main()
