"""A method on its way through a study of another library: what it has been told, what is under way, and its state.

It differs from a `boids.run.Run` in that others take part. The trials belong to the study, which any number of
processes may carry out; some were proposed by others, or by nobody. And the study may go on beyond the budget that
the method plans with. A proposal that is on record here comes back to the method as its own, any other finished trial
as an earlier evaluation.

A course can be written down and read again, by this process or another, and goes on exactly as it would have.
"""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np

from boids import packing, plain
from boids.algorithms import Boids, find
from boids.ledger import Ledger, protected
from boids.records import BoolArray, FloatArray, IntArray, MemoValue, Outcome, Proposal
from boids.setup import ASK, INIT, TELL, Setup
from boids.trial_rows import Held
from boids.values import Reading

#: The number of evaluations that methods plan with if nobody says.
USUAL_BUDGET = 500
#: Finds the proposal and the outcome of a trial that was told, by its number and whether it was the method's own.
Lookup = Callable[[int, bool], tuple[Proposal, Reading]]


def planned(method: Any, budget: int | None) -> tuple[Any, int]:
    """Return a method, and the budget that it plans with.

    If nobody says how long a study will be, BOIDS has no sweeps: a short study might end before the first of them.
    """
    if budget is not None:
        return method, budget
    algorithm = find(method)
    if isinstance(algorithm, Boids) and algorithm.sweep_from == Boids().sweep_from:
        return replace(algorithm, sweep_from=None), USUAL_BUDGET
    return algorithm, USUAL_BUDGET


@final
@dataclass(frozen=True, eq=False)
class _Open:
    """A proposal under way, as plain data."""

    number: int
    unit: FloatArray
    aimed: FloatArray | None
    memo: dict[str, MemoValue]


@final
@dataclass(frozen=True, eq=False)
class _Written:
    """A course as plain data, but for the method's state."""

    told: IntArray
    own: BoolArray
    open: tuple[_Open, ...]


