"""A run as plain data, and as a file: what it takes to go on later exactly as if there had been no break.

Only boids' own methods can be made again from their settings; a method of the caller's must be handed in.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, final

from boids import packing, plain, snapshot
from boids.algorithms import METHODS, Algorithm
from boids.errors import StoreError
from boids.journal import Snapshot, TrialRow
from boids.ledger import Ledger
from boids.records import FloatArray
from boids.run import Run
from boids.setup import Setup
from boids.space import Space
from boids.space.linear import LinearConstraints
from boids.trial_rows import TrialColumns


@final
@dataclass(frozen=True, eq=False)
class SavedSetup:
    """A run's `Setup` as plain data, but for its method's settings."""

    space: Any
    linear: Any
    budget: int
    seed: int
    method: str
    noisy: bool
    n_constraints: int
    penalty: float | None
    x0: FloatArray


@final
@dataclass(frozen=True, eq=False)
class SavedProgress:
    """How far a run has come, as plain data, but for its method's state."""

    exhausted: bool
    times: dict[str, float]
    trials: TrialColumns


def encode_setup(setup: Setup, arrays: list[plain.AnyArray]) -> dict[str, Any]:
    """Return a setup as JSON-able data; its arrays are appended to `arrays`."""
    algorithm = setup.algorithm
    own = METHODS.get(algorithm.name) is type(algorithm)
    saved = SavedSetup(
        space=setup.space.to_manifest(),
        linear=None if setup.linear is None else setup.linear.to_manifest(),
        budget=setup.budget,
        seed=setup.seed,
        method=algorithm.name,
        noisy=setup.noisy,
        n_constraints=setup.n_constraints,
        penalty=setup.penalty,
        x0=setup.x0,
    )
    return {
        "setup": plain.encode(saved, SavedSetup, arrays, "setup"),
        "settings": plain.encode(algorithm, type(algorithm), arrays, "settings") if own else None,
    }


def decode_setup(content: Any, arrays: list[plain.AnyArray], algorithm: Algorithm[Any] | None = None) -> Setup:
    """Return the setup again; `algorithm` is needed only for a method that is not boids' own."""
    saved: SavedSetup = plain.decode(content["setup"], SavedSetup, arrays, "setup")
    settings = content["settings"]
    if algorithm is None:
        algorithm = _saved_algorithm(saved.method, settings, arrays)
    elif algorithm.name != saved.method:
        raise StoreError(f"it was made by the method {saved.method!r}, not by {algorithm.name!r}")
    elif settings is not None and algorithm != _saved_algorithm(saved.method, settings, arrays):
        raise StoreError(f"it was made by {saved.method!r} with other settings; load it without method=")
    space = Space.from_manifest(saved.space)
    if saved.x0.ndim != 2 or saved.x0.shape[1] != space.dim:
        raise StoreError("its starting points are not of its space")
    linear = () if saved.linear is None else LinearConstraints.from_manifest(space, saved.linear)
    checked = Setup.of(
        space, saved.budget, algorithm, saved.seed, saved.noisy, saved.n_constraints, linear, saved.penalty, None
    )
    return replace(checked, x0=saved.x0)


def restored(setup: Setup, rows: Sequence[TrialRow], reached: Snapshot) -> Run:
    """Return the run with these trials that had come so far."""
    content, arrays = packing.unpack(reached.state)
    state = plain.decode(content, setup.algorithm.State, arrays, "state")
    return _run(setup, rows, state, reached.exhausted, dict(reached.times))


def write(path: str | os.PathLike[str], run: Run, meta: Any) -> None:
    """Write a run to a file, with JSON-able facts of the caller's."""
    arrays: list[plain.AnyArray] = []
    ledger, setup = run.ledger, run.setup
    columns = TrialColumns.of([ledger.row(i) for i in range(len(ledger))], setup.space.dim, setup.n_constraints)
    progress = SavedProgress(run.exhausted, run.times, columns)
    content = {
        **encode_setup(setup, arrays),
        "progress": plain.encode(progress, SavedProgress, arrays, "progress"),
        "state": plain.encode(run.state, setup.algorithm.State, arrays, "state"),
        "meta": meta,
    }
    snapshot.write(path, content, arrays)


def read(path: str | os.PathLike[str], algorithm: Algorithm[Any] | None = None) -> tuple[Run, dict[str, Any]]:
    """Return the run in a file, and the caller's facts."""
    content, arrays = snapshot.read(path)
    with explained(f"The snapshot {os.fspath(path)!r}"):
        setup = decode_setup(content, arrays, algorithm)
        progress: SavedProgress = plain.decode(content["progress"], SavedProgress, arrays, "progress")
        state = plain.decode(content["state"], setup.algorithm.State, arrays, "state")
        run = _run(setup, progress.trials.rows(), state, progress.exhausted, dict(progress.times))
        return run, dict(content["meta"])


@contextmanager
def explained(what: str) -> Iterator[None]:
    """Turn whatever is wrong with the content of a file into one sentence that names it."""
    try:
        yield
    except (StoreError, ValueError, TypeError, KeyError) as error:
        raise StoreError(f"{what} cannot be used: {str(error).rstrip('.')}.") from error


def _run(setup: Setup, rows: Sequence[TrialRow], state: Any, exhausted: bool, times: dict[str, float]) -> Run:
    ledger = Ledger.restore(setup.space, rows, setup.domain)
    if len(ledger) - ledger.n_added > setup.budget:
        raise StoreError("it has more trials than its budget")
    return Run(setup, ledger, state, exhausted, times)


def _saved_algorithm(name: str, settings: Any, arrays: list[plain.AnyArray]) -> Algorithm[Any]:
    """Return the algorithm that a run was made by, with its settings."""
    if settings is None:
        raise StoreError(f"its method {name!r} is not one of boids' own; hand it in with method=…")
    if name not in METHODS:
        raise StoreError(f"this boids has no method {name!r}; it has {', '.join(sorted(METHODS))}")
    algorithm: Algorithm[Any] = plain.decode(settings, METHODS[name], arrays, "settings")
    return algorithm
