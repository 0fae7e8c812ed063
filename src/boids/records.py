"""Small frozen records that every layer shares.

Three names are used everywhere:

======  ===========================================================================
symbol  meaning
======  ===========================================================================
x       a point in the user's units, also called ``params``
u       the same point in the signed cube [-1, 1]^D, called ``unit`` in records
z       a point of a method's subspace cube [-1, 1]^d
======  ===========================================================================
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.int64]

#: What a memo may hold, so that a pending proposal can be saved without pickling.
MemoValue: TypeAlias = int | float | str | bool | FloatArray | IntArray | None

TrialState = Literal["pending", "done", "failed"]


class _Failed:
    """The type of `FAILED`."""

    def __repr__(self) -> str:
        return "boids.FAILED"

    def __reduce__(self) -> str:
        return "FAILED"  # the one object also after a trip to a worker process and back


#: Pass as the value of `Optimizer.tell` to say that the evaluation failed.
FAILED = _Failed()


@dataclass(frozen=True, slots=True)
class Proposal:
    """What a method wants evaluated next.

    Attributes
    ----------
    unit
        The point u in the signed cube [-1, 1]^D.
    memo
        What the method must know when the value comes back (in any order, however late).
    info
        Diagnostics for people (subspace dimension, chosen line …); JSON-able, never read by the method.
    times
        Seconds spent in each phase of making this proposal.
    """

    unit: FloatArray
    memo: Mapping[str, MemoValue] = field(default_factory=dict)
    info: Mapping[str, Any] = field(default_factory=dict)
    times: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came back for a proposal; `value` is nan exactly if the evaluation failed."""

    value: float

    @property
    def failed(self) -> bool:
        """Whether the evaluation failed."""
        return bool(np.isnan(self.value))


@dataclass(frozen=True, slots=True, eq=False)
class History:
    """All outcomes so far, in the order they were told; the shell owns it, methods read it.

    Attributes
    ----------
    units
        The evaluated points in the signed cube (n, D).
    values
        The objective's values (n,), nan where the evaluation failed.
    """

    units: FloatArray
    values: FloatArray

    def __len__(self) -> int:
        return len(self.values)


@dataclass(frozen=True, slots=True, eq=False)
class Trial:
    """One evaluation: asked for, perhaps finished, perhaps failed.

    Attributes
    ----------
    id
        Number of the trial in its run, from 0.
    params
        The point in the user's units: an array for a plain box, a dict for a named space. Also ``x``.
    unit
        The same point in the signed cube.
    value
        The objective's value; None while pending and after a failure.
    error
        Why the evaluation failed.
    state
        "pending", "done" or "failed".
    started, ended
        Seconds since the epoch.
    info
        The method's diagnostics for this proposal.
    """

    id: int
    params: Any
    unit: FloatArray
    value: float | None = None
    error: str | None = None
    state: TrialState = "pending"
    started: float | None = None
    ended: float | None = None
    info: Mapping[str, Any] = field(default_factory=dict)

    @property
    def x(self) -> Any:
        """The point in the user's units; the same as `params`."""
        return self.params

    @property
    def failed(self) -> bool:
        """Whether the evaluation failed."""
        return self.state == "failed"
