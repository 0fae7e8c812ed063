"""How large the subspace is, and how long to stay in it: the schedule of BAxUS.

Papenmeier, Nardi & Poloczek, NeurIPS 2022, section 3; Ngo, Ha, Chan & Zhang (BOIDS), AAAI 2025, appendix.

Notation
--------
D       input dimension            b       new bins per split, a bin becomes up to b + 1
d_0     initial dimension          d_i     dimension after i splits, about d_0 (b + 1)^i
n       number of splits until D   m_D     evaluations until D is reached
m_i     evaluations spent at d_i   τ       failures tolerated before the termination factor grows
"""

from __future__ import annotations

import math

#: 2 log_{1/2}(L_min / L_init) with BAxUS's L_min = 2^-7, L_init = 0.8: halvings of its trust region, twice.
HALVINGS = 2.0 * math.log2(0.8 * 2.0**7)


def initial_dimension(input_dim: int, new_bins: int) -> tuple[int, int]:
    """Return d_0 and the number of splits n whose final dimension (b + 1)^n d_0 comes closest to D."""
    best = (math.inf, 1, 0)
    for start in range(1, new_bins + 1):
        splits = max(0, round(math.log(input_dim / start, new_bins + 1)))
        reached = round((new_bins + 1) ** splits * start)
        best = min(best, (abs(reached - input_dim), start, splits))
    _, start, splits = best
    return min(start, input_dim), splits


def splits_from(dim: int, input_dim: int, new_bins: int) -> int:
    """Return the number of splits n from a given initial dimension."""
    return max(0, round(math.log(input_dim / dim, new_bins + 1)))


def subspace_budget(dim: int, initial_dim: int, splits: int, new_bins: int, total: float) -> float:
    """Return m_i = b m_D d_i / (d_0 ((b + 1)^(n + 1) - 1)); over all d_i the m_i add up to m_D = `total`."""
    return float(new_bins * total * dim / (initial_dim * ((new_bins + 1) ** (splits + 1) - 1)))


def baxus_failure_tolerance(
    dim: int, input_dim: int, initial_dim: int, splits: int, new_bins: int, total: float
) -> int:
    """Return τ as in BAxUS: the subspace's budget shared among the halvings, between 1 and max(4, d)."""
    if dim >= input_dim:
        return max(4, input_dim)
    budget = subspace_budget(dim, initial_dim, splits, new_bins, total)
    return min(max(math.ceil(budget / HALVINGS), 1), max(4, dim))


def unit_failure_tolerance(dim: int, input_dim: int) -> int:
    """Return τ as the released BOIDS code computes it: 1 in every subspace, max(4, D) in the input space.

    The code writes L_min as 0.5^-7, which makes the quotient of the BAxUS formula negative and the clip return 1.
    """
    return max(4, input_dim) if dim >= input_dim else 1
