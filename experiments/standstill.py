"""Should a search that stands still in the whole space begin anew in subspaces through its best point?

    python experiments/standstill.py
    python experiments/standstill.py --table

Problems on which a probe gives sweeps up, with more than six evaluations per parameter: a network of probes.py that
swings a pendulum up, a hopping robot, and functions of COCO that are rotated. "anew" is the default.
Results go to standstill.jsonl beside this file; runs that are there already are not repeated.
"""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path

import numpy as np
from common import Line, Study, markdown
from probes import MOVED
from probes import PROBLEMS as NETWORKS

import boids
from boids.algorithms import Boids

BUDGET = 500
SEEDS = range(30, 33)
VARIANTS = {"anew": {}, "never": {"renew_from": None}}
#: Name: problem, dimension, options.
MADE = {
    "f16-40": ("coco", 40, {"function": 16}),
    "f17-40": ("coco", 40, {"function": 17}),
    "f21-40": ("coco", 40, {"function": 21}),
    "f24-40": ("coco", 40, {"function": 24}),
    "hopper": ("hopper", None, {}),
}
PROBLEMS = (*MADE, "pendulum")


def run(name: str, variant: str, seed: int) -> Line:
    """Run one job and return its line."""
    begin = time.perf_counter()
    minimize = partial(boids.minimize, budget=BUDGET, method=Boids(**VARIANTS[variant]), seed=seed)
    if name in MADE:
        kind, dim, options = MADE[name]
        problem = boids.problems.make(kind, dim=dim, seed=seed, **options)
        result = minimize(problem, problem.space)
    else:
        function, dim, side = NETWORKS[name]
        middle = np.random.default_rng(100 + seed).uniform(-MOVED * side, MOVED * side, dim)
        result = minimize(lambda x: function(x + middle), [(-side, side)] * dim)
    runs = [trial.info["restarts"] for trial in result.trials]
    return {
        "problem": name,
        "variant": variant,
        "seed": seed,
        "fun": float(result.fun),
        "begun": (1 + np.flatnonzero(np.diff(runs))).tolist(),
        "seconds": round(time.perf_counter() - begin, 1),
        "version": boids.__version__,
    }


STUDY = Study(Path(__file__).with_suffix(".jsonl"), ("problem", "variant", "seed"), run)


def table() -> str:
    """Return mean ± standard error of the best value."""
    return markdown(["problem", *VARIANTS], STUDY.means(PROBLEMS, VARIANTS, decimals=2))


if __name__ == "__main__":
    STUDY.main(__doc__, [(p, v, s) for s in SEEDS for p in PROBLEMS for v in VARIANTS], table)
