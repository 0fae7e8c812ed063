"""A libEnsemble run whose points BOIDS suggests: 40 variables, a constraint, four workers, results as they come.

python examples/libensemble_run.py [evaluations]        (needs `pip install "boids-opt[gest]" libensemble`)
"""

import contextlib
import sys
import tempfile

import numpy as np
from gest_api.vocs import VOCS
from libensemble import Ensemble
from libensemble.alloc_funcs.start_only_persistent import only_persistent_gens
from libensemble.specs import AllocSpecs, ExitCriteria, GenSpecs, LibeSpecs, SimSpecs

from boids.integrations.gest import BoidsGenerator

BUDGET = int(sys.argv[1]) if len(sys.argv) > 1 else 120
WORKERS = 4

PROBLEM = VOCS(
    variables={f"magnet{i}": [-1.0, 1.0] for i in range(38)} | {"phase": [0.0, 6.28], "cells": {4, 6, 8, 12}},
    objectives={"brightness": "MAXIMIZE"},
    constraints={"losses": ["LESS_THAN", 12.0]},
    constants={"energy": 3.0},
)


def simulate(point):
    """Return what a made-up accelerator does; nan says that a simulation failed."""
    magnets = np.array([point[f"magnet{i}"] for i in range(38)])
    if abs(magnets[0]) > 0.95:
        return {"brightness": np.nan, "losses": np.nan}
    error = np.sum((magnets - 0.3) ** 2) + np.sin(point["phase"]) ** 2 + 0.1 * abs(point["cells"] - 8)
    return {"brightness": point["energy"] - error, "losses": np.sum(magnets**2)}


def main():
    """Run the example."""
    generator = BoidsGenerator(PROBLEM, budget=BUDGET, seed=0)
    ensemble = Ensemble(
        libE_specs=LibeSpecs(comms="local", nworkers=WORKERS, gen_on_manager=True, disable_log_files=True),
        gen_specs=GenSpecs(generator=generator, vocs=PROBLEM, initial_batch_size=WORKERS),
        sim_specs=SimSpecs(simulator=simulate, vocs=PROBLEM),
        alloc_specs=AllocSpecs(alloc_f=only_persistent_gens, user={"async_return": True}),
        exit_criteria=ExitCriteria(sim_max=BUDGET),
    )
    history, _, _ = ensemble.run()
    done = history[history["sim_ended"]]
    feasible = done[done["losses"] < 12.0]  # nan is not
    print(f"{len(done)} evaluations, {np.isnan(done['brightness']).sum()} failed, {len(feasible)} feasible")
    print(f"the best brightness is {feasible['brightness'].max():.3f}")


if __name__ == "__main__":
    # libEnsemble leaves files where it runs.
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        main()
