"""External programs from the command line: crashes, timeouts, constraints, folders, interruptions, resuming."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import sys
from pathlib import Path

import pytest
from cli.support import Answer, ids, kept, start, trace, wait_for, without_timeout

PYTHON = f"{shlex.quote(sys.executable)} -I -S"

#: Crashes in two ways for some counts, and else gives a value and two constraints.
SIMULATOR = """
import json, os, sys
p = json.load(open(sys.argv[1]))
print("a word on stdout")
if p["count"] in (3, 4, 8):
    sys.exit(f"the mesh has {p['count']} cells too few")
if p["count"] == 7:
    os.abort()
answer = {"value": p["low"] + sum(p["weights"]), "constraints": [0.3 - p["low"], p["count"] - 6]}
json.dump(answer, open(sys.argv[2], "w"))
"""

#: Waits for ever in its third evaluation, unless a file says that it need not; tells there who it is, all at once.
SLEEPER = """#!/bin/sh
if [ "$2" = 0002 ] || [ "$2" = 2 ]; then
  echo $$ > "{folder}/pid.new"
  mv "{folder}/pid.new" "{folder}/pid"
  sleep 100 &
  if [ ! -e "{folder}/awake" ]; then wait; fi
fi
printf '%s\\n' "$1"
"""

RANDOM = ("--method", "random", "--seed", "1")


@pytest.fixture
def simulator(folder):
    (folder.path / "sim.py").write_text(SIMULATOR)
    return ("--command", f"{PYTHON} sim.py {{input}} {{output}}", "--space", "space.toml")


@pytest.fixture
def sleeper(folder):
    path = folder.path / "sleeper"
    path.write_text(SLEEPER.replace("{folder}", str(folder.path)))
    path.chmod(0o755)
    (folder.path / "one.toml").write_text("[parameters]\na = [0, 1]\n")
    return ("--command", "./sleeper {a} {trial}", "--space", "one.toml")


def script(folder, text: str, name: str = "program") -> str:
    path = folder.path / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return f"./{name}"


def test_a_program_with_crashes_and_constraints(cli, folder, simulator):
    answer = cli("run", *simulator, "--budget", 25, *RANDOM)
    assert answer.code == 0
    (run_id,) = ids()
    optimizer = kept()
    failed = [trial for trial in optimizer.trials if trial.failed]
    done = [trial for trial in optimizer.trials if not trial.failed]
    assert {trial.params["count"] for trial in failed} == {3, 4, 7, 8}
    for trial in done:
        p = trial.params
        assert p["low"] <= p["high"]
        assert trial.value == p["low"] + sum(p["weights"].tolist())
        assert trial.constraints == (0.3 - p["low"], p["count"] - 6)

    words = " ".join(answer.out.split())
    assert f"best feasible value {optimizer.best.value:.8g}" in words
    assert f"feasible {sum(trial.feasible for trial in done)} of {len(done)} successful evaluations" in words
    assert f"25 of 25, {len(failed)} failed" in words
    meshes = sum(trial.params["count"] in (3, 4, 8) for trial in failed)
    assert f"{meshes} × The program ended with exit code 1; stderr ends with 'the mesh has" in words
    assert f"{len(failed) - meshes} × The program was killed by signal ABRT." in words
    assert "2 constraints" in answer.err
    assert max(map(len, answer.out.splitlines())) <= 80

    # The folders of failures stay, in a folder of the run's own.
    work = Path("boids-work", run_id)
    assert f"of failed evaluations in {work}" in words
    folders = sorted(each.name for each in work.iterdir())
    assert folders == [f"{trial.id:04d}" for trial in failed]
    assert json.loads((work / folders[0] / "input.json").read_text())["count"] == failed[0].params["count"]


def test_the_program_gets_what_was_asked_for(cli, folder):
    command = script(folder, "cat input.txt > ../../seen; wc -l < input.txt")
    arguments = ("--command", command, "--dim", 4, "--low", -5, "--high", 10, "--format", "lines", "--result", "stdout")
    line = cli("run", *arguments, "--budget", 1, *RANDOM, "--json", "--workdir", "work/here", "--keep", "all").json
    assert (line["fun"], line["dim"], line["problem"]) == (4.0, 4, command)
    assert [float(text) for text in Path("work/seen").read_text().split()] == line["x"]
    assert [each.name for each in Path("work/here").iterdir()] == ["0000"]


@pytest.mark.parametrize(("keep", "kept"), [("failed", ["0001"]), ("all", ["0000", "0001", "0002"]), ("none", [])])
def test_which_folders_stay(cli, folder, keep, kept):
    command = script(folder, 'if [ "$1" = 1 ]; then exit 2; fi; echo 1') + " {trial}"
    box = ("--dim", 1, "--low", 0, "--high", 1)
    answer = cli("run", "--command", command, *box, "--budget", 3, *RANDOM, "--store", "run.db", "--keep", keep)
    assert sorted(each.name for each in Path(".").glob("boids-work/*/*")) == kept
    assert ("files" in answer.out) == bool(kept)
    assert Path("boids-work").exists() == bool(kept)


def test_timeouts(cli, folder):
    command = script(folder, 'if [ "$1" = 1 ]; then sleep 100; fi; echo 1') + " {trial}"
    box = ("--dim", 1, "--low", 0, "--high", 1)
    answer = cli("run", "--command", command, *box, "--budget", 3, *RANDOM, "--eval-timeout", 3, "--json")
    line = answer.json
    assert (answer.code, line["nfev"], line["failed"], line["fun"]) == (0, 3, 1, 1.0)
    error = kept(line["store"]).trials[1].error
    assert error.startswith("The program took longer than 3 s and was ended")


def test_all_crash(cli, folder):
    command = script(folder, "echo no licence for the solver >&2; exit 9")
    box = ("--dim", 1, "--low", 0, "--high", 1)
    answer = cli("run", "--command", command, *box, "--budget", 3, *RANDOM)
    assert answer.code == 1
    words = " ".join(answer.out.split())
    assert "best value none" in words
    assert "3 × The program ended with exit code 9; stderr ends with 'no licence for the solver'." in words
    (first, *_) = sorted(Path(".").glob("boids-work/*/*"))
    assert f"look at stderr.txt, stdout.txt and command.json in {first}" in words
    assert (first / "stderr.txt").read_text() == "no licence for the solver\n"

    answer = cli("run", "--command", command, *box, "--budget", 3, *RANDOM, "--json", "--keep", "none")
    assert answer.code == 1
    assert (answer.json["fun"], answer.json["feasible"], answer.json["observed"]) == (None, None, None)
    assert "All 3 evaluations failed; the first error was: The program ended with exit code 9" in answer.json["message"]
    assert answer.err.startswith("boids: No evaluation succeeded.")
    assert answer.err.count("\n") == 1


def test_reasons_beyond_the_third_are_counted(cli, folder):
    command = script(folder, "echo reason $(printf '%s' abcdef | cut -c $(($1 + 1))) >&2; exit 1") + " {trial}"
    box = ("--dim", 1, "--low", 0, "--high", 1)
    out = cli("run", "--command", command, *box, "--budget", 6, *RANDOM).out
    assert out.count("stderr ends with") == 3
    assert "3 × 3 other reasons" in out


def test_values_of_parameters_are_words_and_nothing_else(cli, folder):
    """Choices with a shell's characters reach the program as they are; so does a file in the way."""
    Path("listing.py").write_text(
        "import json, sys; print(json.dumps(sys.argv), file=open('../../all', 'a')); print(1)"
    )
    Path("0").write_text("a file called as a value might be")
    command = f"{PYTHON} listing.py {{kind}} kind={{kind}} {{count}} '; touch pwned' '$(touch pwned)' '*' {{{{kind}}}}"
    arguments = ("--command", command, "--space", "space.toml", "--constraints", 0, "--workdir", "work/run")
    assert cli("run", *arguments, "--budget", 12, *RANDOM, "--json", "--store", "run.db").json["failed"] == 0
    called = [json.loads(line) for line in Path("work/all").read_text().splitlines()]
    expected = [
        [p["kind"], f"kind={p['kind']}", str(p["count"]), "; touch pwned", "$(touch pwned)", "*", "{kind}"]
        for p in (trial.params for trial in kept("run.db").trials)
    ]
    assert [words[1:] for words in called] == expected
    assert {words[1] for words in called} == {"a", "b; touch pwned", "$(touch pwned)", "-x"}
    assert not list(folder.path.rglob("pwned"))


