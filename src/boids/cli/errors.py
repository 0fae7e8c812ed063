"""Wrong input on the command line."""

from __future__ import annotations

from boids.errors import BoidsError


class InputError(BoidsError, ValueError):
    """Something on the command line is not valid; the message is shown as one line."""
