"""What a library's optimiser was asked and told, as plain data, and the optimiser made again from it.

A library's object is never saved. It is a function of its `Transcript`: made again by asking and telling it the same
in the same order with the same seed. A few objects are kept in a cache beside the runs, so that a run that simply goes
on replays nothing; losing the cache costs time, never a bit.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import astuple, dataclass, replace
from hashlib import blake2b
from typing import Any, ClassVar, Protocol, cast, final

import numpy as np

from boids.blocks.stopwatch import Stopwatch
from boids.errors import MethodError
from boids.opponents.library import loaded, own_random_numbers, quiet, require, version
from boids.records import Domain, FloatArray, History, IntArray, Outcome, Proposal

#: Events of a transcript: a proposal was asked for; a point was told that was not proposed. Others are told proposals.
ASKED, GUEST = -1, -2
#: Objects in the cache: a bench has one run per process.
KEPT = 8


@final
@dataclass(frozen=True, slots=True)
class Transcript:
    """All that a library's optimiser depends on, besides the evaluated points, which the history has.

    Attributes
    ----------
    seed
        Of its random numbers.
    budget
        Evaluations of the whole run.
    version
        Of the library: another one may propose other points.
    events
        What happened, in order (E,): `ASKED`, `GUEST`, or the number of the proposal whose outcome was told.
    values
        The values that were told, as they were then (n,): nan for failures.
    asked
        How many proposals were asked for.
    trace, kept
        Fingerprints of all events, and of those up to the last proposal, by which the cache knows the object.
    """

    seed: int
    budget: int
    version: str
    events: IntArray
    values: FloatArray
    asked: int
    trace: str
    kept: str

    def after_ask(self) -> Transcript:
        """Return the transcript with one more proposal."""
        trace = _fingerprint(self.trace, ASKED)
        events = np.append(self.events, ASKED)
        return replace(self, events=events, asked=self.asked + 1, trace=trace, kept=trace)

    def after_tell(self, event: int, unit: FloatArray, value: float) -> Transcript:
        """Return the transcript with one more outcome."""
        trace = _fingerprint(self.trace, event, unit, value)
        return replace(self, events=np.append(self.events, event), values=np.append(self.values, value), trace=trace)


class Searcher(Protocol):
    """A library's optimiser in [-1, 1]^D; `propose` is called from 0 on, `learn` with the numbers of proposals."""

    def propose(self) -> FloatArray:
        """Return the next point (D,)."""

    def learn(self, number: int, value: float) -> None:
        """Take in the value of a proposal, nan if it failed."""

    def learn_guest(self, unit: FloatArray, value: float) -> None:
        """Take in a point that was not proposed; what a library cannot learn from is ignored."""


class LibraryMethod(ABC):
    """A method whose work a library does: a subclass says which, and how its optimiser is made; nothing else."""

    name: ClassVar[str]
    #: The package whose version decides what is proposed.
    package: ClassVar[str]
    #: What must be importable.
    modules: ClassVar[tuple[str, ...]]
    #: Loggers that are silenced while the library works.
    loggers: ClassVar[tuple[str, ...]] = ()
    State: ClassVar[type[Transcript]] = Transcript

    @abstractmethod
    def searcher(self, domain: Domain, budget: int, seed: int) -> Searcher:
        """Return the library's optimiser before its first proposal; `seed` is below 2**31."""

    @final
    def init(self, domain: Domain, budget: int, rng: np.random.Generator) -> Transcript:
        """Draw the seed; the library is loaded at the first proposal."""
        require(self.name, self.modules)
        seed = int(rng.integers(2**31 - 1))
        values = astuple(cast(Any, self))  # every subclass is a dataclass
        settings = (self.name, values, domain.dim, domain.noisy, budget, seed)
        trace = _fingerprint("", settings)
        nothing = np.empty(0)
        return Transcript(seed, budget, version(self.package), nothing.astype(np.int64), nothing, 0, trace, trace)

    @final
    def ready(self, state: Transcript) -> int:
        """One by one: what a library can do at once depends on what it does at the moment."""
        return 1

    @final
    def ask(
        self, state: Transcript, history: History, pending: Sequence[Proposal], rng: np.random.Generator
    ) -> tuple[Transcript, Proposal]:
        """Bring the library's optimiser up to date, and let it propose."""
        watch = Stopwatch()
        with watch.phase("optimise"):
            session = _CACHE.take(state.kept) or self._session(state, history)
            unit = session.propose(state, history, self.loggers)
            asked = state.after_ask()
            # Whoever was interrupted meanwhile puts nothing back.
            _CACHE.put(asked.trace, session)
        return asked, Proposal(unit, memo={"number": state.asked}, times=watch.seconds)

    @final
    def tell(
        self, state: Transcript, history: History, proposal: Proposal, outcome: Outcome, rng: np.random.Generator
    ) -> Transcript:
        """Write the outcome down; the library hears of it before its next proposal."""
        number = GUEST if proposal.is_guest else cast(int, proposal.memo["number"])
        return state.after_tell(number, proposal.unit, outcome.value)

    @final
    def diagnostics(self, state: Transcript) -> dict[str, Any]:
        """Return whose work it is."""
        return {"package": self.package, "version": state.version}

    def _session(self, state: Transcript, history: History) -> _Session:
        here = version(self.package)
        if state.asked and here != state.version:
            raise MethodError(
                f"The run was made with {self.package} {state.version} and cannot go on exactly with {here or 'none'}; "
                f"run `pip install {self.package}=={state.version}`."
            )
        for module in self.modules:
            loaded(module)  # before its loggers are silenced, for some libraries set them up as they are imported
        globally = np.random.RandomState(state.seed)
        with quiet(*self.loggers), own_random_numbers(globally):
            return _Session(self.searcher(history.domain, state.budget, state.seed), globally)


