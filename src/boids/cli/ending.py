"""What is written at the end of a run, for people or as one line of JSON."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from rich.table import Table
from rich.text import Text

from boids import plain
from boids.cli.failures import reasons
from boids.cli.names import default_store
from boids.cli.output import emit, emit_json, facts, note, one_line
from boids.durations import short_time
from boids.optimizer import Optimizer
from boids.result import Result
from boids.stopping import StopReason, in_full

_PHASES = ("fit", "select", "optimise", "lift", "evaluate", "other")
_COORDINATES = 5
_REASONS = 3
#: Characters of a target's name that a headline has room for.
_NAME = 60


@final
@dataclass(frozen=True)
class Ending:
    """A run that has ended, or stopped for now.

    Attributes
    ----------
    store
        The file that has it, None if there is none.
    optimum
        The smallest value that is possible, None if unknown.
    folder
        Where relative paths in the run's errors hold; empty if here.
    files
        Of which evaluations files are kept, "failed" or "all", and where; None if there are none.
    traceback
        Where the first failure comes from, if that is known.
    workers
        How many evaluations went on at a time, if that is known.
    facts
        More to tell people, as names and words.
    standing
        How a run stands that has not come to an end, in a sentence.
    in_python
        Whether it was begun in Python, so that no command can go on with it.
    """

    id: str
    target: str
    result: Result
    optimizer: Optimizer
    store: str | None
    optimum: float | None = None
    folder: str = ""
    files: tuple[str, str] | None = None
    traceback: str | None = None
    workers: int | None = None
    facts: tuple[tuple[str, str], ...] = ()
    standing: str = ""
    in_python: bool = False

    @property
    def has_point(self) -> bool:
        """Whether an evaluation succeeded."""
        return self.result.x is not None

    @property
    def is_final(self) -> bool:
        """Whether there is nothing left to do."""
        return StopReason(self.result.status).is_final

    @property
    def failed(self) -> int:
        """How many of the run's own evaluations failed."""
        return sum(trial.failed and trial.attempts > 0 for trial in self.result.trials)

    @property
    def repeated(self) -> int:
        """How many evaluations were begun more than once."""
        return sum(trial.attempts > 1 for trial in self.result.trials)

    @property
    def added(self) -> int:
        """How many trials were added with their outcomes."""
        return sum(trial.attempts == 0 for trial in self.result.trials)


def write(end: Ending, *, as_json: bool) -> None:
    """Write the end of a run; the command that resumes it goes to stderr if stdout is for JSON."""
    if not as_json:
        emit(*for_people(end))
        if end.traceback is not None and not end.has_point:
            note(f"\nThe first failure:\n{end.traceback}")
        return
    emit_json(as_dict(end))
    if not end.has_point:
        note(f"boids: No evaluation succeeded. {one_line(end.result.message)}")
    if end.store is not None and not end.is_final:
        note(f"continue with: {command('resume', end.id, end.store)}")


def headline(target: str, optimizer: Optimizer) -> str:
    """Return what is being run, in a line."""
    count, told, name = optimizer.n_constraints, optimizer.n_told, one_line(target)
    parts = [
        name if len(name) <= _NAME else name[: _NAME - 1] + "…",
        _counted(optimizer.space.dim, "dimension"),
        *[_counted(count, "constraint")] * bool(count),
        *["noisy"] * optimizer.noisy,
        optimizer.method,
        f"seed {optimizer.seed}",
    ]
    return " · ".join(parts + [f"resumed after {told} of {optimizer.budget}"] * bool(told))


def as_dict(end: Ending) -> dict[str, Any]:
    """Return the end of a run as JSON-able data."""
    result, found = end.result, end.has_point
    return {
        "id": end.id,
        "method": result.method,
        "problem": end.target,
        "dim": end.optimizer.space.dim,
        "seed": result.seed,
        "fun": result.fun if found else None,
        "x": plain.jsonable(result.x, "x") if found else None,
        "nfev": result.nfev,
        "failed": end.failed,
        "status": result.status,
        "message": result.message,
        "times": result.times,
        "store": end.store,
        "feasible": result.feasible if found else None,
        "constraints": None if result.constraints is None else result.constraints.tolist(),
        "observed": result.observed if found else None,
        "noisy": end.optimizer.noisy,
        "repeated": end.repeated,
        "added": end.added,
        "workers": end.workers,
    }


