"""What a run is: everything about it that does not change, checked once, and how its method sees the world."""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, final

import numpy as np

from boids.algorithms import Algorithm, find
from boids.blocks import merit
from boids.earlier import starting_points
from boids.errors import MethodError, shown
from boids.ledger import protected
from boids.placement import Placement
from boids.records import Domain, FloatArray, History, Proposal
from boids.space import Space
from boids.space.linear import LinearConstraints
from boids.values import is_integer, positive_int, real_number

# What a random stream is for: the first part of its key, the trial's number being the second.
INIT, ASK, TELL, PLACE = 0, 1, 2, 3

#: Seeds that differ by a multiple of this draw the same at the beginning, where a method makes its initial design and
#: subspace, and are independent afterwards: in a comparison, methods start alike and go on with streams of their own.
STREAMS = 1 << 32

#: More black-box constraints than this are a mistake, rather than a need for gigabytes.
MOST_CONSTRAINTS = 10_000


@final
@dataclass(frozen=True, eq=False)
class Setup:
    """The arguments of a run, checked; see `boids.Optimizer` for what they mean."""

    space: Space
    budget: int
    algorithm: Algorithm[Any]
    seed: int
    noisy: bool
    n_constraints: int
    linear: LinearConstraints | None
    penalty: float | None
    x0: FloatArray  # points of the cube that are evaluated before the method's own (k, D)

    @classmethod
    def of(
        cls,
        space: Any,
        budget: Any,
        method: Any,
        seed: Any,
        noisy: Any,
        n_constraints: Any,
        linear_constraints: Any,
        penalty: Any,
        x0: Any,
    ) -> Setup:
        """Check what a user has given."""
        known = Space.of(space)
        count = _count(n_constraints)
        linear = LinearConstraints.of(known, linear_constraints)
        return cls(
            space=known,
            budget=positive_int(budget, "budget"),
            algorithm=find(method),
            seed=_seed(seed),
            noisy=_flag(noisy),
            n_constraints=count,
            linear=linear,
            penalty=_penalty(penalty, count),
            x0=_within(starting_points(known, linear, x0), budget),
        )

    def difference(self, other: Setup, ignored: Sequence[str] = ()) -> str | None:
        """Return in what another run is different, in a few words; None if it is the same."""
        words = {
            "space": "space",
            "budget": "budget",
            "algorithm": "method",
            "seed": "seed",
            "noisy": "noisy",
            "n_constraints": "number of constraints",
            "linear": "set of linear constraints",
            "penalty": "penalty",
        }
        for name, word in words.items():
            mine, others = getattr(self, name), getattr(other, name)
            if name not in ignored and mine != others:
                plain = name in ("budget", "seed", "n_constraints", "noisy")
                return f"{word} ({others}, not {mine})" if plain else word
        return None if np.array_equal(self.x0, other.x0) else "x0"

    @cached_property
    def placement(self) -> Placement:
        """Where proposals may go."""
        return Placement(self.space, self.linear, self.noisy)

    @cached_property
    def domain(self) -> Domain:
        """What is known of the space."""
        return self.placement.domain(self.n_constraints)

    @cached_property
    def models_constraints(self) -> bool:
        """Whether the method gets the constraints as they are, rather than one number that stands for all."""
        return self.penalty is None and bool(getattr(self.algorithm, "models_constraints", False))

    @cached_property
    def seen_domain(self) -> Domain:
        """The domain as the method sees it."""
        return self.domain if self.models_constraints else replace(self.domain, n_constraints=0)

    def seen(self, history: History) -> History:
        """Return the history as the method sees it."""
        if history.constraints is None or self.models_constraints:
            return history
        if self.penalty is None:
            values = merit.feasibility_first(history.values, history.constraints)
        else:
            values = merit.penalised(history.values, history.constraints, self.penalty)
        return replace(history, values=values, constraints=None, space=self.seen_domain)

    def place(
        self, proposal: Proposal, number: int, others: Sequence[Proposal], tried: Callable[[FloatArray], bool]
    ) -> Proposal | None:
        """Return the proposal at a point that can be evaluated and is new; None if there is none left.

        Parameters
        ----------
        number
            Of the trial that it will be.
        others
            Proposals made just before, of which `tried` does not know yet.
        tried
            Whether a point need not be tried again.
        """
        aim = self._inside(proposal.unit)
        units = [] if self.noisy else [other.unit for other in others]
        unit = self.placement.place(
            aim,
            lambda point: tried(point) or any(np.array_equal(point, other) for other in units),
            lambda: self.rng(PLACE, number),
        )
        if unit is None:
            return None
        return replace(proposal, unit=protected(unit), aimed=None if np.array_equal(unit, aim) else protected(aim))

    def _inside(self, point: FloatArray) -> FloatArray:
        """Return a proposed point inside the cube, whatever rounding did."""
        unit = np.asarray(point, dtype=float)
        if unit.shape != (self.space.dim,) or not np.isfinite(unit).all():
            raise MethodError(
                f"The method {self.algorithm.name!r} must propose {self.space.dim} finite coordinates, "
                f"got the shape {unit.shape} or a nan; this is a mistake in the method."
            )
        clipped: FloatArray = np.clip(unit, -1.0, 1.0)
        return clipped

    def rng(self, purpose: int, number: int) -> np.random.Generator:
        """Return the generator for one purpose and one trial."""
        seed = self.seed % STREAMS if purpose == INIT else self.seed
        return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(purpose, number)))


def _seed(seed: Any) -> int:
    """Return the seed, or a fresh one for None: short enough to be read aloud and to survive in any JSON."""
    if seed is None:
        return secrets.randbits(48)
    if not is_integer(seed) or seed < 0:
        raise ValueError(f"seed must be None or an integer of at least 0, got {shown(seed)}.")
    return int(seed)


def _count(n_constraints: Any) -> int:
    if not is_integer(n_constraints) or not 0 <= n_constraints <= MOST_CONSTRAINTS:
        raise ValueError(f"n_constraints must be an integer from 0 to {MOST_CONSTRAINTS}, got {shown(n_constraints)}.")
    return int(n_constraints)


def _within(x0: FloatArray, budget: int) -> FloatArray:
    if len(x0) > budget:
        raise ValueError(f"x0 has {len(x0)} points, but the budget is only {budget}; make it larger, or give fewer.")
    return x0


def _flag(noisy: Any) -> bool:
    if not isinstance(noisy, (bool, np.bool_)):
        raise ValueError(f"noisy must be True or False, got {shown(noisy)}; tell the noise's variance trial by trial.")
    return bool(noisy)


def _penalty(penalty: Any, n_constraints: int) -> float | None:
    if penalty is None:
        return None
    if not 0.0 < real_number(penalty, "penalty") < math.inf:
        raise ValueError(f"penalty must be a positive number, got {shown(penalty)}.")
    if not n_constraints:
        raise ValueError("penalty weighs black-box constraints, but there are none; say how many with n_constraints.")
    return float(penalty)
