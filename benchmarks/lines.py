"""Where the time goes line by line: a run of 299 evaluations on shifted Ackley-100 under line_profiler.

    pip install line_profiler
    python benchmarks/lines.py

The profiler itself slows short lines down; what it tells are shares, and the number of calls.
"""

from __future__ import annotations

import boids
from boids.algorithms import Boids
from boids.algorithms.boids_climb import climb_from_line
from boids.gp.paths import Path
from boids.gp.slopes import Slopes


def main() -> None:
    """Profile the functions that py-spy shows on top."""
    from line_profiler import LineProfiler

    profiler = LineProfiler(Boids.ask, climb_from_line, Slopes.__call__, Path.on_lines)
    problem = boids.problems.make("ackley", dim=100, shift=True)
    profiler.runcall(boids.minimize, problem, problem.space, 299, seed=0)
    profiler.print_stats(stripzeros=True)


if __name__ == "__main__":
    main()
