"""What TuRBO, BAxUS and standard BO share: a Gaussian process, drawn from at candidates, or its expected improvement.

Thompson, *Biometrika* 1933; Eriksson et al. (TuRBO), NeurIPS 2019, section 2.

Notation
--------
Z, y    points of the model's space (n, d) and values (n,), nan where the evaluation failed
C       candidates                                              (q, d)
c       best point of Z: by value, or by mean if values are noisy
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, Literal, final

import numpy as np

from boids.algorithms.boids_models import Data
from boids.algorithms.boids_training import Fit
from boids.blocks.candidates import box_candidates
from boids.blocks.maximise import LogImprovement, around, maximise
from boids.blocks.scaling import Scale, imputed
from boids.blocks.trust_region import is_success
from boids.errors import MethodError
from boids.gp.fit import ReleasedTraining, fit
from boids.gp.joint import SamplerName, joint_draw
from boids.gp.likelihood import MarginalLikelihood
from boids.gp.linalg import blas_threads
from boids.gp.model import Surrogate
from boids.gp.posterior import Posterior
from boids.gp.slopes import Slopes
from boids.gp.training import WARM_EVALUATIONS, train
from boids.records import BoolArray, FloatArray, History, IntArray, Outcome, Proposal
from boids.settings import check_settings, setting

#: A standard deviation of the values below this is none, in the original programs.
ORIGINAL_FLAT = 1e-6
#: Points of others, such as earlier trials, that a model learns from at the most: its cost grows with n³.
MOST_GUESTS = 1000


@dataclass(frozen=True)
class ThompsonSettings:
    """Settings of the model and of the draws."""

    original: bool = setting(False, "ours: True restores the original's training, sampler and rounding of flat values")
    # Surrogate
    surrogate: Surrogate = setting(Surrogate(), "paper: Matérn-5/2 ARD")
    training: Literal["warm", "multistart", "adam"] = setting(
        "warm",
        "ours: L-BFGS-B from the last fit and from the default; original: 50 steps of Adam, from scratch every time",
    )
    refit_fraction: float = setting(0.02, "ours: refit when the data have grown by this share (warm training)", least=0)
    # Thompson sampling
    candidates_per_dim: int = setting(100, "original: min(100 d, 5000) candidates", least=1)
    max_candidates: int = setting(5000, "original", least=1)
    ts_sampler: SamplerName = setting(
        "auto", "ours: exact for up to 500 candidates, else pathwise; original: of rank 100 beyond 2000 candidates"
    )
    ts_noise: bool = setting(True, "original: draws include the observation noise")
    path_features: int = setting(1024, "ours: random features of a pathwise draw", least=1)

    def __post_init__(self) -> None:
        check_settings(self)
        if self.original:
            force(self, training="adam", ts_sampler="lowrank-100")

    @property
    def procedure(self) -> ReleasedTraining:
        """The constants of the training by Adam: one start, 50 steps."""
        return ReleasedTraining(configurations=1, trained=1)

    def count(self, dim: int) -> int:
        """Return the number of candidates in d dimensions."""
        return min(self.candidates_per_dim * dim, self.max_candidates)


def force(settings: Any, **values: Any) -> None:
    """Set fields of frozen settings to the original's values; an error if they were given others."""
    defaults = {f.name: f.default for f in fields(settings)}
    for name, value in values.items():
        if getattr(settings, name) not in (defaults[name], value):
            raise MethodError(f"original=True means {name}={value!r}; leave {name} out, or original.")
        object.__setattr__(settings, name, value)


def is_improvement(proposal: Proposal, outcome: Outcome, history: History, rows: IntArray, threshold: float) -> bool:
    """Whether an outcome is better than the best of `rows` that was known when its proposal was made.

    The memo has the number of outcomes known then, and the value `to_beat` if values are noisy, for the best of these
    is likely to be luck.
    """
    known, to_beat = proposal.memo["known"], proposal.memo["to_beat"]
    if isinstance(to_beat, float):
        return outcome.value < to_beat
    earlier = history.values[rows[rows < known]] if isinstance(known, int) else history.values[rows]
    return is_success(outcome.value, float(np.nanmin(earlier, initial=np.inf)), threshold)


def with_guest(rows: IntArray, history: History) -> IntArray:
    """Return the rows with the last one of the history, if there is room or if it is the best of them."""
    value, others = history.values[-1], history.values[rows]
    if len(rows) >= MOST_GUESTS and not value < np.nanmin(others, initial=np.inf):
        return rows
    return np.append(rows, len(history) - 1)


