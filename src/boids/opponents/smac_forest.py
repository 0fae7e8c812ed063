"""SMAC3: a random forest with expected improvement, searched locally and at random.

Lindauer, Eggensperger, Feurer, Biedenkapp, Deng, Benjamins, Ruhkopf, Sass & Hutter, *SMAC3: A Versatile Bayesian
Optimization Package for Hyperparameter Optimization*, JMLR 2022.

SMAC's guide has a facade per use: its Gaussian process (BlackBoxFacade) is for few parameters, its forest
(HyperparameterOptimizationFacade) for any number of them, which is why that one is taken.
"""

from __future__ import annotations

import math
import tempfile
from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np

from boids.opponents.library import loaded
from boids.opponents.transcript import LibraryMethod, Searcher, Worst
from boids.records import Domain, FloatArray
from boids.settings import check_settings, setting


@final
@dataclass(frozen=True)
class SMAC(LibraryMethod):
    """SMAC3's facade for hyper-parameters."""

    name: ClassVar[str] = "smac"
    summary: ClassVar[str] = "SMAC3: random forest, expected improvement, local search"
    reference: ClassVar[str] = "Lindauer et al., JMLR 2022"
    considers: ClassVar[tuple[str, ...]] = ("earlier",)
    package: ClassVar[str] = "smac"
    modules: ClassVar[tuple[str, ...]] = ("smac", "ConfigSpace")
    loggers: ClassVar[tuple[str, ...]] = ("smac",)

    n_trees: int = setting(10, "SMAC3: trees of the forest", least=1)
    initial_share: float = setting(
        0.25, "SMAC3: Sobol points, 10 D and at most this share of the budget", least=0, most=1
    )
    challengers: int = setting(10_000, "SMAC3: random configurations per search", least=10)
    retrain_after: int = setting(8, "SMAC3: proposals made of one forest", least=1)

    def __post_init__(self) -> None:
        check_settings(self)

    def searcher(self, domain: Domain, budget: int, seed: int) -> Searcher:
        """Return the facade, asked and told."""
        smac, cs = loaded("smac"), loaded("ConfigSpace")
        box = cs.ConfigurationSpace(seed=seed)
        box.add([cs.UniformFloatHyperparameter(f"x{i}", -1.0, 1.0) for i in range(domain.dim)])
        facade = smac.HyperparameterOptimizationFacade
        # It writes down what it is asked to do, but is never asked to save what comes of it.
        with tempfile.TemporaryDirectory() as folder:
            scenario = smac.Scenario(box, deterministic=True, n_trials=budget, seed=seed, output_directory=folder)
            made = facade(
                scenario,
                _never_called,
                model=facade.get_model(scenario, n_trees=self.n_trees),
                initial_design=facade.get_initial_design(scenario, max_ratio=self.initial_share),
                acquisition_maximizer=facade.get_acquisition_maximizer(scenario, challengers=self.challengers),
                config_selector=facade.get_config_selector(scenario, retrain_after=self.retrain_after),
                logging_level=False,
                overwrite=True,
            )
        return _Facade(made, box, domain.dim)


def _never_called(config: Any, seed: int = 0) -> float:
    """Stand for the objective, which SMAC wants to have, and does not use when it is asked and told."""
    raise RuntimeError("SMAC was to be asked and told, not to evaluate by itself.")


@final
class _Facade:
    """SMAC's ask and tell; failures wait until there is a value to be worse than."""

    def __init__(self, facade: Any, box: Any, dim: int) -> None:
        self._facade, self._box = facade, box
        self._names = [f"x{i}" for i in range(dim)]
        self._smac, self._cs = loaded("smac.runhistory.dataclasses"), loaded("ConfigSpace")
        self._infos: dict[int, Any] = {}
        self._proposed = 0
        self._failed: list[Any] = []
        self._worst = Worst()

    def propose(self) -> FloatArray:
        """Ask for a configuration."""
        try:
            info = self._facade.ask()
        except StopIteration:  # it found nothing new, as where all values are the same
            info = self._smac.TrialInfo(self._box.sample_configuration(), seed=0)
        self._infos[self._proposed] = info
        self._proposed += 1
        return np.array([float(info.config[name]) for name in self._names])

    def learn(self, number: int, value: float) -> None:
        """Tell the cost of a configuration."""
        self._tell(self._infos.pop(number), value)

    def learn_guest(self, unit: FloatArray, value: float) -> None:
        """Tell a configuration that was not asked for."""
        config = self._cs.Configuration(self._box, values=dict(zip(self._names, unit.tolist(), strict=True)))
        self._tell(self._smac.TrialInfo(config, seed=0), value)

    def _tell(self, info: Any, value: float) -> None:
        if math.isnan(value):
            self._failed.append(info)
        else:
            self._worst.saw(value)
            self._report(info, value)
        if self._worst.is_known:
            for each in self._failed:
                self._report(each, self._worst.beyond)
            self._failed = []

    def _report(self, info: Any, cost: float) -> None:
        self._facade.tell(info, self._smac.TrialValue(cost=cost), save=False)