def for_people(end: Ending, then: str = "show") -> Iterator[Any]:
    """Yield the end of a run as lines and tables; `then` is the command for a run that is finished."""
    result, optimizer = end.result, end.optimizer
    goes_on = not end.is_final and not end.in_python
    rows = facts()
    for name, value in (*_found(end), *_how_it_went(end)):
        rows.add_row(name, value)

    yield ""
    yield Text(headline(end.target, optimizer).partition(" · resumed")[0], "bold")
    yield rows
    if result.nfev:
        yield ""
        yield _times(result)
    yield ""
    if end.store is None:
        yield "not kept"
    else:
        if end.in_python and not end.is_final:
            yield f"begun in Python; continue with boids.minimize(…, store={end.store!r}, run_id={end.id!r})"
        yield f"kept in {end.store}, {'continue' if goes_on else 'more of it'} with"
        yield f"  {command('resume' if goes_on else then, end.id, end.store)}"


def _found(end: Ending) -> Iterator[tuple[str, Text]]:
    """Yield what is known of the best point, as names and words."""
    result, optimizer, count = end.result, end.optimizer, end.optimizer.n_constraints
    best = optimizer.best
    if best is None:
        yield "best value", Text("none", "bold red")
        return
    label = "posterior mean" if optimizer.noisy else "best feasible value" if count else "best value"
    value = Text(f"{result.fun:.8g}", "bold green" if result.feasible else "bold")
    if optimizer.noisy:
        value.append(f"  (observed {result.observed:.8g})", "not bold default")
    if end.optimum is not None and result.feasible:
        value.append(f"  (the optimum is {end.optimum:.6g})", "not bold default")
    if result.feasible:
        yield label, value
    else:
        broken = sum(each > 0.0 for each in best.constraints or ())
        violated = f"{broken} of {_counted(count, 'constraint')} violated"
        yield "best value", Text(f"no feasible point; least violation {best.violation:.6g}, {violated}", "bold yellow")
        yield "posterior mean there" if optimizer.noisy else "value there", value
    yield "at", Text(shown(result.x))
    if count:
        done = [trial for trial in result.trials if trial.state == "done"]
        feasible = sum(bool(trial.feasible) for trial in done)
        yield "feasible", Text(f"{feasible} of {_counted(len(done), 'successful evaluation')}")


def _how_it_went(end: Ending) -> Iterator[tuple[str, Text]]:
    """Yield how the evaluations went, and why there are no more of them."""
    result, optimizer = end.result, end.optimizer
    counts = [f"{result.nfev} of {optimizer.budget}", f"{end.failed} failed" if end.failed else "none failed"]
    yield "evaluations", Text(", ".join(counts + [f"{end.repeated} begun more than once"] * bool(end.repeated)))
    if end.added:
        yield "added", Text(f"{_counted(end.added, 'evaluation')} made before or elsewhere")
    yield "stopped", Text(end.standing or in_full(StopReason(result.status), result.trials))
    for name, value in end.facts:
        yield name, Text(value)
    found = reasons(result.trials)
    for number, reason in enumerate(found[:_REASONS]):
        where = f" (the first in {os.path.basename(reason.folder)})" if reason.folder else ""
        words = f"{reason.count} × {one_line(reason.text)}{where}"
        yield ("" if number else "why they failed"), Text(words, "" if end.has_point else "red")
    if others := found[_REASONS:]:
        yield "", Text(f"{sum(each.count for each in others)} × {_counted(len(others), 'other reason')}")
    if end.files is not None:
        whose, where = end.files
        yield "files", Text(f"of {whose} evaluations in {os.path.join(end.folder, where)}")
    if found and found[0].folder and not end.has_point:
        where = os.path.join(end.folder, found[0].folder)
        yield "look at", Text(f"stderr.txt, stdout.txt and command.json in {where}")


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


def shown(x: Any) -> str:
    """Return the first few coordinates of a point."""
    if isinstance(x, Mapping):
        items = [f"{name}={_shown_value(value)}" for name, value in list(x.items())[: _COORDINATES + 1]]
    else:
        items = [_shown_value(value) for value in x[: _COORDINATES + 1]]
    more = f", … {len(x) - _COORDINATES} more" if len(x) > _COORDINATES else ""
    return f"[{', '.join(items[:_COORDINATES])}{more}]"


def _shown_value(value: Any) -> str:
    if isinstance(value, (float, np.floating)):
        return f"{value:.4g}"
    return shown(value) if isinstance(value, (np.ndarray, tuple)) else one_line(str(value))


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def command(name: str, run_id: str, store: str) -> str:
    """Return a command for a run, to be copied."""
    where = "" if store == default_store() else f" --store {shlex.quote(store)}"
    return f"boids {name} {shlex.quote(run_id)}{where}"
