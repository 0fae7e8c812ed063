"""Python functions in a process of their own: a hang or a crash costs one evaluation, not the run."""

from boids.errors import EvaluationError
from boids.isolation.isolated import Isolated, isolate

__all__ = ["EvaluationError", "Isolated", "isolate"]
