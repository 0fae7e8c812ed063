"""RDUCB: an additive model over a random forest of coordinates, drawn anew for every proposal.

Ziomek & Bou-Ammar, *Are Random Decompositions All We Need in High Dimensional Bayesian Optimisation?*, ICML 2023.

Notation
--------
D, E    input dimension, edges of the forest
c       a component: an edge {i, j}, or a coordinate {i} without an edge
ℓ, v    lengthscales and amplitudes of the coordinates, carried over from forest to forest      (D,)
μ_c, s_c²   posterior mean and variance of component c
t       proposals from a model so far, this one included
β_t     ½ ln(2t)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, final

import numpy as np
from scipy.optimize import Bounds, minimize

from boids.blocks.forest import Forest, Tables, zoom
from boids.blocks.scaling import Scale, imputed
from boids.blocks.stopwatch import Stopwatch
from boids.gp.additive import AdditivePosterior, Components, log_likelihood
from boids.records import Domain, FloatArray, History, IntArray, Outcome, Proposal
from boids.settings import check_settings, setting

#: Original: where ℓ and v may go, with coordinates in [0, 1].
LENGTHSCALES, AMPLITUDES = (1e-2, 1e5), (0.1**0.5, 1e5)
#: Original: added to the diagonal besides the noise, and the least variance of a component.
JITTER, LEAST_VARIANCE = 1e-8, 1e-10


@final
@dataclass(frozen=True, slots=True)
class ForestState:
    """A run between two proposals.

    Attributes
    ----------
    lengthscales, amplitudes
        ℓ and v.
    undesigned
        Points that the initial design still lacks.
    proposed
        t of the last proposal from a model.
    """

    lengthscales: FloatArray
    amplitudes: FloatArray
    undesigned: int
    proposed: int = 0


@final
@dataclass(frozen=True)
class RDUCB:
    """The method; "original" in the sources below is the published program, "ours" a choice of this package."""

    name: ClassVar[str] = "rducb"
    summary: ClassVar[str] = "additive model over a random forest of coordinates, new for every proposal"
    reference: ClassVar[str] = "Ziomek & Bou-Ammar, ICML 2023"
    considers: ClassVar[tuple[str, ...]] = ("noise", "pending", "earlier")
    State: ClassVar[type[ForestState]] = ForestState

    edge_fraction: float = setting(0.2, "original: edges of the forest per coordinate, at least one", least=0, most=1)
    n_init: int = setting(10, "original: random points of the grid", least=1)
    grid: int = setting(150, "original: points per coordinate; 1000 for LassoBench", least=2)
    branching: int = setting(4, "original: pieces that a coordinate's grid is cut into", least=2)
    lengthscale: float | None = setting(
        None,
        "the first ℓ, in widths of the box; None: ours 0.4, original 0.1",
        least=LENGTHSCALES[0],
        most=LENGTHSCALES[1],
    )
    amplitude: float = setting(0.5, "original: the first v", least=AMPLITUDES[0], most=AMPLITUDES[1])
    noise_variance: float = setting(0.1, "original: fixed", least=0)
    likelihood_evaluations: int = setting(
        10, "ours: at most so many per proposal, or fewer by the original's rule", least=1
    )
    original: bool = setting(False, "True: values as they are, and the likelihood evaluated as often as the rule says")

    def __post_init__(self) -> None:
        check_settings(self)

    def init(self, domain: Domain, budget: int, rng: np.random.Generator) -> ForestState:
        """Start with the same parameters for all coordinates."""
        standard = 0.1 if self.original else 0.4
        return ForestState(
            lengthscales=np.full(domain.dim, self.lengthscale or standard),
            amplitudes=np.full(domain.dim, self.amplitude),
            undesigned=self.n_init,
        )

    def ready(self, state: ForestState) -> int:
        """The rest of the initial design can be evaluated at once."""
        return max(1, state.undesigned)

    def ask(
        self, state: ForestState, history: History, pending: Sequence[Proposal], rng: np.random.Generator
    ) -> tuple[ForestState, Proposal]:
        """Propose a random point of the grid, or the one with the least lower confidence bound."""
        domain = history.domain
        if state.undesigned or np.isnan(history.values).all():
            x = rng.integers(self.grid, size=domain.dim) / (self.grid - 1)
            unit = 2.0 * x - 1.0 if domain.sampling is None else domain.sample(1, rng)[0]
            return replace(state, undesigned=max(0, state.undesigned - 1)), Proposal(
                unit, {"t": 0}, {"phase": "design"}
            )
        watch = Stopwatch()
        t = state.proposed + 1
        inputs, targets, noise = self._data(history)
        with watch.phase("fit"):
            forest = Forest.random(domain.dim, max(1, math.floor(self.edge_fraction * domain.dim)), rng)
            components = Components(forest.singles, forest.edges, state.lengthscales, state.amplitudes)
            components = self._fitted(components, inputs, targets, noise)
            posterior = AdditivePosterior.condition(components, inputs, targets, noise)
            waiting = np.array([0.5 * (p.unit + 1.0) for p in pending]).reshape(-1, domain.dim)
            posterior = posterior.fantasise(waiting, self.noise_variance + JITTER)
        with watch.phase("optimise"):
            beta = 0.5 * math.log(2.0 * t)

            def bounds(points: IntArray) -> Tables:
                """Σ_c μ_c - β s_c in tables; as in the original every s_c² includes the noise."""
                single, pair = (
                    mean - beta * np.sqrt(np.maximum(variance + self.noise_variance, LEAST_VARIANCE))
                    for mean, variance in posterior.on_grid(points / (self.grid - 1))
                )
                return single, pair

            x = zoom(forest, bounds, self.grid, self.branching, rng) / (self.grid - 1)
        state = replace(
            state, lengthscales=components.lengthscales, amplitudes=components.amplitudes, proposed=t
        )  # fmt: skip
        info = {"phase": "forest", "t": t, "edges": len(forest.edges)}
        return state, Proposal(2.0 * x - 1.0, {"t": t}, info, watch.seconds)

    def tell(
        self, state: ForestState, history: History, proposal: Proposal, outcome: Outcome, rng: np.random.Generator
    ) -> ForestState:
        """Learn nothing but from the history; what a user has evaluated need not be designed."""
        guest = proposal.is_guest and not outcome.failed and state.proposed == 0
        return replace(state, undesigned=max(0, state.undesigned - 1)) if guest else state

    def diagnostics(self, state: ForestState) -> dict[str, Any]:
        """Return how far the run is, and the coordinates that the model thinks matter most: the shortest ℓ/v."""
        order = np.argsort(state.lengthscales / state.amplitudes, kind="stable")
        return {
            "proposed": state.proposed,
            "beta": 0.5 * math.log(2.0 * max(1, state.proposed)),
            "leading": order[:10].tolist(),
        }

    def _data(self, history: History) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return coordinates in [0, 1], values to learn from, and the variances of their noise."""
        values = imputed(history.values)
        scale = Scale() if self.original else Scale.of(values)
        noise = np.full(len(values), self.noise_variance + JITTER)
        if history.noise is not None:
            noise += scale.variance(np.nan_to_num(history.noise))
        return 0.5 * (history.units + 1.0), scale.standardise(values), noise

    def evaluations(self, n: int, dim: int) -> int:
        """Return how often the likelihood of n data may be evaluated per proposal: originally int((2D)^(n/1000))."""
        rule = int((2.0 * dim) ** (n / 1000.0))
        return rule if self.original else min(rule, self.likelihood_evaluations)

    def _fitted(self, start: Components, inputs: FloatArray, targets: FloatArray, noise: FloatArray) -> Components:
        """Improve ℓ and v for this forest, by a few evaluations of the likelihood only: forests come and go."""
        n, dim = inputs.shape
        evaluations = self.evaluations(n, dim)
        if evaluations < 2:
            return start  # the first evaluation is that of the start
        best = (-math.inf, start)

        def loss(theta: FloatArray) -> tuple[float, FloatArray]:
            nonlocal best
            components = replace(start, lengthscales=theta[:dim].copy(), amplitudes=theta[dim:].copy())
            value, *gradients = log_likelihood(components, inputs, targets, noise)
            if value > best[0]:
                best = (value, components)
            return -value, -np.concatenate(gradients)

        low, high = (np.repeat([a, b], dim) for a, b in zip(LENGTHSCALES, AMPLITUDES, strict=True))
        theta = np.concatenate([start.lengthscales, start.amplitudes])
        minimize(loss, theta, jac=True, method="TNC", bounds=Bounds(low, high), options={"maxfun": evaluations})
        return best[1]
