"""Carry out a run from the command line: begin or resume it, save it while it goes, survive Ctrl-C, tell the end."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, chdir, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, final

from boids import drive, plain
from boids.cli import ending, picture, prepare
from boids.cli.ending import Ending
from boids.cli.errors import InputError
from boids.cli.failures import FirstFailure
from boids.cli.interrupts import Interrupts
from boids.cli.output import note, nothing_but_json
from boids.cli.record import RUNNING, RunRecord
from boids.cli.request import Output, Request
from boids.cli.saver import Saver, new_path
from boids.cli.targets import Objective, ProgramTarget, Target
from boids.drive import StopReason
from boids.errors import BoidsError, StoreError
from boids.isolation import isolate
from boids.optimizer import Optimizer
from boids.progress import JsonLines, Progress
from boids.records import Trial
from boids.result import Result

#: A run that ended for one of these reasons has nothing left to do; the time limit of any other begins anew.
_FINAL = (StopReason.BUDGET, StopReason.SPACE, StopReason.TARGET, StopReason.STAGNATION)


@final
@dataclass(frozen=True)
class Stopped:
    """How the evaluations came to an end.

    Attributes
    ----------
    signal
        The number of the signal that ended them, if one did.
    problem
        Why the run could not be saved.
    traceback
        Where the first failure comes from, if that is known.
    """

    reason: StopReason
    signal: int | None = None
    problem: StoreError | None = None
    traceback: str | None = None


def begin(request: Request) -> int:
    """Start a run, carry it out, and return the exit code."""
    output = replace(request.output, plot=picture.checked(request.plot))
    prepare.method(request)  # what is wrong with it is better said before an import that takes its time
    with nothing_but_json(output.is_json):
        prepared = prepare.prepare(request)
    limits = prepare.limits(request, prepared.objective)
    optimizer = prepare.optimizer(request, prepared)
    record = RunRecord(prepared.id, os.getcwd(), prepared.target, limits)
    path = None if request.no_store else new_path(prepared.id, request.save)
    saver = Saver(optimizer, None if path is None else Path(path).absolute(), record, prepared.objective.memory)
    # Places that cannot be written to are better found now than after the first hour.
    with _folder_for(prepared.target):
        saver.settle()
        saver.save(RUNNING)
        stopped = _evaluate(optimizer, prepared.objective, saver, output)
    # Linear constraints may have cut the optimum off.
    optimum = prepared.objective.optimum if optimizer.linear_constraints is None else None
    return _finish(optimizer, record, stopped, path, optimum, output)


def resume(path: str, output: Output, *, folder: str | None = None) -> int:
    """Carry on with a saved run, and return the exit code.

    Parameters
    ----------
    folder
        Where the run's function or program is now; None is where the run was begun.
    """
    output = replace(output, plot=picture.checked(output.plot))
    if folder is not None and not os.path.isdir(folder):
        raise InputError(f"--folder {folder}: there is no such folder.")
    optimizer = Optimizer.load(path)
    record, done = _record(optimizer, path)
    if folder is not None:
        record = replace(record, folder=os.path.abspath(folder))
    if done in _FINAL:
        if not output.quiet:
            note(f"The run {record.id} is finished; there is nothing left to do.")
        return _finish(optimizer, record, Stopped(done), path, None, output)
    file = Path(path).absolute()
    with _where_it_was_begun(record, path, output.quiet):
        try:
            with nothing_but_json(output.is_json):
                objective = record.target.load(optimizer.space, optimizer.n_constraints)
            if objective.memory is not None:
                objective.memory.restore(record.memory)
        except BoidsError as error:
            raise StoreError(f"The snapshot {path!r} cannot be resumed: {error}") from error
        with _folder_for(record.target):
            stopped = _evaluate(optimizer, objective, Saver(optimizer, file, record, objective.memory), output)
    optimum = objective.optimum if optimizer.linear_constraints is None else None
    return _finish(optimizer, record, stopped, path, optimum, output)


def _evaluate(optimizer: Optimizer, objective: Objective, saver: Saver, output: Output) -> Stopped:
    """Evaluate until there is a reason to stop; then save."""
    record, limits, first_failure = saver.record, saver.record.limits, FirstFailure()
    with nothing_but_json(output.is_json) as stdout, Interrupts() as interrupts:
        with ExitStack() as stack:
            fun = objective.fun
            if limits.isolate:  # before the display starts a thread, and where prints go to stderr already
                fun = stack.enter_context(isolate(fun, timeout=limits.eval_timeout))
            watchers: list[Callable[[Optimizer, Trial], Any]] = []
            if not output.quiet and (sys.stderr.isatty() or not output.is_json):
                title = ending.headline(record.target.name, optimizer)
                watchers.append(stack.enter_context(Progress(optimizer, title=title)).update)
            if output.json_lines:
                watchers.append(JsonLines(stdout).update)

            def after(optimizer: Optimizer, trial: Trial) -> None:
                for watcher in watchers:
                    watcher(optimizer, trial)
                saver.settle()
                saver.save_if_due()
                interrupts.strike()  # for an objective that swallowed it

            try:
                reason = drive.run(
                    optimizer,
                    interrupts.guard(first_failure.watch(fun)),
                    vectorized=limits.vectorized,
                    batch=limits.batch,
                    timeout=limits.timeout,
                    target=limits.target,
                    patience=limits.patience,
                    callback=after,
                )
            except BaseException:  # a mistake in the method; what has been evaluated is worth keeping all the same
                with suppress(StoreError):
                    saver.save(RUNNING)
                raise
            finally:
                interrupts.disarm()
        problem = None
        try:
            saver.save(reason.value)
        except StoreError as error:  # the end is told first
            problem = error
    return Stopped(reason, interrupts.received, problem, first_failure.traceback)


def _finish(
    optimizer: Optimizer, record: RunRecord, stopped: Stopped, path: str | None, optimum: float | None, output: Output
) -> int:
    """Tell the end of a run, draw it if wanted, and return the exit code."""
    end = Ending(
        id=record.id,
        target=record.target.name,
        result=Result.of(optimizer, stopped.reason),
        optimizer=optimizer,
        saved=None if stopped.problem else path,
        final=stopped.reason in _FINAL,
        optimum=optimum,
        folder="" if _is_here(record.folder) else record.folder,
        files=_files(record, optimizer),
        traceback=stopped.traceback,
    )
    ending.write(end, as_json=output.is_json)
    code = 0 if end.has_point else 1
    if output.plot is not None:
        try:
            picture.save(end.result, output.plot)
        except StoreError as error:
            note(f"boids: {error}")
            code = code or 2
    if stopped.problem is not None:
        raise stopped.problem
    return 128 + (stopped.signal or 2) if stopped.reason is StopReason.INTERRUPTED else code


def _files(record: RunRecord, optimizer: Optimizer) -> tuple[str, str] | None:
    """Return whose files are kept, and where, if any are."""
    target = record.target
    if not isinstance(target, ProgramTarget) or target.keep == "none":
        return None
    count = optimizer.n_told if target.keep == "all" else optimizer.n_failed
    return (target.keep, target.workdir) if count else None


def _record(optimizer: Optimizer, path: str) -> tuple[RunRecord, StopReason | None]:
    """Return what was saved beside the optimizer, and why the run had ended."""
    if not optimizer.meta:
        raise StoreError(
            f"The snapshot {path!r} was not made by `boids run`, so its objective is not known; "
            "continue it in Python with boids.Optimizer.load."
        )
    try:
        record: RunRecord = plain.decode(optimizer.meta, RunRecord, [], "meta")
        return record, None if record.status == RUNNING else StopReason(record.status)
    except (StoreError, ValueError) as error:
        raise StoreError(f"The snapshot {path!r} cannot be resumed: {error}") from error


@contextmanager
def _where_it_was_begun(record: RunRecord, path: str, quiet: bool) -> Iterator[None]:
    """Work in the folder where a run was begun, if its objective needs something there."""
    if not record.target.is_local or _is_here(record.folder):
        yield
        return
    if not os.path.isdir(record.folder):
        raise StoreError(
            f"The snapshot {path!r} cannot be resumed: it was begun in the folder {record.folder!r}, which is not "
            "there; say where its function or program is now with --folder DIR."
        )
    if not quiet:
        note(f"The run goes on in {record.folder}, where it was begun.")
    with chdir(record.folder):
        yield


@contextmanager
def _folder_for(target: Target) -> Iterator[None]:
    """Have a folder for the evaluations of a program; none is left if nothing was kept in it."""
    if not isinstance(target, ProgramTarget):
        yield
        return
    target.make_folder()
    try:
        yield
    finally:
        target.remove_empty_folder()


def _is_here(folder: str) -> bool:
    return os.path.realpath(folder) == os.path.realpath(os.curdir)
