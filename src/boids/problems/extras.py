"""Optional packages of the problems: is one installed, and how to say that it is not."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec
from types import MappingProxyType, ModuleType

from boids.errors import MissingExtra

#: What each extra must bring: packages at the top level, so that looking for them imports nothing.
PACKAGES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "problems": ("sklearn",),
        "mujoco": ("gymnasium", "mujoco", "imageio"),  # imageio: gymnasium does not start without it
        "coco": ("cocoex",),
        "lander": ("gymnasium", "Box2D"),
    }
)


def missing(extra: str) -> str | None:
    """Return what of an extra is not installed, and the command that installs it; None if it is all there."""
    absent = [package for package in PACKAGES[extra] if find_spec(package) is None]
    if not absent:
        return None
    return f"needs {' and '.join(absent)}, not installed here; run {command(extra)}"


def command(extra: str) -> str:
    """Return the command that installs an extra."""
    return f"`pip install 'boids-opt[{extra}]'`"


def load(module: str, extra: str, problem: str) -> ModuleType:
    """Import a module of an optional package.

    Raises
    ------
    MissingExtra
        If it cannot be imported; with the command that installs it.
    """
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingExtra(
            f"Problem {problem!r} needs {module}, but importing it failed ({error}); run {command(extra)}."
        ) from error
