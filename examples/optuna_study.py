"""An Optuna study whose trials BOIDS proposes: mixed parameters, a constraint, and a break after which it goes on.

python examples/optuna_study.py [trials]        (needs `pip install "boids-opt[optuna]"`)
"""

import sys
import tempfile
from pathlib import Path

import optuna

from boids.integrations.optuna import BoidsSampler

TRIALS = int(sys.argv[1]) if len(sys.argv) > 1 else 60


def objective(trial):
    """Return the error of a made-up network with 20 weights; remember how long it would take."""
    layers = trial.suggest_int("layers", 1, 8)
    width = trial.suggest_int("width", 16, 512, log=True)
    rate = trial.suggest_float("rate", 1e-5, 1e-1, log=True)
    dropout = trial.suggest_float("dropout", 0.0, 0.5, step=0.05)
    activation = trial.suggest_categorical("activation", ["relu", "tanh", "gelu"])
    weights = [trial.suggest_float(f"weight{i}", -1.0, 1.0) for i in range(20)]
    trial.set_user_attr("hours", layers * width / 1000)
    error = 0.1 * abs(layers - 4) + abs(rate - 0.003) + dropout + (0.0 if activation == "gelu" else 0.2)
    return error + sum((weight - 0.3) ** 2 for weight in weights)


def at_most_one_hour(trial):
    """Return a number that is ≤ 0 where the trial is feasible."""
    return [trial.user_attrs["hours"] - 1.0]


def carry_on(url, trials):
    """What a script of your own would be: begins the study or goes on with it, alone or beside others."""
    sampler = BoidsSampler(seed=0, budget=TRIALS, constraints_func=at_most_one_hour)
    study = optuna.create_study(study_name="network", storage=url, sampler=sampler, load_if_exists=True)
    study.optimize(objective, n_trials=trials)
    return study


def main():
    """Run the example."""
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    with tempfile.TemporaryDirectory() as folder:
        url = f"sqlite:///{Path(folder, 'study.db')}"
        carry_on(url, TRIALS // 2)
        study = carry_on(url, TRIALS - TRIALS // 2)  # as a new process would
        print(f"{len(study.trials)} trials, the best feasible value is {study.best_value:.3f}")
        print({name: value for name, value in study.best_params.items() if not name.startswith("weight")})


if __name__ == "__main__":
    main()
