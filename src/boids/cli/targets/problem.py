"""A benchmark problem by its name."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any, ClassVar, final

from boids.cli.targets.objective import Objective
from boids.errors import InputError, ProblemError
from boids.problems import PROBLEMS, Problem, make
from boids.space import Space


@final
@dataclass(frozen=True)
class ProblemTarget:
    """A benchmark problem.

    Attributes
    ----------
    name
        What it is called in `boids problems`.
    dim
        The number of coordinates; None is the problem's default.
    options
        The problem's options.
    """

    name: str
    dim: int | None = None
    options: dict[str, Any] | None = None

    #: Whether something in the folder where the run was begun is needed.
    is_local: ClassVar[bool] = False

    @property
    def word(self) -> str:
        """A short name."""
        return self.name

    def load(self, space: Space | None = None, n_constraints: int | None = None) -> Objective:
        """Return the problem; if it is for a saved run, it must be what it was then."""
        problem = self._made()
        if space is not None and (problem.space != space or problem.n_constraints != n_constraints):
            what = "bounds" if problem.space != space else "constraints"
            raise InputError(f"problem {self.name!r} has other {what} by now.")
        return Objective(
            fun=problem,
            space=problem.space,
            n_constraints=problem.n_constraints,
            noisy=problem.noisy,
            optimum=problem.optimum,
            memory=problem if problem.stateful else None,
        )

    def _made(self) -> Problem:
        options = self.options or {}
        if "dim" in options:
            raise InputError("--option dim=… is not an option of the problem; use --dim.")
        if "name" in options:
            raise InputError("--option name=… is not an option of the problem; write the problem's name after run.")
        if self.name not in PROBLEMS:
            self._complain_if_it_is_a_file()
        try:
            return make(self.name, dim=self.dim, **options)
        except ProblemError as error:
            raise InputError(str(error)) from None

    def _complain_if_it_is_a_file(self) -> None:
        """Say how to name what is probably meant, if it does not look like the name of a problem."""
        if self.name.endswith(".py") or ("." in self.name and not os.path.exists(self.name)):
            module = self.name.removesuffix(".py").strip("./").replace("/", ".")
            raise InputError(
                f"There is no problem {self.name!r}; for a function of your own write module:function, "
                f"such as {module}:objective."
            )
        if os.path.isfile(self.name):
            raise InputError(
                f"There is no problem {self.name!r}; for a program write --command '{self.name} {{input}} {{output}}'."
            )
