"""Where runs are kept if the command line does not say; nothing else, for it is needed before anything is loaded."""

from __future__ import annotations

import os

DEFAULT = "boids-runs.db"
VARIABLE = "BOIDS_STORE"


def default_store() -> str:
    """Return the file with the runs, unless --store says otherwise."""
    return os.environ.get(VARIABLE) or DEFAULT
