"""Optuna's samplers, each with its defaults: TPE, CMA-ES and a Gaussian process.

Akiba, Sano, Yanase, Ohta & Koyama, *Optuna: A Next-generation Hyperparameter Optimization Framework*, KDD 2019.

A proposal is a running trial of a study in memory, a failure a failed one, and a point of the user's a finished one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np

from boids.opponents.library import loaded
from boids.opponents.transcript import LibraryMethod, Searcher
from boids.records import Domain, FloatArray
from boids.settings import check_settings, setting

_REFERENCE = "Akiba, Sano, Yanase, Ohta & Koyama, KDD 2019"


@final
@dataclass(frozen=True)
class OptunaTPE(LibraryMethod):
    """Optuna's default sampler."""

    name: ClassVar[str] = "optuna-tpe"
    summary: ClassVar[str] = "Optuna's default: tree-structured Parzen estimators"
    reference: ClassVar[str] = _REFERENCE
    considers: ClassVar[tuple[str, ...]] = ("pending", "earlier")
    package: ClassVar[str] = "optuna"
    modules: ClassVar[tuple[str, ...]] = ("optuna",)
    loggers: ClassVar[tuple[str, ...]] = ("optuna",)

    n_startup_trials: int = setting(10, "Optuna: random points before the first estimate", least=0)
    multivariate: bool | None = setting(
        None, "Optuna: from version 5 on, all parameters together; earlier versions one by one"
    )

    def __post_init__(self) -> None:
        check_settings(self)

    def searcher(self, domain: Domain, budget: int, seed: int) -> Searcher:
        """Return a study with this sampler."""
        more = {} if self.multivariate is None else {"multivariate": self.multivariate}
        make = loaded("optuna").samplers.TPESampler
        return _Study(make(seed=seed, n_startup_trials=self.n_startup_trials, **more), domain.dim)


@final
@dataclass(frozen=True)
class OptunaCMAES(LibraryMethod):
    """Optuna's CMA-ES, which is the package cmaes."""

    name: ClassVar[str] = "optuna-cmaes"
    summary: ClassVar[str] = "Optuna's CMA-ES (package cmaes), from the centre of the box"
    reference: ClassVar[str] = "Nomura & Shibata, arXiv 2402.01373, 2024"
    considers: ClassVar[tuple[str, ...]] = ()
    package: ClassVar[str] = "optuna"
    modules: ClassVar[tuple[str, ...]] = ("optuna", "cmaes")
    loggers: ClassVar[tuple[str, ...]] = ("optuna",)

    n_startup_trials: int = setting(1, "Optuna: random points before the first generation", least=0)
    population: int | None = setting(None, "cmaes: λ = 4 + ⌊3 ln D⌋; a number fixes it", least=3)

    def __post_init__(self) -> None:
        check_settings(self)

    def searcher(self, domain: Domain, budget: int, seed: int) -> Searcher:
        """Return a study with this sampler."""
        make = loaded("optuna").samplers.CmaEsSampler
        sampler = make(
            seed=seed,
            n_startup_trials=self.n_startup_trials,
            popsize=self.population,
            warn_independent_sampling=False,
        )
        return _Study(sampler, domain.dim)


@final
@dataclass(frozen=True)
class OptunaGP(LibraryMethod):
    """Optuna's Gaussian process."""

    name: ClassVar[str] = "optuna-gp"
    summary: ClassVar[str] = "Optuna's Gaussian process: Matérn-5/2, LogEI"
    reference: ClassVar[str] = _REFERENCE
    considers: ClassVar[tuple[str, ...]] = ("noise", "pending", "earlier")
    package: ClassVar[str] = "optuna"
    modules: ClassVar[tuple[str, ...]] = ("optuna", "torch")
    loggers: ClassVar[tuple[str, ...]] = ("optuna",)

    n_startup_trials: int = setting(10, "Optuna: random points before the first model", least=1)
    deterministic_objective: bool = setting(False, "Optuna: the variance of the noise is fitted")

    def __post_init__(self) -> None:
        check_settings(self)

    def searcher(self, domain: Domain, budget: int, seed: int) -> Searcher:
        """Return a study with this sampler."""
        make = loaded("optuna").samplers.GPSampler
        sampler = make(
            seed=seed,
            n_startup_trials=self.n_startup_trials,
            deterministic_objective=self.deterministic_objective,
        )
        return _Study(sampler, domain.dim)


@final
class _Study:
    """A study in memory with one float parameter per coordinate."""

    def __init__(self, sampler: Any, dim: int) -> None:
        self._optuna = loaded("optuna")
        every = self._optuna.distributions.FloatDistribution(-1.0, 1.0)
        self._space = {f"x{i}": every for i in range(dim)}
        self._study = self._optuna.create_study(sampler=sampler)
        self._trials: dict[int, Any] = {}
        self._proposed = 0

    def propose(self) -> FloatArray:
        """Begin a trial."""
        trial = self._study.ask(self._space)
        self._trials[self._proposed] = trial
        self._proposed += 1
        return np.array([trial.params[name] for name in self._space])

    def learn(self, number: int, value: float) -> None:
        """Finish a trial."""
        trial = self._trials.pop(number)
        if math.isnan(value):
            self._study.tell(trial, state=self._optuna.trial.TrialState.FAIL)
        else:
            self._study.tell(trial, value)

    def learn_guest(self, unit: FloatArray, value: float) -> None:
        """Add a finished trial."""
        if not math.isnan(value):
            params = dict(zip(self._space, unit.tolist(), strict=True))
            made = self._optuna.trial.create_trial(params=params, distributions=self._space, value=value)
            self._study.add_trial(made)