@final
class _Session:
    """A library's optimiser, and how far in a transcript it has come."""

    def __init__(self, searcher: Searcher, globally: np.random.RandomState) -> None:
        self._searcher, self._globally = searcher, globally
        self._events = self._told = 0

    def propose(self, state: Transcript, history: History, loggers: tuple[str, ...]) -> FloatArray:
        """Let it go through the events that it has not seen, and propose."""
        with quiet(*loggers), own_random_numbers(self._globally):
            for event in state.events[self._events :]:
                self._take_in(int(event), state, history)
            self._events = len(state.events) + 1
            return self._point()

    def _take_in(self, event: int, state: Transcript, history: History) -> None:
        if event == ASKED:
            self._point()
            return
        row = self._told
        if event == GUEST:
            self._searcher.learn_guest(history.units[row], float(state.values[row]))
        else:
            self._searcher.learn(event, float(state.values[row]))
        self._told += 1

    def _point(self) -> FloatArray:
        return np.clip(np.asarray(self._searcher.propose(), dtype=np.float64), -1.0, 1.0)


@final
class _Cache:
    """The sessions used last, each lent to one user at a time: runs in several threads do not share one."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._kept: OrderedDict[str, _Session] = OrderedDict()
        self._lock = threading.Lock()

    def take(self, trace: str) -> _Session | None:
        with self._lock:
            return self._kept.pop(trace, None)

    def put(self, trace: str, session: _Session) -> None:
        with self._lock:
            self._kept[trace] = session
            while len(self._kept) > self._limit:
                self._kept.popitem(last=False)

    def clear(self) -> None:
        with self._lock:
            self._kept.clear()


_CACHE = _Cache(KEPT)


def forget() -> None:
    """Empty the cache; the next proposal replays."""
    _CACHE.clear()


@final
class Worst:
    """Values for failures, for libraries that want one for every point: beyond the worst value seen."""

    def __init__(self) -> None:
        self._best, self._worst = np.inf, -np.inf

    def saw(self, value: float) -> None:
        """Take note of a value."""
        self._best, self._worst = min(self._best, value), max(self._worst, value)

    @property
    def is_known(self) -> bool:
        """Whether there has been a value."""
        return bool(np.isfinite(self._worst))

    @property
    def beyond(self) -> float:
        """As far above the worst value as the best is below it."""
        with np.errstate(over="ignore"):
            step = self._worst - self._best or max(1.0, abs(self._worst))
            return float(min(self._worst + step, np.finfo(float).max))


def _fingerprint(before: str, *facts: Any) -> str:
    digest = blake2b(before.encode(), digest_size=16)
    for fact in facts:
        digest.update(fact.tobytes() if isinstance(fact, np.ndarray) else repr(fact).encode())
    return digest.hexdigest()
