"""ALEBO: Bayesian optimisation in a random linear subspace, with a kernel for it and no point outside the box.

Letham, Calandra, Rai & Bakshy, *Re-Examining Linear Embeddings for High-Dimensional Bayesian Optimization*, NeurIPS
2020.

Notation
--------
D, d    input dimension, subspace dimension (`target_dim`)
y       point of the subspace, y = B u and u = B⁺y         (d,), see alebo_subspace.py
U       the kernel's triangle, Γ = UᵀU                     (d, d), see gp/mahalanobis.py
S       models that predictions are averaged over
alpha   -log EI, to be minimised over { y : -1 ≤ B⁺y ≤ 1 }
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, final

import numpy as np

from boids.algorithms.alebo_subspace import LinearSubspace
from boids.blocks.interior import minimise_inside
from boids.blocks.maximise import LogImprovement, boltzmann
from boids.blocks.scaling import Scale, imputed
from boids.blocks.stopwatch import Stopwatch
from boids.gp.linalg import blas_threads
from boids.gp.mahalanobis import LEAST_NOISE, MahalanobisFit, MahalanobisLikelihood, fit_mahalanobis, triangle
from boids.gp.mixture import Mixture
from boids.records import BoolArray, Domain, FloatArray, History, IntArray, Outcome, Proposal
from boids.settings import check_settings, setting

#: Climbs begin where the image keeps this much off the walls.
_INSIDE = 0.999


@final
@dataclass(frozen=True, slots=True)
class ALEBOState:
    """The subspace, the design points to come, and what the model is made of.

    Attributes
    ----------
    rows
        Rows of the history that lie in the subspace, in the order they were told.
    fitted_at
        The number of those rows at the last fit.
    """

    subspace: LinearSubspace
    queue: FloatArray
    rows: IntArray
    fit: MahalanobisFit | None = None
    fitted_at: int = 0


@final
@dataclass(frozen=True)
class ALEBO:
    """The method; its time goes with the number of models and d (d + 1) / 2."""

    name: ClassVar[str] = "alebo"
    summary: ClassVar[str] = "expected improvement in a random linear subspace, with a Mahalanobis kernel"
    reference: ClassVar[str] = "Letham, Calandra, Rai & Bakshy, NeurIPS 2020"
    considers: ClassVar[tuple[str, ...]] = ("noise", "pending")
    State: ClassVar[type[ALEBOState]] = ALEBOState

    target_dim: int = setting(10, "BOIDS' comparison: 10 and 20; at most D", least=1)
    n_init: int = setting(10, "paper", least=1)
    models: int = setting(25, "paper's code: the fitted U and 24 draws", least=1)
    laplace: Literal["per-datum", "full"] = setting(
        "per-datum", "paper's code: of the likelihood's n-th root, n times as wide; full: of the likelihood"
    )
    restarts: int = setting(10, "paper's code: 10 random starts; ours: in the first fit", least=1)
    training: Literal["warm", "multistart"] = setting(
        "warm", "ours: later from the last fit and `fresh_starts` others; paper's code: 10 starts every time"
    )
    fresh_starts: int = setting(1, "ours: random starts beside the last fit (warm training)", least=0)
    max_evaluations: int = setting(200, "ours: of the likelihood per start", least=1)
    refit_fraction: float = setting(0.02, "ours: refit when the data have grown by this share; 0: always", least=0)
    draws: int = setting(10_000, "paper's code: projected points among which those inside are taken", least=1)
    raw_samples: int = setting(1000, "paper's code: candidates", least=1)
    starts: int = setting(10, "paper's code: Boltzmann-weighted, then SLSQP; here an interior-point search", least=1)

    def __post_init__(self) -> None:
        check_settings(self)

    def init(self, domain: Domain, budget: int, rng: np.random.Generator) -> ALEBOState:
        """Draw the subspace, and the initial design in it."""
        subspace = LinearSubspace.random(domain.dim, self.target_dim, rng)
        queue = subspace.sample(min(self.n_init, budget), rng, self.draws, _allowed(domain))
        return ALEBOState(subspace=subspace, queue=queue, rows=np.empty(0, dtype=np.int64))

    def ready(self, state: ALEBOState) -> int:
        """The rest of the initial design can be evaluated at once."""
        return max(1, len(state.queue))

    def ask(
        self, state: ALEBOState, history: History, pending: Sequence[Proposal], rng: np.random.Generator
    ) -> tuple[ALEBOState, Proposal]:
        """Propose a design point, or the point of the subspace with the largest expected improvement."""
        subspace, domain = state.subspace, history.domain
        if len(state.queue):
            y, rest = state.queue[0], state.queue[1:].copy()
            return replace(state, queue=rest), self._proposal(subspace, y, "design")
        if not len(state.rows):  # every design point is still being evaluated
            y = subspace.sample(1, rng, self.draws, _allowed(domain))[0]
            return state, self._proposal(subspace, y, "design")

        watch = Stopwatch()
        with watch.phase("fit"), blas_threads(len(state.rows)):
            inputs = subspace.project(history.units[state.rows])
            filled = imputed(history.values[state.rows])
            scale = Scale.of(filled)
            outputs = scale.standardise(filled)
            known = None if history.noise is None else scale.variance(np.nan_to_num(history.noise[state.rows]))
            likelihood = MahalanobisLikelihood(inputs, outputs, known, free_noise=domain.noisy)
            fit = self._fitted(state, likelihood, rng)
            if fit is not state.fit and not np.isnan(history.values[state.rows]).all():
                state = replace(state, fit=fit, fitted_at=len(outputs))
            under_way = self._under_way(state, pending)
            mixture = self._mixture(fit, likelihood, under_way, rng)
            # Pending points must be improved upon as well, or they would be proposed again.
            known_best = float((mixture(inputs)[0] if domain.noisy else outputs).min())
            best = float(mixture(under_way)[0].min(initial=known_best))
        with watch.phase("optimise"), blas_threads(len(state.rows)):
            alpha = LogImprovement(mixture, mixture.slopes, best)
            y = self._maximise(alpha, subspace, domain, rng)
        return state, replace(self._proposal(subspace, y, "model"), times=watch.seconds)

    def tell(
        self,
        state: ALEBOState,
        history: History,
        proposal: Proposal,
        outcome: Outcome,
        rng: np.random.Generator,
    ) -> ALEBOState:
        """Take the row into the model; a user's point only if the subspace has it."""
        if proposal.is_guest and not state.subspace.holds(proposal.unit):
            return state
        return replace(state, rows=np.append(state.rows, len(history) - 1))

    def diagnostics(self, state: ALEBOState) -> dict[str, Any]:
        """Return the subspace's dimension and the fit."""
        fit = state.fit
        return {
            "subspace_dim": state.subspace.dim,
            "evaluations_in_model": len(state.rows),
            "signal_variance": None if fit is None else fit.signal_variance,
            "noise_variance": None if fit is None else fit.noise_variance,
            # The eigenvalues of Γ: one over the squared length scales along the kernel's own directions.
            "kernel_weights": None if fit is None else _weights(fit).tolist(),
        }

    @staticmethod
    def _proposal(subspace: LinearSubspace, y: FloatArray, phase: str) -> Proposal:
        info = {"phase": phase, "subspace_dim": subspace.dim}
        return Proposal(subspace.lift(y[None, :])[0], memo={"phase": phase}, info=info)

    @staticmethod
    def _under_way(state: ALEBOState, pending: Sequence[Proposal]) -> FloatArray:
        """Return the pending points that the model should know of (k, d)."""
        subspace = state.subspace
        known = [p.unit for p in pending if not p.is_guest or subspace.holds(p.unit)]
        return subspace.project(np.array(known).reshape(-1, subspace.input_dim))

    def _fitted(self, state: ALEBOState, likelihood: MahalanobisLikelihood, rng: np.random.Generator) -> MahalanobisFit:
        """Return the last fit, or a new one if it is time for it."""
        n, last = len(likelihood.outputs), state.fit
        count, starts = self.restarts, []
        if last is not None and self.training == "warm":
            if n - state.fitted_at < max(1.0, self.refit_fraction * n):
                return last
            u = triangle(last.entries, last.dim)
            count, starts = self.fresh_starts, [likelihood.theta(u, last.signal_variance, last.noise_variance)]
        starts += [likelihood.theta(state.subspace.triangle(rng)) for _ in range(count)]
        return fit_mahalanobis(likelihood, starts, self.max_evaluations, self.laplace == "full")

    def _mixture(
        self, fit: MahalanobisFit, data: MahalanobisLikelihood, under_way: FloatArray, rng: np.random.Generator
    ) -> Mixture:
        """Return the S models, conditioned on the data and on pending points at their predicted means."""
        triangles = fit.samples(self.models, rng)
        noise = np.full(len(data.outputs), max(fit.noise_variance, LEAST_NOISE))
        if data.known_noise is not None:
            noise += data.known_noise
        mixture = Mixture.condition(triangles, data.inputs, data.outputs, noise, fit.mean, fit.signal_variance)
        if not len(under_way):
            return mixture
        inputs = np.vstack([data.inputs, under_way])
        outputs = np.concatenate([data.outputs, mixture(under_way)[0]])
        noise = np.append(noise, np.full(len(under_way), max(fit.noise_variance, LEAST_NOISE)))
        return Mixture.condition(triangles, inputs, outputs, noise, fit.mean, fit.signal_variance)

    def _maximise(
        self, alpha: LogImprovement, subspace: LinearSubspace, domain: Domain, rng: np.random.Generator
    ) -> FloatArray:
        """Return the best point (d,) of the polytope, or of the part of it that linear constraints allow."""
        allowed = _allowed(domain)
        candidates = subspace.sample(self.raw_samples, rng, self.draws, allowed)
        values = alpha.values(candidates)
        chosen = boltzmann(values, self.starts, rng)
        starts = candidates[chosen]
        starts = starts * np.minimum(1.0, _INSIDE / np.maximum(subspace.reach(starts), _INSIDE))[:, None]
        ends, reached = minimise_inside(alpha.slopes, subspace.up, starts)
        if allowed is not None:
            reached = np.where(allowed(subspace.lift(ends)), reached, np.inf)
        points, values = np.vstack([ends, candidates[chosen]]), np.concatenate([reached, values[chosen]])
        return np.asarray(points[np.argmin(values)])


def _allowed(domain: Domain) -> Callable[[FloatArray], BoolArray] | None:
    """Return which points (q, D) the linear constraints allow; None if there are none."""
    violating = domain.violating
    return None if violating is None else lambda units: violating(units) == 0.0


def _weights(fit: MahalanobisFit) -> FloatArray:
    return np.asarray(np.linalg.svd(triangle(fit.entries, fit.dim), compute_uv=False) ** 2, dtype=np.float64)
