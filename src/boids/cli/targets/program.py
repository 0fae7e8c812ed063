"""An external program, as a command."""

from __future__ import annotations

import os
import shlex
from contextlib import suppress
from dataclasses import dataclass
from typing import ClassVar, Literal, final

from boids.cli.targets.objective import Objective
from boids.errors import InputError
from boids.program import Program
from boids.space import Space

#: Where the folders of a run's evaluations are made, if nobody says otherwise.
FOLDER = "boids-work"
_SCRIPTS = (".py", ".sh", ".jl", ".R", ".m", ".pl", ".js")


@final
@dataclass(frozen=True)
class ProgramTarget:
    """An external program; see `boids.Program` for what its settings mean."""

    name: str
    workdir: str
    format: Literal["json", "lines"] = "json"
    result: Literal["auto", "file", "stdout"] = "auto"
    keep: Literal["failed", "all", "none"] = "failed"
    timeout: float | None = None

    is_local: ClassVar[bool] = True

    @property
    def word(self) -> str:
        """A short name."""
        return short_name(self.name)

    def load(self, space: Space, n_constraints: int) -> Objective:
        """Return the program as a function."""
        program = Program(
            self.name,
            format=self.format,
            result=self.result,
            timeout=self.timeout,
            workdir=self.workdir,
            keep=self.keep,
            n_constraints=n_constraints,
            names=space.names,
        )
        return Objective(program, space, n_constraints)

    def make_folder(self) -> None:
        """Make the folder for the evaluations, or say why not: better now than in every evaluation."""
        reason: object = None
        try:
            os.makedirs(self.workdir, exist_ok=True)
        except OSError as error:
            reason = error.strerror or error
        else:
            reason = None if os.access(self.workdir, os.W_OK | os.X_OK) else "it cannot be written to"
        if reason:
            raise InputError(
                f"The folder {self.workdir!r} for the evaluations cannot be used ({reason}); "
                "choose another with --workdir."
            )

    def remove_empty_folder(self) -> None:
        """Remove the folder for the evaluations if nothing was kept in it and nobody has asked for it by name."""
        if os.path.dirname(self.workdir) == FOLDER:
            with suppress(OSError):  # it has something in it
                os.rmdir(self.workdir)
                os.rmdir(FOLDER)


def short_name(command: str) -> str:
    """Return the name of a command's program, or of its script if it is an interpreter, without folder and suffix.

    Examples
    --------
    >>> short_name("./simulate {input} {output}"), short_name("python -u models/wing.py {input}")
    ('simulate', 'wing')
    """
    try:
        words = shlex.split(command)
    except ValueError:  # which `Program` will explain
        return ""
    word = next((word for word in words if word.endswith(_SCRIPTS)), words[0] if words else "")
    return os.path.basename(word).partition(".")[0]
