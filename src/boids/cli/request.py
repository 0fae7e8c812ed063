"""What `boids run` was asked for: all its options as one record, checked against each other."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Literal, final

from boids.cli.placing import Placing
from boids.cli.space_file import read_checked
from boids.errors import InputError
from boids.space import Space, SpaceFile


@final
@dataclass(frozen=True)
class Output:
    """What is to be written, and where.

    Attributes
    ----------
    as_json
        Whether the end of the run goes to stdout as JSON.
    json_lines
        Whether every evaluation does, too.
    plot
        The file for a picture.
    quiet
        Whether to show no progress.
    """

    as_json: bool = False
    json_lines: bool = False
    plot: str | None = None
    quiet: bool = False

    @property
    def is_json(self) -> bool:
        """Whether stdout is for JSON alone."""
        return self.as_json or self.json_lines


@final
@dataclass(frozen=True)
class Request:
    """The options of `boids run` as they were given; None is what was not given."""

    target: str | None = None
    command: str | None = None
    space: str | None = None
    dim: int | None = None
    low: float | None = None
    high: float | None = None
    linear: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    constraints: int | None = None
    penalty: float | None = None
    noisy: bool = False
    eval_timeout: float | None = None
    vectorized: bool = False
    form: Literal["json", "lines"] | None = None
    result: Literal["auto", "file", "stdout"] | None = None
    workdir: str | None = None
    keep: Literal["failed", "all", "none"] | None = None
    method: str = "boids"
    pairs: tuple[str, ...] = ()
    seed: int | None = None
    x0: str | None = None
    sources: tuple[str, ...] = ()
    workers: int | None = None
    asynchronous: bool = False
    dask: str | None = None
    lost: Literal["retry", "fail"] | None = None
    isolate: bool = False
    batch: int = 1
    budget: int = 300
    timeout: float | None = None
    goal: float | None = None
    patience: int | None = None
    store: str = ""
    no_store: bool = False
    as_json: bool = False
    json_lines: bool = False
    plot: str | None = None
    quiet: bool = False

    def __post_init__(self) -> None:
        if self.low is not None and self.high is not None and self.low >= self.high:
            raise InputError(f"--low must be less than --high, got {self.low:g} and {self.high:g}.")
        self.placing()  # says what does not go together
        if self.command is not None:
            self._check_program()
        elif self.target is None:
            raise InputError(
                "What is to be minimised is missing; give a TARGET, the name of a problem or module:function, "
                'or a program as --command "./simulate {input} {output}"; see `boids run --help`.'
            )
        else:
            self._check_target(self.target)

    @property
    def is_problem(self) -> bool:
        """Whether a problem by its name was asked for."""
        return self.target is not None and ":" not in self.target

    @property
    def output(self) -> Output:
        """What is to be written."""
        return Output(self.as_json, self.json_lines, self.plot, self.quiet)

    def placing(self) -> Placing:
        """Return where evaluations take place; a program ends its own evaluations, see `ProgramTarget`."""
        return Placing(
            workers=self.workers,
            dask=self.dask,
            asynchronous=self.asynchronous,
            lost=self.lost or "retry",
            isolate=self.isolate,
            eval_timeout=self.eval_timeout if self.command is None else None,
            vectorized=self.vectorized,
            batch=self.batch,
        )

    def described(self) -> SpaceFile:
        """Return the space of a function or a program: that of --space, or the box of --dim, --low and --high."""
        whose = "a program" if self.command is not None else "a function of your own"
        box = {"--dim": self.dim, "--low": self.low, "--high": self.high}
        if self.space is not None:
            for option, value in box.items():
                if value is not None:
                    raise InputError(f"{option} and --space exclude each other; the file says what the parameters are.")
            return read_checked(self.space)[0]
        if all(value is None for value in box.values()):
            raise InputError(f"--space is missing; {whose} needs --space FILE, or --dim, --low and --high.")
        for option, value in box.items():
            if value is None:
                raise InputError(f"{option} is missing; {whose} needs --dim, --low and --high, or --space FILE.")
        return SpaceFile(Space([(self.low, self.high)] * (self.dim or 0)))

    def _check_program(self) -> None:
        if self.target is not None:
            raise InputError(f"--command and the TARGET {self.target!r} exclude each other; give one of them.")
        if self.isolate:
            raise InputError("--isolate is for Python functions; a program runs in a process of its own anyway.")
        if self.vectorized:
            raise InputError("--vectorized is for Python functions; a program gets one point at a time.")
        if self.options:
            raise InputError("--option is for problems; write a program's options into --command.")

    def _check_target(self, target: str) -> None:
        for option, value in {
            "--format": self.form,
            "--result": self.result,
            "--workdir": self.workdir,
            "--keep": self.keep,
        }.items():
            if value is not None:
                raise InputError(f"{option} is for external programs; {target!r} is none, use --command.")
        if not self.is_problem:
            if self.options:
                raise InputError(f"--option is for problems; {target!r} is a function of your own and takes none.")
            return
        if target.endswith(".py"):
            module = os.path.splitext(os.path.basename(target))[0]
            raise InputError(f"{target!r} is a file; write module:function, as in {module}:NAME.")
        for option, number in {"--low": self.low, "--high": self.high}.items():
            if number is not None:
                raise InputError(f"{option} is for functions of your own; problem {target!r} has its own bounds.")
        if self.space is not None:
            raise InputError(f"--space is for functions and programs of your own; problem {target!r} has its own.")
        if self.constraints is not None:
            raise InputError(
                f"--constraints is for functions and programs of your own; problem {target!r} knows how many it has."
            )
