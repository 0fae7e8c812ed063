"""What kind of Gaussian process: kernel, bounds, priors; and its hyper-parameters.

Bounds: BOIDS paper, appendix "Detailed Implementation" (from BAxUS). Priors: Hvarfner, Hellsten & Nardi, *Vanilla
Bayesian Optimization Performs Great in High Dimensions*, ICML 2024, restated for the cube [-1, 1]^d, whose sides are
twice as long as those of the [0, 1]^d used there.

Notation
--------
ℓ       lengthscales       (d,)
s²      signal variance    scalar
σ²      noise variance     scalar
μ       constant mean      scalar, or (C,) for C functions with one kernel
θ       (log ℓ, log s² if it is free, log σ²)      (d + 2,) or (d + 1,)
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal, TypeAlias

import numpy as np

from boids.errors import MethodError
from boids.gp.kernels import KERNELS, Kernel, KernelName
from boids.records import FloatArray
from boids.settings import check_settings

#: One constant, or one for each function.
Mean: TypeAlias = float | FloatArray
LengthscalePrior = Literal["none", "dimension-scaled"]
NoisePrior = Literal["none", "lognormal"]


#: Noise variance at the most, relative to that of the values, of an objective that is said to be noisy.
MOST_NOISE = 2.0


@dataclass(frozen=True, slots=True)
class Hyperparameters:
    """The fitted numbers of a Gaussian process."""

    lengthscales: FloatArray
    signal_variance: float
    noise_variance: float
    mean: Mean = 0.0


@dataclass(frozen=True)
class Surrogate:
    """Configuration of the Gaussian process; the defaults are the paper's.

    Attributes
    ----------
    kernel
        "matern52" (paper) or "rbf".
    lengthscale_bounds, signal_bounds, noise_bounds
        Boxes for ℓ, s² and σ² (paper: [0.005, 10], [0.05, 20], [5e-4, 0.2], for inputs in [-1, 1]^d and outputs of
        unit variance).
    signal_variance
        A number fixes s²; None lets the fit choose it (paper).
    lengthscale_prior
        "dimension-scaled": log ℓ ~ N(√2 + log 2 + ½ log d, √3); "none" (paper).
    lengthscale_spread
        A number τ draws the length scales together: (log ℓ_i - mean of log ℓ) ~ N(0, τ²) besides the prior above; None
        leaves each to itself (paper). With fewer data than inputs the likelihood finds some of them idle by chance,
        and what is idle is not tried again; around 1 it takes evidence to set an input apart.
    noise_prior
        "lognormal": log σ² ~ N(-4, 1); "none" (paper).
    """

    #: Named configurations, as in `--set surrogate.preset=paper`.
    presets: ClassVar[tuple[str, ...]] = ("paper", "regularised", "modern")

    kernel: KernelName = "matern52"
    lengthscale_bounds: tuple[float, float] = (0.005, 10.0)
    signal_bounds: tuple[float, float] = (0.05, 20.0)
    noise_bounds: tuple[float, float] = (5e-4, 0.2)
    signal_variance: float | None = None
    lengthscale_prior: LengthscalePrior = "none"
    lengthscale_spread: float | None = None
    noise_prior: NoisePrior = "none"

    def __post_init__(self) -> None:
        check_settings(self)
        for name in ("lengthscale_bounds", "signal_bounds", "noise_bounds"):
            low, high = getattr(self, name)
            if not 0.0 < low < high < math.inf:
                raise MethodError(f"{name} must be two numbers with 0 < low < high; got ({low}, {high}).")
        for name in ("signal_variance", "lengthscale_spread"):
            value = getattr(self, name)
            if value is not None and not 0.0 < value < math.inf:
                raise MethodError(f"{name} must be positive or None; got {value}.")

    @classmethod
    def paper(cls) -> Surrogate:
        """The surrogate of the BOIDS paper: the defaults."""
        return cls()

    @classmethod
    def regularised(cls) -> Surrogate:
        """The paper's kernel with unit signal variance, priors on length scales and noise, and room for idle inputs.

        A free signal variance shrinks as the data gather around an incumbent, and with it all wish to explore.
        """
        return cls(
            lengthscale_bounds=(0.05, 1e3),
            noise_bounds=(1e-4, 0.2),
            signal_variance=1.0,
            lengthscale_prior="dimension-scaled",
            noise_prior="lognormal",
        )

    @classmethod
    def modern(cls) -> Surrogate:
        """The "vanilla" surrogate: RBF, unit signal variance, dimension-scaled length scales, prior on the noise."""
        return cls(
            kernel="rbf",
            lengthscale_bounds=(0.05, 1e4),
            noise_bounds=(1e-4, 1.0),
            signal_variance=1.0,
            lengthscale_prior="dimension-scaled",
            noise_prior="lognormal",
        )

    def for_noise(self) -> Surrogate:
        """The same with room for noise as large as the signal, and no prior against it, for noisy objectives."""
        low, high = self.noise_bounds
        return replace(self, noise_bounds=(low, max(high, MOST_NOISE)), noise_prior="none")

    @property
    def correlation(self) -> Kernel:
        """The kernel's functions."""
        return KERNELS[self.kernel]

    def default_start(self, dim: int) -> Hyperparameters:
        """Return where a fit without a warm start begins: ℓ = 0.5, s² = 1, σ² = 0.005, or the priors' modes."""
        lengthscale, noise = 0.5, 0.005
        if self.lengthscale_prior == "dimension-scaled":
            prior = lengthscale_prior(dim)
            lengthscale = math.exp(prior.location - prior.scale**2)
        if self.noise_prior == "lognormal":
            noise = math.exp(NOISE_PRIOR.location - NOISE_PRIOR.scale**2)
        start = Hyperparameters(
            lengthscales=np.full(dim, lengthscale),
            signal_variance=1.0 if self.signal_variance is None else self.signal_variance,
            noise_variance=noise,
        )
        return self.clipped(start)

    def clipped(self, hyper: Hyperparameters) -> Hyperparameters:
        """Return the nearest hyper-parameters inside the bounds."""
        signal = self.signal_variance
        if signal is None:
            signal = float(np.clip(hyper.signal_variance, *self.signal_bounds))
        return Hyperparameters(
            lengthscales=np.clip(hyper.lengthscales, *self.lengthscale_bounds),
            signal_variance=signal,
            noise_variance=float(np.clip(hyper.noise_variance, *self.noise_bounds)),
            mean=hyper.mean,
        )

    def pack(self, hyper: Hyperparameters) -> FloatArray:
        """Return θ for the hyper-parameters (the mean is not part of it)."""
        signal = [math.log(hyper.signal_variance)] if self.signal_variance is None else []
        return np.concatenate([np.log(hyper.lengthscales), signal, [math.log(hyper.noise_variance)]])

    def unpack(self, theta: FloatArray, mean: Mean = 0.0) -> Hyperparameters:
        """Return the hyper-parameters for θ."""
        free = self.signal_variance is None
        dim = len(theta) - 1 - free
        return Hyperparameters(
            lengthscales=np.exp(theta[:dim]),
            signal_variance=math.exp(theta[dim]) if free else float(self.signal_variance or 1.0),
            noise_variance=math.exp(theta[-1]),
            mean=mean,
        )

    def theta_bounds(self, dim: int) -> tuple[FloatArray, FloatArray]:
        """Return the lower and upper bounds of θ."""
        rows = [self.lengthscale_bounds] * dim
        if self.signal_variance is None:
            rows.append(self.signal_bounds)
        rows.append(self.noise_bounds)
        bounds = np.log(np.array(rows))
        return bounds[:, 0], bounds[:, 1]

    def log_prior(self, theta: FloatArray, dim: int) -> tuple[float, FloatArray]:
        """Return the log density of the priors (of ℓ and σ², not of their logarithms) and its gradient in θ."""
        gradient = np.zeros_like(theta)
        value = 0.0
        if self.lengthscale_prior == "dimension-scaled":
            part, gradient[:dim] = lengthscale_prior(dim).log_density(theta[:dim])
            value += part
        if self.lengthscale_spread is not None:
            apart = (theta[:dim] - theta[:dim].mean()) / self.lengthscale_spread
            value -= 0.5 * float(apart @ apart)
            gradient[:dim] -= apart / self.lengthscale_spread
        if self.noise_prior == "lognormal":
            part, gradient[-1:] = NOISE_PRIOR.log_density(theta[-1:])
            value += part
        return value, gradient


@dataclass(frozen=True, slots=True)
class LogNormal:
    """log v ~ N(location, scale²)."""

    location: float
    scale: float = field(default=1.0)

    def log_density(self, log_v: FloatArray) -> tuple[float, FloatArray]:
        """Return Σ log p(v) and its gradient in log v."""
        t = (log_v - self.location) / self.scale
        constant = math.log(self.scale) + 0.5 * math.log(2.0 * math.pi)
        return float(-np.sum(log_v + 0.5 * t * t) - constant * log_v.size), -1.0 - t / self.scale


NOISE_PRIOR = LogNormal(-4.0, 1.0)


def lengthscale_prior(dim: int) -> LogNormal:
    """Return the dimension-scaled prior: a box of side 2 doubles every length scale of the unit box."""
    return LogNormal(math.sqrt(2.0) + math.log(2.0) + 0.5 * math.log(dim), math.sqrt(3.0))
