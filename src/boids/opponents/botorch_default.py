"""BoTorch as its tutorials use it: SingleTaskGP with its default priors, and the expected improvement's logarithm.

Balandat, Karrer, Jiang, Daulton, Letham, Wilson & Bakshy, *BoTorch: A Framework for Efficient Monte-Carlo Bayesian
Optimization*, NeurIPS 2020; Ament, Daulton, Eriksson, Balandat & Bakshy, *Unexpected Improvements to Expected
Improvement*, NeurIPS 2023. The default priors are those of Hvarfner, Hellsten & Nardi, ICML 2024.

Notation
--------
X       evaluated points in [0, 1]^D, as BoTorch wants them, without failures
Y       their values, standardised, with the sign changed: BoTorch maximises
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, final

import numpy as np

from boids.blocks.design import sobol
from boids.blocks.scaling import standardise
from boids.blocks.stopwatch import Stopwatch
from boids.opponents.library import loaded, quiet, require
from boids.records import Domain, FloatArray, History, Outcome, Proposal
from boids.settings import check_settings, setting


@final
@dataclass(frozen=True, slots=True)
class BoTorchState:
    """The design points still to be proposed; the model is made anew of all data for every proposal."""

    queue: FloatArray


@final
@dataclass(frozen=True)
class BoTorch:
    """BoTorch's default model and acquisition function."""

    name: ClassVar[str] = "botorch"
    summary: ClassVar[str] = "BoTorch's default: SingleTaskGP, LogEI by optimize_acqf"
    reference: ClassVar[str] = "Balandat et al., NeurIPS 2020"
    considers: ClassVar[tuple[str, ...]] = ("noise", "pending", "earlier")
    package: ClassVar[str] = "botorch"
    modules: ClassVar[tuple[str, ...]] = ("torch", "gpytorch", "botorch")
    State: ClassVar[type[BoTorchState]] = BoTorchState

    n_init: int | None = setting(None, "Hvarfner et al., whose priors are the default: ⌈3 √D⌉ Sobol points", least=1)
    num_restarts: int = setting(10, "BoTorch's tutorials", least=1)
    raw_samples: int = setting(512, "BoTorch's tutorials", least=1)
    batch_limit: int = setting(5, "BoTorch's tutorials: climbs at a time", least=1)
    maxiter: int = setting(200, "BoTorch's tutorials: iterations of L-BFGS-B per climb", least=1)

    def __post_init__(self) -> None:
        check_settings(self)

    def init(self, domain: Domain, budget: int, rng: np.random.Generator) -> BoTorchState:
        """Draw the initial design."""
        require(self.name, self.modules)
        count = min(budget, math.ceil(3.0 * math.sqrt(domain.dim)) if self.n_init is None else self.n_init)
        if domain.sampling is not None:
            return BoTorchState(domain.sample(count, rng))
        return BoTorchState(sobol(count, domain.dim, rng))

    def ready(self, state: BoTorchState) -> int:
        """The rest of the initial design can be evaluated at once."""
        return max(1, len(state.queue))

    def ask(
        self, state: BoTorchState, history: History, pending: Sequence[Proposal], rng: np.random.Generator
    ) -> tuple[BoTorchState, Proposal]:
        """Propose a design point, or the point of the largest expected improvement."""
        if len(state.queue):
            point, rest = state.queue[0], state.queue[1:].copy()
            return replace(state, queue=rest), Proposal(point, memo={"own": True}, info={"phase": "design"})
        good = ~np.isnan(history.values)
        if not good.any():  # nothing to make a model of
            point = history.domain.sample(1, rng)[0]
            return state, Proposal(point, memo={"own": True}, info={"phase": "design"})

        watch = Stopwatch()
        manual_seed = loaded("botorch.utils.sampling").manual_seed
        with quiet(), manual_seed(int(rng.integers(2**31 - 1))):
            with watch.phase("fit"):
                inputs, outputs = _tensor(_unit_box(history.units[good])), _tensor(-standardise(history.values[good]))
                model = _fitted(inputs, outputs[:, None])
            with watch.phase("optimise"):
                waiting = _unit_box(np.array([proposal.unit for proposal in pending]).reshape(-1, history.domain.dim))
                acquisition = _acquisition(model, inputs, outputs, _tensor(waiting), history.domain.noisy)
                point = self._maximiser(acquisition, history.domain.dim)
        unit = np.clip(2.0 * point - 1.0, -1.0, 1.0)
        return state, Proposal(unit, memo={"own": True}, info={"phase": "model"}, times=watch.seconds)

    def tell(
        self, state: BoTorchState, history: History, proposal: Proposal, outcome: Outcome, rng: np.random.Generator
    ) -> BoTorchState:
        """Nothing to do: the model is made of the whole history, whoever proposed it."""
        return state

    def diagnostics(self, state: BoTorchState) -> dict[str, Any]:
        """Return what is left of the design."""
        return {"package": self.package, "design_left": len(state.queue)}

    def _maximiser(self, acquisition: Any, dim: int) -> FloatArray:
        candidates, _ = loaded("botorch.optim").optimize_acqf(
            acquisition,
            bounds=_tensor(np.array([np.zeros(dim), np.ones(dim)])),
            q=1,
            num_restarts=self.num_restarts,
            raw_samples=self.raw_samples,
            options={"batch_limit": self.batch_limit, "maxiter": self.maxiter},
        )
        return np.asarray(candidates.detach().numpy()[0], dtype=np.float64)


def _fitted(inputs: Any, outputs: Any) -> Any:
    """Return the model; with the priors' modes if no fit succeeds, as with values that are all the same."""
    model = loaded("botorch.models").SingleTaskGP(inputs, outputs)
    likelihood = loaded("gpytorch.mlls").ExactMarginalLogLikelihood(model.likelihood, model)
    try:
        loaded("botorch.fit").fit_gpytorch_mll(likelihood)
    except loaded("botorch.exceptions").ModelFittingError:
        return loaded("botorch.models").SingleTaskGP(inputs, outputs)
    return model


def _acquisition(model: Any, inputs: Any, outputs: Any, waiting: Any, noisy: bool) -> Any:
    """Return what BoTorch recommends: LogEI, by sampling with points under way, and its noisy version with noise."""
    offered = loaded("botorch.acquisition")
    under_way = waiting if len(waiting) else None
    if noisy:
        logei = loaded("botorch.acquisition.logei")
        return logei.qLogNoisyExpectedImprovement(model, X_baseline=inputs, X_pending=under_way, prune_baseline=True)
    if under_way is not None:
        logei = loaded("botorch.acquisition.logei")
        return logei.qLogExpectedImprovement(model, best_f=outputs.max(), X_pending=under_way)
    return offered.LogExpectedImprovement(model, best_f=outputs.max())


def _tensor(array: FloatArray) -> Any:
    return loaded("torch").tensor(array, dtype=loaded("torch").float64)


def _unit_box(units: FloatArray) -> FloatArray:
    return np.clip(0.5 * (units + 1.0), 0.0, 1.0)
