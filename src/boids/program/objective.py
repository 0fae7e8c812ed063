"""`Program`: an external program as an objective, such as a simulator that reads a file and writes a file."""

from __future__ import annotations

import json
import math
import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from typing import Any, Literal, final

import numpy as np

from boids.errors import CommandError, ProgramError, did_you_mean
from boids.program import command as commands
from boids.program import inputs, results
from boids.program.folders import claim
from boids.program.process import STDERR, STDOUT, run
from boids.records import Measurement

_CHOICES = {
    "format": ("json", "lines"),
    "result": ("auto", "file", "stdout"),
    "keep": ("failed", "all", "none"),
}
_SUFFIX = {"json": ".json", "lines": ".txt"}
#: Bytes of stderr that an error carries.
_STDERR_TAIL = 4000


@final
@dataclass(frozen=True)
class Program:
    """An objective that starts a program for every evaluation, in a folder of its own and without a shell.

    Calling it with a point (a dict for a named space, an array for a box) returns a `Measurement`, or raises a
    `ProgramError` that says what happened, the last line of stderr, and where the files are. It is plain data, so it
    can go to threads and to other processes.

    The command may hold these placeholders; braces that are meant as such are written ``{{`` and ``}}``:

    ==============  ===============================================================================================
    ``{input}``     the file with the point
    ``{output}``    the file for the result
    ``{dir}``       the folder of the evaluation, in which the program runs
    ``{trial}``     the number of that folder
    ``{name}``      the value of the parameter `name`, if it is a single one; True and False as 1 and 0
    ==============  ===============================================================================================

    The folder has the point in it also if the command does not mention it: as ``input.json``, or ``input.txt`` for
    the format "lines". Its path is in the environment variable ``BOIDS_TRIAL_DIR``. As the program does not run in the
    current folder, words of the command that name a file there are made absolute, as are folders that are written with
    a slash; a module for ``python -m`` must be installed, or on a ``PYTHONPATH`` in `env`.

    A program that ends with another exit code than 0 has failed, whatever it wrote. When it ends, runs out of time or
    is interrupted, everything it has started ends too (on Windows only the program itself).

    Parameters
    ----------
    command
        A string, which is split into words, or a list of words. Words such as ``>`` and ``|`` are refused in a string.
    format
        How the point is written. "json": an object with the parameters by name, ``{"x": […]}`` for a box.
        "lines": one number or text a line in the order of the parameters, vectors one component a line, True and False
        as 1 and 0.
    result
        Where the result is read. "file": from ``{output}``, which is ``output.json``, or ``output.txt`` for the format
        "lines". "stdout": from what the program prints. "auto": from the file if the command mentions it or the
        program has written it, else from stdout. For what a result may look like see `boids.program.results`.
    timeout
        Seconds that an evaluation may take; None is no limit.
    workdir
        Where the folders of the evaluations are made, by default ``boids-work`` in the current folder. Besides the
        point and the result they hold ``command.json``, ``stdout.txt`` and ``stderr.txt``.
    keep
        Which folders stay: of "failed" evaluations, "all" or "none".
    n_constraints
        How many constraint values come with the value.
    env
        Environment variables to add.
    names
        The names of the parameters. If given, placeholders are checked now rather than in the first evaluation.

    Examples
    --------
    >>> import sys, tempfile
    >>> script = "import json, sys; print(json.load(open(sys.argv[1]))['a'] ** 2)"
    >>> square = Program([sys.executable, "-c", script, "{input}"], workdir=tempfile.mkdtemp())
    >>> square({"a": 3.0}).value
    9.0
    """

    command: str | Sequence[str]
    _: KW_ONLY
    format: Literal["json", "lines"] = "json"
    result: Literal["auto", "file", "stdout"] = "auto"
    timeout: float | None = None
    workdir: str | os.PathLike[str] = "boids-work"
    keep: Literal["failed", "all", "none"] = "failed"
    n_constraints: int = 0
    env: Mapping[str, str] | None = field(default=None, hash=False)
    names: Sequence[str] | None = None
    #: The words of the command with absolute paths.
    words: tuple[str, ...] = field(init=False, repr=False)
    #: Where the folders are made, as an absolute path.
    root: Path = field(init=False, repr=False)

    def __post_init__(self) -> None:
        for name, choices in _CHOICES.items():
            _check_choice(name, getattr(self, name), choices)
        _check_numbers(self.timeout, self.n_constraints)
        env, root = _checked_environment(self.env), _checked_folder(self.workdir)
        words = commands.split(self.command)
        used = [name for word in words for name in commands.placeholders(word)]
        if self.names is not None:
            commands.check(used, self.names)
        normal = {
            "command": self.command if isinstance(self.command, str) else words,
            "workdir": os.fspath(self.workdir),
            "n_constraints": int(self.n_constraints),
            "env": env,
            "names": None if self.names is None else tuple(self.names),
            "words": commands.anchor(words, path=(env or {}).get("PATH")),
            "root": root,
        }
        for name, value in normal.items():
            object.__setattr__(self, name, value)

    def __call__(self, params: Any) -> Measurement:
        """Evaluate a point."""
        names = list(params) if isinstance(params, Mapping) else []
        used = {name for word in self.words for name in commands.placeholders(word)}
        commands.check(used, names)
        values = {name: inputs.as_word(params, name) for name in used if name not in commands.RESERVED}
        text = inputs.render(params, self.format)
        try:
            number, folder = claim(self.root)
        except OSError as error:
            raise ProgramError(f"No folder could be made for the program: {error}") from None
        is_kept = self.keep == "all"
        try:
            return self._evaluate(folder, {**values, "trial": str(number)}, text)
        except ProgramError as error:
            is_kept = self.keep != "none"
            shown = os.path.join(self.workdir, folder.name) if is_kept else ""
            raise ProgramError(error.reason, _stderr(folder), shown) from None
        finally:
            if not is_kept:
                shutil.rmtree(folder, ignore_errors=True)

    def _evaluate(self, folder: Path, values: Mapping[str, str], text: str) -> Measurement:
        """Run the program in a folder and read its result."""
        suffix = _SUFFIX[self.format]
        source, target = folder / f"input{suffix}", folder / f"output{suffix}"
        values = {**values, "input": str(source), "output": str(target), "dir": str(folder)}
        words = [commands.fill(word, values) for word in self.words]
        try:
            source.write_text(text, encoding="utf-8")
            (folder / "command.json").write_text(json.dumps(words, indent=1) + "\n", encoding="utf-8")
            run(words, folder, {**os.environ, **(self.env or {}), "BOIDS_TRIAL_DIR": str(folder)}, self.timeout)
            has_file = target.exists() or any("output" in commands.placeholders(word) for word in self.words)
            if self.result == "file" or (self.result == "auto" and has_file):
                return results.read_file(target, self.n_constraints)
            return results.read_stdout(folder / STDOUT, self.n_constraints)
        except (OSError, ValueError) as error:  # a full disk; a text that no file can hold
            raise ProgramError(f"The files of the evaluation cannot be written or read: {error}") from None


