"""HeSBO: Bayesian optimisation in a random subspace made by hashing the inputs.

Nayebi, Munteanu & Poloczek, *A Framework for Bayesian Optimization in Embedded Subspaces*, ICML 2019.

Notation
--------
D, d    input dimension, subspace dimension (`target_dim`)
h, s    bin h(i) and sign s(i) of every input dimension, independent and uniform
z       point of the subspace cube [-1, 1]^d; its image is u_i = s(i) z_h(i)
Z, y    the rows of the history that lie in the subspace, and their values
alpha   -log EI, to be minimised
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, final

import numpy as np

from boids.blocks.acquisition import negative_ei
from boids.blocks.design import DESIGNS, DesignName
from boids.blocks.embedding import Embedding
from boids.blocks.maximise import LogImprovement, around, best_rows, maximise
from boids.blocks.scaling import Scale, imputed
from boids.blocks.stopwatch import Stopwatch
from boids.gp.likelihood import MarginalLikelihood
from boids.gp.linalg import blas_threads
from boids.gp.model import Hyperparameters, Surrogate
from boids.gp.posterior import Posterior
from boids.gp.slopes import Slopes
from boids.gp.training import TrainingName, train
from boids.gp.zero_mean import fit_zero_mean
from boids.records import Domain, FloatArray, History, IntArray, Outcome, Proposal
from boids.settings import check_settings, setting

#: Values beyond this are standardised all the same: their squares would overflow.
LARGEST_RAW = 1e60
#: The original's model: bounds wide enough never to matter, for raw values of any size.
ORIGINAL_SURROGATE = Surrogate(lengthscale_bounds=(1e-4, 1e6), signal_bounds=(1e-8, 1e12), noise_bounds=(1e-10, 1e12))


@final
@dataclass(frozen=True, slots=True)
class HeSBOState:
    """The embedding, the design points to come, and what the model is made of.

    Attributes
    ----------
    rows
        Rows of the history that lie in the subspace, in the order they were told.
    fitted_at
        The number of those rows at the last fit.
    modelled
        How many proposals came from the model.
    """

    embedding: Embedding
    queue: FloatArray
    rows: IntArray
    hyper: Hyperparameters | None = None
    fitted_at: int = 0
    modelled: int = 0


@final
@dataclass(frozen=True)
class HeSBO:
    """The method; `original=True` restores the released code's model, refits and search."""

    name: ClassVar[str] = "hesbo"
    summary: ClassVar[str] = "expected improvement in a hashed random subspace"
    reference: ClassVar[str] = "Nayebi, Munteanu & Poloczek, ICML 2019"
    considers: ClassVar[tuple[str, ...]] = ("noise", "pending")
    State: ClassVar[type[HeSBOState]] = HeSBOState

    target_dim: int = setting(20, "BOIDS' comparison: 10 and 20; at most D", least=1)
    n_init: int = setting(20, "released code", least=1)
    design: DesignName = setting("latin-hypercube", "released code")
    original: bool = setting(
        False, "True: raw values, mean 0, no bounds or priors, the released refits, EI on random points only"
    )
    surrogate: Surrogate = setting(
        replace(Surrogate.regularised(), noise_bounds=(1e-6, 0.2), noise_prior="none"),
        "ours: Matérn-5/2 ARD as released, with unit signal variance and a prior on the length scales",
    )
    training: TrainingName = setting("warm", "ours: L-BFGS-B from the last fit")
    refit_fraction: float = setting(0.02, "ours: refit when the data have grown by this share; 0: always", least=0)
    candidates: int = setting(2000, "released code: Latin hypercube of 2000 points every time", least=1)
    nearby: int = setting(500, "ours: candidates around the best points, to climb from", least=0)
    starts: int = setting(4, "ours: climbs by L-BFGS-B; the released code takes the best candidate", least=1)
    max_evaluations: int = setting(60, "ours: evaluations per climb", least=1)

    def __post_init__(self) -> None:
        check_settings(self)

    def init(self, domain: Domain, budget: int, rng: np.random.Generator) -> HeSBOState:
        """Hash the inputs, and draw the initial design in the subspace."""
        if domain.repairing is None:
            embedding = hashed(domain.dim, self.target_dim, rng)
        else:  # equations between the inputs: a random subspace has hardly a point in common with them
            embedding = Embedding.identity(domain.dim)
        queue = self._spread(embedding, domain, min(self.n_init, budget), rng)
        return HeSBOState(embedding=embedding, queue=queue, rows=np.empty(0, dtype=np.int64))

    def ready(self, state: HeSBOState) -> int:
        """The rest of the initial design can be evaluated at once."""
        return max(1, len(state.queue))

    def ask(
        self, state: HeSBOState, history: History, pending: Sequence[Proposal], rng: np.random.Generator
    ) -> tuple[HeSBOState, Proposal]:
        """Propose a design point, or the point of the subspace with the largest expected improvement."""
        embedding = state.embedding
        if len(state.queue):
            z, rest = state.queue[0], state.queue[1:].copy()
            return replace(state, queue=rest), self._proposal(state, z, "design")
        if not len(state.rows):  # every design point is still being evaluated
            return state, self._proposal(state, self._spread(embedding, history.domain, 1, rng)[0], "design")

        watch = Stopwatch()
        with watch.phase("fit"):
            inputs = embedding.average(history.units[state.rows])
            filled = imputed(history.values[state.rows])
            raw = self.original and float(np.abs(filled).max()) <= LARGEST_RAW
            scale = Scale() if raw else Scale.of(filled)
            y = scale.standardise(filled)
            noise = None if history.noise is None else scale.variance(np.nan_to_num(history.noise[state.rows]))
            surrogate = self._surrogate(history.domain)
            fitted = self._fitted(state, surrogate, inputs, y, noise, rng)
            hyper = fitted or state.hyper or surrogate.default_start(embedding.dim)
            # What was fitted to nothing but failures must not outlive them.
            if fitted is not None and not np.isnan(history.values[state.rows]).all():
                state = replace(state, hyper=fitted, fitted_at=len(y))
            posterior = Posterior.condition(surrogate, hyper, inputs, y, noise)
            # A noisy value may be lucky; the mean there is not.
            judged = posterior.predict(inputs)[0] if history.domain.noisy and not self.original else y
            posterior = posterior.fantasise(embedding.average(self._under_way(state, pending)))
        with watch.phase("optimise"), blas_threads(len(posterior.inputs)):
            # Pending points must be improved upon as well, or they would be proposed again.
            best = float(posterior.outputs[len(y) :].min(initial=float(judged.min())))
            spread = self._spread(embedding, history.domain, self.candidates, rng)
            if self.original:
                mean, variance = posterior.predict(spread)
                z = spread[np.argmin(negative_ei(mean, variance + hyper.noise_variance, best))]
            else:
                near = around(inputs[best_rows(judged)], self.nearby, rng)
                alpha = LogImprovement(posterior.predict, Slopes.of(posterior), best)
                violating = history.domain.violating
                z = maximise(
                    alpha,
                    np.vstack([spread, near]),
                    rng,
                    starts=self.starts,
                    max_evaluations=self.max_evaluations,
                    allowed=None if violating is None else lambda points: violating(embedding.lift(points)) == 0.0,
                )
        state = replace(state, modelled=state.modelled + 1)
        return state, replace(self._proposal(state, z, "model"), times=watch.seconds)

    def tell(
        self,
        state: HeSBOState,
        history: History,
        proposal: Proposal,
        outcome: Outcome,
        rng: np.random.Generator,
    ) -> HeSBOState:
        """Take the row into the model; a user's point only if the subspace has it."""
        if proposal.is_guest and not state.embedding.holds(proposal.unit):
            return state
        return replace(state, rows=np.append(state.rows, len(history) - 1))

    def diagnostics(self, state: HeSBOState) -> dict[str, Any]:
        """Return the subspace's dimension and the fit."""
        hyper = state.hyper
        return {
            "subspace_dim": state.embedding.dim,
            "evaluations_in_model": len(state.rows),
            "signal_variance": None if hyper is None else hyper.signal_variance,
            "noise_variance": None if hyper is None else hyper.noise_variance,
            "lengthscales": None if hyper is None else hyper.lengthscales.tolist(),
        }

    @staticmethod
    def _proposal(state: HeSBOState, z: FloatArray, phase: str) -> Proposal:
        info = {"phase": phase, "subspace_dim": state.embedding.dim}
        return Proposal(state.embedding.lift(z), memo={"phase": phase}, info=info)

    def _spread(self, embedding: Embedding, domain: Domain, count: int, rng: np.random.Generator) -> FloatArray:
        """Return points all over the subspace, those that linear constraints allow before any others."""
        if domain.repairing is not None:
            return domain.sample(count, rng)
        if domain.violating is None:
            return DESIGNS[self.design](count, embedding.dim, rng)
        points = DESIGNS[self.design](max(count, self.candidates), embedding.dim, rng)
        forbidden = domain.violating(embedding.lift(points)) > 0.0
        return points[np.argsort(forbidden, kind="stable")[:count]]

    @staticmethod
    def _under_way(state: HeSBOState, pending: Sequence[Proposal]) -> FloatArray:
        """Return the pending points that the model should know of (k, D)."""
        known = [p.unit for p in pending if not p.is_guest or state.embedding.holds(p.unit)]
        return np.array(known).reshape(-1, state.embedding.input_dim)

    def _surrogate(self, domain: Domain) -> Surrogate:
        if self.original:
            return ORIGINAL_SURROGATE
        return self.surrogate.for_noise() if domain.noisy else self.surrogate

    def _fitted(
        self,
        state: HeSBOState,
        surrogate: Surrogate,
        inputs: FloatArray,
        y: FloatArray,
        noise: FloatArray | None,
        rng: np.random.Generator,
    ) -> Hyperparameters | None:
        """Return new hyper-parameters, or None if the last ones are still good enough."""
        last, fitted_at = state.hyper, state.fitted_at
        if not self.original:
            return train(self.training, surrogate, inputs, y, last, fitted_at, self.refit_fraction, rng, noise)
        # Every 5 iterations while there are at most 25 data, then every 20.
        if last is not None and state.modelled % (5 if len(y) <= 25 else 20):
            return None
        start = last or Hyperparameters(np.ones(inputs.shape[1]), 1.0, 1e-3)
        return fit_zero_mean(MarginalLikelihood(surrogate, inputs, y, noise), start)


def hashed(input_dim: int, dim: int, rng: np.random.Generator) -> Embedding:
    """Draw a count sketch: every input dimension falls into one of `dim` bins, with a sign.

    Bins that stay empty are left out: nothing depends on their coordinates. With as many bins as inputs the subspace
    is the input space.
    """
    if dim >= input_dim:
        return Embedding.identity(input_dim)
    hashes, signs = rng.integers(dim, size=input_dim), rng.choice([-1.0, 1.0], input_dim)
    used, bins = np.unique(hashes, return_inverse=True)
    return Embedding(bins.astype(np.int64), signs, len(used))
