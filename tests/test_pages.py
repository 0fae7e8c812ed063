"""The code of the documentation runs as it stands; what cannot run is marked, with its reason, and counted."""

import re

import pytest
from page_blocks import ROOT, blocks, left_out, pages, run_page, runnable

from boids.space import read_space
from boids.space.linear import LinearConstraints

#: Blocks that need a cluster, hours, or an environment of their own. Think twice before you raise it.
NOT_RUN = 25
WITH_CODE = [path for path in pages() if runnable(path)]


@pytest.mark.parametrize("path", WITH_CODE, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_code_runs(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delenv("BOIDS_STORE", raising=False)
    run_page(path, tmp_path)


def test_what_is_not_run_says_why():
    marked = list(left_out())
    assert all(len(block.words.split()) >= 2 for block in marked)
    listed = "\n".join(f"{block.place}: {block.words}" for block in marked)
    assert len(marked) == NOT_RUN, f"{len(marked)} blocks are not run:\n{listed}"


def test_readers_are_told_the_names_of_files():
    # The comment that names a file is not shown to them.
    for path in pages():
        shown = re.sub(r"<!--.*?-->", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
        for block in blocks(path):
            assert block.note != "file" or f"`{block.words}`" in shown, f"{block.place}: say that it is {block.words}"


def test_no_block_slips_through():
    # A fence that is indented, has attributes or an unknown language would be passed over in silence.
    for path in pages():
        fences = [line for line in path.read_text(encoding="utf-8").splitlines() if line.lstrip().startswith("```")]
        assert len(fences) == 2 * len(blocks(path)), path.name
        for block in blocks(path):
            assert block.language in ("", "python", "sh", "toml", "{eval-rst}", "{toctree}"), block.place


def test_the_runner_runs_what_it_should(tmp_path, monkeypatch):
    page = tmp_path / "page.md"
    page.write_text(
        "<!-- file: tool.py -->\n```python\nprint('from the tool')\n```\n"
        "```python\nx = 1\n```\n```python\n>>> x + 1\n2\n\n```\n"
        "```sh\npython tool.py > said.txt   # a comment\n```\n"
        "<!-- not run: takes hours -->\n```sh\nfalse\n```\n"
    )
    folder = tmp_path / "folder"
    folder.mkdir()
    monkeypatch.chdir(folder)
    run_page(page, folder)
    assert (folder / "said.txt").read_text() == "from the tool\n"
    page.write_text("```python\n>>> 1 + 1\n3\n\n```\n")
    other = tmp_path / "other"
    other.mkdir()
    with pytest.raises(AssertionError, match="Expected"):
        run_page(page, other)
    page.write_text("```sh\nno-such-program\n```\n")
    third = tmp_path / "third"
    third.mkdir()
    with pytest.raises(AssertionError, match="ended with 127"):
        run_page(page, third)


def test_the_space_file_of_the_guide_is_one(tmp_path):
    (code,) = (block.code for block in blocks(ROOT / "docs" / "objectives.md") if block.language == "toml")
    (tmp_path / "space.toml").write_text(code)
    file = read_space(tmp_path / "space.toml")
    assert LinearConstraints.of(file.space, file.linear) is not None
