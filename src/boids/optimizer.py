"""The ask/tell shell: the one mutable object, which owns a method's state, the trials and the randomness.

Every call of the method gets a generator of its own, made from the seed and the trial's number. The stream of
numbers therefore does not depend on the order in which values come back, and needs no saving.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from typing import Any, final, overload

from boids import plain, recording, run_file
from boids.algorithms import Algorithm, find
from boids.earlier import earlier_trials
from boids.errors import BoidsError, BudgetExhausted, StoreError
from boids.recommendation import Recommendation, Recommender
from boids.recording import Kept
from boids.records import Trial
from boids.run import Run
from boids.setup import Setup
from boids.space import Space
from boids.space.linear import LinearConstraints
from boids.trial_rows import Held
from boids.values import Reading, describe_error, positive_int, read_outcome


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
    noisy
        Whether two evaluations of one point may differ. Then points may be evaluated again, and `best` is the trial
        with the lowest posterior mean; otherwise no point is proposed twice.
    n_constraints
        Number of black-box constraints: every value comes with so many numbers, feasible where all are ≤ 0.
    linear_constraints
        Linear constraints on the parameters, which every proposal satisfies: `scipy.optimize.LinearConstraint`, or
        text such as "x[0] <= x[1]" in a box, or "tip <= root" and "sum(w) == 1" with names, or a list of these.
    penalty
        If given, the black-box constraints are not modelled: the method minimises value + penalty · Σ max(0, c).
    x0
        A point, or a list of points, to evaluate first, such as the present design.
    store
        A file to keep the run in while it goes, see `boids.Store`; `Optimizer.resume` goes on with it.
    run_id
        What the run is called in the store; None makes a name.

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
        self,
        space: Any,
        *,
        budget: int,
        method: str | Algorithm[Any] = "boids",
        seed: int | None = None,
        noisy: bool = False,
        n_constraints: int = 0,
        linear_constraints: Any = (),
        penalty: float | None = None,
        x0: Any = None,
        store: str | os.PathLike[str] | None = None,
        run_id: str | None = None,
    ) -> None:
        setup = Setup.of(space, budget, method, seed, noisy, n_constraints, linear_constraints, penalty, x0)
        self._take(Run.fresh(setup), {})
        if store is not None:
            self.keep(store, run_id=run_id)

    @classmethod
    def of(cls, setup: Setup) -> Optimizer:
        """Return the optimizer of a run whose arguments have been checked."""
        return cls._around(Run.fresh(setup), {})

    @classmethod
    def _around(cls, run: Run, meta: dict[str, Any]) -> Optimizer:
        optimizer = cls.__new__(cls)
        optimizer._take(run, meta)
        return optimizer

    def _take(self, run: Run, meta: dict[str, Any]) -> None:
        """Become the shell of a run."""
        self._run = run
        self._meta = meta
        self.kept: Kept | None = None  # the run in its store
        self.trouble: BoidsError | None = None  # what has ended the run before its time
        self._recommender = Recommender()
        self._recommendation: Recommendation | None = None

    def __repr__(self) -> str:
        best = "none yet" if self.best is None else f"{self.best.value:g}"
        return f"<Optimizer {self.method}, D={self.space.dim}, told {self.n_told}/{self.budget}, best {best}>"

    # --- what is known ------------------------------------------------------------------------------------

    @property
    def space(self) -> Space:
        """The search space."""
        return self._run.setup.space

    @property
    def budget(self) -> int:
        """Number of evaluations of the whole run."""
        return self._run.setup.budget

    @property
    def method(self) -> str:
        """The method's name."""
        return self.algorithm.name

    @property
    def algorithm(self) -> Algorithm[Any]:
        """The method with its settings."""
        return self._run.setup.algorithm

    @property
    def seed(self) -> int:
        """The seed in use, also if none was given."""
        return self._run.setup.seed

    @property
    def noisy(self) -> bool:
        """Whether two evaluations of one point may differ."""
        return self._run.setup.noisy

    @property
    def n_constraints(self) -> int:
        """Number of black-box constraints."""
        return self._run.setup.n_constraints

    @property
    def linear_constraints(self) -> LinearConstraints | None:
        """The linear constraints on the parameters, None without any."""
        return self._run.setup.linear

    @property
    def penalty(self) -> float | None:
        """The weight of the constraints' violations if they are not modelled."""
        return self._run.setup.penalty

    @property
    def best(self) -> Trial | None:
        """The best trial so far, None before the first success.

        That is the feasible one with the lowest value, the oldest among equals; while there is none, the least
        infeasible one. If the objective is noisy, the lowest posterior mean takes the place of the lowest value.
        """
        return self._recommended().trial if self.noisy and self._run.ledger.best is not None else self._run.ledger.best

    @property
    def estimate(self) -> float | None:
        """The value of `best`: as observed, or if the objective is noisy its posterior mean."""
        if self._run.ledger.best is None:
            return None
        return self._recommended().mean if self.noisy else self._run.ledger.best.value

    @property
    def trials(self) -> tuple[Trial, ...]:
        """All trials asked for, in order of their number, the pending ones included."""
        return tuple(self._run.ledger.trials)

    @property
    def pending(self) -> tuple[Trial, ...]:
        """The trials that have not been told, oldest first."""
        return tuple(self._run.ledger.trial(number) for number in self._run.ledger.pending)

    @property
    def n_asked(self) -> int:
        """Number of trials handed out."""
        return self._run.n_asked

    @property
    def n_told(self) -> int:
        """Number of trials told, the failed ones included."""
        return self._run.ledger.n_told - self._run.ledger.n_added

    @property
    def n_failed(self) -> int:
        """Number of trials that failed."""
        return self._run.ledger.n_failed - self._run.ledger.n_added_failed

    @property
    def remaining(self) -> int:
        """Number of trials that may still be asked for; few, if the space has few points."""
        return self._run.remaining

    @property
    def ready(self) -> int:
        """How many trials can be asked for at once without any of them missing the outcome of another."""
        return min(self.remaining, max(1, self.algorithm.ready(self._run.state)))

    @property
    def times(self) -> dict[str, float]:
        """Seconds spent in each phase so far."""
        return dict(self._run.times)

    @property
    def meta(self) -> dict[str, Any]:
        """What the caller of `save` or `keep` wanted kept with the run; JSON-able."""
        return dict(self._meta)

    @property
    def diagnostics(self) -> dict[str, Any]:
        """What there is to know about the run, JSON-able: the method's own facts, and those of every run."""
        return {
            **plain.jsonable(self.algorithm.diagnostics(self._run.state), "diagnostics"),
            "method": self.method,
            "seed": self.seed,
            "dim": self.space.dim,
            "budget": self.budget,
            "asked": self.n_asked,
            "told": self.n_told,
            "failed": self.n_failed,
            "best": self.estimate,
            "feasible": None if self.best is None else self.best.feasible,
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
        if self.n_asked >= self.budget:
            raise BudgetExhausted(
                f"All {self.budget} evaluations of the budget have been handed out, "
                f"{len(self._run.ledger.pending)} of them are not told yet; a larger budget needs a new Optimizer."
            )
        trials = self._run.ask(count)
        return trials[0] if n is None else trials

    def tell(
        self,
        trial: Trial | int,
        value: Any = None,
        *,
        constraints: Any = None,
        noise_variance: float | None = None,
        error: str | BaseException | None = None,
    ) -> Trial:
        """Take the value of a pending trial, and return the finished trial.

        Parameters
        ----------
        trial
            A trial from `ask`, or its number.
        value
            A real number, also as an array of one element. nan, ±inf and `boids.FAILED` say that the evaluation
            failed; a failure counts in the budget. What an objective may return will do, too: ``(value, [c1, …])`` if
            there are constraints, or a `boids.Measurement`.
        constraints
            The black-box constraints' values, feasible where all are ≤ 0.
        noise_variance
            The variance of the value, if it is known.
        error
            Why the evaluation failed, whatever the value.

        Raises
        ------
        TellError
            If the value is not a number, or the trial is not waiting for one. Nothing has changed then.
        """
        number = self._run.ledger.find(trial)
        if error is None:
            reading = read_outcome(value, constraints, noise_variance, n_constraints=self.n_constraints)
        else:
            reading = Reading.failed(describe_error(error), self.n_constraints)
        return self._run.tell(number, Held(reading, time.time()))

    def add_trials(self, trials: Any) -> tuple[Trial, ...]:
        """Learn from evaluations that were made before or elsewhere, and return them as trials of this run.

        They do not count in the budget, and may be `best`.

        Parameters
        ----------
        trials
            A list of finished trials, or of pairs (point, outcome) where an outcome is whatever an objective may
            return; or something with trials, such as a `Result`. Points must lie in the space.
        """
        given = earlier_trials(self.space, trials, self.n_constraints)
        return tuple(self._run.add(each) for each in given)

    def add_time(self, phase: str, seconds: float) -> None:
        """Book seconds on a phase; "evaluate" is booked by whoever calls the objective."""
        self._run.add_time(phase, seconds)

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
        run_file.write(path, self._run, self._meta)

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, method: Algorithm[Any] | None = None) -> Optimizer:
        """Return the optimizer that was saved; `method` is needed only for one that is not boids' own."""
        run, meta = run_file.read(path, None if method is None else find(method))
        return cls._around(run, meta)

    # --- runs in a store ----------------------------------------------------------------------------------

    def keep(
        self,
        store: str | os.PathLike[str],
        *,
        run_id: str | None = None,
        problem: str = "",
        meta: Mapping[str, Any] | None = None,
        memory: Callable[[], Any] | None = None,
    ) -> str:
        """Keep the run in a store from now on, before and after every evaluation, and return what it is called there.

        `problem` says what is minimised, for people, and `memory` what the objective remembers; see also `save`.
        """
        if self.kept is not None:
            raise StoreError(f"The run is kept already, as {self.kept.id!r}.")
        if meta is not None:
            self._meta = plain.jsonable(dict(meta), "meta")
        self.kept = Kept.new(store, self._run, run_id=run_id, problem=problem, meta=self._meta, memory=memory)
        return self.kept.id

    @classmethod
    def resume(cls, store: str | os.PathLike[str], run_id: str, *, method: Algorithm[Any] | None = None) -> Optimizer:
        """Return a run that is kept in a store, to go on with it; trials that were under way are `pending`."""
        run, meta, kept = Kept.found(store, run_id, None if method is None else find(method))
        optimizer = cls._around(run, meta)
        optimizer.kept = kept
        return optimizer

    @classmethod
    def stored(cls, store: str | os.PathLike[str], run_id: str) -> tuple[Optimizer, str]:
        """Return a copy of a run that is kept in a store, which changes nothing there, and how that run stands."""
        run, meta, status = recording.copied(store, run_id)
        return cls._around(run, meta), status

    @property
    def run(self) -> Run:
        """The run itself, for whoever drives it."""
        return self._run

    def close(self, status: str | None = None) -> None:
        """Keep the run no longer up to date, so that others can take it up; `status` says in a word why it ended."""
        if self.kept is None:
            return
        kept, self.kept = self.kept, None
        # With noise, the best value that was measured, which the store has now, is too good to be true.
        kept.end(status, self.estimate, None if self.best is None else self.best.feasible)

    def give_up_store(self, error: StoreError) -> None:
        """Go on without a store that cannot be written to."""
        self.trouble = error
        if self.kept is not None:
            self.kept.let_go()
            self.kept = None

    def _recommended(self) -> Recommendation:
        """Return the noisy run's best trial by posterior mean, worked out once per outcome."""
        ledger = self._run.ledger
        if self._recommendation is None or self._recommendation.told != ledger.n_told:
            self._recommendation = self._recommender.recommend(ledger.trials, ledger.n_told)
        return self._recommendation
