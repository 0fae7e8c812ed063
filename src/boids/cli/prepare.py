"""From what was asked for to what is needed to begin a run."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import Any, final

from boids.cli import assignments, warm_start
from boids.cli.record import Limits
from boids.cli.request import Request
from boids.cli.targets import FunctionTarget, Objective, ProblemTarget, ProgramTarget, Target
from boids.cli.targets.program import FOLDER, short_name
from boids.errors import InputError
from boids.optimizer import Optimizer
from boids.recording import new_id
from boids.space import SpaceFile


@final
@dataclass(frozen=True)
class Prepared:
    """What a request leads to.

    Attributes
    ----------
    id
        The name of the run.
    target
        What is minimised, as plain data.
    objective
        The same, ready to be called.
    linear
        Linear constraints on the parameters, as texts or tables.
    """

    id: str
    target: Target
    objective: Objective
    linear: tuple[Any, ...]


def prepare(request: Request) -> Prepared:
    """Make or import what is to be minimised."""
    if request.is_problem:
        texts = assignments.split(request.options, "--option")
        options = {key: assignments.literal(text) for key, text in texts.items()}
        problem = ProblemTarget(request.target or "", request.dim, options)
        objective = problem.load()
        dim = objective.space.dim
        return Prepared(new_id(problem.word, dim), replace(problem, dim=dim), objective, request.linear)
    described = request.described()
    run_id, target = _own(request, described)
    count = described.n_constraints if request.constraints is None else request.constraints
    return Prepared(run_id, target, target.load(described.space, count or 0), (*described.linear, *request.linear))


def _own(request: Request, described: SpaceFile) -> tuple[str, FunctionTarget | ProgramTarget]:
    """Return the name of a run, and the function or program of the user's own."""
    dim = described.space.dim
    if request.command is None:
        function = FunctionTarget(request.target or "")
        return new_id(function.word, dim), function
    run_id = new_id(short_name(request.command), dim)
    return run_id, ProgramTarget(
        name=request.command,
        workdir=request.workdir or os.path.join(FOLDER, run_id),
        format=request.form or "json",
        result=request.result or "auto",
        keep=request.keep or "failed",
        timeout=request.eval_timeout,
    )


def limits(request: Request) -> Limits:
    """Return what stops the run before its budget."""
    return Limits(timeout=request.timeout, target=request.goal, patience=request.patience)


def optimizer(request: Request, prepared: Prepared) -> Optimizer:
    """Return the optimizer of a new run, with what is known from other runs."""
    objective = prepared.objective
    if request.penalty is not None and not objective.n_constraints:
        raise InputError("--penalty weighs constraints, but there are none; say how many with --constraints N.")
    x0 = warm_start.starting_points(request.x0, objective.space)
    try:
        made = Optimizer(
            objective.space,
            budget=request.budget,
            method=method(request),
            seed=request.seed,
            noisy=request.noisy or objective.noisy,
            n_constraints=objective.n_constraints,
            linear_constraints=prepared.linear,
            penalty=request.penalty,
            x0=x0,
        )
    except ValueError as error:
        raise InputError(str(error)) from error
    warm_start.add_runs(made, request.sources, request.store)
    return made


def method(request: Request) -> Any:
    """Return the method with its settings."""
    return assignments.configured(assignments.method_class(request.method), assignments.split(request.pairs, "--set"))
