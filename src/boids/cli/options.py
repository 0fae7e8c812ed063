"""The pieces that commands are made of: groups that know what was meant, options in sections, checks of numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar, final

import click

from boids.cli.names import DEFAULT, VARIABLE
from boids.errors import InputError, did_you_mean

_Function = TypeVar("_Function", bound=Callable[..., Any])
Check: TypeAlias = Callable[[click.Context, click.Parameter, Any], Any]


class Commands(click.Group):
    """A group that knows what was probably meant, and lists its commands in the order in which they were made."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands."""
        return list(self.commands)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command, or raise an `InputError` with the closest ones."""
        if self.get_command(ctx, args[0]) is None:
            hint = did_you_mean(args[0], self.commands, f"commands are {', '.join(self.commands)}.")
            raise InputError(f"There is no command {args[0]!r}; {hint}")
        return super().resolve_command(ctx, args)


@final
class NamesOrCommands(click.Group):
    """A group whose first argument may also be a name, which goes to its command "show"."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command; what is none is a name."""
        if self.get_command(ctx, args[0]) is None and not args[0].startswith("-"):
            return "show", self.commands["show"], args
        return super().resolve_command(ctx, args)


@final
class SectionOption(click.Option):
    """An option that belongs to a section of the help."""

    def __init__(self, *names: Any, section: str, **settings: Any) -> None:
        super().__init__(*names, **settings)
        self.section = section


@final
class Sectioned(click.Command):
    """A command whose help lists the options by section, in the order in which the sections first appear."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options."""
        sections: dict[str, list[tuple[str, str]]] = {}
        for option in self.get_params(ctx):
            record = option.get_help_record(ctx) if isinstance(option, click.Option) else None
            if record is not None:
                sections.setdefault(getattr(option, "section", _OUTPUT), []).append(record)
        for section, rows in sections.items():
            with formatter.section(section):
                formatter.write_dl(rows)


def must_be(words: str, test: Callable[[Any], bool]) -> Check:
    """Return a click callback that lets only certain numbers pass."""

    def check(context: click.Context, option: click.Parameter, value: Any) -> Any:
        if value is not None and not test(value):
            raise click.BadParameter(f"{value} is not {words}.", context, option)
        return value

    return check


finite = must_be("a finite number", math.isfinite)
positive = must_be("a positive number", lambda value: 0 < value < math.inf)
at_least_0 = must_be("at least 0", lambda value: value >= 0)
at_least_1 = must_be("at least 1", lambda value: value >= 1)

json_option = click.option("--json", "as_json", is_flag=True, help="Write JSON, and nothing else, to stdout.")
_STORE: dict[str, Any] = {
    "metavar": "FILE",
    "envvar": VARIABLE,
    "default": DEFAULT,
    "help": f"The file with the runs [default: {VARIABLE}, or {DEFAULT}].",
}
store_option = click.option("--store", **_STORE)
#: For commands that have nothing to do with runs, so that scripts can give it to all of them.
ignored_store_option = click.option("--store", expose_value=False, hidden=True)


def _number(
    section: str, name: str, kind: type, check: Check, metavar: str, text: str, *other: str, **more: Any
) -> Any:
    """Return an option that takes a number."""
    settings = {"type": kind, "callback": check, "metavar": metavar, "help": text, **more}
    return click.option(name, *other, cls=SectionOption, section=section, **settings)


def _text(section: str, name: str, metavar: str, text: str, *other: str, **more: Any) -> Any:
    """Return an option that takes a text."""
    return click.option(name, *other, cls=SectionOption, section=section, metavar=metavar, help=text, **more)


def _word(section: str, name: str, words: tuple[str, ...], text: str, *other: str) -> Any:
    """Return an option that takes one of a few words."""
    settings = {"type": click.Choice(words), "metavar": "|".join(words), "help": text}
    return click.option(name, *other, cls=SectionOption, section=section, **settings)


def _flag(section: str, name: str, text: str, *other: str) -> Any:
    """Return an option that is given or not."""
    return click.option(name, *other, cls=SectionOption, section=section, is_flag=True, help=text)


_WHAT = "What to minimise"
_RESULTS = "What comes out of an evaluation"
_PROGRAM = "External programs"
_METHOD = "How to search"
_WHERE = "Where to evaluate"
_STOP = "When to stop"
_OUTPUT = "Output"

_LOST = "An evaluation whose worker was lost, or under way when the run stopped, is made once more, or has failed"

_OUTPUT_OPTIONS = (
    _flag(_OUTPUT, "--json", "Write the end of the run as JSON, and nothing else, to stdout.", "as_json"),
    _flag(_OUTPUT, "--json-lines", "Write a line of JSON per evaluation, and the end of the run as the last one."),
    _text(_OUTPUT, "--plot", "FILE", "Save a picture of the run as .png, .svg or .pdf (extra `plot`)."),
    _flag(_OUTPUT, "--quiet", "Show no progress."),
)

_OUTPUT_STORE = click.option("--store", cls=SectionOption, section=_OUTPUT, **_STORE)

