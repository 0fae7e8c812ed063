"""Do modelled constraints help? Mopta-124 with its 68 black-box constraints, modelled or as a penalty.

    BOIDS_DATA=… python experiments/constraints.py --workers 2

The same evaluations and seeds for both. Results go to constraints.jsonl beside this file, one line per finished run;
runs that are there already are not repeated. `--table` prints what is on file.
"""

from __future__ import annotations

import argparse
import json
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import boids

RESULTS = Path(__file__).with_suffix(".jsonl")
BUDGET = 300
SEEDS = range(5)
FORMS: dict[str, float | None] = {"modelled": None, "penalty 10": 10.0}


def run(form: str, seed: int) -> dict[str, object]:
    """Run one job and return its line."""
    target = boids.problems.make("mopta", constrained=True)
    begin = time.perf_counter()
    result = boids.minimize(
        target, target.space, BUDGET, seed=seed, n_constraints=target.n_constraints, penalty=FORMS[form]
    )
    done = [trial for trial in result.trials if not trial.failed]
    return {
        "form": form,
        "seed": seed,
        "feasible": result.feasible,
        "first_feasible": next((trial.id + 1 for trial in done if trial.feasible), None),
        "fun": result.fun,
        "violation": min(trial.violation for trial in done),
        "soft": min(trial.value + 10.0 * trial.violation for trial in done),
        "seconds": round(time.perf_counter() - begin, 1),
        "version": boids.__version__,
    }


def finished() -> list[dict]:
    """Return the lines on file."""
    return [json.loads(line) for line in RESULTS.read_text().splitlines()] if RESULTS.exists() else []


def table() -> str:
    """Return one row per seed."""
    lines = ["| seed | " + " | ".join(FORMS) + " |", "|---|" + "---|" * len(FORMS)]
    for seed in SEEDS:
        cells = []
        for form in FORMS:
            found = [r for r in finished() if (r["form"], r["seed"]) == (form, seed)]
            cells += [_cell(r) for r in found[:1]] or ["–"]
        lines.append(f"| {seed} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _cell(line: dict) -> str:
    if line["feasible"]:
        return f"{line['fun']:.1f}, feasible from evaluation {line['first_feasible']} on"
    return f"infeasible by {line['violation']:.3f} (at {line['fun']:.1f})"


def main() -> None:
    """Run what is missing, or print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--table", action="store_true")
    args = parser.parse_args()
    if not args.table:
        done = {(r["form"], r["seed"]) for r in finished()}
        jobs = [(form, seed) for seed in SEEDS for form in FORMS if (form, seed) not in done]
        with ProcessPoolExecutor(args.workers) as pool:
            for line in pool.map(run, *zip(*jobs, strict=True)) if jobs else ():
                with RESULTS.open("a") as file:
                    file.write(json.dumps(line) + "\n")
    print(table())


if __name__ == "__main__":
    main()
