"""When to leave a subspace: the termination factor K, the counterpart of a trust region's side length.

Ngo, Ha, Chan & Zhang (BOIDS), AAAI 2025, appendix "Detailed Implementation".

Notation
--------
K       termination factor, K_min ≤ K; the search in the subspace ends when K > K_max
c_s     successes in a row              τ_succ   successes that lower K
c_f     failures in a row               τ_fail   failures that raise K
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final


@final
@dataclass(frozen=True, slots=True)
class PatienceRules:
    """The constants; `exceed` demands more than τ in a row (paper), otherwise reaching τ is enough (released code)."""

    initial: int = 1
    minimum: int = 0
    maximum: int = 7
    success_tolerance: int = 3
    exceed: bool = False


@final
@dataclass(frozen=True, slots=True)
class Patience:
    """K and the two counters; every update returns a new one."""

    factor: int
    successes: int = 0
    failures: int = 0

    @classmethod
    def fresh(cls, rules: PatienceRules) -> Patience:
        """K = K_init, nothing counted."""
        return cls(rules.initial)

    def update(self, improved: bool, failure_tolerance: int, rules: PatienceRules) -> Patience:
        """Count one more evaluation."""
        successes = self.successes + 1 if improved else 0
        failures = 0 if improved else self.failures + 1
        margin = 1 if rules.exceed else 0
        if successes >= rules.success_tolerance + margin:
            return Patience(max(self.factor - 1, rules.minimum), 0, failures)
        if failures >= failure_tolerance + margin:
            return Patience(self.factor + 1, successes, 0)
        return Patience(self.factor, successes, failures)

    def exhausted(self, rules: PatienceRules) -> bool:
        """Whether the search in this subspace is over."""
        return self.factor > rules.maximum
