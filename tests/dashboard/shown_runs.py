"""Runs to look at: made up in a moment, or carried out by another process."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np

import boids
from boids import packing, run_file
from boids.algorithms import METHODS
from boids.journal import Snapshot, TrialRow
from boids.setup import Setup
from boids.store import RUNNING, RunHead, Store

BEGUN = 1.79e9


def made_run(
    path, run_id="made", *, dim=10, count=40, constraints=0, method="boids", pending=0, status="budget", seed=0
):
    """Write a run with the facts that BOIDS records into a store, without any optimiser, however large it is."""
    space = boids.Space([(-5.0, 10.0)] * dim)
    setup = Setup.of(space, max(count, 1) + 10, METHODS[method](), seed, False, constraints, (), None, None)
    rng = np.random.default_rng(seed)
    rows = [_row(number, rng, dim, constraints) for number in range(count)]
    done = [row.value for row in rows if row.state == "done" and (not row.constraints or max(row.constraints) <= 0)]
    arrays: list = []
    head = RunHead(
        run_id, BEGUN, method, "made-up", dim, setup.budget, seed,
        packing.pack(run_file.encode_setup(setup, arrays), arrays),
    )  # fmt: skip
    snapshot = Snapshot(
        b"no state", count, count, sum(row.state == "failed" for row in rows), 0, min(done, default=None),
        True if done else None, False, {"fit": 3.0, "select": 1.0, "optimise": 2.0, "evaluate": 9.0, "other": 0.5},
    )  # fmt: skip
    with Store(path).create(head, snapshot, rows=rows) as writer:
        if status != RUNNING:
            writer.set_status(status)
    return head


def _row(number, rng, dim, constraints):
    unit = rng.uniform(-1, 1, dim)
    is_design = number < 20
    failed = number % 17 == 16
    value = float((unit[: min(dim, 3)] ** 2).sum() + 5.0 / (1 + number))
    dims = min(dim, 4 ** (1 + number // 60))
    info = {"phase": "design" if is_design else "line", "line": -1 if is_design else number * 7 % 20, "dim": dims}
    info |= {"K": number % 9, "restarts": 0} | ({} if is_design else {"reward": 2.0 / (1 + number % 13)})
    return TrialRow(
        number=number, unit=unit, aimed=None, memo={}, info=info,
        state="failed" if failed else "done",
        value=None if failed else value,
        constraints=tuple(rng.normal(-0.5, 0.5, constraints)) if constraints and not failed else None,
        noise_variance=None, error="the mesh could not be made" if failed else None,
        started=BEGUN + number, ended=BEGUN + number + 0.8, attempts=1, asked=2 * number, told=2 * number + 1,
    )  # fmt: skip


def carry_out(folder: Path, *, budget=400, pause=0.1, method="boids", dim=20, store="boids-runs.db"):
    """Start a process that makes an evaluation every now and then."""
    (folder / "slowly.py").write_text(
        "import time\n\n\ndef sphere(x):\n"
        f"    time.sleep({pause})\n"
        "    if x[0] > 8:\n        raise RuntimeError('x[0] is too large')\n"
        "    return float(((x - 1) ** 2).sum())\n"
    )
    command = [
        sys.executable, "-m", "boids", "run", "slowly:sphere", "--dim", str(dim), "--low", "-5", "--high", "10",
        "--budget", str(budget), "--method", method, "--seed", "0", "--quiet", "--store", store,
    ]  # fmt: skip
    return subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
