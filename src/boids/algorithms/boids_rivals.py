"""Rival priors for the objective: the one that has predicted best lately is believed.

Ours. With fewer data than inputs the fit hardly says what a prior should have said: whether the inputs matter alike,
whether some are idle, how smooth the function is. Neither the likelihood nor cross-validation tells, since the length
scales were fitted to the same data; the next evaluation does, since nobody has seen it (Dawid, *Prequential approach*,
JRSS A 1984). So several priors are fitted, and each is scored by what it had to say of every evaluation beforehand.

Notation
--------
L       lower Cholesky factor of the data's covariance                       (n, n)
w       L⁻¹ (y - μ): how far each datum was from its prediction by those before it, in deviations       (n,)
S       Σ λ^age log p(y_i | those before it): the score of a prior
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np

from boids.algorithms.boids_settings import BoidsSettings
from boids.algorithms.boids_training import Fit, Training
from boids.gp.model import Surrogate
from boids.gp.posterior import Posterior
from boids.records import FloatArray

#: λ: what was predicted twenty evaluations ago counts a third.
MEMORY = 0.95
#: What the rivals change of the default surrogate: how far the length scales may be apart, and the kernel.
CHANGES: dict[str, dict[str, Any]] = {
    "inputs differ": {"lengthscale_spread": 1.0},
    "inputs alike": {"lengthscale_spread": 0.3},
    "inputs apart": {"lengthscale_spread": None},
    "inputs alike, smooth": {"lengthscale_spread": 0.3, "kernel": "rbf"},
}
NAMES = tuple(CHANGES)


@final
@dataclass(frozen=True, slots=True)
class Rival:
    """The fit with one prior, and the score S of this prior."""

    fit: Fit
    score: float = 0.0

    def judged(self, surprises: FloatArray) -> float:
        """Return S after some more predictions, of which these are log p, in their order (k,)."""
        age = np.arange(len(surprises))[::-1]
        return float(MEMORY ** len(surprises) * self.score + MEMORY**age @ surprises)


def priors(settings: BoidsSettings) -> tuple[Surrogate, ...]:
    """Return what the objective may be modelled by: the rivals, or the surrogate that somebody has chosen."""
    surrogate, default = settings.surrogate, Surrogate.regularised()
    in_sweeps = replace(default, signal_variance=settings.sweep_signal_variance or default.signal_variance)
    if not settings.rivals or surrogate not in (default, in_sweeps):
        return (surrogate,)
    return tuple(replace(surrogate, **changes) for changes in CHANGES.values())


def believed(rivals: Sequence[Rival]) -> int:
    """Return which of the rivals has predicted best."""
    return int(np.argmax([rival.score for rival in rivals]))


def contest(
    train: Training,
    surrogates: Sequence[Surrogate],
    rivals: Sequence[Rival],
    inputs: FloatArray,
    outputs: FloatArray,
    fresh: int,
    seen: int,
    noise: FloatArray | None,
) -> tuple[tuple[Rival, ...], Posterior]:
    """Judge the rivals by the last `fresh` data and train them, if it is time to, and return the best one's process.

    `rivals` is empty before the first training; `seen` counts the data known so far. It is time when the one that is
    believed is to be trained again. The others are trained less often, so that they take no more time than it does.
    """
    training, data = train.settings.training, (inputs, outputs)
    if not rivals:
        rivals = [Rival(train(training, surrogate, *data, None, seen, noise)) for surrogate in surrogates]
    elif train.is_due(training, rivals[believed(rivals)].fit, len(inputs), seen):
        judged = []
        for surrogate, rival in zip(surrogates, rivals, strict=True):
            process = Posterior.condition(surrogate, rival.fit.hyper, *data, noise)
            judged.append(replace(rival, score=rival.judged(log_predictions(process, fresh))))
        patience = np.full(len(judged), len(judged) - 1.0)
        patience[believed(judged)] = 1.0
        rivals = [
            replace(rival, fit=train(training, surrogate, *data, rival.fit, seen, noise, often))
            for surrogate, rival, often in zip(surrogates, judged, patience, strict=True)
        ]
    best = believed(rivals)
    return tuple(rivals), Posterior.condition(surrogates[best], rivals[best].fit.hyper, *data, noise)


def log_predictions(process: Posterior, count: int) -> FloatArray:
    """Return log p of the last `count` data, each given those before it (without the constant).

    With K = L Lᵀ and α = K⁻¹ (y - μ), w = Lᵀ α; the last entries of it need the last rows only.
    """
    begin = len(process.outputs) - count
    corner = process.factor[begin:, begin:]
    w = corner.T @ process.alpha[begin:]
    return np.asarray(-0.5 * w * w - np.log(np.diagonal(corner)))
