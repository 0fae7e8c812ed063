"""Run 2N ≡ run N, save, load, run N, bit for bit: with every feature of real objectives at once."""

import json
from dataclasses import replace

import numpy as np
import pytest

from boids import Bool, Categorical, Float, Int, Optimizer, Space, StoreError
from boids.algorithms import Boids
from boids.blocks.nsga2 import NSGA2
from boids.trial_rows import TrialColumns

QUICK = Boids(
    n_init=8,
    particles=5,
    search=NSGA2(population=16, offspring=16, generations=4),
    bandit_candidates=100,
    max_candidates=40,
    path_features=48,
    failure_tolerance="released",
    sweep_from=None,
    termination_max=3,
)
MIXED = Space(
    {
        "rate": Float(1e-4, 1, log=True),
        "n": Int(1, 30),
        "act": Categorical(["a", "b", "c"]),
        "on": Bool(),
        "w": Float(-1, 1, shape=5),
    }
)
CASES = {
    "mixed, linear, constrained, failing": {"n_constraints": 2, "linear_constraints": ["w[0] + w[1] <= 0.4", "n >= 3"]},
    "noisy with variances": {"noisy": True},
    "everything": {"noisy": True, "n_constraints": 2, "linear_constraints": "sum(w) <= 1"},
    "penalised": {"n_constraints": 2, "penalty": 3.0},
}


def tell(optimizer, trial):
    """An outcome that depends on the trial alone: noise, crashes and all."""
    chance = np.random.default_rng([7, trial.id])
    x = trial.params
    if chance.random() < 0.2 or x["act"] == "c":
        return optimizer.tell(trial, error="crash")
    value = float(np.log10(x["rate"]) ** 2 + (x["n"] - 9) ** 2 / 40 + x["on"] + np.sum(x["w"] ** 2))
    more = {}
    if optimizer.noisy:
        value += 0.3 * chance.normal()
        more["noise_variance"] = 0.09 if trial.id % 3 else None
    if optimizer.n_constraints:
        more["constraints"] = [x["n"] - 20.0, 0.1 - float(x["w"][0])]
    return optimizer.tell(trial, value, **more)


def advance(optimizer, tells, waiting=3):
    """Ask and tell with some trials always pending, told out of order."""
    for _ in range(tells):
        while optimizer.remaining and len(optimizer.pending) < waiting:
            optimizer.ask()
        tell(optimizer, optimizer.pending[optimizer.n_told % len(optimizer.pending)])


def record(trial):
    return (
        trial.id,
        trial.unit.tobytes(),
        json.dumps(trial.params, default=lambda value: np.asarray(value).tolist()),
        trial.value,
        trial.constraints,
        trial.noise_variance,
        trial.error,
        trial.state,
        json.dumps(trial.info),
    )


def summary(optimizer):
    facts = {name: value for name, value in optimizer.diagnostics.items() if name != "times"}
    history = optimizer.run.ledger.history()
    arrays = (history.units, history.values, history.aims, history.constraints, history.noise)
    return (
        [record(trial) for trial in optimizer.trials],
        json.dumps(facts),
        None if optimizer.best is None else optimizer.best.id,
        optimizer.estimate,
        [None if array is None else array.tobytes() for array in arrays],
    )


@pytest.mark.parametrize("options", CASES.values(), ids=CASES)
@pytest.mark.parametrize("method", [QUICK, "random"], ids=["boids", "random"])
def test_law_of_resume(tmp_path, method, options):
    whole, parts = (Optimizer(MIXED, budget=46, method=method, seed=5, **options) for _ in range(2))
    advance(whole, 46)
    told = 0
    for step in (5, 12, 21, 8):  # in the design, soon after it, after splits
        parts.save(tmp_path / "run")
        parts = Optimizer.load(tmp_path / "run")
        advance(parts, step)
        told += step
    assert told == 46
    assert summary(parts) == summary(whole)
    assert whole.n_failed > 0
    if method is QUICK:
        assert len({trial.info["dim"] for trial in whole.trials}) > 1
    if options.get("noisy"):
        assert {trial.noise_variance for trial in whole.trials if not trial.failed} == {0.09, None}


def test_what_a_run_is_comes_back(tmp_path):
    optimizer = Optimizer(
        MIXED, budget=9, method="random", seed=5, noisy=True, n_constraints=2, penalty=3.0, linear_constraints="n >= 3"
    )
    optimizer.save(tmp_path / "run")
    loaded = Optimizer.load(tmp_path / "run")
    for name in ("space", "budget", "seed", "noisy", "n_constraints", "penalty", "linear_constraints", "algorithm"):
        assert getattr(loaded, name) == getattr(optimizer, name)


def test_points_tried_before_the_break_are_not_tried_after_it(tmp_path):
    space = Space({"a": Int(0, 3), "b": Int(0, 3)})
    optimizer = Optimizer(space, budget=16, method="random", seed=0)
    for trial in optimizer.ask(9)[:5]:
        optimizer.tell(trial, error="crash")
    optimizer.save(tmp_path / "run")
    loaded = Optimizer.load(tmp_path / "run")
    loaded.ask(7)
    assert len({trial.unit.tobytes() for trial in loaded.trials}) == 16


def test_a_file_whose_constraints_do_not_fit_is_refused(tmp_path, monkeypatch):
    optimizer = Optimizer(MIXED, budget=9, method="random", seed=5, n_constraints=2)
    advance(optimizer, 3)
    # As another program might have written it: the number of constraints contradicts the columns.
    whole = TrialColumns.of

    def cut(rows, dim, count):
        columns = whole(rows, dim, count)
        return replace(columns, constraints=columns.constraints[:, :1])

    monkeypatch.setattr(TrialColumns, "of", cut)
    optimizer.save(tmp_path / "run")
    with pytest.raises(StoreError, match="has 1 constraints, the run has 2"):
        Optimizer.load(tmp_path / "run")
