"""What does evaluating in parallel cost BOIDS, at equal numbers of evaluations?

    python experiments/parallel.py
    python experiments/parallel.py --table

Serial, synchronous batches (ask for k, tell k) and asynchronous (8 under way, each for an exponential time, in
simulated time: nobody sleeps). Seeds are paired: all modes of a seed have the same problem, subspaces and design. Other
variants: the models are told nothing of pending points ("none"), or the best value so far (the constant "liar"),
instead of the predicted mean, which is what `Boids` does. The search on the lines is a smaller one than by default, the
same for all, so that the whole takes minutes. Results go to parallel.jsonl beside this file, one line per run; runs
that are there already are not repeated.
"""

from __future__ import annotations

import heapq
import time
from pathlib import Path
from unittest.mock import patch

import numpy as np
from common import Line, Study, markdown, mean_with_error
from scipy.stats import ttest_1samp, wilcoxon

import boids
from boids.algorithms import Boids
from boids.blocks.nsga2 import NSGA2
from boids.gp.posterior import Posterior

BUDGET = 200
SEEDS = range(5)
METHOD = Boids(search=NSGA2(population=50, offspring=50, generations=40), max_candidates=1000, rivals=False)
MODES = ("serial", "batches of 4", "batches of 8", "8 in flight")
OTHERS = ("batches of 8, none", "batches of 8, liar")
PROBLEMS = {
    "ackley-100 shifted": ("ackley", {"shift": True}),
    "hartmann-100": ("hartmann", {}),
    "levy-100 shifted": ("levy", {"shift": True}),
}


def liar(posterior: Posterior, points: np.ndarray) -> Posterior:
    """Condition on the best value so far at all pending points."""
    outputs = np.append(posterior.outputs, np.full(len(points), posterior.outputs.min()))
    return Posterior.condition(posterior.surrogate, posterior.hyper, np.vstack([posterior.inputs, points]), outputs)


def synchronous(optimizer: boids.Optimizer, problem: boids.problems.Problem, size: int) -> None:
    """Ask for `size` points, evaluate them all, tell them all."""
    while optimizer.remaining:
        for trial in optimizer.ask(size):
            optimizer.tell(trial, problem(trial.x))


def asynchronous(optimizer: boids.Optimizer, problem: boids.problems.Problem, size: int, seed: int) -> None:
    """Keep `size` points under way, each for an exponentially distributed time."""
    rng, now, under_way = np.random.default_rng([seed, 77]), 0.0, list[tuple[float, int]]()
    while optimizer.remaining or under_way:
        while optimizer.remaining and len(under_way) < size:
            heapq.heappush(under_way, (now + rng.exponential(), optimizer.ask().id))
        now, number = heapq.heappop(under_way)
        optimizer.tell(number, problem(optimizer.trials[number].x))


def run(name: str, mode: str, seed: int) -> Line:
    """Run one job and return its line."""
    kind, options = PROBLEMS[name]
    problem = boids.problems.make(kind, dim=100, seed=seed, **options)
    optimizer = boids.Optimizer(problem.space, budget=BUDGET, method=METHOD, seed=seed)
    begin = time.process_time()
    fantasise = {"none": lambda posterior, points: posterior, "liar": liar}.get(mode.rpartition(" ")[2])
    with patch.object(Posterior, "fantasise", fantasise or Posterior.fantasise):
        if mode.startswith("8 in flight"):
            asynchronous(optimizer, problem, 8, seed)
        else:
            synchronous(optimizer, problem, 1 if mode == "serial" else int(mode.split()[2].strip(",")))
    best = np.minimum.accumulate([trial.value for trial in optimizer.trials])
    return {
        "problem": name,
        "mode": mode,
        "seed": seed,
        "fun": {str(n): float(best[n - 1]) for n in (50, 100, BUDGET)},
        "subspace_dim": optimizer.diagnostics["subspace_dim"],
        "cpu_seconds": round(time.process_time() - begin, 1),
        "version": boids.__version__,
    }


STUDY = Study(Path(__file__).with_suffix(".jsonl"), ("problem", "mode", "seed"), run)


def values(problem: str, mode: str, count: int = BUDGET) -> dict[int, float]:
    """Return the best values after so many evaluations, by seed."""
    return {line["seed"]: line["fun"][str(count)] for line in STUDY.lines(problem=problem, mode=mode)}


def differences(problem: str, mode: str, reference: str) -> np.ndarray:
    """Return how much higher a mode ends than the reference, seed by seed."""
    one, other = values(problem, mode), values(problem, reference)
    return np.array([one[seed] - other[seed] for seed in sorted(one.keys() & other.keys())])


def table(modes: tuple[str, ...], reference: str) -> str:
    """Return mean ± standard error of the final values, and p-values of "worse than the reference", paired by seed."""
    pooled: dict[str, list[np.ndarray]] = {mode: [] for mode in modes}
    rows = []
    for problem in PROBLEMS:
        row = [problem]
        for mode in modes:
            cell = mean_with_error(list(values(problem, mode).values()))
            d = differences(problem, mode, reference)
            if mode != reference and len(d) > 1 and d.any():
                cell += f" (p = {ttest_1samp(d, 0.0, alternative='greater').pvalue:.2f})"
                pooled[mode].append(d / d.std(ddof=1))
            row.append(cell)
        rows.append(row)
    ranks = [np.concatenate(pooled[mode]) if pooled[mode] else np.empty(0) for mode in modes]
    cells = [f"p = {wilcoxon(d, alternative='greater').pvalue:.2f}" if len(d) else "" for d in ranks]
    return markdown(["problem", *modes], [*rows, ["all, signed ranks", *cells]])


def tables() -> str:
    """Return both tables."""
    return "\n".join(
        [
            f"Best value after {BUDGET} evaluations; p: worse than serial.\n",
            table(MODES, "serial"),
            "\nWhat the models are told of pending points; p: worse than the predicted mean.\n",
            table(("batches of 8", *OTHERS), "batches of 8"),
        ]
    )


if __name__ == "__main__":
    jobs = [(p, m, s) for s in SEEDS for p in PROBLEMS for m in MODES]
    STUDY.main(__doc__, [*jobs, *((p, m, s) for s in SEEDS[:3] for p in PROBLEMS for m in OTHERS)], tables)
