"""Wrappers that change how an evaluation goes: noise, a counter, a delay, crashes; over a box or named parameters.

Each is a function from `Problem` to `Problem`; `boids.problems.wrappers` has the others.

======  =================================================================
symbol  meaning, shape
======  =================================================================
D       coordinates of the problem
C       number of constraints
x       q points, (q, D), or one point with named parameters, a dict
======  =================================================================
"""

from __future__ import annotations

import hashlib
import json
import math
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias, final, get_args

import numpy as np
from numpy.typing import ArrayLike

from boids.errors import EvaluationError, ProblemError
from boids.problems.problem import Evaluator, Problem, integer, is_number
from boids.records import BoolArray, FloatArray

How: TypeAlias = Literal["raise", "nan"]

#: So close to a known minimiser, in shares of the box's widths, that only rounding makes the difference.
NEAR = 1e-9


# Noise


@final
@dataclass(frozen=True, slots=True, eq=False)
class FreshNoise:
    """x -> f(x) + noise that nobody can foresee; constraints are left as they are."""

    inner: Evaluator
    deviation: float

    def __call__(self, x: Any) -> FloatArray:
        """Return the values at `x` with noise."""
        return _with_noise(self.inner(x), self.deviation * np.random.default_rng().standard_normal(_rows(x)))


@final
@dataclass(slots=True, eq=False)
class SeededNoise:
    """x -> f(x) + noise that depends on the seed and on how many evaluations came before; for one process."""

    inner: Evaluator
    deviation: float
    seed: int
    calls: int = 0
    _lock: Any = field(default_factory=threading.Lock, repr=False)

    def __call__(self, x: Any) -> FloatArray:
        """Return the values at `x` with noise."""
        values = self.inner(x)  # first: an evaluation that fails takes no noise
        with self._lock:
            first, self.calls = self.calls, self.calls + _rows(x)
        draws = [np.random.default_rng((self.seed, call)).standard_normal() for call in range(first, first + _rows(x))]
        return _with_noise(values, self.deviation * np.array(draws))

    def state(self) -> dict[str, int]:
        """Return how many evaluations have been made."""
        return {"calls": self.calls}

    def restore(self, state: Mapping[str, int]) -> None:
        """Go on as after so many evaluations."""
        self.calls = int(state["calls"])

    def __reduce__(self) -> tuple[Any, ...]:  # a lock cannot be sent
        return SeededNoise, (self.inner, self.deviation, self.seed, self.calls)


def noise(problem: Problem, deviation: float, *, seed: int | None = None) -> Problem:
    """Add normal noise to the values; the constraints stay exact, and the optimum is that without noise.

    Parameters
    ----------
    deviation
        Its standard deviation.
    seed
        None: every evaluation draws afresh, in whatever process it runs. A number: the noise of the n-th evaluation
        is the same in every run, whatever the point. The problem then is stateful (it remembers n, which is saved with
        a run), and all evaluations must be made in one process.
    """
    if not is_number(deviation) or not 0 <= deviation < math.inf:
        raise ProblemError(f"The deviation of the noise must be a finite number ≥ 0, but got {deviation!r}; give one.")
    if seed is None:
        evaluate: Evaluator = FreshNoise(problem.evaluate, float(deviation))
    else:
        evaluate = SeededNoise(problem.evaluate, float(deviation), integer("seed", seed, 0))
    return replace(problem, evaluate=evaluate, noisy=True)


def _with_noise(values: Any, draws: FloatArray) -> FloatArray:
    noisy = np.array(values, dtype=np.float64)
    if draws.size:
        noisy.reshape(draws.size, -1)[:, 0] += draws  # the first of the columns, and a view of the whole
    return noisy


# Counting and waiting


@final
@dataclass(slots=True, eq=False)
class Counted:
    """x -> f(x), and count the points."""

    inner: Evaluator
    points: int = 0
    _lock: Any = field(default_factory=threading.Lock, repr=False)

    def __call__(self, x: Any) -> Any:
        """Return what `inner` returns."""
        with self._lock:  # before the evaluation, for those that fail count as well
            self.points += _rows(x)
        return self.inner(x)

    def __reduce__(self) -> tuple[Any, ...]:  # a lock cannot be sent
        return Counted, (self.inner, self.points)


def count(problem: Problem) -> Problem:
    """Count the evaluations, from 0 on, those that fail too; `evaluations` tells how many there were.

    A copy in another process counts for itself.
    """
    return replace(problem, evaluate=Counted(problem.evaluate))


def evaluations(problem: Problem) -> int:
    """Return how many points a problem made by `count` has evaluated in this process."""
    evaluate: Any = problem.evaluate
    while evaluate is not None:
        if isinstance(evaluate, Counted):
            return evaluate.points
        evaluate = getattr(evaluate, "inner", None)
    raise ProblemError(f"The evaluations of problem {problem.name!r} are not counted; wrap it with count first.")


@final
@dataclass(frozen=True, slots=True, eq=False)
class Delayed:
    """x -> f(x), so many seconds later."""

    inner: Evaluator
    seconds: float

    def __call__(self, x: Any) -> Any:
        """Return what `inner` returns."""
        time.sleep(self.seconds * _rows(x))
        return self.inner(x)


