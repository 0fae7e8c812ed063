"""When to begin anew although nothing is exhausted: after many evaluations without a gain.

Ours. A new beginning that has gained nothing, either, doubles how long the next one is waited for.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final


@final
@dataclass(frozen=True, slots=True)
class Standstill:
    """What a search has gained; every update returns a new one.

    Attributes
    ----------
    idle
        Evaluations in a row without any gain, of those that count.
    in_vain
        New beginnings in a row, before this one, that have gained nothing.
    gained
        Whether this search has gained anything since it began.
    """

    idle: int = 0
    in_vain: int = 0
    gained: bool = True

    def update(self, gained: bool, counts: bool) -> Standstill:
        """Take in one more evaluation; only those that count can be idle."""
        if gained:
            return Standstill(0, self.in_vain, True)
        return Standstill(self.idle + counts, self.in_vain, self.gained)

    def is_over(self, patience: int) -> bool:
        """Whether it is time to begin anew: after so many idle evaluations, or twice as many for each time in vain."""
        return self.idle >= (patience if self.gained else patience * 2 ** (self.in_vain + 1))

    def renewed(self) -> Standstill:
        """Begin anew."""
        return Standstill(0, 0 if self.gained else self.in_vain + 1, False)
