"""The ask/tell shell: the one mutable object, which owns a method's state, the trials and the randomness.

======  ==========================================================================
symbol  meaning
======  ==========================================================================
D       number of encoded coordinates of the space
u       point of the signed cube [-1, 1]^D, ``unit`` in a `Proposal` or a `Trial`
======  ==========================================================================

Every call of the method gets a generator of its own, made from the seed and the trial's number. The stream of
numbers therefore does not depend on the order in which values come back, and needs no saving.
"""

from __future__ import annotations

import math
import os
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, final, overload

import numpy as np

from boids import plain, snapshot
from boids.algorithms import ALGORITHMS, Algorithm
from boids.errors import BudgetExhausted, MethodError, StoreError, did_you_mean
from boids.ledger import Ledger, SavedLedger, protected
from boids.records import Outcome, Proposal, Trial
from boids.space import Space
from boids.values import describe_error, positive_int, read_value

# What a random stream is for: the first part of its key, the trial's number being the second.
_INIT, _ASK, _TELL = 0, 1, 2
_MEMBERS = ("name", "State", "init", "ready", "ask", "tell", "diagnostics")
#: The phases that every run reports, whether or not its method has them.
PHASES = ("fit", "select", "optimise", "evaluate", "other")


@final
class Optimizer:
    """Propose points with `ask`, take their values with `tell`; minimises.

    Values may come late and in any order. One optimizer belongs to one thread.

    Parameters
    ----------
    space
        A list of (low, high) pairs, a `scipy.optimize.Bounds` or a `boids.Space`.
    budget
        Number of evaluations of the whole run; methods plan with it.
    method
        A name such as "boids", or an algorithm with its settings, such as ``boids.algorithms.Boids(particles=30)``.
    seed
        A non-negative integer makes the run reproducible; None draws one, kept in `seed`.

    Examples
    --------
    >>> optimizer = Optimizer([(-5, 5)] * 20, budget=30, method="random", seed=1)
    >>> while optimizer.remaining:
    ...     trial = optimizer.ask()
    ...     _ = optimizer.tell(trial, float(trial.x @ trial.x))
    >>> optimizer.n_told
    30
    """

    def __init__(
        self, space: Any, *, budget: int, method: str | Algorithm[Any] = "boids", seed: int | None = None
    ) -> None:
        self._space = Space.of(space)
        self._budget = positive_int(budget, "budget")
        self._algorithm = _find_algorithm(method)
        self._seed = _check_seed(seed)
        self._ledger = Ledger(self._space)
        self._times = dict.fromkeys(PHASES, 0.0)
        self._meta: dict[str, Any] = {}
        begun = time.perf_counter()
        self._state = self._algorithm.init(self._space.dim, self._budget, self._rng(_INIT, 0))
        self.add_time("other", time.perf_counter() - begun)

    def __repr__(self) -> str:
        best = "none yet" if self.best is None else f"{self.best.value:g}"
        return f"<Optimizer {self.method}, D={self._space.dim}, told {self.n_told}/{self._budget}, best {best}>"

    # --- what is known ------------------------------------------------------------------------------------

    @property
    def space(self) -> Space:
        """The search space."""
        return self._space

    @property
    def budget(self) -> int:
        """Number of evaluations of the whole run."""
        return self._budget

    @property
    def method(self) -> str:
        """The method's name."""
        return self._algorithm.name

    @property
    def algorithm(self) -> Algorithm[Any]:
        """The method with its settings."""
        return self._algorithm

    @property
    def seed(self) -> int:
        """The seed in use, also if none was given."""
        return self._seed

    @property
    def best(self) -> Trial | None:
        """The successful trial with the lowest value, the oldest among equals; None before the first success."""
        return self._ledger.best

    @property
    def trials(self) -> tuple[Trial, ...]:
        """All trials asked for, in order of their number, the pending ones included."""
        return tuple(self._ledger.trials)

    @property
    def pending(self) -> tuple[Trial, ...]:
        """The trials that have not been told, oldest first."""
        return tuple(self._ledger.trials[number] for number in self._ledger.pending)

    @property
    def n_asked(self) -> int:
        """Number of trials handed out."""
        return len(self._ledger.trials)

    @property
    def n_told(self) -> int:
        """Number of trials told, the failed ones included."""
        return self.n_asked - len(self._ledger.pending)

    @property
    def n_failed(self) -> int:
        """Number of trials that failed."""
        return self._ledger.n_failed

    @property
    def remaining(self) -> int:
        """Number of trials that may still be asked for."""
        return self._budget - self.n_asked

    @property
    def ready(self) -> int:
        """How many trials can be asked for at once without any of them missing the outcome of another."""
        return min(self.remaining, max(1, self._algorithm.ready(self._state)))

    @property
    def times(self) -> dict[str, float]:
        """Seconds spent in each phase so far."""
        return dict(self._times)

    @property
    def meta(self) -> dict[str, Any]:
        """What the caller of `save` wanted kept with the run, such as where the objective is; JSON-able."""
        return dict(self._meta)

    @property
    def diagnostics(self) -> dict[str, Any]:
        """What there is to know about the run, JSON-able: the method's own facts, and those of every run."""
        return {
            **plain.jsonable(self._algorithm.diagnostics(self._state), "diagnostics"),
            "method": self.method,
            "seed": self._seed,
            "dim": self._space.dim,
            "budget": self._budget,
            "asked": self.n_asked,
            "told": self.n_told,
            "failed": self.n_failed,
            "best": None if self.best is None else self.best.value,
            "times": self.times,
        }

    # --- ask and tell -------------------------------------------------------------------------------------

    @overload
    def ask(self, n: None = None) -> Trial: ...
    @overload
    def ask(self, n: int) -> list[Trial]: ...
    def ask(self, n: int | None = None) -> Trial | list[Trial]:
        """Return the next trial, or a list of up to `n` trials (fewer if the budget ends).

        Either all of them are handed out or, if the method raises, none.
        """
        count = 1 if n is None else positive_int(n, "n")
        if not self.remaining:
            raise BudgetExhausted(
                f"All {self._budget} evaluations of the budget have been handed out, "
                f"{len(self._ledger.pending)} of them are not told yet; a larger budget needs a new Optimizer."
            )
        begun = time.perf_counter()
        state, history, made = self._state, self._ledger.history(), list[Proposal]()
        for number in range(self.n_asked, min(self.n_asked + count, self._budget)):
            pending = (*self._ledger.pending.values(), *made)
            state, proposal = self._algorithm.ask(state, history, pending, self._rng(_ASK, number))
            made.append(self._checked(proposal))

        trials = self._ledger.open(made, time.time())
        self._state = state
        rest = time.perf_counter() - begun
        for proposal in made:
            for phase, seconds in proposal.times.items():
                self.add_time(phase, seconds)
                rest -= seconds
        self.add_time("other", max(0.0, rest))
        return trials[0] if n is None else trials

    def tell(self, trial: Trial | int, value: Any = None, *, error: str | BaseException | None = None) -> Trial:
        """Take the value of a pending trial, and return the finished trial.

        Parameters
        ----------
        trial
            A trial from `ask`, or its number.
        value
            A real number, also as an array of one element. nan, ±inf and `boids.FAILED` say that the evaluation
            failed; a failure counts in the budget.
        error
            Why the evaluation failed; if given, the trial is a failure whatever the value.

        Raises
        ------
        TellError
            If the value is not a number, or the trial is not waiting for one. Nothing has changed then.
        """
        begun = time.perf_counter()
        asked = self._ledger.find(trial)
        number, reason = read_value(value) if error is None else (math.nan, describe_error(error))
        history, proposal = self._ledger.preview(asked, number), self._ledger.pending[asked.id]
        rng = self._rng(_TELL, asked.id)
        state = self._algorithm.tell(self._state, history, proposal, Outcome(number), rng)

        done = self._ledger.close(asked, number, reason, time.time())
        self._state = state
        self.add_time("other", time.perf_counter() - begun)
        return done

    def add_time(self, phase: str, seconds: float) -> None:
        """Book seconds on a phase; "evaluate" is booked by whoever calls the objective."""
        self._times[phase] = self._times.get(phase, 0.0) + float(seconds)

    # --- save and load ------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str], *, meta: Mapping[str, Any] | None = None) -> None:
        """Write everything that is needed to go on later exactly as if there had been no break.

        Parameters
        ----------
        meta
            JSON-able facts of the caller's own to keep in the file, see `meta`; None keeps those of an earlier save.
        """
        if meta is not None:
            self._meta = plain.jsonable(dict(meta), "meta")
        algorithm = self._algorithm
        run = _SavedRun(
            space=self._space.to_manifest(),
            budget=self._budget,
            seed=self._seed,
            method=algorithm.name,
            times=self._times,
            ledger=self._ledger.save(),
        )
        arrays: list[plain.AnyArray] = []
        content = {
            "run": plain.encode(run, _SavedRun, arrays, "run"),
            "state": plain.encode(self._state, algorithm.State, arrays, "state"),
            # Only boids' own methods can be made again from their settings; `load` asks for the others.
            "settings": plain.encode(algorithm, type(algorithm), arrays, "settings")
            if ALGORITHMS.get(algorithm.name) is type(algorithm)
            else None,
            "meta": self._meta,
        }
        snapshot.write(path, content, arrays)

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, method: Algorithm[Any] | None = None) -> Optimizer:
        """Return the optimizer that was saved; `method` is needed only for one that is not boids' own."""
        algorithm = None if method is None else _find_algorithm(method)
        content, arrays = snapshot.read(path)
        try:
            run: _SavedRun = plain.decode(content["run"], _SavedRun, arrays, "run")
            if algorithm is None:
                algorithm = _saved_algorithm(run.method, content["settings"], arrays)
            elif algorithm.name != run.method:
                raise StoreError(f"it was made by the method {run.method!r}, not by {algorithm.name!r}")
            elif content["settings"] is not None and algorithm != _saved_algorithm(
                run.method, content["settings"], arrays
            ):
                raise StoreError(f"it was made by {run.method!r} with other settings; load it without method=")
            space = Space.from_manifest(run.space)
            optimizer = cls(space, budget=run.budget, method=algorithm, seed=run.seed)
            optimizer._state = plain.decode(content["state"], algorithm.State, arrays, "state")
            optimizer._times = dict(run.times)
            optimizer._meta = dict(content.get("meta", {}))
            optimizer._ledger = Ledger.restore(space, run.ledger)
            if optimizer.remaining < 0:
                raise StoreError("it has more trials than its budget")
        except (StoreError, ValueError, TypeError, KeyError) as error:
            reason = str(error).rstrip(".")
            raise StoreError(f"The snapshot {os.fspath(path)!r} cannot be used: {reason}.") from error
        return optimizer

    def _rng(self, purpose: int, number: int) -> np.random.Generator:
        return np.random.default_rng(np.random.SeedSequence(self._seed, spawn_key=(purpose, number)))

    def _checked(self, proposal: Proposal) -> Proposal:
        """Return the proposal with its point inside the cube, whatever rounding did, and safe from changes."""
        unit = np.asarray(proposal.unit, dtype=float)
        if unit.shape != (self._space.dim,) or not np.isfinite(unit).all():
            raise MethodError(
                f"The method {self.method!r} must propose {self._space.dim} finite coordinates, "
                f"got the shape {unit.shape} or a nan; this is a mistake in the method."
            )
        return replace(proposal, unit=protected(np.clip(unit, -1.0, 1.0)))


