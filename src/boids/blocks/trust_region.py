"""A trust region: a box around the best point that grows with success and shrinks with failure.

Eriksson, Pearce, Gardner, Turner & Poloczek, *Scalable Global Optimization via Local Bayesian Optimization* (TuRBO),
NeurIPS 2019, section 2; Papenmeier, Nardi & Poloczek (BAxUS), NeurIPS 2022.

Notation
--------
L       side length, relative to that of the whole box
ℓ       length scales of the model                     (d,)
w       weights of the sides, of geometric mean 1      (d,)
c       centre                                         (d,)
τ_succ  successes in a row that double L               τ_fail  points in a row without success that halve L
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import numpy as np

from boids.records import BoolArray, FloatArray, IntArray


@final
@dataclass(frozen=True, slots=True)
class RegionRules:
    """The constants, those of both papers by default."""

    initial: float = 0.8
    largest: float = 1.6
    smallest: float = 2.0**-7
    success_tolerance: int = 3


@final
@dataclass(frozen=True, slots=True)
class TrustRegion:
    """L and the two counters; every update returns a new one."""

    length: float
    successes: int = 0
    failures: int = 0

    @classmethod
    def fresh(cls, rules: RegionRules) -> TrustRegion:
        """L = L_init, nothing counted."""
        return cls(rules.initial)

    def update(self, improved: bool, points: int, failure_tolerance: int, rules: RegionRules) -> TrustRegion:
        """Count one more round of `points` evaluations.

        A round is one success or so many failures. That is the paper's rule for rounds of q points, ⌈max(4, d) / q⌉
        failed rounds, for any sizes of rounds: k q ≥ max(4, d) just if k ≥ max(4, d) / q.
        """
        successes = self.successes + 1 if improved else 0
        failures = 0 if improved else self.failures + points
        if successes >= rules.success_tolerance:
            return TrustRegion(min(2.0 * self.length, rules.largest))
        if failures >= failure_tolerance:
            return TrustRegion(0.5 * self.length)
        return TrustRegion(self.length, successes, failures)

    def exhausted(self, rules: RegionRules) -> bool:
        """Whether the region is too small to go on with."""
        return self.length < rules.smallest

    def box(
        self, centre: FloatArray, lengthscales: FloatArray, low: float, high: float
    ) -> tuple[FloatArray, FloatArray]:
        """Return the corners of the region within [low, high]^d: c ± w L (high - low) / 2."""
        half = side_weights(lengthscales) * (0.5 * self.length * (high - low))
        return np.clip(centre - half, low, high), np.clip(centre + half, low, high)


def side_weights(lengthscales: FloatArray) -> FloatArray:
    """Return w = ℓ over the geometric mean of ℓ, so that the sides' product is L^d."""
    logarithms = np.log(lengthscales)
    return np.asarray(np.exp(logarithms - logarithms.mean()))


def region_failure_tolerance(dim: int, regions: int) -> int:
    """Return τ_fail in points: max(4, d) for one region, max(5, d) for each of several."""
    return max(4 if regions == 1 else 5, dim)


def is_success(value: float, best: float, threshold: float = 1e-3) -> bool:
    """Whether a value beats the best before it, inf for none, by more than a share of its size (both papers: 0.1 %)."""
    if math.isnan(value) or math.isinf(best):
        return not math.isnan(value)
    return value < best - threshold * abs(best)


@final
@dataclass(frozen=True, slots=True)
class Rounds:
    """The rounds of proposals under way: those made from the same outcomes are judged together.

    Attributes
    ----------
    known
        How many outcomes there were when each round's proposals were made, which names the round (k,).
    size, awaited
        How many proposals it has, and how many of them are still to be told (k,).
    improved
        Whether one of them was a success (k,).
    """

    known: IntArray
    size: IntArray
    awaited: IntArray
    improved: BoolArray

    @classmethod
    def none(cls) -> Rounds:
        """No round under way."""
        nothing = np.empty(0, dtype=np.int64)
        return cls(nothing, nothing, nothing, np.empty(0, dtype=np.bool_))

    def asked(self, known: int) -> Rounds:
        """Return the rounds with one more proposal, made when so many outcomes were known."""
        here = self.known == known
        if here.any():
            return Rounds(self.known, self.size + here, self.awaited + here, self.improved)
        return Rounds(
            np.append(self.known, known),
            np.append(self.size, 1),
            np.append(self.awaited, 1),
            np.append(self.improved, False),
        )

    def told(self, known: int, improved: bool) -> tuple[Rounds, int, bool]:
        """Return the rounds after an outcome, and of the round that it ends the size (else 0) and the success."""
        here = self.known == known
        if not here.any():
            return self, 0, False
        awaited, success = self.awaited - here, self.improved | (here & improved)
        ended = here & (awaited <= 0)
        rest = ~ended
        size = int(self.size[ended].sum())
        rounds = Rounds(self.known[rest], self.size[rest], awaited[rest], success[rest])
        return rounds, size, bool(success[ended].any())
