"""A function ready to be called, and what a run must know of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, final

from boids.space import Space


class Memory(Protocol):
    """An objective whose values depend on earlier evaluations."""

    def state(self) -> Any:
        """Return what it remembers, JSON-able."""

    def restore(self, state: Any) -> None:
        """Make it remember that again."""


@final
@dataclass(frozen=True)
class Objective:
    """A function ready to be called, its space, and what it returns.

    Attributes
    ----------
    n_constraints, noisy
        See `boids.Optimizer`.
    optimum
        The smallest value, if known.
    memory
        Given if its values depend on earlier evaluations.
    """

    fun: Callable[[Any], Any]
    space: Space
    n_constraints: int = 0
    noisy: bool = False
    optimum: float | None = None
    memory: Memory | None = None
