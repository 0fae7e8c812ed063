"""LineBO: Bayesian optimisation on one line at a time, through the best predicted point.

Kirschner, Mutný, Hiller, Ischebeck & Krause, *Adaptive and Safe Bayesian Optimization in High Dimensions via
One-Dimensional Subspaces*, ICML 2019. One Gaussian process knows all data; a line is searched on a grid of its chord
until there is nothing left to gain, then its best predicted point is evaluated and the next line goes through that.
Lines follow the coordinates, random directions, or a direction of descent (linebo_descent.py).

Notation
--------
D       input dimension
b       the best predicted point                        (D,)
x, v    origin and unit direction of the line           (D,)
G       grid on the chord of the line                   (g, D)
μ, s    predicted mean and standard deviation on G      (g,)
t       number of the line, from 1
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, final

import numpy as np

from boids.algorithms import linebo_descent as descent
from boids.blocks.line import chord
from boids.blocks.scaling import Scale, imputed
from boids.blocks.stopwatch import Stopwatch
from boids.errors import MethodError
from boids.gp.model import Hyperparameters, Surrogate
from boids.gp.paths import draw_path
from boids.gp.posterior import Posterior
from boids.gp.training import train
from boids.records import Domain, FloatArray, History, Outcome, Proposal
from boids.settings import check_settings, setting

#: A box is two wide here and one wide in the original.
WIDTH = 2.0


@final
@dataclass(frozen=True, slots=True)
class LineState:
    """A run between two proposals.

    Attributes
    ----------
    phase
        "turn": another line is due; "line": on a line; "descent": in a trust region, looking for a direction.
    best
        b.
    origin, direction
        x and v; in a descent the centre of the trust region, and where its last step went.
    queries
        Proposals on this line, or in this trust region.
    lines
        t of the present line, or of the last one.
    hyper, fitted_at
        The last fit, and the number of rows it was made for.
    """

    phase: Literal["turn", "line", "descent"]
    best: FloatArray
    origin: FloatArray
    direction: FloatArray
    queries: int = 0
    lines: int = 0
    hyper: Hyperparameters | None = None
    fitted_at: int = 0


@final
@dataclass(frozen=True)
class LineBO:
    """The method; "original" in the sources below is the published program, "ours" a choice of this package."""

    name: ClassVar[str] = "linebo"
    summary: ClassVar[str] = "one line at a time through the best predicted point"
    reference: ClassVar[str] = "Kirschner, Mutný, Hiller, Ischebeck & Krause, ICML 2019"
    considers: ClassVar[tuple[str, ...]] = ("noise", "pending", "earlier")
    State: ClassVar[type[LineState]] = LineState

    directions: Literal["coordinate", "random", "descent"] = setting(
        "coordinate", "BOIDS paper: the coordinate version; line t follows coordinate t mod D"
    )
    queries: tuple[int, int] | None = setting(
        None, "more than the first, at most the second per line; None: ours (2, 6), original (Hartmann) (5, 10)"
    )
    grid: int = setting(300, "original: points on the chord", least=2)
    margin: float = setting(0.1, "original: b keeps off both ends of the chord by this share", least=0, most=0.49)
    acquisition: Literal["ucb", "ts"] = setting("ucb", "BOIDS paper; original's class: Thompson sampling")
    beta: float | None = setting(None, "UCB = mean + beta std; None: ours 1.5, original (Hartmann) 8", least=0)
    tolerance: float | None = setting(
        None,
        "a line ends when max UCB - LCB(b) is below: ours 0.1 of the values' spread, original 0.01 of the mean at b",
        least=0,
    )
    original: bool = setting(False, "True: values as they are, and the fixed hyper-parameters below")
    surrogate: Surrogate = setting(Surrogate.modern(), "ours: the original's RBF with priors, fitted as data grow")
    refit_fraction: float = setting(0.1, "ours: refit when the data have grown by this share", least=0)
    lengthscale: float = setting(0.2, "original: of all coordinates, in widths of the box", least=1e-6)
    signal_variance: float = setting(1.0, "original", least=1e-12)
    noise_variance: float = setting(0.04, "original", least=0)
    trust_radius: float = setting(0.1, "original (descent): in widths of the box", least=1e-6)
    gradient_queries: tuple[float, float] = setting((1.0, 2.0), "original (descent): the least and the most, times D")
    path_features: int = setting(1024, "ours: random features of a posterior draw", least=1)

    def __post_init__(self) -> None:
        check_settings(self)
        for name, pair in (("queries", self.line_queries), ("gradient_queries", self.gradient_queries)):
            if not 0 <= pair[0] < pair[1]:
                raise MethodError(f"{name} must be two numbers with 0 ≤ least < most; got {pair}.")

    @property
    def line_queries(self) -> tuple[int, int]:
        """What `queries` stands for."""
        return ((5, 10) if self.original else (2, 6)) if self.queries is None else self.queries

    @property
    def confidence(self) -> float:
        """β, in standard deviations."""
        return (8.0 if self.original else 1.5) if self.beta is None else self.beta

    @property
    def small_gap(self) -> float:
        """What `tolerance` stands for."""
        return (0.01 if self.original else 0.1) if self.tolerance is None else self.tolerance

    def init(self, domain: Domain, budget: int, rng: np.random.Generator) -> LineState:
        """Draw the point that the first line goes through."""
        start = np.array(domain.sample(1, rng)[0])
        return LineState("turn", best=start, origin=start, direction=np.zeros(domain.dim))

    def ready(self, state: LineState) -> int:
        """One: every proposal depends on the values before it."""
        return 1

    def ask(
        self, state: LineState, history: History, pending: Sequence[Proposal], rng: np.random.Generator
    ) -> tuple[LineState, Proposal]:
        """Propose the next point of the line, or the best predicted one."""
        if np.isnan(history.values).all():
            # Nothing is known: the start, and while it is being evaluated, or has failed, random points.
            first = not pending and not len(history)
            return state, _proposal(state, state.best if first else history.domain.sample(1, rng)[0], "start")
        watch = Stopwatch()
        with watch.phase("fit"):
            state, posterior = self._posterior(state, history, pending, rng)
        with watch.phase("optimise"):
            if state.phase == "line":
                state, ended = self._searched(state, posterior)
                if ended:
                    state = replace(state, phase="turn")
                    if self.original or not _wasted(state.best, history):
                        return state, replace(_proposal(state, state.best, "best"), times=watch.seconds)
            if state.phase == "descent":
                state = self._descended(state, posterior, rng)
            if state.phase == "turn":
                state = self._turned(state, posterior, history, rng)
            if state.phase == "descent":
                draw = draw_path(posterior, rng, self.path_features)
                direction = descent.against_gradient(draw, state.origin)
                step = descent.reach(state.origin, direction, self._radius)
                point = np.clip(state.origin + step * direction, -1.0, 1.0)
                state = replace(state, direction=direction)
            else:
                point = self._query(state, posterior, history, rng)
        state = replace(state, queries=state.queries + 1)
        return state, replace(_proposal(state, point, state.phase), times=watch.seconds)

    def tell(
        self, state: LineState, history: History, proposal: Proposal, outcome: Outcome, rng: np.random.Generator
    ) -> LineState:
        """Nothing to do: the next proposal reads the history, in which guests are data like any other."""
        return state

    def diagnostics(self, state: LineState) -> dict[str, Any]:
        """Return which line is being searched, and how often it was."""
        return {"phase": state.phase, "lines": state.lines, "queries": state.queries}

    @property
    def _radius(self) -> float:
        return WIDTH * self.trust_radius

    def _posterior(
        self, state: LineState, history: History, pending: Sequence[Proposal], rng: np.random.Generator
    ) -> tuple[LineState, Posterior]:
        """Condition the process on all data, and on pending points as if they had gone as predicted."""
        values, inputs = imputed(history.values), np.ascontiguousarray(history.units)
        scale = Scale() if self.original else Scale.of(values)
        targets, surrogate = scale.standardise(values), self.surrogate
        noise = None if history.noise is None else scale.variance(np.nan_to_num(history.noise))
        if self.original:
            surrogate = Surrogate(kernel="rbf")
            lengthscales = np.full(inputs.shape[1], WIDTH * self.lengthscale)
            hyper: Hyperparameters | None = Hyperparameters(lengthscales, self.signal_variance, self.noise_variance)
        else:
            surrogate = surrogate.for_noise() if history.domain.noisy else surrogate
            fitted_at, part = state.fitted_at, self.refit_fraction
            hyper = train("warm", surrogate, inputs, targets, state.hyper, fitted_at, part, rng, noise)
            if hyper is not None:
                state = replace(state, hyper=hyper, fitted_at=len(inputs))
        hyper = hyper or state.hyper or surrogate.default_start(inputs.shape[1])
        posterior = Posterior.condition(surrogate, hyper, inputs, targets, noise)
        return state, posterior.fantasise(np.array([p.unit for p in pending]).reshape(-1, inputs.shape[1]))

    def _searched(self, state: LineState, posterior: Posterior) -> tuple[LineState, bool]:
        """Find b again, now that more is known, and say whether the line is done with."""
        points = grid_on(state.origin, state.direction, self.grid)
        mean, variance = posterior.predict(points)
        width = self.confidence * np.sqrt(variance)
        share = np.linspace(0.0, 1.0, self.grid)
        inner = (share >= self.margin) & (share <= 1.0 - self.margin)
        i = int(np.argmin(np.where(inner, mean, np.inf))) if inner.any() else int(np.argmin(mean))
        gap = mean[i] + width[i] - np.min(mean - width)
        # The original maximises -f, and compares with its signed mean; on our scale the values' spread is 1.
        small = self.small_gap * (-mean[i] if self.original else 1.0)
        least, most = self.line_queries
        ended = state.queries >= most or (state.queries > least and gap < small)
        return replace(state, best=points[i].copy()), bool(ended)

    def _descended(self, state: LineState, posterior: Posterior, rng: np.random.Generator) -> LineState:
        """Find b on the last step; once there were enough of them, begin the line from the centre through b."""
        least, most = (times * len(state.best) for times in self.gradient_queries)
        centre, r = state.origin, self._radius
        best = descent.line_search(posterior, centre, state.direction, r, self.grid)
        good = descent.promising(posterior, best, centre, r, relative=self.original)
        if state.queries < least or (state.queries < most and not good):
            return state
        if good:
            return self._begun(replace(state, best=best), (best - centre) / np.linalg.norm(best - centre))
        return self._begun(state, random_direction(centre, rng))

    def _turned(self, state: LineState, posterior: Posterior, history: History, rng: np.random.Generator) -> LineState:
        """Begin the next line, or the search for its direction, at b."""
        if state.lines == 0 or not self.original:
            # Ours: also where no line went, or the margin kept b away, a point may be the best one known.
            known = history.units[~np.isnan(history.values)]
            places = np.vstack([known, state.best]) if state.lines else known
            state = replace(state, best=places[int(np.argmin(posterior.predict(places)[0]))].copy())
        if self.directions == "descent":
            nowhere = np.zeros_like(state.best)
            return replace(state, phase="descent", origin=state.best, direction=nowhere, queries=0)
        dim = len(state.best)
        if self.directions == "coordinate":
            return self._begun(state, np.eye(1, dim, (state.lines + 1) % dim)[0])
        return self._begun(state, random_direction(state.best, rng))

    def _begun(self, state: LineState, direction: FloatArray) -> LineState:
        """Begin a line through b."""
        return replace(
            state, phase="line", origin=state.best, direction=direction, queries=0, lines=state.lines + 1
        )  # fmt: skip

    def _query(self, state: LineState, posterior: Posterior, history: History, rng: np.random.Generator) -> FloatArray:
        """Return the point of the line with the least lower confidence bound, or with the least draw."""
        points = grid_on(state.origin, state.direction, self.grid)
        if self.acquisition == "ts":
            alpha = np.asarray(draw_path(posterior, rng, self.path_features)(points))
        else:
            mean, variance = posterior.predict(points)
            alpha = mean - self.confidence * np.sqrt(variance)
        domain = history.domain
        if domain.violating is not None:
            violated = domain.violating(points) > 0.0
            alpha = alpha if violated.all() else np.where(violated, np.inf, alpha)
        order = np.argsort(alpha, kind="stable")
        if self.original:
            return np.array(points[order[0]])
        return np.array(points[next((i for i in order if not _wasted(points[i], history)), order[0])])


def grid_on(origin: FloatArray, direction: FloatArray, count: int) -> FloatArray:
    """Return G: equally spaced points of the chord, its ends included (count, D)."""
    low, high = chord(origin[None], direction[None])
    t = np.linspace(low[0], high[0], count)
    return np.clip(origin + np.multiply.outer(t, direction), -1.0, 1.0)


def random_direction(point: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Return a uniform unit direction; on a face of the box the one of ±v_i that leads inside, or there is no chord."""
    v = rng.standard_normal(len(point))
    v = np.where(np.abs(point) >= 1.0, -np.sign(point) * np.abs(v), v)
    return np.asarray(v / np.linalg.norm(v))


def _wasted(point: FloatArray, history: History) -> bool:
    """Whether evaluating a point would tell nothing: it was handed out before, and values have no noise."""
    domain = history.domain
    return not domain.noisy and history.tried(point if domain.snapping is None else np.asarray(domain.snapping(point)))


def _proposal(state: LineState, point: FloatArray, phase: str) -> Proposal:
    return Proposal(
        np.array(point), memo={"phase": phase, "line": state.lines}, info={"phase": phase, "line": state.lines}
    )
