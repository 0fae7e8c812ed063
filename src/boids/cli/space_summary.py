"""`boids space`: check a file before a long run, and say what is in it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from rich.table import Table

from boids import plain
from boids.cli.output import emit, emit_json, facts, one_line, table, write
from boids.cli.space_file import read_checked
from boids.program import inputs
from boids.space import Categorical, Space, SpaceFile
from boids.space.linear import LinearConstraints

#: Above this a number of points is only shown by its size.
_EXACT = 10**15


def summarise(file: str, *, example: bool, form: str, seed: int | None, quiet: bool, as_json: bool) -> None:
    """Write a summary of a space file, and perhaps a random point of the space."""
    read, linear = read_checked(file)
    point = _random_point(read.space, linear, seed) if example else None
    if as_json:
        emit_json(_as_dict(read, linear) | ({"example": plain.jsonable(point)} if example else {}))
        return
    if not quiet:
        emit(_parameters(read.space), "", _facts(read, linear), *[""] * example)
    if example:
        write(inputs.render(point, form))


def _random_point(space: Space, linear: LinearConstraints | None, seed: int | None) -> Any:
    """Return a random point that satisfies the linear constraints, in the user's units."""
    rng = np.random.default_rng(seed)
    units = rng.uniform(-1.0, 1.0, (1, space.dim)) if linear is None else linear.sample(1, rng)
    return space.decode(units[0])


def _as_dict(read: SpaceFile, linear: LinearConstraints | None) -> dict[str, Any]:
    space = read.space
    return {
        "parameters": {name: {"type": each.kind, **each.to_manifest()} for name, each in space.parameters.items()},
        "dim": space.dim,
        "points": None if space.size == math.inf else space.size,
        "linear_constraints": [] if linear is None else list(linear.rows),
        "n_constraints": read.n_constraints,
    }


def _parameters(space: Space) -> Table:
    listed = table("parameter", "type", "values", "length", "coordinates")
    for number, (name, parameter) in enumerate(space.parameters.items()):
        length = "" if parameter.shape is None else str(parameter.shape)
        coordinates = int(np.count_nonzero(space.owner == number))
        listed.add_row(one_line(name), parameter.kind, _values(parameter), length, str(coordinates))
    return listed


def _values(parameter: Any) -> str:
    """Return the values that a parameter may have, in words."""
    if isinstance(parameter, Categorical):
        return one_line(", ".join(map(str, parameter.choices)))
    if parameter.kind == "bool":
        return "true or false"
    low, high = np.min(parameter.low), np.max(parameter.high)
    own = np.ndim(parameter.low) > 0 and (np.ptp(parameter.low) > 0 or np.ptp(parameter.high) > 0)
    return f"{low:.6g} to {high:.6g}{', each its own' if own else ''}{', log scale' if parameter.log else ''}"


def _facts(read: SpaceFile, linear: LinearConstraints | None) -> Table:
    space, rows = read.space, facts()
    rows.add_row("parameters", str(len(space.parameters)))
    rows.add_row("dimensions", f"{space.dim} after encoding")
    if space.size != math.inf:
        size = str(space.size) if space.size <= _EXACT else f"about 10^{math.log10(space.size):.0f}"
        rows.add_row("points", size if linear is None else f"at most {size}")
    texts = [] if linear is None else list(linear.rows)
    for number, text in enumerate(texts or ["none"]):
        rows.add_row("" if number else "linear constraints", one_line(text))
    count = read.n_constraints
    rows.add_row("black-box constraints", "not said, so none" if count is None else str(count))
    return rows
