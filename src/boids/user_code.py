"""Names of the user's own code, as `module:name`."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable
from typing import Any

from boids.errors import InputError, did_you_mean


def imported(name: str, folder: str | None = None) -> Callable[[Any], Any]:
    """Return the function that "module:function" means; a folder, by default the current one, is searched first."""
    module_name, _, path = name.partition(":")
    if not module_name or not all(path.split(".")):
        raise InputError(f"A function of your own is written module:function, got {name!r}.")
    found, reached = _imported_module(module_name, os.getcwd() if folder is None else folder), module_name
    for part in path.split("."):
        if not hasattr(found, part):
            known = [each for each in vars(found) if not each.startswith("_")] if hasattr(found, "__dict__") else []
            hint = did_you_mean(part, known, "check its spelling.")
            raise InputError(f"{reached!r} has no {part!r}; {hint}")
        found, reached = getattr(found, part), f"{reached}{':' if reached == module_name else '.'}{part}"
    if not callable(found):
        raise InputError(f"{name!r} must be a function, got {type(found).__name__}.")
    fun: Callable[[Any], Any] = found
    return fun


def _imported_module(name: str, folder: str) -> Any:
    if name.endswith(".py") or os.sep in name:
        module = os.path.basename(name).removesuffix(".py") or "module"
        raise InputError(
            f"{name!r} is a file, but the name of a module is needed; go to its folder and write {module}:function."
        )
    if folder not in sys.path[:1]:
        sys.path.insert(0, folder)
    importlib.invalidate_caches()
    try:
        return importlib.import_module(name)
    except (Exception, SystemExit) as error:  # whatever the user's file does
        missing = error.name if isinstance(error, ModuleNotFoundError) else None
        if missing is not None and (name == missing or name.startswith(f"{missing}.")):
            raise InputError(f"There is no module {name!r} in the folder {folder} or on Python's path.") from None
        raise InputError(f"Importing {name!r} failed with {type(error).__name__}: {error}") from error
