"""Carry out a run from the command line, from its beginning or from where it stopped, and tell the end."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, chdir, contextmanager
from dataclasses import replace

from boids.cli import ending, picture, prepare, shelf
from boids.cli.ending import Ending
from boids.cli.evaluating import Stopped, evaluate
from boids.cli.output import note, nothing_but_json
from boids.cli.placing import Placing, assembled
from boids.cli.record import RunRecord
from boids.cli.request import Output, Request
from boids.cli.targets import ProgramTarget, Target
from boids.errors import BoidsError, InputError, StoreError
from boids.optimizer import Optimizer
from boids.result import Result
from boids.stopping import StopReason


def begin(request: Request) -> int:
    """Start a run, carry it out, and return the exit code."""
    output = replace(request.output, plot=picture.checked(request.plot))
    prepare.method(request)  # what is wrong with it is better said before an import that takes its time
    with ExitStack() as stack:
        stdout = stack.enter_context(nothing_but_json(output.is_json))
        folder = os.getcwd()
        prepared = prepare.prepare(request)
        if os.getcwd() != folder:  # by the user's module; paths on the command line still hold where it was typed
            request = replace(request, store=os.path.join(folder, request.store))
        objective, target = prepared.objective, prepared.target
        placing = request.placing()
        placing.check_memory(objective, target)
        optimizer = prepare.optimizer(request, prepared)
        # Places that cannot be written to, and workers that are not there, are better found now than after an hour.
        stack.enter_context(_folder_for(target))
        team = stack.enter_context(assembled(placing, objective, target, folder))
        record = RunRecord(folder, target, team.placing, prepare.limits(request))
        if not request.no_store:
            optimizer.keep(request.store, run_id=prepared.id, problem=target.name, meta=record.as_meta())
        stopped = evaluate(optimizer, objective, record, team, output, stdout)
    # Linear constraints may have cut the optimum off.
    optimum = objective.optimum if optimizer.linear_constraints is None else None
    end = told(
        optimizer, prepared.id, record, stopped, store=None if request.no_store else request.store, optimum=optimum
    )
    return _finish(end, stopped, output)


def resume(
    store: str, given: str | None, output: Output, *, folder: str | None, change: Callable[[Placing], Placing]
) -> int:
    """Carry on with a run in a store, and return the exit code.

    Parameters
    ----------
    given
        What the run is called, or the beginning or end of it; None is the latest one that is not finished.
    folder
        Where the run's function or program is now; None is where the run was begun.
    change
        Gives where evaluations take place from now on.
    """
    output = replace(output, plot=picture.checked(output.plot))
    if folder is not None and not os.path.isdir(folder):
        raise InputError(f"--folder {folder}: there is no such folder.")
    run_id = shelf.find(store, given) if given is not None else shelf.latest_unfinished(store)
    stored = shelf.read(store, run_id)
    if given != run_id and not output.quiet:
        note(f"Run {run_id}")
    if shelf.reason_of(stored.status).is_final:
        if not output.quiet:
            note(f"The run {run_id} is finished; there is nothing left to do.")
        stopped = Stopped(shelf.reason_of(stored.status))
        optimizer, _ = Optimizer.stored(store, run_id)
        return _finish(told(optimizer, run_id, shelf.record_of(stored), stopped, store=store), stopped, output)

    record = shelf.record_to_resume(store, stored)
    record = replace(record, placing=change(record.placing), folder=os.path.abspath(folder or record.folder))
    place = os.path.abspath(store)  # for the current folder changes
    shelf.refuse_if_active(place, run_id)
    with ExitStack() as stack:
        stack.enter_context(_where_it_was_begun(record, run_id, output.quiet))
        stdout = stack.enter_context(nothing_but_json(output.is_json))
        copy = shelf.restored(store, stored)
        try:
            objective = record.target.load(copy.setup.space, copy.setup.n_constraints)
        except BoidsError as error:
            raise StoreError(f"The run {run_id!r} cannot be resumed: {error}") from error
        record.placing.check_memory(objective, record.target)
        stack.enter_context(_folder_for(record.target))
        team = stack.enter_context(assembled(record.placing, objective, record.target, record.folder))
        record = replace(record, placing=team.placing)
        optimizer = Optimizer.resume(place, run_id)
        if optimizer.kept is not None:
            optimizer.kept.note(StopReason.RUNNING.value, record.as_meta())
        again = [trial for trial in optimizer.pending if trial.attempts > 1]
        if again and record.placing.lost == "retry":
            note(
                f"Evaluation {again[0].id} has been begun {again[0].attempts} times and never ended. If it ends the "
                "whole process, resume with --lost fail --workers 1: it counts as failed, and so will others like it."
            )
        stopped = evaluate(optimizer, objective, record, team, output, stdout)
    optimum = objective.optimum if optimizer.linear_constraints is None else None
    return _finish(told(optimizer, run_id, record, stopped, store=store, optimum=optimum), stopped, output)


def told(
    optimizer: Optimizer,
    run_id: str,
    record: RunRecord | None,
    stopped: Stopped,
    *,
    store: str | None,
    optimum: float | None = None,
    name: str = "",
) -> Ending:
    """Return what there is to tell of a run; `name` says what was minimised if there is no record of it."""
    return Ending(
        id=run_id,
        target=name if record is None else record.target.name,
        result=Result.of(optimizer, stopped.reason),
        optimizer=optimizer,
        store=store,
        optimum=optimum,
        folder="" if record is None or _is_here(record.folder) else record.folder,
        files=None if record is None else _files(record, optimizer),
        traceback=stopped.traceback,
        workers=stopped.workers,
        in_python=record is None,
    )


def _finish(end: Ending, stopped: Stopped, output: Output) -> int:
    """Tell the end of a run, draw it if wanted, and return the exit code."""
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


@contextmanager
def _where_it_was_begun(record: RunRecord, run_id: str, quiet: bool) -> Iterator[None]:
    """Work in the folder where a run was begun, if its objective needs something there."""
    if not record.target.is_local or _is_here(record.folder):
        yield
        return
    if not os.path.isdir(record.folder):
        raise StoreError(
            f"The run {run_id!r} cannot be resumed: it was begun in the folder {record.folder!r}, which is not "
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
