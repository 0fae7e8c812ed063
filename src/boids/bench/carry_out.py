"""Carry out one run of an experiment, or go on with it: a program that gets the run on its standard input.

The file of the run is the truth: every evaluation is in it before the next one begins. A snapshot beside it, written
now and then, only saves time. After a break the run goes on from the snapshot, or from the beginning if there is none:
proposals are made again, must be those in the file, and get the values in the file; nothing is evaluated twice.

The program ends when its standard input does, so that it does not outlive whoever started it.
"""

from __future__ import annotations

import json
import math
import os
import sys
import threading
import time
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import Any, final

from boids import drive, plain
from boids.bench.environment import environment, now
from boids.bench.job import Job
from boids.bench.run_log import OpenRun, RunTaken
from boids.errors import BoidsError, EvaluationError, StoreError
from boids.optimizer import Optimizer
from boids.problems import Problem
from boids.records import Trial
from boids.stopping import StopReason

#: Seconds between two snapshots at the least, and how much longer than a snapshot takes.
SNAPSHOT_SECONDS = 10.0
SNAPSHOT_SHARE = 0.05
#: What is said of a run that ended at its time limit.
TIME_LIMIT = "time limit"
#: Exit code of a process that found the run taken by another one.
TAKEN = 3


def carry_out(job: Job, folder: str | os.PathLike[str], commit: str | None = None) -> None:
    """Make a run, or what is left of it; what goes wrong is written into its file."""
    with OpenRun(Path(folder) / job.path) as file:
        made: tuple[Problem, Any] | None = None
        trouble: Exception | None = None
        try:
            made = job.make_problem(), job.make_method()
        except Exception as error:  # said below, in a file that has its header
            trouble = error
        if file.log is None:
            file.append(job.header(*(made or (None, None))))
        elif (difference := job.difference(file.log.header)) is not None:
            raise StoreError(f"The run {os.fspath(file.path)!r} has another {difference}; choose another folder.")
        count = 0 if file.log is None else len(file.log.evaluations)
        event = "resumed" if file.log is not None and file.log.events else "begun"
        file.append({"event": event, **environment(), "commit": commit, "evaluations": count})
        if made is None:
            file.append(_failure(trouble))
            return
        problem, method = made
        try:
            left = None if job.time_limit is None else job.time_limit - (file.log.seconds if file.log else 0.0)
            optimizer = _resumed(job, problem, method, file)
            record = Record(optimizer, problem, file)
            reason = StopReason.TIMEOUT
            if left is None or left > 0.0:
                reason = drive.run(optimizer, problem, timeout=left, callback=record)
            status = TIME_LIMIT if reason is StopReason.TIMEOUT else reason.value
            file.append(end_event(status, reason.sentence, job))
        except Exception as error:
            file.append(_failure(error))
            return
        _snapshot_path(file).unlink(missing_ok=True)


def end_event(status: str, message: str, job: Job) -> dict[str, Any]:
    """Return the line that says that a run has come to its end."""
    return {"event": "end", "at": now(), "status": status, "message": message, "time_limit": job.time_limit}


def error_event(error: BaseException | str, details: str = "") -> dict[str, Any]:
    """Return the line that says that a run has failed."""
    said = error if isinstance(error, str) else f"{type(error).__name__}: {shown_error(error)}"
    return {"event": "error", "at": now(), "error": said, "traceback": details}


def _failure(error: Exception | None) -> dict[str, Any]:
    return error_event("" if error is None else error, "".join(traceback.format_exception(error)))


def shown_error(error: BaseException) -> str:
    """Return what an error says in one line."""
    return " ".join(str(error).split())[:500]


