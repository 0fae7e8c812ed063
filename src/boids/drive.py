"""The generic loop: run an optimizer on an objective until its budget ends or something else stops it.

======================  =========================================================================================
way                     what decides the order in which the method learns
======================  =========================================================================================
one at a time           there is only one
synchronous batches     the trials' numbers: outcomes that come early are held, so that a run depends on its seed and
                        the size of its batches, and not on timing
asynchronous            which evaluation ends first; the order is recorded, and `boids.replay` repeats it
======================  =========================================================================================
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Literal, TypeAlias, TypeVar, final

from boids.errors import SpaceExhausted, StoreError, TellError, WorkersGone, shown
from boids.here import Here
from boids.optimizer import Optimizer
from boids.records import Trial
from boids.stopping import Callback, Limits, StopReason
from boids.trial_rows import Held
from boids.values import Reading, describe_error, positive_int, read_outcome
from boids.workers import Evaluation, Workers

#: What to do about an evaluation whose worker was lost: make it once more, or count it as failed.
Lost: TypeAlias = Literal["retry", "fail"]

T = TypeVar("T")

#: Rows of a matrix at the most when nobody asked for a number, so that limits and Ctrl-C get their turn.
MOST_ROWS = 100
#: Proposals are made ahead if making them takes more than this share of the time until the next worker is free.
_BUSY = 0.2
#: Seconds after which to look for workers that have come in the meantime.
_LOOK = 1.0


def run(
    optimizer: Optimizer,
    fun: Callable[[Any], Any] | None = None,
    *,
    workers: Workers | None = None,
    vectorized: bool = False,
    batch: int = 1,
    asynchronous: bool = False,
    lost: Lost = "retry",
    timeout: float | None = None,
    target: float | None = None,
    patience: int | None = None,
    callback: Callback | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> StopReason:
    """Evaluate what the optimizer asks for until there is a reason to stop, and return the reason.

    Trials that were pending before, from an interrupted run say, are evaluated first. An evaluation that raises, or
    returns something that is not a number, is told as a failure. Ctrl-C leaves the trials it hits pending.

    Parameters
    ----------
    fun
        The objective. It gets a point in the user's units and returns a number, with black-box constraints
        ``(number, [c1, …])``, or a `boids.Measurement`; see `vectorized`.
    workers
        Where to evaluate, instead of calling `fun` in this process.
    vectorized
        If true, `fun` gets q points at once, as a (q, D) matrix or for a named space as a dict of columns, and
        returns q numbers.
    batch
        How many trials to ask for at a time, unless `asynchronous`. With `vectorized` and 1, points that do not wait
        for a value, such as an initial design, come together.
    asynchronous
        Whether a new trial is asked for as soon as a worker is free.
    lost
        What to do about an evaluation whose worker was lost: "retry" makes it once more, and counts it as failed the
        second time; "fail" counts it as failed at once, also those that were under way when the run was interrupted.
    timeout
        Seconds after which no further evaluation is begun; those under way are waited for.
    target
        Stop at a value as low as this.
    patience
        Stop after so many evaluations without improvement.
    callback
        Called as ``callback(optimizer, trial)`` after every evaluation, once its value has been told. Returning True
        or raising StopIteration stops the run; other exceptions are passed on.
    clock
        Where the time comes from, in seconds.
    """
    check_lost(lost)
    positive_int(batch, "batch")
    optimizer.trouble = None
    limits = Limits(optimizer, timeout=timeout, target=target, patience=patience, callback=callback, clock=clock)
    if workers is None:
        if fun is None:
            raise ValueError("There is nothing to run: give fun, or workers.")
        workers = Here(fun, optimizer.space, vectorized=vectorized, n_constraints=optimizer.n_constraints)
    flight = _Flight(optimizer, workers, lost, in_order=not asynchronous)
    try:
        if asynchronous and (reason := limits.reached()) is not None:
            return reason  # as before, when it left what was under way; a batch is finished first, as it always is
        limits.note(flight.resume())
        while optimizer.trouble is None:
            if (asynchronous or not flight.count) and (reason := limits.reached()) is not None:
                return reason
            is_idle, left = not flight.count, optimizer.remaining + flight.n_ready
            if is_idle and not left:
                return StopReason.BUDGET if optimizer.n_asked == optimizer.budget else StopReason.SPACE
            used_up = limits.used_up() if left else None
            if is_idle and used_up is not None:
                return used_up
            if left and used_up is None and (asynchronous or is_idle):
                room = max(1, workers.size) - flight.count if asynchronous else batch
                if vectorized and batch == 1:
                    room = min(optimizer.ready, MOST_ROWS)
                if room > 0 and not flight.begin(room) and is_idle:
                    return StopReason.SPACE
                if asynchronous:
                    flight.prepare(workers.size)
            if optimizer.trouble is None:
                limits.note(flight.wait(_LOOK if asynchronous else None, may_begin=used_up is None))
    except KeyboardInterrupt:
        return StopReason.INTERRUPTED
    except WorkersGone as error:
        optimizer.trouble = error
        return StopReason.WORKERS
    finally:
        workers.cancel()
    return StopReason.STORE


def check_lost(lost: Any) -> None:
    """Refuse what is not a way to treat lost evaluations."""
    if lost not in ("retry", "fail"):
        raise ValueError(f"lost must be 'retry' or 'fail', got {shown(lost)}.")


@final
class _Flight:
    """The evaluations that are under way, and how their outcomes reach the optimizer."""

    def __init__(self, optimizer: Optimizer, workers: Workers, lost: Lost, *, in_order: bool) -> None:
        self._optimizer = optimizer
        self._workers = workers
        self._lost = lost
        self._in_order = in_order
        self._flying: dict[int, Trial] = {}
        self._ready: list[Trial] = []  # asked for, and not begun yet
        self._asking = 0.0  # seconds that the latest proposal took
        self._evaluating, self._n_evaluated = 0.0, 0
        self._retried: set[int] = set()  # not more than once; interruptions of the run do not count

    @property
    def count(self) -> int:
        """How many evaluations are under way."""
        return len(self._flying)

    @property
    def n_ready(self) -> int:
        """How many trials have been asked for, and not begun."""
        return len(self._ready)

    def resume(self) -> list[Trial]:
        """Take up the trials that are pending: tell what is known of them, and evaluate the others again."""
        ledger, done = self._optimizer.run.ledger, list[Trial]()
        for trial in self._optimizer.pending:
            if trial.id in ledger.held or trial.id not in ledger.pending:  # released after the one before it
                continue
            if self._lost == "retry":
                self._begin_again(trial.id)
            else:
                error = "The evaluation was under way when the run stopped, and was not to be made again."
                done += self._land(trial.id, Reading.failed(error, self._optimizer.n_constraints))
        return done + self._release()

    def begin(self, count: int) -> bool:
        """Begin to evaluate new trials; False if no point is left."""
        count -= self._hand_out(count)
        trials = self._ask(count) if count and self._optimizer.remaining else []
        for trial in trials or ():
            self._submit(trial)
        return trials is not None

    def prepare(self, places: int) -> None:
        """Have the next trial ready before a worker is free, if proposals are made hardly faster than evaluations.

        It knows one outcome less, so this is for evaluations of seconds, whose workers would wait a good part of the
        time; those that take minutes get their proposals fresh.
        """
        mean = self._evaluating / max(1, self._n_evaluated)
        is_slow = self._n_evaluated > 0 and self._asking * places > _BUSY * mean
        if is_slow and not self._ready and self._optimizer.remaining and self._optimizer.trouble is None:
            self._ready += self._ask(1) or []

    def _ask(self, count: int) -> list[Trial] | None:
        """Return new trials; None if no point is left, none if they cannot be saved."""
        begun = time.perf_counter()
        try:
            trials = self._optimizer.ask(count)
        except SpaceExhausted:
            return None
        except StoreError as error:
            self._optimizer.give_up_store(error)
            return []
        self._asking = (time.perf_counter() - begun) / len(trials)
        return trials

    def _hand_out(self, count: int) -> int:
        """Begin to evaluate trials that are ready, and return how many there were."""
        trials, self._ready = self._ready[:count], self._ready[count:]
        for trial in trials:
            self._submit(trial)
        return len(trials)

    def wait(self, timeout: float | None, *, may_begin: bool) -> list[Trial]:
        """Wait until something has ended, and return the trials that have been told since."""
        done = []
        ended = [(self._flying.pop(evaluation.key), evaluation) for evaluation in self._workers.wait(timeout)]
        if may_begin and self._ready:  # before anything that takes its time
            self._hand_out(max(0, self._workers.size - len(self._flying)))
        for trial, evaluation in ended:
            self._optimizer.add_time("evaluate", evaluation.seconds)
            self._evaluating += evaluation.seconds
            self._n_evaluated += 1
            if evaluation.lost and self._lost == "retry" and trial.id not in self._retried:
                self._retried.add(trial.id)
                self._begin_again(trial.id)
            else:
                done += self._land(trial.id, self._reading(evaluation))
        return done

    def _begin_again(self, number: int) -> None:
        if self._optimizer.trouble is not None:
            return  # nothing begins of which the store does not know
        try:
            self._submit(self._optimizer.run.begin_again(number))
        except StoreError as error:
            self._optimizer.give_up_store(error)

    def _submit(self, trial: Trial) -> None:
        self._flying[trial.id] = trial
        # Decoded anew, for an objective may work in place, and the trial's own point is read-only.
        is_here = isinstance(self._workers, Here)
        self._workers.submit(trial.id, trial.unit if is_here else self._optimizer.space.decode(trial.unit))

    def _reading(self, evaluation: Evaluation) -> Reading:
        count = self._optimizer.n_constraints
        if evaluation.error is not None:
            return Reading.failed(evaluation.error, count)
        try:
            return read_outcome(evaluation.value, n_constraints=count)
        except TellError as error:  # not a number
            return Reading.failed(describe_error(error), count)

    def _land(self, number: int, reading: Reading) -> list[Trial]:
        """Take an outcome, and return the trials that are told now: none if it is not its turn."""
        ledger, held = self._optimizer.run.ledger, Held(reading, time.time())
        if self._in_order and number != next(iter(ledger.pending)):
            self._note(self._optimizer.run.hold, number, held)
            return []
        return [self._note(self._optimizer.run.tell, number, held), *self._release()]

    def _release(self) -> list[Trial]:
        """Tell the outcomes that were held, as far as it is their turn."""
        ledger, done = self._optimizer.run.ledger, list[Trial]()
        while ledger.held:
            number = next(iter(ledger.pending)) if self._in_order else min(ledger.held)
            if number not in ledger.held:
                break
            done.append(self._note(self._optimizer.run.tell, number, ledger.held[number]))
        return done

    def _note(self, step: Callable[[int, Held], T], number: int, held: Held) -> T:
        """Take a step with an outcome; if it cannot be saved any more the run ends, but knows it all the same."""
        try:
            return step(number, held)
        except StoreError as error:
            self._optimizer.give_up_store(error)
            return step(number, held)
