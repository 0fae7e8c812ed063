"""Fitting the hyper-parameters: L-BFGS-B with warm and multiple starts, and the procedure of the released BOIDS code.

The released procedure (the one of BAxUS, too): 50 random configurations, the 5 with the best likelihood trained by 50
steps of Adam (Kingma & Ba, ICLR 2015), and the winner taken by the loss *averaged over the steps*.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import Bounds, minimize

from boids.gp.likelihood import MarginalLikelihood
from boids.gp.linalg import blas_threads
from boids.gp.model import Hyperparameters, Mean, Surrogate
from boids.records import FloatArray


def fit(
    likelihood: MarginalLikelihood, starts: Sequence[Hyperparameters], max_evaluations: int = 50
) -> Hyperparameters:
    """Return the best local maximiser of log likelihood + log prior over the given starts.

    Each start runs L-BFGS-B on θ = logarithms, within the surrogate's bounds, with at most `max_evaluations`
    evaluations of the likelihood.
    """
    surrogate = likelihood.surrogate
    n, dim = likelihood.inputs.shape
    low, high = surrogate.theta_bounds(dim)

    best: tuple[float, FloatArray, Mean] = (math.inf, surrogate.pack(surrogate.clipped(starts[0])), starts[0].mean)

    def loss(theta: FloatArray) -> tuple[float, FloatArray]:
        nonlocal best
        evaluation = likelihood(theta)
        prior, prior_gradient = surrogate.log_prior(theta, dim)
        value = -(evaluation.value + prior) / n
        if value < best[0]:
            best = (value, theta.copy(), evaluation.mean)
        return value, -(evaluation.gradient + prior_gradient) / n

    with blas_threads(n):
        for start in starts:
            theta = surrogate.pack(surrogate.clipped(start))
            minimize(
                loss,
                theta,
                jac=True,
                method="L-BFGS-B",
                bounds=Bounds(low, high),
                options={"maxfun": max_evaluations, "maxiter": max_evaluations, "ftol": 1e-7, "gtol": 1e-5},
            )
    _, theta, mean = best
    return surrogate.unpack(np.clip(theta, low, high), mean)


def screened_starts(
    likelihood: MarginalLikelihood, rng: np.random.Generator, candidates: int, keep: int
) -> list[Hyperparameters]:
    """Return the `keep` best of `candidates` random isotropic configurations, drawn log-uniformly in the bounds."""
    surrogate = likelihood.surrogate
    n, dim = likelihood.inputs.shape
    low, high = surrogate.theta_bounds(dim)
    drawn = []
    with blas_threads(n):
        for _ in range(candidates):
            theta = rng.uniform(low, high)
            theta[:dim] = theta[0]
            value = likelihood(theta).value + surrogate.log_prior(theta, dim)[0]
            drawn.append((value, surrogate.unpack(theta)))
    drawn.sort(key=lambda pair: -pair[0])
    return [hyper for _, hyper in drawn[:keep]]


@dataclass(frozen=True)
class ReleasedTraining:
    """Constants of the released procedure."""

    configurations: int = 50
    trained: int = 5
    steps: int = 50
    learning_rate: float = 0.1

    def __call__(self, likelihood: MarginalLikelihood, rng: np.random.Generator) -> Hyperparameters:
        """Train from scratch and return the winner's final hyper-parameters."""
        n, dim = likelihood.inputs.shape
        with blas_threads(n):
            starts = self._starts(likelihood.surrogate, dim, rng)
            thetas = [likelihood.surrogate.pack(start) for start in starts]
            losses = [
                -likelihood(theta, mean=0.0).value - likelihood.surrogate.log_prior(theta, dim)[0] for theta in thetas
            ]
            chosen = np.argsort(losses, kind="stable")[: self.trained]
            runs = [self._train(likelihood, starts[i]) for i in chosen]
        return min(runs, key=lambda run: run[0])[1]

    def _starts(self, surrogate: Surrogate, dim: int, rng: np.random.Generator) -> list[Hyperparameters]:
        """Return the default configuration and a Latin hypercube, drawn linearly, with one length scale for all."""
        count = self.configurations - 1
        cells = np.stack([rng.permutation(count) for _ in range(3)], axis=1)
        unit = (cells + rng.random((count, 3))) / max(count, 1)
        boxes = np.array([surrogate.signal_bounds, surrogate.lengthscale_bounds, surrogate.noise_bounds])
        drawn = boxes[:, 0] + unit * (boxes[:, 1] - boxes[:, 0])
        return [
            surrogate.default_start(dim),
            *(
                surrogate.clipped(Hyperparameters(np.full(dim, length), float(signal), float(noise)))
                for signal, length, noise in drawn
            ),
        ]

    def _train(self, likelihood: MarginalLikelihood, start: Hyperparameters) -> tuple[float, Hyperparameters]:
        """Run Adam on the raw parameters and return the mean loss over the steps and the last iterate."""
        surrogate = likelihood.surrogate
        n, dim = likelihood.inputs.shape
        boxes = SigmoidBoxes(*(np.exp(b) for b in surrogate.theta_bounds(dim)))
        raw = np.append(boxes.to_raw(np.exp(surrogate.pack(start))), 0.0)  # the last entry is the mean
        first = np.zeros_like(raw)
        second = np.zeros_like(raw)
        total = 0.0
        for step in range(1, self.steps + 1):
            value, slope = boxes.to_value(raw[:-1])
            theta = np.log(value)
            evaluation = likelihood(theta, mean=float(raw[-1]))
            prior, prior_gradient = surrogate.log_prior(theta, dim)
            total += -(evaluation.value + prior) / n
            # chain rule: log value -> value -> raw
            theta_gradient = evaluation.gradient + prior_gradient
            gradient = -np.append(theta_gradient / value * slope, evaluation.mean_gradient) / n
            first = 0.9 * first + 0.1 * gradient
            second = 0.999 * second + 0.001 * gradient**2
            raw = raw - self.learning_rate * (first / (1 - 0.9**step)) / (np.sqrt(second / (1 - 0.999**step)) + 1e-8)
        final = surrogate.unpack(np.log(boxes.to_value(raw[:-1])[0]), mean=float(raw[-1]))
        return total / self.steps, final


@dataclass(frozen=True)
class SigmoidBoxes:
    """The map from unconstrained raw parameters into open boxes: low + (high - low) sigmoid(raw)."""

    low: FloatArray
    high: FloatArray

    def to_value(self, raw: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the values and dvalue/draw."""
        # Written with tanh: no overflow for large |raw|. Kept a hair inside, so that the way back stays finite.
        s = np.clip(0.5 * (1.0 + np.tanh(0.5 * raw)), 1e-12, 1.0 - 1e-12)
        return self.low + (self.high - self.low) * s, (self.high - self.low) * s * (1.0 - s)

    def to_raw(self, value: FloatArray) -> FloatArray:
        """Return the raw parameters of values inside the boxes."""
        s = np.clip((value - self.low) / (self.high - self.low), 1e-12, 1.0 - 1e-12)
        return np.asarray(np.log(s) - np.log1p(-s))
