"""Do modelled constraints help? Mopta-124 with its 68 black-box constraints, modelled or as a penalty.

    BOIDS_DATA=… python experiments/constraints.py --workers 2

The same evaluations and seeds for both. Results go to constraints.jsonl beside this file, one line per finished run;
runs that are there already are not repeated. `--table` prints what is on file.
"""

from __future__ import annotations

import time
from pathlib import Path

from common import Line, Study, markdown

import boids

BUDGET = 300
SEEDS = range(5)
FORMS: dict[str, float | None] = {"modelled": None, "penalty 10": 10.0}


def run(form: str, seed: int) -> Line:
    """Run one job and return its line."""
    target = boids.problems.make("mopta", constrained=True)
    begin = time.perf_counter()
    result = boids.minimize(
        target,
        target.space,
        BUDGET,
        method=boids.algorithms.Boids(rivals=False),
        seed=seed,
        n_constraints=target.n_constraints,
        penalty=FORMS[form],
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


STUDY = Study(Path(__file__).with_suffix(".jsonl"), ("form", "seed"), run)


def table() -> str:
    """Return one row per seed."""
    return markdown(["seed", *FORMS], [[str(seed), *(cell(form, seed) for form in FORMS)] for seed in SEEDS])


def cell(form: str, seed: int) -> str:
    """Return how a run ended."""
    for line in STUDY.lines(form=form, seed=seed):
        if line["feasible"]:
            return f"{line['fun']:.1f}, feasible from evaluation {line['first_feasible']} on"
        return f"infeasible by {line['violation']:.3f} (at {line['fun']:.1f})"
    return "–"


if __name__ == "__main__":
    STUDY.main(__doc__, [(form, seed) for seed in SEEDS for form in FORMS], table)