@final
class Course:
    """See the module.

    Attributes
    ----------
    told
        The trials that the method has been told of, by their numbers in the study, in this order.
    own
        Which of them it had proposed.
    open
        The method's proposals under way, by the numbers of their trials.
    """

    def __init__(self, setup: Setup) -> None:
        self.setup = setup
        self.told: list[int] = []
        self.own: list[bool] = []
        self.open: dict[int, Proposal] = {}
        self._state = setup.algorithm.init(setup.seen_domain, setup.budget, setup.rng(INIT, 0))
        self._ledger = Ledger(setup.space, setup.domain)  # of what was told only: the study knows what is under way
        self._horizon = 0
        self._due: list[int] = []

    @property
    def ready(self) -> int:
        """How many proposals can be made at once without any of them missing the outcome of another."""
        return max(1, self.setup.algorithm.ready(self._state))

    def due(self, count: int) -> list[int]:
        """Return which of a study's `count` trials have not been told, lowest number first."""
        self._due.extend(range(self._horizon, count))
        self._horizon = count
        return list(self._due)

    def drop(self, numbers: Sequence[int]) -> None:
        """Take note that trials are finished, and told or of no use."""
        gone = set(numbers)
        self._due = [number for number in self._due if number not in gone]
        for number in numbers:
            self.open.pop(number, None)

    def tell(self, number: int, unit: FloatArray, reading: Reading) -> None:
        """Let the method learn the outcome of a trial that was evaluated at a point of the cube (D,)."""
        proposal = self.open.get(number)
        is_own = proposal is not None and np.array_equal(proposal.unit, unit)
        if proposal is None or not is_own:  # somebody has fixed a value in the meantime
            proposal = Proposal(protected(unit))
        setup, now = self.setup, time.time()
        place = self._ledger.open([proposal], now)[0].id
        try:
            history = setup.seen(self._ledger.preview(place, reading))
            outcome = Outcome(float(history.values[-1]))
            state = setup.algorithm.tell(self._state, history, proposal, outcome, setup.rng(TELL, number))
        except BaseException:
            self._ledger.withdraw()
            raise
        self._ledger.close(place, Held(reading, now))
        self._state = state
        self.told.append(number)
        self.own.append(is_own)
        self.open.pop(number, None)

    def propose(self, number: int, others: Sequence[FloatArray]) -> tuple[Any, Proposal]:
        """Return a proposal for a trial, and the method's state after it; nothing has changed before `accept`.

        Parameters
        ----------
        others
            Points of the cube that are being evaluated and are not among `open`.
        """
        setup, ledger = self.setup, self._ledger
        mine = [proposal for _, proposal in sorted(self.open.items())]
        pending = (*mine, *(Proposal(protected(unit)) for unit in others))

        def tried(unit: FloatArray) -> bool:
            is_under_way = not setup.noisy and any(np.array_equal(unit, each.unit) for each in pending)
            return is_under_way or ledger.tried(unit)

        history = replace(setup.seen(ledger.history()), tried=tried)
        state, proposal = setup.algorithm.ask(self._state, history, pending, setup.rng(ASK, number))
        placed = setup.place(proposal, number, pending, ledger.tried)
        if placed is None:  # every point has been tried: the study goes on all the same
            placed = replace(proposal, unit=protected(setup.placement.allowed(np.clip(proposal.unit, -1.0, 1.0))))
        return state, placed

    def accept(self, number: int, proposal: Proposal, state: Any) -> None:
        """Take note that a proposal is evaluated."""
        self.open[number] = proposal
        self._state = state

    # --- written down -------------------------------------------------------------------------------------

    def write(self) -> bytes:
        """Return everything that is needed to go on, but for what the study knows: the told trials' outcomes."""
        opened = tuple(
            _Open(number, each.unit, each.aimed, dict(each.memo)) for number, each in sorted(self.open.items())
        )
        written = _Written(np.array(self.told, dtype=np.int64), np.array(self.own, dtype=bool), opened)
        arrays: list[plain.AnyArray] = []
        content = {
            "course": plain.encode(written, _Written, arrays, "course"),
            "state": plain.encode(self._state, self.setup.algorithm.State, arrays, "state"),
        }
        return zlib.compress(packing.pack(content, arrays), 1)

    @classmethod
    def read(cls, setup: Setup, data: bytes, lookup: Lookup, known: Course | None = None) -> Course:
        """Return the course that was written down; a `StoreError` or `ValueError` if these are not its bytes.

        Parameters
        ----------
        known
            A course with the same setup; what the two have been told in common need not be looked up.
        """
        try:
            content, arrays = packing.unpack(zlib.decompress(data))
        except zlib.error as error:
            raise ValueError(f"what is written there is damaged ({error})") from None
        written: _Written = plain.decode(content["course"], _Written, arrays, "course")
        state = plain.decode(content["state"], setup.algorithm.State, arrays, "state")
        told, own = written.told.tolist(), written.own.tolist()
        course = cls.__new__(cls)
        course.setup, course.told, course.own, course._state = setup, told, own, state
        course.open = {
            each.number: Proposal(
                protected(each.unit), each.memo, aimed=None if each.aimed is None else protected(each.aimed)
            )
            for each in written.open
        }
        n = 0 if known is None else len(known.told)
        if known is not None and told[:n] == known.told and own[:n] == known.own:
            course._ledger, first = known._ledger, n
        else:
            course._ledger, first = Ledger(setup.space, setup.domain), 0
        for number, is_own in zip(told[first:], own[first:], strict=True):
            proposal, reading = lookup(number, is_own)
            place = course._ledger.open([proposal], 0.0)[0].id
            course._ledger.close(place, Held(reading, 0.0))
        course._horizon = max([-1, *told]) + 1
        seen = set(told)
        course._due = [number for number in range(course._horizon) if number not in seen]
        return course
