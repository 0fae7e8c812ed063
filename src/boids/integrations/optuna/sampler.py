"""BoidsSampler: boids' methods as a sampler of Optuna.

Akiba, Sano, Yanase, Ohta & Koyama, *Optuna: A Next-generation Hyperparameter Optimization Framework*, KDD 2019.

Parameters that all completed trials have in common are proposed by the method, any others by an independent sampler.
The study's storage is the only memory that counts. Its trials are told to the method as they finish, whoever carried
them out, and the method's state lies among the study's attributes as plain data, so that another process, or the same
script tomorrow, goes on from there.
"""

from __future__ import annotations

import hashlib
import logging
import math
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import is_dataclass, replace
from typing import Any, final

import numpy as np
from optuna.distributions import BaseDistribution
from optuna.samplers import BaseSampler, RandomSampler
from optuna.study import Study, StudyDirection
from optuna.trial import FrozenTrial, TrialState

from boids.algorithms import Algorithm
from boids.errors import BoidsError, shown
from boids.integrations.course import Course, planned
from boids.integrations.optuna.common_parameters import CommonParameters
from boids.integrations.optuna.shelf import Shelf
from boids.integrations.optuna.translation import Translation, translatable
from boids.ledger import protected
from boids.records import FloatArray, Proposal
from boids.setup import Setup
from boids.values import Reading, read_outcome

_log = logging.getLogger(__name__)

#: How often a proposal is made anew because another process was faster.
_ATTEMPTS = 5
#: Where Optuna expects the black-box constraints of a trial.
_CONSTRAINTS = "constraints"
#: Where a trial keeps the point that the method aimed at, if integers or choices moved it.
_AIM = "boids:aim"
#: Where a trial says at which point it is evaluated, before its values are in the storage.
_POINT = "boids:point"


