"""The two steps that BOIDS takes on its lines: LINE-SELECT and LINE-OPT.

Ngo, Ha, Chan & Zhang (BOIDS), AAAI 2025: Eq. 2 and Alg. LINE-SELECT, Eqs. 3-4 and Alg. LINE-OPT.

Notation
--------
g(z)      one function drawn from the posterior, the bandit's view of the objective
alpha(z)  acquisition value of points (q, d), to be minimised               (q,)
p_i, g    personal and global incumbents of the chosen line's particle      (d,)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from boids.algorithms.boids_effort import features_of_a_draw, shortened
from boids.algorithms.boids_limits import Limits
from boids.algorithms.boids_settings import BoidsSettings
from boids.blocks import acquisition
from boids.blocks.bandit import least_busy, select_line
from boids.blocks.embedding import Embedding
from boids.blocks.line import Lines
from boids.blocks.swarm import Swarm
from boids.gp.paths import Path, draw_path
from boids.gp.posterior import Posterior
from boids.records import Domain, FloatArray, IntArray

Acquisition: TypeAlias = Callable[[NDArray[Any]], NDArray[Any]]

#: The least alpha of a point that breaks a linear constraint: far above all others, which are standardised.
FORBIDDEN = 1e6
#: Candidates where equations hold: moving one to the nearest allowed point takes a millisecond.
ALLOWED_CANDIDATES = 400


def draw_function(settings: BoidsSettings, posterior: Posterior, centre: FloatArray, rng: np.random.Generator) -> Path:
    """Draw g ~ GP(D), most exact around `centre`."""
    features = features_of_a_draw(settings, len(centre))
    return draw_path(posterior, rng, features, _thompson_dtype(settings), centre)


def choose_line(
    settings: BoidsSettings,
    draw: Path,
    noise_variance: float,
    lines: Lines,
    busy: Sequence[int],
    rng: np.random.Generator,
    limits: Limits | None = None,
) -> tuple[int, FloatArray]:
    """LINE-SELECT: return the line on which the draw, limits included, is best, and the rewards of all lines."""
    count, dim = lines.origins.shape
    if not settings.line_selection:
        free = np.flatnonzero(least_busy(count, busy))
        return int(free[rng.integers(len(free))]), np.full(count, np.nan)
    noise = math.sqrt(noise_variance) if settings.ts_noise else 0.0

    def realisation(origins: FloatArray, directions: FloatArray, t: FloatArray) -> FloatArray:
        values = np.asarray(draw.on_lines(origins, directions, t), dtype=np.float64)
        values = values + noise * rng.standard_normal(t.shape) if noise else values
        return values if limits is None else values + limits.on_lines(origins, directions, t)

    per_line = max(1, min(settings.bandit_candidates // count, candidates(settings, dim)))
    return select_line(realisation, lines, per_line, rng, busy)


def acquisition_function(
    settings: BoidsSettings,
    posterior: Posterior,
    draw: Path,
    centre: FloatArray,
    best: float,
    rng: np.random.Generator,
) -> Acquisition:
    """Return alpha; `best` is the lowest (standardised) value so far, `draw` the bandit's function."""
    if settings.acquisition == "ts-pathwise":
        return draw
    dtype = _search_dtype(settings)
    predict = posterior.predictor(dtype, centre)
    if settings.acquisition == "ts":
        # One normal per *row of a batch*, the same in every batch: what the released code does.
        search = settings.search
        rows = max(candidates(settings, posterior.inputs.shape[1]), search.offspring or search.population)
        normals = rng.standard_normal(rows).astype(dtype)
        noise = posterior.hyper.noise_variance if settings.ts_noise else 0.0
        return lambda z: acquisition.marginal_draw(*predict(z), normals, noise)
    if settings.acquisition == "ei":
        return lambda z: acquisition.negative_ei(*predict(z), best)
    if settings.acquisition == "logei":
        return lambda z: acquisition.negative_log_ei(*predict(z), best)
    return lambda z: acquisition.negative_ucb(*predict(z), settings.ucb_beta)


def within_limits(alpha: Acquisition, limits: Limits | None, embedding: Embedding, domain: Domain) -> Acquisition:
    """Return alpha plus the modelled cost of violations, at the points that would really be evaluated.

    Integers and categories are made whole before the models are asked; the coordinates of a bin then differ, and the
    models know their mean. Linear constraints, about which there is no doubt, come before everything else.
    """
    if limits is None and domain.snapping is None and domain.violating is None and embedding.centre is None:
        return alpha
    low, high = embedding.bounds

    def bounded(z: NDArray[Any]) -> NDArray[Any]:
        if embedding.centre is not None:
            # Beyond these bounds nothing changes any more, which the models cannot know.
            z = np.clip(z, low.astype(z.dtype), high.astype(z.dtype))
        broken: NDArray[Any] = np.zeros(len(z))
        if domain.snapping is not None or domain.violating is not None:
            units = embedding.lift(z)
            if domain.snapping is not None:
                units = domain.snapping(units)
                z = embedding.average(units)
            if domain.violating is not None:
                broken = domain.violating(units)
        values = alpha(z)
        if limits is not None:
            values = values + limits(z).astype(values.dtype)
        return np.where(broken > 0.0, (FORBIDDEN * (1.0 + broken)).astype(values.dtype), values)

    return bounded


