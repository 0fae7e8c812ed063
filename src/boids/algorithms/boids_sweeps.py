"""Sweeps in BOIDS: which budget they are for, and what they propose besides the lines' points.

Ours. The subspaces are for many dimensions with few evaluations; where several rounds through all coordinates fit into
the budget, a run can begin in the whole space, around the middle of the box, and learn each coordinate's slope apart.
This is worth it if coordinates matter each for itself or most of them not at all, and with fewer evaluations only if
most of them matter, each for itself, which its first steps tell (`Probe`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import cast, final

import numpy as np

from boids.algorithms.boids_climb import Ground
from boids.algorithms.boids_limits import Limits
from boids.algorithms.boids_pending import UnderWay
from boids.algorithms.boids_settings import BoidsSettings
from boids.algorithms.boids_state import BoidsState
from boids.blocks.maximise import cut_short
from boids.blocks.sweep import PROBED, Probe, Sweep, Turn, both_ways, descents, gain
from boids.gp.linalg import blas_threads
from boids.gp.model import Surrogate
from boids.gp.posterior import Posterior
from boids.gp.slopes import Slopes
from boids.records import Domain, FloatArray, History, MemoValue, Proposal

#: How far from the middle of the box the points of the design may be: one to begin at, others to know the scale by.
DESIGN_EXTENTS = np.array([0.1, 1.0, 1.0, 1.0, 1.0])
DESIGN_POINTS = len(DESIGN_EXTENTS)
#: Evaluations that there must be for a probe: one that fails at once has cost a tenth of them at the most.
LEAST_BUDGET = 10 * (DESIGN_POINTS + PROBED + 1)
#: Parameters that there must be for a probe, and for new beginnings: with fewer, subspaces are hardly smaller than the
#: space.
LEAST_DIM = 20
#: Descents that may be evaluated at the same time.
AT_ONCE = 3
#: A descent that linear constraints stop before this share of its radius is none.
NEAREST = 0.01


def sweeps_in(settings: BoidsSettings, domain: Domain, budget: int) -> bool:
    """Whether a run has plenty of evaluations for sweeps: there must be slopes, and room for several rounds.

    Not with constraint values: a descent ends at the edge of what they allow, on either side of it. Nor with noise, in
    which a single coordinate's step is lost, nor if there shall be no subspaces but lines alone (`embedding`).
    """
    return _possible(settings, domain) and _has_room(settings.sweep_from, domain, budget)


def probes_in(settings: BoidsSettings, domain: Domain, budget: int) -> bool:
    """Whether a run's first sweep is begun to see whether it is worth it: that must not take too many evaluations."""
    if settings.sweep_from is None or budget < LEAST_BUDGET or domain.dim < LEAST_DIM:
        return False
    return _possible(settings, domain) and _has_room(settings.sweep_probe_from, domain, budget)


def _possible(settings: BoidsSettings, domain: Domain) -> bool:
    return (
        settings.embedding
        and settings.line_search == "climb"
        and domain.snapping is None
        and domain.repairing is None
        and not domain.n_constraints
        and not domain.noisy
    )


def _has_room(per_parameter: float | None, domain: Domain, budget: int) -> bool:
    return per_parameter is not None and per_parameter * domain.dim <= budget


def modelling(settings: BoidsSettings, state: BoidsState) -> BoidsSettings:
    """Return the settings that the models are made by: in runs with sweeps our own prior has another variance."""
    variance, surrogate = settings.sweep_signal_variance, settings.surrogate
    if state.sweep is None or variance is None or surrogate != Surrogate.regularised():
        return settings
    return replace(settings, surrogate=replace(surrogate, signal_variance=variance))


def goes_on(settings: BoidsSettings, state: BoidsState) -> bool:
    """Whether a run with sweeps goes on where it is, since a fresh one would come to its end too soon."""
    if state.sweep is None or settings.sweep_from is None:
        return False
    return state.budget - state.asked < settings.sweep_from * state.input_dim