def test_words_of_the_program_do_not_reach_the_terminal_as_commands(cli, folder):
    command = script(folder, "printf 'a\\033[31m[bold]red\\007' >&2; exit 1")
    box = ("--dim", 1, "--low", 0, "--high", 1)
    answer = cli("run", "--command", command, *box, "--budget", 1, *RANDOM)
    assert "[bold]red" in answer.out
    assert not {"\033", "\007"} & {*answer.out, *answer.err}


# Interruptions


def interrupted(folder, arguments: tuple[str, ...], number: int = signal.SIGINT) -> Answer:
    """Begin a run, and end it in its third evaluation."""
    process = start(folder, "run", *arguments)
    try:
        wait_for(process, lambda: any(Path(".").glob("boids-work/*/0002/stdout.txt")) and Path("pid").exists())
        process.send_signal(number)
        out, err = process.communicate(timeout=50)
    finally:
        process.kill()
    return Answer(process.returncode, out, err)


def is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGHUP, 129)])
def test_an_interrupted_program_run_goes_on_exactly(cli, folder, sleeper, monkeypatch, number, code):
    arguments = (*sleeper, "--budget", "6", *RANDOM)
    answer = interrupted(folder, (*arguments, "--store", "run.db"), number)
    assert answer.code == code
    (run_id,) = ids("run.db")
    assert f"  boids resume {run_id} --store run.db\n" in answer.out
    assert "Traceback" not in answer.err
    if os.path.exists("/proc/self/stat"):
        assert not is_running(int(Path("pid").read_text()))
    optimizer = kept("run.db")
    assert (optimizer.n_told, len(optimizer.pending)) == (2, 1)

    # From elsewhere: the program and the folder for its files are where the run was begun.
    Path("awake").touch()
    Path("elsewhere").mkdir()
    monkeypatch.chdir("elsewhere")
    resumed = cli("resume", "--store", "../run.db", "--json-lines")
    assert resumed.code == 0, resumed.err
    assert f"The run goes on in {folder.path}" in resumed.err
    *lines, last = resumed.json_lines
    assert [line["evaluation"] for line in lines] == [3, 4, 5, 6]
    assert (last["nfev"], last["failed"], last["store"]) == (6, 0, "../run.db")
    assert not list(Path(".").iterdir())
    monkeypatch.chdir(folder.path)
    whole = cli("run", *arguments, "--json", "--store", "whole.db").json
    assert last["x"] == whole["x"]
    assert trace("run.db") == trace("whole.db")
    assert not Path("boids-work").exists()


