"""A run as a file: what an optimizer keeps, as plain data in a snapshot, and back.

Only boids' own methods can be made again from their settings; a method of the caller's must be handed in.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, final

from boids import plain, snapshot
from boids.algorithms import ALGORITHMS, Algorithm
from boids.errors import StoreError
from boids.ledger import SavedLedger


@final
@dataclass(frozen=True, eq=False)
class SavedRun:
    """Everything about a run as plain data, but for its method's settings and state."""

    space: Any
    linear: Any
    budget: int
    seed: int
    method: str
    noisy: bool
    n_constraints: int
    penalty: float | None
    exhausted: bool
    times: dict[str, float]
    ledger: SavedLedger


@final
@dataclass(frozen=True)
class RunFile:
    """What a file holds."""

    run: SavedRun
    algorithm: Algorithm[Any]
    state: Any
    meta: dict[str, Any]


def write(path: str | os.PathLike[str], file: RunFile) -> None:
    """Write a run to a file."""
    algorithm = file.algorithm
    own = ALGORITHMS.get(algorithm.name) is type(algorithm)
    arrays: list[plain.AnyArray] = []
    content = {
        "run": plain.encode(file.run, SavedRun, arrays, "run"),
        "state": plain.encode(file.state, algorithm.State, arrays, "state"),
        "settings": plain.encode(algorithm, type(algorithm), arrays, "settings") if own else None,
        "meta": file.meta,
    }
    snapshot.write(path, content, arrays)


def read(path: str | os.PathLike[str], algorithm: Algorithm[Any] | None = None) -> RunFile:
    """Return the run in a file; `algorithm` is needed only for a method that is not boids' own."""
    content, arrays = snapshot.read(path)
    with explained(path):
        run: SavedRun = plain.decode(content["run"], SavedRun, arrays, "run")
        if algorithm is None:
            algorithm = _saved_algorithm(run.method, content["settings"], arrays)
        elif algorithm.name != run.method:
            raise StoreError(f"it was made by the method {run.method!r}, not by {algorithm.name!r}")
        elif content["settings"] is not None and algorithm != _saved_algorithm(run.method, content["settings"], arrays):
            raise StoreError(f"it was made by {run.method!r} with other settings; load it without method=")
        state = plain.decode(content["state"], algorithm.State, arrays, "state")
        return RunFile(run, algorithm, state, dict(content.get("meta", {})))


@contextmanager
def explained(path: str | os.PathLike[str]) -> Iterator[None]:
    """Turn whatever is wrong with a file's content into one sentence that names the file."""
    try:
        yield
    except (StoreError, ValueError, TypeError, KeyError) as error:
        reason = str(error).rstrip(".")
        raise StoreError(f"The snapshot {os.fspath(path)!r} cannot be used: {reason}.") from error


def _saved_algorithm(name: str, settings: Any, arrays: list[plain.AnyArray]) -> Algorithm[Any]:
    """Return the algorithm that a snapshot was made by, with its settings."""
    if settings is None:
        raise StoreError(f"its method {name!r} is not one of boids' own; give it to Optimizer.load(path, method=…)")
    if name not in ALGORITHMS:
        raise StoreError(f"this boids has no method {name!r}; it has {', '.join(sorted(ALGORITHMS))}")
    algorithm: Algorithm[Any] = plain.decode(settings, ALGORITHMS[name], arrays, "settings")
    return algorithm
