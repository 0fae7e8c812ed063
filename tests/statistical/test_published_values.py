"""A small part of the comparison with published averages: the quick methods, few seeds, the whole of it by hand.

`experiments/regression.toml` says what is run, and `docs/methods/regression.md` has the whole table. The seeds are
fixed. With others, a faithful method would fail one of these tests with a probability of about 1 in 1000: means are
compared at 4 combined standard errors, which for so few seeds is a t-test at about that level.
"""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

from boids.bench.carry_out import carry_out
from boids.bench.job import jobs_of
from boids.bench.spec import Spec

EXPERIMENTS = Path(__file__).parents[2] / "experiments"


@pytest.fixture
def table(monkeypatch):
    """The program that makes the table, as a module."""
    monkeypatch.syspath_prepend(str(EXPERIMENTS))
    spec = importlib.util.spec_from_file_location("regression_table", EXPERIMENTS / "regression_table.py")
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "regression_table", module)  # where its dataclass looks for its annotations
    spec.loader.exec_module(module)
    return module


def run(folder, problem, method, seeds):
    for job in jobs_of(Spec.read(EXPERIMENTS / "regression.toml")):
        if (job.problem.label, job.method.label) == (problem, method) and job.repetition < seeds:
            carry_out(job, folder)


@pytest.mark.parametrize(
    ("problem", "method", "seeds"),
    [
        ("hartmann-100", "Sobol", 20),
        ("branin-100", "CMA-ES (centre, 1/4)", 10),
        ("ackley-100", "PSO", 4),
        ("ackley-100", "random search", 4),
        ("hartmann-100 (positions 60-65)", "LineBO coordinate, original", 4),
    ],
)
def test_means(tmp_path, table, problem, method, seeds):
    (published,) = (each for each in table.PUBLISHED if (each.problem, each.method) == (problem, method))
    run(tmp_path, problem, method, seeds)
    values = np.array(list(table.best_at(tmp_path, published).values()))
    assert len(values) == seeds
    error = np.hypot(published.error, values.std(ddof=1) / np.sqrt(seeds))
    assert abs(values.mean() - published.mean) < 4.0 * error


def test_hesbo_finds_the_optimum_of_its_subspace(tmp_path, table):
    """Branin in a hashed subspace of 4: 0.398, or 0.925 or 17.178 if the two coordinates share a bin."""
    (published,) = (each for each in table.PUBLISHED if each.method == "HeSBO (d=4)")
    run(tmp_path, published.problem, published.method, 3)
    best = np.array(list(table.best_at(tmp_path, published).values()))
    assert np.abs(best[:, None] - [0.39789, 0.92482, 17.17809]).min(axis=1).max() < 0.02
