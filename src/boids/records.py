"""Small frozen records that every layer shares.

Three names are used everywhere:

======  ===========================================================================
symbol  meaning
======  ===========================================================================
x       a point in the user's units, also called ``params``
u       the same point in the signed cube [-1, 1]^D, called ``unit`` in records
z       a point of a method's subspace cube [-1, 1]^d
======  ===========================================================================
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.int64]
BoolArray: TypeAlias = NDArray[np.bool_]

#: What a memo may hold, so that a pending proposal can be saved without pickling.
MemoValue: TypeAlias = int | float | str | bool | FloatArray | IntArray | None

TrialState = Literal["pending", "done", "failed"]


class _Failed:
    """The type of `FAILED`."""

    def __repr__(self) -> str:
        return "boids.FAILED"

    def __reduce__(self) -> str:
        return "FAILED"  # the one object also after a trip to a worker process and back


#: Pass as the value of `Optimizer.tell` to say that the evaluation failed.
FAILED = _Failed()


@dataclass(frozen=True, slots=True)
class Measurement:
    """What an objective may return instead of a number: a value with its constraints and its noise.

    Attributes
    ----------
    value
        The objective's value.
    constraints
        One number per black-box constraint, which holds where the number is ≤ 0.
    noise_variance
        The variance of the value, if it is known.
    """

    value: Any
    constraints: Sequence[Any] = ()
    noise_variance: float | None = None


def _cube_sample(count: int, rng: np.random.Generator, dim: int) -> FloatArray:
    return rng.uniform(-1.0, 1.0, (count, dim))


@dataclass(frozen=True, eq=False)
class Domain:
    """What a method may know of the space, besides that it is a cube; the shell sees to all of it in any case.

    Attributes
    ----------
    dim
        D.
    n_constraints
        How many black-box constraint values come with every value.
    noisy
        Whether two evaluations of one point may differ.
    snapping
        None if all coordinates are continuous; else the function that takes points (q, D) of any precision to the
        points that would be evaluated in their stead, whose integers and categories are whole.
    violating
        None if every point is allowed; else the function that gives the violations (q,) of the linear input
        constraints at points (q, D), 0 where they hold and 1 at the worst.
    sampling
        None if uniform points of the cube will do; else the function (count, rng) that draws allowed points.
    repairing
        The function that takes a point (D,) to the nearest allowed one, if equations among the linear constraints leave
        a search no chance to hit an allowed point by itself; else None.
    """

    dim: int
    n_constraints: int = 0
    noisy: bool = False
    snapping: Callable[[NDArray[Any]], NDArray[Any]] | None = None
    violating: Callable[[NDArray[Any]], FloatArray] | None = None
    sampling: Callable[[int, np.random.Generator], FloatArray] | None = None
    repairing: Callable[[FloatArray], FloatArray] | None = None

    def sample(self, count: int, rng: np.random.Generator) -> FloatArray:
        """Return random allowed points (count, D)."""
        return _cube_sample(count, rng, self.dim) if self.sampling is None else self.sampling(count, rng)


@dataclass(frozen=True, slots=True)
class Proposal:
    """What a method wants evaluated next.

    Attributes
    ----------
    unit
        The point u in the signed cube [-1, 1]^D. The shell puts here what is really evaluated.
    memo
        What the method must know when the value comes back (in any order, however late).
    info
        Diagnostics for people (subspace dimension, chosen line …); JSON-able, never read by the method.
    times
        Seconds spent in each phase of making this proposal.
    aimed
        The point as the method proposed it, if the shell had to move it to one that can be evaluated: to whole
        integers and categories, into linear constraints, off a point that was tried before. Set by the shell.
    """

    unit: FloatArray
    memo: Mapping[str, MemoValue] = field(default_factory=dict)
    info: Mapping[str, Any] = field(default_factory=dict)
    times: Mapping[str, float] = field(default_factory=dict)
    aimed: FloatArray | None = None

    @property
    def aim(self) -> FloatArray:
        """The point as the method proposed it."""
        return self.unit if self.aimed is None else self.aimed

    @property
    def is_guest(self) -> bool:
        """Whether this is not a method's own, whose memos are never empty: a user's point, or an earlier trial."""
        return not self.memo


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came back for a proposal; `value` is nan exactly if the evaluation failed."""

    value: float

    @property
    def failed(self) -> bool:
        """Whether the evaluation failed."""
        return bool(np.isnan(self.value))


