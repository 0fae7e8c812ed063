"""What the tests of the command line share: a module of objectives, answers, processes, small searches."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

import boids
from boids.store import Store

#: The bounds of a function of one's own.
BOX = ("--dim", "2", "--low", "-5", "--high", "10")

# A small search, so that the runs of BOIDS itself take a fraction of a second.
QUICK = ("--set", "search.generations=3", "--set", "search.population=20", "--set", "max_candidates=50")

MODULE = '''
import os
import time
from pathlib import Path

print("imported")  # noise on stdout

def sphere(x):
    return float(x @ x)

def rows(x):
    assert x.ndim == 2
    return (x**2).sum(axis=1)

def noisy(x):
    print("from Python")
    os.system("echo from a child")
    os.write(1, b"from C\\\\n")
    return 1.0

def broken(x):
    raise RuntimeError("the solver\\\\ndiverged [/red]")

def touchy(x):
    if x[0] > 0:
        raise RuntimeError("too large")
    return float(x @ x)

def quits(x):
    raise SystemExit(7)

def _calls():
    with open("calls", "a") as file:
        file.write("x")
    return os.path.getsize("calls")

def stops_at_4(x):
    if _calls() == 4:
        raise KeyboardInterrupt
    return float(x @ x)

def sleeps_at_4(x):
    if _calls() == 4:
        time.sleep(60)
    return float(x @ x)

def stops_never(x):
    time.sleep(0.01)
    return float(x @ x)

def swallows(x):
    """Catches Ctrl-C, as some simulators' wrappers do."""
    if _calls() == 4:
        try:
            os.kill(os.getpid(), 2)
            time.sleep(60)
        except BaseException:
            pass
    return float(x @ x)

def reads_the_store(x):
    import subprocess, sys
    shown = subprocess.run([sys.executable, "-m", "boids", "runs", "--json"], capture_output=True, text=True).stdout
    with open("told", "a") as file:
        file.write(shown)
    return float(x @ x)

def waits(x):
    """Says that it has begun, and is done as soon as a file says so."""
    with open("begun", "a") as file:
        file.write(f"{os.getpid()}\\n")
    while not os.path.exists("go"):
        time.sleep(0.01)
    return float(x @ x)

def uneven(x):
    """Takes its time, more or less of it."""
    time.sleep(0.02 * abs(x[0]) % 0.05)
    return float(x @ x)

def constrained(p):
    assert p["low"] <= p["high"]
    return p["low"] + p["count"], [0.5 - p["low"], p["count"] - 5]

def infeasible(x):
    return float(x @ x), [1.0 + x[0] ** 2, -1.0, 0.25]

def columns(p):
    assert p["low"].shape == p["count"].shape
    return p["low"] + p["high"] + p["count"]

def scattered(x):
    return float(x @ x) + 5.0 * (_calls() % 2)

def dies(x):
    print("about to die" if x[0] > 0 else "fine")
    if x[0] > 0:
        os.abort()
    return float(x @ x)

def hangs(x):
    if x[0] > 0:
        time.sleep(60)
    return float(x @ x)

number = 3

class Model:
    class Inner:
        loss = staticmethod(sphere)
'''


SPACE = """
linear_constraints = ["low <= high"]
n_constraints = 2

[parameters]
low = [0, 1]
high = [0, 1]
count = { type = "int", low = 1, high = 9 }
kind = { type = "categorical", choices = ["a", "b; touch pwned", "$(touch pwned)", "-x"] }
weights = { type = "float", low = -1, high = 1, shape = 3 }
"""


@dataclass
class Answer:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        assert self.out.count("\n") == 1, self.out
        return json.loads(self.out, parse_constant=lambda word: pytest.fail(f"{word} is not JSON"))

    @property
    def json_lines(self) -> list[Any]:
        refuse = {"parse_constant": lambda word: pytest.fail(f"{word} is not JSON")}
        return [json.loads(line, **refuse) for line in self.out.splitlines()]


def kept(store: Any = "boids-runs.db", run_id: str | None = None) -> boids.Optimizer:
    """A run in a store, by default the latest one."""
    return boids.Optimizer.stored(store, run_id or ids(store)[-1])[0]


def ids(store: Any = "boids-runs.db") -> list[str]:
    return [run.id for run in Store(store).runs()]


def trace(store: Any = "boids-runs.db", run_id: str | None = None) -> list[Any]:
    """All points and outcomes of a run."""
    return [(trial.unit.tolist(), trial.value, trial.error) for trial in kept(store, run_id).trials]


def without_timeout(store: str, run_id: str | None = None) -> None:
    """Take the time limit off a run that has run out of it."""
    optimizer = boids.Optimizer.resume(store, run_id or ids(store)[-1])
    meta = optimizer.meta
    meta["fields"]["limits"]["fields"]["timeout"] = None
    optimizer.kept.note(meta=meta)
    optimizer.close("timeout")


def start(folder, *arguments: str) -> subprocess.Popen[str]:
    # Under a shell that ignores Ctrl-C in background jobs, its children would ignore it, too.
    code = (
        "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); "
        "from boids.cli import main; sys.exit(main())"
    )
    words = [argument.replace("MODULE", folder.module) for argument in arguments]
    return subprocess.Popen(
        [sys.executable, "-c", code, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def wait_for(process: subprocess.Popen[str], happened: Callable[[], bool]) -> None:
    """Wait until something has happened while a process runs."""
    deadline = time.monotonic() + 50
    while not happened():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.02)
