"""Help and lists of methods."""

from __future__ import annotations

import re
import subprocess
import sys

import boids
from boids.algorithms import ALGORITHMS, Boids
from boids.cli import assignments

COMMANDS = (
    "run",
    "resume",
    "runs",
    "show",
    "export",
    "replay",
    "delete",
    "bench",
    "report",
    "dashboard",
    "methods",
    "problems",
    "space",
)


def test_version_and_help(cli):
    assert cli("--version").out == f"boids {boids.__version__}\n"
    for arguments in ([], ["--help"], ["-h"]):
        answer = cli(*arguments)
        assert answer.code == 0
        assert re.findall(r"^  ([a-z]+) ", answer.out.partition("Commands:")[2], re.MULTILINE)[: len(COMMANDS)] == list(
            COMMANDS
        )
    for command in COMMANDS:
        answer = cli(command, "--help")
        assert answer.code == 0
        assert "--json" in answer.out
        assert max(map(len, answer.out.splitlines())) <= 80


def test_every_command_takes_a_store(cli, folder, monkeypatch):
    monkeypatch.setenv("BOIDS_STORE", "mine.db")
    run_id = cli("run", "sphere", "--dim", 2, "--budget", 3, "--method", "random", "--json").json["id"]
    assert (folder.path / "mine.db").exists()
    assert cli("runs", "--json").json[0]["id"] == run_id
    assert f"  boids export {run_id}\n" in cli("show", run_id).out
    monkeypatch.delenv("BOIDS_STORE")
    assert cli("runs").out.startswith("There are no runs in boids-runs.db yet")
    assert f"  boids export {run_id} --store mine.db\n" in cli("show", run_id, "--store", "mine.db").out
    for command in ("methods", "problems", ("space", "space.toml"), ("replay", run_id), ("export", run_id), "runs"):
        words = (command,) if isinstance(command, str) else command
        assert cli(*words, "--store", "mine.db", "--json").code == 0


def test_help_loads_nothing_heavy():
    code = (
        "import sys; from boids.cli import main; main(['run', '--help']); "
        "sys.exit(any(name in sys.modules for name in ('numpy', 'scipy', 'rich')))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True).returncode == 0


def test_python_dash_m():
    done = subprocess.run([sys.executable, "-m", "boids", "--version"], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, f"boids {boids.__version__}\n")


def test_methods_are_listed(cli):
    answer = cli("methods")
    assert answer.code == 0
    assert max(map(len, answer.out.splitlines())) <= 80
    for name, cls in ALGORITHMS.items():
        assert re.search(rf"^{name} ", answer.out, re.MULTILINE)
        assert cls.reference.split(",")[0] in answer.out  # the rest may be in the next line
    listed = cli("methods", "--json").json
    own = [each for each in listed if each["package"] == "boids-opt"]
    assert [each["reference"] for each in own] == [cls.reference for cls in ALGORITHMS.values()]
    assert [each["name"] for each in own] == list(ALGORITHMS)
    assert listed[0]["presets"] == ["paper", "released"]


def test_every_setting_is_listed_and_can_be_given_back(cli):
    listed = cli("methods", "boids", "--json").json["settings"]
    names = [each["name"] for each in listed]
    assert {"particles", "surrogate.kernel", "search.generations"} <= set(names)
    texts = {each["name"]: str(each["default"]) for each in listed}
    assert assignments.configured(Boids, texts) == Boids()
    table = cli("methods", "boids").out
    assert max(map(len, table.splitlines())) <= 80
    for each in listed:
        assert re.search(rf"^{re.escape(each['name'])} ", table, re.MULTILINE)
        assert each["source"].split(" ")[0] in table
    assert "preset=paper" in table
    assert "no settings" in cli("methods", "random").out


def test_the_options_of_a_run_are_in_sections(cli):
    out = cli("run", "--help").out
    assert max(map(len, out.splitlines())) <= 80
    sections = re.findall(r"^(\S.*):$", out, re.MULTILINE)
    assert sections == [
        "What to minimise",
        "What comes out of an evaluation",
        "External programs",
        "How to search",
        "Where to evaluate",
        "When to stop",
        "Output",
    ]
    assert out.index("--help") > out.index("Output:")
    for option in ("--command", "--space", "--eval-timeout", "--json-lines", "--plot"):
        assert re.search(rf"^  {option}\b", out, re.MULTILINE)
