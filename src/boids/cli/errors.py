"""Wrong input on the command line, and what was probably meant."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from boids.errors import BoidsError


class InputError(BoidsError, ValueError):
    """Something on the command line is not valid; the message is shown as one line."""


def did_you_mean(wrong: str, known: Iterable[str], otherwise: str) -> str:
    """Return a question that names the known word closest to a wrong one, or `otherwise` if none is close."""
    words = sorted(known)
    # Whoever writes "generations" means "search.generations".
    close = [word for word in words if word.rpartition(".")[2] == wrong]
    if not close:
        by_lower = {word.lower(): word for word in words}
        close = [by_lower[word] for word in get_close_matches(wrong.lower(), by_lower, n=1, cutoff=0.6)]
    return f"did you mean {' or '.join(map(repr, close))}?" if close else otherwise
