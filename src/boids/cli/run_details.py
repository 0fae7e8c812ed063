"""`boids show`: one run in full, whether it has ended or is going on."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from rich.table import Table

from boids import plain
from boids.cli import ending, picture, shelf
from boids.cli.ending import Ending
from boids.cli.evaluating import Stopped
from boids.cli.output import emit, emit_json, table
from boids.cli.run_listing import about, ago, status_of
from boids.cli.session import told
from boids.durations import short_time
from boids.ledger import merit
from boids.optimizer import Optimizer
from boids.records import Trial
from boids.store import RunSummary, Store

_STANDING = {
    "running": "It has not: the run is being carried out.",
    "stopped": "The run was cut off before its end.",
}


def show(store: str, given: str | None, *, trials: int | None, plot: str | None, as_json: bool) -> None:
    """Write what there is to know about a run, the latest if none is given; `trials` of the best are listed."""
    plot = picture.checked(plot)
    run_id = shelf.found_or_latest(store, given)
    (summary,) = (each for each in Store(store).runs() if each.id == run_id)
    stored = shelf.read(store, run_id)
    optimizer, status = Optimizer.stored(store, run_id)
    record = shelf.record_of(stored)
    workers = None if record is None or record.placing.dask is not None else record.placing.workers or 1
    end = told(
        optimizer,
        run_id,
        record,
        Stopped(shelf.reason_of(status), workers=workers),
        store=store,
        name=stored.head.problem or "a function",
    )
    end = replace(end, facts=tuple(_times(summary)), standing=_STANDING.get(status_of(summary), ""))
    best = sorted((each for each in optimizer.trials if each.state == "done"), key=merit)[: trials or 0]
    if as_json:
        more = {} if trials is None else {"trials": [_as_dict(each) for each in best]}
        emit_json({**ending.as_dict(end), **_known(summary), **more})
    else:
        emit(*ending.for_people(end, then="export"))
        if best:
            emit("", _table(best, end))
    if plot is not None:
        picture.save(end.result, plot)


def _known(summary: RunSummary) -> dict[str, Any]:
    """Return what the list of runs says, too."""
    listed = about(summary)
    return {name: listed[name] for name in ("status", "budget", "active", "created", "updated")}


def _times(summary: RunSummary) -> Iterator[tuple[str, str]]:
    """Yield when the run was begun, and how long it has been going on."""
    now, begun = time.time(), time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(summary.created))
    yield "begun", f"{begun}, {ago(now - summary.created)} ago"
    yield "last written", f"{ago(now - summary.updated)} ago, {short_time(summary.updated - summary.created)} later"


def _as_dict(trial: Trial) -> dict[str, Any]:
    return {
        "number": trial.id,
        "value": trial.value,
        "x": plain.jsonable(trial.params, "x"),
        "constraints": None if trial.constraints is None else list(trial.constraints),
        "feasible": trial.feasible,
        "attempts": trial.attempts,
    }


def _table(best: list[Trial], end: Ending) -> Table:
    listed = table("trial", "value", *["violation"] * bool(end.optimizer.n_constraints), "at")
    for each in best:
        violation = [f"{each.violation:.6g}"] * bool(end.optimizer.n_constraints)
        listed.add_row(str(each.id), f"{each.value:.8g}", *violation, ending.shown(each.params))
    return listed
