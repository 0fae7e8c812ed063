"""Nevergrad's NGOpt: a wizard that chooses among many optimisers by dimension, budget and kind of space.

Meunier, Rakotoarison, Wong, Roziere, Rapin, Teytaud, Moreau & Doerr, *Black-Box Optimization Revisited: Improving
Algorithm Selection Wizards through Massive Benchmarking*, IEEE Transactions on Evolutionary Computation 2022.
"""

from __future__ import annotations

import contextlib
import math
from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np

from boids.errors import MethodError, did_you_mean
from boids.opponents.library import in_daemon_thread, loaded
from boids.opponents.transcript import LibraryMethod, Searcher, Worst
from boids.records import Domain, FloatArray
from boids.settings import check_settings, setting


@final
@dataclass(frozen=True)
class Nevergrad(LibraryMethod):
    """An optimiser of Nevergrad's registry."""

    name: ClassVar[str] = "nevergrad"
    summary: ClassVar[str] = "Nevergrad's NGOpt, which chooses an optimiser by itself"
    reference: ClassVar[str] = "Meunier et al., IEEE Trans. Evol. Comput. 2022"
    considers: ClassVar[tuple[str, ...]] = ()  # most of its choices ignore points that they did not ask for
    package: ClassVar[str] = "nevergrad"
    modules: ClassVar[tuple[str, ...]] = ("nevergrad",)

    optimizer: str = setting("NGOpt", "Nevergrad: the one of its first example; any name of its registry")
    num_workers: int = setting(1, "Nevergrad: evaluations at a time, by which NGOpt chooses as well", least=1)

    def __post_init__(self) -> None:
        check_settings(self)

    def searcher(self, domain: Domain, budget: int, seed: int) -> Searcher:
        """Return the optimiser."""
        ng = loaded("nevergrad")
        if self.optimizer not in ng.optimizers.registry:
            hint = did_you_mean(self.optimizer, ng.optimizers.registry, "its documentation lists them.")
            raise MethodError(f"Nevergrad has no optimizer {self.optimizer!r}; {hint}")
        box = ng.p.Array(shape=(domain.dim,), lower=-1.0, upper=1.0)
        box.random_state = np.random.RandomState(seed)
        box.function.deterministic = not domain.noisy
        made = ng.optimizers.registry[self.optimizer](parametrization=box, budget=budget, num_workers=self.num_workers)
        return _Optimizer(made, ng.errors.TellNotAskedNotSupportedError)


@final
class _Optimizer:
    """One of Nevergrad's optimisers.

    Some of them, COBYLA for one, wait for ever if they are asked for more candidates at a time than they were told to
    expect; whatever is wanted beyond that is a random point. Failures wait until there is a value to be worse than.
    """

    def __init__(self, optimizer: Any, refuses_guests: type[Exception]) -> None:
        self._optimizer, self._refuses_guests = optimizer, refuses_guests
        self._candidates: dict[int, Any] = {}  # those under way
        self._points: dict[int, FloatArray] = {}  # random points under way
        self._proposed = 0
        self._failed: list[Any] = []
        self._worst = Worst()

    def propose(self) -> FloatArray:
        """Ask for a candidate."""
        number, self._proposed = self._proposed, self._proposed + 1
        if len(self._candidates) + len(self._failed) >= self._optimizer.num_workers:
            rng = self._optimizer.parametrization.random_state
            self._points[number] = rng.uniform(-1.0, 1.0, self._optimizer.dimension)
            return self._points[number]
        self._candidates[number] = in_daemon_thread(self._optimizer.ask)
        return np.array(self._candidates[number].value, dtype=np.float64)

    def learn(self, number: int, value: float) -> None:
        """Tell the loss of a candidate."""
        if number in self._points:
            self.learn_guest(self._points.pop(number), value)
            return
        candidate = self._candidates.pop(number)
        if math.isnan(value):
            self._failed.append(candidate)
            self._tell_failures()
        else:
            self._optimizer.tell(candidate, value)
            self._saw(value)

    def learn_guest(self, unit: FloatArray, value: float) -> None:
        """Tell a point that was not asked for, if the optimiser in charge takes it."""
        if math.isnan(value):
            return
        with contextlib.suppress(self._refuses_guests):
            self._optimizer.tell(self._optimizer.parametrization.spawn_child(new_value=unit), value)
        self._saw(value)

    def _saw(self, value: float) -> None:
        self._worst.saw(value)
        self._tell_failures()

    def _tell_failures(self) -> None:
        if self._worst.is_known:
            for candidate in self._failed:
                self._optimizer.tell(candidate, self._worst.beyond)
            self._failed = []
