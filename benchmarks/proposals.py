"""One proposal of BOIDS in the middle of a run, with as many data in as many dimensions as wanted, taken apart.

Notation
--------
n, d    data of the model, dimension of the space that it is in
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from benchmarks.machine import Numbers, calibration, peak_megabytes, processor_clock
from boids.algorithms import Boids
from boids.algorithms.boids_state import BoidsState
from boids.gp.likelihood import MarginalLikelihood
from boids.gp.posterior import Posterior
from boids.gp.slopes import Slopes
from boids.records import Domain, History

PHASES = ("fit", "select", "optimise")
#: Where this share of the data is newer than the last fit, as in a run, a model is trained again.
NEWER = 0.02


@dataclass(frozen=True)
class Moment:
    """A run between two proposals, once with the model's last training behind it and once with one due."""

    method: Boids
    history: History
    fitted: BoidsState
    due: BoidsState

    @classmethod
    def of(cls, n: int, d: int, **settings: Any) -> Moment:
        """Return a run in the input space with n random data: the most that d dimensions can cost."""
        rng, method = np.random.default_rng(0), Boids(embedding=False, sweep_from=None, **settings)
        units = rng.uniform(-1.0, 1.0, (n, d))
        active = units[:, : min(30, d)] - 0.3
        values = np.sum(active**2 - 0.1 * np.cos(9.0 * active), axis=1)
        history, state = History(units, values), method.init(Domain(d), 10 * n, rng)
        state = replace(state, queue=state.queue[:0], asked=n)
        earlier = _with_rows(state, n - math.ceil(NEWER * n))
        # The first of these trains from scratch; the second, as proposals in a run, from there on.
        earlier, _ = method.ask(earlier, history, [], rng)
        due = _with_rows(earlier, n)
        fitted, _ = method.ask(due, history, [], rng)
        return cls(method, history, fitted, due)

    def propose(self, state: BoidsState, seed: int) -> Numbers:
        """Return the seconds by phase of one proposal."""
        with processor_clock():
            _, proposal = self.method.ask(state, self.history, [], np.random.default_rng(seed))
        return dict(proposal.times)

    def posterior(self) -> Posterior:
        """Return the model that the next proposal would make, of standardised values."""
        fit, values = self.fitted.fits.objective, self.history.values
        if fit is None:
            raise RuntimeError("A proposal was to leave a fitted model, and left none.")
        standard = (values - values.mean()) / values.std()
        return Posterior.condition(self.method.surrogate, fit.hyper, self.history.units, standard)


def median_times(moment: Moment, repeats: int) -> Numbers:
    """Return the median seconds of every phase, and of one refit, with how many steps they took."""
    plain, steps = [], []
    for seed in range(repeats):
        with counted() as count:
            plain.append(moment.propose(moment.fitted, seed))
        steps.append(count["gradients"])
    with counted() as count:
        refits = [moment.propose(moment.due, seed)["fit"] for seed in range(min(2, repeats))]
    found = {phase: float(np.median([times[phase] for times in plain])) for phase in PHASES}
    return {
        **found,
        "whole": float(np.median([sum(times.values()) for times in plain])),
        "refit": float(np.median(refits)) - found["fit"],
        "gradients": float(np.median(steps)),
        "likelihoods": count["likelihoods"] / len(refits),
    }


def case(n: int, d: int, repeats: int) -> Numbers:
    """Measure proposals of one size; meant for a process of its own, whose peak memory it reports."""
    before, moment = calibration(), Moment.of(n, d)
    times = median_times(moment, repeats)
    kernel = 0.5 * (before + calibration())
    return {"n": n, "d": d, **times, "megabytes": peak_megabytes(), "kernel": kernel}


@contextmanager
def counted() -> Iterator[dict[str, int]]:
    """Count the gradients of the acquisition function and the evaluations of the likelihood."""
    count = {"gradients": 0, "likelihoods": 0}
    slopes, likelihood = Slopes.__call__, MarginalLikelihood.__call__

    def counting_slopes(self: Slopes, points: Any) -> Any:
        count["gradients"] += len(points)
        return slopes(self, points)

    def counting_likelihood(self: MarginalLikelihood, *arguments: Any, **options: Any) -> Any:
        count["likelihoods"] += 1
        return likelihood(self, *arguments, **options)

    Slopes.__call__, MarginalLikelihood.__call__ = counting_slopes, counting_likelihood  # type: ignore[method-assign]
    try:
        yield count
    finally:
        Slopes.__call__, MarginalLikelihood.__call__ = slopes, likelihood  # type: ignore[method-assign]


def _with_rows(state: BoidsState, n: int) -> BoidsState:
    return replace(state, rows=np.arange(n), owners=np.full(n, -1))
