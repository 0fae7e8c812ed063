"""The README's Python runs as it stands, and what it points to exists."""

import re
from pathlib import Path

import pytest

from boids.space import read_space
from boids.space.linear import LinearConstraints

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()
PAGES = {
    path.relative_to(ROOT).as_posix(): path.read_text()
    for path in (
        ROOT / "README.md",
        *(
            ROOT / "docs" / name
            for name in ("gest.md", "integrations.md", "objectives.md", "optuna.md", "problems.md", "runs.md")
        ),
    )
}
BLOCKS = {
    f"{page}-{i}": code
    for page, text in PAGES.items()
    for i, code in enumerate(re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL))
}


@pytest.mark.parametrize("name", BLOCKS)
def test_python_blocks_run(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    exec(compile(BLOCKS[name], name, "exec"), {"__name__": "__main__"})


def test_the_space_file_of_the_guide_is_one(tmp_path):
    (code,) = re.findall(r"```toml\n(.*?)```", PAGES["docs/objectives.md"], flags=re.DOTALL)
    (tmp_path / "space.toml").write_text(code)
    file = read_space(tmp_path / "space.toml")
    assert LinearConstraints.of(file.space, file.linear) is not None


@pytest.mark.parametrize(
    "page", ["README.md", "CONTRIBUTING.md", *(f"docs/{p.name}" for p in (ROOT / "docs").glob("*.md"))]
)
def test_links_lead_somewhere(page):
    source = ROOT / page
    for target in re.findall(r"\]\(([^)#\s]+)", source.read_text()):
        if not target.startswith("http"):
            assert (source.parent / target).exists(), target


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
    assert [int(re.match(r"\| (\d+) \|", line)[1]) for line in rows] == list(range(1, 34))
    for setting in re.findall(r"`([a-z_]+)`:", "\n".join(rows)):
        assert setting in names, setting


def test_every_test_that_the_ledger_of_deviations_names_exists():
    ledger = (ROOT / "docs" / "deviations.md").read_text()
    everything = "\n".join(p.read_text() for p in (ROOT / "tests").rglob("test_*.py"))
    for name in re.findall(r"`(?:[a-z_/]+\.py::)?(test_[a-z0-9_]+)(?:…)?(?:\[.*?\])?`", ledger):
        assert f"def {name}" in everything, name
