"""What a report says, as plain data: curves, final values, ranks, tests, profiles, times, coverage, runs.

The page draws it, and `boids report --json` gives the part of it that is not curves.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from boids.bench import statistics
from boids.bench.comparison import Comparison, compare, needed
from boids.bench.curves import band, thinned
from boids.bench.paper_times import SOURCE, paper_seconds
from boids.bench.table import BROKEN, UNFINISHED, Run, Table
from boids.durations import short_time

Document: TypeAlias = dict[str, Any]

TOLERANCES = (0.1, 0.01, 0.001)
#: Where performance profiles end: so many times the evaluations of the fastest method.
LARGEST_RATIO = 20.0
#: Points of a curve, of a profile, and of the small curve of a single run.
_CURVE, _PROFILE, _RUN = 160, 120, 40
_LONGEST_ERROR = 6000


def reference_of(table: Table, asked: str | None = None) -> str:
    """Return the label of the method to compare with: the one asked for by label or name, BOIDS, or the first run."""
    if asked in table.methods:
        return str(asked)
    named = [run.method for run in table.runs if run.header["method"].get("name") == (asked or "boids")]
    if asked is not None and not named:
        table.where(method=asked)  # raises the error that knows the labels
    if named:
        return named[0]
    has_run = {run.method for run in table.runs}
    return next((method for method in table.methods if method in has_run), table.methods[0])


def findings(table: Table, *, at: int | None = None, reference: str | None = None, curves: bool = True) -> Document:
    """Return everything that a report says.

    Parameters
    ----------
    table
        Results.
    at, reference
        After how many evaluations, and with which method, to compare; see `compare` and `reference_of`.
    curves
        Whether to give the numbers of all curves and the list of runs, too.
    """
    comparison = compare(table, at)
    found: Document = {
        "title": table.title or "Experiments",
        "methods": list(table.methods),
        "counts": _counts(table),
        "remarks": list(table.remarks),
        "problems": [_problem(table, comparison.on(problem), curves) for problem in comparison.problems],
        "ranks": _ranks(comparison),
        "tests": _tests(comparison, reference_of(table, reference)),
        "times": _times(table, comparison.problems),
        "coverage": _coverage(table),
    }
    if curves:
        found["profiles"] = _profiles(table, comparison)
        found["runs"] = [_run(run) for run in table.runs]
    return found


def _counts(table: Table) -> Document:
    by_status: dict[str, int] = {}
    for run in table.runs:
        by_status[run.status] = by_status.get(run.status, 0) + 1
    return {
        "runs": len(table.runs),
        "evaluations": len(table),
        "failed_evaluations": int(table["failed"].sum()),
        "seconds": _figures(sum(run.total_seconds for run in table.runs)),
        "status": by_status,
        "planned": len(table.planned) or None,
        "missing": len(table.missing),
    }


def _problem(table: Table, here: Comparison, curves: bool) -> Document:
    (label,) = here.problems
    runs = [run for run in table.runs if run.problem == label]
    about = runs[0].header["problem"]
    optima = {run.optimum for run in runs}
    optimum = optima.pop() if len(optima) == 1 else math.nan  # instances may differ, and so may their optima
    lines = [(place, band(table, label, method, _CURVE)) for place, method in enumerate(here.methods)]
    return {
        "label": label,
        "dim": about.get("dim"),
        "noisy": bool(about.get("noisy")),
        "constraints": about.get("constraints") or 0,
        "optimum": _figures(optimum, 15),
        "at": here.at[label],
        "budget": max(run.budget for run in runs),
        "finals": _finals(here),
        "curves": [
            {
                "method": place,
                "runs": line.runs,
                "left_out": line.left_out,
                "ended": line.has_ended,
                "n": line.n.tolist(),
                **{name: _list(getattr(line, name), optimum) for name in ("mean", "error", "low", "median", "high")},
            }
            for place, line in lines
            if line is not None and curves
        ],
    }


def _finals(here: Comparison) -> Document:
    """Return the values of the methods on a problem, and which of them are the best."""
    values = here.values
    low, median, high = statistics.quartiles(values)
    mean, error = statistics.mean_and_error(np.where(np.isinf(values), np.nan, values))
    empty = np.isposinf(values).sum(axis=0)
    mean, error = (np.where(empty > 0, np.nan, each) for each in (mean, error))
    known = (~np.isnan(values)).sum(axis=0)
    best = int(np.nanargmin(np.where(known > 0, median, np.nan))) if known.any() else None
    found: Document = {
        "values": [
            {
                "method": place,
                "runs": int(known[place]),
                "carried": int(here.carried[:, place].sum()),
                "empty": int(empty[place]),
                **{
                    name: _figures(float(each[place]), 8)
                    for name, each in (
                        ("median", median),
                        ("low", low),
                        ("high", high),
                        ("mean", mean),
                        ("error", error),
                    )
                },
            }
            for place in range(len(here.methods))
            if known[place]
        ],
        "best": best,
        "equal": [],
        "pairs_needed": None,
    }
    if best is not None and (known > 0).sum() > 1:
        tests = here.against(here.methods[best])
        took_part = [test for _, test, _ in tests if test.pairs]
        needed_pairs = statistics.pairs_needed(len(took_part) or 1)
        if max((test.pairs for test in took_part), default=0) < needed_pairs:
            found["pairs_needed"] = needed_pairs
        else:
            found["equal"] = [
                here.methods.index(label) for label, test, p in tests if test.pairs and p >= statistics.LEVEL
            ]
    return found


def _ranks(comparison: Comparison) -> Document:
    methods, ranks = comparison.ranking()
    places = [comparison.methods.index(method) for method in methods]
    problems = len(comparison.shared_by(methods))
    return {
        "methods": places,
        "average": _list(ranks.average),
        "left_out": [place for place in range(len(comparison.methods)) if place not in places],
        "blocks": ranks.blocks,
        "problems": problems,
        "all_blocks": len(comparison.blocks),
        "statistic": _figures(ranks.statistic),
        "p": _figures(ranks.p),
        "difference": _figures(ranks.difference),
        "problems_difference": _figures(statistics.critical_difference(len(methods), problems)),
        "groups": [[places[member] for member in group] for group in ranks.groups()] if ranks.blocks else [],
        "carried": int(comparison.carried.sum()),
    }


def _tests(comparison: Comparison, reference: str) -> Document:
    rows = comparison.against(reference)
    by_problem = comparison.against(reference, by_problem=True)
    took_part = sum(test.pairs > 0 for _, test, _ in rows)
    return {
        "reference": comparison.methods.index(reference),
        "level": statistics.LEVEL,
        "pairs_needed": statistics.pairs_needed(max(took_part, 1)),
        "rows": [
            {
                "method": comparison.methods.index(label),
                "pairs": test.pairs,
                "better": test.better,
                "worse": test.worse,
                "median": _figures(test.median),
                "effect": _figures(test.effect),
                "p": _figures(test.p),
                "holm": _figures(p),
                "problems": over.pairs,
                "problems_holm": _figures(p_over),
            }
            for (label, test, p), (_, over, p_over) in zip(rows, by_problem, strict=True)
        ],
    }


def _profiles(table: Table, comparison: Comparison) -> Document:
    at = thinned(max(comparison.at.values(), default=1), _PROFILE)
    ratios = np.geomspace(1.0, LARGEST_RATIO, _PROFILE)
    found: Document = {"n": at.tolist(), "ratios": _list(ratios), "shares": {}, "performance": {}}
    for tolerance in TOLERANCES:
        solved = needed(table, comparison, tolerance)
        found["shares"][f"{tolerance:g}"] = [_list(share) for share in statistics.data_profile(solved, at)]
        relative = statistics.performance_profile(solved, ratios)
        found["performance"][f"{tolerance:g}"] = [_list(share) for share in relative]
    return found


def _times(table: Table, problems: Sequence[str]) -> Document:
    """Return seconds per evaluation: the method's own, the evaluation's, the processor's for both, and the paper's."""
    cells = []
    for place, method in enumerate(table.methods):
        for column, problem in enumerate(problems):
            runs = [run for run in table.runs if (run.method, run.problem) == (method, problem) and run.evaluations]
            if not runs:
                continue
            n = sum(run.evaluations for run in runs)
            cells.append(
                {
                    "method": place,
                    "problem": column,
                    "own": _figures(sum(float(run.seconds.sum()) for run in runs) / n),
                    "evaluate": _figures(sum(float(run.evaluate.sum()) for run in runs) / n),
                    "cpu": _figures(processor_seconds(runs)),
                    "paper": paper_seconds(runs[0].header),
                }
            )
    return {"problems": list(problems), "cells": cells, "source": SOURCE}


def processor_seconds(runs: Sequence[Run]) -> float:
    """Return the processor's seconds per evaluation, of method and evaluation together; nan where none are known."""
    known = np.concatenate([run.cpu for run in runs] or [np.empty(0)])
    known = known[np.isfinite(known)]
    return float(known.mean()) if known.size else math.nan


