"""The beam's simulator, an external program, driven from Python; for the command line see beam/README.md."""

import sys
import tempfile
from pathlib import Path

import boids
from boids.space import read_space

budget = int(sys.argv[1]) if len(sys.argv) > 1 else 60
beam = Path(__file__).parent / "beam"
file = read_space(beam / "space.toml")

with tempfile.TemporaryDirectory() as folder:
    simulate = boids.Program(
        [sys.executable, str(beam / "simulate.py"), "{input}", "{output}"],
        timeout=30,
        workdir=folder,
        n_constraints=file.n_constraints,
        names=file.space.names,
    )
    result = boids.minimize(
        simulate,
        file.space,
        budget,
        seed=0,
        n_constraints=file.n_constraints,
        linear_constraints=file.linear,
        progress=True,
    )
print(result.message)
print(f"cost {result.fun:.2f}, feasible: {result.feasible}, materials {result.x['material']}")
