"""A space file, with its linear constraints checked as well."""

from __future__ import annotations

from boids.errors import SpaceError
from boids.space import SpaceFile, read_space
from boids.space.linear import LinearConstraints


def read_checked(path: str) -> tuple[SpaceFile, LinearConstraints | None]:
    """Return what a space file says, and its linear constraints; a `SpaceError` names the file."""
    read = read_space(path)
    try:
        return read, LinearConstraints.of(read.space, read.linear)
    except SpaceError as error:
        raise SpaceError(f"{path}: {error}") from None