_RUN_OPTIONS = (
    _text(_WHAT, "--command", "TEXT", 'A program instead of TARGET, such as "./simulate {input} {output}".'),
    _text(_WHAT, "--space", "FILE", "The parameters, as a .toml or .json file; check it with `boids space FILE`."),
    _number(_WHAT, "--dim", int, at_least_1, "N", "Number of coordinates [default: the problem's]."),
    _number(_WHAT, "--low", float, finite, "X", "Lower bound of every coordinate, instead of --space."),
    _number(_WHAT, "--high", float, finite, "X", "Upper bound of every coordinate, instead of --space."),
    _text(
        _WHAT,
        "--linear",
        "TEXT",
        'An inequality or equation that every point satisfies, "x[0] <= x[1]"; repeatable.',
        multiple=True,
    ),
    _text(_WHAT, "--option", "KEY=VALUE", "An option of the problem; or its seed.", "options", multiple=True),
    _number(
        _RESULTS,
        "--constraints",
        int,
        at_least_0,
        "N",
        "Number of constraint values, feasible where all are <= 0, that come with every value "
        "[default: as the space file says, or 0].",
        default=None,
    ),
    _number(_RESULTS, "--penalty", float, positive, "W", "Minimise value + W · violations, instead of modelling them."),
    _flag(_RESULTS, "--noisy", "Two evaluations of one point may differ; the best posterior mean wins."),
    _number(_RESULTS, "--eval-timeout", float, positive, "SECONDS", "End an evaluation that takes longer; it failed."),
    _flag(_RESULTS, "--vectorized", "The function takes q points, a (q, D) matrix for a box, and returns q values."),
    _word(_PROGRAM, "--format", ("json", "lines"), "How the program gets the point [default: json].", "form"),
    _word(
        _PROGRAM,
        "--result",
        ("auto", "file", "stdout"),
        "Where its result is [default: auto, which is {output} if the command has it, else stdout].",
    ),
    _text(_PROGRAM, "--workdir", "DIR", "Where evaluations get their folders [default: boids-work/ID]."),
    _word(_PROGRAM, "--keep", ("failed", "all", "none"), "Which of these folders stay [default: failed]."),
    _text(_METHOD, "--method", "NAME", "See `boids methods`.", default="boids", show_default=True),
    _text(_METHOD, "--set", "KEY=VALUE", "A setting of the method, see `boids methods NAME`.", "pairs", multiple=True),
    _number(_METHOD, "--seed", int, at_least_0, "N", "Makes the run reproducible [default: drawn]."),
    _text(_METHOD, "--x0", "FILE", "Evaluate the point, or the points, of a .json file first."),
    _text(_METHOD, "--from", "ID", "Learn from a run in the store; repeatable.", "sources", multiple=True),
    _number(_WHERE, "--workers", int, at_least_1, "N", "Evaluate N points at a time, each in a process of its own."),
    _flag(_WHERE, "--async", "Give a free worker a new point at once, instead of batches of N.", "asynchronous"),
    _text(
        _WHERE,
        "--dask",
        "ADDRESS",
        "Evaluate on a Dask cluster, tcp://host:8786; --workers N at a time [default: all].",
    ),
    _word(_WHERE, "--lost", ("retry", "fail"), f"{_LOST} [default: retry]."),
    _flag(_WHERE, "--isolate", "Call the function in a process of its own, so that a crash is only a failure."),
    _number(
        _WHERE,
        "--batch",
        int,
        at_least_1,
        "N",
        "Points per call of a --vectorized function, after the initial design.",
        default=1,
        show_default=True,
    ),
    _number(_STOP, "--budget", int, at_least_1, "N", "Evaluations to make.", default=300, show_default=True),
    _number(_STOP, "--timeout", float, positive, "SECONDS", "Begin no evaluation after this time."),
    _number(_STOP, "--target", float, finite, "VALUE", "Stop at a value as low as this.", "goal"),
    _number(_STOP, "--patience", int, at_least_1, "N", "Stop after N evaluations without improvement."),
    _OUTPUT_STORE,
    _flag(_OUTPUT, "--no-store", "Do not keep the run."),
    *_OUTPUT_OPTIONS,
)

_FOLDER = _text(
    _WHAT,
    "--folder",
    "DIR",
    "Where the function, the program and its files are, if they have moved [default: where the run was begun].",
)
_RESUME_OPTIONS = (
    _FOLDER,
    _number(_WHERE, "--workers", int, at_least_1, "N", "Evaluate N points at a time; 1: in this process."),
    click.option(
        "--async/--sync",
        "asynchronous",
        cls=SectionOption,
        section=_WHERE,
        default=None,
        help="Give a free worker a new point at once, or go on in batches.",
    ),
    _text(_WHERE, "--dask", "ADDRESS", "Evaluate on a Dask cluster, tcp://host:8786 [default of all four: as before]."),
    _word(_WHERE, "--lost", ("retry", "fail"), f"{_LOST}."),
    _OUTPUT_STORE,
    *_OUTPUT_OPTIONS,
)


def run_options(function: _Function) -> _Function:
    """Add the options of `boids run` to a command."""
    return _with(function, _RUN_OPTIONS)


def resume_options(function: _Function) -> _Function:
    """Add the options of `boids resume` to a command."""
    return _with(function, _RESUME_OPTIONS)


def _with(function: _Function, options: tuple[Any, ...]) -> _Function:
    for option in reversed(options):  # as decorators, the last of which comes first
        function = option(function)
    return function