@final
class BoidsSampler(BaseSampler):
    """Let a method of boids propose the trials of a study with one objective.

    Parameters
    ----------
    method
        A name such as "boids", or an algorithm with its settings, such as ``boids.algorithms.Boids(particles=30)``.
    seed
        A non-negative integer makes a study reproducible that one process carries out, one trial at a time.
    budget
        The number of trials that the method plans with, best that of the whole study; None means 500. A study may
        go on beyond it.
    noisy
        Whether two evaluations of one point may differ.
    constraints_func
        As of Optuna's own samplers: takes a finished trial and returns numbers that are ≤ 0 where it is feasible.
    search_space
        Distributions by name, if they are known beforehand; then the method proposes the first trial as well, and
        these parameters are proposed together even if some trials lack some of them.
    independent_sampler
        For parameters that not all trials have in common; None draws at random.
    warn_independent_sampling
        Whether to log a warning when a parameter is left to the independent sampler.

    Examples
    --------
    >>> import optuna
    >>> optuna.logging.set_verbosity(optuna.logging.WARNING)
    >>> study = optuna.create_study(sampler=BoidsSampler(seed=1, budget=15))
    >>> study.optimize(lambda trial: sum(trial.suggest_float(f"x{i}", -1, 1) ** 2 for i in range(30)), n_trials=15)
    >>> len(study.trials)
    15
    """

    def __init__(
        self,
        method: str | Algorithm[Any] = "boids",
        seed: int | None = None,
        budget: int | None = None,
        *,
        noisy: bool = False,
        constraints_func: Callable[[FrozenTrial], Sequence[float]] | None = None,
        search_space: Mapping[str, BaseDistribution] | None = None,
        independent_sampler: BaseSampler | None = None,
        warn_independent_sampling: bool = True,
    ) -> None:
        method, plan = planned(method, budget)
        # All but the space and the constraints, which the study's trials will tell.
        self._setup = Setup.of([(0.0, 1.0)], plan, method, seed, noisy, 0, (), None, None)
        self._constraints_func = constraints_func
        self._given = None if search_space is None else _checked(search_space)
        self._independent = independent_sampler or RandomSampler(seed=self._setup.seed % 2**32)
        self._warns = warn_independent_sampling
        self._start_over()

    def _start_over(self) -> None:
        """Forget what is known of a study; all of it can be read again."""
        self._lock = threading.RLock()
        self._shelf: Shelf | None = None
        self._common = CommonParameters()
        self._translation: Translation | None = None
        self._constraint_names: tuple[str, ...] = ()
        self._course: Course | None = None
        self._purpose = ""
        self._token: str | None = None
        self._warned: set[str] = set()

    def __getstate__(self) -> dict[str, Any]:
        return {name: self.__dict__[name] for name in _LASTING}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._start_over()

    def __str__(self) -> str:
        return f"BoidsSampler({self._setup.algorithm.name})"

    def reseed_rng(self) -> None:
        """Reseed the independent sampler; the method's random streams belong to the numbers of trials."""
        self._independent.reseed_rng()

    # --- what Optuna calls --------------------------------------------------------------------------------

    def infer_relative_search_space(self, study: Study, trial: FrozenTrial) -> dict[str, BaseDistribution]:
        """Return the parameters that the method proposes together."""
        _require_one_objective(study)
        if self._given is not None:
            return self._given
        with self._lock:
            self._turn_to(study)
            return self._common.after(_trials_of(study))

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        """Return the method's proposal for these parameters."""
        _require_one_objective(study)
        if not search_space:
            return {}
        with self._lock:
            shelf = self._turn_to(study)
            translation = self._translated(search_space)
            for _ in range(_ATTEMPTS):
                trials = _trials_of(study)
                sign = -1.0 if study.direction == StudyDirection.MAXIMIZE else 1.0
                course = self._prepared(shelf, translation, trials, sign)
                params, proposal, state = self._proposed(course, translation, trial, study, trials)
                if proposal.aimed is not None:
                    shelf.storage.set_trial_system_attr(trial._trial_id, _AIM, proposal.aimed.tobytes().hex())
                course.accept(trial.number, proposal, state)
                data = course.write()
                if shelf.token() != self._token:
                    continue  # another process has written since: take its proposals into account
                self._token = shelf.write(self._purpose, data)
                if shelf.token() == self._token:
                    break
            # After so many attempts in vain the trial is carried out, and told as an earlier evaluation.
            return params

    def sample_independent(
        self, study: Study, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution
    ) -> Any:
        """Return a value for a parameter that not all trials have in common."""
        _require_one_objective(study)
        if self._warns and param_name not in self._warned and trial.number > 0 and not param_distribution.single():
            self._warned.add(param_name)
            _log.warning(
                "The parameter %r of trial %d is drawn by %s, because not all completed trials have it with the same "
                "distribution; BoidsSampler(warn_independent_sampling=False) says no more of this.",
                param_name, trial.number, type(self._independent).__name__,
            )  # fmt: skip
        return self._independent.sample_independent(study, trial, param_name, param_distribution)

    def before_trial(self, study: Study, trial: FrozenTrial) -> None:
        """Tell the independent sampler."""
        self._independent.before_trial(study, trial)

    def after_trial(self, study: Study, trial: FrozenTrial, state: TrialState, values: Sequence[float] | None) -> None:
        """Keep the constraints of a finished trial; the method learns of it when it proposes the next."""
        if self._constraints_func is not None and state in (TrialState.COMPLETE, TrialState.PRUNED):
            study._storage.set_trial_system_attr(trial._trial_id, _CONSTRAINTS, None)
            found = _constraints(self._constraints_func(trial))
            study._storage.set_trial_system_attr(trial._trial_id, _CONSTRAINTS, found)
        self._independent.after_trial(study, trial, state, values)

    # --- the course of the method -------------------------------------------------------------------------

    def _turn_to(self, study: Study) -> Shelf:
        """Return the shelf of a study; whatever is known of another study is forgotten."""
        if self._shelf is None or not self._shelf.is_of(study._storage, study._study_id):
            lock = self._lock  # which the caller holds
            self._start_over()
            self._lock, self._shelf = lock, Shelf(study._storage, study._study_id)
        return self._shelf

    def _translated(self, search_space: dict[str, BaseDistribution]) -> Translation:
        if self._translation is None or not _same(self._translation.search_space, search_space):
            self._translation, self._course = Translation(search_space), None
        return self._translation

    def _prepared(self, shelf: Shelf, translation: Translation, trials: Sequence[FrozenTrial], sign: float) -> Course:
        """Return the method's course, up to date with all processes and with all finished trials."""
        if not self._constraint_names and (names := _constraint_names(trials, self._course)):
            self._constraint_names, self._course = names, None
        names = self._constraint_names
        if self._course is None:
            self._purpose, self._token = self._purpose_of(translation, sign), None
        if self._course is None or shelf.token() != self._token:
            self._course = self._read(shelf, translation, trials, sign)
        course, finished = self._course, list[int]()
        for number in course.due(len(trials)):
            trial = trials[number]
            if trial.state.is_finished():
                unit = translation.unit(trial.params)
                if unit is not None:
                    course.tell(number, unit, _reading(trial, names, sign))
                finished.append(number)
        course.drop(finished)
        return course

    def _read(self, shelf: Shelf, translation: Translation, trials: Sequence[FrozenTrial], sign: float) -> Course:
        """Return the course that the study's processes share, or the beginning of one."""
        names, note, known = self._constraint_names, shelf.note(), self._course
        setup = replace(self._setup, space=translation.space, n_constraints=len(names), x0=_nowhere(translation))
        setup = setup if known is None else known.setup
        self._token = note.token

        def lookup(number: int, is_own: bool) -> tuple[Proposal, Reading]:
            trial = trials[number]
            unit = translation.unit(trial.params)
            if unit is None:
                raise ValueError(f"trial {number} is not a point of its space")
            aim = trial.system_attrs.get(_AIM) if is_own else None
            aimed = None if aim is None else protected(np.frombuffer(bytes.fromhex(aim)))
            return Proposal(protected(unit), aimed=aimed), _reading(trial, names, sign)

        if note.data is not None and note.purpose == self._purpose:
            try:
                return Course.read(setup, note.data, lookup, known)
            except (BoidsError, ValueError, KeyError, IndexError, TypeError) as error:
                _log.warning("What the study keeps of the method's state cannot be used (%s): it begins anew.", error)
                return Course(setup)
        return Course(setup) if known is None else known

    def _proposed(
        self, course: Course, translation: Translation, trial: FrozenTrial, study: Study, trials: Sequence[FrozenTrial]
    ) -> tuple[dict[str, Any], Proposal, Any]:
        """Return the values for a trial, the proposal behind them, and the method's state after it."""
        running = [number for number in course.due(len(trials)) if number != trial.number]
        units = [translation.unit(trials[number].params) for number in running if number not in course.open]
        others: list[FloatArray] = [unit for unit in units if unit is not None]
        for _ in range(_ATTEMPTS):
            state, proposal = course.propose(trial.number, others)
            params = translation.params(proposal.unit)
            # To the last bit what any process will make of the values in the storage.
            unit = translation.unit(params)
            proposal = proposal if unit is None else replace(proposal, unit=protected(unit))
            # First say where this trial goes, then look where others go: of two processes that choose the same point
            # at the same time, at least the later one sees the other.
            point = hashlib.blake2b(proposal.unit.tobytes(), digest_size=12).hexdigest()
            study._storage.set_trial_system_attr(trial._trial_id, _POINT, point)
            if self._setup.noisy or not _is_taken(point, trial.number, _trials_of(study), course):
                break
            others.append(proposal.unit)
        return params, proposal, state

    def _purpose_of(self, translation: Translation, sign: float) -> str:
        """Return what a course must have in common with another one for them to be the same; not the seed."""
        setup = self._setup
        method = repr(setup.algorithm) if is_dataclass(setup.algorithm) else setup.algorithm.name
        parts = (translation.identity(), setup.algorithm.name, method, setup.budget, setup.noisy, sign)
        text = "|".join(map(str, (*parts, *self._constraint_names)))
        return hashlib.sha256(text.encode()).hexdigest()[:32]


