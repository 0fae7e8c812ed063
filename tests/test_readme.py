"""What the README and the ledger of deviations promise; code and links of all pages: test_pages.py, test_links.py."""

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()


def test_the_two_commands_are_on_the_first_screen():
    first_screen = README.splitlines()[:40]
    assert any("make demo" in line for line in first_screen)
    assert any("make test" in line for line in first_screen)
    assert any("run.png" in line for line in first_screen)


def test_every_setting_that_the_ledger_of_deviations_names_exists():
    from dataclasses import fields

    from boids.algorithms import Boids

    names = {f.name for f in fields(Boids)}
    ledger = (ROOT / "docs" / "deviations.md").read_text()
    rows = [line for line in ledger.splitlines() if re.match(r"\| \d+ \|", line)]
    assert [int(re.match(r"\| (\d+) \|", line)[1]) for line in rows] == list(range(1, len(rows) + 1))
    assert f"all {len(rows)} points" in ledger
    for setting in re.findall(r"`([a-z_]+)`:", "\n".join(rows)):
        assert setting in names, setting


def test_every_test_that_the_ledger_of_deviations_names_exists():
    ledger = (ROOT / "docs" / "deviations.md").read_text()
    everything = "\n".join(p.read_text() for p in (ROOT / "tests").rglob("test_*.py"))
    for name in re.findall(r"`(?:[a-z_/]+\.py::)?(test_[a-z0-9_]+)(?:…)?(?:\[.*?\])?`", ledger):
        assert f"def {name}" in everything, name
