"""Files of experiments as `boids bench` writes them, made up."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

ENVIRONMENT = {
    "versions": {"boids": "0.1.0", "numpy": "2.4.6", "python": "3.11.2"},
    "commit": "abc1234",
    "machine": {"cpu": "a processor", "cores": 2},
    "threads": 1,
}


def header(problem: str, method: str, repetition: int, budget: int, **more: Any) -> dict[str, Any]:
    """The first line of a run."""
    return {
        "boids_run": 1,
        "problem": {
            "name": more.get("problem_name", problem),
            "label": problem,
            "dim": more.get("dim", 20),
            "options": {},
            "seed": repetition,
            "optimum": more.get("optimum"),
            "noisy": False,
            "constraints": more.get("constraints", 0),
        },
        "method": {
            "name": more.get("method_name", method),
            "label": method,
            "options": {},
            "settings": more.get("settings", {"n_init": 10}),
        },
        "repetition": repetition,
        "seed": more.get("seed", 1000 + repetition),
        "budget": budget,
        "time_limit": None,
    }


def evaluations(values: list[float | None], **more: Any) -> list[dict[str, Any]]:
    """The lines of evaluations with these values; None for a failure."""
    rows, best = [], None
    slow = more.get("seconds", 0.25)
    for n, value in enumerate(values, 1):
        if value is not None and (best is None or value < best):
            best = value
        row = {
            "n": n,
            "value": value,
            "best": best,
            "x": [0.5, -0.25],
            "times": {"fit": 0.8 * slow, "select": 0.2 * slow, "evaluate": 0.01},
            "cpu": 0.9 * slow,
        }
        rows.append(row if value is not None else {**row, "error": "the solver diverged"})
    return rows


def write_run(
    results: Path,
    problem: str,
    method: str,
    repetition: int,
    values: list[float | None],
    *,
    status: str | None = "budget",
    budget: int | None = None,
    error: tuple[str, str] | None = None,
    folder: str | None = None,
    **more: Any,
) -> Path:
    """Write the file of a run; `status=None` leaves it unfinished, `error` breaks it."""
    path = results / (folder or f"{problem}/{method}") / f"{repetition}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    at = "2026-01-01T00:00:00Z"
    rows = [
        header(problem, method, repetition, budget or len(values), **more),
        {"event": "begun", "at": at, **ENVIRONMENT, "evaluations": 0},
        *evaluations(values, **more),
    ]
    if error is not None:
        rows.append({"event": "error", "at": at, "error": error[0], "traceback": error[1]})
    elif status is not None:
        rows.append({"event": "end", "at": at, "status": status, "message": f"ended by {status}"})
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def write_plan(results: Path, runs: list[tuple[str, str, int, int]], title: str = "A plan") -> None:
    """Write plan.json with (problem, method, repetition, budget)."""
    entries = [
        {"path": f"{p}/{m}/{r}.jsonl", "problem": p, "method": m, "repetition": r, "budget": b} for p, m, r, b in runs
    ]
    results.mkdir(parents=True, exist_ok=True)
    (results / "plan.json").write_text(json.dumps({"boids_plan": 1, "title": title, "runs": entries}))


def descent(seed: int, length: int, rate: float, start: float = 20.0, floor: float = 0.01) -> list[float]:
    """Values of a search that comes closer to its floor the longer it goes on."""
    rng = np.random.default_rng(seed)
    n = np.arange(length)
    level = floor + (start - floor) * np.exp(-rate * np.minimum(n, 10 * length) / length)
    noise = np.exp(rng.normal(0.0, 0.25, length))
    return [float(value) for value in level * noise + rng.exponential(0.3 * level)]


METHODS = {
    "BOIDS": ("boids", 6.0, 0.8),
    "BAxUS": ("baxus", 5.0, 0.5),
    "TuRBO": ("turbo", 4.2, 0.3),
    "Vanilla BO": ("vanilla-bo", 4.4, 0.9),
    "HeSBO (d=10)": ("hesbo", 3.0, 0.04),
    "HeSBO (d=20)": ("hesbo", 2.8, 0.05),
    "ALEBO (d=10)": ("alebo", 2.6, 4.0),
    "CMA-BO": ("cmabo", 3.9, 0.35),
    "RDUCB": ("rducb", 3.2, 9.0),
    "LineBO": ("linebo", 2.2, 0.02),
    "CMA-ES": ("cmaes", 2.4, 0.0004),
    "PSO": ("pso", 1.6, 0.0001),
    "Random": ("random", 0.6, 0.00005),
}
PROBLEMS = {
    "Ackley-100": ("ackley", 100, 0.0, 20.0),
    "Hartmann-500": ("hartmann", 500, -3.32237, 0.0),
    "Branin-500": ("branin", 500, 0.397887, 60.0),
    "Mopta-124": ("mopta", 124, None, 420.0),
    "LassoDNA-180": ("lasso-dna", 180, None, 0.4),
    "HalfCheetah-102": ("half-cheetah", 102, None, -100.0),
}


def write_study(
    results: Path, *, methods: int = 13, problems: int = 6, repetitions: int = 5, length: int = 300
) -> None:
    """Write an experiment that looks like a real one, with runs that are missing, unfinished, broken and cut short."""
    chosen, faced = list(METHODS)[:methods], list(PROBLEMS)[:problems]
    write_plan(
        results,
        [(p, m, r, length) for p in faced for m in chosen for r in range(repetitions)],
        "Methods for many parameters",
    )
    for which, problem in enumerate(faced):
        name, dim, optimum, start = PROBLEMS[problem]
        for number, method in enumerate(chosen):
            method_name, rate, seconds = METHODS[method]
            for r in range(repetitions):
                ends = length // 2 if method.startswith("ALEBO") else length
                low = (optimum or 0.0) if start > 0 or optimum is not None else 4.0 * start
                values = [
                    low + abs(start - low) * 0.05 * v
                    for v in descent(1000 * which + 10 * number + r, ends, rate * (0.7 + 0.15 * which), floor=0.02)
                ]
                options: dict[str, Any] = {"status": "budget" if ends == length else "time limit"}
                if method == "RDUCB" and r == repetitions - 1:
                    if which == problems - 1:
                        continue
                    values, options = values[: length // 3], {"status": None}
                if method == "CMA-BO" and which == 3 and r == 1:
                    values = values[:40]
                    options = {"error": ("LinAlgError: not positive definite", "Traceback …\n  line 7\nLinAlgError")}
                settings = {"target_dim": 10 if "10" in method else 20} if "d=" in method else {}
                write_run(
                    results, problem, method, r, values, budget=length, dim=dim, optimum=optimum,
                    problem_name=name, method_name=method_name, seconds=seconds, settings=settings, **options,
                )  # fmt: skip
