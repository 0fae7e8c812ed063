"""What is handed out: the wheel, the file for citations, the metadata. `make dist` tries the wheel for real."""

import re
import tomllib
import zipfile
from pathlib import Path

import pytest
from try_wheel import check_contents

import boids

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_contents_of_the_wheel(tmp_path):
    wheel_target = pytest.importorskip(
        "hatchling.builders.wheel", reason="hatchling, which builds the wheel, is missing"
    )
    builder = wheel_target.WheelBuilder(str(ROOT))
    (wheel,) = builder.build(directory=str(tmp_path), versions=["standard"])
    assert not check_contents(Path(wheel))
    with zipfile.ZipFile(wheel) as archive:
        packed = {name for name in archive.namelist() if name.startswith("boids/")}
    source = ROOT / "src"
    there = {p.relative_to(source).as_posix() for p in (source / "boids").rglob("*") if p.is_file()}
    assert packed == {name for name in there if "__pycache__" not in name}


def test_the_check_of_the_wheel_finds_what_is_wrong(tmp_path):
    wheel = tmp_path / "boids_opt-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("boids/__init__.py", "")
        archive.writestr("tests/test_boids.py", "")
    wrong = check_contents(wheel)
    assert "boids/py.typed is missing" in wrong
    assert "tests/test_boids.py does not belong there" in wrong


def citation():
    """CITATION.cff as nested dicts and lists; it uses a small part of YAML, so that no parser is needed."""
    yaml = pytest.importorskip("yaml", reason="PyYAML, which reads CITATION.cff, is missing")
    return yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))


def test_the_citation_is_complete():
    cff = citation()
    assert cff["cff-version"] == "1.2.0"
    assert {"title", "message", "authors", "type", "license"} <= cff.keys()
    assert cff["type"] in ("software", "dataset")
    assert cff["license"] == PROJECT["license"].split(" AND ")[0]  # ours; the rest is what comes with it
    assert str(cff["version"]) == boids.__version__
    for entry in (cff, *cff["references"]):
        assert entry["authors"]
        for author in entry["authors"]:
            # A person has these two keys, a team a name.
            assert author.keys() in ({"family-names", "given-names"}, {"name"})
    for reference in cff["references"]:
        assert {"type", "title", "authors"} <= reference.keys()
        assert reference["type"] in ("article", "book", "conference-paper", "proceedings", "software")
        assert isinstance(reference["year"], int)
    known = "cff-version title message type license authors references version abstract keywords"
    assert cff.keys() <= set(known.split())


def test_extras_do_not_miss_one_another():
    extras = PROJECT["optional-dependencies"]
    for name, needs in extras.items():
        for need in needs:
            match = re.fullmatch(r"boids-opt\[(.*)\]", need)
            assert not match or set(match[1].split(",")) <= extras.keys(), name


def test_contributors_need_five_commands():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    table = re.findall(r"^\| `make ([a-z-]+)` \|", text, flags=re.MULTILINE)
    targets = re.findall(r"^([a-z-]+):.*##", (ROOT / "Makefile").read_text(), flags=re.MULTILINE)
    assert len(table) == 5
    assert set(table) <= set(targets)
