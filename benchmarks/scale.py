"""Very many parameters, very many trials: processor time and peak memory of a proposal after `add_trials`.

Every case begins with n earlier trials of an objective with D parameters, handed over by `Optimizer.add_trials`. Then
trials are asked for and told until some of them have come from the model. With the default settings the model is in a
subspace at that time; the worst case, which a long run comes to in the end, is the input space itself with all data
(`embedding=False`).
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import boids
from benchmarks.machine import Numbers, calibration, in_own_process, peak_megabytes
from benchmarks.text import markdown
from boids.algorithms import Boids

SIZES = [(10_000, 1_000), (1_000, 10_000)]
SEARCHES: dict[str, dict[str, Any]] = {
    "climb": {"line_search": "climb", "acquisition": "logei"},
    "nsga2": {"line_search": "nsga2", "acquisition": "ts"},
}
SPACES = {"input": False, "subspace": True}
PROPOSALS = 3


def bowl(units: np.ndarray) -> np.ndarray:
    """Return a bowl in 30 of the parameters, with ripples, and a slight slope in the others."""
    active = units[:, :30] - 0.3
    return np.asarray(np.sum(active**2 - 0.1 * np.cos(9.0 * active), axis=1) + 0.1 * units[:, 30:].mean(axis=1))


def case(dim: int, count: int, search: str, space: str) -> dict[str, Any]:
    """Measure one case; meant for a process of its own, whose peak memory it reports."""
    method = Boids(embedding=SPACES[space], sweep_from=None, **SEARCHES[search])
    optimizer = boids.Optimizer([(-1, 1)] * dim, budget=1000, method=method, seed=0)
    units = np.random.default_rng(0).uniform(-1, 1, (count, dim))
    before = calibration()
    begun = time.process_time()
    optimizer.add_trials(list(zip(units, bowl(units), strict=True)))
    adding, seconds = time.process_time() - begun, list[float]()
    while len(seconds) < PROPOSALS:
        begun = time.process_time()
        trial = optimizer.ask()
        if trial.info["phase"] == "line":
            seconds.append(time.process_time() - begun)
        optimizer.tell(trial, float(bowl(trial.unit[None])[0]))
    peak = peak_megabytes()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "run.npz"
        begun = time.process_time()
        optimizer.save(file)
        saving = time.process_time() - begun
        begun = time.process_time()
        boids.Optimizer.load(file)
        loading = time.process_time() - begun
    return {
        "dim": dim,
        "count": count,
        "search": search,
        "space": space,
        "adding": adding,
        "first": seconds[0],
        "others": max(seconds[1:]),
        "megabytes": peak,
        "saving": saving,
        "loading": loading,
        "kernel": 0.5 * (before + calibration()),
    }


def measure(tiny: bool = False) -> dict[str, Any]:
    """Measure every case in a process of its own."""
    sizes = [(40, 50)] if tiny else SIZES
    return {
        "cases": [
            in_own_process(case, dim, count, search, space)
            for search in SEARCHES
            for space in SPACES
            for dim, count in sizes
        ]
    }


def numbers(result: dict[str, Any]) -> Numbers:
    """Return what is compared with the baseline."""
    return {
        f"D = {each['dim']}, n = {each['count']}, {each['search']}, {_where(each)}": each["others"] / each["kernel"]
        for each in result["cases"]
    }


def section(result: dict[str, Any]) -> str:
    """Return the table."""
    head = ["D", "n", "search", "model in", "`add_trials`", "first proposal", "others", "peak memory", "save", "load"]
    rows = [
        [
            f"{each['dim']:,}",
            f"{each['count']:,}",
            each["search"],
            _where(each),
            f"{each['adding']:.1f} s",
            f"{each['first']:.2f} s",
            f"**{each['others']:.2f} s**",
            f"{each['megabytes']:.0f} MB",
            f"{each['saving']:.1f} s",
            f"{each['loading']:.1f} s",
            f"{1000 * each['kernel']:.0f} ms",
        ]
        for each in result["cases"]
    ]
    return markdown([*head, "kernel"], rows)


def _where(each: dict[str, Any]) -> str:
    return "the input space" if each["space"] == "input" else "the subspace"