@final
class Record:
    """Writes every evaluation down; a callback of `boids.drive.run`."""

    def __init__(self, optimizer: Optimizer, problem: Problem, file: OpenRun) -> None:
        self._problem, self._file = problem, file
        self._times, self._cpu = optimizer.times, time.process_time()
        self._saved = time.monotonic()
        self._pause = SNAPSHOT_SECONDS

    def __call__(self, optimizer: Optimizer, trial: Trial) -> None:
        """Write down an evaluation that has just been told."""
        times, cpu = optimizer.times, time.process_time()
        row: dict[str, Any] = {
            "n": optimizer.n_told,
            "value": None if trial.failed else trial.value,
            "best": _best(optimizer),
            "x": _point(trial),
            "times": {
                phase: round(seconds - self._times.get(phase, 0.0), 6)
                for phase, seconds in times.items()
                if seconds > self._times.get(phase, 0.0)
            },
            "cpu": round(cpu - self._cpu, 6),
        }
        if "phase" in trial.info:
            row["phase"] = trial.info["phase"]
        if facts := {name: value for name, value in trial.info.items() if name != "phase" and _is_plain(value)}:
            row["info"] = facts
        if trial.failed:
            row["error"] = trial.error or "failed"
        if optimizer.n_constraints:
            row["constraints"] = None if trial.constraints is None else [float(c) for c in trial.constraints]
            row["feasible"] = bool(trial.feasible)
        if self._problem.stateful:
            row["memory"] = self._problem.state()
        self._file.append(row)
        self._times, self._cpu = times, time.process_time()
        self._save_now_and_then(optimizer)

    def _save_now_and_then(self, optimizer: Optimizer) -> None:
        begun = time.monotonic()
        if begun - self._saved < self._pause:
            return
        optimizer.save(_snapshot_path(self._file))
        self._saved = time.monotonic()
        self._pause = max(SNAPSHOT_SECONDS, (self._saved - begun) / SNAPSHOT_SHARE)


def _is_plain(value: Any) -> bool:
    """Whether a fact is a word or a number that JSON has."""
    return isinstance(value, (bool, int, str)) or (isinstance(value, float) and math.isfinite(value))


def _best(optimizer: Optimizer) -> float | None:
    """Return the best feasible value that was measured; with noise too, for the file is about what was measured."""
    best = optimizer.run.ledger.best
    return best.value if best is not None and best.feasible else None


def _point(trial: Trial) -> Any:
    params = trial.params
    return plain.jsonable(dict(params), "x") if isinstance(params, Mapping) else [float(each) for each in params]


def _resumed(job: Job, problem: Problem, method: Any, file: OpenRun) -> Optimizer:
    """Return the optimizer after all that is in the file."""
    rows = [] if file.log is None else file.log.evaluations
    optimizer = _from_snapshot(job, file, rows)
    if optimizer is None:
        optimizer = Optimizer(
            problem.space,
            budget=job.budget,
            method=method,
            seed=job.seed,
            noisy=problem.noisy,
            n_constraints=problem.n_constraints,
        )
    for row in rows[optimizer.n_told :]:
        trial = optimizer.ask()
        if _point(trial) != row["x"]:
            raise StoreError(
                f"Evaluation {row['n']} cannot be made again: the method proposes another point now, as after a change "
                "of the code or of a library; finish the run with the versions in its file, or delete it."
            )
        if row["value"] is None:
            optimizer.tell(trial, error=EvaluationError(row["error"]))
        elif optimizer.n_constraints:
            optimizer.tell(trial, row["value"], constraints=row["constraints"])
        else:
            optimizer.tell(trial, row["value"])
    if rows and problem.stateful:
        problem.restore(rows[-1]["memory"])
    return optimizer


def _from_snapshot(job: Job, file: OpenRun, rows: list[dict[str, Any]]) -> Optimizer | None:
    """Return the optimizer as it was last saved; None if that is of no use."""
    path = _snapshot_path(file)
    if not path.exists():
        return None
    try:
        optimizer = Optimizer.load(path, method=None if ":" not in job.method.name else job.make_method())
    except BoidsError:  # damaged, or of another version: the file of the run has everything
        return None
    trials = optimizer.trials
    same = (
        optimizer.budget == job.budget
        and optimizer.seed == job.seed
        and len(trials) == optimizer.n_told <= len(rows)
        and all(_point(trial) == row["x"] for trial, row in zip(trials, rows, strict=False))
    )
    return optimizer if same else None


def _snapshot_path(file: OpenRun) -> Path:
    return file.path.with_suffix(".npz")


def _end_with_input() -> None:
    """Wait for the end of the standard input, and end the process."""
    while os.read(0, 1):  # not through sys.stdin, whose lock the end of the main thread would stumble over
        pass
    os._exit(TAKEN)


def main() -> int:
    """Carry out the run that the first line of the standard input describes."""
    order = json.loads(sys.stdin.buffer.readline())
    threading.Thread(target=_end_with_input, daemon=True).start()
    try:
        carry_out(Job.from_document(order["job"]), order["folder"], order["commit"])
    except RunTaken:
        return TAKEN
    except BoidsError as error:
        sys.stderr.write(f"{shown_error(error)}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
