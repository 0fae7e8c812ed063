"""When and on which data BOIDS trains a model, and what it keeps of the training."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import final

import numpy as np

from boids.algorithms.boids_settings import BoidsSettings
from boids.algorithms.boids_subset import local_rows
from boids.blocks.merit import violations
from boids.blocks.swarm import Swarm
from boids.gp.model import Hyperparameters, Surrogate
from boids.gp.posterior import Posterior
from boids.gp.training import TrainingName, affordable_rows, is_due, train
from boids.records import FloatArray, IntArray


@final
@dataclass(frozen=True, slots=True)
class Fit:
    """Hyper-parameters, and the number of rows that there were at the time (that they were fitted to, if fewer)."""

    hyper: Hyperparameters
    fitted_at: int

    def carried(self, surrogate: Surrogate, parent: IntArray) -> Fit:
        """Return the fit for a split subspace, in which coordinate k repeats the old coordinate parent[k].

        A coordinate that becomes k copies needs √k times its length scale for the same correlations.
        """
        copies = np.bincount(parent, minlength=len(self.hyper.lengthscales))
        lengthscales = (self.hyper.lengthscales * np.sqrt(copies))[parent]
        inside = np.clip(lengthscales, *surrogate.lengthscale_bounds)  # the variances are those of before
        return Fit(replace(self.hyper, lengthscales=inside), 0)


@final
@dataclass(frozen=True)
class Training:
    """How models are trained while the search is where the swarm is; None before there is one."""

    settings: BoidsSettings
    swarm: Swarm | None
    rng: np.random.Generator

    def rows(self, points: FloatArray, merits: FloatArray, last: Fit | None) -> IntArray:
        """Return which rows of the data the models are made of, at most `max_points`, in ascending order."""
        limit = self.settings.max_points
        if limit is None or len(points) <= limit:
            return np.arange(len(points))
        lengthscales = None if last is None else last.hyper.lengthscales
        return local_rows(points, merits, self.swarm, lengthscales, limit)

    def is_due(self, training: TrainingName, last: Fit, count: int, seen: int, patience: float = 1.0) -> bool:
        """Whether a model of `count` data is to be trained again; `patience` multiplies the news that it takes."""
        fraction = self.settings.refit_fraction * patience
        return is_due(training, last.hyper, last.fitted_at, count, fraction, seen)

    def __call__(
        self,
        training: TrainingName,
        surrogate: Surrogate,
        inputs: FloatArray,
        outputs: FloatArray,
        last: Fit | None,
        seen: int,
        noise: FloatArray | None = None,
        patience: float = 1.0,
    ) -> Fit:
        """Return the last fit, or a new one if it is time for it; `seen` counts the data known so far."""
        if last is not None and not self.is_due(training, last, len(inputs), seen, patience):
            return last
        known, dim = None if last is None else last.hyper, inputs.shape[1]
        from_scratch = known is None or training != "warm"
        if self.settings.max_points is None or len(inputs) <= affordable_rows(dim, from_scratch):
            hyper = train(training, surrogate, inputs, outputs, known, 0, 0.0, self.rng, noise)
            return Fit(hyper or surrogate.default_start(dim), seen)
        if training == "warm" and known is None:
            # One start, where the priors are highest, on more data rather than many starts on few; the next proposal
            # goes on from there.
            known, seen = surrogate.default_start(dim), 1
        merits = outputs if outputs.ndim == 1 else violations(outputs)
        most = affordable_rows(dim, training != "warm")
        rows = local_rows(inputs, merits, self.swarm, None if last is None else last.hyper.lengthscales, most)
        part = None if noise is None else noise[rows]
        hyper = train(training, surrogate, inputs[rows], outputs[rows], known, 0, 0.0, self.rng, part)
        hyper = hyper or surrogate.default_start(dim)
        if outputs.ndim == 1:  # else the means are never those of the fit
            # The rows trained on are better than most; the mean is for all.
            spread = slice(None, None, -(-len(inputs) // most))
            part = None if noise is None else noise[spread]
            thinned = Posterior.condition(surrogate, hyper, inputs[spread], outputs[spread], part, refit_mean=True)
            hyper = replace(hyper, mean=float(thinned.hyper.mean))
        return Fit(hyper, seen)
