"""The commands; wrong input is one line on stderr.

=============  =======================================================================
exit code      meaning
=============  =======================================================================
0              done
1              no evaluation succeeded; a replay that differs
2              wrong usage or input, a store that cannot be used, no workers left
129, 130, 143  interrupted by a terminal that was closed, by Ctrl-C or by SIGTERM; what
               was evaluated is kept
141            the reader of a pipe has gone
=============  =======================================================================
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Any

import click

from boids import __version__
from boids.cli.options import (
    Commands,
    NamesOrCommands,
    Sectioned,
    at_least_0,
    at_least_1,
    ignored_store_option,
    json_option,
    resume_options,
    run_options,
    store_option,
)
from boids.errors import BoidsError


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


@cli.command(cls=Sectioned, short_help="Minimise a problem, a function or a program.")
@click.argument("target", metavar="[TARGET]", required=False)
@run_options
def run(**given: Any) -> int:
    """Minimise TARGET, a problem's name or a function of your own as module:function, or an external program.

    \b
      boids run ackley --dim 100
      boids run ackley --option shift=true --set preset=paper --seed 1
      boids run my_module:objective --dim 50 --low -5 --high 10
      boids run my_module:objective --space space.toml --noisy
      boids run --command "./simulate {input} {output}" --space space.toml

    The function gets an array of --dim numbers, or a dict with the parameters of --space, and returns a number, or with
    constraints (number, [c1, …]); modules are looked for in the current folder first. A program gets the point as a
    file {input}, runs in a folder of its own and without a shell, and writes such numbers or a JSON object
    {"value": …, "constraints": […]} to {output} or to stdout; {name} in the command stands for a parameter's value.

    The run is kept in a file, before and after every evaluation. Ctrl-C ends it, and `boids resume` continues it, also
    after a crash.
    """
    from boids.cli import session
    from boids.cli.request import Request

    return session.begin(Request(**given))


@cli.command(cls=Sectioned, short_help="Continue a run that was interrupted.")
@click.argument("run_id", metavar="[ID]", required=False)
@resume_options
def resume(
    run_id: str | None,
    folder: str | None,
    workers: int | None,
    asynchronous: bool | None,
    dask: str | None,
    lost: Any,
    store: str,
    as_json: bool,
    json_lines: bool,
    plot: str | None,
    quiet: bool,
) -> int:
    """Continue the run ID, or the latest one that is not finished, to the end of its budget.

    The beginning or the end of an ID will do. An evaluation that was under way when the run stopped is made again. The
    run's own --target and --patience hold, and its --timeout begins anew. It goes on in the folder where it was begun.
    """
    from boids.cli import session
    from boids.cli.request import Output

    return session.resume(
        store,
        run_id,
        Output(as_json, json_lines, plot, quiet),
        folder=folder,
        change=lambda placing: placing.changed(workers, dask, asynchronous, lost),
    )


@cli.command()
@store_option
@json_option
def runs(store: str, as_json: bool) -> None:
    """List the runs, newest last."""
    from boids.cli import run_listing

    run_listing.list_runs(store, as_json=as_json)


@cli.command(short_help="Show what a run has found so far.")
@click.argument("run_id", metavar="[ID]", required=False)
@click.option("--trials", type=int, callback=at_least_1, metavar="N", help="List the N best evaluations, too.")
@click.option("--plot", metavar="FILE", help="Save a picture of the run as .png, .svg or .pdf (extra `plot`).")
@store_option
@json_option
def show(run_id: str | None, trials: int | None, plot: str | None, store: str, as_json: bool) -> None:
    """Show what the run ID, or else the latest one, has found so far, also while it is going on."""
    from boids.cli import run_details

    run_details.show(store, run_id, trials=trials, plot=plot, as_json=as_json)


@cli.command(short_help="Write the evaluations of a run for other programs.")
@click.argument("run_id", metavar="[ID]", required=False)
@click.option("--csv", "as_csv", is_flag=True, help="Write a table of comma-separated values; the default.")
@click.option("--json", "as_json", is_flag=True, help="Write a JSON list with an object for each evaluation.")
@click.option("--parquet", "as_parquet", is_flag=True, help="Write a Parquet file (extra `parquet`).")
@click.option("--output", metavar="FILE", help="Where to write it [default: stdout].")
@store_option
def export(run_id: str | None, as_csv: bool, as_json: bool, as_parquet: bool, output: str | None, store: str) -> None:
    """Write all evaluations of the run ID, or else the latest one, with points in your units, for other programs."""
    from boids.cli import run_export

    given = {"csv": as_csv, "json": as_json, "parquet": as_parquet}
    run_export.export(store, run_id, form=run_export.chosen(given, output), output=output)


@cli.command(short_help="Make the proposals of a run again, and compare.")
@click.argument("run_id", metavar="[ID]", required=False)
@store_option
@json_option
def replay(run_id: str | None, store: str, as_json: bool) -> int:
    """Make all proposals of the run ID, or else the latest one, again in the recorded order; nothing is evaluated."""
    from boids.cli import run_replay

    return run_replay.make_again(store, run_id, as_json=as_json)


@cli.command(short_help="Delete a run.")
@click.argument("run_id", metavar="ID")
@click.option("--yes", is_flag=True, help="Do not ask.")
@store_option
@json_option
def delete(run_id: str, yes: bool, store: str, as_json: bool) -> None:
    """Delete the run ID for good."""
    from boids.cli import run_deletion

    run_deletion.delete(store, run_id, is_sure=yes, as_json=as_json)


@cli.command(short_help="Make the runs of an experiment: methods × problems × repetitions.")
@click.argument("spec", metavar="FILE")
@click.option("--out", default="results", show_default=True, metavar="DIR", help="Where the files of the runs go.")
@click.option("--jobs", type=int, callback=at_least_1, metavar="N", help="Runs at a time [default: one per core].")
@click.option("--dask", metavar="ADDRESS", help="Make the runs on a Dask cluster that sees DIR, tcp://host:8786.")
@click.option("--method", "methods", multiple=True, metavar="LABEL", help="Only this method; repeatable.")
@click.option("--problem", "problems", multiple=True, metavar="LABEL", help="Only this problem; repeatable.")
@click.option("--seeds", metavar="LIST", help="Only these repetitions, such as 0,3,5-9.")
@click.option("--budget", type=int, callback=at_least_1, metavar="N", help="At most N evaluations in every run.")
@click.option("--dry-run", is_flag=True, help="Only show what would be done, and about how long it would take.")
@click.option("--retry", is_flag=True, help="Try runs that have failed again.")
@click.option("--skip-missing", is_flag=True, help="Leave out what needs an extra or data that are not here.")
@click.option("--quiet", is_flag=True, help="Show no progress.")
@ignored_store_option
@json_option
def bench(jobs: int | None, **given: Any) -> int:
    """Make the runs of the experiment in FILE, a TOML file, or what is left of them.

    \b
      boids bench experiments/smoke.toml --out results/smoke
      boids bench experiments/paper.toml --out results/paper --jobs 8
      boids report results/smoke

    Every run has a file of its own, with every evaluation in it. What is finished is skipped, and what was interrupted,
    by Ctrl-C or a crash, goes on exactly where it was. A run that fails is recorded and does not stop the others; then
    the exit code is 1.
    """
    from boids.cli import experiment

    return experiment.bench(jobs=jobs or experiment.default_jobs(), **given)


@cli.command(short_help="Make a page of the results of experiments.")
@click.argument("results", metavar="RESULTS...", nargs=-1, required=True)
@click.option("-o", "--output", metavar="FILE", help="The page [default: report.html, if no other file is asked for].")
@click.option("--title", metavar="TEXT", help="The page's heading [default: that of the plan].")
@click.option(
    "--at", type=int, callback=at_least_1, metavar="N", help="Compare after N evaluations [default: the end]."
)
@click.option("--method", "methods", multiple=True, metavar="LABEL", help="Only this method; repeatable.")
@click.option("--problem", "problems", multiple=True, metavar="LABEL", help="Only this problem; repeatable.")
@click.option("--reference", metavar="METHOD", help="Test all methods against this one [default: boids, or the first].")
@click.option("--figures", "figures_folder", metavar="DIR", help="Save figures for papers in a folder (extra `plot`).")
@click.option(
    "--format", "formats", type=click.Choice(["pdf", "svg", "png"]), multiple=True, help="Of figures; repeatable [pdf]."
)
@click.option("--export", "rows", metavar="FILE", help="Write a row per evaluation: .csv, .csv.gz or .parquet.")
@click.option(
    "--compact", "archive", metavar="FILE", help="Write everything but the points, .json.gz, to be read again."
)
@click.option("--ioh", metavar="DIR", help="Write the format of IOHprofiler to a folder.")
@ignored_store_option
@json_option
def report(results: tuple[str, ...], **given: Any) -> None:
    """Make one page of RESULTS, folders that `boids bench` has filled or compact files made of them.

    \b
      boids report results/
      boids report results/ -o study.html --figures figures/ --format png
      boids report results/ --compact study.json.gz
      boids report study.json.gz more-results/ --reference turbo --at 200

    The page holds everything it needs. Experiments may still be going on: the page then says what is missing.
    """
    from boids.cli import report_page

    report_page.report(results, **given)


@cli.command(short_help="Watch runs in a browser, while they go on and afterwards.")
@click.argument("paths", metavar="[PATH]...", nargs=-1)
@click.option("--host", default="127.0.0.1", show_default=True, metavar="ADDRESS", help="Where to listen.")
@click.option("--port", type=click.IntRange(0, 65535), metavar="N", help="0 is any free one [default: 8765].")
@click.option("--token", metavar="TEXT", help="What visitors must know [default: made up where one is needed].")
@click.option("--open", "browser", is_flag=True, help="Open the page in a browser.")
@store_option
@json_option
def dashboard(paths: tuple[str, ...], **given: Any) -> int:
    """Serve a page that follows the runs in PATH: stores, folders that `boids bench` has filled, or both.

    \b
      boids dashboard
      boids dashboard runs.db results/ --open
      boids dashboard --host 0.0.0.0 --token correct-horse-battery

    Without PATH these are the runs of `boids run` and `boids bench` in the current folder. The page only reads. Any
    address but this machine's own takes a token, which is made and printed unless --token gives it. Needs the extra
    `dashboard`.
    """
    from boids.cli import watching

    return watching.watch(paths, **given)


@cli.command()
@click.argument("name", required=False)
@ignored_store_option
@json_option
def methods(name: str | None, as_json: bool) -> None:
    """List the methods, or the settings of one of them."""
    from boids.cli import method_listing

    if name is None:
        method_listing.methods(as_json=as_json)
    else:
        method_listing.method(name, as_json=as_json)


@cli.group(
    cls=NamesOrCommands,
    invoke_without_command=True,
    subcommand_metavar="[NAME | fetch NAME]",
    short_help="List the benchmark problems, or show one of them.",
)
@ignored_store_option
@json_option
@click.pass_context
def problems(context: click.Context, as_json: bool) -> None:
    """List the benchmark problems, show one of them, or fetch the files it needs."""
    if context.invoked_subcommand is None:
        from boids.cli import problem_listing

        problem_listing.problems(as_json=as_json)


@problems.command("show", hidden=True)
@click.argument("name")
@ignored_store_option
@json_option
@click.pass_context
def show_problem(context: click.Context, name: str, as_json: bool) -> None:
    """Show what is known of a problem, and its options."""
    from boids.cli import problem_listing

    problem_listing.problem(name, as_json=as_json or _is_json(context))


@problems.command()
@click.argument("name", required=False)
@ignored_store_option
@json_option
@click.pass_context
def fetch(context: click.Context, name: str | None, as_json: bool) -> None:
    """Download the files that a problem needs and the package may not ship, into the user's cache."""
    from boids.cli import fetching

    fetching.fetch(name, as_json=as_json or _is_json(context))


@cli.command(short_help="Check the file of a space before a long run.")
@click.argument("file", metavar="FILE")
@click.option("--example", is_flag=True, help="Write a random point, as a program would get it.")
@click.option("--format", "form", type=click.Choice(["json", "lines"]), default="json", help="The form of the point.")
@click.option("--seed", type=int, callback=at_least_0, metavar="N", help="Makes the point reproducible.")
@click.option("--quiet", is_flag=True, help="Write no summary.")
@ignored_store_option
@json_option
def space(file: str, example: bool, form: str, seed: int | None, quiet: bool, as_json: bool) -> None:
    """Check the space in FILE before a long run, and say what is in it.

    \b
      boids space space.toml
      boids space space.toml --example --quiet > input.json
    """
    from boids.cli import space_summary

    space_summary.summarise(file, example=example, form=form, seed=seed, quiet=quiet, as_json=as_json)


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


def _is_json(context: click.Context) -> bool:
    """Whether --json was given to the group, before the name."""
    return bool(context.parent is not None and context.parent.params.get("as_json"))


def _complain(message: str) -> int:
    """Write one line, whatever the message, and return the exit code for wrong input."""
    click.echo(f"boids: {' '.join(message.split())}", err=True)
    return 2
