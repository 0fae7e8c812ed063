"""What a proposal costs under Optuna, against the same method in `boids.Optimizer`: processor time per trial.

    python benchmarks/optuna_overhead.py --dim 500 --trials 200

Three numbers: the Optimizer's ask and tell; the sampler's own time, which is what Optuna spends inside `BoidsSampler`;
and all of Optuna's time, which at many parameters goes mostly to its own books. The objective costs next to nothing.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np
import optuna

import boids
from boids.integrations.optuna import BoidsSampler

#: What Optuna calls; `before_trial` and so on are part of what a sampler costs.
CALLS = ("infer_relative_search_space", "sample_relative", "sample_independent", "before_trial", "after_trial")


def sphere(values: Any) -> float:
    """Return a value with its optimum beside the centre."""
    return float(((np.fromiter(values, dtype=float) - 0.2) ** 2).sum())


def native(method: str, dim: int, trials: int, seed: int) -> float:
    """Return seconds per trial of ask and tell."""
    begun = time.process_time()
    optimizer = boids.Optimizer([(-1.0, 1.0)] * dim, budget=trials, method=method, seed=seed)
    evaluating = 0.0
    while optimizer.remaining:
        trial = optimizer.ask()
        paused = time.process_time()
        value = sphere(trial.x)
        evaluating += time.process_time() - paused
        optimizer.tell(trial, value)
    return (time.process_time() - begun - evaluating) / trials


def under_optuna(method: str, dim: int, trials: int, seed: int, known: bool) -> tuple[float, float]:
    """Return seconds per trial inside the sampler, and of everything.

    Parameters
    ----------
    known
        Whether the sampler knows the search space beforehand; otherwise its first trial is drawn at random.
    """
    begun = time.process_time()
    every = optuna.distributions.FloatDistribution(-1.0, 1.0)
    space = {f"x{i}": every for i in range(dim)}
    sampler = BoidsSampler(method, seed=seed, budget=trials, search_space=space if known else None)
    inside = 0.0

    def timed(call: Any) -> Any:
        def wrapped(*arguments: Any) -> Any:
            nonlocal inside
            entered = time.process_time()
            try:
                return call(*arguments)
            finally:
                inside += time.process_time() - entered

        return wrapped

    for name in CALLS:
        setattr(sampler, name, timed(getattr(sampler, name)))
    study = optuna.create_study(sampler=sampler)
    study.optimize(lambda trial: sphere([trial.suggest_float(f"x{i}", -1.0, 1.0) for i in range(dim)]), n_trials=trials)
    return inside / trials, (time.process_time() - begun) / trials


def main() -> None:
    """Print a line per seed, and the means."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--method", default="boids")
    parser.add_argument("--dim", type=int, default=500)
    parser.add_argument("--trials", type=int, default=200)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--known", action="store_true", help="hand the search space to the sampler beforehand")
    options = parser.parse_args()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    rows = []
    print("seed  Optimizer  sampler  ratio  all of Optuna   (ms per trial)")
    for seed in range(options.seeds):
        own = native(options.method, options.dim, options.trials, seed)
        inside, everything = under_optuna(options.method, options.dim, options.trials, seed, options.known)
        rows.append((own, inside, everything))
        print(f"{seed:4d}  {1e3 * own:9.1f}  {1e3 * inside:7.1f}  {inside / own:5.2f}  {1e3 * everything:13.1f}")
    own, inside, everything = np.mean(rows, axis=0)
    print(f"mean  {1e3 * own:9.1f}  {1e3 * inside:7.1f}  {inside / own:5.2f}  {1e3 * everything:13.1f}")


if __name__ == "__main__":
    main()
