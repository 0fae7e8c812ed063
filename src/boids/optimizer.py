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

import os
import time
from collections.abc import Mapping
from typing import Any, final, overload

from boids import plain, run_file
from boids.algorithms import Algorithm, find
from boids.errors import BudgetExhausted, SpaceExhausted, StoreError
from boids.ledger import Ledger
from boids.recommendation import Recommendation, Recommender
from boids.records import Outcome, Proposal, Trial
from boids.run_file import RunFile, SavedRun
from boids.setup import ASK, INIT, TELL, Setup
from boids.space import Space
from boids.space.linear import LinearConstraints
from boids.values import Reading, describe_error, positive_int, read_outcome

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
    noisy
        Whether two evaluations of one point may differ. Then points may be evaluated again, and `best` is the trial
        with the lowest posterior mean; otherwise no point is proposed twice.
    n_constraints
        Number of black-box constraints: every value comes with so many numbers, feasible where all are ≤ 0.
    linear_constraints
        Linear constraints on the parameters, which every proposal satisfies: `scipy.optimize.LinearConstraint`, or
        text such as "x1 <= x2" or "sum(w) == 1", or a list of these.
    penalty
        If given, the black-box constraints are not modelled: the method minimises value + penalty · Σ max(0, c).

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
    ) -> None:
        self._setup = Setup.of(space, budget, method, seed, noisy, n_constraints, linear_constraints, penalty)
        self._ledger = Ledger(self.space, self._setup.domain)
        self._exhausted = False
        self._recommender = Recommender()
        self._recommendation: Recommendation | None = None
        self._times = dict.fromkeys(PHASES, 0.0)
        self._meta: dict[str, Any] = {}
        begun = time.perf_counter()
        self._state = self.algorithm.init(self._setup.seen_domain, self.budget, self._setup.rng(INIT, 0))
        self.add_time("other", time.perf_counter() - begun)

    def __repr__(self) -> str:
        best = "none yet" if self.best is None else f"{self.best.value:g}"
        return f"<Optimizer {self.method}, D={self.space.dim}, told {self.n_told}/{self.budget}, best {best}>"

    # --- what is known ------------------------------------------------------------------------------------

    @property
    def space(self) -> Space:
        """The search space."""
        return self._setup.space

    @property
    def budget(self) -> int:
        """Number of evaluations of the whole run."""
        return self._setup.budget

    @property
    def method(self) -> str:
        """The method's name."""
        return self.algorithm.name

    @property
    def algorithm(self) -> Algorithm[Any]:
        """The method with its settings."""
        return self._setup.algorithm

    @property
    def seed(self) -> int:
        """The seed in use, also if none was given."""
        return self._setup.seed

    @property
    def noisy(self) -> bool:
        """Whether two evaluations of one point may differ."""
        return self._setup.noisy

    @property
    def n_constraints(self) -> int:
        """Number of black-box constraints."""
        return self._setup.n_constraints

    @property
    def linear_constraints(self) -> LinearConstraints | None:
        """The linear constraints on the parameters, None without any."""
        return self._setup.linear

    @property
    def penalty(self) -> float | None:
        """The weight of the constraints' violations if they are not modelled."""
        return self._setup.penalty

    @property
    def best(self) -> Trial | None:
        """The best trial so far, None before the first success.

        That is the feasible one with the lowest value, the oldest among equals; while there is none, the least
        infeasible one. If the objective is noisy, the lowest posterior mean takes the place of the lowest value.
        """
        return self._recommended().trial if self.noisy and self._ledger.best is not None else self._ledger.best

    @property
    def estimate(self) -> float | None:
        """The value of `best`: as observed, or if the objective is noisy its posterior mean."""
        if self._ledger.best is None:
            return None
        return self._recommended().mean if self.noisy else self._ledger.best.value

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
        """Number of trials that may still be asked for; a space of few points may end before the budget."""
        if self._exhausted:
            return 0
        return int(min(self.budget, self._setup.placement.points)) - self.n_asked

    @property
    def ready(self) -> int:
        """How many trials can be asked for at once without any of them missing the outcome of another."""
        return min(self.remaining, max(1, self.algorithm.ready(self._state)))

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
            **plain.jsonable(self.algorithm.diagnostics(self._state), "diagnostics"),
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
                f"{len(self._ledger.pending)} of them are not told yet; a larger budget needs a new Optimizer."
            )
        begun = time.perf_counter()
        state, history, made = self._state, self._setup.seen(self._ledger.history()), list[Proposal]()
        for number in range(self.n_asked, self.n_asked + min(count, self.remaining)):
            pending = (*self._ledger.pending.values(), *made)
            proposed, proposal = self.algorithm.ask(state, history, pending, self._setup.rng(ASK, number))
            placed = self._setup.place(proposal, number, made, self._ledger.tried)
            if placed is None:
                self._exhausted = True
                break
            made.append(placed)
            state = proposed
        if not made:
            raise SpaceExhausted(
                f"No point is left beside the {self.n_asked} that have been handed out, as far as could be found, and "
                "without noise none is worth a second evaluation; the run ends before its budget."
            )

        trials = self._ledger.open(made, time.time())
        self._state = state
        rest = time.perf_counter() - begun
        for proposal in made:
            for phase, seconds in proposal.times.items():
                self.add_time(phase, seconds)
                rest -= seconds
        self.add_time("other", max(0.0, rest))
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
            Why the evaluation failed; if given, the trial is a failure whatever the value.

        Raises
        ------
        TellError
            If the value is not a number, or the trial is not waiting for one. Nothing has changed then.
        """
        begun = time.perf_counter()
        asked = self._ledger.find(trial)
        if error is None:
            reading = read_outcome(value, constraints, noise_variance, n_constraints=self.n_constraints)
        else:
            reading = Reading.failed(describe_error(error), self.n_constraints)
        history, proposal = self._setup.seen(self._ledger.preview(asked, reading)), self._ledger.pending[asked.id]
        outcome = Outcome(float(history.values[-1]))
        state = self.algorithm.tell(self._state, history, proposal, outcome, self._setup.rng(TELL, asked.id))

        done = self._ledger.close(asked, reading, time.time())
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
        run = SavedRun(
            space=self.space.to_manifest(),
            linear=None if self.linear_constraints is None else self.linear_constraints.to_manifest(),
            budget=self.budget,
            seed=self.seed,
            method=self.algorithm.name,
            noisy=self.noisy,
            n_constraints=self.n_constraints,
            penalty=self.penalty,
            exhausted=self._exhausted,
            times=self._times,
            ledger=self._ledger.save(),
        )
        run_file.write(path, RunFile(run, self.algorithm, self._state, self._meta))

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, method: Algorithm[Any] | None = None) -> Optimizer:
        """Return the optimizer that was saved; `method` is needed only for one that is not boids' own."""
        file = run_file.read(path, None if method is None else find(method))
        run = file.run
        with run_file.explained(path):
            space = Space.from_manifest(run.space)
            optimizer = cls(
                space,
                budget=run.budget,
                method=file.algorithm,
                seed=run.seed,
                noisy=run.noisy,
                n_constraints=run.n_constraints,
                linear_constraints=() if run.linear is None else LinearConstraints.from_manifest(space, run.linear),
                penalty=run.penalty,
            )
            optimizer._state = file.state
            optimizer._exhausted = run.exhausted
            optimizer._times = dict(run.times)
            optimizer._meta = file.meta
            optimizer._ledger = Ledger.restore(space, run.ledger, optimizer._setup.domain)
            if optimizer.n_asked > optimizer.budget:
                raise StoreError("it has more trials than its budget")
        return optimizer

    def _recommended(self) -> Recommendation:
        """Return the noisy run's best trial by posterior mean, worked out once per outcome."""
        if self._recommendation is None or self._recommendation.told != self.n_told:
            self._recommendation = self._recommender.recommend(self._ledger.trials, self.n_told)
        return self._recommendation
