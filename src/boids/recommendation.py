"""Which point to report when values are noisy: the lowest posterior mean among the evaluated points.

The lowest *observed* value is the luckiest one, and too good by about as many standard deviations of the noise as
luck had chances. A Gaussian process in the whole cube, with one length scale per coordinate, hears the neighbours too.

The answer depends on the data alone, not on when or how often it was asked for: the hyper-parameters are those of a
fit, always begun afresh, to the longest beginning of the data among 16, 18, 20, … points, each a tenth more than the
one before. Cost: a fit whenever the data have grown by a tenth, and one factorisation per answer. Of very many points
the model sees the best, the latest and the nearest to the best, and the fit no more than it can take in seconds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import final

import numpy as np

from boids.algorithms.boids_subset import local_rows
from boids.blocks.scaling import Scale
from boids.gp.fit import fit
from boids.gp.likelihood import MarginalLikelihood
from boids.gp.model import Hyperparameters, Surrogate
from boids.gp.posterior import Posterior
from boids.gp.training import affordable_rows
from boids.records import FloatArray, Trial

#: Below so many points the lowest observed value is reported: a model would have nothing to go by.
_FEWEST = 8
_FIRST_FIT, _GROWTH = 16, 1.1
_EVALUATIONS = 40
#: Points of the model at the most.
_MOST = 2000


@final
@dataclass(frozen=True)
class Recommendation:
    """The best trial of a noisy run after `told` outcomes, and the posterior mean of its value."""

    told: int
    trial: Trial
    mean: float


@final
class Recommender:
    """Recommends trials of one run; keeps the last fit, which any other recommender would make again."""

    def __init__(self) -> None:
        self._fitted: tuple[tuple[int, ...], Hyperparameters] | None = None

    def recommend(self, trials: Sequence[Trial], told: int) -> Recommendation:
        """Return the feasible trial with the lowest posterior mean, or the least infeasible one if none is feasible."""
        done = [trial for trial in trials if trial.value is not None]
        values = np.array([trial.value for trial in done])
        least = min(trial.violation for trial in done)
        if len(done) > _MOST:
            merits = np.where([trial.violation == least for trial in done], values, np.nan)
            rows = local_rows(np.array([trial.unit for trial in done]), merits, None, None, _MOST)
            done, values = [done[row] for row in rows], values[rows]
        candidates = np.array([trial.violation == least for trial in done])
        means = self._means(done, values) if len(done) >= _FEWEST else values
        best = int(np.argmin(np.where(candidates, means, np.inf)))
        return Recommendation(told, done[best], float(means[best]))

    def _means(self, done: Sequence[Trial], values: FloatArray) -> FloatArray:
        """Return the posterior means of the values."""
        units = np.array([trial.unit for trial in done])
        size = fit_size(min(len(done), max(_FIRST_FIT, affordable_rows(units.shape[1], from_scratch=False))))
        scale = Scale.of(values[:size])
        if not np.isfinite(scale.spread):  # all the same so far: what came after is the news
            scale = Scale.of(values)
        targets = scale.standardise(values)
        known = [trial.noise_variance for trial in done]
        noise = None
        if any(each is not None for each in known):
            noise = scale.variance(np.array([0.0 if each is None else each for each in known]))
        surrogate = Surrogate.regularised().for_noise()
        first = tuple(trial.id for trial in done[:size])
        if self._fitted is None or self._fitted[0] != first:
            first_noise = None if noise is None else noise[:size]
            likelihood = MarginalLikelihood(surrogate, units[:size], targets[:size], first_noise)
            start = surrogate.default_start(units.shape[1])
            self._fitted = (first, fit(likelihood, [start], max_evaluations=_EVALUATIONS))
        posterior = Posterior.condition(surrogate, self._fitted[1], units, targets, noise)
        return scale.restore(posterior.predict(units)[0])


@lru_cache
def fit_size(count: int) -> int:
    """Return how many of `count` points the hyper-parameters are fitted to."""
    size = min(count, _FIRST_FIT)
    while int(np.ceil(size * _GROWTH)) <= count:
        size = int(np.ceil(size * _GROWTH))
    return size
