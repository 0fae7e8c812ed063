"""`boids bench`: make the runs of an experiment, and show how that goes."""

from __future__ import annotations

import os
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import final

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from boids.bench import run_log
from boids.bench.carry_out import TIME_LIMIT
from boids.bench.job import Job
from boids.bench.plan import Part, Plan, Planned
from boids.bench.runner import Watcher, run_here, run_on_dask
from boids.bench.spec import Spec
from boids.cli.output import emit, emit_json, note, table
from boids.durations import clock_time, short_time
from boids.errors import InputError

_REFRESHES_PER_SECOND = 2
_BAR = 30


def bench(
    spec: str,
    out: str,
    *,
    jobs: int,
    dask: str | None,
    methods: Sequence[str],
    problems: Sequence[str],
    seeds: str | None,
    budget: int | None,
    dry_run: bool,
    retry: bool,
    skip_missing: bool,
    quiet: bool,
    as_json: bool,
) -> int:
    """Make what is left of an experiment; 1 if a run has failed."""
    wanted = Spec.read(spec)
    part = Part(tuple(methods), tuple(problems), _numbers(seeds), budget)
    plan = Plan.of(wanted, out, part)
    if plan.obstacles and not skip_missing:
        what, why = next(iter(plan.obstacles.items()))
        more = f" ({len(plan.obstacles) - 1} more)" if len(plan.obstacles) > 1 else ""
        raise InputError(f"The {what} cannot be run here: {why.rstrip('.')}; --skip-missing runs the others.{more}")
    left = plan.left(retry=retry)
    if dry_run:
        _show_plan(plan, left, out, jobs=jobs, retry=retry, as_json=as_json)
        return 0
    plan.write(out)
    with Display(out, left, quiet=quiet or as_json) as display:
        if dask is not None:
            run_on_dask(left, out, dask, display)
        else:
            run_here(left, out, jobs, display)
    return _sum_up(Plan.of(wanted, out, part), out, as_json=as_json)


def _numbers(text: str | None) -> tuple[int, ...] | None:
    """Return what --seeds means: "0,3,5-9"."""
    if text is None:
        return None
    numbers: list[int] = []
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        if not first.isdigit() or (dash and not last.isdigit()) or len(part) > 20:
            raise InputError(f"--seeds expects numbers such as 0,3,5-9, got {text!r}.")
        numbers.extend(range(int(first), int(last or first) + 1))
    return tuple(numbers)


def _show_plan(plan: Plan, left: Sequence[Job], out: str, *, jobs: int, retry: bool, as_json: bool) -> None:
    seconds = plan.seconds(out, retry=retry)
    standing = _counts(plan)
    if as_json:
        document = {"runs": len(plan.runs), "left": len(left), "seconds": seconds, "standing": standing}
        emit_json({**document, "missing": plan.obstacles})
        return
    listed = table("problem", "method", "evaluations", "runs", "done")
    cells = defaultdict[tuple[str, str], list[Planned]](list)
    for run in plan.runs:
        cells[run.job.problem.label, run.job.method.label].append(run)
    for (problem, method), runs in cells.items():
        done = sum(run.is_done or run.status == TIME_LIMIT for run in runs)
        listed.add_row(problem, method, str(runs[0].job.budget), str(len(runs)), str(done))
    emit(
        Text(f"{plan.title}: {len(plan.runs)} runs, {len(left)} to be made\n"),
        listed,
        "",
        *(f"Missing here: {what}: {why}" for what, why in plan.obstacles.items()),
        f"About {short_time(seconds / jobs)} with {jobs} at a time; a rough guess until some runs have been made.",
    )


def _counts(plan: Plan) -> dict[str, int]:
    return dict(Counter("missing" if plan.obstacle(run.job) else run.status for run in plan.runs))


def _sum_up(plan: Plan, out: str, *, as_json: bool) -> int:
    standing = _counts(plan)
    failed = [run.job for run in plan.runs if run.status == "error"]
    if as_json:
        emit_json({"runs": len(plan.runs), "standing": standing, "folder": out})
        return int(bool(failed))
    emit(f"{len(plan.runs)} runs in {out}: " + ", ".join(f"{count} {word}" for word, count in standing.items()))
    for job in failed[:10]:
        said = run_log.read(Path(out) / job.path).events[-1]
        emit(Text(f"{job.path} failed: {said['error']}"))
    if failed:
        emit("Their tracebacks are in these files; --retry tries them again.")
    emit(f"See them with: boids report {out}")
    return int(bool(failed))


@final
class Display(Watcher):
    """Shows how the runs go: on a terminal all that are under way, elsewhere a line for each that has ended."""

    def __init__(self, folder: str | os.PathLike[str], jobs: Sequence[Job], *, quiet: bool) -> None:
        self._folder, self._total, self._quiet = Path(folder), len(jobs), quiet
        self._console = Console(stderr=True)
        self._begun, self._ended = time.monotonic(), 0
        self._under_way: dict[str, float] = {}
        self._live: Live | None = None
        self._looked = 0.0

    def __enter__(self) -> Display:
        if not self._quiet and self._console.is_terminal:
            self._live = Live(console=self._console, auto_refresh=False, transient=True)
            self._live.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self._live is not None:
            self._live.stop()
        if kind is KeyboardInterrupt and not self._quiet:
            note("Interrupted; the same command goes on with what is left.")

    def began(self, job: Job) -> None:
        """Take down when it began."""
        self._under_way[job.path] = time.monotonic()

    def looked(self, jobs: Iterable[Job]) -> None:
        """Draw the runs that are under way."""
        now = time.monotonic()
        if self._live is None or now - self._looked < 1.0 / _REFRESHES_PER_SECOND:
            return
        self._looked = now
        rows = Table.grid(padding=(0, 2))
        for job in list(jobs)[:20]:
            found = run_log.glance(self._folder / job.path)
            count, best = (0, None) if found is None else (found.evaluations, found.best)
            rows.add_row(
                Text(f"{job.problem.label}  {job.method.label}  #{job.repetition}"),
                ProgressBar(job.budget, count, width=_BAR),
                f"{count}/{job.budget}",
                "" if best is None else f"best {best:.6g}",
                clock_time(now - self._under_way.get(job.path, now)),
            )
        head = Text(f"{self._ended}/{self._total} runs  {clock_time(now - self._begun)}")
        self._live.update(Group(head, rows), refresh=True)

    def ended(self, job: Job, status: str) -> None:
        """Write a line."""
        self._ended += 1
        took = time.monotonic() - self._under_way.pop(job.path, time.monotonic())
        if self._quiet:
            return
        found = run_log.glance(self._folder / job.path)
        best = "nothing" if found is None or found.best is None else f"{found.best:.6g}"
        evaluations = 0 if found is None else found.evaluations
        ending = "" if status == "budget" else f"  {status}"
        line = f"{self._ended}/{self._total}  {job.problem.label}  {job.method.label}  #{job.repetition}: {best}"
        self._console.print(Text(f"{line} at {evaluations}, {short_time(took)}{ending}"), soft_wrap=True)


def default_jobs() -> int:
    """Return how many runs to make at a time: one per core that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
