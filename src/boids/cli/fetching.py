"""`boids problems fetch`: download the files of a problem, and show how far it has come."""

from __future__ import annotations

import sys
from contextlib import ExitStack

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

from boids.cli.output import emit, emit_json
from boids.errors import InputError, did_you_mean
from boids.problems import data


def fetch(name: str | None, *, as_json: bool) -> None:
    """Download what a problem needs, and write where it is."""
    known = f"what can be fetched is {', '.join(data.DOWNLOADS)}."
    if name is None:
        raise InputError(f"The name of a problem is missing; {known}")
    if name not in data.DOWNLOADS:
        raise InputError(f"There is nothing to fetch for {name!r}; {did_you_mean(name, data.DOWNLOADS, known)}")
    with ExitStack() as stack:
        show: data.Progress | None = None
        if sys.stderr.isatty():
            columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
            bar = stack.enter_context(Progress(*columns, console=Console(stderr=True), transient=True))
            task = bar.add_task(name, total=None)

            def show(received: int, expected: int | None) -> None:
                bar.update(task, completed=received, total=expected)

        path = data.fetch(name, progress=show)
    if as_json:
        emit_json({"name": name, "path": str(path)})
    else:
        emit(f"{name}: {path}")
