"""A run that is kept in a file: the same script after a crash goes on where it stopped, and loses nothing.

python examples/kept_run.py [evaluations]
"""

import sys
import tempfile
from pathlib import Path

import boids

BUDGET = int(sys.argv[1]) if len(sys.argv) > 1 else 60
calls = 0


def simulate(x):
    """Return the squared distance to the best point; be interrupted once."""
    global calls
    calls += 1
    if calls == BUDGET // 2:
        raise KeyboardInterrupt  # stands for a power cut, kill -9, or Ctrl-C
    return float(((x - 0.3) ** 2).sum())


def carry_on(store):
    """What a script of your own would be: begins the run, goes on with it, or returns its result if it is finished."""
    return boids.minimize(simulate, [(-1, 1)] * 30, BUDGET, seed=0, store=store, run_id="wing")


def main():
    """Run the example."""
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder, "runs.db")
        print("first: ", carry_on(store).message)
        print("second:", carry_on(store).message)
        print("third: ", carry_on(store).message, f"({calls} calls in all)")

        for run in boids.Store(store).runs():
            print(run.id, run.method, f"{run.nfev} of {run.budget}", run.status, f"best {run.fun:.4f}")
        result = boids.Result.load(store, "wing")
        repeated = [trial.id for trial in result.trials if trial.attempts > 1]
        print("begun more than once:", repeated)


if __name__ == "__main__":
    main()