@dataclass(frozen=True, eq=False)
class _SavedRun:
    """Everything about a run as plain data, but for its method's settings and state."""

    space: Any
    budget: int
    seed: int
    method: str
    times: dict[str, float]
    ledger: SavedLedger


def _check_seed(seed: Any) -> int:
    """Return the seed, or a fresh one for None: short enough to be read aloud and to survive in any JSON."""
    if seed is None:
        return secrets.randbits(48)
    if not isinstance(seed, (int, np.integer)) or isinstance(seed, bool) or seed < 0:
        raise ValueError(f"seed must be None or an integer of at least 0, got {seed!r}.")
    return int(seed)


def _find_algorithm(method: Any) -> Algorithm[Any]:
    """Return the algorithm of that name with its default settings, or `method` itself if it is one."""
    if isinstance(method, str):
        if method in ALGORITHMS:
            algorithm: Algorithm[Any] = ALGORITHMS[method]()
            return algorithm
        hint = did_you_mean(method, ALGORITHMS, "see the list.")
        raise MethodError(f"There is no method {method!r}; {hint} Methods: {', '.join(sorted(ALGORITHMS))}.")
    if isinstance(method, type):
        raise MethodError(
            f"The method must be an instance, got the class {method.__name__}; write {method.__name__}()."
        )
    missing = [name for name in _MEMBERS if not hasattr(method, name)]
    if missing:
        raise MethodError(f"A method must be a name or an algorithm, got {method!r}, which has no {missing[0]!r}.")
    found: Algorithm[Any] = method
    return found


def _saved_algorithm(name: str, settings: Any, arrays: list[plain.AnyArray]) -> Algorithm[Any]:
    """Return the algorithm that a snapshot was made by, with its settings."""
    if settings is None:
        raise StoreError(f"its method {name!r} is not one of boids' own; give it to Optimizer.load(path, method=…)")
    if name not in ALGORITHMS:
        raise StoreError(f"this boids has no method {name!r}; it has {', '.join(sorted(ALGORITHMS))}")
    algorithm: Algorithm[Any] = plain.decode(settings, ALGORITHMS[name], arrays, "settings")
    return algorithm
