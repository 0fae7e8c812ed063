"""Carry out a run from the command line: evaluate, show how it goes, survive Ctrl-C, leave the store in order."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from typing import Any, TextIO, final

from boids import drive
from boids.cli import ending
from boids.cli.failures import FirstFailure
from boids.cli.interrupts import Interrupts
from boids.cli.placing import Team
from boids.cli.record import RunRecord
from boids.cli.request import Output
from boids.cli.targets import Objective
from boids.cli.watched_workers import WatchedWorkers
from boids.errors import BoidsError, StoreError
from boids.optimizer import Optimizer
from boids.progress import JsonLines, Progress
from boids.records import Trial
from boids.stopping import StopReason


@final
@dataclass(frozen=True)
class Stopped:
    """How the evaluations came to an end.

    Attributes
    ----------
    signal
        The number of the signal that ended them, if one did.
    problem
        What has ended the run before its time, or kept it from being written down.
    traceback
        Where the first failure comes from, if that is known.
    workers
        How many evaluations went on at a time; None if that is not known.
    """

    reason: StopReason
    signal: int | None = None
    problem: BoidsError | None = None
    traceback: str | None = None
    workers: int | None = None


def evaluate(
    optimizer: Optimizer, objective: Objective, record: RunRecord, team: Team, output: Output, stdout: TextIO
) -> Stopped:
    """Evaluate until there is a reason to stop, and say so in the store.

    Parameters
    ----------
    stdout
        Where JSON goes.
    """
    placing, limits, first_failure = record.placing, record.limits, FirstFailure()
    _remember(optimizer, objective)
    size, reason = team.size, StopReason.RUNNING
    with Interrupts() as interrupts:
        try:
            with ExitStack() as stack:
                watchers: list[Callable[[Optimizer, Trial], Any]] = []
                if not output.quiet and (sys.stderr.isatty() or not output.is_json):
                    title = ending.headline(record.target.name, optimizer)
                    watchers.append(stack.enter_context(Progress(optimizer, title=title)).update)
                if output.json_lines:
                    watchers.append(JsonLines(stdout).update)

                def after(optimizer: Optimizer, trial: Trial) -> None:
                    for watcher in watchers:
                        watcher(optimizer, trial)
                    interrupts.strike()  # for an objective that swallowed it

                workers = team.workers
                reason = drive.run(
                    optimizer,
                    interrupts.guard(first_failure.watch(team.fun)),
                    workers=None if workers is None else WatchedWorkers(workers, interrupts, first_failure),
                    vectorized=placing.vectorized,
                    batch=team.batch,
                    asynchronous=placing.asynchronous,
                    lost=placing.lost,
                    timeout=limits.timeout,
                    target=limits.target,
                    patience=limits.patience,
                    callback=after,
                )
        except BaseException:  # a mistake in the method; what has been evaluated is kept all the same
            with suppress(StoreError):
                optimizer.close(StopReason.RUNNING)
            raise
        finally:
            interrupts.disarm()
        problem = optimizer.trouble
        try:
            optimizer.close(reason.value)
        except StoreError as error:  # the end is told first
            problem = problem or error
    return Stopped(reason, interrupts.received, problem, first_failure.traceback, size)


def _remember(optimizer: Optimizer, objective: Objective) -> None:
    """Keep with the run what an objective remembers, and make it remember what it did when the run stopped."""
    if optimizer.kept is None or objective.memory is None:
        return
    if optimizer.kept.memory is not None:
        objective.memory.restore(optimizer.kept.memory)
    optimizer.kept.remember(objective.memory.state)
