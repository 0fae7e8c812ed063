"""What a method must offer to run under `boids.Optimizer`.

A method is a frozen dataclass of settings. What changes during a run lives in a frozen `State` dataclass of plain
data (numbers, strings, arrays, tuples and dataclasses of these), and `init`, `ask` and `tell` are pure functions of
their arguments and the random generator. That gives exact resume for free, whatever the method.

The evaluated points themselves are not part of the state: the shell keeps them, append-only, and hands them in as
`History`, so that a state stays small however long the run. The history also knows the `Domain`: integers and
categories, linear constraints, noise. The shell sees to all of these whatever a method proposes, and to black-box
constraints as well unless the method has a class attribute ``models_constraints = True``; a method need not care, but
one that does looks better, and says so in a class attribute ``considers`` (see `CONSIDERED`). With constraints that it
does not model, a method's values are merits, which are worked out anew after every outcome: it compares those of one
history, and keeps rows of the history rather than values.

A proposal whose memo is empty is not the method's own: it is a point of the user's, or an earlier trial with its
outcome. Such proposals appear in `pending` and at `tell` at any time, before the first `ask` as well, and the points
may be anywhere in the cube. A method may make of them what it can, or ignore them; one that must tell them from its
own writes a memo into every proposal.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Protocol, TypeVar

import numpy as np

from boids.records import Domain, History, Outcome, Proposal

S = TypeVar("S")

#: What a method may take into account by itself, in words.
CONSIDERED = {
    "noise": "models the noise of the values",
    "pending": "takes points into account that are being evaluated",
    "earlier": "learns from the user's points and from earlier trials",
    "constraints": "models every black-box constraint, instead of one merit",
}


class Algorithm(Protocol[S]):
    """A method: settings in its fields, three pure functions, and a few words about itself."""

    #: The name users type, e.g. "boids".
    name: ClassVar[str]
    #: One line for `boids methods`.
    summary: ClassVar[str]
    #: The paper, as one line.
    reference: ClassVar[str]
    #: The class of the state; a snapshot is decoded into it by its annotations.
    State: ClassVar[type[Any]]

    def init(self, domain: Domain, budget: int, rng: np.random.Generator) -> S:
        """Return the state before the first proposal; `budget` is the evaluations of the whole run."""

    def ready(self, state: S) -> int:
        """Return how many proposals can be made at once without waiting for another outcome (at least 1)."""

    def ask(
        self, state: S, history: History, pending: Sequence[Proposal], rng: np.random.Generator
    ) -> tuple[S, Proposal]:
        """Propose the next point; `pending` are the proposals handed out and not told yet, oldest first."""

    def tell(self, state: S, history: History, proposal: Proposal, outcome: Outcome, rng: np.random.Generator) -> S:
        """Take in the outcome of a proposal, which may come late and in any order; it is `history`'s last row."""

    def diagnostics(self, state: S) -> dict[str, Any]:
        """Return JSON-able facts about the state for people."""
