"""What BOIDS believes of the objective, of the black-box constraints and of where evaluations fail.

Notation
--------
Z       rows of the current run, in the subspace               (n, d)
y       values; nan where the evaluation failed                (n,)
c       black-box constraints, feasible where all are ≤ 0      (n, C)
ρ       weight of violations, see boids_limits.py
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import final

import numpy as np
from numpy.typing import DTypeLike

from boids.algorithms.boids_limits import CONSTRAINTS, FAILURES, Limits, at_stake, margins, penalty_weight, scaled
from boids.algorithms.boids_rivals import Rival, believed, contest, priors
from boids.algorithms.boids_settings import BoidsSettings
from boids.algorithms.boids_training import Fit, Training
from boids.blocks.merit import feasibility_first, violations
from boids.blocks.scaling import Scale, Taming, imputed
from boids.blocks.swarm import Swarm
from boids.gp.model import Surrogate
from boids.gp.paths import mean_path
from boids.gp.posterior import Posterior
from boids.records import BoolArray, FloatArray, IntArray


@final
@dataclass(frozen=True, slots=True)
class Fits:
    """The fits of the three models; None before the first one, or if there is nothing to model.

    Attributes
    ----------
    rivals
        Those of the objective with every prior that may be believed, `objective` among them; empty if there is one
        prior only.
    judged
        How many rows there were when these were scored last.
    """

    objective: Fit | None = None
    constraints: Fit | None = None
    failures: Fit | None = None
    rivals: tuple[Rival, ...] = ()
    judged: int = 0

    def carried(self, settings: BoidsSettings, parent: IntArray) -> Fits:
        """Return all fits for a split subspace."""
        rivals = tuple(replace(r, fit=r.fit.carried(settings.surrogate, parent)) for r in self.rivals)
        return replace(
            self,
            objective=rivals[believed(rivals)].fit if rivals else _carried(self.objective, settings.surrogate, parent),
            constraints=_carried(self.constraints, CONSTRAINTS, parent),
            failures=_carried(self.failures, FAILURES, parent),
            rivals=rivals,
        )


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
    own
        Which rows the method has proposed itself; None if all.
    """

    points: FloatArray
    values: FloatArray
    constraints: FloatArray | None
    noise: FloatArray | None
    noisy: bool = False
    own: BoolArray | None = None

    @property
    def succeeded(self) -> BoolArray:
        """Which evaluations did not fail."""
        return ~np.isnan(self.values)

    def ranked(self) -> FloatArray:
        """Return numbers in the order of the rows: feasibility first, then the values."""
        return self.values if self.constraints is None else feasibility_first(self.values, self.constraints)

    def only(self, rows: IntArray) -> Data:
        """Return some of the rows; itself if these are all."""
        if len(rows) == len(self.values):
            return self
        return Data(
            points=self.points[rows],
            values=self.values[rows],
            constraints=None if self.constraints is None else self.constraints[rows],
            noise=None if self.noise is None else self.noise[rows],
            noisy=self.noisy,
            own=None if self.own is None else self.own[rows],
        )


