"""What is written on stdout at the end of a run, for people or as one line of JSON."""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from typing import Any, final

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from boids import plain
from boids.durations import short_time
from boids.optimizer import Optimizer
from boids.result import Result

_WIDEST = 100
_PHASES = ("fit", "select", "optimise", "lift", "evaluate", "other")
_COORDINATES = 5
_LONGEST = 300


@final
@dataclass(frozen=True)
class Ending:
    """A run that has ended, or stopped for now.

    Attributes
    ----------
    saved
        The file that has it, None if there is none.
    final
        Whether there is nothing left to do.
    optimum
        The smallest value that is possible, None if unknown.
    """

    id: str
    target: str
    result: Result
    optimizer: Optimizer
    saved: str | None
    final: bool
    optimum: float | None = None


def write(end: Ending, *, as_json: bool) -> None:
    """Write the end of a run; the command that resumes it goes to stderr if stdout is for JSON."""
    if as_json:
        emit_json(_as_dict(end))
        if end.saved is not None and not end.final:
            note(f"continue with: {_resume_command(end.saved)}")
        return
    emit(*_for_people(end))


def headline(target: str, optimizer: Optimizer) -> str:
    """Return what is being run, in a line."""
    dim, told = optimizer.space.dim, optimizer.n_told
    parts = [target, f"{dim} dimensions" if dim > 1 else "1 dimension", optimizer.method, f"seed {optimizer.seed}"]
    return " · ".join(parts + [f"resumed after {told} of {optimizer.budget}"] * bool(told))


def emit(*lines: Any) -> None:
    """Write strings and rich's tables to stdout; long strings are left to the terminal to wrap, and can be copied."""
    # Captured first, for rich ends the program on its own terms if the reader of a pipe has gone.
    console = Console(file=sys.stdout, highlight=False)
    console.width = min(console.width, _WIDEST)
    with console.capture() as captured:
        for line in lines:
            console.print(line, soft_wrap=isinstance(line, str), markup=False)
    _write("\n".join(line.rstrip() for line in captured.get().split("\n")))


def emit_json(document: Any) -> None:
    """Write one line of strict JSON to stdout."""
    _write(json.dumps(document, allow_nan=False) + "\n")


def note(line: str) -> None:
    """Write a line to stderr."""
    click.echo(line, err=True)


@contextmanager
def nothing_but_json(active: bool) -> Iterator[None]:
    """While `active`, send to stderr whatever else is printed: by the objective, by C code, by child processes."""
    if not active:
        yield
        return
    sys.stdout.flush()
    with redirect_stdout(sys.stderr):
        try:
            stdout = sys.__stdout__.fileno() if sys.__stdout__ is not None else None
        except (OSError, ValueError):  # not a real file
            stdout = None
        if stdout is None:
            yield
            return
        kept = os.dup(stdout)
        os.dup2(2, stdout)
        try:
            yield
        finally:
            os.dup2(kept, stdout)
            os.close(kept)


def _write(text: str) -> None:
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:  # `boids problems | head -1` has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise click.exceptions.Exit(141) from None  # as if ended by SIGPIPE


def _as_dict(end: Ending) -> dict[str, Any]:
    result = end.result
    return {
        "id": end.id,
        "method": result.method,
        "problem": end.target,
        "dim": end.optimizer.space.dim,
        "seed": result.seed,
        "fun": result.fun if result.success else None,
        "x": plain.jsonable(result.x, "x") if result.success else None,
        "nfev": result.nfev,
        "failed": end.optimizer.n_failed,
        "status": result.status,
        "message": result.message,
        "times": result.times,
        "saved": end.saved,
    }


def _for_people(end: Ending) -> Iterator[Any]:
    result, optimizer = end.result, end.optimizer
    facts = Table.grid(padding=(0, 2))
    facts.add_column(style="cyan", no_wrap=True)
    facts.add_column(overflow="fold")
    if result.success:
        best = Text(f"{result.fun:.8g}", "bold green")
        if end.optimum is not None:
            best.append(f"  (the optimum is {end.optimum:.6g})", "not bold default")
        facts.add_row("best value", best)
        facts.add_row("at", _shown(result.x))
    else:
        facts.add_row("best value", Text("none", "bold red"))
    failed = f", {optimizer.n_failed} failed" if optimizer.n_failed else ", none failed"
    facts.add_row("evaluations", f"{result.nfev} of {optimizer.budget}{failed}")
    # The objective's own words may be in these, over several lines.
    facts.add_row("stopped", Text(_one_line(result.message)))
    if result.success and optimizer.n_failed:  # else the message has it
        facts.add_row(
            "first error", Text(_one_line(next(trial.error or "" for trial in result.trials if trial.failed)))
        )

    yield ""
    yield Text(headline(end.target, optimizer).partition(" · resumed")[0], "bold")
    yield facts
    if result.nfev:
        yield ""
        yield _times(result)
    yield ""
    if end.saved is None:
        yield "not saved"
    elif end.final:
        yield f"saved in {end.saved}, to be loaded with"
        yield f"  boids.Optimizer.load({json.dumps(end.saved, ensure_ascii=False)})"
    else:
        yield f"saved in {end.saved}, continue with"
        yield f"  {_resume_command(end.saved)}"


def _times(result: Result) -> Table:
    """Return where the time went."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="cyan")
    table.add_column("time", min_width=len("evaluations"))
    for heading in ("seconds", "per evaluation", "share"):
        table.add_column(heading, justify="right")
    total = sum(result.times.values())
    phases = [*_PHASES, *(phase for phase in result.times if phase not in _PHASES)]
    for phase in [*(phase for phase in phases if result.times.get(phase)), "total"]:
        seconds = total if phase == "total" else result.times[phase]
        share = seconds / total if total else 0.0
        style = "bold" if phase == "total" else None
        table.add_row(phase, f"{seconds:.2f}", short_time(seconds / result.nfev), f"{share:.0%}", style=style)
    return table


def _shown(x: Any) -> str:
    """Return the first few coordinates of a point."""
    if isinstance(x, Mapping):
        items = [f"{name}={value:.6g}" if isinstance(value, float) else f"{name}={value}" for name, value in x.items()]
    else:
        items = [f"{value:.4g}" for value in x]
    more = f", … {len(items) - _COORDINATES} more" if len(items) > _COORDINATES else ""
    return f"[{', '.join(items[:_COORDINATES])}{more}]"


def _one_line(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= _LONGEST else words[: _LONGEST - 1] + "…"


def _resume_command(path: str) -> str:
    return f"boids resume {shlex.quote(path)}"
