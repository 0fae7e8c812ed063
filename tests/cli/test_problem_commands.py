"""`boids problems`: the list, one of them, and the files that are fetched."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from boids.errors import ProblemError
from boids.problems import PROBLEMS, data


def test_problems_are_listed(cli, monkeypatch):
    answer = cli("problems")
    assert answer.code == 0
    assert max(map(len, answer.out.splitlines())) <= 80
    monkeypatch.setenv("COLUMNS", "100")
    wide = cli("problems").out
    assert max(map(len, wide.splitlines())) <= 100
    for name, factory in PROBLEMS.items():
        optimum = "unknown" if factory.optimum is None else re.escape(f"{factory.optimum:.6g}")
        extra = factory.extra or ""
        row = rf"^{name} +{factory.default_dim}\*? +{optimum} +{extra} *{re.escape(factory.domain.split()[0])}"
        assert re.search(row, wide, re.MULTILINE), name
        assert factory.summary.split()[0] in wide
    for kind in {factory.kind for factory in PROBLEMS.values()}:
        assert re.search(rf"^{kind} +dim +optimum +extra +domain +cost$", wide, re.MULTILINE)
    assert "shift=True is the fair" in " ".join(answer.out.split())
    assert "boids problems fetch mopta" in answer.out


def test_problems_are_listed_as_json(cli):
    listed = cli("problems", "--json").json
    assert [each["name"] for each in listed] == list(PROBLEMS)
    by_name = {each["name"]: each for each in listed}
    assert by_name["ackley"]["optimum"] == 0.0
    assert "shift" in by_name["ackley"]["options"]
    for name, factory in PROBLEMS.items():
        about = by_name[name]
        assert (about["kind"], about["extra"], about["cost"]) == (factory.kind, factory.extra, factory.cost)
        assert about["missing"] == factory.available()


@pytest.mark.parametrize("name", PROBLEMS)
def test_one_problem(cli, name):
    answer = cli("problems", name)
    assert answer.code == 0
    words = " ".join(answer.out.split())
    factory = PROBLEMS[name]
    for known in (factory.summary, factory.reference, factory.domain, factory.kind, factory.cost):
        assert " ".join(known.split()) in words
    for option in (*factory.options, "seed"):
        assert re.search(rf"^{option} ", answer.out, re.MULTILINE)
    assert cli("problems", name, "--json").json == cli("problems", "--json", name).json
    assert cli("problems", name, "--json").json["name"] == name


@pytest.mark.parametrize("tty", [False, True])
def test_fetching(cli, folder, monkeypatch, tty):
    seen = []

    def fetch(name, *, progress):
        if progress is not None:
            progress(10, None)
            progress(100, 100)
            seen.append(name)
        return Path("cache") / name

    monkeypatch.setattr(data, "fetch", fetch)
    monkeypatch.setattr("sys.stderr.isatty", lambda: tty, raising=False)
    answer = cli("problems", "fetch", "mopta")
    assert (answer.code, answer.out) == (0, "mopta: cache/mopta\n")
    assert seen == ["mopta"] * tty
    assert cli("problems", "fetch", "mopta", "--json").json == {"name": "mopta", "path": "cache/mopta"}
    assert cli("problems", "--json", "fetch", "mopta").json == {"name": "mopta", "path": "cache/mopta"}


def test_a_download_that_fails_is_one_line(cli, folder, monkeypatch):
    def fetch(name, *, progress):
        raise ProblemError("no connection\nat all")

    monkeypatch.setattr(data, "fetch", fetch)
    answer = cli("problems", "fetch", "mopta")
    assert (answer.code, answer.out, answer.err) == (2, "", "boids: no connection at all\n")
