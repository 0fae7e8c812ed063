"""Optional packages of the problems: is one installed, and how to say that it is not."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec
from types import MappingProxyType, ModuleType

from boids.errors import MissingExtra

#: What each extra must bring: modules at the top level, so that looking for them imports nothing.
MODULES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "problems": ("sklearn",),
        "mujoco": ("gymnasium", "mujoco", "imageio"),  # imageio: gymnasium does not start without it
        "coco": ("cocoex",),
        "lander": ("gymnasium", "Box2D"),
    }
)

#: The packages whose modules have other names.
PACKAGES: Mapping[str, str] = MappingProxyType({"sklearn": "scikit-learn", "cocoex": "coco-experiment"})


def missing(extra: str) -> str | None:
    """Return what of an extra is not installed, and the command that installs it; None if it is all there."""
    absent = [PACKAGES.get(module, module) for module in MODULES[extra] if find_spec(module) is None]
    if not absent:
        return None
    *others, last = absent
    listed = f"{', '.join(others)} and {last}" if others else last
    return f"needs {listed}, not installed here; run {command(extra)}"


def require(extra: str | None, problem: str) -> None:
    """Check that an extra is installed; imports nothing.

    Raises
    ------
    MissingExtra
        If it is not; with the command that installs it.
    """
    reason = None if extra is None else missing(extra)
    if reason is not None:
        raise MissingExtra(f"Problem {problem!r} {reason}.")


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