def _coverage(table: Table) -> Document:
    keys = {each.key for each in table.planned} | {run.key for run in table.runs}
    runs = {run.key: run for run in table.runs}
    cells = []
    for row, problem in enumerate(table.problems):
        for column, method in enumerate(table.methods):
            states = [_state(runs.get(key)) for key in sorted(keys) if key[:2] == (problem, method)]
            if states:
                cells.append({"problem": row, "method": column, "states": states})
    return {"problems": list(table.problems), "cells": cells}


def _state(run: Run | None) -> str:
    if run is None:
        return "missing"
    if run.status in (BROKEN, UNFINISHED):
        return "broken" if run.status == BROKEN else "unfinished"
    return "done" if run.evaluations >= run.budget else "short"


def _run(run: Run) -> Document:
    n = thinned(run.evaluations, _RUN) if run.evaluations else np.empty(0, dtype=np.int64)
    header = run.header
    failures: dict[str, int] = {}
    for text in run.errors.values():
        failures[text[:300]] = failures.get(text[:300], 0) + 1
    return {
        "problem": run.problem,
        "method": run.method,
        "repetition": run.repetition,
        "status": run.status,
        "state": _state(run),
        "evaluations": run.evaluations,
        "budget": run.budget,
        "best": _figures(run.found, 10),
        "optimum": _figures(run.optimum, 10),
        "failed": int(run.failed.sum()),
        "infeasible": int((~run.feasible).sum()),
        "own": _figures(float(run.seconds.mean())) if run.evaluations else None,
        "seconds": _figures(run.total_seconds),
        "cpu": _figures(float(run.cpu.sum())),
        "times": {phase: _figures(seconds) for phase, seconds in run.times.items()},
        "seed": header.get("seed"),
        "problem_seed": header["problem"].get("seed"),
        "time_limit": header.get("time_limit"),
        "sessions": run.sessions,
        "path": run.path,
        "message": run.message[:1000],
        "error": run.error[:1000],
        "traceback": run.traceback[-_LONGEST_ERROR:],
        "failures": sorted(failures.items(), key=lambda each: -each[1])[:5],
        "environment": dict(run.environment),
        "problem_options": header["problem"].get("options"),
        "settings": header["method"].get("settings") or header["method"].get("options"),
        "n": n.tolist(),
        "curve": _list(run.best[n - 1]) if run.evaluations else [],
    }


