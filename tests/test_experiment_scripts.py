"""What the documentation shows is what the files in experiments/ hold, and what their scripts share works."""

import importlib
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from boids.bench import load
from boids.bench.spec import Spec

ROOT = Path(__file__).parent.parent
EXPERIMENTS, DOCS = ROOT / "experiments", ROOT / "docs"


@pytest.fixture
def scripts(monkeypatch):
    """Import modules of experiments/ as its scripts do."""
    monkeypatch.syspath_prepend(str(EXPERIMENTS))
    before = set(sys.modules)
    yield importlib.import_module
    for name in set(sys.modules) - before:
        if str(EXPERIMENTS) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


@pytest.mark.parametrize("path", sorted(EXPERIMENTS.glob("*.toml")), ids=lambda path: path.stem)
def test_experiments_are_valid(path):
    Spec.read(path)


def test_pages_are_in_step_with_the_results(scripts):
    pages, common = scripts("pages"), scripts("common")
    for part in pages.PARTS:
        shown = common.between(part.page, part.name)  # the marks are there, whether there are results or not
        if part.file.exists():
            assert shown == part.text(load(part.file)), "run `make results`"


@pytest.mark.parametrize(("script", "page"), [("beam", "objectives.md"), ("constraints", "objectives.md")])
def test_tables_of_single_scripts_are_in_the_pages(script, page):
    command = [sys.executable, str(EXPERIMENTS / f"{script}.py"), "--table"]
    table = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    assert len(table.splitlines()) == 7
    assert table in (DOCS / page).read_text(encoding="utf-8")


@pytest.mark.parametrize("script", ["parallel", "warm_start"])
def test_other_scripts_print_what_is_on_file(script):
    command = [sys.executable, str(EXPERIMENTS / f"{script}.py"), "--table"]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "ackley-100 shifted" in said
    assert "±" in said


def test_runs_are_made_once(scripts, tmp_path):
    made = []

    def run(name, seed):
        made.append((name, seed))
        return {"name": name, "seed": seed, "value": 2 * seed}

    study = scripts("common").Study(tmp_path / "lines.jsonl", ("name", "seed"), run)
    with ThreadPoolExecutor(1) as pool:
        study.make_missing([("a", 0), ("b", 1)], pool)
        study.make_missing([("a", 0), ("b", 1), ("b", 2)], pool)
        study.make_missing([("a", 0)], pool)
    assert made == [("a", 0), ("b", 1), ("b", 2)]
    assert [line["value"] for line in study.lines(name="b")] == [2, 4]


def test_numbers_have_as_many_decimals_as_their_error(scripts):
    pages = scripts("pages")
    assert pages.with_error(224.41, 1.63) == "224.4 ± 1.6"
    assert pages.with_error(-3.2271, 0.0634) == "−3.227 ± 0.063"
    assert pages.with_error(1234.5, 251.0) == "1234 ± 251"
    assert pages.with_error(0.397887, 4.1e-7) == "0.39789 ± 4e−7"
    assert pages.with_error(0.5, None) == "0.5"
    assert pages.with_error(None, None) == "–"


def test_how_far_behind_is_measured_from_random_search(scripts):
    pages = scripts("pages")
    table = load(EXPERIMENTS / "ahead.json.gz")
    runs = table.where(problem="walker2d").runs
    finals = {each.method: [run.best[-1] for run in runs if run.method == each.method] for each in runs}
    means = {name: np.mean(values) for name, values in finals.items()}
    mine, best, random = means["BOIDS"], min(means.values()), means["random search"]
    (row,) = (line for line in pages.against_the_best(table).splitlines() if "walker2d" in line)
    assert row.endswith(f"| {100 * (mine - best) / (random - best):.1f} % |")
    assert pages.share(0.0) == "0.0 %"
    assert pages.share(1e-4) == "< 0.1 %"


def test_only_what_is_between_the_marks_changes(scripts, tmp_path):
    common, page = scripts("common"), tmp_path / "page.md"
    page.write_text("before\n<!-- a: begin -->\nold\n<!-- a: end -->\nafter\n")
    common.put_between(page, "a", "new\n| x |")
    assert page.read_text() == "before\n<!-- a: begin -->\nnew\n| x |\n<!-- a: end -->\nafter\n"
    with pytest.raises(ValueError, match=r"must have <!-- b: begin --> and <!-- b: end --> once"):
        common.put_between(page, "b", "new")
