"""The commands and their options; wrong input is one line on stderr.

==========  =======================================================================
exit code   meaning
==========  =======================================================================
0           done
1           no evaluation succeeded
2           wrong usage or input, or the run could not be saved
130, 143    interrupted by Ctrl-C or by SIGTERM; what was evaluated is kept and saved
141         the reader of a pipe has gone
==========  =======================================================================
"""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Callable, Sequence
from typing import Any

import click

from boids import __version__
from boids.cli.errors import InputError
from boids.errors import BoidsError, did_you_mean


class Commands(click.Group):
    """A group that knows what was probably meant."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command, or raise an `InputError` with the closest ones."""
        if self.get_command(ctx, args[0]) is None:
            hint = did_you_mean(args[0], self.commands, f"commands are {', '.join(sorted(self.commands))}.")
            raise InputError(f"There is no command {args[0]!r}; {hint}")
        return super().resolve_command(ctx, args)


def _must_be(words: str, test: Callable[[Any], bool]) -> Callable[[click.Context, click.Parameter, Any], Any]:
    """Return a click callback that lets only certain numbers pass."""

    def check(context: click.Context, option: click.Parameter, value: Any) -> Any:
        if value is not None and not test(value):
            raise click.BadParameter(f"{value} is not {words}.", context, option)
        return value

    return check


finite = _must_be("a finite number", math.isfinite)
positive = _must_be("a positive number", lambda value: 0 < value < math.inf)
at_least_0 = _must_be("at least 0", lambda value: value >= 0)
at_least_1 = _must_be("at least 1", lambda value: value >= 1)
json_option = click.option("--json", "as_json", is_flag=True, help="Write JSON, and nothing else, to stdout.")
quiet_option = click.option("--quiet", is_flag=True, help="Show no progress.")


@click.group(
    cls=Commands,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit codes: 0 done, 1 no evaluation succeeded, 2 wrong input, 130 interrupted (143 by SIGTERM).",
)
@click.version_option(__version__, prog_name="boids", message="%(prog)s %(version)s")
@click.pass_context
def cli(context: click.Context) -> None:
    """Bayesian optimisation for expensive functions of 20 to 1000+ parameters."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


@cli.command()
@click.argument("target", metavar="TARGET")
@click.option(
    "--dim", type=int, callback=at_least_1, metavar="N", help="Number of coordinates [default: the problem's]."
)
@click.option(
    "--budget", type=int, callback=at_least_1, default=300, show_default=True, metavar="N", help="Evaluations to make."
)
@click.option("--seed", type=int, callback=at_least_0, metavar="N", help="Makes the run reproducible [default: drawn].")
@click.option("--method", default="boids", show_default=True, metavar="NAME", help="See `boids methods`.")
@click.option(
    "--low", type=float, callback=finite, metavar="X", help="Lower bound of every coordinate of module:function."
)
@click.option(
    "--high", type=float, callback=finite, metavar="X", help="Upper bound of every coordinate of module:function."
)
@click.option(
    "--set", "pairs", multiple=True, metavar="KEY=VALUE", help="A setting of the method, see `boids methods NAME`."
)
@click.option("--option", "options", multiple=True, metavar="KEY=VALUE", help="An option of the problem; or its seed.")
@click.option(
    "--timeout", type=float, callback=positive, metavar="SECONDS", help="Begin no evaluation after this time."
)
@click.option("--target", "goal", type=float, callback=finite, metavar="VALUE", help="Stop at a value as low as this.")
@click.option(
    "--patience", type=int, callback=at_least_1, metavar="N", help="Stop after N evaluations without improvement."
)
@click.option("--vectorized", is_flag=True, help="The function takes a (q, D) matrix and returns q values.")
@click.option(
    "--batch",
    show_default=True,
    type=int,
    callback=at_least_1,
    default=1,
    metavar="N",
    help="Rows per call after the initial design.",
)
@click.option("--save", metavar="FILE", help="Where to save the run [default: boids-runs/ID.npz].")
@click.option("--no-store", is_flag=True, help="Do not save the run.")
@json_option
@quiet_option
def run(
    target: str,
    dim: int | None,
    budget: int,
    seed: int | None,
    method: str,
    low: float | None,
    high: float | None,
    pairs: tuple[str, ...],
    options: tuple[str, ...],
    timeout: float | None,
    goal: float | None,
    patience: int | None,
    vectorized: bool,
    batch: int,
    save: str | None,
    no_store: bool,
    as_json: bool,
    quiet: bool,
) -> int:
    """Minimise TARGET: a problem's name, or a function of your own as module:function.

    \b
      boids run ackley --dim 100
      boids run ackley --option shift=true --set preset=paper --seed 1
      boids run my_module:objective --dim 50 --low -5 --high 10

    The function gets an array of --dim numbers and returns one number; modules are looked for in the current folder
    first. The run is saved while it goes. Ctrl-C ends it, and `boids resume` continues it.
    """
    from boids.cli import assignments, session
    from boids.cli.target import Target

    if save is not None and no_store:
        raise InputError("--save and --no-store exclude each other; give one of them.")
    if low is not None and high is not None and low >= high:
        raise InputError(f"--low must be less than --high, got {low:g} and {high:g}.")
    settings = assignments.split(pairs, "--set")
    problem_options = {key: assignments.literal(text) for key, text in assignments.split(options, "--option").items()}
    return session.begin(
        Target(target, dim, low, high, problem_options),
        session.Limits(vectorized, batch, timeout, goal, patience),
        session.Output(as_json, quiet),
        budget=budget,
        seed=seed,
        method=method,
        settings=settings,
        save=save,
        store=not no_store,
    )


@cli.command()
@click.argument("file", metavar="FILE")
@json_option
@quiet_option
def resume(file: str, as_json: bool, quiet: bool) -> int:
    """Continue the run saved in FILE to the end of its budget.

    An evaluation that was under way when the run stopped is made again. The run's own --target and --patience hold,
    and its --timeout begins anew.
    """
    from boids.cli import session

    return session.resume(file, session.Output(as_json, quiet))


@cli.command()
@click.argument("name", required=False)
@json_option
def methods(name: str | None, as_json: bool) -> None:
    """List the methods, or the settings of one of them."""
    from boids.cli import listing

    if name is None:
        listing.methods(as_json=as_json)
    else:
        listing.method(name, as_json=as_json)


@cli.command()
@json_option
def problems(as_json: bool) -> None:
    """List the benchmark problems."""
    from boids.cli import listing

    listing.problems(as_json=as_json)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code; None takes the program's arguments."""
    # Some daemons and `>&-` leave no stream at all.
    sys.stdout = sys.stdout or open(os.devnull, "w")  # noqa: SIM115 (open as long as the process)
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # a terminal without Greek letters gets question marks
    try:
        code = cli.main(args=arguments, prog_name="boids", standalone_mode=False)
    except click.UsageError as error:
        command = "boids" if error.ctx is None else error.ctx.command_path
        return _complain(f"{error.format_message().rstrip('.')}; see `{command} --help`.")
    except click.ClickException as error:
        return _complain(error.format_message())
    except (click.Abort, KeyboardInterrupt):
        return 130
    except BoidsError as error:
        return _complain(str(error))
    except OSError as error:
        place = "" if error.filename is None else f" ({error.filename})"
        return _complain(f"{error.strerror or error}{place}")
    return int(code or 0)


def _complain(message: str) -> int:
    """Write one line, whatever the message, and return the exit code for wrong input."""
    click.echo(f"boids: {' '.join(message.split())}", err=True)
    return 2
