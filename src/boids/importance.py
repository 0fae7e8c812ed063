"""Which parameters mattered: how steep a Gaussian process, fitted to a run, is along each of them.

The derivative-based measure of Sobol' & Kucherenko, *Derivative based global sensitivity measures and their link with
global sensitivity indices*, Math. Comput. Simul. 79 (2009), with two differences: the derivatives are those of a fitted
model, and the average is over the evaluated points, not over the box. It therefore speaks of where the run has been.

Notation
--------
U, y    evaluated points (n, D) in [-1, 1]^D and their values, standardised (n,)
m(u)    the model's posterior mean
s_k     √ mean_i (∂m/∂u_k (u_i))², then scaled so that Σ_k s_k = 1            (D,)
Q²      1 - Σ (y_i - m₋(u_i))² / Σ (y_i - ȳ)², with m₋ fitted without the fold of i

Q² says whether the scores mean anything: it is near 1 where the model foresees evaluations that it has not seen, and at
or below 0 where it foresees nothing. If a few values, penalties say, are so large that they hide all others, the model
foresees little; it is then fitted to the ranks of the values, and the better of the two is kept. Cost: six or eleven
fits from two starts each, n³ + 2 n² D multiply-adds per step, with n at most 500.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
from scipy.special import ndtri
from scipy.stats import rankdata

from boids.blocks.scaling import standardise
from boids.gp.fit import fit
from boids.gp.likelihood import MarginalLikelihood
from boids.gp.model import Surrogate
from boids.gp.posterior import Posterior
from boids.records import FloatArray, IntArray

#: With fewer successful evaluations nothing can be said.
FEWEST = 5
#: With more of them, the best half of so many is used, and a spread of the others.
MOST = 500
#: Parts of the data that are held out in turn for Q².
FOLDS = 5
#: Below this Q² the ranks of the values are tried in their place.
GOOD = 0.5
#: Likelihood evaluations of the fit that gives the scores, and of those that only check it.
_STEPS, _CHECK_STEPS = 100, 30
#: Coordinates that a fit may begin with as relevant, and the length scale that they begin with.
_RELEVANT, _SHORT = 10, 1.0


@final
@dataclass(frozen=True, eq=False)
class Importance:
    """How much each parameter mattered to the fitted model.

    Attributes
    ----------
    labels
        The parameters' names, in the order of the space; empty if nothing can be said.
    scores
        One share per name, none negative, that sum to 1.
    n_used
        Number of evaluations that the model was fitted to.
    held_out
        Q², the share of the variance of held-out evaluations that the model explains: 1 is perfect, 0 or less says that
        the scores mean nothing.
    by_rank
        Whether the model was fitted to the ranks of the values, not to the values themselves.
    reason
        Why nothing can be said, "" otherwise.
    """

    labels: tuple[str, ...]
    scores: FloatArray
    n_used: int
    held_out: float = float("nan")
    by_rank: bool = False
    reason: str = ""

    def top(self, count: int) -> list[tuple[str, float]]:
        """Return the names and scores of the `count` most important parameters, the most important first."""
        order = np.argsort(-self.scores, kind="stable")[: max(0, count)]
        return [(self.labels[i], float(self.scores[i])) for i in order]


def parameter_importance(units: Any, values: Any, labels: Sequence[str] | None = None, owner: Any = None) -> Importance:
    """Fit a Gaussian process to a run and return how steep it is along each parameter at the evaluated points.

    What it does not tell: it is the sensitivity of a model around the points that were evaluated, not of the objective
    over the whole box; coordinates that were only ever moved together share the credit; and what does not matter here
    may matter elsewhere.

    Parameters
    ----------
    units
        Evaluated points in the signed cube (n, D).
    values
        Their values (n,); nan, ±inf and None mark failures, which are left out.
    labels
        Names of the D coordinates; "x[0]", "x[1]", … if not given.
    owner
        Which parameter each coordinate belongs to (D,), as in `Space.owner`. The indicators of a category, "act=relu"
        and "act=tanh", share a score; the components of a vector, "w[0]" and "w[1]", have their own.

    Examples
    --------
    >>> units = np.random.default_rng(0).uniform(-1, 1, (60, 10))
    >>> parameter_importance(units, units[:, 7] ** 2).top(1)[0][0]
    'x[7]'
    """
    points, outcomes, names, groups = _checked(units, values, labels, owner)
    good = np.isfinite(outcomes) & np.isfinite(points).all(axis=1)
    points, outcomes = points[good], outcomes[good]
    if len(outcomes) < FEWEST:
        return _nothing(len(outcomes), f"{len(outcomes)} of the {FEWEST} successful evaluations that it takes")
    rows = _representatives(outcomes)
    points, outcomes = points[rows], outcomes[rows]
    targets, by_rank = standardise(outcomes), False
    if outcomes.min() == outcomes.max():
        return _nothing(len(outcomes), "all evaluations have the same value")
    held_out = _explained_when_held_out(points, targets)
    if held_out < GOOD:
        ranks = standardise(_normal_scores(outcomes))
        explained = _explained_when_held_out(points, ranks)
        if explained > held_out:
            targets, held_out, by_rank = ranks, explained, True

    gradients = _model(points, targets, _STEPS).mean_gradient(points)
    scores = np.sqrt(np.bincount(groups, weights=np.mean(gradients**2, axis=0)))
    total = float(scores.sum())
    if not total > 0.0:
        return _nothing(len(outcomes), "the fitted model is flat")
    return Importance(names, scores / total, len(outcomes), held_out, by_rank)


def _nothing(n_used: int, reason: str) -> Importance:
    return Importance((), np.empty(0), n_used, reason=reason)


def _model(points: FloatArray, targets: FloatArray, steps: int) -> Posterior:
    """Return the process fitted to the data; it may call as much of them noise as it likes."""
    surrogate = Surrogate.regularised().for_noise()
    start = surrogate.default_start(points.shape[1])
    # From equal length scales a fit hardly finds a parameter that acts on both sides alike, as in u²: one that it is
    # shown, it keeps if the data say so.
    lengthscales = np.full_like(start.lengthscales, 4.0 * np.sqrt(points.shape[1]))
    lengthscales[np.argsort(-_explained_alone(points, targets), kind="stable")[:_RELEVANT]] = _SHORT
    starts = [start, replace(start, lengthscales=lengthscales)]
    hyper = fit(MarginalLikelihood(surrogate, points, targets), starts, max_evaluations=steps)
    return Posterior.condition(surrogate, hyper, points, targets)


def _explained_alone(points: FloatArray, targets: FloatArray) -> FloatArray:
    """Return the share of the targets' variance (D,) that a parabola in each coordinate alone explains."""
    linear = _directions(points - points.mean(axis=0))
    square = points**2 - np.mean(points**2, axis=0)
    square = _directions(square - linear * np.sum(linear * square, axis=0))
    centred = targets - targets.mean()
    explained: FloatArray = (centred @ linear) ** 2 + (centred @ square) ** 2
    return explained / max(float(centred @ centred), np.finfo(float).tiny)