def _list(values: Iterable[float], offset: float = math.nan) -> list[float | int | None]:
    """Return numbers for JSON; those close to an optimum with as many figures as their difference to it needs."""
    numbers = np.asarray(list(values), dtype=np.float64)
    if math.isfinite(offset) and offset != 0.0:
        return [_near(float(value), offset) for value in numbers]
    return [_figures(float(value)) for value in numbers]


def _near(value: float, optimum: float) -> float | int | None:
    if not math.isfinite(value) or value == optimum:
        return _figures(value, 15)
    decimals = 5 - math.floor(math.log10(abs(value - optimum)))
    return _figures(round(value, decimals), 15)


def _figures(value: float, figures: int = 5) -> float | int | None:
    """Return a number with so many significant figures; None for nan and infinity."""
    if not math.isfinite(value):
        return None
    rounded = float(f"{value:.{figures}g}")
    return int(rounded) if rounded.is_integer() and abs(rounded) < 1e15 else rounded


def sentences(found: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """Return what has been run, and what is missing or wrong, a sentence each."""
    counts, status = found["counts"], found["counts"]["status"]
    problems = len(found["coverage"]["problems"])
    said = [
        f"{_many(len(found['methods']), 'method')} on {_many(problems, 'problem')}: {_many(counts['runs'], 'run')} "
        f"with {counts['evaluations']:,} evaluations in {short_time(counts['seconds'] or 0.0)} of computing."
    ]
    places = sorted({problem["at"] for problem in found["problems"]})
    if places:
        after = str(places[0]) if len(places) == 1 else f"{places[0]} to {places[-1]} (as the problem has it)"
        said.append(f"Methods are compared after {after} evaluations.")
    missing = []
    if counts["missing"]:
        missing.append(f"{counts['missing']} of {_many(counts['planned'], 'planned run')} have not begun")
    if status.get(UNFINISHED):
        missing.append(f"{_many(status[UNFINISHED], 'run')} {_are(status[UNFINISHED])} unfinished")
    if status.get(BROKEN):
        missing.append(f"{_many(status[BROKEN], 'run')} broke with an error")
    noticed = [f"Partial results: {'; '.join(missing)}."] if missing else []
    if status.get("time limit"):
        noticed.append(
            f"{_many(status['time limit'], 'run')} ended at a time limit and {_are(status['time limit'])} compared "
            "with the best value found until then."
        )
    if counts["failed_evaluations"]:
        noticed.append(f"{_many(counts['failed_evaluations'], 'evaluation')} failed.")
    return said, noticed


def _many(number: int, what: str) -> str:
    return f"{number:,} {what}{'s' * (number != 1)}"


def _are(number: int) -> str:
    return "is" if number == 1 else "are"
