"""Evaluations in this process, one after the other or as the rows of a matrix."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Set
from types import TracebackType
from typing import Any, Self, final

import numpy as np

from boids.records import FloatArray
from boids.space import Space
from boids.values import describe_error
from boids.workers import Evaluation


@final
class Here:
    """Workers, in the sense of `boids.workers.Workers`, that are this process itself.

    Parameters
    ----------
    vectorized
        Whether the function takes all points that were submitted, as a (q, D) matrix or for a named space a dict of
        columns, and returns q results.
    n_constraints
        How many constraint values a result comes with.
    """

    def __init__(
        self, fun: Callable[[Any], Any], space: Space, *, vectorized: bool = False, n_constraints: int = 0
    ) -> None:
        self._fun = fun
        self._space = space
        self._vectorized = vectorized
        self._n_constraints = n_constraints
        self._waiting: list[tuple[int, FloatArray]] = []

    @property
    def size(self) -> int:
        """One at a time."""
        return 1

    def submit(self, key: int, unit: FloatArray) -> None:
        """Put a point of the cube (D,) in the queue."""
        self._waiting.append((key, unit))

    def wait(self, timeout: float | None = None) -> list[Evaluation]:
        """Evaluate the next point, or all of them if the function is vectorised."""
        if not self._waiting:
            return []
        count = len(self._waiting) if self._vectorized else 1
        group, self._waiting = self._waiting[:count], self._waiting[count:]
        units = [unit for _, unit in group]
        # Decoded here, for an objective may work in place.
        points = self._space.decode_many(units) if self._vectorized else self._space.decode(units[0])
        error, values, owner, begun = None, [None] * count, os.getpid(), time.perf_counter()
        try:
            result = self._fun(points)
            values = _rows(result, count, self._n_constraints) if self._vectorized else [result]
        except (Exception, SystemExit) as caught:  # sys.exit in a simulator's wrapper is a failed run, not our end
            error = describe_error(caught)
        finally:
            if os.getpid() != owner:  # a child that the function has forked must not carry on with the run
                os._exit(0)
        seconds = (time.perf_counter() - begun) / count
        return [Evaluation(key, value, error, seconds=seconds) for (key, _), value in zip(group, values, strict=True)]

    def cancel(self) -> None:
        """Forget what was submitted."""
        self._waiting.clear()

    def close(self) -> None:
        """Forget what was submitted."""
        self.cancel()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _rows(values: Any, count: int, n_constraints: int) -> list[Any]:
    """Return what a vectorised objective returned as a list of `count` results.

    With constraints it may be a pair of all values and a (q, C) matrix, as well as a list of q pairs.
    """
    if n_constraints and isinstance(values, tuple) and len(values) == 2 and _is_table(values[1], n_constraints):
        numbers = _rows(values[0], count, 0)
        return list(zip(numbers, _rows(values[1], count, 0), strict=True))
    try:
        rows = list(values)
    except TypeError:  # a bare number, which will do for a single row
        rows = [values]
    if len(rows) != count or isinstance(values, (str, bytes, Mapping, Set)):
        got = f"{type(values).__name__} with {len(rows)}"
        raise ValueError(f"a vectorized objective must return one value per row, {count} here, got {got}")
    return rows


def _is_table(constraints: Any, n_constraints: int) -> bool:
    """Whether this is a matrix with a row of constraints for every point; an array of numbers if there is only one."""
    try:
        array = np.asarray(constraints, dtype=float)
    except (TypeError, ValueError):
        return False
    return array.ndim == 2 or (n_constraints == 1 and array.ndim == 1 and isinstance(constraints, np.ndarray))
