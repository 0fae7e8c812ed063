"""A Python function of the user's, as `module:function`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, final

from boids.cli.targets.objective import Objective
from boids.space import Space
from boids.user_code import imported


@final
@dataclass(frozen=True)
class FunctionTarget:
    """A function, as "module:function"."""

    name: str

    is_local: ClassVar[bool] = True

    @property
    def word(self) -> str:
        """A short name."""
        return self.name.rpartition(":")[2]

    def load(self, space: Space, n_constraints: int) -> Objective:
        """Return the imported function."""
        return Objective(imported(self.name), space, n_constraints)
