"""The parameters that all completed trials of a study have in common, kept up to date trial by trial."""

from __future__ import annotations

from collections.abc import Sequence
from typing import final

from optuna.distributions import BaseDistribution
from optuna.trial import FrozenTrial, TrialState

from boids.integrations.optuna.translation import translatable


@final
class CommonParameters:
    """What `optuna.search_space.IntersectionSearchSpace` is, for little per trial.

    That of Optuna copies and compares all parameters at every call; this one returns the same dict until it changes,
    without the parameters that are fixed or that boids has no space for.
    """

    def __init__(self) -> None:
        self._every: dict[str, BaseDistribution] | None = None  # also what cannot be translated
        self._found: dict[str, BaseDistribution] = {}
        self._horizon = 0
        self._unfinished: list[int] = []

    def after(self, trials: Sequence[FrozenTrial]) -> dict[str, BaseDistribution]:
        """Return them after the trials of a study, which are in the order of their numbers."""
        due, self._unfinished = [*self._unfinished, *range(self._horizon, len(trials))], []
        self._horizon, before = len(trials), self._every
        for number in due:
            trial = trials[number]
            if not trial.state.is_finished():
                self._unfinished.append(number)
            elif trial.state == TrialState.COMPLETE:
                self._meet(trial.distributions)
        if self._every is not before and self._every is not None:
            self._found = {name: each for name, each in sorted(self._every.items()) if translatable(each)}
        return self._found

    def _meet(self, others: dict[str, BaseDistribution]) -> None:
        if self._every is None:
            self._every = dict(others)
        elif not all(others.get(name) == each for name, each in self._every.items()):
            self._every = {name: each for name, each in self._every.items() if others.get(name) == each}
