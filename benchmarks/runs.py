"""Whole runs by the default settings: processor time per evaluation by phase, and peak memory."""

from __future__ import annotations

import time
from typing import Any

import boids
from benchmarks.machine import Numbers, calibration, in_own_process, peak_megabytes, processor_clock
from benchmarks.text import markdown

PHASES = ("fit", "select", "optimise", "lift", "other")
#: Problem, dimension, options, and seconds per evaluation of the released code: the paper's table, 8 CPUs.
CASES: list[tuple[str, int, dict[str, Any], float]] = [
    ("ackley", 100, {"shift": True}, 11.90),
    ("hartmann", 500, {}, 23.04),
]


def whole_run(problem: str, dim: int, options: dict[str, Any], budget: int, seed: int) -> dict[str, Any]:
    """Run BOIDS once and return where the time went; meant for a process of its own, whose peak memory it reports."""
    target = boids.problems.make(problem, dim=dim, **options)
    kernels, marks = [calibration()], list[tuple[int, float]]()
    with processor_clock():
        begun, spent_aside = time.process_time(), 0.0
        optimizer = boids.Optimizer(target.space, budget=budget, seed=seed)
        for number in range(1, budget + 1):
            trial = optimizer.ask()
            evaluating = time.process_time()
            value = float(target(trial.x))
            spent_aside += time.process_time() - evaluating
            optimizer.tell(trial, value)
            if number % max(1, budget // 10) == 0:
                marks.append((number, time.process_time() - begun - spent_aside))
                calibrating = time.process_time()
                kernels.append(calibration())
                spent_aside += time.process_time() - calibrating
        total = time.process_time() - begun - spent_aside
        phases, best = optimizer.times, optimizer.best
    known = sum(phases.get(phase, 0.0) for phase in PHASES[:-1])
    return {
        "problem": problem,
        "dim": dim,
        "options": options,
        "budget": budget,
        "seed": seed,
        "value": None if best is None else best.value,
        "seconds": total / budget,
        "phases": {phase: phases.get(phase, 0.0) / budget for phase in PHASES[:-1]}
        | {"other": (total - known) / budget},
        "last_tenth": (marks[-1][1] - marks[-2][1]) / (marks[-1][0] - marks[-2][0]),
        "megabytes": peak_megabytes(),
        "kernel": sorted(kernels)[len(kernels) // 2],
    }


def measure(tiny: bool = False) -> dict[str, Any]:
    """Make the runs, each in a process of its own."""
    cases = [(problem, 20 if tiny else dim, options) for problem, dim, options, _ in CASES]
    return {"runs": [in_own_process(whole_run, *case, 26 if tiny else 1000, 0) for case in cases]}


def numbers(result: dict[str, Any]) -> Numbers:
    """Return what is compared with the baseline: ratios to the kernel of the same process."""
    found = {}
    for run in result["runs"]:
        name = f"{run['problem']}-{run['dim']}"
        found[f"{name}, evaluation"] = run["seconds"] / run["kernel"]
        for phase in ("fit", "select", "optimise"):
            found[f"{name}, {phase}"] = run["phases"][phase] / run["kernel"]
    return found


def section(result: dict[str, Any]) -> str:
    """Return the table."""
    paper = {problem: seconds for problem, _, _, seconds in CASES}
    rows = [
        [
            f"{'shifted ' if run['options'].get('shift') else ''}{run['problem']}-{run['dim']}, seed {run['seed']}",
            f"{run['budget']}",
            f"**{run['seconds']:.3f}**",
            *(f"{run['phases'][phase]:.4f}" for phase in PHASES),
            f"{run['last_tenth']:.3f}",
            f"{run['megabytes']:.0f} MB",
            f"{1000 * run['kernel']:.0f} ms",
            f"{paper[run['problem']]:.2f}",
        ]
        for run in result["runs"]
    ]
    head = ["problem", "evaluations", "s per evaluation", *PHASES, "the last tenth", "peak memory", "kernel", "paper"]
    return markdown(head, rows)