@final
@dataclass(frozen=True)
class Downhill:
    """μ - log p, to be minimised: what is expected of a point, and the chance that its evaluation does not fail."""

    predict: Callable[[FloatArray], tuple[FloatArray, FloatArray]]
    predict_slopes: Slopes
    limits: Limits | None

    @classmethod
    def on(cls, posterior: Posterior, limits: Limits | None) -> Downhill:
        """Take the models as they are."""
        return cls(posterior.predictor(), Slopes.of(posterior), limits)

    def values(self, points: FloatArray) -> FloatArray:
        """Return it (q,)."""
        mean, _ = self.predict(points)
        return mean if self.limits is None else mean - self.limits.log_success(points)[0]

    def slopes(self, points: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return it (q,) and its gradients (q, d)."""
        mean, _, slope, _ = self.predict_slopes(points)
        if self.limits is None:
            return mean, slope
        chance, chance_slope = self.limits.log_success(points)
        return mean - chance, slope - chance_slope


def swept(
    state: BoidsState,
    posterior: Posterior,
    limits: Limits | None,
    known: FloatArray,
    merits: FloatArray,
    ground: Ground,
    rng: np.random.Generator,
    under_way: UnderWay,
    is_new: Callable[[FloatArray], bool],
) -> tuple[BoidsState, FloatArray, Turn, dict[str, MemoValue]] | None:
    """Return a sweep's next point (d,), from the best of `known` (n, d), and notes on it; None if it is a line's turn.

    The first sweep takes all turns: it shows the slopes that all else depends on. With many workers only some descend.
    """
    sweep = state.sweep
    if sweep is None or np.isnan(merits).all() or (sweep.done and rng.random() >= state.turns.share):
        return None  # where everything has failed, one coordinate will not help
    if sweep.descends and under_way.descents >= AT_ONCE:
        return None
    row = int(np.nanargmin(merits))
    best, notes = known[row], dict[str, MemoValue]()
    joined = None if state.probe is None else state.probe.joined(best)
    if state.probe is not None and joined is not None:
        point, expected = joined
        if ground.allowed(point[None])[0] and is_new(point):
            notes = {"from": float(merits[row]), "expected": expected}
            return replace(state, probe=replace(state.probe, together=True)), point, "coordinate", notes
        state = replace(state, probe=None)  # no verdict is to be had
    radius = sweep.radius_beside(under_way.descents)
    found = _step(sweep, posterior, limits, best, radius, ground, rng, is_new)
    if found is None:
        return None
    sweep, z, turn = found
    if state.probe is not None and turn == "coordinate":
        coordinate = int(np.argmax(np.abs(z - best)))
        origin = float(best[coordinate])
        notes = {"from": float(merits[row]), "coordinate": coordinate, "origin": origin}
        notes["step"] = float(z[coordinate]) - origin
    return replace(state, sweep=sweep), z, turn, notes


def learned(
    state: BoidsState, history: History, proposal: Proposal, improved: bool, rng: np.random.Generator
) -> BoidsState:
    """Take notice of the latest outcome."""
    if state.sweep is None:
        return state
    turn, sweep = cast(Turn, proposal.memo["turn"]), state.sweep
    if turn == "descent" and proposal.memo["sweep"] == sweep.done:  # or it is a late one of the sweep before
        sweep = sweep.descended(improved, state.embedding.dim, rng)
    turns = state.turns.credited(turn, gain(state.data(history).ranked()))
    probe = None if state.probe is None else _probed(state.probe, proposal, float(history.values[-1]))
    return replace(state, sweep=sweep, turns=turns, probe=probe)


def _probed(probe: Probe, proposal: Proposal, value: float) -> Probe | None:
    """Return the probe after an outcome; None if the sweep goes on, be it for want of a verdict."""
    memo, failed = cast(Mapping[str, float], proposal.memo), np.isnan(value)
    if "expected" in memo:
        probe = replace(probe, passed=True) if failed else probe.judged(memo["expected"], value - memo["from"])
    elif "coordinate" in memo and not failed:
        probe = probe.seen(int(memo["coordinate"]), memo["origin"], memo["step"], value - memo["from"])
    elif proposal.memo["turn"] == "descent":
        return None  # too late to turn back
    return None if probe.passed else probe


def _step(
    sweep: Sweep,
    posterior: Posterior,
    limits: Limits | None,
    best: FloatArray,
    radius: float,
    ground: Ground,
    rng: np.random.Generator,
    is_new: Callable[[FloatArray], bool],
) -> tuple[Sweep, FloatArray, Turn] | None:
    """Return a sweep's next point (d,) from the best one (d,), and how it goes on; None if there is nothing new."""
    low, high = ground.embedding.bounds
    with blas_threads(len(posterior.inputs)):
        downhill = Downhill.on(posterior, limits)
        while not sweep.descends:
            points = both_ways(best, int(sweep.order[0]), sweep.step, low, high)
            points = points[ground.allowed(points)]
            sweep = sweep.tried()
            if len(points):
                z = points[int(np.argmin(downhill.values(points)))]
                if is_new(z):
                    return sweep, z, "coordinate"
        for z in descents(downhill, best, radius, low, high, rng):
            if ground.domain.violating is not None and not ground.allowed(z[None])[0]:
                z = cut_short(best, z, ground.allowed)
                if float(np.linalg.norm(z - best)) < NEAREST * radius:
                    continue
            if is_new(z):
                return sweep, z, "descent"
    return None
