"""SAASBO: a Gaussian process whose prior takes nearly all inputs for idle, averaged over its posterior; EI.

Eriksson & Jankowiak, *High-Dimensional Bayesian Optimization with Sparse Axis-Aligned Subspaces*, UAI 2021.

Notation
--------
D       input dimension
U, y    history: points (n, D) in [-1, 1]^D and values (n,), standardised
ρ       1/ℓ² = τ h, τ ~ HalfCauchy(α), h_i ~ HalfCauchy(1): see gp/sparse_axes.py
S       hyper-parameters drawn by NUTS, `samples` / `thinning` of them
alpha   -log of the mean of the S models' expected improvements, to be minimised
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal, final

import numpy as np

from boids.blocks.candidates import box_candidates
from boids.blocks.design import DESIGNS, DesignName
from boids.blocks.maximise import LogImprovement, maximise
from boids.blocks.scaling import Scale, imputed
from boids.blocks.stopwatch import Stopwatch
from boids.errors import MethodError
from boids.gp.ensemble import Draws, Ensemble
from boids.gp.kernels import KERNELS, KernelName
from boids.gp.linalg import blas_threads
from boids.gp.sparse_axes import Chain, draw, require_numpyro
from boids.records import Domain, FloatArray, History, Outcome, Proposal
from boids.settings import check_settings, setting

#: Standard deviation of the one candidate next to the best point (original: 0.001 of the side of the box).
NEXT_TO_BEST = 0.002


@final
@dataclass(frozen=True, slots=True)
class SAASBOState:
    """The design points still to be proposed, and the last draws with the number of rows they were made for.

    `last` is where the chain ended, in the sampler's own coordinates; empty before the first one.
    """

    queue: FloatArray
    draws: Draws | None = None
    fitted_at: int = 0
    last: FloatArray = field(default_factory=lambda: np.empty(0))


@final
@dataclass(frozen=True)
class SAASBO:
    """The method; its time is that of `warmup` + `samples` steps of up to 2^`max_tree_depth` gradients."""

    name: ClassVar[str] = "saasbo"
    summary: ClassVar[str] = "one Gaussian process with few active inputs, averaged over its posterior by NUTS, and EI"
    reference: ClassVar[str] = "Eriksson & Jankowiak, UAI 2021"
    considers: ClassVar[tuple[str, ...]] = ("noise", "pending", "earlier")
    State: ClassVar[type[SAASBOState]] = SAASBOState
    extra: ClassVar[str] = "saasbo"

    n_init: int = setting(20, "paper's demonstrations: 10 and 20", least=1)
    design: DesignName = setting("sobol", "paper's code")
    kernel: KernelName = setting("rbf", "paper's code; its class of models: matern52")
    alpha: float = setting(0.1, "paper: scale of the prior of τ", least=1e-8, most=1e8)
    warmup: int = setting(512, "paper", least=1)
    samples: int = setting(256, "paper", least=1)
    thinning: int = setting(16, "paper: 16 of the 256 are used", least=1)
    max_tree_depth: int = setting(6, "paper", least=1, most=12)
    target_acceptance: float = setting(0.8, "NumPyro's", least=0.1, most=0.99)
    noise: Literal["automatic", "fixed", "inferred"] = setting(
        "automatic", "ours: inferred if the objective is noisy; paper's code: fixed"
    )
    noise_variance: float = setting(
        1e-6, "paper's code: σ² if it is fixed, in variances of the values", least=0, most=1
    )
    predictive_noise: bool = setting(False, "ours: EI of the function; paper's code: True, EI of an observation")
    incumbent: Literal["automatic", "observed", "predicted"] = setting(
        "automatic", "ours: the best value, with noise the best posterior mean; paper's code: observed"
    )
    second_chain: bool = setting(
        True, "ours: another chain goes on from the last draw, and the denser of the two is taken; paper's code: False"
    )
    chain_seed: int | None = setting(
        None, "ours: another one for every chain; paper's code: 0", least=0, most=2**32 - 1
    )
    refit_every: int = setting(1, "paper: 1; a chain whenever there are so many more data", least=1)
    candidates: int = setting(5000, "paper's code: Sobol points, one replaced by a neighbour of the best", least=1)
    starts: int = setting(5, "paper's code: the best candidates are climbed from by L-BFGS-B", least=1)
    max_evaluations: int = setting(100, "paper's code: per climb", least=1)
    padding: int = setting(
        16, "ours: the sampler is compiled for so many more data at a time, which changes rounding only", least=1
    )

    def __post_init__(self) -> None:
        check_settings(self)
        if self.samples < self.thinning:
            raise MethodError(f"samples must be at least thinning = {self.thinning}; got {self.samples}.")

    def init(self, domain: Domain, budget: int, rng: np.random.Generator) -> SAASBOState:
        """Draw the initial design."""
        require_numpyro()  # to fail now rather than later
        count = min(budget, self.n_init)
        if domain.sampling is not None:
            return SAASBOState(queue=domain.sample(count, rng))
        return SAASBOState(queue=DESIGNS[self.design](count, domain.dim, rng))

    def ready(self, state: SAASBOState) -> int:
        """The rest of the initial design can be evaluated at once."""
        return max(1, len(state.queue))

    def ask(
        self, state: SAASBOState, history: History, pending: Sequence[Proposal], rng: np.random.Generator
    ) -> tuple[SAASBOState, Proposal]:
        """Propose a design point, or the point of the largest expected improvement."""
        domain = history.domain
        if len(state.queue):
            point, rest = state.queue[0], state.queue[1:].copy()
            return replace(state, queue=rest), _proposal(point, "design")
        if not len(history):  # every design point is still being evaluated
            return state, _proposal(domain.sample(1, rng)[0], "design")

        watch = Stopwatch()
        with watch.phase("fit"):
            filled = imputed(history.values)
            scale = Scale.of(filled, ddof=0)
            y = scale.standardise(filled)
            known = None if history.noise is None else scale.variance(np.nan_to_num(history.noise))
            state, draws = self._drawn(state, history, y, known, rng)
        with watch.phase("optimise"), blas_threads(len(y)):
            models = Ensemble.condition(
                KERNELS[self.kernel], draws, history.units, y, known, with_noise=self.predictive_noise
            )
            merits = y
            if self.incumbent == "predicted" or (self.incumbent == "automatic" and domain.noisy):
                merits = models.predict(history.units)[0].mean(axis=0)
            # What a model believes of pending points is what it has to improve upon, or they would be proposed again.
            under_way = np.array([p.unit for p in pending]).reshape(-1, domain.dim)
            best = models.predict(under_way)[0].min(axis=1, initial=float(merits.min()), keepdims=True)
            models = models.fantasise(under_way)
            violating = domain.violating
            unit = maximise(
                LogImprovement(models.predict, models.slopes, best),
                self._candidates(history.units[np.argmin(merits)], domain, rng),
                rng,
                starts=self.starts,
                max_evaluations=self.max_evaluations,
                allowed=None if violating is None else lambda points: violating(points) == 0.0,
                greedy=True,
            )
        return state, replace(_proposal(unit, "model"), times=watch.seconds)

    def tell(
        self,
        state: SAASBOState,
        history: History,
        proposal: Proposal,
        outcome: Outcome,
        rng: np.random.Generator,
    ) -> SAASBOState:
        """Nothing to do: the model is made of the whole history, whoever proposed it."""
        return state

    def diagnostics(self, state: SAASBOState) -> dict[str, Any]:
        """Return medians of the draws; length scales in the cube [-1, 1]^D, twice those of the paper's unit box."""
        draws = state.draws
        return {
            "design_left": len(state.queue),
            "noise_variance": None if draws is None else float(np.median(draws.noise_variances)),
            "signal_variance": None if draws is None else float(np.median(draws.signal_variances)),
            "lengthscales": None if draws is None else np.median(draws.lengthscales, axis=0).tolist(),
        }

    def _drawn(
        self,
        state: SAASBOState,
        history: History,
        y: FloatArray,
        known: FloatArray | None,
        rng: np.random.Generator,
    ) -> tuple[SAASBOState, Draws]:
        """Return hyper-parameters, new ones if it is time for them, and the state that keeps them."""
        if state.draws is not None and len(y) - state.fitted_at < self.refit_every:
            return state, state.draws
        chain = Chain(
            kernel=self.kernel,
            free_noise=self.noise == "inferred" or (self.noise == "automatic" and history.domain.noisy),
            warmup=self.warmup,
            samples=self.samples,
            thinning=self.thinning,
            max_tree_depth=self.max_tree_depth,
            target_acceptance=self.target_acceptance,
            padding=self.padding,
        )
        draws, last = draw(
            chain,
            history.units,
            y,
            alpha=self.alpha,
            noise_variance=self.noise_variance,
            known_noise=known,
            seed=int(rng.integers(2**31)) if self.chain_seed is None else self.chain_seed,
            last=state.last if self.second_chain and len(state.last) else None,
        )
        if np.isnan(history.values).all():
            return state, draws  # made of nothing but failures, they must not outlive them
        return replace(state, draws=draws, last=last, fitted_at=len(y)), draws

    def _candidates(self, best: FloatArray, domain: Domain, rng: np.random.Generator) -> FloatArray:
        """Return points all over the box, the first of them next to the best one."""
        if domain.sampling is not None:
            points = domain.sample(self.candidates, rng)
        else:
            points = box_candidates(np.full(domain.dim, -1.0), np.ones(domain.dim), self.candidates, rng)
        neighbour = np.clip(best + NEXT_TO_BEST * rng.standard_normal(domain.dim), -1.0, 1.0)
        points[0] = neighbour if domain.repairing is None else domain.repairing(neighbour)
        return points


def _proposal(unit: FloatArray, phase: str) -> Proposal:
    return Proposal(unit, memo={"phase": phase}, info={"phase": phase})
