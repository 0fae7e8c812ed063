"""Runs of experiments: made, broken off in every way, and gone on with as if nothing had happened."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from workers.dask_cluster import DaskCluster
from workers.process_checks import wait_for

from boids.bench import carry_out as module
from boids.bench import run_log
from boids.bench.carry_out import carry_out
from boids.bench.job import jobs_of
from boids.bench.plan import Part, Plan, read_plan
from boids.bench.runner import Endings, run_here
from boids.bench.spec import Spec
from boids.cli import main
from boids.errors import InputError

TESTS = Path(__file__).parents[1]


@pytest.fixture(autouse=True)
def own_code(monkeypatch):
    """Let the children of this process import bench.own_code."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")]))


def jobs(methods=("random",), problem="ackley", dim=5, budget=12, seeds=1, **more):
    entries = [{"name": each} if isinstance(each, str) else each for each in methods]
    content = {"budget": budget, "seeds": seeds, "method": entries, "problem": [{"name": problem, "dim": dim}], **more}
    return jobs_of(Spec.of(content))


def found(log):
    """All of a run that does not depend on the clock."""
    return [{key: value for key, value in row.items() if key not in ("times", "cpu")} for row in log.evaluations]


def cut(path, lines):
    """Leave so many lines of a file, and a half."""
    rows = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(rows[:lines]) + rows[lines][: len(rows[lines]) // 2])


PROBLEMS = {
    "plain": "ackley",
    "noisy": "bench.own_code:noisy",
    "failures": "bench.own_code:crashing",
    "disc": "bench.own_code:constrained",
}


@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize("lines", [1, 2, 3, 8, 13])
def test_a_broken_run_goes_on_as_if_nothing_had_happened(tmp_path, problem, lines):
    (job,) = jobs([{"name": "turbo", "options": {"n_init": 4, "max_candidates": 50}}], problem=PROBLEMS[problem])
    carry_out(job, tmp_path / "whole")
    carry_out(job, tmp_path / "broken")
    cut(tmp_path / "broken" / job.path, lines)
    carry_out(job, tmp_path / "broken")
    whole, broken = (run_log.read(tmp_path / folder / job.path) for folder in ("whole", "broken"))
    assert found(whole) == found(broken)
    assert whole.status == broken.status == "budget"
    assert broken.events[0]["event"] == "begun"


def test_a_snapshot_saves_the_proposals(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "SNAPSHOT_SECONDS", 0.0)
    monkeypatch.setattr(module, "SNAPSHOT_SHARE", 1e9)
    (job,) = jobs(["bench.own_code:Odd"], budget=20)
    carry_out(job, tmp_path)
    path = tmp_path / job.path
    assert run_log.read(path).status == "error"
    assert path.with_suffix(".npz").exists()  # of no further use for a run that ended well, but here it is
    proposals = []
    real = module.Optimizer.ask
    monkeypatch.setattr(module.Optimizer, "ask", lambda self, *a: proposals.append(self.n_told) or real(self, *a))
    carry_out(job, tmp_path)
    assert len(run_log.read(path).evaluations) == 10
    assert min(proposals, default=10) >= 9


@pytest.mark.parametrize("damage", [b"", b"nonsense", None])
def test_a_snapshot_that_is_damaged_or_of_another_run_does_no_harm(tmp_path, monkeypatch, damage):
    (job, other) = jobs(["bench.own_code:Odd"], budget=20, seeds=2)
    carry_out(job, tmp_path / "whole")
    monkeypatch.setattr(module, "SNAPSHOT_SECONDS", 0.0)
    carry_out(job, tmp_path)
    carry_out(other, tmp_path)
    snapshot = (tmp_path / job.path).with_suffix(".npz")
    snapshot.write_bytes((tmp_path / other.path).with_suffix(".npz").read_bytes() if damage is None else damage)
    cut(tmp_path / job.path, 6)
    carry_out(job, tmp_path)
    assert found(run_log.read(tmp_path / job.path)) == found(run_log.read(tmp_path / "whole" / job.path))


def test_the_file_has_everything(tmp_path):
    (job,) = jobs(["boids"], problem="bench.own_code:constrained", dim=3, budget=6)
    carry_out(job, tmp_path, commit="abc")
    log = run_log.read(tmp_path / job.path)
    header, first, last = log.header, log.evaluations[0], log.evaluations[-1]
    assert header["problem"] == {
        "name": "bench.own_code:constrained", "label": "bench.own_code:constrained-3", "dim": 3, "options": {},
        "seed": 0, "optimum": None, "noisy": False, "constraints": 1,
    }  # fmt: skip
    assert header["method"]["settings"]["particles"] == 20
    assert header["budget"] == 6
    begun = log.events[0]
    assert begun["commit"] == "abc"
    assert {"boids", "python", "numpy", "scipy"} <= set(begun["versions"])
    assert begun["machine"]["cores"] == os.cpu_count()
    assert set(first) >= {"n", "value", "best", "x", "times", "cpu", "constraints", "feasible"}
    feasible = [row["value"] for row in log.evaluations if row["feasible"]]
    assert last["best"] == (min(feasible) if feasible else None)
    assert not (tmp_path / job.path).with_suffix(".npz").exists()


def test_noise_is_the_same_for_all_methods_of_a_repetition(tmp_path):
    made = jobs(["random", "sobol"], problem="bench.own_code:noisy", budget=5)
    noise = []
    for job in made:
        carry_out(job, tmp_path)
        log, clean = run_log.read(tmp_path / job.path), jobs(problem="ackley")[0].make_problem()
        noise.append([row["value"] - clean(row["x"]) for row in log.evaluations])
        assert log.evaluations[-1]["memory"] == {"calls": 5}
    assert noise[0] == pytest.approx(noise[1])


def test_a_run_that_proposes_something_else_is_not_mixed_with_the_old_one(tmp_path):
    (job,) = jobs()
    carry_out(job, tmp_path)
    path = tmp_path / job.path
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    rows[4]["x"][0] += 1.0
    path.write_text("".join(json.dumps(row) + "\n" for row in rows[:6]))
    carry_out(job, tmp_path)
    log = run_log.read(path)
    assert log.status == "error"
    assert "cannot be made again" in log.events[-1]["error"]
    assert len(log.evaluations) == 4


def test_a_time_limit_keeps_what_was_found_and_a_longer_one_goes_on(tmp_path):
    entry = {"name": "bench.own_code:Slow", "time_limit": 0.2}
    (job,) = jobs([entry], budget=10)
    carry_out(job, tmp_path)
    log = run_log.read(tmp_path / job.path)
    assert log.status == "time limit"
    assert 1 <= len(log.evaluations) < 10
    spec = {"budget": 10, "seeds": 1, "problem": [{"name": "ackley", "dim": 5}]}
    assert not Plan.of(Spec.of({**spec, "method": [entry]}), tmp_path).left()
    more = Spec.of({**spec, "method": [{**entry, "time_limit": 20}]})
    (longer,) = Plan.of(more, tmp_path).left()
    carry_out(longer, tmp_path)
    assert len(run_log.read(tmp_path / job.path).evaluations) == 10
    assert not Plan.of(more, tmp_path).left()


def test_failing_runs_do_not_stop_the_others(tmp_path, monkeypatch):
    monkeypatch.setattr("boids.bench.runner.GRACE_SECONDS", 0.5)
    odd = [
        {"name": "bench.own_code:Odd", "label": word, "options": {"manner": word}} for word in ("raise", "die", "hang")
    ]
    odd[2]["time_limit"] = 6.0
    made = jobs([*odd, "random"], budget=15)
    endings = Endings()
    run_here(made, tmp_path, 2, endings)
    logs = {job.method.label: run_log.read(tmp_path / job.path) for job in made}
    assert {label: log.status for label, log in logs.items()} == {
        "raise": "error", "die": "error", "hang": "time limit", "random": "budget",
    }  # fmt: skip
    assert sorted(endings.statuses) == ["budget", "error", "error", "time limit"]
    assert {label: len(log.evaluations) for label, log in logs.items()} == {
        "raise": 10, "die": 10, "hang": 10, "random": 15,
    }  # fmt: skip
    assert "ten is enough" in logs["raise"].events[-1]["error"]
    assert "Traceback" in logs["raise"].events[-1]["traceback"]
    assert "KILL" in logs["die"].events[-1]["error"]


def write_spec(folder, text):
    (folder / "spec.toml").write_text(text)
    return str(folder / "spec.toml")


SPEC = """
budget = 15
seeds = 2
[[method]]
name = "random"
[[method]]
name = "bench.own_code:Odd"
options = {{ manner = "{manner}" }}
[[problem]]
name = "ackley"
dim = 4
"""


def bench(capsys, *arguments):
    code = main(["bench", *map(str, arguments)])
    out = capsys.readouterr()
    return code, out.out, out.err


def test_the_command(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    spec, out = write_spec(tmp_path, SPEC.format(manner="stumble")), tmp_path / "out"
    code, said, _ = bench(capsys, spec, "--out", out, "--dry-run")
    assert code == 0
    assert "4 runs, 4 to be made" in said
    assert not out.exists()
    code, said, errors = bench(capsys, spec, "--out", out, "--jobs", 1)
    assert code == 1
    assert "3 budget, 1 error" in said or "1 error" in said
    assert "only once" in said
    assert errors.count("#") == 4
    assert len(read_plan(out / "plan.json")["runs"]) == 4
    code, said, errors = bench(capsys, spec, "--out", out)
    assert (code, errors) == (1, "")  # failed runs are left alone
    code, said, _ = bench(capsys, spec, "--out", out, "--retry", "--json", "--quiet")
    assert (code, json.loads(said)["standing"]) == (0, {"budget": 4})


def test_a_part_of_an_experiment(tmp_path):
    spec = Spec.read(write_spec(tmp_path, SPEC.format(manner="none")))
    plan = Plan.of(spec, tmp_path, Part(methods=("random",), seeds=(1, 7), budget=9))
    assert [(run.job.method.label, run.job.repetition, run.job.budget) for run in plan.runs] == [("random", 1, 9)]
    with pytest.raises(InputError, match="did you mean 'random'"):
        Plan.of(spec, tmp_path, Part(methods=("radnom",)))
    with pytest.raises(InputError, match="No run"):
        Plan.of(spec, tmp_path, Part(seeds=(9,)))


def test_wrong_input_is_found_before_anything_runs(tmp_path, capsys):
    spec = write_spec(tmp_path, SPEC.format(manner="none").replace("manner", "manor"))
    code, _, errors = bench(capsys, spec, "--out", tmp_path / "out")
    assert code == 2
    assert "did you mean 'manner'" in errors
    spec = write_spec(tmp_path, SPEC.format(manner="none").replace('"ackley"', '"ackly"'))
    code, _, errors = bench(capsys, spec, "--out", tmp_path / "out")
    assert code == 2
    assert "did you mean 'ackley'" in errors
    for seeds in ("a", "1-", "3,,4"):
        assert bench(capsys, spec, "--seeds", seeds)[0] == 2
    assert not (tmp_path / "out").exists()


def test_another_experiment_in_the_same_folder_is_refused(tmp_path, capsys):
    text = SPEC.format(manner="none")
    assert bench(capsys, write_spec(tmp_path, text), "--out", tmp_path / "out", "--method", "random")[0] == 0
    for change in ("budget = 16", "dim = 5"):
        key = change.split(" ")[0]
        other = "\n".join(change if line.startswith(key) else line for line in text.splitlines())
        code, _, errors = bench(capsys, write_spec(tmp_path, other), "--out", tmp_path / "out")
        if key == "dim":  # the label is another one as well, and with it the place
            other = other.replace('name = "ackley"', 'name = "ackley"\nlabel = "ackley-4"')
            code, _, errors = bench(capsys, write_spec(tmp_path, other), "--out", tmp_path / "out")
        assert code == 2
        assert f"another {'budget' if key == 'budget' else 'problem'}" in errors


def test_what_is_missing_here_can_be_skipped(tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "cma", None)
    text = (
        SPEC.format(manner="none").replace("bench.own_code:Odd", "cmaes").replace('options = { manner = "none" }', "")
    )
    code, _, errors = bench(capsys, write_spec(tmp_path, text), "--out", tmp_path / "out", "--dry-run")
    assert code == 2
    assert "--skip-missing" in errors
    code, said, _ = bench(
        capsys, write_spec(tmp_path, text), "--out", tmp_path / "out", "--dry-run", "--skip-missing", "--json"
    )
    assert (code, json.loads(said)["left"]) == (0, 2)
    assert "method 'cmaes'" in json.loads(said)["missing"]


SLOW = """
budget = 30
seeds = 2
[[method]]
name = "bench.own_code:Slow"
[[method]]
name = "boids"
options = { n_init = 5, "search.generations" = 5 }
[[problem]]
name = "hartmann"
dim = 20
"""


def test_killed_in_the_middle_and_continued_the_results_are_identical(tmp_path):
    spec = Spec.read(write_spec(tmp_path, SLOW))
    command = [sys.executable, "-m", "boids", "bench", str(tmp_path / "spec.toml"), "--jobs", "2", "--quiet", "--out"]
    out = tmp_path / "killed"
    signals = [signal.SIGKILL, signal.SIGINT]
    for number in signals:
        process = subprocess.Popen([*command, out], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        before = evaluations(spec, out)
        wait_for(lambda before=before: evaluations(spec, out) >= before + 10)
        process.send_signal(number)
        code = process.wait()
        assert code == (130 if number is signal.SIGINT else -number)
        wait_for(lambda: not any(is_locked(out / job.path) for job in jobs_of(spec)))
    assert 0 < evaluations(spec, out) < 120
    subprocess.run([*command, out], check=True, stdout=subprocess.DEVNULL)
    for job in jobs_of(spec):
        carry_out(job, tmp_path / "whole")
        assert found(run_log.read(out / job.path)) == found(run_log.read(tmp_path / "whole" / job.path))


def evaluations(spec, out):
    looks = [run_log.glance(out / job.path) for job in jobs_of(spec)]
    return sum(look.evaluations for look in looks if look is not None)


def is_locked(path):
    program = "import sys; from boids.bench.run_log import OpenRun; OpenRun(sys.argv[1])"
    if not path.exists():
        return False
    return subprocess.run([sys.executable, "-c", program, path], capture_output=True).returncode != 0


def test_a_run_that_another_process_carries_out_is_left_to_it(tmp_path):
    (job,) = jobs(["bench.own_code:Slow"], budget=60)
    program = "import sys, json; from boids.bench.carry_out import main; sys.exit(main())"
    other = subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, env={**os.environ, "SLOWLY": "1.0"}
    )
    order = {"job": job.to_document(), "folder": str(tmp_path), "commit": None}
    other.stdin.write(json.dumps(order).encode() + b"\n")
    other.stdin.flush()
    wait_for(lambda: (look := run_log.glance(tmp_path / job.path)) is not None and look.evaluations > 0)
    endings = Endings()
    run_here([job], tmp_path, 1, endings)
    assert endings.statuses == ["taken"]
    other.stdin.close()  # which ends it
    assert other.wait(20) != 0
    run_here([job], tmp_path, 1, endings)
    assert endings.statuses == ["taken", "budget"]


def test_on_a_dask_cluster(tmp_path):
    spec = write_spec(tmp_path, SPEC.format(manner="none"))
    with DaskCluster() as cluster:
        cluster.start_worker()
        assert main(["bench", spec, "--out", str(tmp_path / "out"), "--dask", cluster.address, "--quiet"]) == 0
    for job in jobs_of(Spec.read(spec)):
        carry_out(job, tmp_path / "whole")
        here, there = (run_log.read(tmp_path / folder / job.path) for folder in ("whole", "out"))
        assert found(here) == found(there)


def test_runs_on_a_dask_cluster_end_with_the_command(tmp_path, monkeypatch):
    method, problem = '[[method]]\nname = "bench.own_code:Slow"', '[[problem]]\nname = "hartmann"\ndim = 20'
    path = write_spec(tmp_path, f"budget = 60\nseeds = 2\n{method}\n{problem}\n")
    spec = Spec.read(path)
    command = [sys.executable, "-m", "boids", "bench", path, "--quiet", "--out"]
    outs = {number: tmp_path / f"out-{number}" for number in (signal.SIGINT, signal.SIGKILL)}
    monkeypatch.setenv("SLOWLY", "0.2")  # a run takes 12 s
    with DaskCluster() as cluster:
        worker = cluster.start_worker()
        for number, out in outs.items():
            there = [*command, str(out), "--dask", cluster.address]
            process = subprocess.Popen(there, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            wait_for(lambda out=out: evaluations(spec, out) >= 3)
            process.send_signal(number)
            assert process.wait() == (130 if number is signal.SIGINT else -number)
            wait_for(lambda out=out: not any(is_locked(out / job.path) for job in jobs_of(spec)))
            (begun,) = [job for job in jobs_of(spec) if (out / job.path).exists()]  # the second waited, and goes away
            assert run_log.glance(out / begun.path).status == "unfinished"
        assert worker.poll() is None  # only the runs have ended: it has taken the next one
    monkeypatch.setenv("SLOWLY", "0")
    for job in jobs_of(spec):
        carry_out(job, tmp_path / "whole")
    for out in outs.values():
        subprocess.run([*command, str(out)], check=True, stdout=subprocess.DEVNULL)
        for job in jobs_of(spec):
            assert found(run_log.read(out / job.path)) == found(run_log.read(tmp_path / "whole" / job.path))


def test_a_scheduler_that_is_not_there(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("boids.bench.runner.CONNECT_SECONDS", 0.5)
    spec = write_spec(tmp_path, SPEC.format(manner="none"))
    code, _, errors = bench(capsys, spec, "--out", tmp_path / "out", "--dask", "tcp://127.0.0.1:9")
    assert code == 2
    assert "No Dask scheduler answers" in errors
