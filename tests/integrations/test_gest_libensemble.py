"""The generator inside libEnsemble: real workers, its own conversions, a given history."""

import numpy as np
import pytest
from gest_api.vocs import VOCS
from libensemble import Ensemble
from libensemble.alloc_funcs.start_only_persistent import only_persistent_gens
from libensemble.specs import AllocSpecs, ExitCriteria, GenSpecs, LibeSpecs, SimSpecs

from boids.integrations.gest import BoidsGenerator

PROBLEM = VOCS(
    variables={f"x{i}": [-1.0, 1.0] for i in range(6)} | {"kind": {"flat", "round"}, "cells": {2, 4, 8}},
    objectives={"f": "MAXIMIZE"},
    constraints={"c": ["LESS_THAN", 4.0]},
    constants={"scale": 2.0},
)
BUDGET = 26


def simulate(point):
    x = np.array([point[f"x{i}"] for i in range(6)])
    if x[0] > 0.8:
        return {"f": np.nan, "c": np.nan}
    return {"f": -point["scale"] * np.sum(x**2) - (point["kind"] == "flat"), "c": x[1] + point["cells"]}


def run(generator, workers=3, asynchronous=False, **options):
    ensemble = Ensemble(
        libE_specs=LibeSpecs(comms="local", nworkers=workers, gen_on_manager=True, disable_log_files=True),
        gen_specs=GenSpecs(generator=generator, vocs=PROBLEM, batch_size=workers),
        sim_specs=SimSpecs(simulator=simulate, vocs=PROBLEM),
        alloc_specs=AllocSpecs(alloc_f=only_persistent_gens, user={"async_return": asynchronous}),
        exit_criteria=ExitCriteria(sim_max=BUDGET),
        **options,
    )
    history, _, flag = ensemble.run()
    assert flag == 0
    return history[history["sim_ended"]]


@pytest.fixture(autouse=True)
def in_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # libEnsemble leaves files where it runs


@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_run(asynchronous):
    generator = BoidsGenerator(PROBLEM, budget=BUDGET, seed=1)
    done = run(generator, asynchronous=asynchronous)
    assert len(done) >= BUDGET
    assert len(set(done["_id"])) == len(done)
    assert (done["scale"] == 2.0).all()
    assert set(done["kind"]) <= {"flat", "round"}
    assert set(done["cells"]) <= {2, 4, 8}
    course = generator._course
    assert all(course.own)  # every result came back as the suggestion that it was
    assert len(course.told) >= BUDGET - 6  # the last ones have nobody to learn from them
    values = -course._ledger.history().values
    by_id = {row["_id"]: row["f"] for row in done}
    np.testing.assert_array_equal(values, [by_id[number] for number in course.told])


def test_a_given_history_is_learnt_from():
    names = [(f"x{i}", float) for i in range(6)] + [("scale", float), ("kind", "U5"), ("cells", int)]
    given = np.zeros(4, dtype=[*names, ("f", float), ("c", float), ("sim_started", bool), ("sim_ended", bool)])
    given["x1"] = [0.1, 0.2, 0.3, 0.4]
    given["kind"], given["cells"], given["scale"] = "round", 4, 2.0
    given["f"], given["c"] = -2 * given["x1"] ** 2, given["x1"] + 4
    given["sim_started"] = given["sim_ended"] = True
    generator = BoidsGenerator(PROBLEM, budget=BUDGET, seed=1)
    run(generator, H0=given)
    assert generator._course.own[:4] == [False] * 4
    assert all(generator._course.own[4:])
    assert generator._course._ledger.history().values[:4].tolist() == (-given["f"]).tolist()
