"""Vanilla BO: a Gaussian process over all inputs with length scales that grow with the dimension, and LogEI.

Hvarfner, Hellsten & Nardi, *Vanilla Bayesian Optimization Performs Great in High Dimensions*, ICML 2024; Ament,
Daulton, Eriksson, Balandat & Bakshy, *Unexpected Improvements to Expected Improvement*, NeurIPS 2023.

Notation
--------
D       input dimension
U, y    history: points (n, D) in [-1, 1]^D and values (n,), standardised
θ       length scales and noise, by maximum a posteriori: log ℓ ~ N(√2 + log 2 + ½ log D, 3), log σ² ~ N(-4, 1)
alpha   -log EI, to be minimised
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, final

import numpy as np

from boids.blocks.design import DESIGNS, DesignName
from boids.blocks.maximise import LogImprovement, around, best_rows, maximise
from boids.blocks.scaling import Scale, imputed
from boids.blocks.stopwatch import Stopwatch
from boids.gp.fit import fit
from boids.gp.likelihood import MarginalLikelihood
from boids.gp.linalg import blas_threads
from boids.gp.model import Hyperparameters, Surrogate
from boids.gp.posterior import Posterior
from boids.gp.slopes import Slopes
from boids.records import Domain, FloatArray, History, Outcome, Proposal
from boids.settings import check_settings, setting

#: Candidates around the best that are moved onto equations between the inputs: that takes a while for each.
REPAIRED = 50


@final
@dataclass(frozen=True, slots=True)
class VanillaState:
    """The design points still to be proposed, and the last fit with the number of rows it was fitted to."""

    queue: FloatArray
    hyper: Hyperparameters | None = None
    fitted_at: int = 0


@final
@dataclass(frozen=True)
class VanillaBO:
    """Standard Bayesian optimisation as one would do it today."""

    name: ClassVar[str] = "vanilla-bo"
    summary: ClassVar[str] = "one Gaussian process with dimension-scaled length scales, and LogEI"
    reference: ClassVar[str] = "Hvarfner, Hellsten & Nardi, ICML 2024"
    considers: ClassVar[tuple[str, ...]] = ("noise", "pending", "earlier")
    State: ClassVar[type[VanillaState]] = VanillaState

    n_init: int | None = setting(None, "paper's code: ⌈3 √D⌉; a number fixes it", least=1)
    design: DesignName = setting("sobol", "paper's code")
    surrogate: Surrogate = setting(Surrogate.modern(), "paper: RBF, unit signal variance, the two priors")
    fit_from: Literal["both", "mode", "last"] = setting(
        "both", "paper's code: L-BFGS-B from the priors' mode; last: from the last fit; both: the better of the two"
    )
    refit_fraction: float = setting(0.02, "ours: refit when the data have grown by this share; 0: always", least=0)
    incumbent: Literal["automatic", "observed", "predicted"] = setting(
        "automatic", "ours: the best value, with noise the best posterior mean; paper's code: noisy LogEI by sampling"
    )
    raw_samples: int = setting(512, "paper's code: so many all over the box, and as many around the best", least=1)
    around_spread: float = setting(0.2, "paper's code: 0.1 of the side of the box", least=1e-6)
    starts: int = setting(4, "paper's code: 4 climbs by L-BFGS-B", least=1)
    max_evaluations: int = setting(300, "paper's code: 300 iterations per climb", least=1)

    def __post_init__(self) -> None:
        check_settings(self)

    def init(self, domain: Domain, budget: int, rng: np.random.Generator) -> VanillaState:
        """Draw the initial design."""
        count = min(budget, math.ceil(3.0 * math.sqrt(domain.dim)) if self.n_init is None else self.n_init)
        if domain.sampling is not None:
            return VanillaState(queue=domain.sample(count, rng))
        return VanillaState(queue=DESIGNS[self.design](count, domain.dim, rng))

    def ready(self, state: VanillaState) -> int:
        """The rest of the initial design can be evaluated at once."""
        return max(1, len(state.queue))

    def ask(
        self, state: VanillaState, history: History, pending: Sequence[Proposal], rng: np.random.Generator
    ) -> tuple[VanillaState, Proposal]:
        """Propose a design point, or the point of the largest expected improvement."""
        domain = history.domain
        if len(state.queue):
            point, rest = state.queue[0], state.queue[1:].copy()
            return replace(state, queue=rest), Proposal(point, info={"phase": "design"})
        if not len(history):  # every design point is still being evaluated
            return state, Proposal(domain.sample(1, rng)[0], info={"phase": "design"})

        watch = Stopwatch()
        with watch.phase("fit"):
            filled = imputed(history.values)
            scale = Scale.of(filled)
            y = scale.standardise(filled)
            noise = None if history.noise is None else scale.variance(np.nan_to_num(history.noise))
            state, hyper = self._fitted(state, history, y, noise)
            posterior = Posterior.condition(self.surrogate, hyper, history.units, y, noise)
            means, _ = posterior.predict(history.units)
            posterior = posterior.fantasise(np.array([p.unit for p in pending]).reshape(-1, domain.dim))
        with watch.phase("optimise"), blas_threads(len(posterior.inputs)):
            predicted = self.incumbent == "predicted" or (self.incumbent == "automatic" and domain.noisy)
            merits = means if predicted else y
            # Pending points must be improved upon as well, or they would be proposed again.
            best = posterior.outputs[len(y) :].min(initial=float(merits.min()))
            alpha = LogImprovement(posterior.predict, Slopes.of(posterior), float(best))
            nearby = self._nearby(history.units[best_rows(merits)], domain, rng)
            candidates = np.vstack([domain.sample(self.raw_samples, rng), nearby])
            violating = domain.violating
            unit = maximise(
                alpha,
                candidates,
                rng,
                starts=self.starts,
                max_evaluations=self.max_evaluations,
                allowed=None if violating is None else lambda points: violating(points) == 0.0,
            )
        return state, Proposal(unit, info={"phase": "model"}, times=watch.seconds)

    def tell(
        self,
        state: VanillaState,
        history: History,
        proposal: Proposal,
        outcome: Outcome,
        rng: np.random.Generator,
    ) -> VanillaState:
        """Nothing to do: the model is made of the whole history, whoever proposed it."""
        return state

    def diagnostics(self, state: VanillaState) -> dict[str, Any]:
        """Return the fit."""
        hyper = state.hyper
        return {
            "design_left": len(state.queue),
            "noise_variance": None if hyper is None else hyper.noise_variance,
            "lengthscales": None if hyper is None else hyper.lengthscales.tolist(),
        }

    def _nearby(self, best: FloatArray, domain: Domain, rng: np.random.Generator) -> FloatArray:
        """Return points around the best ones; if equations hold between the inputs, fewer, which satisfy them."""
        if domain.repairing is None:
            return around(best, self.raw_samples, rng, self.around_spread)
        points = around(best, min(self.raw_samples, REPAIRED), rng, self.around_spread)
        return np.array([domain.repairing(point) for point in points])

    def _fitted(
        self, state: VanillaState, history: History, y: FloatArray, noise: FloatArray | None
    ) -> tuple[VanillaState, Hyperparameters]:
        """Return the hyper-parameters, new ones if it is time for them, and the state that keeps them."""
        n, last = len(y), state.hyper
        if last is not None and n - state.fitted_at < max(1.0, self.refit_fraction * n):
            return state, last
        mode = self.surrogate.default_start(history.units.shape[1])
        # With few data the fit may take idle inputs for active ones; from the mode it can forget them again.
        starts = [mode] if last is None or self.fit_from == "mode" else [last, mode][: 1 + (self.fit_from == "both")]
        fitted = fit(MarginalLikelihood(self.surrogate, history.units, y, noise), starts)
        if np.isnan(history.values).all():
            return state, fitted  # made of nothing but failures, it must not outlive them
        return replace(state, hyper=fitted, fitted_at=n), fitted
