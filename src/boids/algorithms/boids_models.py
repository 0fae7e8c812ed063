"""What BOIDS believes of the objective, of the black-box constraints and of where evaluations fail.

The paper has an objective only. Constraints are modelled as in Eriksson & Poloczek, *Scalable Constrained Bayesian
Optimization*, AISTATS 2021 (SCBO), with one kernel for all of them: dozens share a factorisation, and cost little more
than one. Failures are a further function, +1 where an evaluation failed and -1 where it did not, so that crashes that
fill a region are avoided, and crashes that strike at random, which no model explains, are not.

Notation
--------
Z       rows of the current run, in the subspace               (n, d)
y       values; nan where the evaluation failed                (n,)
c       black-box constraints, feasible where all are ≤ 0      (n, C)
b(c)    sign(c) log(1 + |c| / median |c|), over its deviation  (n, C)
v(z)    modelled violation, Σ max(0, b_j(z))                   (q,)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
from numpy.typing import DTypeLike, NDArray

from boids.algorithms.boids_settings import BoidsSettings
from boids.blocks.merit import feasibility_first
from boids.blocks.scaling import Scale, imputed
from boids.gp.model import Hyperparameters, Surrogate
from boids.gp.paths import Path, mean_path
from boids.gp.posterior import Posterior
from boids.gp.training import train
from boids.records import FloatArray, IntArray

#: What an infeasible point's violation is added to: every feasible point is better than every infeasible one.
#: Standardised values stay far below, and single precision still tells violations apart by 1e-5.
INFEASIBLE = 100.0


@final
@dataclass(frozen=True, slots=True)
class Fit:
    """Hyper-parameters and the number of rows that they were fitted to."""

    hyper: Hyperparameters
    fitted_at: int

    def carried(self, surrogate: Surrogate, parent: IntArray) -> Fit:
        """Return the fit for a split subspace, in which coordinate k repeats the old coordinate parent[k].

        A coordinate that becomes k copies needs √k times its length scale for the same correlations.
        """
        copies = np.bincount(parent, minlength=len(self.hyper.lengthscales))
        lengthscales = (self.hyper.lengthscales * np.sqrt(copies))[parent]
        return Fit(surrogate.clipped(replace(self.hyper, lengthscales=lengthscales)), 0)


@final
@dataclass(frozen=True, slots=True)
class Fits:
    """The fits of the three models; None before the first one, or if there is nothing to model."""

    objective: Fit | None = None
    constraints: Fit | None = None
    failures: Fit | None = None

    def carried(self, settings: BoidsSettings, parent: IntArray) -> Fits:
        """Return all fits for a split subspace."""
        return Fits(
            _carried(self.objective, settings.surrogate, parent),
            _carried(self.constraints, CONSTRAINTS, parent),
            _carried(self.failures, FAILURES, parent),
        )


#: The constraints' process: the objective's default, which has been tried more than any other.
CONSTRAINTS = Surrogate.regularised()
#: The process of failures: labels that chance decides are all noise, so the noise is free.
FAILURES = replace(Surrogate.regularised(), noise_bounds=(1e-3, 2.0), noise_prior="none")


@final
@dataclass(frozen=True)
class Data:
    """The rows of the current run.

    Attributes
    ----------
    points
        Z.
    values, constraints, noise
        As in `History`, of these rows.
    """

    points: FloatArray
    values: FloatArray
    constraints: FloatArray | None
    noise: FloatArray | None
    noisy: bool = False

    @property
    def succeeded(self) -> NDArray[np.bool_]:
        """Which evaluations did not fail."""
        return ~np.isnan(self.values)

    def merits(self, values: FloatArray) -> FloatArray:
        """Return what the rows are judged by, given their values: feasibility first."""
        return values if self.constraints is None else feasibility_first(values, self.constraints)


@final
@dataclass(frozen=True)
class Judgement:
    """What the models make of the rows of the current run.

    Attributes
    ----------
    merits
        What incumbents are chosen by, nan where the evaluation failed (n,).
    best_target
        The best row's value on the models' scale.
    to_beat
        A noisy value below this is a success: the best mean less one standard deviation of the noise.
    """

    merits: FloatArray
    best_target: float
    to_beat: float


@final
@dataclass(frozen=True)
class Beliefs:
    """The conditioned models.

    Attributes
    ----------
    objective
        On the scale `scale`.
    targets
        The values of all rows on that scale, failures as the worst of them.
    constraints
        b(c), C functions with one kernel; None without constraints or before the first success.
    failures
        None as long as nothing has failed.
    """

    objective: Posterior
    scale: Scale
    targets: FloatArray
    constraints: Posterior | None = None
    failures: Posterior | None = None

    @classmethod
    def form(cls, settings: BoidsSettings, data: Data, fits: Fits, rng: np.random.Generator) -> tuple[Fits, Beliefs]:
        """Train the models if it is time to, and condition them on the data."""
        filled = imputed(data.values)
        good = data.succeeded
        # Without a success there is nothing to go by but zeros; with the failures apart only successes count.
        used = good if good.any() and settings.failures == "modelled" else np.ones(len(good), dtype=bool)
        scale = Scale.of(filled[used], settings.standardise, settings.flat_spread)
        targets = scale.standardise(filled)
        surrogate = settings.surrogate.for_noise() if data.noisy else settings.surrogate
        noise = None
        if data.noise is not None:
            noise = scale.variance(np.nan_to_num(data.noise[used], nan=0.0))
        objective, process = _learn(settings, surrogate, data.points[used], targets[used], fits.objective, rng, noise)
        fits, beliefs = replace(fits, objective=objective), cls(process, scale, targets)
        if data.constraints is not None and good.any():
            fit, process = _learn(
                settings, CONSTRAINTS, data.points[good], bilog(data.constraints[good]), fits.constraints, rng
            )
            fits, beliefs = replace(fits, constraints=fit), replace(beliefs, constraints=process)
        if settings.failures == "modelled" and not good.all():
            fit, process = _learn(settings, FAILURES, data.points, np.where(good, -1.0, 1.0), fits.failures, rng)
            fits, beliefs = replace(fits, failures=fit), replace(beliefs, failures=process)
        return fits, beliefs

    @property
    def has_limits(self) -> bool:
        """Whether some points are believed to be infeasible or to fail."""
        return self.constraints is not None or self.failures is not None

    def fantasise(self, points: FloatArray) -> Beliefs:
        """Return the beliefs as if `points` had been evaluated and gone as predicted."""
        if len(points) == 0:
            return self
        return replace(
            self,
            objective=self.objective.fantasise(points),
            constraints=None if self.constraints is None else self.constraints.fantasise(points),
            failures=None if self.failures is None else self.failures.fantasise(points),
        )

    def judge(self, data: Data) -> Judgement:
        """Judge the rows: by their values, or if these are noisy by the posterior means."""
        if not data.succeeded.any():
            return Judgement(data.values, 0.0, np.inf)
        targets, to_beat = self.targets, np.inf
        values = data.values
        if data.noisy:
            targets = self.objective.predict(data.points)[0]
            values = np.where(data.succeeded, self.scale.restore(targets), np.nan)
        merits = data.merits(values)
        best = int(np.nanargmin(merits))
        if data.noisy:
            below = targets[best] - np.sqrt(self.objective.hyper.noise_variance)
            to_beat = float(self.scale.restore(below))
        return Judgement(merits, float(targets[best]), to_beat)

    def limits(self, dtype: DTypeLike, centre: FloatArray) -> Limits:
        """Return v(z) as a function, most exact around `centre`."""
        models = [model for model in (self.constraints, self.failures) if model is not None]
        return Limits(tuple(mean_path(model, dtype, centre) for model in models))


@final
@dataclass(frozen=True)
class Limits:
    """The modelled violation v(z) of constraints, and of the wish not to fail."""

    means: tuple[Path, ...]

    def __call__(self, points: NDArray[Any]) -> NDArray[Any]:
        """Return v at points (q, d)."""
        return _violation([mean(points) for mean in self.means], len(points))

    def on_lines(self, origins: FloatArray, directions: FloatArray, t: FloatArray) -> NDArray[Any]:
        """Return v at origins[i] + t[i, j] directions[i], (m, k)."""
        return _violation([mean.on_lines(origins, directions, t) for mean in self.means], *t.shape)


def feasible_first(alpha: NDArray[Any], violation: NDArray[Any]) -> NDArray[Any]:
    """Return alpha where there is no violation, else a number above every alpha that grows with the violation."""
    return np.where(violation > 0.0, np.asarray(INFEASIBLE + violation, dtype=alpha.dtype), alpha)


def bilog(constraints: FloatArray) -> FloatArray:
    """Return b(c): 0 stays 0, what is near 0 is magnified, what is huge no longer drowns the rest."""
    middle = np.median(np.abs(constraints), axis=0)
    middle = np.where(middle > 0.0, middle, np.maximum(np.abs(constraints).max(axis=0), 1e-300))
    squeezed = np.sign(constraints) * np.log1p(np.abs(constraints) / middle)
    spread = squeezed.std(axis=0)
    return np.asarray(squeezed / np.where(spread > 0.0, spread, 1.0))


def _learn(
    settings: BoidsSettings,
    surrogate: Surrogate,
    inputs: FloatArray,
    outputs: FloatArray,
    last: Fit | None,
    rng: np.random.Generator,
    noise: FloatArray | None = None,
) -> tuple[Fit, Posterior]:
    """Fit hyper-parameters if it is time to, and condition a process on data."""
    hyper = train(
        settings.training,
        surrogate,
        inputs,
        outputs,
        None if last is None else last.hyper,
        0 if last is None else last.fitted_at,
        settings.refit_fraction,
        rng,
        noise,
    )
    fit = (
        last
        if hyper is None and last is not None
        else Fit(hyper or surrogate.default_start(inputs.shape[1]), len(inputs))
    )
    return fit, Posterior.condition(surrogate, fit.hyper, inputs, outputs, noise)


def _violation(parts: Sequence[NDArray[Any]], *shape: int) -> NDArray[Any]:
    total: NDArray[Any] = np.zeros(shape)
    for part in parts:
        positive = np.maximum(part, 0.0)
        total = total + (positive.sum(axis=-1) if positive.ndim > len(shape) else positive)
    return total


def _carried(fit: Fit | None, surrogate: Surrogate, parent: IntArray) -> Fit | None:
    return None if fit is None else fit.carried(surrogate, parent)
