"""Hyper-parameters of a Gaussian process most of whose inputs are idle, drawn from their posterior by NUTS.

Eriksson & Jankowiak, *High-Dimensional Bayesian Optimization with Sparse Axis-Aligned Subspaces*, UAI 2021. The sampler
is NumPyro's: Phan, Pradhan & Jankowiak, *Composable Effects for Flexible and Accelerated Probabilistic Programming in
NumPyro*, 2019; Hoffman & Gelman, *The No-U-Turn Sampler*, JMLR 2014.

Notation
--------
X       inputs in the unit box, less ½                                      (N, D)
y       outputs of mean 0 and variance 1                                    (N,)
s²      signal variance, log s² ~ N(0, 10²)
τ       global shrinkage, τ ~ HalfCauchy(α)
h       local shrinkage, h_i ~ HalfCauchy(1)                                (D,)
ρ       τ h = 1/ℓ², the weights of the inputs, most of them next to nothing (D,)
σ²      noise variance, fixed, or log σ² ~ N(0, 10²)
q       Σ_i ρ_i (x_i - x_i')², so that the covariance is s² k(q)            (N, N)
θ       (log s², log τ, log h, log σ² if it is free)                        (D + 2,) or (D + 3,)

The rows from n to N are padding: their part of the covariance matrix is the identity and their outputs are zero, so
that the density is exactly that of the n data, and the compiled sampler serves until the data outgrow N.

One gradient costs N³ + 2 N² D multiply-adds and no array is larger than N×N or N×D. There are up to 2^depth of them in
a step: tens of thousands in a chain. What remains of the time is their derivative by hand, with the inverse of the
covariance matrix by blocks, for which products are many times as fast as triangular solves.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from typing import Any, NamedTuple, TypeAlias, final

import numpy as np

from boids.errors import MissingExtra
from boids.gp.ensemble import Draws
from boids.gp.kernels import KernelName
from boids.gp.linalg import blas_threads
from boids.records import FloatArray

#: Added to every variance of the diagonal (original).
JITTER = 1e-6
#: Standard deviation of log s² and of log σ² (original).
LOG_VARIANCE_SPREAD = 10.0
#: The chain starts uniformly at random within this distance of θ = 0 (NumPyro's default).
START_RADIUS = 2.0
#: A second thread costs more than it brings on matrices of this size, and could change bits.
ONE_THREAD = {"xla_cpu_multi_thread_eigen": False}
#: Compiled samplers that are kept, some 10 MB each.
KEPT = 8
#: Triangular matrices of at most so many rows are inverted by substitution.
BLOCK = 32

#: An array of JAX, or something being traced.
Traced: TypeAlias = Any


@final
@dataclass(frozen=True, slots=True)
class Chain:
    """How to sample; everything that a sampler is compiled for, besides the shape of the data.

    Attributes
    ----------
    free_noise
        Whether σ² is sampled.
    padding
        N is a multiple of this.
    """

    kernel: KernelName = "rbf"
    free_noise: bool = False
    warmup: int = 512
    samples: int = 256
    thinning: int = 16
    max_tree_depth: int = 6
    target_acceptance: float = 0.8
    padding: int = 16


class Data(NamedTuple):
    """What the density depends on besides θ; a tuple, which JAX takes as it is.

    `diagonal` (N,) is the variance of every row besides s² and a free σ², `mask` (N,) is 0 for padding, `alpha` is α.
    """

    inputs: Traced
    outputs: Traced
    diagonal: Traced
    mask: Traced
    alpha: Traced


def require_numpyro() -> None:
    """Raise a `MissingExtra` unless NumPyro is installed.

    It is not imported yet, so that worker processes can be forked before JAX starts its threads.
    """
    if find_spec("numpyro") is None or find_spec("jax") is None:
        raise MissingExtra("The method 'saasbo' needs NumPyro; run `pip install 'boids-opt[saasbo]'`.")


def draw(
    chain: Chain,
    inputs: FloatArray,
    outputs: FloatArray,
    *,
    alpha: float = 0.1,
    noise_variance: float = 1e-6,
    known_noise: FloatArray | None = None,
    seed: int = 0,
    last: FloatArray | None = None,
) -> tuple[Draws, FloatArray]:
    """Return `samples // thinning` draws from the posterior of the hyper-parameters, and the last θ among them.

    A chain may stay for good in a mode in which all inputs matter a little, a hundred nats below the one in which few
    do. With `last` there are two chains, and the one whose draws are denser on average is taken: once the better mode
    is found it is kept, and as long as it is not, every call has another chance.

    Parameters
    ----------
    inputs
        In the cube [-1, 1]^D (n, D), whose sides are twice as long as those of the box of the priors; so are the
        length scales that are returned.
    outputs
        Of mean 0 and variance 1 (n,).
    alpha
        Scale of the prior of τ; the smaller, the fewer active inputs.
    noise_variance
        σ² unless it is free.
    known_noise
        Noise variances (n,) besides.
    seed
        Of the chain, below 2^63.
    last
        θ that a second chain starts from; that of an earlier call for fewer data.
    """
    dim = inputs.shape[1]
    data = padded(inputs, outputs, 0.0 if chain.free_noise else noise_variance, known_noise, alpha, chain.padding)
    with _apart(len(data.outputs)):
        from jax import random

        length = dim + 2 + chain.free_noise
        starts = [np.random.default_rng(seed).uniform(-START_RADIUS, START_RADIUS, length)]
        if last is not None and len(last) == length:
            starts.append(last)
        run = _sampler(chain, *data.inputs.shape)
        # Not the user's default generator, if they have chosen another one.
        keys = random.split(random.key(seed, impl="threefry2x32"), 2)
        chains = [run(key, start, data) for key, start in zip(keys, starts, strict=False)]
        energies = [np.nan_to_num(np.asarray(energy), nan=np.inf).mean() for _, energy in chains]
        theta = np.asarray(chains[int(np.argmin(energies))][0], dtype=np.float64)
    noise = np.exp(theta[:, 2 + dim]) if chain.free_noise else np.full(len(theta), noise_variance)
    draws = Draws(
        lengthscales=2.0 * np.exp(-0.5 * (theta[:, 1:2] + theta[:, 2 : 2 + dim])),
        signal_variances=np.exp(theta[:, 0]),
        noise_variances=noise + JITTER,
    )
    return draws, theta[-1].copy()


def padded(
    inputs: FloatArray,
    outputs: FloatArray,
    noise_variance: float,
    known_noise: FloatArray | None,
    alpha: float,
    padding: int,
) -> Data:
    """Return the data with the number of rows rounded up, and inputs of [-1, 1]^D in the box [-½, ½]^D."""
    n, dim = inputs.shape
    size = padding * math.ceil(n / padding)
    x, y, diagonal, mask = np.zeros((size, dim)), np.zeros(size), np.ones(size), np.zeros(size)
    x[:n], y[:n], mask[:n] = 0.5 * inputs, outputs, 1.0
    diagonal[:n] = noise_variance + JITTER + (0.0 if known_noise is None else known_noise)
    return Data(x, y, diagonal, mask, np.float64(alpha))


def log_density(theta: Traced, data: Data, kernel: KernelName, free_noise: bool) -> tuple[Traced, Traced]:
    """Return log p(y, θ) up to a constant, and its gradient in θ.

    With W = K⁻¹y (K⁻¹y)ᵀ - K⁻¹ every derivative of the likelihood is ½ Σ W ∘ ∂K/∂θ (Rasmussen & Williams, eq. 5.9).
    """
    import jax.numpy as jnp
    from jax import lax, nn

    x, y, diagonal, mask, alpha = data
    dim = x.shape[1]
    log_signal, log_tau, log_h = theta[0], theta[1], theta[2 : 2 + dim]
    signal, rho = jnp.exp(log_signal), jnp.exp(log_tau + log_h)
    noise = jnp.exp(theta[2 + dim]) if free_noise else 0.0

    squares = x * x
    norms = squares @ rho
    q = jnp.maximum(norms[:, None] + norms[None, :] - 2.0 * ((x * rho) @ x.T), 0.0)
    k, slope = _correlation(kernel, q)
    same = jnp.eye(len(y), dtype=bool)
    pairs = jnp.where(same, 0.0, signal * mask[:, None] * mask[None, :])  # s² where there are two data, else 0
    covariance = jnp.where(same, mask * (signal + noise) + diagonal, pairs * k)
    factor = lax.linalg.cholesky(covariance, symmetrize_input=False)
    inverse = _inverses(factor)[1]
    weights = inverse @ y
    likelihood = -0.5 * (y @ weights) - jnp.log(jnp.diagonal(factor)).sum()

    w = weights[:, None] * weights[None, :] - inverse
    trace = jnp.diagonal(w) @ mask
    by_signal = 0.5 * ((w * (pairs * k)).sum() + signal * trace)
    # ∂q/∂log ρ_i = ρ_i (x_i - x_i')²; the square expanded, the sum over pairs is row sums and one product.
    m = w * (pairs * slope)
    by_rho = rho * (m.sum(axis=1) @ squares - (x * (m @ x)).sum(axis=0))

    # The densities of log s², log τ and log h: a half-Cauchy v with scale a has log v - log(1 + (v / a)²).
    ratio = log_tau - jnp.log(alpha)
    prior = (
        -0.5 * (log_signal / LOG_VARIANCE_SPREAD) ** 2
        + log_tau
        - nn.softplus(2.0 * ratio)
        + (log_h - nn.softplus(2.0 * log_h)).sum()
    )
    gradient = [
        by_signal - log_signal / LOG_VARIANCE_SPREAD**2,
        by_rho.sum() - jnp.tanh(ratio),
        by_rho - jnp.tanh(log_h),
    ]
    if free_noise:
        prior -= 0.5 * (theta[2 + dim] / LOG_VARIANCE_SPREAD) ** 2
        gradient.append(0.5 * noise * trace - theta[2 + dim] / LOG_VARIANCE_SPREAD**2)
    return likelihood + prior, jnp.concatenate([jnp.atleast_1d(part) for part in gradient])


def _correlation(kernel: KernelName, q: Traced) -> tuple[Traced, Traced]:
    """Return k(q) and dk/dq, as in kernels.py."""
    import jax.numpy as jnp

    if kernel == "rbf":
        k = jnp.exp(-0.5 * q)
        return k, -0.5 * k
    root = jnp.sqrt(5.0 * q)
    decay = jnp.exp(-root)
    return (1.0 + root + 5.0 / 3.0 * q) * decay, -5.0 / 6.0 * (1.0 + root) * decay


def _inverses(factor: Traced) -> tuple[Traced, Traced]:
    """Return L⁻¹ and K⁻¹ = L⁻ᵀL⁻¹ for a lower triangular L = [[A, 0], [B, C]], from those of A and C."""
    import jax.numpy as jnp
    from jax import lax

    n = len(factor)
    if n <= BLOCK:
        inverse = lax.linalg.triangular_solve(factor, jnp.eye(n, dtype=factor.dtype), left_side=True, lower=True)
        return inverse, inverse.T @ inverse
    m = BLOCK * math.ceil(n / (2 * BLOCK))
    (a, aa), (c, cc) = _inverses(factor[:m, :m]), _inverses(factor[m:, m:])
    b = -c @ (factor[m:, :m] @ a)
    cross = b.T @ c
    inverse = jnp.block([[a, jnp.zeros((m, n - m), dtype=factor.dtype)], [b, c]])
    return inverse, jnp.block([[aa + b.T @ b, cross], [cross.T, cc]])


@lru_cache(maxsize=KEPT)
def _sampler(chain: Chain, size: int, dim: int) -> Callable[[Traced, Traced, Data], tuple[Traced, Traced]]:
    """Return the compiled function (key, first θ, data) -> draws of θ and their energies, for data of one shape."""
    import jax
    import jax.numpy as jnp
    from numpyro.infer import NUTS

    potential = _potential(chain)
    length = dim + 2 + chain.free_noise
    count = chain.samples // chain.thinning

    def run(key: Traced, start: Traced, data: Data) -> tuple[Traced, Traced]:
        kernel = NUTS(
            potential_fn=lambda theta: potential(theta, data),
            max_tree_depth=chain.max_tree_depth,
            target_accept_prob=chain.target_acceptance,
            dense_mass=False,
        )
        state = kernel.init(key, chain.warmup, init_params=start, model_args=(), model_kwargs={})

        def step(i: Traced, carried: Traced) -> Traced:
            state, kept, energies = carried
            state = kernel.sample(state, (), {})
            # Every slot keeps the last of its `thinning` steps; those of the warm-up are overwritten.
            slot = jnp.maximum(i - chain.warmup, 0) // chain.thinning
            return state, kept.at[slot].set(state.z), energies.at[slot].set(state.potential_energy)

        # One loop for both phases: the body takes seconds to compile.
        steps = chain.warmup + count * chain.thinning
        nothing = jnp.zeros((count, length)), jnp.zeros(count)
        _, kept, energies = jax.lax.fori_loop(0, steps, step, (state, *nothing))
        return kept, energies

    compiled: Callable[[Traced, Traced, Data], Traced] = jax.jit(
        run, compiler_options={"xla_cpu_multi_thread_eigen": False}
    )
    return compiled


def _potential(chain: Chain) -> Callable[[Traced, Data], Traced]:
    """Return -log p(y, θ) as a function (θ, data) whose derivative in θ is the one by hand."""
    import jax

    def value(theta: Traced, data: Data) -> Traced:
        return -log_density(theta, data, chain.kernel, chain.free_noise)[0]

    def forward(theta: Traced, data: Data) -> tuple[Traced, Traced]:
        density, gradient = log_density(theta, data, chain.kernel, chain.free_noise)
        return -density, -gradient

    def backward(gradient: Traced, by_value: Traced) -> tuple[Traced, None]:
        return by_value * gradient, None

    potential = jax.custom_vjp(value)
    potential.defvjp(forward, backward)
    found: Callable[[Traced, Data], Traced] = potential
    return found


@contextmanager
def _apart(rows: int) -> Iterator[None]:
    """Run in double precision on one thread of the processor, without a change to the user's own JAX."""
    import jax

    cpu = jax.devices("cpu")[0]
    # A trajectory that runs into numbers that are not finite is ended by the sampler; it is no error.
    with jax.enable_x64(True), jax.default_device(cpu), jax.debug_nans(False), blas_threads(rows):
        yield
