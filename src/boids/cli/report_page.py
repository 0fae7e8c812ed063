"""`boids report`: a page, figures and exports of the results of experiments."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from boids.bench import compact, export, figures
from boids.bench.findings import findings, sentences
from boids.bench.loading import load
from boids.bench.report import write_report
from boids.bench.table import Table
from boids.cli.output import emit, emit_json, note, one_line
from boids.errors import InputError

DEFAULT = "report.html"


def report(
    results: Sequence[str],
    *,
    output: str | None,
    title: str | None,
    at: int | None,
    methods: Sequence[str],
    problems: Sequence[str],
    reference: str | None,
    figures_folder: str | None,
    formats: Sequence[str],
    rows: str | None,
    archive: str | None,
    ioh: str | None,
    as_json: bool,
) -> None:
    """Write the page, unless only other files were asked for, and say what was written."""
    _check(output, rows, archive, formats, figures_folder)
    table = load(*results).where(method=tuple(methods) or None, problem=tuple(problems) or None)
    written: list[str] = []
    only_others = output is None and any(each is not None for each in (figures_folder, rows, archive, ioh))
    if only_others:
        found = findings(table, at=at, reference=reference, curves=False)
    else:
        path = output or DEFAULT
        found = write_report(table, path, title=title, at=at, reference=reference)
        written.append(path)
    if figures_folder is not None:
        drawn = figures.save_figures(table, figures_folder, tuple(dict.fromkeys(formats)) or ("pdf",), at=at)
        written += map(str, drawn)
    written += _others(table, rows, archive, ioh)
    if as_json:
        said: dict[str, Any] = {key: value for key, value in found.items() if key not in ("profiles", "runs")}
        said["problems"] = [{**problem, "curves": None} for problem in said["problems"]]
        for problem in said["problems"]:
            del problem["curves"]
        emit_json({**said, "written": written})
        return
    sentence, noticed = sentences(found)
    emit(one_line(" ".join(sentence)))
    for remark in (*noticed, *table.remarks):
        note(one_line(remark))
    emit(f"Written: {', '.join(written)}")


def _others(table: Table, rows: str | None, archive: str | None, ioh: str | None) -> list[str]:
    written = []
    if rows is not None:
        export.write_rows(table, rows)
        written.append(rows)
    if archive is not None:
        compact.write(table, archive)
        written.append(archive)
    if ioh is not None:
        export.write_ioh(table, ioh)
        written.append(ioh)
    return written


def _check(
    output: str | None, rows: str | None, archive: str | None, formats: Sequence[str], figures_folder: str | None
) -> None:
    """Refuse what would only come to light after the work."""
    if formats and figures_folder is None:
        raise InputError("--format is for figures; name their folder with --figures DIR.")
    if rows is not None and not rows.lower().endswith(export.SUFFIXES):
        raise InputError(
            f"--export must end in {', '.join(export.SUFFIXES[:-1])} or {export.SUFFIXES[-1]}, got {rows!r}."
        )
    if archive is not None and not archive.lower().endswith((".json", ".json.gz")):
        raise InputError(f"--compact must end in .json.gz or .json, got {archive!r}.")
    for option, path in (("--output", output or DEFAULT), ("--export", rows), ("--compact", archive)):
        if path is None:
            continue
        folder = Path(path).parent
        if not folder.is_dir():
            raise InputError(f"{option} {path}: there is no folder {os.fspath(folder)!r}; make it first.")
        if Path(path).is_dir():
            raise InputError(f"{option} {path}: it is a folder; name a file.")
