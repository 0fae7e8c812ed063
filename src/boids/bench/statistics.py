"""The statistics of comparisons, as functions of arrays; smaller values are better.

References: Demšar, *Statistical comparisons of classifiers over multiple data sets*, JMLR 7, 2006 (ranks, Friedman,
Nemenyi); Holm, *A simple sequentially rejective multiple test procedure*, 1979; Pratt, *Remarks on zeros and ties in
the Wilcoxon signed rank procedures*, 1959; Dolan & Moré, *Benchmarking optimization software with performance
profiles*, 2002; Moré & Wild, *Benchmarking derivative-free optimization algorithms*, 2009.

Notation: N blocks (a problem and a repetition, on which all methods met the same instance), k methods.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from boids.bench.table import FloatArray

LEVEL = 0.05
#: Pairs up to which the distribution of the signed-rank statistic is computed, and not approximated by a normal one.
_MOST_EXACT = 200


def mean_and_error(values: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Return mean and standard error over the rows, without nan; the error of less than two numbers is nan."""
    x = np.atleast_2d(np.asarray(values, dtype=np.float64))
    known = ~np.isnan(x)
    count = known.sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.where(known, x, 0.0).sum(axis=0) / count
        deviation = np.where(known, x - mean, 0.0)
        error = np.sqrt((deviation**2).sum(axis=0) / (count - 1.0) / count)
    return mean, np.where(count > 1, error, np.nan)


def quartiles(values: ArrayLike) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return lower quartile, median and upper quartile over the rows, without nan (linear interpolation)."""
    x = np.sort(np.atleast_2d(np.asarray(values, dtype=np.float64)), axis=0)  # nan last
    count = (~np.isnan(x)).sum(axis=0)
    x = np.vstack([x, np.full((1, x.shape[1]), np.nan)])  # so that there is a row to take
    return _quantile(x, count, 0.25), _quantile(x, count, 0.5), _quantile(x, count, 0.75)


def _quantile(ordered: FloatArray, count: NDArray[np.int64], share: float) -> FloatArray:
    # By hand, for numpy.nanquantile warns of empty columns, and makes nan of infinities that are not touched.
    place = share * np.maximum(count - 1, 0)
    below, above = np.floor(place).astype(np.int64), np.ceil(place).astype(np.int64)
    columns = np.arange(ordered.shape[1])
    low, high = ordered[below, columns], ordered[above, columns]
    with np.errstate(invalid="ignore"):
        return np.where(low == high, low, low + (place - below) * (high - low))


@final
@dataclass(frozen=True)
class Ranks:
    """Average ranks, and whether they can be told apart.

    Attributes
    ----------
    average
        Of each method; 1 is best, ties share their ranks.
    blocks
        How many blocks there were without gaps; the others are left out.
    statistic, p
        Friedman's χ² with the correction for ties, and its p-value; nan for less than two methods or blocks.
    difference
        Nemenyi's critical difference at the level 0.05: average ranks closer than this are not significantly apart.
    """

    average: FloatArray
    blocks: int
    statistic: float
    p: float
    difference: float

    @property
    def are_different(self) -> bool:
        """Whether Friedman's test rejects that all methods are equally good."""
        return self.p < LEVEL

    def groups(self) -> list[tuple[int, ...]]:
        """Return the largest sets of methods whose ranks are not significantly apart, the best first."""
        order = np.argsort(self.average, kind="stable")
        sets: list[tuple[int, ...]] = []
        for start in range(len(order)):
            reach = self.average[order] <= self.average[order[start]] + self.difference
            members = tuple(int(i) for i in order[start:][reach[start:]])
            if len(members) > 1 and not any(set(members) <= set(other) for other in sets):
                sets.append(members)
        return sets


