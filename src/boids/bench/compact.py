"""Results in one small file: everything but the points, the copies and the split of every single time.

A compact file is JSON, compressed by gzip if its name ends in .gz, with `boids_results` (version of the format, 1),
`title`, `planned` (as `runs` in plan.json), `remarks`, and `runs`. Values are exact; seconds have four figures.

==================  ==========================================================================================
field of a run      meaning
==================  ==========================================================================================
`path`, `header`    as in the run's file
`value`             a list, null where an evaluation failed
`best`              the improvements alone: a list of [n, best value]
`seconds`           of the method itself, per evaluation
`evaluate`, `cpu`   seconds of the evaluation and of the processor, per evaluation; null if unknown
`infeasible`        numbers n of the evaluations that were not feasible
`errors`            why evaluations failed, by n
==================  ==========================================================================================

and `status`, `message`, `error`, `traceback`, `sessions`, `environment` and `times` as in `boids.bench.Run`.
"""

from __future__ import annotations

import gzip
import json
import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boids.bench.table import FloatArray, Planned, ResultsError, Run, Table, as_float
from boids.store.export import write_bytes

FORMAT = 1
SUFFIX = ".json.gz"
#: What every file of SQLite begins with, and so every store.
_SQLITE = b"SQLite format 3\0"
_AS_THEY_ARE = ("status", "message", "error", "traceback", "sessions")


def write(table: Table, path: str | os.PathLike[str]) -> None:
    """Write a compact file."""
    document = {
        "boids_results": FORMAT,
        "title": table.title,
        "planned": [_planned(each) for each in table.planned],
        "remarks": list(table.remarks),
        "runs": [_packed(run) for run in table.runs],
    }
    content = json.dumps(document, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    if os.fspath(path).lower().endswith(".gz"):
        content = gzip.compress(content, mtime=0)  # the same results give the same bytes
    write_bytes(content, path)


def read(path: str | os.PathLike[str]) -> Table:
    """Return what a compact file holds, or raise a `ResultsError`."""
    name = os.fspath(path)
    content = b""
    try:
        content = Path(path).read_bytes()
        if content[:2] == b"\x1f\x8b":
            content = gzip.decompress(content)
        document = json.loads(content)
        if document["boids_results"] != FORMAT:
            raise ValueError(f"its format is {document['boids_results']}, but this boids reads {FORMAT}")
        return Table(
            tuple(_unpacked(entry) for entry in document["runs"]),
            tuple(Planned(**entry) for entry in document["planned"]),
            str(document["title"]),
            tuple(map(str, document["remarks"])),
        )
    except OSError as error:
        raise ResultsError(f"The file {name!r} cannot be read: {error.strerror or error}.") from error
    except (ValueError, KeyError, TypeError, AttributeError, EOFError, RecursionError) as error:
        raise ResultsError(f"{name!r} is {_what_it_is(error, content)}.") from error


def _what_it_is(error: Exception, content: bytes) -> str:
    """Say what a file is that holds no results; errors of decoding are left out, since they quote the whole file."""
    if content.startswith(_SQLITE):
        return "a store of runs, not results of experiments; see `boids show` and `boids dashboard` for its runs"
    known = "neither a folder of results nor a compact file of them"
    return known if isinstance(error, (UnicodeDecodeError, json.JSONDecodeError)) else f"{known} ({error!r})"


def _planned(each: Planned) -> dict[str, Any]:
    return {name: getattr(each, name) for name in ("path", "problem", "method", "repetition", "budget")}


def _packed(run: Run) -> dict[str, Any]:
    best = run.best
    improved = np.flatnonzero(np.isfinite(best) & (best != np.concatenate([[np.nan], best[:-1]])))
    return {
        "path": run.path,
        "header": dict(run.header),
        **{name: getattr(run, name) for name in _AS_THEY_ARE},
        "environment": dict(run.environment),
        "times": {phase: _figures(seconds, 6) for phase, seconds in run.times.items()},
        "value": [_number(value) for value in run.value.tolist()],
        "best": [[int(at) + 1, float(best[at])] for at in improved],
        "seconds": [_figures(value, 4) for value in run.seconds.tolist()],
        "evaluate": [_figures(value, 4) for value in run.evaluate.tolist()],
        "cpu": [_figures(value, 4) for value in run.cpu.tolist()] if np.isfinite(run.cpu).any() else None,
        "infeasible": (np.flatnonzero(~run.feasible) + 1).tolist(),
        "errors": {str(n): text for n, text in run.errors.items()},
    }


def _unpacked(entry: Mapping[str, Any]) -> Run:
    value = np.array([as_float(each) for each in entry["value"]], dtype=np.float64)
    best: FloatArray = np.full(len(value), np.nan)
    for n, improved in entry["best"]:
        best[int(n) - 1 :] = float(improved)
    feasible: NDArray[np.bool_] = np.ones(len(value), dtype=np.bool_)
    feasible[np.array(entry["infeasible"], dtype=np.int64) - 1] = False
    header = entry["header"]
    seconds, evaluate = (np.array(entry[name], dtype=np.float64) for name in ("seconds", "evaluate"))
    cpu = np.full(len(value), np.nan)
    if entry["cpu"] is not None:
        cpu = np.array([as_float(each) for each in entry["cpu"]], dtype=np.float64)
    if not len(value) == len(seconds) == len(evaluate) == len(cpu) or int(header["budget"]) < 1:
        raise ValueError(f"the run {entry['path']!r} is damaged")
    return Run(
        problem=str(header["problem"]["label"]),
        method=str(header["method"]["label"]),
        repetition=int(header["repetition"]),
        path=str(entry["path"]),
        header=header,
        **{name: entry[name] for name in _AS_THEY_ARE},
        environment=dict(entry["environment"]),
        times={str(phase): float(total) for phase, total in entry["times"].items()},
        value=value,
        best=best,
        seconds=seconds,
        evaluate=evaluate,
        cpu=cpu,
        feasible=feasible,
        errors={int(n): str(text) for n, text in entry["errors"].items()},
    )


def _figures(value: float, figures: int) -> float | int | None:
    """Return a number with so many significant figures, in as few characters as JSON needs."""
    if not math.isfinite(value):
        return None
    rounded = float(f"{value:.{figures}g}")
    return int(rounded) if rounded.is_integer() and abs(rounded) < 1e15 else rounded


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None