@final
@dataclass(frozen=True)
class Model:
    """A Gaussian process conditioned on data.

    Attributes
    ----------
    posterior
        On the scale `scale`.
    best
        c, a row of the data.
    lowest
        What is known to be reached there, on the scale `scale`.
    to_beat
        A noisy value below this is a success: the best mean less one standard deviation of the noise.
    """

    settings: ThompsonSettings
    posterior: Posterior
    scale: Scale
    best: int
    lowest: float
    to_beat: float

    @classmethod
    def learn(
        cls, settings: ThompsonSettings, data: Data, last: Fit | None, rng: np.random.Generator
    ) -> tuple[Fit | None, Model]:
        """Train the model if it is time to, and condition it on the data; failures count as the worst value."""
        filled = imputed(data.values)
        scale = Scale.of(filled, "median", ORIGINAL_FLAT if settings.original else 0.0)
        targets = scale.standardise(filled)
        surrogate = settings.surrogate.for_noise() if data.noisy else settings.surrogate
        noise = None if data.noise is None else scale.variance(np.nan_to_num(data.noise, nan=0.0))
        trained = _trained(settings, surrogate, data.points, targets, last, rng, noise)
        posterior = Posterior.condition(surrogate, trained.hyper, data.points, targets, noise)
        means = posterior.predict(data.points)[0] if data.noisy else targets
        good = data.succeeded
        best = int(np.argmin(np.where(good, means, np.inf)))
        lucky = means[best] - math.sqrt(trained.hyper.noise_variance)
        model = cls(settings, posterior, scale, best, float(means[best]), float(scale.restore(lucky)))
        # What was fitted to nothing but failures must not outlive the first success.
        return trained if good.any() else None, model

    @property
    def centre(self) -> FloatArray:
        """c (d,)."""
        return np.array(self.posterior.inputs[self.best])

    @property
    def lengthscales(self) -> FloatArray:
        """ℓ (d,)."""
        return self.posterior.hyper.lengthscales

    def draw(self, candidates: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Draw the objective at the candidates (q,), in its own units."""
        settings = self.settings
        sample = joint_draw(
            self.posterior,
            candidates,
            rng,
            settings.ts_sampler,
            with_noise=settings.ts_noise,
            features=settings.path_features,
            centre=self.centre,
        )
        return self.scale.restore(sample) if np.isfinite(self.scale.spread) else sample

    def most_improving(
        self,
        low: FloatArray,
        high: FloatArray,
        pending: FloatArray,
        rng: np.random.Generator,
        raw: int,
        starts: int,
        allowed: Callable[[FloatArray], BoolArray] | None = None,
    ) -> FloatArray:
        """Return the point of greatest expected improvement in a box (d,).

        Parameters
        ----------
        pending
            Points that are taken to turn out as predicted (k, d).
        raw, starts
            Candidates all over the box, as many around the best point, and how many of all of them are climbed from.
        allowed
            Which points (q, d) may be proposed; None if all.
        """
        posterior, lowest = self.posterior.fantasise(pending), self.lowest
        if len(pending):
            # What is on its way must be beaten, too; else the same point would be best again.
            lowest = min(lowest, float(self.posterior.predict(pending)[0].min()))
        middle, half = 0.5 * (low + high), 0.5 * (high - low)
        slopes = Slopes.of(posterior)

        # The search knows the box as [-1, 1]^d.
        def moments(t: FloatArray) -> tuple[FloatArray, FloatArray]:
            return posterior.predict(middle + half * t)

        def moment_slopes(t: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
            mean, variance, mean_slope, variance_slope = slopes(middle + half * t)
            return mean, variance, mean_slope * half, variance_slope * half

        with blas_threads(len(posterior.inputs)):
            nearby = around(((self.centre - middle) / half)[None, :], raw, rng)
            t = maximise(
                LogImprovement(moments, moment_slopes, lowest),
                np.vstack([box_candidates(-np.ones(len(low)), np.ones(len(low)), raw, rng), nearby]),
                rng,
                starts=starts,
                allowed=None if allowed is None else lambda points: allowed(middle + half * points),
            )
        return np.clip(middle + half * t, low, high)


def _trained(
    settings: ThompsonSettings,
    surrogate: Surrogate,
    inputs: FloatArray,
    outputs: FloatArray,
    last: Fit | None,
    rng: np.random.Generator,
    noise: FloatArray | None,
) -> Fit:
    """Return the last fit, or a new one if there are new data and it is time for it."""
    if last is not None and last.fitted_at == len(inputs):
        return last
    if last is not None and settings.training == "warm":
        if len(inputs) - last.fitted_at < max(1.0, settings.refit_fraction * len(inputs)):
            return last
        # From the default as well: without priors the last fit may have found a length scale near zero, which explains
        # any data, and would never leave it.
        likelihood = MarginalLikelihood(surrogate, inputs, outputs, noise)
        starts = [last.hyper, surrogate.default_start(inputs.shape[1])]
        return Fit(fit(likelihood, starts, max_evaluations=WARM_EVALUATIONS), len(inputs))
    hyper = train(
        "released" if settings.training == "adam" else settings.training,
        surrogate,
        inputs,
        outputs,
        None if last is None else last.hyper,
        0,
        settings.refit_fraction,
        rng,
        noise,
        settings.procedure,
    )
    return Fit(hyper or surrogate.default_start(inputs.shape[1]), len(inputs))
