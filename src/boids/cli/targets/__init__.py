"""What can be minimised from the command line, as plain data, so that a saved run can make its objective again."""

from typing import TypeAlias

from boids.cli.targets.elsewhere import FunctionElsewhere
from boids.cli.targets.function import FunctionTarget
from boids.cli.targets.objective import Memory, Objective
from boids.cli.targets.problem import ProblemTarget
from boids.cli.targets.program import ProgramTarget

Target: TypeAlias = ProblemTarget | FunctionTarget | ProgramTarget

__all__ = ["FunctionElsewhere", "FunctionTarget", "Memory", "Objective", "ProblemTarget", "ProgramTarget", "Target"]
