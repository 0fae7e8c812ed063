"""What starting costs: the import, the command line, and a run of ten evaluations."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from benchmarks.machine import Numbers, calibration, child_seconds, in_own_process, seconds_of
from benchmarks.text import markdown

LIBRARIES = "import numpy, scipy.linalg, scipy.optimize, scipy.special"
RUN = "import boids; boids.minimize(lambda x: float(x @ x), [(-1, 1)] * 20, 10, seed=0, progress=False)"
#: What is shown, and the command.
COMMANDS = {
    '`python -c ""`': ["-c", ""],
    '`python -c "import boids"`': ["-c", "import boids"],
    "`boids --help`": ["-m", "boids", "--help"],
    "NumPy and the parts of SciPy alone": ["-c", LIBRARIES],
    "`boids.minimize`, 10 evaluations, the process and all": ["-c", RUN],
}
AGAIN = "`boids.minimize`, 10 evaluations, once it is loaded"


def ten_evaluations() -> float:
    """Return the seconds of a run of ten evaluations that is not the first of its process."""
    import boids

    def run() -> None:
        boids.minimize(lambda x: float(np.dot(x, x)), [(-1, 1)] * 20, 10, seed=0, progress=False)

    run()
    return seconds_of(run, repeats=9)


def measure(tiny: bool = False) -> dict[str, Any]:
    """Measure all of them."""
    before, repeats, commands = calibration(), 7, COMMANDS
    if tiny:
        repeats, commands = 1, dict(list(COMMANDS.items())[:3])
    seconds = {name: child_seconds([sys.executable, *command], repeats) for name, command in commands.items()}
    seconds[AGAIN] = in_own_process(ten_evaluations)
    return {"seconds": seconds, "kernel": 0.5 * (before + calibration())}


def numbers(result: dict[str, Any]) -> Numbers:
    """Return what is compared with the baseline."""
    return {name: seconds / result["kernel"] for name, seconds in result["seconds"].items()}


def section(result: dict[str, Any]) -> str:
    """Return the table."""
    return markdown(["what", "s"], [[name, f"{seconds:.3f}"] for name, seconds in result["seconds"].items()])
