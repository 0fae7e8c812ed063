"""`--plot FILE`: a picture of the run, checked before the run and drawn after it."""

from __future__ import annotations

import os
from importlib.util import find_spec

from boids.errors import InputError, MissingExtra, StoreError
from boids.result import Result

_SUFFIXES = (".png", ".svg", ".pdf")


def checked(path: str | None) -> str | None:
    """Return the absolute path of a picture to come; refuse what would only come to light after the last evaluation."""
    if path is None:
        return None
    if os.path.splitext(path)[1].lower() not in _SUFFIXES:
        raise InputError(f"--plot must end in {', '.join(_SUFFIXES[:-1])} or {_SUFFIXES[-1]}, got {path!r}.")
    folder = os.path.dirname(path) or "."
    if not os.path.isdir(folder) or os.path.isdir(path):
        what = f"there is no folder {folder!r}; make it first" if not os.path.isdir(folder) else "it is a folder"
        raise InputError(f"--plot {path}: {what}.")
    if find_spec("matplotlib") is None:
        raise MissingExtra(
            "--plot needs matplotlib, which is not installed; install it with: pip install 'boids-opt[plot]'"
        )
    return os.path.abspath(path)  # for the current folder may change


def save(result: Result, path: str) -> None:
    """Draw a run into a file, or raise a `StoreError`."""
    try:
        result.plot(path)
    except (OSError, ValueError) as error:  # a full disk; a run with nothing to show
        raise StoreError(f"The picture {path!r} cannot be made: {error}") from error
