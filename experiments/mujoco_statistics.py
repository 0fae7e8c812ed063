"""What do the robots of MuJoCo observe under random actions? Mean and std for the stationary protocol.

    python experiments/mujoco_statistics.py

writes src/boids/problems/_data/mujoco_statistics.json, which the package ships. Actions are uniform over the robot's
range, from ``numpy.random.default_rng(0)``; episode e starts with ``reset(seed=1000 + e)``, so that no start of the
problems themselves is among them; 20 000 observations per robot, the one after a fall not included. Numbers are rounded
to six digits, and a std below 1e-8 to 0: such observations are constants, and what varies is rounding.
"""

from __future__ import annotations

import argparse
import json
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from boids.problems.mujoco import ROBOTS, STATISTICS
from boids.problems.mujoco_simulation import Robot, environment

FILE = Path(__file__).parents[1] / "src" / "boids" / "problems" / "_data" / STATISTICS
OBSERVATIONS = 20_000
STEPS = 1000
FIRST_SEED = 1000
CONSTANT = 1e-8


def observe(robot: Robot, count: int) -> np.ndarray:
    """Return observations (count, n) under uniform actions."""
    rng = np.random.default_rng(0)
    rows: list[np.ndarray] = []
    with environment(robot) as simulation:
        low, high = (np.float64(bound) for bound in (simulation.action_space.low, simulation.action_space.high))
        seed = FIRST_SEED
        while len(rows) < count:
            observation, _ = simulation.reset(seed=seed)
            seed += 1
            for _ in range(STEPS):
                rows.append(observation)
                observation, _, fallen, _, _ = simulation.step(rng.uniform(low, high))
                if fallen:
                    break
    return np.array(rows[:count])


def statistics(observations: np.ndarray) -> dict[str, list[float]]:
    """Return mean and sample standard deviation, rounded."""
    std = np.std(observations, axis=0, ddof=1)
    return {
        "mean": rounded(np.mean(observations, axis=0)),
        "std": rounded(np.where(std < CONSTANT, 0.0, std)),
    }


def rounded(array: np.ndarray) -> list[float]:
    """Return numbers with six digits."""
    return [float(f"{value:.6g}") for value in array]


def main() -> None:
    """Write the file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=FILE)
    out = parser.parse_args().out
    document: dict[str, Any] = {
        "about": "Observations of MuJoCo robots under random actions, computed for boids with Gymnasium (MIT licence) "
        "and MuJoCo (Apache-2.0), whose models of the robots these are.",
        "command": "python experiments/mujoco_statistics.py",
        "mujoco": version("mujoco"),
        "gymnasium": version("gymnasium"),
        "observations": OBSERVATIONS,
        "actions": "uniform, numpy.random.default_rng(0)",
        "starts": f"reset(seed={FIRST_SEED} + episode)",
        "robots": {name: statistics(observe(robot, OBSERVATIONS)) for name, robot in ROBOTS.items()},
    }
    out.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    print(f"{out}: {out.stat().st_size} bytes")


if __name__ == "__main__":
    main()
