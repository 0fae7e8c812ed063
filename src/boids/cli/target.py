"""What to minimise: a benchmark problem by its name, or a function of the user's as `module:function`."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

from boids.cli.errors import InputError
from boids.errors import ProblemError, did_you_mean
from boids.problems import make
from boids.space import Space


@final
@dataclass(frozen=True)
class Objective:
    """A function ready to be called, its space, and its smallest value if known."""

    fun: Callable[[Any], Any]
    space: Space
    optimum: float | None = None


@final
@dataclass(frozen=True)
class Target:
    """What was asked for on the command line, as plain data, so that a saved run can make it again.

    Attributes
    ----------
    name
        A problem's name, or "module:function".
    dim
        The number of coordinates; None is a problem's default.
    low, high
        The bounds of every coordinate of a user's function.
    options
        A problem's options.
    """

    name: str
    dim: int | None = None
    low: float | None = None
    high: float | None = None
    options: dict[str, Any] | None = None

    def load(self) -> Objective:
        """Return the problem or the imported function."""
        return self._function() if ":" in self.name else self._problem()

    def _problem(self) -> Objective:
        for option, value in (("--low", self.low), ("--high", self.high)):
            if value is not None:
                raise InputError(f"{option} is for functions of your own; problem {self.name!r} has its own bounds.")
        options = self.options or {}
        if "dim" in options:
            raise InputError("--option dim=… is not an option of the problem; use --dim.")
        if "name" in options:
            raise InputError("--option name=… is not an option of the problem; write the problem's name after run.")
        try:
            problem = make(self.name, dim=self.dim, **options)
        except ProblemError as error:
            if self.name.endswith(".py") or "." in self.name:
                name = self.name.removesuffix(".py")
                raise InputError(
                    f"There is no problem {self.name!r}; for a function of your own write module:function, "
                    f"such as {name.replace('/', '.')}:objective."
                ) from None
            raise InputError(str(error)) from None
        return Objective(problem, problem.space, problem.optimum)

    def _function(self) -> Objective:
        if self.options:
            raise InputError(f"--option is for problems; {self.name!r} is a function of your own and takes none.")
        for option, value in (("--dim", self.dim), ("--low", self.low), ("--high", self.high)):
            if value is None:
                raise InputError(f"{option} is missing; a function of your own needs --dim, --low and --high.")
        space = Space([(self.low, self.high)] * (self.dim or 0))
        return Objective(imported(self.name), space)


def imported(name: str) -> Callable[[Any], Any]:
    """Return the function that "module:function" means; the current folder is searched first."""
    module_name, _, path = name.partition(":")
    if not module_name or not all(path.split(".")):
        raise InputError(f"A function of your own is written module:function, got {name!r}.")
    found, reached = _imported_module(module_name), module_name
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


def _imported_module(name: str) -> Any:
    if name.endswith(".py") or os.sep in name:
        module = os.path.basename(name).removesuffix(".py") or "module"
        raise InputError(
            f"{name!r} is a file, but the name of a module is needed; go to its folder and write {module}:function."
        )
    folder = os.getcwd()
    if folder not in sys.path[:1]:
        sys.path.insert(0, folder)
    importlib.invalidate_caches()
    try:
        return importlib.import_module(name)
    except (Exception, SystemExit) as error:  # whatever the user's file does
        missing = error.name if isinstance(error, ModuleNotFoundError) else None
        if missing is not None and (name == missing or name.startswith(f"{missing}.")):
            raise InputError(f"There is no module {name!r} in the current folder or on Python's path.") from None
        raise InputError(f"Importing {name!r} failed with {type(error).__name__}: {error}") from error
