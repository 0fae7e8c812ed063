"""`boids space`: what is in a file, and a point of it as a program would get it."""

from __future__ import annotations

import json
from pathlib import Path

from boids.space import read_space
from boids.space.linear import LinearConstraints


def test_a_summary(cli, folder, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    answer = cli("space", "space.toml")
    assert (answer.code, answer.err) == (0, "")
    words = " ".join(answer.out.split())
    for known in (
        "count int 1 to 9",
        "kind categorical a, b; touch pwned, $(touch pwned), -x 4",
        "weights float -1 to 1 3 3",
        "dimensions 10 after encoding",
        "linear constraints low - high <= 0",
        "black-box constraints 2",
    ):
        assert known in words
    assert "points" not in words
    about = cli("space", "space.toml", "--json").json
    assert list(about["parameters"]) == ["low", "high", "count", "kind", "weights"]
    assert (about["dim"], about["points"], about["n_constraints"]) == (10, None, 2)
    assert about["linear_constraints"] == ["low - high <= 0"]


def test_the_number_of_points(cli, folder):
    text = '{"parameters": {"a": {"type": "int", "low": 1, "high": 1024, "shape": %d}, "log[x]": ["on", "off"]}}'
    Path("finite.json").write_text(text % 2)
    answer = cli("space", "finite.json")
    assert "points 2097152" in " ".join(answer.out.split())
    assert "log[x]" in answer.out  # not taken for markup
    assert "not said, so none" in answer.out
    assert cli("space", "finite.json", "--json").json["points"] == 2 * 1024**2
    Path("finite.json").write_text(text % 40)
    assert "about 10^121" in cli("space", "finite.json").out
    assert cli("space", "finite.json", "--json").json["points"] == 2 * 1024**40


def test_an_example_is_a_point_of_the_space(cli, folder):
    read = read_space("space.toml")
    linear = LinearConstraints.of(read.space, read.linear)
    for seed in range(20):
        point = json.loads(cli("space", "space.toml", "--example", "--quiet", "--seed", seed).out)
        assert linear.satisfied(read.space.encode(point))
    again = cli("space", "space.toml", "--example", "--seed", 19).out
    assert json.loads(again[again.index("\n{") :]) == point
    assert "dimensions" in again
    assert cli("space", "space.toml", "--example", "--seed", 19, "--json").json["example"] == point
    lines = cli("space", "space.toml", "--example", "--quiet", "--format", "lines", "--seed", 19).out.splitlines()
    assert lines == [
        *(repr(point[name]) for name in ("low", "high")),
        str(point["count"]),
        point["kind"],
        *map(repr, point["weights"]),
    ]
