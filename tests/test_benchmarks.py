"""The tool behind `make bench`: its parts run, its comparison says what it should, and its page is up to date."""

import importlib
import json
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture
def tool(monkeypatch):
    """Import modules of benchmarks/ as `python -m benchmarks` does."""
    monkeypatch.syspath_prepend(str(ROOT))
    return lambda name: importlib.import_module(f"benchmarks.{name}")


PARTS = ("startup", "runs", "growth", "floor", "scale", "methods", "tried")


@pytest.mark.parametrize("name", PARTS)
def test_every_part_measures_and_shows_what_it_has_measured(tool, name, monkeypatch):
    page = tool("page")
    assert tuple(page.PARTS) == PARTS
    part = page.PARTS[name]
    if name != "floor":  # one of them shows that processes of their own work; a dozen would only take time
        monkeypatch.setattr(part, "in_own_process", lambda function, *arguments: function(*arguments))
        monkeypatch.setattr(part, "calibration", lambda: 0.01, raising=False)
    result = json.loads(json.dumps(part.measure(tiny=True)))  # as from the file that it is kept in
    # Finite, whatever the sign: a refit's time is a difference, which may come out below zero at this size.
    assert np.isfinite(list(part.numbers(result).values())).all()
    lines = [line for line in part.section(result).splitlines() if line.startswith("|")]
    assert len(lines) > 2
    assert len({line.count("|") for line in lines}) == 1


def test_the_page_is_what_its_numbers_say(tool):
    page = tool("page")
    text, latest, baseline = page.PAGE.read_text(encoding="utf-8"), page.kept(page.LATEST), page.kept(page.BASELINE)
    assert set(latest["parts"]) == set(PARTS)
    assert page.rendered(text, latest, baseline) == text, "run `python -m benchmarks --page`"


def test_pictures_are_drawn_from_the_numbers(tool, tmp_path):
    pytest.importorskip("matplotlib")
    page, growth = tool("page"), tool("growth")
    growth.draw(page.kept(page.LATEST)["parts"]["growth"], tmp_path)
    for name in ("data.svg", "dimension.svg"):
        assert "one refit" in (tmp_path / name).read_text(encoding="utf-8")
        assert (page.IMAGES / name).exists()


def test_a_page_without_the_marks_is_refused(tool):
    with pytest.raises(ValueError, match="runs: begin"):
        tool("page").put_between("# A page", "runs", "a table")


def test_what_stands_around_the_marks_stays(tool):
    text = "before\n<!-- runs: begin -->\nold\n<!-- runs: end -->\nafter\n"
    new = tool("page").put_between(text, "runs", "new")
    assert new == text.replace("old", "new")


@pytest.mark.parametrize(
    ("now", "before", "words"),
    [(1.25, 1.0, "25 % slower"), (1.0, 1.25, "20 % faster"), (1.001, 1.0, "the same"), (3.0, 1.0, "200 % slower")],
)
def test_changes_in_words(tool, now, before, words):
    assert tool("compare").change(now, before) == words


def test_only_what_both_have_measured_is_compared(tool):
    compare = tool("compare")
    now, before = {"fit": 2.0, "new": 1.0}, {"fit": 1.0, "gone": 1.0}
    assert compare.shared(now, before) == {"fit": (2.0, 1.0)}
    assert "100 % slower, against the baseline" in compare.listing("runs", now, before)
    assert "nothing to compare with" in compare.listing("runs", now, {})
    table = compare.section({"runs": now, "scale": {"x": 1.0}}, {"runs": before})
    assert "| runs | 1 | **100 % slower** |" in table
    assert "scale" not in table


def test_a_slower_machine_is_no_slower_program(tool):
    page, compare = tool("page"), tool("compare")
    results = page.kept(page.LATEST)["parts"]

    def slowed(content):
        if isinstance(content, dict):
            return {key: slowed(value) for key, value in content.items()}
        if isinstance(content, list):
            return [slowed(value) for value in content]
        return 2.0 * content if isinstance(content, float) else content

    fast, slow = compare.ratios(results, page.PARTS), compare.ratios(slowed(results), page.PARTS)
    for part, numbers in fast.items():
        assert slow[part] == pytest.approx(numbers)


def test_the_floor_counts_the_algebra(tool):
    floor = tool("floor")
    at_one = floor.Rates(1.0, 1.0, 1.0, np.inf, np.inf, np.inf)
    n, d = 200, 50
    found = floor.floors(n, d, gradients=0, likelihoods=1, rates=at_one)
    assert found["fit"] == (2 * n * n * d + n**3 / 3,) * 2
    assert found["refit"] == (4 * n * n * d + n**3,) * 2
    more = floor.floors(n, d, gradients=10, likelihoods=1, rates=at_one)
    assert more["optimise"][0] - found["optimise"][0] == pytest.approx(10 * (2 * n * n + 6 * n * d))


def test_the_library_has_its_own_clock_back_after_measuring(tool):
    import time

    wall = time.perf_counter
    with tool("machine").processor_clock():
        assert time.perf_counter is time.process_time
    assert time.perf_counter is wall


def test_counting_steps_changes_no_proposal(tool):
    proposals = tool("proposals")
    moment = proposals.Moment.of(30, 4)
    ask = moment.method.ask
    _, plain = ask(moment.fitted, moment.history, [], np.random.default_rng(0))
    with proposals.counted() as count:
        _, counted = ask(moment.fitted, moment.history, [], np.random.default_rng(0))
    np.testing.assert_array_equal(plain.unit, counted.unit)
    assert count["gradients"] > 0
    assert count["likelihoods"] == 0
