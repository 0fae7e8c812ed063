"""How methods look in all figures: a colour, a line and a mark each, the same everywhere.

The colours begin with those of Okabe & Ito, darkened or lightened so that each has contrast on white and, in its second
version, on black. Past the eighth method they begin again with another line.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

#: For a white and for a black ground.
_COLOURS = (
    ("#0072B2", "#4DB1EE"),
    ("#D55E00", "#FF8A4C"),
    ("#009E73", "#35CFA3"),
    ("#B4478C", "#EE92C6"),
    ("#C08400", "#F2BE3F"),
    ("#6A4BC4", "#AE97F7"),
    ("#8A5A2B", "#CFA074"),
    ("#5B6770", "#A9B6BF"),
)
#: Dashes in units of the line's width; none is a full line.
_DASHES: tuple[tuple[float, ...], ...] = ((), (4.0, 2.0), (1.2, 1.8), (6.0, 2.0, 1.2, 2.0))
_MARKS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "h", "*", "p", "d", "8")


@final
@dataclass(frozen=True)
class Look:
    """How a method is drawn: colours on white and on black, dashes, and Matplotlib's mark."""

    light: str
    dark: str
    dashes: tuple[float, ...]
    mark: str


def looks(methods: Sequence[str]) -> dict[str, Look]:
    """Return the look of every method, by its place in the list."""
    return {
        method: Look(
            *_COLOURS[place % len(_COLOURS)],
            dashes=_DASHES[place // len(_COLOURS) % len(_DASHES)],
            mark=_MARKS[place % len(_MARKS)],
        )
        for place, method in enumerate(methods)
    }
