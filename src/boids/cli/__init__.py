"""The command line; NumPy, SciPy and rich are loaded only where needed."""

from boids.cli.app import main

__all__ = ["main"]
