"""Every example runs, on a small budget, and says something."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parent.parent / "examples"
FILES = sorted(path for path in EXAMPLES.glob("*.py") if path.stem != "plot_run")
BUDGET = "24"


def run(arguments, folder):
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "PYTHONWARNINGS": "error"}
    done = subprocess.run(
        [sys.executable, *arguments], cwd=folder, env=environment, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_example(path, tmp_path):
    assert run([str(path), BUDGET], tmp_path).strip()


def test_plot_run(tmp_path):
    run([str(EXAMPLES / "plot_run.py"), "--dim", "20", "--budget", "24", "--output", "run.png"], tmp_path)
    assert (tmp_path / "run.png").stat().st_size > 10_000


def test_beam_from_the_command_line(tmp_path):
    beam = EXAMPLES / "beam"
    command = f"{sys.executable} {beam / 'simulate.py'} {{input}} {{output}}"
    options = ["--budget", "22", "--seed", "0", "--no-store", "--workdir", "work", "--quiet"]
    space = str(beam / "space.toml")
    out = run(["-m", "boids", "run", "--command", command, "--space", space, *options], tmp_path)
    assert "best feasible value" in out or "no feasible point" in out.lower()


def test_every_example_is_in_the_list():
    listed = (EXAMPLES / "README.md").read_text()
    for name in [*(path.name for path in EXAMPLES.glob("*.py")), "beam/README.md"]:
        assert f"]({name})" in listed, name