def _never(unit: FloatArray) -> bool:
    return False


@dataclass(frozen=True, eq=False)
class History:
    """All outcomes so far, in the order they were told; the shell owns it, methods read it.

    A method that does not say it models constraints finds in `values` what it should minimise all the same: the
    values of feasible points as they are, and above all of them the infeasible points in the order of their violation.

    Attributes
    ----------
    units
        The evaluated points in the signed cube (n, D).
    values
        The objective's values (n,), nan where the evaluation failed.
    constraints
        The values of the black-box constraints (n, C), nan where the evaluation failed; None if there are none.
    noise
        The known variances of the values (n,), nan where unknown; None if none is known.
    aimed
        The points as the method proposed them (n, D), None if they are all the same as `units`.
    space
        What is known of the space; a plain cube if not given.
    tried
        Whether a point of the cube need not be tried again: it has been handed out before, or with noise it failed.
    """

    units: FloatArray
    values: FloatArray
    constraints: FloatArray | None = None
    noise: FloatArray | None = None
    aimed: FloatArray | None = None
    space: Domain | None = None
    tried: Callable[[FloatArray], bool] = _never

    def __len__(self) -> int:
        return len(self.values)

    @property
    def aims(self) -> FloatArray:
        """The points as the method proposed them (n, D)."""
        return self.units if self.aimed is None else self.aimed

    @property
    def domain(self) -> Domain:
        """What is known of the space."""
        return Domain(self.units.shape[1]) if self.space is None else self.space


@dataclass(frozen=True, slots=True, eq=False)
class Trial:
    """One evaluation: asked for, perhaps finished, perhaps failed.

    Attributes
    ----------
    id
        Number of the trial in its run, from 0.
    params
        The point in the user's units: an array for a plain box, a dict for a named space. Also ``x``.
    unit
        The same point in the signed cube.
    value
        The objective's value; None while pending and after a failure.
    constraints
        The values of the black-box constraints, which hold where they are ≤ 0; None if there are none.
    noise_variance
        The variance of the value, if it was told.
    error
        Why the evaluation failed.
    state
        "pending", "done" or "failed".
    started, ended
        Seconds since the epoch.
    info
        The method's diagnostics for this proposal.
    attempts
        How often its evaluation was begun: more than once if a worker was lost or the run was interrupted; 0 if the
        trial was added with its outcome.
    """

    id: int
    params: Any
    unit: FloatArray
    value: float | None = None
    constraints: tuple[float, ...] | None = None
    noise_variance: float | None = None
    error: str | None = None
    state: TrialState = "pending"
    started: float | None = None
    ended: float | None = None
    info: Mapping[str, Any] = field(default_factory=dict)
    attempts: int = 1

    def __eq__(self, other: object) -> bool:
        """Whether this is the same trial with the same outcome; objects are made anew whenever they are needed."""
        if not isinstance(other, Trial):
            return NotImplemented
        mine, others = ([getattr(each, name) for name in _COMPARED] for each in (self, other))
        return mine == others and np.array_equal(self.unit, other.unit)

    def __hash__(self) -> int:
        return hash((self.id, self.state, self.value))

    @property
    def x(self) -> Any:
        """The point in the user's units; the same as `params`."""
        return self.params

    @property
    def failed(self) -> bool:
        """Whether the evaluation failed."""
        return self.state == "failed"

    @property
    def feasible(self) -> bool | None:
        """Whether all black-box constraints hold (without any: True); None unless the evaluation has succeeded."""
        return None if self.state != "done" else self.violation == 0.0

    @property
    def violation(self) -> float:
        """By how much the black-box constraints are violated, summed up; 0 if feasible, nan unless done."""
        if self.state != "done":
            return float("nan")
        return sum(max(0.0, each) for each in self.constraints or ())


_COMPARED = ("id", "state", "value", "constraints", "noise_variance", "error", "started", "ended", "attempts")
