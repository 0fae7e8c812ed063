"""External programs as objectives: `Program` starts one per evaluation, hands it the point and reads the result."""

from boids.errors import CommandError, ProgramError
from boids.program.objective import Program
from boids.program.process import end_running

__all__ = ["CommandError", "Program", "ProgramError", "end_running"]
