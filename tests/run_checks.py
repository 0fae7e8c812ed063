"""What the tests of kept and parallel runs share: objectives, a journal that fails, workers that follow a script."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from boids import Bool, Categorical, Float, Int, Space, StoreError
from boids.algorithms import Boids
from boids.blocks.nsga2 import NSGA2
from boids.journal import Snapshot, TrialRow
from boids.workers import Evaluation

#: Everything happens within few trials: design, subspace, splits, restarts.
QUICK = Boids(
    n_init=4,
    particles=4,
    search=NSGA2(population=8, offspring=8, generations=2),
    bandit_candidates=40,
    max_candidates=16,
    path_features=24,
    failure_tolerance="released",
    sweep_from=None,
    termination_max=2,
)
MIXED = Space(
    {
        "rate": Float(1e-4, 1, log=True),
        "n": Int(1, 30),
        "act": Categorical(["a", "b", "c"]),
        "on": Bool(),
        "w": Float(-1, 1, shape=3),
    }
)
#: Arguments of runs that between them have everything.
CASES = {
    "plain": {"space": [(-1.0, 2.0)] * 5},
    "mixed, constrained, failing": {"space": MIXED, "n_constraints": 2, "linear_constraints": ["w[0] + w[1] <= 0.4"]},
    "noisy": {"space": MIXED, "noisy": True, "n_constraints": 1},
}


def sphere(x: Any) -> float:
    return float(np.sum((np.asarray(x) - 0.3) ** 2))


def outcome(optimizer: Any, trial: Any) -> tuple[Any, dict[str, Any]]:
    """Return value and further arguments of `tell`: they depend on the trial alone, failures and noise included."""
    chance = np.random.default_rng([7, trial.id])
    if chance.random() < 0.2:
        return None, {"error": f"crash {trial.id}"}
    more: dict[str, Any] = {}
    value = float(np.sum(trial.unit**2))
    if optimizer.noisy:
        value += 0.3 * float(chance.normal())
        more["noise_variance"] = 0.09 if trial.id % 3 else None
    if optimizer.n_constraints:
        more["constraints"] = [float(trial.unit[i]) - 0.5 for i in range(optimizer.n_constraints)]
    return value, more


def facts(optimizer: Any) -> Any:
    """Return all that a run says of itself, bit for bit, but for the clock."""
    known = {name: value for name, value in optimizer.diagnostics.items() if name != "times"}
    return [shape(trial) for trial in optimizer.trials], json.dumps(known), optimizer.remaining


def shape(trial: Any) -> Any:
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


def row_facts(row: TrialRow) -> Any:
    """Return a row in a form that can be compared."""
    memo = {name: np.asarray(value).tolist() for name, value in sorted(row.memo.items())}
    aimed = None if row.aimed is None else row.aimed.tobytes()
    others = [getattr(row, name) for name in TrialRow.__slots__ if name not in ("unit", "aimed", "memo", "info")]
    return row.unit.tobytes(), aimed, json.dumps(memo), json.dumps(row.info), others


@dataclass
class FakeJournal:
    """Keeps what is written; the writes whose places are in `fails` raise instead."""

    fails: Callable[[int], bool] = lambda place: False
    rows: dict[int, TrialRow] = field(default_factory=dict)
    snapshot: Snapshot | None = None
    attempts: int = 0
    before_return: Callable[[], None] = lambda: None

    def write(self, rows: Sequence[TrialRow], snapshot: Snapshot) -> None:
        place, self.attempts = self.attempts, self.attempts + 1
        if self.fails(place):
            raise StoreError("The disk is full.")
        self.rows.update({row.number: row for row in rows})
        self.snapshot = snapshot
        self.before_return()

    def close(self) -> None:
        pass


class FakeWorkers:
    """Workers that end evaluations in the order that `choose` says.

    Parameters
    ----------
    choose
        Gets the keys under way, oldest first, and returns those that end now; or raises.
    loses
        Whether the k-th evaluation of a key, from 0, is lost.
    sizes
        How many there are, one number for each wait; the last one holds on.
    """

    seconds = 1.0  # that an evaluation is said to take

    def __init__(
        self,
        fun: Callable[[Any], Any],
        choose: Callable[[list[int]], Sequence[int]] = lambda keys: keys[:1],
        *,
        loses: Callable[[int, int], bool] = lambda key, time: False,
        sizes: Sequence[int] = (3,),
    ) -> None:
        self.fun, self.choose, self.loses, self.sizes = fun, choose, loses, list(sizes)
        self.under_way: dict[int, Any] = {}
        self.begun: list[int] = []
        self.ended: list[int] = []
        self.most = 0
        self.cancelled = 0
        self.waits = 0

    @property
    def size(self) -> int:
        return self.sizes[min(self.waits, len(self.sizes) - 1)]

    def submit(self, key: int, params: Any) -> None:
        assert key not in self.under_way
        self.under_way[key] = params
        self.begun.append(key)
        self.most = max(self.most, len(self.under_way))

    def wait(self, timeout: float | None = None) -> list[Evaluation]:
        if not self.under_way:
            return []
        self.waits += 1
        found = []
        for key in self.choose(list(self.under_way)):
            params = self.under_way.pop(key)
            self.ended.append(key)
            if self.loses(key, self.begun.count(key) - 1):
                found.append(Evaluation(key, error="The worker vanished.", lost=True))
                continue
            try:
                found.append(Evaluation(key, self.fun(params), seconds=self.seconds))
            except Exception as error:
                found.append(Evaluation(key, error=f"{type(error).__name__}: {error}"))
        return found

    def cancel(self) -> None:
        self.cancelled += 1
        self.under_way.clear()

    def close(self) -> None:
        self.cancel()

    def __enter__(self) -> FakeWorkers:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def same_float(one: float | None, other: float | None) -> bool:
    """Whether two numbers are the same, nan included."""
    return one == other or (one is not None and other is not None and math.isnan(one) and math.isnan(other))