def rank(values: ArrayLike) -> Ranks:
    """Compare k methods on N blocks (an N × k matrix) by their ranks; blocks with nan are left out."""
    x = np.asarray(values, dtype=np.float64)
    x = x[~np.isnan(x).any(axis=1)]
    blocks, k = x.shape
    if blocks == 0 or k == 0:
        return Ranks(np.full(k, np.nan), 0, np.nan, np.nan, np.nan)
    ranks = stats.rankdata(x, axis=1)
    average = ranks.mean(axis=0)
    statistic, p = friedman(ranks)
    return Ranks(average, blocks, statistic, p, critical_difference(k, blocks))


def friedman(values: ArrayLike) -> tuple[float, float]:
    """Return Friedman's χ², corrected for ties, and its p-value for an N × k matrix without nan."""
    ranks = stats.rankdata(np.asarray(values, dtype=np.float64), axis=1)
    blocks, k = ranks.shape
    if blocks < 2 or k < 2:
        return np.nan, np.nan
    spread = ((ranks - (k + 1) / 2.0) ** 2).sum()
    if spread == 0.0:  # all values are equal
        return 0.0, 1.0
    statistic = float((k - 1) * blocks**2 * ((ranks.mean(axis=0) - (k + 1) / 2.0) ** 2).sum() / spread)
    return statistic, float(stats.chi2.sf(statistic, k - 1))


def critical_difference(methods: int, blocks: int, level: float = LEVEL) -> float:
    """Return Nemenyi's critical difference of average ranks: q √(k (k + 1) / 6N), q from the studentised range."""
    if methods < 2 or blocks < 1:
        return np.nan
    q = float(stats.studentized_range.ppf(1.0 - level, methods, np.inf)) / math.sqrt(2.0)
    return q * math.sqrt(methods * (methods + 1) / (6.0 * blocks))


@final
@dataclass(frozen=True)
class SignedRank:
    """Wilcoxon's signed-rank test of paired differences.

    Attributes
    ----------
    pairs
        How many pairs there were without gaps.
    better, worse
        In how many the difference was negative, positive; the others are ties.
    p
        Two-sided p-value, exact up to 200 pairs; 1 without any difference, nan without pairs.
    median
        Of the differences.
    effect
        Rank-biserial correlation: the share of ranks with positive differences minus that with negative ones, -1 to 1.
    """

    pairs: int
    better: int
    worse: int
    p: float
    median: float
    effect: float

    @property
    def smallest(self) -> float:
        """The smallest p-value that so many pairs can give."""
        return smallest_p(self.pairs)


def smallest_p(pairs: int) -> float:
    """Return the smallest two-sided p-value that Wilcoxon's test can give: all differences of one sign."""
    return min(1.0, 2.0 ** (1 - pairs))


def pairs_needed(comparisons: int = 1, level: float = LEVEL) -> int:
    """Return how many pairs it takes for one of so many comparisons to come below the level after Holm's correction."""
    return math.ceil(1 - math.log2(level / comparisons))


def signed_rank(differences: ArrayLike) -> SignedRank:
    """Test whether paired differences are symmetric around 0.

    Zeros are ranked with the others and then dropped, as Pratt proposes; equal sizes share their ranks. Given the
    sizes, every sign is + or - with equal chances, so that the distribution of the statistic is that of a sum of
    independent terms and is computed exactly, also with ties.
    """
    d = np.asarray(differences, dtype=np.float64)
    d = d[~np.isnan(d)]
    median = float(np.median(d)) if d.size and np.isfinite(d).all() else np.nan
    better, worse = int((d < 0).sum()), int((d > 0).sum())
    if better + worse == 0:
        return SignedRank(d.size, 0, 0, 1.0 if d.size else np.nan, median, 0.0 if d.size else np.nan)
    ranks = stats.rankdata(np.abs(d))
    positive = ranks[d > 0].sum()
    used = ranks[d != 0]
    p = _exact(positive, used) if d.size <= _MOST_EXACT else _normal(positive, used)
    return SignedRank(d.size, better, worse, p, median, float(2.0 * positive / used.sum() - 1.0))