def delay(problem: Problem, seconds: float) -> Problem:
    """Make every evaluation take `seconds` more, asleep."""
    if not is_number(seconds) or not 0 <= seconds < math.inf:
        raise ProblemError(f"A delay must be a finite number of seconds ≥ 0, but got {seconds!r}; give one.")
    cost = f"{seconds:g} s and {problem.cost}"
    return replace(problem, evaluate=Delayed(problem.evaluate, float(seconds)), cost=cost)


# Crashes


@final
@dataclass(frozen=True, slots=True, eq=False)
class ShareOfPoints:
    """x -> whether it belongs to a random share of the points, by a hash; known minimisers do not."""

    share: float
    seed: int
    spared: FloatArray
    near: FloatArray

    def __call__(self, x: Any) -> BoolArray:
        """Return whether each point (q,) belongs to the share."""
        if isinstance(x, Mapping):
            return np.array([self._draw(json.dumps(dict(x), sort_keys=True, default=_jsonable).encode()) < self.share])
        chosen = [self._draw((row + 0.0).tobytes()) < self.share for row in x]  # + 0.0: -0.0 is 0.0
        is_spared = np.any(np.all(np.abs(x[:, np.newaxis] - self.spared) <= self.near, axis=2), axis=1)
        fails: BoolArray = np.array(chosen, dtype=bool) & ~is_spared
        return fails

    def _draw(self, point: bytes) -> float:
        """Return a number in [0, 1) that looks uniform and depends on the seed and the point alone."""
        digest = hashlib.blake2b(b"%d " % self.seed + point, digest_size=8).digest()
        return int.from_bytes(digest, "big") / 2**64


@final
@dataclass(frozen=True, slots=True, eq=False)
class Region:
    """x -> whether it lies in a box, its faces included."""

    low: FloatArray
    high: FloatArray

    def __call__(self, x: FloatArray) -> BoolArray:
        """Return whether each point (q,) lies in the box."""
        inside: BoolArray = np.all((x >= self.low) & (x <= self.high), axis=1)
        return inside


@final
@dataclass(frozen=True, slots=True, eq=False)
class Failing:
    """x -> f(x), except where an evaluation fails: an error, or nan in all 1 + C columns."""

    inner: Evaluator
    fails: ShareOfPoints | Region
    how: How
    columns: int

    def __call__(self, x: Any) -> Any:
        """Return what `inner` returns where evaluations succeed."""
        failed = self.fails(x)
        if not np.any(failed):
            return self.inner(x)
        if self.how == "raise":
            raise EvaluationError("The evaluation crashed, as the problem was made to do here.")
        values = np.full((len(failed), self.columns) if self.columns > 1 else len(failed), np.nan)
        if not np.all(failed):
            values[~failed] = self.inner(x[~failed])
        return values[0] if isinstance(x, Mapping) else values


def fail(
    problem: Problem,
    share: float = 0.0,
    *,
    region: tuple[ArrayLike, ArrayLike] | None = None,
    seed: int = 0,
    how: How = "raise",
) -> Problem:
    """Make evaluations fail, a random share of them or those in a region; a point that fails once fails always.

    Parameters
    ----------
    share
        The share of the points that fail, chosen by a hash of the point and the seed. Known minimisers are spared, so
        that the optimum can be attained.
    region
        The corners (D,), or numbers for all coordinates, of a box in which all evaluations fail. If it holds all known
        minimisers, the optimum is not known any more.
    seed
        Decides which points belong to the share.
    how
        "raise" an error, also for a whole matrix if one of its rows fails, or return "nan" in its place.
    """
    if (region is None) == (share == 0.0):
        raise ProblemError("fail takes either a share of the points or a region; give exactly one of them.")
    if how not in get_args(How):
        raise ProblemError(f"how must be 'raise' or 'nan', but got {how!r}; leave it out to raise an error.")
    if region is not None:
        return _fail_in_region(problem, region, how)
    if not is_number(share) or not 0 < share <= 1:
        raise ProblemError(f"share must be a number in (0, 1], but got {share!r}; write share=0.1 for every tenth.")
    chosen = ShareOfPoints(
        float(share), integer("seed", seed, 0), problem.minimisers, NEAR * (problem.high - problem.low)
    )
    return replace(problem, evaluate=Failing(problem.evaluate, chosen, how, 1 + problem.n_constraints))


def _fail_in_region(problem: Problem, region: tuple[ArrayLike, ArrayLike], how: How) -> Problem:
    if problem.search_space is not None:
        raise ProblemError(
            f"A region is a part of a box, but problem {problem.name!r} has named parameters; fail a share instead."
        )
    try:
        low, high = (np.broadcast_to(np.asarray(corner, dtype=np.float64), problem.dim) for corner in region)
    except (TypeError, ValueError):
        low, high = np.array(np.nan), np.array(np.nan)
    if not np.all(low <= high):
        raise ProblemError(
            f"region must be a pair (low, high) of numbers, or of {problem.dim} numbers each, with low <= high, "
            f"but got {region!r}; give the two corners of a box."
        )
    test = Region(low, high)
    left = problem.minimisers[~test(problem.minimisers)]
    return replace(
        problem,
        evaluate=Failing(problem.evaluate, test, how, 1 + problem.n_constraints),
        minimisers=left,
        optimum=problem.optimum if len(left) else None,
    )


def _rows(x: Any) -> int:
    """Return how many points there are."""
    return 1 if isinstance(x, Mapping) else len(x)


def _jsonable(value: Any) -> Any:
    return value.tolist()  # arrays and NumPy's scalars
