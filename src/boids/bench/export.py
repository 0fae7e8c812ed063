"""Results for other programs: tidy rows as CSV or Parquet, and the format of IOHprofiler.

IOHprofiler's folder, as IOHanalyzer and iohinspector read it (Doerr et al., *IOHprofiler: A benchmarking and profiling
tool for iterative optimization heuristics*, 2018; the layout is that of IOHexperimenter's JSON logger):

    METHOD/IOHprofiler_f1_ackley-100.json                   what was run, and how each run ended
    METHOD/data_f1_ackley-100/IOHprofiler_f1_DIM100.dat     evaluations and values of all its runs, one after the other
"""

from __future__ import annotations

import gzip
import json
import math
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from boids import __version__
from boids.bench.table import COLUMNS, ResultsError, Run, Table
from boids.errors import StoreError
from boids.store.export import Columns, csv_lines, write_bytes, write_csv, write_parquet

SUFFIXES = (".csv", ".csv.gz", ".parquet")
#: The version of IOHexperimenter whose files these look like.
_IOH_VERSION = "0.3.13"


def columns(table: Table) -> Columns:
    """Return the table as lists of plain values; None for nan."""
    made: Columns = {}
    for name in COLUMNS:
        cells = table[name].tolist()
        made[name] = [None if cell != cell else cell for cell in cells] if name in ("value", "best", "cpu") else cells
    return made


def write_rows(table: Table, path: str | os.PathLike[str]) -> None:
    """Write one row per evaluation to a .csv, .csv.gz or .parquet file.

    Raises
    ------
    ResultsError
        If the name ends otherwise.
    MissingExtra
        If Parquet needs pyarrow, and it is not installed.
    """
    name = os.fspath(path).lower()
    if name.endswith(".csv"):
        write_csv(columns(table), path)
    elif name.endswith(".csv.gz"):
        text = "".join(csv_lines(columns(table))).encode("utf-8", "backslashreplace")
        write_bytes(gzip.compress(text, mtime=0), path)
    elif name.endswith(".parquet"):
        write_parquet(columns(table), path)
    else:
        raise ResultsError(
            f"An export must end in {', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]}, got {os.fspath(path)!r}."
        )


def write_ioh(table: Table, folder: str | os.PathLike[str]) -> list[Path]:
    """Write the folder of IOHprofiler, and return the JSON files.

    Functions have the numbers of the problems in the table, instances those of the repetitions plus 1. A failed
    evaluation has the value infinity. Runs without evaluations are left out.
    """
    root = Path(folder)
    written = []
    names = _file_names(table.problems)
    folders = _file_names(table.methods)
    try:
        for method in table.methods:
            for number, problem in enumerate(table.problems, 1):
                runs = [run for run in table.runs if (run.method, run.problem) == (method, problem) and run.evaluations]
                if runs:
                    place = root / folders[method]
                    written.append(_write_function(place, f"f{number}_{names[problem]}", number, runs))
    except OSError as error:
        raise StoreError(f"The folder {os.fspath(folder)!r} cannot be written: {error.strerror}.") from error
    return written


def _write_function(folder: Path, name: str, number: int, runs: Sequence[Run]) -> Path:
    """Write all runs of a method on a problem; their dimensions become scenarios."""
    scenarios = []
    for dim in sorted({_dim(run) for run in runs}):
        mine = [run for run in runs if _dim(run) == dim]
        data = f"data_{name}/IOHprofiler_f{number}_DIM{dim}.dat"
        (folder / data).parent.mkdir(parents=True, exist_ok=True)
        write_bytes("".join(map(_dat, mine)).encode(), folder / data)
        scenarios.append({"dimension": dim, "path": data, "runs": [_ioh_run(run) for run in mine]})
    first = runs[0].header
    document = {
        "version": _IOH_VERSION,
        "suite": "boids",
        "function_id": number,
        "function_name": runs[0].problem,
        "maximization": False,
        "algorithm": {"name": runs[0].method, "info": f"boids {__version__}: {first['method'].get('name', '')}"},
        "attributes": ["evaluations", "raw_y"],
        "scenarios": scenarios,
    }
    path = folder / f"IOHprofiler_{name}.json"
    write_bytes(json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False).encode(), path)
    return path


def _dat(run: Run) -> str:
    """Return a run's lines: the names of the columns, and then every evaluation."""
    lines = ["evaluations raw_y"]
    for n, (value, is_feasible) in enumerate(zip(run.value.tolist(), run.feasible.tolist(), strict=True), 1):
        lines.append(f"{n} {value!r}" if math.isfinite(value) and is_feasible else f"{n} inf")
    return "\n".join(lines) + "\n"


def _ioh_run(run: Run) -> dict[str, Any]:
    best = run.found
    found = math.isfinite(best)
    at = int((run.best == best).argmax()) + 1 if found else run.evaluations
    return {
        "instance": run.repetition + 1,
        "evals": run.evaluations,
        # The points are not in a table; IOHprofiler asks for the field only.
        "best": {"evals": at, "y": best if found else 1e300, "x": []},
    }


def _dim(run: Run) -> int:
    return int(run.header["problem"].get("dim") or 0)


def _file_names(labels: Sequence[str]) -> dict[str, str]:
    """Return a name for each label that every file system takes, no two alike."""
    names: dict[str, str] = {}
    for label in labels:
        plain = re.sub(r"[^A-Za-z0-9.+=-]+", "-", label).strip("-.")[:60] or "unnamed"
        name, number = plain, 2
        while name.lower() in {other.lower() for other in names.values()}:
            name, number = f"{plain}-{number}", number + 1
        names[label] = name
    return names