def _exact(positive: float, ranks: FloatArray) -> float:
    """Return the two-sided p-value of a sum of ranks, each with probability 1/2."""
    doubled = np.rint(2.0 * ranks).astype(np.int64)  # shared ranks are halves
    chances = np.zeros(int(doubled.sum()) + 1)
    chances[0] = 1.0
    for rank_ in doubled.tolist():
        moved = np.zeros_like(chances)
        moved[rank_:] = chances[: len(chances) - rank_]
        chances = 0.5 * (chances + moved)
    at = round(2.0 * positive)
    return float(min(1.0, 2.0 * min(chances[: at + 1].sum(), chances[at:].sum())))


def _normal(positive: float, ranks: FloatArray) -> float:
    z = (positive - ranks.sum() / 2.0) / math.sqrt((ranks**2).sum() / 4.0)
    return float(2.0 * stats.norm.sf(abs(z)))


def holm(p_values: ArrayLike) -> FloatArray:
    """Return p-values corrected for their number (Holm); nan stay, and do not count."""
    p = np.asarray(p_values, dtype=np.float64)
    corrected = np.full(p.shape, np.nan)
    known = np.flatnonzero(~np.isnan(p))
    order = known[np.argsort(p[known], kind="stable")]
    factors = np.arange(len(order), 0, -1)
    corrected[order] = np.minimum(1.0, np.maximum.accumulate(factors * p[order]))
    return corrected


def evaluations_needed(curves: Sequence[FloatArray], tolerance: float) -> FloatArray:
    """Return after how many evaluations each method has solved a block, in the sense of Moré & Wild.

    Parameters
    ----------
    curves
        The best value so far of each method on this block.
    tolerance
        τ: solved is f ≤ f_L + τ (f_0 - f_L), where f_L is the best value that any of the methods found, and f_0 is
        the worst of their first values.

    Returns
    -------
    FloatArray
        A number for each method; infinity if it never came so far, nan if its curve is empty.
    """
    found = [curve[np.isfinite(curve)] for curve in curves]
    if not any(map(len, found)):
        return np.array([np.inf if len(curve) else np.nan for curve in curves])
    low = min(curve.min() for curve in found if len(curve))
    start = max(curve[0] for curve in found if len(curve))
    goal = low + tolerance * (start - low)
    needed = np.full(len(curves), np.inf)
    for place, curve in enumerate(curves):
        with np.errstate(invalid="ignore"):
            solved = np.flatnonzero(curve <= goal)
        needed[place] = solved[0] + 1.0 if solved.size else np.inf if len(curve) else np.nan
    return needed


def data_profile(needed: ArrayLike, evaluations: ArrayLike) -> FloatArray:
    """Return the share of blocks that each method has solved after so many evaluations (Moré & Wild).

    Parameters
    ----------
    needed
        Evaluations needed, N × k; nan for blocks that do not count for a method.
    evaluations
        Where to evaluate the profile.

    Returns
    -------
    FloatArray
        k × len(evaluations); nan for a method without blocks.
    """
    t, at = np.asarray(needed, dtype=np.float64), np.asarray(evaluations, dtype=np.float64)
    known = (~np.isnan(t)).sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        solved = (t[:, :, None] <= at).sum(axis=0)
        return np.where(known[:, None] > 0, solved / known[:, None], np.nan)


def performance_profile(needed: ArrayLike, ratios: ArrayLike) -> FloatArray:
    """Return the share of blocks that each method has solved within a multiple of the fastest one's evaluations.

    Dolan & Moré's profile; the arguments are those of `data_profile`, with ratios ≥ 1 in place of evaluations.
    """
    t = np.asarray(needed, dtype=np.float64)
    fastest = np.fmin.reduce(t, axis=1, initial=np.inf)
    with np.errstate(invalid="ignore"):
        ratio = np.where(np.isinf(t), np.inf, t / fastest[:, None])
    return data_profile(ratio, ratios)
