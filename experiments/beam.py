"""An external program from the command line: the beam of examples/beam, 60 mixed parameters, a fifth of them crashing.

    python experiments/beam.py --workers 2

Runs `boids run --command …` with each method, for the same numbers of evaluations and seeds. Results go to beam.jsonl
beside this file, one line per finished run; runs that are there already are not repeated. `--table` prints what is on
file.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

RESULTS = Path(__file__).with_suffix(".jsonl")
EXAMPLE = Path(__file__).parent.parent / "examples" / "beam"
BUDGET = 200
SEEDS = range(5)
METHODS = ("boids", "random")


def run(method: str, seed: int) -> dict[str, object]:
    """Run one job and return its line."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "boids", "run", "--space", "space.toml", "--method", method]
        command += ["--command", "python simulate.py {input} {output}", "--workdir", folder, "--no-store", "--json"]
        command += ["--budget", str(BUDGET), "--seed", str(seed), "--quiet"]
        done = subprocess.run(command, cwd=EXAMPLE, capture_output=True, text=True, check=True)
    end = json.loads(done.stdout)
    kept = {key: end[key] for key in ("fun", "feasible", "nfev", "failed", "times")}
    return {"method": method, "seed": seed, **kept}


def finished() -> list[dict]:
    """Return the lines on file."""
    return [json.loads(line) for line in RESULTS.read_text().splitlines()] if RESULTS.exists() else []


def table() -> str:
    """Return one row per seed: best feasible cost, and how many evaluations failed."""
    lines = ["| seed | " + " | ".join(METHODS) + " |", "|---|" + "---|" * len(METHODS)]
    for seed in SEEDS:
        cells = []
        for method in METHODS:
            found = [r for r in finished() if (r["method"], r["seed"]) == (method, seed)]
            cells += [_cell(r) for r in found[:1]] or ["–"]
        lines.append(f"| {seed} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _cell(line: dict) -> str:
    best = f"{line['fun']:.1f}" if line["feasible"] else "nothing feasible"
    return f"{best} ({line['failed']} of {line['nfev']} failed)"


def main() -> None:
    """Run what is missing, or print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--table", action="store_true")
    args = parser.parse_args()
    if not args.table:
        done = {(r["method"], r["seed"]) for r in finished()}
        jobs = [(method, seed) for seed in SEEDS for method in METHODS if (method, seed) not in done]
        with ThreadPoolExecutor(args.workers) as pool:
            for line in pool.map(run, *zip(*jobs, strict=True)) if jobs else ():
                with RESULTS.open("a") as file:
                    file.write(json.dumps(line) + "\n")
    print(table())


if __name__ == "__main__":
    main()
