"""Carry out a run from the command line: begin or resume it, save it while it goes, survive Ctrl-C, tell the end."""

from __future__ import annotations

import os
import re
import secrets
import sys
import time
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, final

from boids import drive, plain
from boids.algorithms import ALGORITHMS
from boids.cli import assignments, ending
from boids.cli.ending import Ending, note
from boids.cli.errors import InputError
from boids.cli.interrupts import Interrupts
from boids.cli.target import Objective, Target
from boids.drive import StopReason
from boids.errors import StoreError, did_you_mean
from boids.optimizer import Optimizer
from boids.progress import Progress
from boids.records import Trial
from boids.result import Result

FOLDER = "boids-runs"

#: Seconds between two saves, and the share of the time that saving may take.
_INTERVAL, _SHARE = 3.0, 0.02
#: A run that ended for one of these reasons has nothing left to do; the time limit of any other begins anew.
_FINAL = (StopReason.BUDGET, StopReason.TARGET, StopReason.STAGNATION)
_RUNNING = "running"


@final
@dataclass(frozen=True)
class Limits:
    """How the objective is called, and what stops a run before its budget."""

    vectorized: bool = False
    batch: int = 1
    timeout: float | None = None
    target: float | None = None
    patience: int | None = None


@final
@dataclass(frozen=True)
class RunRecord:
    """What a snapshot must hold beside the optimizer to resume the run."""

    id: str
    target: Target
    limits: Limits
    status: str = _RUNNING


@final
@dataclass(frozen=True)
class Output:
    """What is to be written, and where."""

    as_json: bool = False
    quiet: bool = False


def begin(
    target: Target,
    limits: Limits,
    output: Output,
    *,
    budget: int,
    seed: int | None,
    method: str,
    settings: Mapping[str, str],
    save: str | None,
    store: bool,
) -> int:
    """Start a run, carry it out, and return the exit code."""
    if limits.batch > 1 and not limits.vectorized:
        raise InputError(f"--batch {limits.batch} needs --vectorized, an objective that takes several points at once.")
    if method not in ALGORITHMS:
        hint = did_you_mean(method, ALGORITHMS, f"methods are {', '.join(sorted(ALGORITHMS))}.")
        raise InputError(f"There is no method {method!r}; {hint}")
    algorithm = assignments.configured(ALGORITHMS[method], dict(settings))
    with ending.nothing_but_json(output.as_json):
        objective = target.load()
    try:
        optimizer = Optimizer(objective.space, budget=budget, method=algorithm, seed=seed)
    except ValueError as error:
        raise InputError(str(error)) from error
    record = RunRecord(new_id(target, objective.space.dim), replace(target, dim=objective.space.dim), limits)
    saver = Saver(optimizer, _new_path(record.id, save) if store else None, record)
    saver.save(_RUNNING)  # a place that cannot be written to is better found now than after the first hour
    return _carry_out(optimizer, objective, saver, output)


def resume(path: str, output: Output) -> int:
    """Carry on with a saved run, and return the exit code."""
    optimizer = Optimizer.load(path)
    shown = repr(os.fspath(path))
    if not optimizer.meta:
        raise StoreError(
            f"The snapshot {shown} was not made by `boids run`, so its objective is not known; "
            "continue it in Python with boids.Optimizer.load."
        )
    try:
        record: RunRecord = plain.decode(optimizer.meta, RunRecord, [], "meta")
        done = None if record.status == _RUNNING else StopReason(record.status)
    except (StoreError, ValueError) as error:
        raise StoreError(f"The snapshot {shown} cannot be resumed: {error}") from error
    if done in _FINAL:
        if not output.quiet:
            note(f"The run {record.id} is finished; there is nothing left to do.")
        end = Ending(record.id, record.target.name, Result.of(optimizer, done), optimizer, saved=path, final=True)
        return _tell(end, output)
    with ending.nothing_but_json(output.as_json):
        objective = record.target.load()
    if objective.space != optimizer.space:
        raise StoreError(f"The snapshot {shown} cannot be resumed: {record.target.name!r} has other bounds by now.")
    return _carry_out(optimizer, objective, Saver(optimizer, Path(path), record), output)


