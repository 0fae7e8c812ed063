"""Does BOIDS profit from a point that is known beforehand, and from laying its subspaces through that point?

    BOIDS_DATA=… python experiments/warm_start.py
    python experiments/warm_start.py --table

The point is what an earlier run of 60 evaluations with another seed has found ("earlier"), or the optimum plus noise
("near", a standard deviation of 0.3 in every coordinate of [-1, 1]^D), or any point of the box ("anywhere", to see what
a bad one does). It counts as the first of 80 evaluations. "not centred" is the same search with subspaces through the
middle of the box; "wide design" has the initial design all over the subspace instead of around the point. The method is
driven by hand through its three functions, as the shell does, and its search on the lines is a smaller one than by
default, the same for all, so that the whole takes minutes.
Results go to warm_start.jsonl beside this file; runs that are there already are not repeated.
"""

from __future__ import annotations

import time
from functools import cache
from pathlib import Path
from unittest.mock import patch

import numpy as np
from common import Line, Study, markdown, mean_with_error
from scipy.stats import wilcoxon

import boids
from boids.algorithms import Boids, boids_guests
from boids.blocks.nsga2 import NSGA2
from boids.records import Domain, History, Outcome, Proposal

LIGHT = {"search": NSGA2(population=50, offspring=50, generations=40), "max_candidates": 1000, "rivals": False}
EARLIER, BUDGET = 60, 80
NOISE = 0.3
SEEDS = range(4)
COUNTS = (1, 20, 40, 80)
PROBLEMS = {
    "ackley-100 shifted": ("ackley", 100, {"shift": True}),
    "levy-100 shifted": ("levy", 100, {"shift": True}),
    "mopta-124": ("mopta", None, {}),
}
STARTS = ("earlier", "near")
VARIANTS = ("scratch", *(f"{s}{v}" for s in STARTS for v in ("", ", not centred", ", wide design")), "anywhere")


def search(problem: boids.problems.Problem, method: Boids, budget: int, seed: int, start: np.ndarray | None = None):
    """Return points (n, D) and values (n,) of a search that begins with `start`."""
    units, values, asked = np.empty((0, problem.space.dim)), np.empty(0), 0

    def rng(*key: int) -> np.random.Generator:
        return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key))

    state = method.init(Domain(problem.space.dim), budget, rng(0, 0))
    while len(values) < budget:
        if start is not None and not len(values):
            proposal = Proposal(start)
        else:
            state, proposal = method.ask(state, History(units, values), (), rng(1, asked))
            asked += 1
        value = float(problem(problem.space.decode(proposal.unit)))
        units, values = np.vstack([units, proposal.unit]), np.append(values, value)
        state = method.tell(state, History(units, values), proposal, Outcome(value), rng(2, len(values)))
    return units, values


def make(name: str, seed: int) -> boids.problems.Problem:
    """Return a problem, shifted anew for every seed."""
    kind, dim, options = PROBLEMS[name]
    return boids.problems.make(kind, dim=dim, **({"seed": seed} if options else {}), **options)


@cache
def earlier_best(name: str, seed: int) -> np.ndarray:
    """Return the best point of an earlier run."""
    units, values = search(make(name, seed), Boids(**LIGHT), EARLIER, 1000 + seed)
    return units[int(np.argmin(values))]


def run(name: str, variant: str, seed: int) -> Line:
    """Run one job and return its line."""
    problem = make(name, seed)
    begin, start = time.perf_counter(), None
    if variant.startswith("earlier"):
        start = earlier_best(name, seed)
    if variant.startswith("near"):
        optimum = problem.space.encode(problem.minimisers[0])
        start = np.clip(optimum + NOISE * np.random.default_rng(seed).standard_normal(len(optimum)), -1.0, 1.0)
    if variant == "anywhere":
        start = np.random.default_rng([seed, 1]).uniform(-1.0, 1.0, problem.space.dim)
    method = Boids(centred_on_guests=not variant.endswith("not centred"), **LIGHT)
    extent = 1.0 if variant.endswith("wide design") else boids_guests.DESIGN_EXTENT
    with patch.object(boids_guests, "DESIGN_EXTENT", extent):
        best = np.minimum.accumulate(search(problem, method, BUDGET, seed, start)[1])
    return {
        "problem": name,
        "variant": variant,
        "seed": seed,
        "fun": {str(n): float(best[n - 1]) for n in COUNTS},
        "seconds": round(time.perf_counter() - begin, 1),
        "version": boids.__version__,
    }


STUDY = Study(Path(__file__).with_suffix(".jsonl"), ("problem", "variant", "seed"), run)


def values(problem: str, variant: str, count: int) -> np.ndarray:
    """Return the best values after so many evaluations, in the order of the seeds."""
    runs = {line["seed"]: line["fun"].get(str(count), np.nan) for line in STUDY.lines(problem=problem, variant=variant)}
    return np.array([runs[seed] for seed in sorted(runs)])


def table() -> str:
    """Return mean ± standard error of the best value so far, and the paired test of centring."""
    rows = [
        [problem, variant, *(mean_with_error(values(problem, variant, count)) for count in COUNTS)]
        for problem in PROBLEMS
        for variant in VARIANTS
    ]
    known = [row for row in rows if set(row[2:]) != {"–"}]
    lines = [markdown(["problem", "start", *(f"{count} evaluations" for count in COUNTS)], known)]
    lines += ["", f"Paired by seed, {BUDGET} evaluations, all problems (signed ranks of the logarithms of ratios):"]
    for one, other in [(a, f"{a}{v}") for a in STARTS for v in (", not centred", ", wide design")] + [
        (a, "scratch") for a in (*STARTS, "anywhere")
    ]:
        pairs = [(values(p, one, BUDGET), values(p, other, BUDGET)) for p in PROBLEMS]
        ratios = np.concatenate([np.log(a / b) for a, b in pairs if len(a) == len(b)])
        if len(ratios):
            p = wilcoxon(ratios, alternative="less").pvalue
            wins = f"lower than {other!r} in {np.sum(ratios < 0)} of {len(ratios)} runs"
            lines.append(f"- {one!r}: {wins}, by {1 - np.exp(ratios.mean()):.1%} on average, p = {p:.3f}")
    return "\n".join(lines)


if __name__ == "__main__":
    jobs = [(p, v, s) for s in SEEDS for p in PROBLEMS for v in VARIANTS]
    # No optimum of Mopta is known to start near to.
    STUDY.main(__doc__, [job for job in jobs if not (job[0].startswith("mopta") and job[1].startswith("near"))], table)