def _stderr(folder: Path) -> str:
    try:
        return results.tail(folder / STDERR, _STDERR_TAIL)
    except OSError:  # not started, or removed by the program
        return ""


def _check_choice(name: str, value: Any, choices: Sequence[str]) -> None:
    if value not in choices:
        known = ", ".join(map(repr, choices))
        hint = did_you_mean(str(value), choices, "")
        raise CommandError(f"{name} must be one of {known}, got {value!r}{'; ' + hint if hint else '.'}")


def _check_numbers(timeout: Any, n_constraints: Any) -> None:
    is_number = isinstance(timeout, (int, float, np.integer, np.floating)) and not isinstance(timeout, bool)
    if timeout is not None and not (is_number and 0 < timeout < math.inf):
        raise CommandError(f"timeout must be a positive number of seconds, or None, got {timeout!r}.")
    if not isinstance(n_constraints, (int, np.integer)) or isinstance(n_constraints, bool) or n_constraints < 0:
        raise CommandError(f"n_constraints must be an integer of at least 0, got {n_constraints!r}.")


def _checked_environment(env: Any) -> dict[str, str] | None:
    if env is None:
        return None
    if not isinstance(env, Mapping) or not all(isinstance(each, str) for item in env.items() for each in item):
        raise CommandError("env must be a dict of strings by name; write numbers as strings too.")
    return dict(env)


def _checked_folder(workdir: Any) -> Path:
    if not isinstance(workdir, (str, os.PathLike)):
        raise CommandError(f"workdir must be the path of a folder, got {workdir!r}.")
    root = Path(workdir).absolute()
    if root.exists() and not root.is_dir():
        raise CommandError(f"workdir must be a folder, but {os.fspath(workdir)!r} is a file.")
    return root
