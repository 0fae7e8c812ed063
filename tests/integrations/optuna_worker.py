"""One process of a study that others carry out as well: `python optuna_worker.py URL STUDY SEED TRIALS DIM`."""

import sys
from contextlib import contextmanager

import optuna
from sqlalchemy.event import listen

from boids.integrations.optuna import BoidsSampler


def main(url, name, seed, trials, dim):
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    with opened(url) as storage:
        study = optuna.load_study(study_name=name, storage=storage, sampler=BoidsSampler(seed=seed, budget=40))
        study.optimize(lambda trial: objective(trial, dim), n_trials=trials)


@contextmanager
def opened(url):
    """The storage at an address; a file that need not survive a power cut, which would take most of a test's time."""
    storage = optuna.storages.RDBStorage(
        url, engine_kwargs={"connect_args": {"timeout": 60}} if "sqlite" in url else {}
    )
    if "sqlite" in url:
        listen(storage.engine, "connect", lambda connection, _: connection.execute("PRAGMA synchronous = OFF"))
        storage.engine.dispose()
    try:
        yield storage
    finally:
        storage.remove_session()
        storage.engine.dispose()


def objective(trial, dim):
    return sum((trial.suggest_float(f"x{i}", -1.0, 1.0) - 0.3) ** 2 for i in range(dim))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], *map(int, sys.argv[3:]))
