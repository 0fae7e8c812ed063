"""What is left to do of an experiment, what it will take, and what stands in its way."""

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, final

from boids.bench import run_log
from boids.bench.carry_out import TIME_LIMIT
from boids.bench.job import Job, jobs_of
from boids.bench.spec import Spec
from boids.errors import InputError, MissingExtra, did_you_mean
from boids.optimizer import Optimizer
from boids.problems import PROBLEMS

#: Version of the format of plan.json.
FORMAT = 1
PLAN = "plan.json"
#: Seconds per proposal in 100 dimensions, averaged over a run: rough, for estimates before anything has been measured.
#: Measured by experiments/runtime.toml and opponents.toml, see docs/methods/README.md and docs/methods/opponents.md.
SECONDS_PER_PROPOSAL = {
    "boids": 0.2,
    "turbo": 0.1,
    "baxus": 0.1,
    "standard-bo": 0.1,
    "vanilla-bo": 0.1,
    "cmabo": 0.1,
    "hesbo": 0.1,
    "linebo": 0.03,
    "alebo": 0.5,
    "rducb": 0.1,
    "saasbo": 6.0,
    "optuna-tpe": 0.05,
    "optuna-cmaes": 0.02,
    "optuna-gp": 0.6,
    "botorch": 3.0,
    "nevergrad": 0.01,
    "smac": 0.5,
}
#: The same for a method of the caller's.
UNKNOWN_SECONDS = 0.1


@final
@dataclass(frozen=True)
class Planned:
    """A run, and how it stands: "new", "unfinished", "error", or the reason of its end."""

    job: Job
    status: str
    evaluations: int = 0

    @property
    def is_done(self) -> bool:
        """Whether nothing is left to do."""
        return self.status not in ("new", "unfinished", "error", TIME_LIMIT)


@final
@dataclass(frozen=True)
class Part:
    """Which part of an experiment: labels of methods and problems (none: all), repetitions, evaluations at the most."""

    methods: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    seeds: tuple[int, ...] | None = None
    budget: int | None = None

    def of(self, spec: Spec) -> list[Job]:
        """Return the runs of the part."""
        _check_labels(self.methods, [entry.label for entry in spec.methods], "method")
        _check_labels(self.problems, [entry.label for entry in spec.problems], "problem")
        chosen = [
            job if self.budget is None else replace(job, budget=min(job.budget, self.budget))
            for job in jobs_of(spec)
            if (not self.methods or job.method.label in self.methods)
            and (not self.problems or job.problem.label in self.problems)
            and (self.seeds is None or job.repetition in self.seeds)
        ]
        if not chosen:
            raise InputError("No run of the experiment has that method, that problem and that seed.")
        return chosen


