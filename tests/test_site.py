"""The site: its navigation has every page, its reference every public name. It is built by `make docs`, not here."""

import importlib
import inspect
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import boids

DOCS = Path(__file__).parent.parent / "docs"
#: What users import from, besides `boids` itself.
PUBLIC = (
    "boids",
    "boids.algorithms",
    "boids.bench",
    "boids.integrations.gest",
    "boids.integrations.optuna",
    "boids.integrations.sklearn",
    "boids.problems",
    "boids.problems.wrappers",
    "boids.space",
    "boids.testing",
    "boids.theory",
)


def test_every_page_is_in_the_navigation():
    index = (DOCS / "index.md").read_text(encoding="utf-8")
    entries = []
    for page in (DOCS / "index.md", DOCS / "methods" / "README.md", DOCS / "api" / "README.md"):
        for listing in re.findall(r"```\{toctree\}\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.DOTALL):
            names = [line for line in listing.splitlines() if line and not line.startswith(":")]
            targets = [re.sub(r".*<(.*)>", r"\1", name) for name in names]
            entries += [(page.parent / target).resolve() for target in targets if not target.startswith("/")]
    pages = {path.with_suffix("").resolve() for path in DOCS.rglob("*.md")} - {(DOCS / "index").resolve()}
    assert set(entries) == pages, "list the page in the toctree at the end of docs/index.md"
    assert len(entries) == len(set(entries))
    for path in DOCS.glob("*.md"):
        assert path.name == "index.md" or f"]({path.name})" in index, f"name {path.name} in the table of docs/index.md"


def described():
    """The names that pages of the reference describe, and the modules whose members they list."""
    text = "\n".join(page.read_text(encoding="utf-8") for page in sorted((DOCS / "api").glob("*.md")))
    names = set(re.findall(r"^\.\. auto(?:class|function|data):: ([\w.]+)$", text, flags=re.MULTILINE))
    modules = set(re.findall(r"^\.\. automodule:: ([\w.]+)\n   :members:", text, flags=re.MULTILINE))
    return names, modules


def public_names(module):
    own = (name for name, value in vars(module).items() if getattr(value, "__module__", None) == module.__name__)
    return [name for name in getattr(module, "__all__", own) if not name.startswith("_")]


@pytest.mark.parametrize("name", PUBLIC)
def test_the_reference_has_every_public_name(name):
    module = importlib.import_module(name)
    names, modules = described()
    if name in modules:
        return
    for public in public_names(module):
        value = getattr(module, public)
        if inspect.ismodule(value) or getattr(value, "__module__", "") in modules:
            continue
        homes = {f"{name}.{public}", f"boids.{public}"}
        assert names & homes, f"describe {name}.{public} on a page in docs/api"


def test_the_reference_describes_what_there_is():
    names, modules = described()
    for module in modules:
        importlib.import_module(module)
    for name in names:
        module, _, attribute = name.rpartition(".")
        assert hasattr(importlib.import_module(module), attribute), name


def test_every_public_name_says_what_it_is():
    for name in boids.__all__:
        value = getattr(boids, name)
        assert name == "FAILED" or inspect.getdoc(value), name


def test_the_picture_of_a_step_can_be_made(tmp_path):
    """Its script watches functions inside BOIDS, which may be renamed."""
    script, picture = DOCS / "figures" / "how_it_works.py", tmp_path / "step.png"
    options = ["--dim", "12", "--budget", "26", "--output", str(picture)]
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    subprocess.run([sys.executable, str(script), *options], check=True, env=environment, stdout=subprocess.DEVNULL)
    assert picture.stat().st_size > 10_000


def test_nothing_is_fetched():
    """Neither the configuration nor the style of the site names another host."""
    for path in (DOCS / "conf.py", *(DOCS / "_site").rglob("*.html"), *(DOCS / "_site").rglob("*.css")):
        assert not re.findall(r"https?://|//cdn|@import", path.read_text(encoding="utf-8")), path.name
    style = DOCS / "_site" / "static" / "boids.css"
    for file in re.findall(r'url\("(.*?)"\)', style.read_text(encoding="utf-8")):
        assert (style.parent / file).is_file(), file
