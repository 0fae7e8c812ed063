"""CMA-BO: Bayesian optimisation inside the ellipsoid that an evolution strategy has learnt.

Ngo, Ha, Chan, Nguyen & Zhang, *High-dimensional Bayesian Optimization via Covariance Matrix Adaptation Strategy*, TMLR
2024, with its solver "BO". The strategy says where to look: N(m, σ²C), cut off at the Mahalanobis distance ρ. The model
says which of many points drawn there to evaluate, by Thompson sampling. λ evaluations make a generation, with which
the strategy is updated, through pycma.

Notation
--------
D       input dimension
λ       evaluations per generation, 4 + ⌊3 ln D⌋
m, A    mean and axes of the strategy in [0, 1]^D: m + A z, z standard normal, is N(m, σ²C)
ρ       √(chi-square quantile of D degrees of freedom at 0.9973): three standard deviations
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, final

import numpy as np
from scipy.special import chdtri

from boids.algorithms.boids_models import Data
from boids.algorithms.boids_training import Fit
from boids.algorithms.pycma_replay import Evolution, Strategy, cma, default_population, into_box, replayed
from boids.algorithms.thompson import Model, ThompsonSettings
from boids.blocks.design import DESIGNS, DesignName
from boids.blocks.stopwatch import Stopwatch
from boids.gp.linalg import blas_threads
from boids.gp.model import Surrogate
from boids.records import Domain, FloatArray, History, IntArray, Outcome, Proposal
from boids.settings import setting

#: The generation of a proposal of the initial design.
DESIGN = -1
#: Draws per wanted candidate: some lie outside the ellipsoid (original: 1.2).
SURPLUS = 1.2


@final
@dataclass(frozen=True, slots=True)
class CmaboState:
    """Where the run stands.

    Attributes
    ----------
    seed
        Of all strategies.
    budget, asked
        Evaluations of the whole run, and those handed out.
    epoch
        How many restarts there were.
    queue
        The rest of the initial design, in the signed cube (k, D).
    rows
        Rows of the history since the last restart.
    evolution
        The strategy; None until the design is over.
    generation_rows
        Rows of the present generation.
    fit
        The model's last fit.
    """

    seed: int
    budget: int
    asked: int
    epoch: int
    queue: FloatArray
    rows: IntArray
    evolution: Evolution | None
    generation_rows: IntArray
    fit: Fit | None


_NOTHING = np.empty(0, dtype=np.int64)


@final
@dataclass(frozen=True)
class CMABO(ThompsonSettings):
    """CMA-BO; see the fields for its settings."""

    name: ClassVar[str] = "cmabo"
    summary: ClassVar[str] = "Bayesian optimisation inside the ellipsoid of an evolution strategy"
    reference: ClassVar[str] = "Ngo, Ha, Chan, Nguyen & Zhang, TMLR 2024"
    considers: ClassVar[tuple[str, ...]] = ("noise", "pending", "earlier")
    State: ClassVar[type[CmaboState]] = CmaboState
    extra: ClassVar[str] = "cma"

    surrogate: Surrogate = setting(
        Surrogate(lengthscale_bounds=(0.005, 2.0)), "original: Matérn-5/2 ARD, boxes for inputs in [0, 1]^D, no priors"
    )
    n_init: int = setting(20, "original", least=1)
    design: DesignName = setting("latin-hypercube", "original")
    sigma: float = setting(0.3, "original: the first step size, of the width of the box", least=1e-6, most=10)
    population: int | None = setting(None, "original: λ = 4 + ⌊3 ln D⌋; a number fixes it", least=3)
    coverage: float = setting(0.9973, "original: the share of N(m, σ²C) in the ellipsoid", least=0.01, most=0.999999)
    memory: int = setting(100, "original: the model sees the last 100 λ data", least=1)

    def init(self, domain: Domain, budget: int, rng: np.random.Generator) -> CmaboState:
        """Draw the initial design."""
        cma()  # to fail now rather than later
        seed = int(rng.integers(2**48))
        queue = self._design(domain, budget, rng)
        return CmaboState(seed, budget, 0, 0, queue, _NOTHING, None, _NOTHING, None)

    def ready(self, state: CmaboState) -> int:
        """The rest of the initial design can be evaluated at once."""
        return max(1, len(state.queue))

    def ask(
        self, state: CmaboState, history: History, pending: Sequence[Proposal], rng: np.random.Generator
    ) -> tuple[CmaboState, Proposal]:
        """Propose a design point, or the candidate of the ellipsoid at which a draw of the model is lowest."""
        domain = history.domain
        if len(state.queue) or not len(state.rows):
            # With every design point still under way: one more of its kind.
            unit = state.queue[0] if len(state.queue) else domain.sample(1, rng)[0]
            memo = {"epoch": state.epoch, "generation": DESIGN}
            state = replace(state, asked=state.asked + 1, queue=state.queue[1:].copy())
            return state, Proposal(unit, memo, info={"phase": "design", "restarts": state.epoch})

        watch = Stopwatch()
        evolution = self._begun(state, history) if state.evolution is None else state.evolution
        with watch.phase("select"), replayed(evolution, _teller(evolution, history)) as strategy:
            stopped, (mean, axes), step_size = bool(strategy.stopped), strategy.distribution(), strategy.step_size
        if stopped:
            return self.ask(self._restarted(state, domain, rng), history, pending, rng)
        with watch.phase("select"):
            candidates = self._candidates(mean, axes, domain, rng)
        with watch.phase("fit"):
            state, model = self._model(replace(state, evolution=evolution), history, rng)
            if pending:
                under_way = 0.5 * (np.array([proposal.unit for proposal in pending]) + 1.0)
                model = replace(model, posterior=model.posterior.fantasise(under_way))
        with watch.phase("optimise"):
            unit = 2.0 * candidates[int(np.argmin(model.draw(candidates, rng)))] - 1.0
        facts = {"generation": len(evolution), "restarts": state.epoch, "sigma": step_size}
        state = replace(state, asked=state.asked + 1)
        memo = {"epoch": state.epoch, "generation": len(evolution)}
        return state, Proposal(unit, memo, info={"phase": "ellipsoid", **facts}, times=watch.seconds)

    def tell(
        self, state: CmaboState, history: History, proposal: Proposal, outcome: Outcome, rng: np.random.Generator
    ) -> CmaboState:
        """Take the outcome into the model's data; the λ-th of a generation updates the strategy."""
        memo, row = proposal.memo, len(history) - 1
        if memo and memo["epoch"] != state.epoch:
            return state  # from before a restart
        state = replace(state, rows=np.append(state.rows, row))
        evolution = state.evolution
        if not memo or evolution is None or memo["generation"] != len(evolution):
            return state  # the user's, of the design, or too late for its generation: data, no more
        rows = np.append(state.generation_rows, row)
        if len(rows) < evolution.population:
            return replace(state, generation_rows=rows)
        told = evolution.told(rows, history.values[rows], history.units[rows])
        return replace(state, evolution=told, generation_rows=_NOTHING)

    def diagnostics(self, state: CmaboState) -> dict[str, Any]:
        """Return where the run stands."""
        hyper = None if state.fit is None else state.fit.hyper
        return {
            "generation": 0 if state.evolution is None else len(state.evolution),
            "restarts": state.epoch,
            "evaluations_in_run": len(state.rows),
            "noise_variance": None if hyper is None else hyper.noise_variance,
            "lengthscales": None if hyper is None else hyper.lengthscales.tolist(),
        }

    # ------------------------------------------------------------------------------------------ the strategy

    def _design(self, domain: Domain, remaining: int, rng: np.random.Generator) -> FloatArray:
        count = min(self.n_init, max(remaining, 0))
        if domain.sampling is not None:
            return domain.sample(count, rng)
        return DESIGNS[self.design](count, domain.dim, rng)

    def _begun(self, state: CmaboState, history: History) -> Evolution:
        """Return the strategy around the best point so far."""
        values = history.values[state.rows]
        best = state.rows[0 if np.isnan(values).all() else int(np.nanargmin(values))]
        size = default_population(history.domain.dim) if self.population is None else self.population
        seed = int(np.random.SeedSequence([state.seed, state.epoch]).generate_state(1)[0])
        return Evolution.at(history.units[best], self.sigma, size, seed)

    def _restarted(self, state: CmaboState, domain: Domain, rng: np.random.Generator) -> CmaboState:
        """Begin again with a new design and without data."""
        queue = self._design(domain, state.budget - state.asked, rng)
        return CmaboState(state.seed, state.budget, state.asked, state.epoch + 1, queue, _NOTHING, None, _NOTHING, None)

    # ----------------------------------------------------------------------------------- candidates and model

    def _candidates(self, mean: FloatArray, axes: FloatArray, domain: Domain, rng: np.random.Generator) -> FloatArray:
        """Return points of the ellipsoid inside [0, 1]^D, snapped; of these, such as satisfy linear constraints."""
        count, freedom = self.count(domain.dim), axes.shape[1]
        z = rng.standard_normal((math.ceil(SURPLUS * count), freedom))
        # The Mahalanobis distance of m + A z is |z|.
        inside = np.flatnonzero(np.einsum("ij,ij->i", z, z) < chdtri(freedom, 1.0 - self.coverage))[:count]
        z = z[inside] if len(inside) else np.zeros((1, freedom))
        with blas_threads(freedom):
            points = into_box(mean + z @ axes.T)
        if domain.snapping is not None:
            points = 0.5 * (np.asarray(domain.snapping(2.0 * points - 1.0)) + 1.0)
        if domain.violating is None:
            return points
        allowed = domain.violating(2.0 * points - 1.0) <= 0.0
        return points[allowed] if allowed.any() else points

    def _model(self, state: CmaboState, history: History, rng: np.random.Generator) -> tuple[CmaboState, Model]:
        """Return the model of the run's latest data, trained if it is time."""
        size = 0 if state.evolution is None else state.evolution.population
        rows = state.rows[-self.memory * size :]
        noise = None if history.noise is None else history.noise[rows]
        inputs = 0.5 * (history.units[rows] + 1.0)
        data = Data(inputs, history.values[rows], None, noise, history.domain.noisy)
        # Fits are counted in data since the last restart, also when the oldest are no longer looked at.
        forgotten, last = len(state.rows) - len(rows), state.fit
        last = None if last is None else Fit(last.hyper, last.fitted_at - forgotten)
        fit, model = Model.learn(self, data, last, rng)
        return replace(state, fit=None if fit is None else Fit(fit.hyper, fit.fitted_at + forgotten)), model


def _teller(evolution: Evolution, history: History) -> Callable[[Strategy, int], None]:
    def tell(strategy: Strategy, generation: int) -> None:
        points = 0.5 * (history.units[evolution.members[generation]] + 1.0)
        strategy.sample(0)  # pycma wants to be asked before it is told
        strategy.tell(list(points), evolution.values[generation])

    return tell
