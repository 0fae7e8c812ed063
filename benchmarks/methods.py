"""Every method: processor time per evaluation, and the functions in which it goes."""

from __future__ import annotations

import cProfile
import pstats
import time
from pathlib import Path
from typing import Any

import boids
from benchmarks.machine import Numbers, calibration, in_own_process, peak_megabytes
from benchmarks.text import markdown, milliseconds
from boids.algorithms import ALGORITHMS

DIM = 100
EVALUATIONS = 150
#: Evaluations of those that need seconds for one.
FEWER = {"saasbo": 40, "alebo": 80}
#: The share of them that is made once more under the profiler.
PROFILED = 0.6
#: Functions that are named.
SHOWN = 3


def run(method: str, dim: int, budget: int) -> tuple[float, float]:
    """Make one run on shifted Ackley; return the seconds per evaluation, and those of the last tenth."""
    problem = boids.problems.make("ackley", dim=dim, shift=True)
    optimizer = boids.Optimizer(problem.space, budget=budget, method=method, seed=0)
    points = []

    # Asking for the processor time takes a while itself, so it is asked for four times in all.
    def go_on(count: int) -> float:
        begun = time.process_time()
        for _ in range(count):
            trial = optimizer.ask()
            points.append(trial.x)
            optimizer.tell(trial, float(problem(trial.x)))
        return time.process_time() - begun

    tenth = max(1, budget // 10)
    first, latest = go_on(budget - tenth), go_on(tenth)
    begun = time.process_time()
    for point in points:
        problem(point)
    evaluation = (time.process_time() - begun) / budget
    return (first + latest) / budget - evaluation, latest / tenth - evaluation


def case(method: str, dim: int, budget: int, profiled: int) -> dict[str, Any]:
    """Time one method, then profile it; meant for a process of its own."""
    before = calibration()
    each, latest = run(method, dim, budget)
    kernel, memory = 0.5 * (before + calibration()), peak_megabytes()
    profiler = cProfile.Profile()
    profiler.runcall(run, method, dim, profiled)
    return {
        "method": method,
        "evaluations": budget,
        "seconds": each,
        "latest": latest,
        "megabytes": memory,
        "kernel": kernel,
        "functions": costly(profiler),
    }


def costly(profiler: cProfile.Profile) -> list[dict[str, Any]]:
    """Return the functions with the largest own time, and their shares of all of it."""
    stats: dict[tuple[str, int, str], Any] = pstats.Stats(profiler).stats  # type: ignore[attr-defined]
    total = sum(entry[2] for entry in stats.values())
    ordered = sorted(stats.items(), key=lambda item: -item[1][2])[:SHOWN]
    return [{"function": _named(*function), "share": entry[2] / total} for function, entry in ordered]


def measure(tiny: bool = False) -> dict[str, Any]:
    """Measure every method in a process of its own."""
    if tiny:
        return {"cases": [in_own_process(case, method, 5, 12, 12) for method in ("boids", "random")]}
    found = []
    for method in ALGORITHMS:
        budget = FEWER.get(method, EVALUATIONS)
        found.append(in_own_process(case, method, DIM, budget, int(PROFILED * budget)))
    return {"cases": found}


def numbers(result: dict[str, Any]) -> Numbers:
    """Return what is compared with the baseline."""
    return {each["method"]: each["seconds"] / each["kernel"] for each in result["cases"]}


def section(result: dict[str, Any]) -> str:
    """Return the table."""
    rows = [
        [
            f"`{each['method']}`",
            f"{each['evaluations']}",
            milliseconds(each["seconds"]),
            milliseconds(each["latest"]),
            f"{each['megabytes']:.0f} MB",
            ", ".join(f"{function['function']} {100 * function['share']:.0f} %" for function in each["functions"]),
        ]
        for each in result["cases"]
    ]
    return markdown(["method", "evaluations", "ms each", "the last tenth", "peak memory", "own time"], rows)


def _named(file: str, line: int, function: str) -> str:
    """Return a function's name, with its file if that says more."""
    if file == "~":  # of an extension module: "<built-in method name>", "<method 'name' of 'type' objects>"
        words = function.strip("<>").replace("built-in method ", "").replace("method ", "")
        return f"`{words.partition(' of ')[0].partition(' object')[0].strip(chr(39))}`"
    path = Path(file)
    inside = path.parts[-2:] if "boids" in path.parts else (path.name,)
    return f"`{'/'.join(inside)}: {function.strip('<>')}`"