@final
@dataclass(frozen=True)
class Plan:
    """All runs of an experiment.

    Attributes
    ----------
    title
        Of the experiment.
    runs
        In the order in which they are made.
    obstacles
        "method 'LABEL'" or "problem 'LABEL'" that cannot be had here: what is missing for it.
    """

    title: str
    runs: tuple[Planned, ...]
    obstacles: dict[str, str]

    @classmethod
    def of(cls, spec: Spec, folder: str | os.PathLike[str], part: Part | None = None) -> Plan:
        """Look at what is there of an experiment, or of a part of it."""
        chosen = (part or Part()).of(spec)
        return cls(spec.title, tuple(_planned(job, Path(folder)) for job in chosen), _obstacles(chosen))

    def left(self, *, retry: bool = False) -> list[Job]:
        """Return what is to be done now; with `retry`, runs that have failed are tried again."""
        again = ("new", "unfinished", "error") if retry else ("new", "unfinished")
        return [run.job for run in self.runs if run.status in again and not self.obstacle(run.job)]

    def obstacle(self, job: Job) -> str | None:
        """Return why a run cannot be made here, if that is known."""
        return self.obstacles.get(f"problem {job.problem.label!r}") or self.obstacles.get(
            f"method {job.method.label!r}"
        )

    def write(self, folder: str | os.PathLike[str]) -> None:
        """Write down what is planned, beside what was planned before, for whoever looks at the results."""
        path = Path(folder) / PLAN
        runs: dict[str, dict[str, Any]] = {}
        if path.exists():
            runs = {run["path"]: run for run in read_plan(path)["runs"]}
        for run in self.runs:
            job = run.job
            runs[job.path] = {
                "path": job.path,
                "problem": job.problem.label,
                "method": job.method.label,
                "repetition": job.repetition,
                "budget": job.budget,
            }
        document = {"boids_plan": FORMAT, "title": self.title, "runs": list(runs.values())}
        path.parent.mkdir(parents=True, exist_ok=True)
        new = path.with_suffix(".new")
        new.write_text(json.dumps(document, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
        os.replace(new, path)

    def seconds(self, folder: str | os.PathLike[str], *, retry: bool = False) -> float:
        """Return about how long what is left will take on one core.

        Runs of the same method and problem in the folder say what an evaluation takes; without any, a rough table of
        proposals in 100 dimensions does, which knows nothing of the time of the evaluations.
        """
        measured = defaultdict[tuple[str, str], list[float]](list)
        for run in self.runs:
            if run.evaluations:
                log = run_log.read(Path(folder) / run.job.path)
                measured[run.job.method.label, run.job.problem.label].append(log.seconds / len(log.evaluations))
        done = {run.job.path: run.evaluations for run in self.runs}
        total = 0.0
        for job in self.left(retry=retry):
            seen = measured.get((job.method.label, job.problem.label))
            guess = 0.0 if job.method.name in _QUICK else SECONDS_PER_PROPOSAL.get(job.method.name, UNKNOWN_SECONDS)
            each = sum(seen) / len(seen) if seen else guess
            expected = 1.0 + each * (job.budget - done[job.path])  # a second to start a process
            total += expected if job.time_limit is None else min(expected, job.time_limit)
        return total


_QUICK = ("random", "sobol", "pso", "cmaes")


def read_plan(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the content of a plan.json."""
    try:
        document: dict[str, Any] = json.loads(Path(path).read_text(encoding="utf-8"))
        if document["boids_plan"] != FORMAT or not all(
            {"path", "problem", "method"} <= set(r) for r in document["runs"]
        ):
            raise ValueError("its format is another one")
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise InputError(f"The plan {os.fspath(path)!r} cannot be used: {error}.") from error
    return document


def _planned(job: Job, folder: Path) -> Planned:
    found = run_log.glance(folder / job.path)
    if found is None:
        return Planned(job, "new")
    if (difference := job.difference(found.header)) is not None:
        raise InputError(
            f"{os.fspath(folder / job.path)!r} is a run with another {difference} than the experiment's; "
            "choose another folder with --out, another label, or delete it."
        )
    if found.status == TIME_LIMIT and _is_more(job.time_limit, found.last["time_limit"]):
        return Planned(job, "unfinished", found.evaluations)
    return Planned(job, found.status, found.evaluations)


def _is_more(limit: float | None, before: float | None) -> bool:
    return before is not None and (limit is None or limit > before)


def _obstacles(jobs: Iterable[Job]) -> dict[str, str]:
    """Make every problem and method once, and return what is missing on this machine for some, by their labels."""
    found: dict[str, str] = {}
    tried: set[str] = set()
    for job in jobs:
        checks: dict[str, Callable[[], object]] = {
            f"problem {job.problem.label!r}": job.make_problem,
            f"method {job.method.label!r}": partial(_try_method, job),
        }
        for what, check in checks.items():
            if what in tried:
                continue
            tried.add(what)
            try:
                check()
            except MissingExtra as error:
                found[what] = str(error)
            except Exception as error:
                if (reason := _missing(job)) is None or not what.startswith("problem"):
                    raise InputError(f"The {what} cannot be used: {error}") from error
                found[what] = reason
    return found


def _try_method(job: Job) -> None:
    """Make a method as far as its first proposal: some miss an extra only then."""
    Optimizer([(0.0, 1.0)] * 2, budget=1, method=job.make_method(), seed=0)


def _missing(job: Job) -> str | None:
    """Return what a problem of ours needs that is not here."""
    factory = PROBLEMS.get(job.problem.name)
    return None if factory is None else factory.available()


def _check_labels(given: Sequence[str], known: Sequence[str], what: str) -> None:
    for label in given:
        if label not in known:
            hint = did_you_mean(label, known, f"it has {', '.join(known)}.")
            raise InputError(f"The experiment has no {what} {label!r}; {hint}")
