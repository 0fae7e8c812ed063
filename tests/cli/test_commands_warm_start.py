"""Runs that begin with points of the user's, or with what other runs have found."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cli.support import BOX, QUICK, kept

RANDOM = ("--method", "random", "--seed", "1")
POINT = {"low": 0.25, "high": 0.5, "count": 3, "kind": "-x", "weights": [0, 0.5, -1]}


def given(content) -> tuple[str, str]:
    Path("x0.json").write_text(content if isinstance(content, str) else json.dumps(content))
    return "--x0", "x0.json"


def test_points_of_a_box_come_first(cli, folder):
    run = ("run", "MODULE:sphere", *BOX, "--budget", 6, *RANDOM, "--json")
    assert cli(*run, *given([1.5, -2])).code == 0
    assert kept().trials[0].params == pytest.approx([1.5, -2.0])
    assert cli(*run, *given([[1, 2], [3, 4]])).code == 0
    first, second, *_ = kept().trials
    assert (first.params, second.params) == (pytest.approx([1, 2]), pytest.approx([3, 4]))
    assert cli("replay", cli("runs", "--json").json[-1]["id"]).code == 0


def test_points_by_name(cli, folder):
    run = ("run", "MODULE:constrained", "--space", "space.toml", "--budget", 4, *RANDOM)
    assert cli(*run, *given(POINT)).code == 0
    assert json.loads(json.dumps(POINT)) == {
        name: value.tolist() if hasattr(value, "tolist") else value for name, value in kept().trials[0].params.items()
    }
    Path("x0.toml").write_text("low = 0.25\nhigh = 0.5\ncount = 3\nkind = '-x'\nweights = [0, 0.5, -1]\n")
    assert cli(*run, "--x0", "x0.toml").code == 0
    assert kept().trials[0].params["kind"] == "-x"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (POINT | {"count": 30}, "'count'"),
        (POINT | {"cuont": 3}, "'cuont'"),
        ([POINT, POINT | {"kind": "y"}], "x0[1] is not a point of the space: "),
        ([POINT, POINT], "x0[1] is there twice"),
        ({"low": 0.5}, "'high'"),
        (POINT | {"low": 0.75}, "breaks a linear constraint"),
        ([0.5, 0.5], "must be a dict with the names"),
        ("", "is not JSON"),
        ("[1, ", "is not JSON"),
        ("3", "the file must have a point"),
        ("[]", "the file must have a point"),
    ],
)
def test_points_that_are_none(cli, folder, content, words):
    answer = cli("run", "MODULE:constrained", "--space", "space.toml", "--budget", 4, *RANDOM, *given(content))
    assert answer.code == 2
    assert words in answer.err
    assert "x0" in answer.err
    assert answer.err.count("\n") == 1


@pytest.mark.parametrize(
    ("content", "words"),
    [([1, 2, 3], "x0.json"), ([[1, 99]], "x0[0]"), ({"x": [1, 2]}, "must be a list"), (["a", "b"], "x0.json")],
)
def test_points_that_are_none_of_a_box(cli, folder, content, words):
    answer = cli("run", "MODULE:sphere", *BOX, "--budget", 4, *RANDOM, *given(content))
    assert (answer.code, words in answer.err) == (2, True), answer.err
    assert not list(folder.path.glob("*.db"))


def test_a_run_learns_from_others(cli, folder):
    touchy = ("run", "MODULE:touchy", *BOX, "--budget", 10, "--method", "random", "--json")
    others = [cli(*touchy, "--seed", seed).json for seed in (1, 2)]
    assert others[0]["failed"] > 0
    sources = [word for other in others for word in ("--from", other["id"])]
    arguments = ("run", "MODULE:touchy", *BOX, "--budget", 5, "--seed", 3, "--set", "n_init=2", *QUICK, *sources)
    answer = cli(*arguments, "--json")
    line = answer.json
    assert (line["nfev"], line["added"]) == (5, 20)
    assert line["fun"] <= min(other["fun"] for other in others)
    run = kept()
    assert [trial.value for trial in run.trials[:10]] == [
        trial.value for trial in kept(run_id=others[0]["id"]).trials
    ]  # fmt: skip
    assert [trial.attempts for trial in run.trials] == [0] * 20 + [1] * 5
    assert line["failed"] == sum(trial.failed for trial in run.trials[20:])
    assert "20 evaluations made before or elsewhere" in cli("show", line["id"]).out
    assert cli("runs", "--json").json[-1]["nfev"] == 5
    assert cli("replay", line["id"]).code == 0
    same = cli(*arguments, "--no-store", "--json").json
    assert (same["x"], same["store"]) == (line["x"], None)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("run", "MODULE:sphere", "--dim", 3, *BOX[2:]), "trial 0 is not a point of the space"),
        (("run", "MODULE:infeasible", *BOX, "--constraints", 3), "trial 0: "),
        (("run", "MODULE:sphere", *BOX, "--from", "other"), "There is no run 'other'"),
        (("run", "MODULE:sphere", *BOX, "--from", "20"), "was given twice"),
    ],
)
def test_runs_that_do_not_fit(cli, folder, arguments, words):
    source = cli("run", "MODULE:sphere", *BOX, "--budget", 3, *RANDOM, "--json").json["id"]
    answer = cli(*arguments, "--from", source, "--budget", 3, *RANDOM)
    assert answer.code == 2
    assert answer.err.startswith("boids: --from ")
    assert words in answer.err
    assert len(cli("runs", "--json").json) == 1


def test_a_run_without_evaluations_teaches_nothing(cli, folder):
    empty = cli("run", "sphere", "--dim", 2, "--budget", 3, "--timeout", "1e-9", *RANDOM, "--json").json["id"]
    answer = cli("run", "sphere", "--dim", 2, "--budget", 3, "--from", empty)
    assert (answer.code, "no finished evaluation" in answer.err) == (2, True)
