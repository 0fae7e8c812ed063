"""A run: what it is, how far it has come, and the steps by which it goes on.

Every step has the same order: ask the method, write the change down, make the change. An error on the way, in the
method or on a full disk, leaves the run as it was, and what is written down is always a run between two steps.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, final

from boids import packing, plain
from boids.earlier import Earlier
from boids.errors import SpaceExhausted
from boids.journal import Journal, Snapshot
from boids.ledger import Ledger, protected
from boids.records import Outcome, Proposal, Trial
from boids.setup import ASK, INIT, TELL, Setup
from boids.trial_rows import Held

#: The phases that every run reports, whether or not its method has them.
PHASES = ("fit", "select", "optimise", "evaluate", "other")


@final
@dataclass(slots=True)
class Run:
    """A run between two steps.

    Attributes
    ----------
    setup
        What does not change.
    ledger
        The trials.
    state
        The method's.
    exhausted
        Whether no untried point was left.
    times
        Seconds spent in each phase.
    journal
        Where the run is written down, if anywhere.
    """

    setup: Setup
    ledger: Ledger
    state: Any
    exhausted: bool = False
    times: dict[str, float] = field(default_factory=lambda: dict.fromkeys(PHASES, 0.0))
    journal: Journal | None = None

    @classmethod
    def fresh(cls, setup: Setup) -> Run:
        """Return a run before its first trial."""
        begun = time.perf_counter()
        state = setup.algorithm.init(setup.seen_domain, setup.budget, setup.rng(INIT, 0))
        run = cls(setup, Ledger(setup.space, setup.domain), state)
        run.add_time("other", time.perf_counter() - begun)
        return run

    @property
    def n_asked(self) -> int:
        """Number of trials handed out."""
        return len(self.ledger) - self.ledger.n_added

    @property
    def remaining(self) -> int:
        """Number of trials that may still be asked for."""
        if self.exhausted:
            return 0
        return int(min(self.setup.budget - self.n_asked, self.setup.placement.points - self.ledger.n_points))

    def ask(self, count: int) -> list[Trial]:
        """Return up to `count` new trials, the user's own starting points first; all of them or, on an error, none."""
        begun = time.perf_counter()
        setup, ledger, state, made = self.setup, self.ledger, self.state, list[Proposal]()
        history, is_left = setup.seen(ledger.history()), True
        for place in range(min(count, self.remaining)):
            number, own = len(ledger) + place, self.n_asked + place
            if own < len(setup.x0):
                proposed, proposal = state, Proposal(setup.x0[own], info={"phase": "x0"})
            else:
                pending = (*ledger.pending.values(), *made)
                proposed, proposal = setup.algorithm.ask(state, history, pending, setup.rng(ASK, number))
            placed = setup.place(proposal, number, made, ledger.tried)
            if placed is None:
                is_left = False
                break
            made.append(placed)
            state = proposed
        if not made:
            self.exhausted = True
            raise SpaceExhausted(
                f"No point is left beside the {self.n_asked} that have been handed out, as far as could be found, and "
                "without noise none is worth a second evaluation; the run ends before its budget."
            )

        now = time.time()
        with _undivided():
            if self.journal is not None:
                reached = replace(self.snapshot(state, opened=len(made)), exhausted=not is_left)
                self.journal.write(ledger.drafts(made, now), reached)
            self.state, self.exhausted = state, not is_left
            trials = ledger.open(made, now)
        rest = time.perf_counter() - begun
        for proposal in made:
            for phase, seconds in proposal.times.items():
                self.add_time(phase, seconds)
                rest -= seconds
        self.add_time("other", max(0.0, rest))
        return trials

    def tell(self, number: int, held: Held) -> Trial:
        """Let the method learn the outcome of a pending trial, and return the finished trial."""
        begun, setup, ledger = time.perf_counter(), self.setup, self.ledger
        history, proposal = setup.seen(ledger.preview(number, held.reading)), ledger.pending[number]
        outcome = Outcome(float(history.values[-1]))
        state = setup.algorithm.tell(self.state, history, proposal, outcome, setup.rng(TELL, number))
        with _undivided():
            if self.journal is not None:
                closed = ledger.finished(number, held)
                self.journal.write([ledger.row(number, held=held, told=True)], self.snapshot(state, closed=closed))
            self.state = state
            done = ledger.close(number, held)
        self.add_time("other", time.perf_counter() - begun)
        return done

    def hold(self, number: int, held: Held) -> None:
        """Keep the outcome of a pending trial, to be told later."""
        with _undivided():
            if self.journal is not None:
                self.journal.write([self.ledger.row(number, held=held)], self.snapshot(self.state))
            self.ledger.held[number] = held

    def release(self) -> None:
        """Tell all that is held, whether or not it is its turn: for a run that goes no further, but is looked at."""
        for number, held in sorted(self.ledger.held.items()):
            self.tell(number, held)

    def begin_again(self, number: int) -> Trial:
        """Take note that a pending trial is evaluated once more."""
        with _undivided():
            if self.journal is not None:
                self.journal.write([self.ledger.row(number, more_attempts=1)], self.snapshot(self.state))
            self.ledger.begin_again(number)
        return self.ledger.trial(number)

    def add(self, earlier: Earlier) -> Trial:
        """Learn from an evaluation that was not made by this run."""
        proposal = Proposal(protected(earlier.unit), info={"phase": "added"})
        number = self.ledger.open([proposal], earlier.started, attempts=0)[0].id
        try:
            return self.tell(number, earlier.held)
        except BaseException:
            if number in self.ledger.pending:  # else it has been told, and the interrupt came after that
                self.ledger.withdraw()
            raise

    def sum_up(self, best: float | None, feasible: bool | None) -> None:
        """Write down how the run stands, with what is known of its best trial; all of its rows are there already."""
        if self.journal is not None:
            self.journal.write([], replace(self.snapshot(self.state), best=best, feasible=feasible))

    def add_time(self, phase: str, seconds: float) -> None:
        """Book seconds on a phase."""
        self.times[phase] = self.times.get(phase, 0.0) + float(seconds)

    def snapshot(self, state: Any, *, opened: int = 0, closed: Trial | None = None) -> Snapshot:
        """Return how far the run will have come after one more step.

        Parameters
        ----------
        state
            Of the method, after it.
        opened
            How many trials will have been asked for.
        closed
            The trial that will have been told.
        """
        ledger = self.ledger
        best = ledger.best if closed is None else ledger.better(closed)
        arrays: list[plain.AnyArray] = []
        content = plain.encode(state, self.setup.algorithm.State, arrays, "state")
        return Snapshot(
            state=packing.pack(content, arrays),
            asked=len(ledger) + opened,
            told=ledger.n_told + (closed is not None),
            failed=ledger.n_failed + (closed is not None and closed.failed),
            added=ledger.n_added + (closed is not None and not closed.attempts),
            best=None if best is None else best.value,
            feasible=None if best is None else best.feasible,
            exhausted=self.exhausted,
            times=dict(self.times),
        )


@contextmanager
def _undivided() -> Iterator[None]:
    """Let Ctrl-C wait while a change is written down and made: it would come between the two, or into the ledger."""
    handler = signal.getsignal(signal.SIGINT)
    if not callable(handler) or threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    signal.signal(signal.SIGINT, lambda number, _: came.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
        if came:
            signal.raise_signal(signal.SIGINT)