def _carry_out(optimizer: Optimizer, objective: Objective, saver: Saver, output: Output) -> int:
    """Evaluate until there is a reason to stop; then save, tell the end and return the exit code."""
    record, limits = saver.record, saver.record.limits
    with Interrupts() as interrupts, ending.nothing_but_json(output.as_json):
        with ExitStack() as stack:
            progress = None
            if not output.quiet and (sys.stderr.isatty() or not output.as_json):
                title = ending.headline(record.target.name, optimizer)
                progress = stack.enter_context(Progress(optimizer, title=title))

            def after(optimizer: Optimizer, trial: Trial) -> None:
                if progress is not None:
                    progress.update(optimizer, trial)
                saver.save_if_due()
                interrupts.strike()  # for an objective that swallowed it

            try:
                reason = drive.run(
                    optimizer,
                    interrupts.guard(objective.fun),
                    vectorized=limits.vectorized,
                    batch=limits.batch,
                    timeout=limits.timeout,
                    target=limits.target,
                    patience=limits.patience,
                    callback=after,
                )
            except BaseException:  # a mistake in the method; what has been evaluated is worth keeping all the same
                with suppress(StoreError):
                    saver.save(_RUNNING)
                raise
            finally:
                interrupts.disarm()
        problem = None
        try:
            saver.save(reason.value)
        except StoreError as error:  # the end is told first
            problem = error
    end = Ending(
        id=record.id,
        target=record.target.name,
        result=Result.of(optimizer, reason),
        optimizer=optimizer,
        saved=None if problem or saver.path is None else str(saver.path),
        final=reason in _FINAL,
        optimum=objective.optimum,
    )
    code = _tell(end, output)
    if problem is not None:
        raise problem
    if reason is StopReason.INTERRUPTED:
        return 128 + (interrupts.received or 2)
    return code


def _tell(end: Ending, output: Output) -> int:
    """Write the end of a run, and return its exit code but for interruptions."""
    ending.write(end, as_json=output.as_json)
    return 0 if end.result.success else 1


def new_id(target: Target, dim: int) -> str:
    """Return a name for a run: unique, in the order of time, and safe as the name of a file."""
    word = re.sub(r"[^A-Za-z0-9_]+", "-", target.name.rpartition(":")[2]).strip("-")[:24]
    return f"{time.strftime('%Y%m%d-%H%M%S')}-{word}-{dim}-{secrets.token_hex(4)}"


def _new_path(run_id: str, save: str | None) -> Path:
    """Return where a new run goes; a file that exists is somebody's results."""
    if save is None:
        try:
            os.makedirs(FOLDER, exist_ok=True)
        except OSError as error:
            reason = error.strerror or error
            raise StoreError(
                f"The folder {FOLDER!r} cannot be made ({reason}); use --save FILE or --no-store."
            ) from error
        return Path(FOLDER, f"{run_id}.npz")
    if os.path.lexists(save):
        raise InputError(f"--save {save}: it exists already; choose another name, or continue it with `boids resume`.")
    return Path(save)


@final
class Saver:
    """Keeps the snapshot of a run up to date without slowing the run down; does nothing without a path."""

    def __init__(self, optimizer: Optimizer, path: Path | None, record: RunRecord) -> None:
        self.path = path
        self.record = record
        self._optimizer = optimizer
        self._next = 0.0
        self._warned = False

    def save(self, status: str) -> None:
        """Write the snapshot."""
        if self.path is None:
            return
        meta: dict[str, Any] = plain.encode(replace(self.record, status=status), RunRecord, [], "meta")
        begun = time.monotonic()
        try:
            self._optimizer.save(self.path, meta=meta)
        finally:
            spent = time.monotonic() - begun
            self._next = begun + spent + max(_INTERVAL, spent / _SHARE)
            self._optimizer.add_time("other", spent)

    def save_if_due(self) -> None:
        """Write the snapshot if the last one is old; a full disk is no reason to end the run."""
        if time.monotonic() < self._next:
            return
        try:
            self.save(_RUNNING)
        except StoreError as error:
            if not self._warned:
                note(f"boids: {error} The run goes on.")
            self._warned = True
