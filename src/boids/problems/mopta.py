"""Mopta08: the mass of a car body as a function of 124 gauges and shapes, under 68 constraints from crash tests.

D. R. Jones, Large-scale multi-disciplinary mass optimization in the auto industry, MOPTA 2008 conference. The
soft constraints as in Ngo et al., BOIDS, AAAI 2025, appendix, and the work before it: f + 10 Σ max(0, g_i).

Neither the official program nor the constants of its formulas may be shipped; with one of them at hand, the problem is
evaluated by `boids.problems.mopta_program` or, faster, by `boids.problems.mopta_kriging`.

======  =========================================================================
symbol  meaning, shape
======  =========================================================================
D       number of variables, 124
x       q points of [0, 1]^D, (q, D)
r       responses (q, 69): the mass f, then g_1 … g_68, feasible where g <= 0
======  =========================================================================
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import final

import numpy as np

from boids.errors import ProblemError
from boids.problems import data
from boids.problems.mopta_kriging import CONSTANTS, DIM, N_CONSTRAINTS, Kriging, load
from boids.problems.mopta_program import Program
from boids.problems.problem import Evaluator, Problem, ProblemFactory, flag, is_number
from boids.records import FloatArray

PENALTY = 10.0

SUMMARY = "the mass of a car body under 68 constraints; real, its data are not shipped; best known feasible 222.2324"
REFERENCE = "Jones, Large-scale multi-disciplinary mass optimization in the auto industry, MOPTA 2008"


@final
@dataclass(frozen=True, slots=True)
class SoftConstraints:
    """X -> f + 10 Σ max(0, g_i)."""

    responses: Evaluator

    def __call__(self, x: FloatArray) -> FloatArray:
        """Return the values (q,) at the rows of `x`."""
        responses = self.responses(x)
        values: FloatArray = responses[:, 0] + PENALTY * np.sum(np.maximum(responses[:, 1:], 0.0), axis=1)
        return values


# The problem, as the registry builds it


def mopta(
    dim: int,
    seed: int,
    *,
    constrained: bool = False,
    source: str = "auto",
    executable: str | None = None,
    timeout: float = 60.0,
) -> Problem:
    """Mopta08 on [0, 1]^124, with soft constraints as in the paper, or with all 68 of them.

    Parameters
    ----------
    constrained
        Whether the constraints come with the mass, as 68 further columns, instead of as a penalty.
    source
        "constants" (the formulas), "executable" (the official program), or "auto": the formulas if their
        constants are found, else the program.
    executable
        A program of your own, which is not checked; None takes the fetched one.
    timeout
        Seconds for one run of the program.
    """
    del seed  # nothing is random
    flag("constrained", constrained)
    responses = _responses(source, executable, timeout)
    by_program = isinstance(responses, Program)
    notes = ["mass and constraints apart" if constrained else "mass + 10 Σ max(0, constraint)"]
    notes.append("by the official program" if by_program else "by its formulas")
    return Problem(
        name="mopta",
        evaluate=responses if constrained else SoftConstraints(responses),
        low=np.zeros(dim),
        high=np.ones(dim),
        summary="; ".join([SUMMARY, *notes]),
        reference=REFERENCE,
        cost="a run of a program" if by_program else "half a millisecond",
        n_constraints=N_CONSTRAINTS if constrained else 0,
    )


def _responses(source: str, executable: str | None, timeout: float) -> Kriging | Program:
    """Return the evaluator of r that the options ask for."""
    if source not in ("auto", "constants", "executable"):
        raise ProblemError(f"source must be 'auto', 'constants' or 'executable', but got {source!r}; leave it out.")
    if not is_number(timeout) or not 0 < timeout < np.inf:
        raise ProblemError(f"timeout must be a positive number of seconds, but got {timeout!r}; leave it out for 60.")
    if executable is not None:
        if source == "constants":
            raise ProblemError("executable is for source='executable', but source is 'constants'; give one of them.")
        if not isinstance(executable, str) or not (own := Path(executable).expanduser().absolute()).is_file():
            raise ProblemError(f"executable must be the path of a program, but got {executable!r}; check the path.")
        return Program(str(own), float(timeout))
    constants = data.find(CONSTANTS) if source in ("auto", "constants") else None
    if constants is not None:
        load(str(constants))  # what is wrong with the file is better said now than in a worker
        return Kriging(str(constants))
    download = data.download_for("mopta") if source in ("auto", "executable") else None
    program = data.find(download.file, download.sha256) if download is not None else None
    if program is None:
        raise ProblemError(_missing(source, download))
    return Program(str(program), float(timeout))


def _missing(source: str, download: data.Download | None) -> str:
    own = "give your own program with executable=PATH"
    constants = f"put {CONSTANTS} into one of them"
    if source == "constants":
        wanted, remedies = CONSTANTS, [constants, "or make the problem with source='executable'"]
    else:
        wanted = "the official program" if source == "executable" else f"the official program or {CONSTANTS}"
        fetch = "run `boids problems fetch mopta`"
        remedies = [own] if download is None else [fetch, f"or {own}"]
        if source == "auto":
            remedies.append(f"or {constants}")
    return (
        f"Problem 'mopta' needs {wanted}, which boids may not ship, but found nothing in {data.places()}; "
        f"{', '.join(remedies)}."
    )


def _unavailable() -> str | None:
    """Return why the problem cannot be made without an executable of one's own, None if it can."""
    download = data.download_for("mopta")
    if any(data.find(file) for file in (CONSTANTS, *([download.file] if download else []))):
        return None
    remedy = f"bring {CONSTANTS}" if download is None else "run `boids problems fetch mopta`"
    return f"needs its program, not shipped; {remedy}"


FACTORIES: dict[str, ProblemFactory] = {
    "mopta": ProblemFactory(
        build=mopta,
        summary=SUMMARY,
        reference=REFERENCE,
        domain=f"[0, 1]^{DIM}",
        default_dim=DIM,
        minimum_dim=DIM,
        optimum=None,
        cost="half a millisecond; by the program longer",
        kind="real",
        dims=(DIM,),
        missing=_unavailable,
    )
}