def _directions(columns: FloatArray) -> FloatArray:
    """Return the columns with length 1, or 0 for those that hardly vary."""
    lengths = np.sqrt(np.sum(columns**2, axis=0))
    return np.where(lengths > 1e-9, columns / np.maximum(lengths, 1e-9), 0.0)


def _explained_when_held_out(points: FloatArray, targets: FloatArray) -> float:
    """Return Q². Every fold is fitted from scratch: a start from the full fit would have seen what is held out."""
    fold = np.arange(len(targets)) % FOLDS
    errors = np.empty_like(targets)
    for k in range(FOLDS):
        held = fold == k
        means, _ = _model(points[~held], targets[~held], _CHECK_STEPS).predict(points[held])
        errors[held] = targets[held] - means
    total = float(np.sum((targets - targets.mean()) ** 2))
    return 1.0 - float(errors @ errors) / total if total > 0.0 else 0.0


def _normal_scores(values: FloatArray) -> FloatArray:
    """Return normal quantiles of the values' ranks, equal values sharing theirs."""
    scores: FloatArray = ndtri((rankdata(values) - 0.5) / len(values))
    return scores


def _representatives(values: FloatArray) -> IntArray:
    """Return the rows to fit: all of them or, of too many, the best and an even spread of the others by rank."""
    if len(values) <= MOST:
        return np.arange(len(values))
    order = np.argsort(values, kind="stable")
    best, others = order[: MOST // 2], order[MOST // 2 :]
    spread = others[np.linspace(0, len(others) - 1, MOST - len(best)).round().astype(np.int64)]
    return np.sort(np.concatenate([best, spread]))


def _checked(
    units: Any, values: Any, labels: Sequence[str] | None, owner: Any
) -> tuple[FloatArray, FloatArray, tuple[str, ...], IntArray]:
    """Return the points, the values, the parameters' names and the number of the parameter of each coordinate."""
    points = np.asarray(units, dtype=float)
    outcomes = np.array([np.nan if value is None else value for value in values], dtype=float)
    if points.size == 0 and not len(outcomes):  # no evaluations: whatever the shape, there is nothing to say
        points = np.empty((0, len(labels) if labels is not None else points.shape[-1] if points.ndim == 2 else 0))
    if points.ndim != 2 or len(points) != len(outcomes):
        raise ValueError(
            f"units must be a matrix with a row for each of the {len(outcomes)} values, got the shape {points.shape}."
        )
    dim = points.shape[1]
    names = [f"x[{i}]" for i in range(dim)] if labels is None else [str(label) for label in labels]
    owners = np.arange(dim) if owner is None else np.asarray(owner)
    if len(names) != dim or owners.shape != (dim,):
        raise ValueError(
            f"labels and owner must have an entry for each of the {dim} coordinates, "
            f"got {len(names)} labels and owners of the shape {owners.shape}."
        )
    groups, parameters = bars(names, owners)
    return points, outcomes, parameters, groups


def bars(labels: Sequence[str], owner: Any) -> tuple[IntArray, tuple[str, ...]]:
    """Return which score each coordinate goes into (D,), and the scores' names.

    The indicators of a category, "act=relu" and "act=tanh", go into one, "act"; the components of a vector, "w[0]" and
    "w[1]", have their own.
    """
    keys = [(number, label.partition("=")[0]) for number, label in zip(np.asarray(owner).tolist(), labels, strict=True)]
    members: dict[tuple[int, str], list[int]] = {}
    for coordinate, key in enumerate(keys):
        members.setdefault(key, []).append(coordinate)
    groups = np.empty(len(keys), dtype=np.int64)
    for place, coordinates in enumerate(members.values()):
        groups[coordinates] = place
    # A name that stands alone may have a "=" of its own.
    names = (stem if len(group) > 1 else labels[group[0]] for (_, stem), group in members.items())
    return groups, tuple(names)
