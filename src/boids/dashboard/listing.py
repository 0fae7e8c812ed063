"""A line in the list of runs, the same for runs in stores and runs of experiments; and how a run stands, in a word."""

from __future__ import annotations

import hashlib
from datetime import datetime
from pathlib import Path
from typing import Any

from boids.bench.run_log import Glance
from boids.dashboard.cells import number
from boids.stopping import StopReason
from boids.store import RUNNING, RunSummary, locks

#: How a run stands: it goes on; it has ended; it was interrupted, and can go on; it broke.
LIVE, FINISHED, STOPPED, FAILED = "live", "finished", "stopped", "failed"

_BROKEN = (StopReason.WORKERS, StopReason.STORE)


def key_of(path: Path, run_id: str) -> str:
    """Return a name for a run that fits into an address, unique among all places."""
    return hashlib.blake2b(f"{path}\0{run_id}".encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def of_summary(path: Path, run: RunSummary) -> dict[str, Any]:
    """Return the line of a run in a store."""
    standing, message = _standing(run)
    return {
        "key": key_of(path, run.id),
        "id": run.id,
        "place": str(path),
        "kind": "store",
        "method": run.method,
        "problem": run.problem or "a function",
        "dim": run.dim,
        "budget": run.budget,
        "seed": str(run.seed),
        "evaluations": run.nfev,
        "pending": run.asked - run.nfev - run.added,
        "failed": run.failed,
        "added": run.added,
        "repeated": run.repeated,
        "best": number(run.fun),
        "feasible": run.feasible,
        "standing": standing,
        "message": message,
        "created": number(run.created),
        "updated": number(run.updated),
    }


def of_log(path: Path, found: Glance) -> dict[str, Any]:
    """Return the line of a run of an experiment."""
    header, problem, method = found.header, found.header["problem"], found.header["method"]
    standing = {"error": FAILED, "unfinished": STOPPED}.get(found.status, FINISHED)
    message = str(found.last.get("message") or found.last.get("error") or "")
    if standing == STOPPED:
        if locks.is_taken(str(path), 0):
            standing = LIVE
        else:
            message = "It was interrupted; the same boids bench goes on with it."
    changed = path.stat().st_mtime
    return {
        "key": key_of(path, ""),
        "id": f"{problem['label']} / {method['label']} / {header['repetition']}",
        "place": str(path),
        "kind": "experiment",
        "method": str(method["label"]),
        "problem": str(problem["label"]),
        "dim": problem.get("dim"),
        "budget": header.get("budget"),
        "seed": str(header.get("repetition")),
        "evaluations": found.evaluations,
        "pending": int(standing == LIVE),
        "failed": None,
        "added": 0,
        "repeated": 0,
        "best": number(found.best),
        "feasible": None if found.best is None else True,
        "standing": standing,
        "message": message,
        "created": _time(found.last.get("at")) or changed,
        "updated": changed,
    }


def _standing(run: RunSummary) -> tuple[str, str]:
    if run.active:
        return LIVE, ""
    try:
        reason = StopReason(run.status)
    except ValueError:  # a word of somebody else's
        return FINISHED, run.status
    if run.status == RUNNING:
        return STOPPED, "It was interrupted or killed; boids resume goes on with it."
    if reason in _BROKEN or (run.nfev and run.failed >= run.nfev):
        return FAILED, reason.sentence
    return (STOPPED if reason is StopReason.INTERRUPTED else FINISHED), reason.sentence


def _time(text: Any) -> float | None:
    try:
        return datetime.fromisoformat(str(text)).timestamp()
    except ValueError:
        return None
