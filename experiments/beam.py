"""An external program from the command line: the beam of examples/beam, 60 mixed parameters, a fifth of them crashing.

    python experiments/beam.py --workers 2

Runs `boids run --command …` with each method, for the same numbers of evaluations and seeds. Results go to beam.jsonl
beside this file, one line per finished run; runs that are there already are not repeated. `--table` prints what is on
file.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from common import Line, Study, markdown

EXAMPLE = Path(__file__).parent.parent / "examples" / "beam"
BUDGET = 200
SEEDS = range(5)
METHODS = ("boids", "random")


def run(method: str, seed: int) -> Line:
    """Run one job and return its line."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "boids", "run", "--space", "space.toml", "--method", method]
        command += ["--command", "python simulate.py {input} {output}", "--workdir", folder, "--no-store", "--json"]
        command += ["--budget", str(BUDGET), "--seed", str(seed), "--quiet"]
        done = subprocess.run(command, cwd=EXAMPLE, capture_output=True, text=True, check=True)
    end = json.loads(done.stdout)
    kept = {key: end[key] for key in ("fun", "feasible", "nfev", "failed", "times")}
    return {"method": method, "seed": seed, **kept}


STUDY = Study(Path(__file__).with_suffix(".jsonl"), ("method", "seed"), run)


def table() -> str:
    """Return one row per seed: best feasible cost, and how many evaluations failed."""
    rows = [[str(seed), *(cell(method, seed) for method in METHODS)] for seed in SEEDS]
    return markdown(["seed", *METHODS], rows)


def cell(method: str, seed: int) -> str:
    """Return how a run ended."""
    for line in STUDY.lines(method=method, seed=seed):
        best = f"{line['fun']:.1f}" if line["feasible"] else "nothing feasible"
        return f"{best} ({line['failed']} of {line['nfev']} failed)"
    return "–"


if __name__ == "__main__":
    STUDY.main(__doc__, [(method, seed) for seed in SEEDS for method in METHODS], table, ThreadPoolExecutor)
