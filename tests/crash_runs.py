"""Kill a run with SIGKILL at random moments, take it up again each time, and see that nothing is lost.

    python tests/crash_runs.py --kills 50
    python tests/crash_runs.py --kills 1000 --workers 2

What must hold after every kill: each outcome that was told is in the store with its value, and no evaluation was begun
more often than the store says. When a run has come to its end it equals one that was never interrupted, bit for bit.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import boids
from boids.algorithms import Boids
from boids.blocks.nsga2 import NSGA2
from boids.store import Store

DIM, BUDGET, RUN = 12, 40, "run"
QUICK = Boids(
    n_init=6,
    particles=6,
    search=NSGA2(population=8, offspring=8, generations=4),
    bandit_candidates=40,
    path_features=32,
)
METHODS = {"boids": QUICK, "random": "random"}


@dataclass
class Report:
    """What happened.

    Attributes
    ----------
    kills, ends
        How often a run was killed, and how many runs came to their end.
    repeated
        How many evaluations were begun more than once.
    too_early
        How many kills came before there was a store.
    """

    kills: int = 0
    ends: int = 0
    repeated: int = 0
    too_early: int = 0


def log(folder: Path, name: str, *facts: object) -> None:
    """Append a line to a log in one piece, so that a kill leaves a whole line or none."""
    handle = os.open(folder / name, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    try:
        os.write(handle, (json.dumps(facts) + "\n").encode())
    finally:
        os.close(handle)


def entries(path: Path) -> list[list]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def objective(folder: Path):
    def fun(x):
        point = x.tobytes().hex()
        log(folder, "begun", point)
        time.sleep(0.05 * abs(float(x[0])))
        if x[1] > 0.8:
            raise ArithmeticError("too much")
        return float(((x - 0.3) ** 2).sum())

    return fun


def carry_out(folder: Path, method: str, workers: int, seed: int) -> boids.Result:
    """Begin the run or go on with it, until its end."""

    def told(optimizer, trial):
        log(folder, "told", trial.id, trial.x.tobytes().hex(), trial.value)

    return boids.minimize(
        objective(folder), [(-1, 1)] * DIM, BUDGET, method=METHODS[method], seed=seed, n_workers=workers,
        store=folder / "runs.db", run_id=RUN, callback=told,
    )  # fmt: skip


def trace(folder: Path) -> list[tuple]:
    return [
        (row.number, row.unit.tobytes(), row.state, row.value, row.error, json.dumps(row.info), row.asked, row.told)
        for row in Store(folder / "runs.db").read(RUN).rows
    ]


def check(folder: Path) -> int:
    """Compare the store with what the run itself has logged, and return how many evaluations were begun again."""
    rows = {row.number: row for row in Store(folder / "runs.db").read(RUN).rows}
    for number, _, value in entries(folder / "told"):
        assert rows[number].told is not None, f"the outcome of trial {number} is lost"
        assert rows[number].value == value, f"trial {number} has another value"
    begun = Counter(point for (point,) in entries(folder / "begun"))
    space = boids.Space([(-1, 1)] * DIM)
    for row in rows.values():
        times = begun.pop(space.decode(row.unit).tobytes().hex(), 0)
        assert times <= row.attempts, f"trial {row.number} was begun {times} times, but marked {row.attempts}"
    assert not begun, "something was evaluated of which the store does not know"
    return sum(row.attempts > 1 for row in rows.values())


def crash(kills: int, *, method: str = "boids", workers: int = 1, seed: int = 0, longest: float = 3.0) -> Report:
    """Kill runs so many times, each at a random moment within `longest` seconds, and check everything."""
    moments, report = random.Random(seed), Report()
    with tempfile.TemporaryDirectory() as base:
        whole = Path(base) / "whole"
        whole.mkdir()
        carry_out(whole, method, workers, seed)
        expected = trace(whole)
        while report.kills < kills:
            folder = Path(base) / f"broken{report.ends}"
            folder.mkdir()
            while _carried_on(folder, method, workers, seed, moments, longest, kills - report.kills):
                report.kills += 1
                if (folder / "runs.db").exists() and any(each.id == RUN for each in Store(folder / "runs.db").runs()):
                    check(folder)
                else:
                    report.too_early += 1
            report.repeated += check(folder)
            assert trace(folder) == expected, "the run differs from the one that was never interrupted"
            report.ends += 1
    return report


def _carried_on(
    folder: Path, method: str, workers: int, seed: int, moments: random.Random, longest: float, left: int
) -> bool:
    """Carry a run on in another process, and return whether that was killed before its end."""
    command = [sys.executable, __file__, "--child", str(folder), "--method", method]
    child = subprocess.Popen([*command, "--workers", str(workers), "--seed", str(seed)], cwd=folder)
    try:
        code = child.wait(timeout=moments.uniform(0.0, longest) if left > 0 else 600.0)
    except subprocess.TimeoutExpired:
        child.send_signal(signal.SIGKILL)
        child.wait()
        if workers > 1:
            time.sleep(0.1)  # workers notice that their driver is gone, and are not to log any more
        return True
    assert code == 0, f"the run ended with the exit code {code}"
    return False


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--method", choices=METHODS, default="boids")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--longest", type=float, default=3.0, help="seconds to the latest moment of a kill")
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child is not None:
        carry_out(given.child, given.method, given.workers, given.seed)
        return
    begun = time.monotonic()
    report = crash(given.kills, method=given.method, workers=given.workers, seed=given.seed, longest=given.longest)
    print(
        f"{report.kills} kills, {report.ends} runs came to their end as if never interrupted, nothing lost; "
        f"{report.repeated} evaluations were begun more than once, all marked; {report.too_early} kills came before "
        f"there was a run; {time.monotonic() - begun:.0f} s"
    )


if __name__ == "__main__":
    main()