def test_a_run_whose_folder_has_moved(cli, tmp_path_factory, monkeypatch, folder, sleeper):
    home = folder.path / "home"
    home.mkdir()
    for name in ("sleeper", "one.toml"):
        shutil.move(name, home / name)
    monkeypatch.chdir(home)
    assert cli("run", *sleeper, "--budget", 4, *RANDOM, "--store", "run.db", "--timeout", "1e-9").code == 1
    monkeypatch.chdir(folder.path)
    home.rename("moved")
    Path("awake").touch()

    answer = cli("resume", "--store", "moved/run.db")
    assert answer.code == 2
    assert f"it was begun in the folder '{home}', which is not there" in answer.err
    assert "--folder DIR" in answer.err
    without_timeout("moved/run.db")
    resumed = cli("resume", "--store", "moved/run.db", "--folder", "moved", "--json")
    assert (resumed.code, resumed.json["nfev"], resumed.json["failed"]) == (0, 4, 0)
    assert kept("moved/run.db").meta["fields"]["folder"] == str(folder.path / "moved")


def test_a_program_that_has_gone(cli, folder, sleeper):
    assert interrupted(folder, (*sleeper, "--budget", "6", *RANDOM, "--store", "run.db")).code == 130
    Path("sleeper").unlink()
    answer = cli("resume", "--store", "run.db")
    assert answer.code == 2
    assert "cannot be resumed: The program './sleeper' is not a file that exists" in answer.err
    assert kept("run.db").n_told == 2
