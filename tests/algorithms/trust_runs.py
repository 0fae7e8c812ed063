"""What the tests of TuRBO, BAxUS and standard BO have in common: runs through the shell, whatever happens in them."""

import numpy as np
from desk import sphere

from boids import Optimizer

#: Few candidates and features, so that the tests spend their time on what they test.
SMALL = {"candidates_per_dim": 20, "max_candidates": 150, "path_features": 64}


def optimise(method, dim=5, budget=30, seed=0, objective=sphere, **options):
    """Run to the end, one evaluation at a time, and return the optimizer."""
    optimizer = Optimizer([(-1.0, 1.0)] * dim, budget=budget, method=method, seed=seed, **options)
    while optimizer.remaining:
        trial = optimizer.ask()
        optimizer.tell(trial, objective(trial.unit))
    return optimizer


def trace(optimizer):
    return np.array([trial.unit for trial in optimizer.trials])


def check_resume(method, tmp_path, dim=5, budget=26, half=13):
    """A run that is saved in the middle, with proposals under way, goes on bit for bit as if it had not been."""
    runs = []
    for saved in (False, True):
        optimizer = Optimizer([(-1.0, 1.0)] * dim, budget=budget, method=method, seed=3)
        for _ in range(half):
            trial = optimizer.ask()
            optimizer.tell(trial, sphere(trial.unit))
        waiting = optimizer.ask(3)
        if saved:
            optimizer.save(tmp_path / "run")
            optimizer = Optimizer.load(tmp_path / "run")
            waiting = list(optimizer.pending)
        for trial in reversed(waiting):
            optimizer.tell(trial, sphere(trial.unit))
        while optimizer.remaining:
            trial = optimizer.ask()
            optimizer.tell(trial, sphere(trial.unit))
        runs.append(trace(optimizer))
    np.testing.assert_array_equal(*runs)


def check_disorder(method, dim=4, budget=40, seed=0):
    """Batches told in any order, some late, every fifth a failure: exactly the budget, and never twice the same."""
    rng = np.random.default_rng(seed)
    optimizer = Optimizer([(-1.0, 1.0)] * dim, budget=budget, method=method, seed=seed)
    waiting = []
    while optimizer.remaining or waiting:
        if optimizer.remaining:
            waiting.extend(optimizer.ask(int(rng.integers(1, 6))))
        rng.shuffle(waiting)
        for _ in range(int(rng.integers(1, len(waiting) + 1))):
            trial = waiting.pop()
            if trial.id % 5 == 0:
                optimizer.tell(trial, None, error="broken")
            else:
                optimizer.tell(trial, sphere(trial.unit))
    units = trace(optimizer)
    assert len(units) == budget
    assert len(np.unique(units, axis=0)) == budget
    assert np.abs(units).max() <= 1.0
    return optimizer


def check_everything_fails(method, dim=3, budget=15):
    optimizer = Optimizer([(-1.0, 1.0)] * dim, budget=budget, method=method, seed=0)
    while optimizer.remaining:
        optimizer.tell(optimizer.ask(), float("nan"))
    assert optimizer.best is None


def check_guests(method, dim=6, budget=16):
    """Points of the user's, before and during the run, and earlier trials."""
    x0 = np.repeat([[0.25], [-0.5]], dim, axis=1)
    optimizer = Optimizer([(-1.0, 1.0)] * dim, budget=budget, method=method, seed=0, x0=x0)
    earlier = np.random.default_rng(0).uniform(-1.0, 1.0, (5, dim))
    optimizer.add_trials([*((u, sphere(u)) for u in earlier[:4]), (earlier[4], float("nan"))])
    while optimizer.remaining:
        trial = optimizer.ask()
        optimizer.tell(trial, sphere(trial.unit))
    assert optimizer.n_told == budget
    return optimizer


def better_than_random(method, dim=10, budget=50, seeds=5):
    """On a shifted sphere in ten dimensions every one of five runs beats the median of random search.

    A method no better than random search passes with the probability 1/32.
    """
    ours = [optimise(method, dim, budget, seed).best.value for seed in range(seeds)]
    rng = np.random.default_rng(0)
    random = np.median([min(sphere(u) for u in rng.uniform(-1.0, 1.0, (budget, dim))) for _ in range(50)])
    assert max(ours) < random
    return ours
