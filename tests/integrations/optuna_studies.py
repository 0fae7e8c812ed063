"""Studies for the tests of the sampler, and what to look at in them."""

import optuna
import pytest

from boids.integrations.optuna import BoidsSampler


@pytest.fixture(autouse=True)
def quiet():
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    yield
    optuna.logging.set_verbosity(before)


def box(trial, dim=12):
    """A function of real numbers."""
    return sum((trial.suggest_float(f"x{i}", -1.0, 1.0) - 0.3) ** 2 for i in range(dim))


def mixed(trial):
    """A function of all kinds of parameters."""
    value = abs(trial.suggest_int("layers", 1, 9) - 4) + abs(trial.suggest_int("width", 8, 512, log=True) - 100) / 100
    value += abs(trial.suggest_int("even", 0, 20, step=2) - 6) + trial.suggest_float("grid", 0.0, 1.0, step=0.05)
    value += abs(trial.suggest_float("rate", 1e-5, 1.0, log=True) - 0.01)
    value += {"a": 0.0, "b": 1.0, "c": 2.0}[trial.suggest_categorical("kind", ["a", "b", "c"])]
    value += 0.0 if trial.suggest_categorical("on", [True, False]) else 1.0
    return value + sum(trial.suggest_float(f"w{i}", -2.0, 2.0) ** 2 for i in range(5))


def study_of(objective, n_trials, sampler=None, **options):
    study = optuna.create_study(sampler=sampler or BoidsSampler(seed=1, budget=40), **options)
    study.optimize(objective, n_trials=n_trials)
    return study


def params_of(study):
    return [trial.params for trial in study.get_trials()]


def course_of(study):
    """What the study's sampler knows after its latest proposal."""
    return study.sampler._course
