"""The paper's Theorem 1, Lemma 1 and Proposition 1 as functions, corrected; docs/theory.md derives them.

Ngo, Ha, Chan & Zhang, BOIDS, AAAI 2025, section "Theoretical Analysis"; Theorem 1 is from Papenmeier, Nardi &
Poloczek, BAxUS, NeurIPS 2022. HeSBO's probability: Nayebi, Munteanu & Poloczek, ICML 2019.

======  ==========================================================================
symbol  meaning, shape
======  ==========================================================================
D       input dimension, ``dim`` (the paper's d)
d       dimension of the subspace, ``target_dim`` (the paper's d_A)
d_e     coordinates that matter, ``effective_dim``
b       new bins per split: a bin becomes up to b + 1
g       any vector; in Proposition 1 the gradient at the particle, (d,)
h1, h2  from the particle to its own and to the global incumbent, (d,) each
r1, r2  independent uniform draws from [0, 1]^d, (d,) each
======  ==========================================================================
"""

from __future__ import annotations

from math import comb, inf, log, perm

import numpy as np
from numpy.typing import ArrayLike

from boids.blocks.schedule import initial_dimension
from boids.records import FloatArray


def containment_probability(dim: int, target_dim: int, effective_dim: int) -> float:
    """Return the probability that BAxUS's random embedding contains an optimum in any position (Theorem 1).

    It does exactly if the d_e coordinates that matter fall into d_e different bins. The quotient of two
    integers is rounded once, so the value is right to the last digit in any dimension.

    Examples
    --------
    >>> round(containment_probability(7, 3, 2), 6)
    0.761905
    """
    _check_dimensions(target_dim, effective_dim, dim)
    floor = dim // target_dim
    n_large = dim - target_dim * floor  # bins of size ceil(D/d); the paper misprints ceil for floor here
    n_small = target_dim - n_large
    favourable: int = sum(
        comb(n_small, i) * comb(n_large, effective_dim - i) * floor**i * (floor + 1) ** (effective_dim - i)
        for i in range(effective_dim + 1)
    )
    return favourable / comb(dim, effective_dim)


def hesbo_containment_probability(target_dim: int, effective_dim: int) -> float:
    """Return the same probability for HeSBO's embedding, where every coordinate picks its bin independently.

    Examples
    --------
    >>> hesbo_containment_probability(4, 2)
    0.75
    """
    _check_dimensions(target_dim, effective_dim)
    ways: int = target_dim**effective_dim
    return perm(target_dim, effective_dim) / ways


def nested_dimensions(dim: int, new_bins: int = 3) -> tuple[int, ...]:
    """Return the dimensions d_0 < d_1 < … < D of the nested subspaces, starting where BAxUS starts.

    Examples
    --------
    >>> nested_dimensions(100)
    (2, 8, 32, 100)
    """
    if dim < 1 or new_bins < 1:
        raise ValueError(f"dim and new_bins must be at least 1, but got dim={dim} and new_bins={new_bins}.")
    target, _ = initial_dimension(dim, new_bins)
    visited = [target]
    while visited[-1] < dim:
        visited.append(min(visited[-1] * (new_bins + 1), dim))
    return tuple(visited)


def expected_squared_projection(g: ArrayLike, h1: ArrayLike, h2: ArrayLike, inertia: ArrayLike | None = None) -> float:
    """Return E⟨g, m + r1∘h1 + r2∘h2⟩², what Lemma 1 bounds from below (there without the inertia term m).

    It is variance plus squared mean: Σ gᵢ² (h1ᵢ² + h2ᵢ²) / 12 + (⟨g, m⟩ + ⟨g, h1 + h2⟩ / 2)².
    """
    g, h1, h2 = _vectors(g, h1, h2)
    mean = (h1 + h2) / 2
    if inertia is not None:
        mean = mean + _vectors(g, inertia)[1]
    return float(np.sum(g**2 * (h1**2 + h2**2)) / 12 + np.dot(g, mean) ** 2)


def claimed_lower_bound(g: ArrayLike, h1: ArrayLike, h2: ArrayLike) -> float:
    """Return Lemma 1's bound as printed, (⟨g, h1⟩² + ⟨g, h2⟩²) / 4; it needs, for example, ⟨g, h1⟩⟨g, h2⟩ ≥ 0."""
    g, h1, h2 = _vectors(g, h1, h2)
    return float(np.dot(g, h1) ** 2 + np.dot(g, h2) ** 2) / 4


def proven_lower_bound(g: ArrayLike, h1: ArrayLike, h2: ArrayLike) -> float:
    """Return ‖g‖² minᵢ (h1ᵢ² + h2ᵢ²) / 12, a bound that holds for all vectors and for every inertia term."""
    g, h1, h2 = _vectors(g, h1, h2)
    return float(np.sum(g**2) * np.min(h1**2 + h2**2)) / 12


def regret_exponent(nu: float = 2.5) -> float:
    """Return Proposition 1's exponent 1/2 - kappa, kappa = 2 / (2 nu + 2), for a Matérn kernel.

    Negative for nu < 1, where the proposition says nothing; ``math.inf`` is the squared-exponential kernel.
    """
    if not nu > 0:
        raise ValueError(f"nu must be a positive number, the smoothness of the kernel, but got {nu!r}.")
    return 0.5 - 2 / (2 * nu + 2)


def regret_rate(budget: int, dim: int, nu: float = 2.5) -> float:
    """Return Proposition 1's rate (D log T / T)^(1/2 - kappa), T = `budget`, without its unknown constant."""
    if budget < 2 or dim < 1:
        raise ValueError(f"budget must be at least 2 and dim at least 1, but got budget={budget}, dim={dim}.")
    return float((dim * log(budget) / budget) ** regret_exponent(nu))


def _check_dimensions(target_dim: int, effective_dim: int, dim: float = inf) -> None:
    if not (1 <= target_dim <= dim and 0 <= effective_dim <= dim):
        within = "" if dim == inf else f" and at most dim={dim}"
        raise ValueError(
            f"target_dim must be at least 1 and effective_dim at least 0{within}, "
            f"but got target_dim={target_dim} and effective_dim={effective_dim}."
        )


def _vectors(*given: ArrayLike) -> tuple[FloatArray, ...]:
    vectors = tuple(np.asarray(each, dtype=np.float64) for each in given)
    if any(each.ndim != 1 or each.shape != vectors[0].shape or not each.size for each in vectors):
        shapes = ", ".join(str(each.shape) for each in vectors)
        raise ValueError(f"The vectors must all have the same shape (d,), but got {shapes}.")
    return vectors
