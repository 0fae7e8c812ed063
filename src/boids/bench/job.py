"""One run of an experiment as plain data: what decides it, and how its problem and its method are made.

The instance of the problem (shift, rotation, noise) and the initial design depend on the repetition alone, so that all
methods of a repetition face the same; afterwards every method has a stream of random numbers of its own.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, final

from boids import plain
from boids.algorithms import METHODS, Algorithm, find
from boids.bench.run_log import FORMAT, SUFFIX
from boids.bench.spec import MethodEntry, ProblemEntry, Spec, slug
from boids.configure import configured, settings
from boids.errors import InputError
from boids.problems import Problem, make
from boids.setup import STREAMS
from boids.user_code import imported


@final
@dataclass(frozen=True)
class Job:
    """A run that is to be made.

    Attributes
    ----------
    problem, method
        What and how.
    repetition
        Number of the repetition.
    budget
        Evaluations.
    time_limit
        Seconds, None without a limit.
    """

    problem: ProblemEntry
    method: MethodEntry
    repetition: int
    budget: int
    time_limit: float | None

    @property
    def path(self) -> str:
        """Where its file is, in the folder of the results."""
        return f"{slug(self.problem.label)}/{slug(self.method.label)}/{self.repetition}{SUFFIX}"

    @property
    def seed(self) -> int:
        """The seed of the optimizer, see `boids.setup.STREAMS`."""
        # 16 bits of the label: the whole stays exact in every JSON reader.
        return self.repetition + STREAMS * (zlib.crc32(self.method.label.encode()) & 0xFFFF)

    def make_problem(self) -> Problem:
        """Return the instance of this repetition."""
        entry = self.problem
        if ":" not in entry.name:
            return make(entry.name, dim=entry.dim, seed=self.repetition, **entry.options)
        build: Any = imported(entry.name)
        made = build(dim=entry.dim, seed=self.repetition, **entry.options)
        if not isinstance(made, Problem):
            raise InputError(f"{entry.name!r} must return a boids.problems.Problem, got {type(made).__name__}.")
        return made

    def make_method(self) -> Algorithm[Any]:
        """Return the method with its settings."""
        name = self.method.name
        if ":" in name:
            cls: Any = imported(name)
            if not isinstance(cls, type):
                raise InputError(f"{name!r} must be the class of a method, got {type(cls).__name__}.")
        else:
            cls = METHODS.get(name) or type(find(name))  # which says what is wrong with an unknown name
        made: Algorithm[Any] = configured(cls, self.method.options) if self.method.options else cls()
        return find(made)

    def header(self, problem: Problem | None, method: Algorithm[Any] | None) -> dict[str, Any]:
        """Return the first line of the run's file; facts of a problem or method that could not be made are left out."""
        of_problem: dict[str, Any] = {
            "name": self.problem.name,
            "label": self.problem.label,
            "dim": self.problem.dim if problem is None else problem.dim,
            "options": plain.jsonable(dict(self.problem.options), "options"),
            "seed": self.repetition,
        }
        if problem is not None:
            of_problem |= {"optimum": problem.optimum, "noisy": problem.noisy, "constraints": problem.n_constraints}
        of_method: dict[str, Any] = {
            "name": self.method.name,
            "label": self.method.label,
            "options": plain.jsonable(dict(self.method.options), "options"),
        }
        if method is not None and type(method) in METHODS.values():
            of_method["settings"] = {name: plain.jsonable(value, name) for name, value, *_ in settings(method)}
        return {
            "boids_run": FORMAT,
            "problem": of_problem,
            "method": of_method,
            "repetition": self.repetition,
            "seed": self.seed,
            "budget": self.budget,
            "time_limit": self.time_limit,
        }

    def difference(self, header: Mapping[str, Any]) -> str | None:
        """Return in what the run of a header is another one, in words; None if it is this one."""
        mine = self.header(None, None)
        for part, keys in {"problem": ("name", "options", "seed"), "method": ("name", "options")}.items():
            for key in keys:
                if header[part][key] != mine[part][key]:
                    return f"{part}'s {key}"
        if self.problem.dim is not None and header["problem"]["dim"] != self.problem.dim:
            return "problem's dim"
        return next((key for key in ("repetition", "seed", "budget") if header[key] != mine[key]), None)

    def to_document(self) -> dict[str, Any]:
        """Return it as JSON can hold it."""
        return asdict(self)

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> Job:
        """Return it again."""
        method: dict[str, Any] = {**document["method"]}
        for key in ("seeds", "problems"):
            method[key] = None if method[key] is None else tuple(method[key])
        return cls(**{**document, "problem": ProblemEntry(**document["problem"]), "method": MethodEntry(**method)})


def jobs_of(spec: Spec) -> list[Job]:
    """Return all runs of an experiment: the first repetition of everything first, so that early results compare."""
    return [
        Job(
            problem,
            method,
            seed,
            budget=method.budget or problem.budget or spec.budget,
            time_limit=method.time_limit or problem.time_limit or spec.time_limit,
        )
        for seed in sorted({seed for entry in spec.methods for seed in entry.seeds or spec.seeds})
        for problem in spec.problems
        for method in spec.methods
        if seed in (method.seeds or spec.seeds) and (method.problems is None or problem.label in method.problems)
    ]
