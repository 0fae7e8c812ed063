"""The command line: `boids run | resume | methods | problems`; NumPy, SciPy and rich are loaded only where needed."""

from boids.cli.app import main

__all__ = ["main"]