@final
@dataclass(frozen=True)
class Judgement:
    """What the models make of the rows of the current run.

    Attributes
    ----------
    merits
        What the swarm's incumbents are chosen by, nan where the evaluation failed (n,): the values, or if these are
        noisy their posterior means; with constraints on the models' scale, and with ρ times the violation added.
    best_target, best_merit
        The best row's value on the models' scale, and with ρ times its violation added.
    to_beat
        A noisy value below this is a success: the best mean less one standard deviation of the noise.
    """

    merits: FloatArray
    best_target: float
    best_merit: float
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
        c, C functions with one kernel; None without constraints or before the first success.
    margin
        m, the constraints' safety margins (C,).
    weight
        ρ.
    violation
        Σ max(0, c) of all rows, nan where the evaluation failed; None without constraints.
    failures
        None as long as nothing has failed.
    """

    objective: Posterior
    scale: Scale
    targets: FloatArray
    constraints: Posterior | None = None
    margin: float | FloatArray = 0.0
    weight: float = 0.0
    violation: FloatArray | None = None
    failures: Posterior | None = None

    @classmethod
    def form(
        cls, settings: BoidsSettings, data: Data, fits: Fits, rng: np.random.Generator, swarm: Swarm | None = None
    ) -> tuple[Fits, Beliefs]:
        """Train the models if it is time to, and condition them on the data, or if these are many on those around.

        Around what, the swarm says. What the beliefs say of the rows they say of all of them.
        """
        train = Training(settings, swarm, rng)
        rows = train.rows(data.points, data.ranked(), fits.objective)
        part = data.only(rows)
        good, all_good = part.succeeded, data.succeeded
        # Without a success there is nothing to go by but zeros; with the failures apart only successes count.
        apart = bool(good.any()) and settings.failures == "modelled"
        used = good if apart else np.ones(len(good), dtype=bool)
        filled = imputed(part.values)
        scale = Scale.of(filled[used], settings.standardise, settings.flat_spread)
        # Noise is the same everywhere on the scale of the values only.
        tame = settings.unskew and not data.noisy and data.noise is None
        taming = Taming.of(scale.standardise(filled[used])) if tame else Taming()
        # With constraints the prize is at their edge: the sharper the model, the more often proposals are beyond it.
        candidates = priors(settings) if data.constraints is None else (settings.surrogate,)
        surrogates = [prior.for_noise() if data.noisy else prior for prior in candidates]
        noise = None if part.noise is None else scale.variance(np.nan_to_num(part.noise[used], nan=0.0))
        z, y = part.points if used.all() else part.points[used], taming(scale.standardise(filled[used]))
        seen = int(np.count_nonzero(all_good)) if apart else len(all_good)
        if len(surrogates) > 1:
            fresh = int(np.count_nonzero(rows[used] >= fits.judged))
            rivals, process = contest(train, surrogates, fits.rivals, z, y, fresh, seen, noise)
            judged = fits.judged if rivals is fits.rivals else len(all_good)
            fits = replace(fits, objective=rivals[believed(rivals)].fit, rivals=rivals, judged=judged)
        else:
            fit = train(settings.training, surrogates[0], z, y, fits.objective, seen, noise)
            process = Posterior.condition(surrogates[0], fit.hyper, z, y, noise)
            fits = replace(fits, objective=fit)
        beliefs = cls(process, scale, taming(scale.standardise(imputed(data.values))))
        if not good.any():
            # What was fitted to nothing but failures must not outlive the first success.
            fits = replace(fits, objective=None, rivals=(), judged=0)
        if data.constraints is not None and part.constraints is not None and good.any():
            everywhere = data.constraints[all_good]
            fits, beliefs = beliefs._constrained(
                train, data, everywhere, part.points[good], part.constraints[good], fits
            )
        if settings.failures == "modelled" and not good.all():
            labels = np.where(good, -1.0, 1.0)
            fit = train("warm", FAILURES, part.points, labels, fits.failures, len(all_good))
            process = Posterior.condition(FAILURES, fit.hyper, part.points, labels)
            fits, beliefs = replace(fits, failures=fit), replace(beliefs, failures=process)
        return fits, beliefs

    def _constrained(
        self,
        train: Training,
        data: Data,
        everywhere: FloatArray,
        points: FloatArray,
        constraints: FloatArray,
        fits: Fits,
    ) -> tuple[Fits, Beliefs]:
        """Add a model of the constraints at these points, all of them successes, and say what `everywhere` comes to."""
        c, good = scaled(constraints), data.succeeded
        everywhere = scaled(everywhere, like=constraints)
        seen = int(np.count_nonzero(good))
        fit = train("warm", CONSTRAINTS, points, c[:, at_stake(c)], fits.constraints, seen)
        violation = np.full(len(good), np.nan)
        violation[good] = violations(everywhere)
        process = Posterior.condition(CONSTRAINTS, fit.hyper, points, c, refit_mean=True)
        own = everywhere if data.own is None else everywhere[data.own[good]]
        return replace(fits, constraints=fit), replace(
            self,
            constraints=process,
            margin=margins(process),
            # The weight follows what the method's own proposals have come to.
            weight=penalty_weight(own, train.settings.n_init),
            violation=violation,
        )

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
        """Judge the rows by their values, or if these are noisy by the posterior means."""
        good = data.succeeded
        if not good.any():
            return Judgement(data.values, 0.0, 0.0, np.inf)
        targets = mean_path(self.objective)(data.points) if data.noisy else self.targets
        values = np.where(good, self.scale.restore(targets), np.nan) if data.noisy else data.values
        merits = values if self.violation is None else np.where(good, targets, np.nan) + self.weight * self.violation
        best = int(np.nanargmin(merits))
        lucky = targets[best] - np.sqrt(self.objective.hyper.noise_variance)
        extra = 0.0 if self.violation is None else self.weight * float(self.violation[best])
        to_beat = float(self.scale.restore(lucky)) if data.noisy else np.inf
        return Judgement(merits, float(targets[best]), float(targets[best]) + extra, to_beat)

    def limits(self, dtype: DTypeLike, centre: FloatArray) -> Limits | None:
        """Return the modelled cost of violating constraints and of failing; None if there is nothing of the kind."""
        return Limits.of(self.constraints, self.margin, self.weight, self.failures, dtype, centre)


def _carried(fit: Fit | None, surrogate: Surrogate, parent: IntArray) -> Fit | None:
    return None if fit is None else fit.carried(surrogate, parent)
