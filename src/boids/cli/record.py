"""What a saved run holds beside the optimizer, so that it can be resumed."""

from __future__ import annotations

import re
import secrets
import time
from dataclasses import dataclass
from typing import Any, final

from boids.cli.targets import Target

#: The status of a run that has not come to an end, or was killed.
RUNNING = "running"


@final
@dataclass(frozen=True)
class Limits:
    """How the objective is called, and what stops a run before its budget.

    Attributes
    ----------
    vectorized, batch
        Whether the function takes several points, and how many.
    isolate, eval_timeout
        Whether it is called in a process of its own, and for how many seconds at the most.
    timeout, target, patience
        See `boids.minimize`.
    """

    vectorized: bool = False
    batch: int = 1
    isolate: bool = False
    eval_timeout: float | None = None
    timeout: float | None = None
    target: float | None = None
    patience: int | None = None


@final
@dataclass(frozen=True)
class RunRecord:
    """What a snapshot must hold beside the optimizer to resume the run.

    Attributes
    ----------
    folder
        Where it was begun; relative paths hold there.
    status
        `RUNNING`, or why it ended.
    memory
        The state of an objective that has one, when the last evaluation had been told.
    """

    id: str
    folder: str
    target: Target
    limits: Limits
    status: str = RUNNING
    memory: Any = None


def new_id(word: str, dim: int) -> str:
    """Return a name for a run: unique, in the order of time, and safe as the name of a file."""
    safe = re.sub(r"[^A-Za-z0-9_]+", "-", word).strip("-")[:24].strip("-") or "run"
    return f"{time.strftime('%Y%m%d-%H%M%S')}-{safe}-{dim}-{secrets.token_hex(4)}"