def optimise_on_line(
    settings: BoidsSettings,
    alpha: Acquisition,
    lines: Lines,
    i: int,
    swarm: Swarm,
    bin_sizes: IntArray,
    rng: np.random.Generator,
    is_new: Callable[[FloatArray], bool] = lambda z: True,
    n: int = 0,
) -> FloatArray:
    """LINE-OPT: return the point of least alpha on the front of (alpha, |z - g|, |z - p_i|), started on line i.

    Among the points of the front it is the best new one, if one is new. `n` is the number of data behind alpha: if the
    search would take too long, it is shortened.
    """
    dim = lines.origins.shape[1]
    (search, count), dtype = shortened(settings, candidates(settings, dim), n, dim), _search_dtype(settings)
    if settings.line_optimisation:
        start = lines.sample(i, count, rng, dtype)
        # A coordinate of the subspace stands for as many input coordinates as its bin holds.
        weights = np.sqrt(bin_sizes) if settings.distances == "input" else np.ones(dim)
        targets = np.stack([swarm.leader, swarm.best_positions[i]]).astype(dtype)
        objectives = _with_distances(alpha, targets, weights.astype(dtype))
    else:
        start = rng.uniform(-1.0, 1.0, (count, dim)).astype(dtype)
        objectives = _alone(alpha)
    front = search.minimise(objectives, start, rng)
    ranking = np.argsort(front.values[:, 0], kind="stable")
    ranked = (np.asarray(np.clip(front.points[k], -1.0, 1.0), dtype=np.float64) for k in ranking)
    first = next(ranked)
    return first if is_new(first) else next((z for z in ranked if is_new(z)), first)


def best_allowed(
    settings: BoidsSettings,
    alpha: Acquisition,
    lines: Lines,
    i: int,
    swarm: Swarm,
    repair: Callable[[FloatArray], FloatArray],
    rng: np.random.Generator,
    is_new: Callable[[FloatArray], bool] = lambda z: True,
) -> FloatArray:
    """LINE-OPT where equations hold among the parameters, so that no mutation of an allowed point is allowed.

    Half of the candidates are on line i; the others go from an incumbent along the difference of two particles, which
    keeps linear equations. All are moved to the nearest allowed point before they are judged; the best new one is
    returned, if one is new.
    """
    count = max(1, min(ALLOWED_CANDIDATES, settings.max_candidates) // 2)
    on_line = lines.sample(i, count, rng)
    towards, away = rng.integers(len(swarm), size=(2, count))
    steps = rng.random((count, 1)) * (swarm.positions[towards] - swarm.positions[away])
    incumbents = np.stack([swarm.leader, swarm.best_positions[i]])[rng.integers(2, size=count)]
    points = np.clip(np.concatenate([on_line, incumbents + steps]), -1.0, 1.0)
    allowed = np.array([repair(point) for point in points])
    ranked = allowed[np.argsort(alpha(allowed), kind="stable")]
    return next((z for z in ranked if is_new(z)), np.asarray(ranked[0]))


def candidates(settings: BoidsSettings, dim: int) -> int:
    """Return how many points of the line the search starts from."""
    return min(settings.candidates_per_dim * dim, settings.max_candidates)


def _with_distances(alpha: Acquisition, targets: NDArray[Any], weights: NDArray[Any]) -> Acquisition:
    """Return z -> (alpha, weighted distances to the targets), shape (q, 1 + targets)."""

    def objectives(z: NDArray[Any]) -> NDArray[Any]:
        values = np.empty((len(z), 1 + len(targets)), dtype=z.dtype)
        values[:, 0] = alpha(z)
        for k, target in enumerate(targets, start=1):
            offset = (z - target) * weights
            values[:, k] = np.sqrt(np.einsum("ij,ij->i", offset, offset))
        return values

    return objectives


def _alone(alpha: Acquisition) -> Acquisition:
    """Return z -> (alpha,), shape (q, 1)."""
    return lambda z: alpha(z)[:, None]


def _thompson_dtype(settings: BoidsSettings) -> type[np.floating[Any]]:
    return np.float32 if settings.search_precision == "single" else np.float64


def _search_dtype(settings: BoidsSettings) -> type[np.floating[Any]]:
    """Single precision does not resolve variances near zero: noisy draws and drawn functions can do with it."""
    forgiving = settings.acquisition == "ts-pathwise" or (settings.acquisition == "ts" and settings.ts_noise)
    return _thompson_dtype(settings) if forgiving else np.float64
