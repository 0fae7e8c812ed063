"""How numbers are written on the page."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def markdown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table."""
    body = [f"| {' | '.join(row)} |" for row in (head, *rows)]
    return "\n".join([body[0], "|" + "---|" * len(head), *body[1:]])


def milliseconds(seconds: float) -> str:
    """Return a time in milliseconds, to three figures, without exponents."""
    value = 1000.0 * seconds
    if value < 0.0005:
        return "0"
    decimals = 0 if value >= 100 else 1 if value >= 10 else 2 if value >= 1 else 3
    return f"{value:.{decimals}f}"
