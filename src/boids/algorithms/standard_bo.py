"""Standard BO: one Gaussian process over the whole box, and Thompson sampling or expected improvement.

The usual baseline of papers on high dimensions, which leave it unspecified; this is the loop whose cost and settings
match theirs: the model and the Thompson sampling of TuRBO (Eriksson et al., NeurIPS 2019) without a trust region.
Expected improvement: Jones, Schonlau & Welch, *Efficient Global Optimization*, 1998.

Notation
--------
D       dimension
X, y    points in the unit cube [0, 1]^D (n, D) and their values (n,)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, final

import numpy as np

from boids.algorithms.boids_models import Data
from boids.algorithms.boids_training import Fit
from boids.algorithms.thompson import Model, ThompsonSettings, with_guest
from boids.blocks.candidates import box_candidates, choose
from boids.blocks.design import DESIGNS, DesignName
from boids.blocks.stopwatch import Stopwatch
from boids.gp.model import Surrogate
from boids.records import Domain, FloatArray, History, IntArray, Outcome, Proposal
from boids.settings import setting


@final
@dataclass(frozen=True, slots=True)
class StandardState:
    """A run between two proposals."""

    queue: FloatArray  # design points not handed out yet, in [-1, 1]^D (k, D)
    rows: IntArray  # rows of the history that the model learns from (n,)
    known: int  # outcomes that the present round of proposals is based on
    seed: int  # of the candidates of that round
    fit: Fit | None


@final
@dataclass(frozen=True)
class StandardBO(ThompsonSettings):
    """Bayesian optimisation as one did it before there was anything for high dimensions."""

    name: ClassVar[str] = "standard-bo"
    summary: ClassVar[str] = "one Gaussian process over all inputs; Thompson sampling or expected improvement"
    reference: ClassVar[str] = "Jones, Schonlau & Welch, J. Global Optimization 1998"
    considers: ClassVar[tuple[str, ...]] = ("noise", "pending", "earlier")
    State: ClassVar[type[StandardState]] = StandardState

    surrogate: Surrogate = setting(
        Surrogate(lengthscale_bounds=(0.005, 2.0)), "TuRBO: Matérn-5/2 ARD, boxes for inputs in [0, 1]^D, no priors"
    )
    n_init: int = setting(20, "BOIDS paper's comparison, as far as is known", least=1)
    design: DesignName = setting("latin-hypercube", "BOIDS paper's comparison, as far as is known")
    acquisition: Literal["ts", "ei"] = setting("ts", "Thompson sampling; or expected improvement, as in textbooks")
    ei_candidates: int = setting(512, "ours: all over the box, and as many around the best point", least=1)
    ei_starts: int = setting(5, "ours: climbs by L-BFGS-B", least=1)

    def init(self, domain: Domain, budget: int, rng: np.random.Generator) -> StandardState:
        """Draw the initial design."""
        count = min(self.n_init, budget)
        queue = domain.sample(count, rng) if domain.sampling else DESIGNS[self.design](count, domain.dim, rng)
        return StandardState(queue=queue, rows=np.empty(0, dtype=np.int64), known=-1, seed=0, fit=None)

    def ready(self, state: StandardState) -> int:
        """The rest of the initial design can be evaluated at once."""
        return max(1, len(state.queue))

    def ask(
        self, state: StandardState, history: History, pending: Sequence[Proposal], rng: np.random.Generator
    ) -> tuple[StandardState, Proposal]:
        """Propose a design point, or the best point by a draw or by its expected improvement."""
        domain = history.domain
        if len(state.queue):
            return replace(state, queue=state.queue[1:].copy()), self._proposal(state.queue[0], "design")
        if not len(state.rows):  # every design point is still being evaluated: one more of its kind
            return state, self._proposal(domain.sample(1, rng)[0], "design")
        if state.known != len(history):
            # Proposals made from the same outcomes are draws at the same candidates.
            state = replace(state, known=len(history), seed=int(rng.integers(2**62)))

        watch = Stopwatch()
        with watch.phase("fit"):
            rows = state.rows
            noise = None if history.noise is None else history.noise[rows]
            data = Data(_unit_cube(history.units[rows]), history.values[rows], None, noise, domain.noisy)
            fit, model = Model.learn(self, data, state.fit, rng)
            state = replace(state, fit=fit)
        with watch.phase("select" if self.acquisition == "ts" else "optimise"):
            unit = self._drawn if self.acquisition == "ts" else self._improving
            proposal = self._proposal(unit(state, model, history, pending, rng), "search")
        return state, replace(proposal, times=watch.seconds)

    def tell(
        self, state: StandardState, history: History, proposal: Proposal, outcome: Outcome, rng: np.random.Generator
    ) -> StandardState:
        """Take the outcome in."""
        if proposal.is_guest:
            return replace(state, rows=with_guest(state.rows, history))
        return replace(state, rows=np.append(state.rows, len(history) - 1))

    def diagnostics(self, state: StandardState) -> dict[str, Any]:
        """Return the fit."""
        hyper = None if state.fit is None else state.fit.hyper
        return {
            "design_left": len(state.queue),
            "signal_variance": None if hyper is None else hyper.signal_variance,
            "noise_variance": None if hyper is None else hyper.noise_variance,
            "lengthscales": None if hyper is None else hyper.lengthscales.tolist(),
        }

    def _drawn(
        self,
        state: StandardState,
        model: Model,
        history: History,
        pending: Sequence[Proposal],
        rng: np.random.Generator,
    ) -> FloatArray:
        """Return the candidate at which a draw is lowest."""
        dim, snapping = history.domain.dim, history.domain.snapping
        corner = np.ones(dim)
        units = box_candidates(-corner, corner, self.count(dim), np.random.default_rng(state.seed))
        if snapping is not None:
            units = np.asarray(snapping(units))
        return np.array(units[choose(model.draw(_unit_cube(units), rng), units, pending, history)])

    def _improving(
        self,
        state: StandardState,
        model: Model,
        history: History,
        pending: Sequence[Proposal],
        rng: np.random.Generator,
    ) -> FloatArray:
        """Return the point of greatest expected improvement, pending proposals taken to turn out as predicted."""
        dim, violating = history.domain.dim, history.domain.violating
        known = _unit_cube(np.array([proposal.unit for proposal in pending]).reshape(-1, dim))
        allowed = None if violating is None else lambda points: violating(2.0 * points - 1.0) == 0.0
        point = model.most_improving(
            np.zeros(dim), np.ones(dim), known, rng, self.ei_candidates, self.ei_starts, allowed
        )
        return 2.0 * point - 1.0

    def _proposal(self, unit: FloatArray, phase: str) -> Proposal:
        return Proposal(unit=unit, memo={"own": True}, info={"phase": phase})


def _unit_cube(units: FloatArray) -> FloatArray:
    """Return points of [-1, 1]^D in [0, 1]^D."""
    return 0.5 * (units + 1.0)
