"""`load`: all runs below a folder, or in a compact file, as a table.

What is unfinished, has failed, or is being written this moment is read as far as it goes. What cannot be read becomes
a remark of the table, so that one damaged file does not hide the others.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from boids.bench import compact, run_log
from boids.bench.plan import PLAN, read_plan
from boids.bench.table import Planned, ResultsError, Run, Table, as_float
from boids.errors import InputError, StoreError

_ENVIRONMENT = ("versions", "commit", "machine", "threads")


def load(path: str | os.PathLike[str], *more: str | os.PathLike[str]) -> Table:
    """Return the results of experiments.

    Parameters
    ----------
    path, more
        Folders that `boids bench` has written to, or compact files that `boids report --compact` has made of them.
        Results of several are put together. A folder without runs may hold compact files.

    Raises
    ------
    ResultsError
        If there are no runs, finished or planned.
    """
    runs: list[Run] = []
    planned: list[Planned] = []
    titles: list[str] = []
    remarks: list[str] = []
    for place in map(Path, (path, *more)):
        if place.is_dir():
            files = sorted(place.rglob("*" + run_log.SUFFIX))
            plans = sorted(place.rglob(PLAN))
            archives = [] if files or plans else sorted(place.rglob("*" + compact.SUFFIX))
            for file in plans:
                _read_plan(file, titles, planned, remarks)
            for file in files:
                _read_run(file, place, runs, remarks)
        elif place.exists():
            archives = [place]
        else:
            raise ResultsError(f"There is no file or folder {os.fspath(place)!r}.")
        for file in archives:
            try:
                found = compact.read(file)
            except ResultsError as error:
                if file == place:  # this very file was asked for
                    raise
                remarks.append(str(error))
                continue
            runs += found.runs
            planned += found.planned
            titles += [found.title] * bool(found.title)
            remarks += found.remarks
    if not runs and not planned:
        reason = f" ({remarks[0]})" if remarks else ""
        raise ResultsError(f"There are no runs of experiments in {os.fspath(path)!r}{reason}.")
    planned = list({each.key: each for each in planned}.values())
    return Table(
        _ordered(_without_doubles(runs, remarks), planned),
        tuple(planned),
        " · ".join(dict.fromkeys(titles)),
        tuple(remarks),
    )


def as_run(log: run_log.RunLog, path: str) -> Run:
    """Return what the file of a run says."""
    header, rows = log.header, log.evaluations
    times = [{str(phase): float(value) for phase, value in row["times"].items()} for row in rows]
    last = log.events[-1] if log.events and log.events[-1]["event"] in ("end", "error") else {}
    total: dict[str, float] = {}
    for each in times:
        for phase, value in each.items():
            total[phase] = total.get(phase, 0.0) + value
    begun = [event for event in log.events if event["event"] in ("begun", "resumed")]
    return checked(
        Run(
            problem=str(header["problem"]["label"]),
            method=str(header["method"]["label"]),
            repetition=int(header["repetition"]),
            path=path,
            header=header,
            status=log.status,
            message=str(last.get("message") or ""),
            error=str(last.get("error") or ""),
            traceback=str(last.get("traceback") or ""),
            value=np.array([as_float(row["value"]) for row in rows], dtype=np.float64),
            best=np.array([as_float(row["best"]) for row in rows], dtype=np.float64),
            seconds=np.array([sum(s for phase, s in each.items() if phase != "evaluate") for each in times]),
            evaluate=np.array([each.get("evaluate", 0.0) for each in times]),
            cpu=np.array([as_float(row.get("cpu")) for row in rows], dtype=np.float64),
            feasible=np.array([bool(row.get("feasible", True)) for row in rows], dtype=np.bool_),
            times=total,
            errors={int(row["n"]): str(row["error"]) for row in rows if row.get("error")},
            environment={name: begun[-1].get(name) for name in _ENVIRONMENT} if begun else {},
            sessions=len(begun),
        )
    )


def checked(run: Run) -> Run:
    """Return a run whose header says what everyone asks of it, or raise a ValueError, KeyError or TypeError."""
    if run.budget < 1:
        raise ValueError(f"its budget is {run.budget}")
    for what in ("problem", "method"):
        if not isinstance(run.header[what], Mapping):
            raise TypeError(f"its {what} is no object")
    _ = run.optimum  # a number or null
    return run


def as_planned(entry: Mapping[str, Any]) -> Planned:
    """Return an entry of a plan."""
    return Planned(
        problem=str(entry["problem"]),
        method=str(entry["method"]),
        repetition=int(entry["repetition"]),
        budget=int(entry["budget"]),
        path=str(entry.get("path", "")),
    )


def _read_run(file: Path, folder: Path, runs: list[Run], remarks: list[str]) -> None:
    name = file.relative_to(folder).as_posix()
    try:
        log = run_log.parse(file.read_bytes(), name, points=False)
        if log is None:
            remarks.append(f"The run {name!r} has no header yet; it has just begun, or was interrupted at once.")
        else:
            runs.append(as_run(log, name))
    except OSError as error:
        remarks.append(f"The run {name!r} cannot be read: {error.strerror}.")
    except StoreError as error:
        remarks.append(str(error))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        remarks.append(f"The run {name!r} is damaged, or no run of an experiment: {error!r}.")


def _read_plan(file: Path, titles: list[str], planned: list[Planned], remarks: list[str]) -> None:
    try:
        plan = read_plan(file)
        planned += [as_planned(entry) for entry in plan["runs"]]
        titles += [str(plan["title"])] * bool(plan.get("title"))
    except (InputError, ValueError, KeyError, TypeError) as error:
        why = str(error).rpartition(": ")[2]
        remarks.append(f"The plan {file.name!r} cannot be used, so that missing runs are not noticed: {why}")


def _without_doubles(runs: Iterable[Run], remarks: list[str]) -> list[Run]:
    """Return one run for each problem, method and repetition: the one that has come farthest."""
    kept: dict[tuple[str, str, int], Run] = {}
    for run in runs:
        other = kept.setdefault(run.key, run)
        if other is not run:
            better = max(other, run, key=lambda each: (each.has_ended, each.evaluations))
            kept[run.key] = better
            remarks.append(
                f"{run.problem} / {run.method} / {run.repetition} was found twice; {better.path!r} is used, "
                f"{(other if better is run else run).path!r} is not."
            )
    return list(kept.values())


def _ordered(runs: list[Run], planned: list[Planned]) -> tuple[Run, ...]:
    """Return the runs in the order of the plan, and then of their labels."""
    places: list[dict[str, int]] = []
    for what in ("problem", "method"):
        labels = [*(getattr(each, what) for each in planned), *sorted(getattr(run, what) for run in runs)]
        places.append({label: place for place, label in enumerate(dict.fromkeys(labels))})
    return tuple(sorted(runs, key=lambda run: (places[0][run.problem], places[1][run.method], run.repetition)))