_LASTING = ("_setup", "_constraints_func", "_given", "_independent", "_warns")


def _checked(search_space: Mapping[str, BaseDistribution]) -> dict[str, BaseDistribution]:
    """Return the parameters that can be proposed among those that a user has named."""
    for name, each in search_space.items():
        if not isinstance(each, BaseDistribution):
            raise ValueError(f"search_space must map names to Optuna's distributions, got {shown(each)} for {name!r}.")
    return {name: each for name, each in sorted(search_space.items()) if translatable(each)}


def _require_one_objective(study: Study) -> None:
    if len(study.directions) > 1:
        raise ValueError(
            f"BoidsSampler optimises one objective, but the study has {len(study.directions)} directions; "
            "use one of Optuna's samplers for several objectives, such as NSGAIISampler."
        )


def _trials_of(study: Study) -> list[FrozenTrial]:
    """Return all trials in the order of their numbers, whatever a pruner would have a sampler see."""
    return study._storage.get_all_trials(study._study_id, deepcopy=False)


def _is_taken(point: str, number: int, trials: Sequence[FrozenTrial], course: Course) -> bool:
    """Return whether another trial under way is evaluated at a point."""
    unfinished = (trials[each] for each in course.due(len(trials)) if each != number)
    return any(each.system_attrs.get(_POINT) == point for each in unfinished)


def _same(one: dict[str, BaseDistribution], other: dict[str, BaseDistribution]) -> bool:
    return one is other or one == other


def _nowhere(translation: Translation) -> FloatArray:
    return np.empty((0, translation.space.dim))


def _constraint_names(trials: Sequence[FrozenTrial], course: Course | None) -> tuple[str, ...]:
    """Return the constraints' names, from the first completed trial that has any."""
    numbers = range(len(trials)) if course is None else course.due(len(trials))
    for number in numbers:
        trial = trials[number]
        if trial.state == TrialState.COMPLETE and trial.constraints:
            return tuple(trial.constraints)
    return ()


def _constraints(found: Any) -> list[float]:
    """Return what a user's function said of a trial's constraints, as numbers."""
    try:
        numbers = [float(each) for each in found]
    except (TypeError, ValueError):
        raise ValueError(f"constraints_func must return a list of numbers, got {shown(found)}.") from None
    if any(math.isnan(each) for each in numbers):
        raise ValueError(f"constraints_func must return numbers that are not nan, got {shown(found)}.")
    return numbers


def _reading(trial: FrozenTrial, names: tuple[str, ...], sign: float) -> Reading:
    """Return what came out of a finished trial, to be minimised; a pruned one has failed."""
    if trial.state != TrialState.COMPLETE or trial.value is None:
        reason = "The trial was pruned." if trial.state == TrialState.PRUNED else "The trial failed."
        return Reading.failed(reason, len(names))
    if not names:
        return read_outcome(sign * trial.value)
    found = trial.constraints
    if any(name not in found for name in names):
        return Reading.failed("The trial lacks some of the constraints.", len(names))
    return read_outcome(sign * trial.value, [found[name] for name in names], n_constraints=len(names))
