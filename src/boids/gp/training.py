"""When and how a method trains its Gaussian process while data come in one by one."""

from __future__ import annotations

from typing import Literal

import numpy as np

from boids.gp.fit import ReleasedTraining, fit, screened_starts
from boids.gp.likelihood import MarginalLikelihood
from boids.gp.model import Hyperparameters, Surrogate
from boids.records import FloatArray

TrainingName = Literal["warm", "multistart", "released"]

#: Likelihood evaluations of a refit that starts from the last fit.
WARM_EVALUATIONS = 20


def train(
    training: TrainingName,
    surrogate: Surrogate,
    inputs: FloatArray,
    outputs: FloatArray,
    last: Hyperparameters | None,
    fitted_at: int,
    refit_fraction: float,
    rng: np.random.Generator,
    known_noise: FloatArray | None = None,
    released: ReleasedTraining | None = None,
) -> Hyperparameters | None:
    """Return new hyper-parameters, or None if the last ones are still good enough.

    Parameters
    ----------
    training
        "warm": several starts for the first fit, then L-BFGS-B from the last one whenever the data have grown by
        `refit_fraction`; "multistart": several starts every time; "released": the released BOIDS code's procedure, from
        scratch every time.
    last, fitted_at
        The last hyper-parameters and the number of data they were fitted to.
    released
        Other constants of the released procedure, for methods that have their own.
    """
    likelihood = MarginalLikelihood(surrogate, inputs, outputs, known_noise)
    n, dim = inputs.shape
    if training == "released":
        return (released or ReleasedTraining())(likelihood, rng)
    if training == "multistart" or last is None:
        starts = [surrogate.default_start(dim), *screened_starts(likelihood, rng, candidates=10, keep=2)]
        return fit(likelihood, starts if last is None else [*starts, last])
    if n - fitted_at >= max(1.0, refit_fraction * n):
        return fit(likelihood, [last], max_evaluations=WARM_EVALUATIONS)
    return None
