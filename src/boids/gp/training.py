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
#: Multiply-adds of one evaluation of the likelihood at the most, for whoever limits them: a refit from the last fit
#: takes about two seconds then. Training from scratch, with eight times as many evaluations, gets an eighth.
MOST_WORK, FROM_SCRATCH = 1.6e9, 8.0


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
    if not is_due(training, last, fitted_at, len(inputs), refit_fraction):
        return None
    likelihood = MarginalLikelihood(surrogate, inputs, outputs, known_noise)
    dim = inputs.shape[1]
    if training == "released":
        return (released or ReleasedTraining())(likelihood, rng)
    if training == "multistart" or last is None:
        starts = [surrogate.default_start(dim), *screened_starts(likelihood, rng, candidates=10, keep=2)]
        return fit(likelihood, starts if last is None else [*starts, last])
    return fit(likelihood, [last], max_evaluations=WARM_EVALUATIONS)


def is_due(
    training: TrainingName,
    last: Hyperparameters | None,
    fitted_at: int,
    count: int,
    refit_fraction: float,
    seen: int | None = None,
) -> bool:
    """Return whether it is time to train again, for a model of `count` data of the `seen` ones; see `train`."""
    grown = (count if seen is None else seen) - fitted_at
    return training != "warm" or last is None or grown >= max(1.0, refit_fraction * count)


def affordable_rows(dim: int, from_scratch: bool) -> int:
    """Return how many data of d dimensions may be trained on, with `MOST_WORK`.

    An evaluation of the likelihood of n data takes n² (2 d + n / 2) multiply-adds.
    """
    work = MOST_WORK / FROM_SCRATCH if from_scratch else MOST_WORK
    # Newton's method on n² (2 d + n / 2) = work, from above; it converges from there.
    n = (2.0 * work) ** (1.0 / 3.0)
    for _ in range(50):
        n -= (n * n * (2.0 * dim + 0.5 * n) - work) / (n * (4.0 * dim + 1.5 * n))
    return max(1, int(n))
