"""Speed and memory of BOIDS: seconds per proposal by phase over whole runs, and how they grow with n and d.

    python benchmarks/speed.py --quick     # a few minutes, prints
    python benchmarks/speed.py --full      # whole runs of 1000 evaluations, rewrites docs/benchmarks.md up to "Scale"

Machines differ, so the page states the machine and a calibration kernel (one 1000×1000 double matrix product on one
thread) measured in the same run.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

import boids
from boids.algorithms import Boids
from boids.records import History

PAGE = Path(__file__).parent.parent / "docs" / "benchmarks.md"
PHASES = ("fit", "select", "optimise", "lift", "other")
#: Seconds per iteration of the released code: the paper's table, 8 CPUs.
PAPER = {"ackley": 11.90, "hartmann": 23.04, "branin": 23.10}


def whole_run(problem: str, dim: int, budget: int, seed: int) -> dict[str, object]:
    """Run BOIDS once and return where the time went; meant for a process of its own, whose peak memory it reports."""
    target = boids.problems.make(problem, dim=dim)
    begin = time.perf_counter()
    result = boids.minimize(target, target.space, budget, seed=seed)
    total = time.perf_counter() - begin
    evaluate = result.times["evaluate"]
    return {
        "problem": problem,
        "dim": dim,
        "budget": budget,
        "seed": seed,
        "fun": result.fun,
        "per_evaluation": (total - evaluate) / budget,
        "phases": {phase: result.times.get(phase, 0.0) / budget for phase in PHASES},
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def in_own_process(problem: str, dim: int, budget: int, seed: int) -> dict[str, object]:
    """Call `whole_run` in a fresh interpreter, so that the peak memory is the run's own."""
    command = [sys.executable, __file__, "--one", problem, str(dim), str(budget), str(seed)]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return json.loads(output.splitlines()[-1])


def one_proposal(n: int, dim: int, repeats: int = 3) -> dict[str, float]:
    """Seconds of one proposal by phase with n random data in d dimensions; fitting measured apart, as one refit."""
    rng = np.random.default_rng(0)
    method = Boids(embedding=False)
    state = method.init(dim, 10 * n, rng)
    units = rng.uniform(-1, 1, (n, dim))
    history = History(units, np.sum(units[:, : min(6, dim)] ** 2, axis=1))
    state = replace(state, queue=state.queue[:0], rows=np.arange(n))
    # As in a run: the last fit saw 2 % fewer data.
    earlier, _ = method.ask(replace(state, rows=np.arange(n - max(1, n // 50))), history, [], rng)
    before_refit = replace(earlier, rows=np.arange(n), fitted_at=0)
    state, _ = method.ask(before_refit, history, [], rng)
    times = []
    for k in range(repeats):
        _, proposal = method.ask(state, history, [], np.random.default_rng(k))
        _, refitted = method.ask(before_refit, history, [], np.random.default_rng(k))
        times.append({**proposal.times, "refit": refitted.times["fit"]})
    return {key: float(np.median([t[key] for t in times])) for key in times[0]}


def calibration() -> float:
    """Seconds of one 1000×1000 double matrix product on one thread, the best of ten."""
    a = np.random.default_rng(0).normal(size=(1000, 1000))
    best = np.inf
    with threadpool_limits(1):
        for _ in range(10):
            begin = time.perf_counter()
            a @ a
            best = min(best, time.perf_counter() - begin)
    return best


def runs_table(runs: list[dict]) -> str:
    """Markdown table of whole runs."""
    head = "| problem | evaluations | s per evaluation | " + " | ".join(PHASES) + " | peak memory | paper, 8 CPUs |\n"
    rule = "|---|---|---|" + "---|" * len(PHASES) + "---|---|\n"
    rows = [
        f"| {r['problem']}-{r['dim']}, seed {r['seed']} | {r['budget']} | **{r['per_evaluation']:.3f}** | "
        + " | ".join(f"{r['phases'][p]:.4f}" for p in PHASES)
        + f" | {r['peak_mb']:.0f} MB | {PAPER[r['problem']]:.2f} |\n"
        for r in runs
    ]
    return head + rule + "".join(rows)


def growth_table(sizes: list[tuple[int, int]]) -> str:
    """Markdown table of single proposals over n and d."""
    text = "| n | d | proposal without refit (s) | fit | select | optimise | one refit (s) |\n" + "|---" * 7 + "|\n"
    for n, dim in sizes:
        t = one_proposal(n, dim)
        whole = sum(t[k] for k in ("fit", "select", "optimise", "lift"))
        cells = [f"**{whole:.3f}**", *(f"{t[k]:.4f}" for k in ("fit", "select", "optimise")), f"{t['refit']:.3f}"]
        text += f"| {n} | {dim} | {' | '.join(cells)} |\n"
        print(text.splitlines()[-1], flush=True)
    return text


def page(runs: list[dict], growth: str, kernel: float) -> str:
    """Return docs/benchmarks.md."""
    return f"""# Benchmarks: time and memory of a proposal

Written by `make bench-full` ({platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()},
NumPy {np.__version__}; one 1000×1000 double matrix product on one thread takes {1000 * kernel:.1f} ms here). Timings
depend on the machine; compare ratios.

## Whole runs

`boids run PROBLEM --dim D --budget N --seed S`; seconds per evaluation without the objective itself, averaged over the
whole run, and its split by phase. *fit*: standardising, fitting and conditioning the Gaussian process; *select*: lines,
posterior draw, bandit; *optimise*: NSGA-II along the line; *lift*: back to the input space.

{runs_table(runs)}
The last column is what the paper reports for its released code on 8 CPUs.

## How the cost grows

One proposal with n random data in d dimensions (`python benchmarks/speed.py --growth`). A refit happens when the data
have grown by 2 %; the table shows its cost apart.

{growth}
What to expect from the algebra: *fit* n³/3 multiply-adds for the factor and as much for its inverse; a refit at most
20 times (n³ + 2 n² d); *select* 5000 n + 5000 × 1024 kernel values and cosines, independent of d; *optimise* about
(5000 + 9900) (n d + n²/2) multiply-adds in single precision, plus the genetic operators, 9900 d. Memory: a handful of
n × n matrices, 5000 × (n + d) numbers, and NSGA-II's comparison of its first 5000 points with each other.
"""


def kept() -> str:
    """Return the part of the page that others write: benchmarks/scale.py, and people."""
    _, mark, rest = PAGE.read_text().partition("\n## Scale\n")
    return mark + rest


def main() -> None:
    """Run what the arguments ask for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--growth", action="store_true")
    parser.add_argument("--one", nargs=4, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one:
        problem, *numbers = args.one
        print(json.dumps(whole_run(problem, *map(int, numbers))))
        return
    if args.growth:
        growth_table([(n, d) for d in (10, 100, 500) for n in (100, 300, 1000)])
        return
    budget = 1000 if args.full else 150
    sizes = [(n, d) for d in (10, 100, 500) for n in (100, 300, 1000)] if args.full else [(100, 100), (300, 100)]
    kernel = calibration()
    runs = []
    for problem, dim in (("ackley", 100), ("hartmann", 500)):
        runs.append(in_own_process(problem, dim, budget, seed=0))
        print(json.dumps(runs[-1]), flush=True)
    growth = growth_table(sizes)
    text = page(runs, growth, kernel)
    if args.full:
        PAGE.write_text(text + kept())
        print(f"wrote {PAGE.name}")
    else:
        print(text)


if __name__ == "__main__":
    main()
