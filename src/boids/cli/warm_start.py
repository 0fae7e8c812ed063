"""What a run may begin with: points in a file (`--x0`), and the evaluations of other runs (`--from`)."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Sequence
from typing import Any

from boids import earlier
from boids.errors import InputError, SpaceError, StoreError, TellError
from boids.optimizer import Optimizer
from boids.space import Space

_FORM = "a point (a list of numbers, or an object by the parameters' names) or a list of points"


def starting_points(path: str | None, space: Space) -> Any:
    """Return the point or points in a .json file, or the point in a .toml file; errors name the file."""
    if path is None:
        return None
    points = _read(path)
    if not isinstance(points, (list, dict)) or not points:
        raise InputError(f"--x0 {path}: the file must have {_FORM} in it.")
    if isinstance(points, dict) and not space.is_named:
        raise InputError(f"--x0 {path}: the space is a box of {space.dim} numbers, so a point must be a list of them.")
    try:
        earlier.starting_points(space, None, points)
    except (SpaceError, TypeError, ValueError) as error:
        raise InputError(f"--x0 {path}: {str(error).rstrip('.')}.") from error
    return points


def add_runs(optimizer: Optimizer, run_ids: Sequence[str], store: str) -> None:
    """Let a new run learn from runs in the store."""
    if not run_ids:
        return
    from boids.store import Store

    shelf, taken = Store(store), set[str]()
    for given in run_ids:
        try:
            run_id = shelf.find(given)
            if run_id in taken:
                raise InputError(f"--from {given} was given twice; give it once.")
            taken.add(run_id)
            other, _ = Optimizer.stored(store, run_id)
            added = optimizer.add_trials(other)
        except (SpaceError, TellError) as error:
            words = str(error).removeprefix("trials[").replace("]", "", 1)  # the number of the trial
            raise InputError(f"--from {given}: trial {words}") from error
        except StoreError as error:
            raise InputError(f"--from {given}: {error}") from error
        if not added:
            raise InputError(f"--from {given}: that run has no finished evaluation to learn from.")


def _read(path: str) -> Any:
    try:
        with open(path, "rb") as file:
            text = file.read().decode("utf-8-sig")
        return tomllib.loads(text) if path.endswith(".toml") else json.loads(text)
    except OSError as error:
        raise InputError(f"--x0 {path}: the file cannot be read ({error.strerror or error}).") from error
    except (ValueError, RecursionError) as error:  # also a text that is no UTF-8
        kind = "TOML" if path.endswith(".toml") else "JSON"
        raise InputError(f"--x0 {path}: the file is not {kind} ({error}); it must have {_FORM} in it.") from error
