"""Install the built wheel into an empty environment and try it: `python tests/try_wheel.py dist` (part of `make dist`).

Nothing but boids and what it depends on is installed there, and the trial runs in an empty folder, so that neither the
sources nor an optional package can help.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import venv
import zipfile
from pathlib import Path

#: What the wheel must have, besides modules.
FILES = ("boids/py.typed", "boids/problems/_data/", ".dist-info/licenses/LICENSE", ".dist-info/entry_points.txt")
SMOKE = """
import sys
import boids

result = boids.minimize(lambda x: float((x ** 2).sum()), [(-1, 1)] * 30, 10, seed=0)
assert result.nfev == 10 and result.success, result
assert boids.problems.make("branin", dim=50)(boids.problems.make("branin", dim=50).low) > 0
assert not {"matplotlib", "sklearn", "optuna", "torch"} & set(sys.modules)
print(boids.__version__, boids.__file__)
"""


def check_contents(wheel: Path) -> list[str]:
    """Return what is wrong with the files in a wheel."""
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    wrong = [f"{part} is missing" for part in FILES if not any(part in name for name in names)]
    allowed = ("boids/", f"{wheel.name.split('-py3')[0]}.dist-info/")
    wrong += [f"{name} does not belong there" for name in names if not name.startswith(allowed)]
    wrong += [f"{name} does not belong there" for name in names if "test_" in name or "__pycache__" in name]
    return wrong


def run(arguments: list[str], folder: Path) -> str:
    """Run a command without the surroundings of this one, and return what it prints."""
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "BOIDS", "VIRTUAL"))}
    done = subprocess.run(arguments, cwd=folder, env=clean, capture_output=True, text=True, timeout=900)
    if done.returncode:
        sys.exit(f"{' '.join(arguments)} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


def main(dist: Path) -> None:
    """Try the wheel that lies in a folder, beside its sdist."""
    (wheel,) = dist.glob("*.whl")
    (_,) = dist.glob("*.tar.gz")
    wrong = check_contents(wheel)
    if wrong:
        sys.exit("\n".join(wrong))
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place, "empty")
        folder.mkdir()
        venv.create(Path(place, "env"), with_pip=True)
        programs = Path(place, "env", "Scripts" if os.name == "nt" else "bin")
        python, boids = str(programs / "python"), str(programs / "boids")
        run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", str(wheel.resolve())], folder)
        listed = json.loads(run([python, "-m", "pip", "list", "--format=json"], folder))
        print("installed:", ", ".join(f"{entry['name']} {entry['version']}" for entry in listed))
        print("imported:", run([python, "-c", SMOKE], folder).strip())
        if "Commands:" not in run([boids, "--help"], folder):
            sys.exit("boids --help does not list the commands.")
        command = [boids, "run", "branin", "--dim", "25", "--budget", "22", "--seed", "0", "--json", "--quiet"]
        answer = json.loads(run(command, folder).splitlines()[-1])
        if answer["nfev"] != 22 or answer["status"] != "budget":
            sys.exit(f"boids run ended with {answer}.")
        if "branin" not in run([boids, "runs"], folder):
            sys.exit("boids runs does not list the run.")
    print(f"{wheel.name} works in an empty environment: best value {answer['fun']:.4f} of `{' '.join(command[1:])}`.")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
