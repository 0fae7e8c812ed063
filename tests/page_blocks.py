"""The code blocks of the documentation: how they are found, and how they are run.

Python blocks of a page run in order, in one namespace and one temporary folder; those with ``>>>`` must print what the
page says. Shell blocks run in bash, where `boids` and `python` are those under test. `experiments`, `examples` and
`benchmarks` are there, as in a checkout, and the word ``ID`` in a command stands for the latest run. A comment on the
line before a block, which readers do not see, says what is different:

``<!-- file: space.toml -->``           the block is the content of that file
``<!-- run with: --budget 22 -->``      `boids run` and `boids bench` get these options besides, to be quick
``<!-- not run: a reason -->``          the block cannot run here
"""

from __future__ import annotations

import contextlib
import doctest
import io
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import boids
from boids.cli import main
from boids.store import Store

ROOT = Path(__file__).parent.parent
#: The command `boids` in shell blocks.
BOIDS = """#!{python}
import sys
from boids.cli import main
sys.exit(main([*sys.argv[1:], *({more} if sys.argv[1] in ("run", "bench") else [])]))
"""
#: A command of boids that needs no shell but perhaps a file for its output.
ONLY_BOIDS = re.compile(r"^boids [^|&;<>$`#\\]*(> [\w.-]+ *)?(#.*)?$")
#: Whatever else stands in fences is not code to run: listings, directives of the site.
RUN = ("python", "sh", "bash", "console")
FENCE = re.compile(
    r"^(?:<!-- (?P<note>file|run with|not run): (?P<words>.*?) -->\n\n?)?"
    r"^```(?P<language>[\w{}-]*)[ \t]*\n(?P<code>.*?)^```[ \t]*$",
    flags=re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True)
class Block:
    """A piece of code, and what the page says of it."""

    page: str
    line: int
    language: str
    code: str
    note: str = ""
    words: str = ""

    @property
    def place(self) -> str:
        return f"{self.page}:{self.line}"


def pages() -> list[Path]:
    """All pages whose code is run."""
    return [
        ROOT / "README.md",
        ROOT / "CONTRIBUTING.md",
        *sorted((ROOT / "examples").rglob("*.md")),
        *sorted((ROOT / "docs").rglob("*.md")),
    ]


def blocks(path: Path) -> list[Block]:
    """The blocks of a page, in order."""
    text = path.read_text(encoding="utf-8")
    page = path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else path.name
    return [
        Block(
            page,
            text.count("\n", 0, match.start("language")) + 1,
            match["language"],
            match["code"],
            match["note"] or "",
            match["words"] or "",
        )
        for match in FENCE.finditer(text)
    ]


def runnable(path: Path) -> list[Block]:
    """The blocks of a page that do something: code, and files for it."""
    return [block for block in blocks(path) if block.language in RUN or block.note == "file"]


def left_out() -> Iterator[Block]:
    """All blocks of the documentation that are not run."""
    for path in pages():
        yield from (block for block in blocks(path) if block.note == "not run")


def run_page(path: Path, folder: Path) -> None:
    """Run the blocks of a page in a folder, which must be the current one."""
    for name in ("experiments", "examples", "benchmarks"):
        (folder / name).symlink_to(ROOT / name)
    programs = folder / ".programs"
    _write(programs / "python", f'#!/bin/sh\nexec {shlex.quote(sys.executable)} "$@"\n')
    with patch.dict(os.environ, {"PATH": os.pathsep.join([str(programs), os.environ["PATH"]])}):
        try:
            _run_blocks(path, folder)
        finally:
            # Modules of one page must not answer for those of another.
            for name, module in list(sys.modules.items()):
                if (getattr(module, "__file__", None) or "").startswith(str(folder)):
                    del sys.modules[name]


def _run_blocks(path: Path, folder: Path) -> None:
    namespace: dict[str, Any] = {"__name__": "__main__"}
    for block in runnable(path):
        if block.note == "file":
            _write(folder / block.words, block.code)
        elif block.note == "not run":
            continue
        elif block.language != "python":
            _shell(block, folder)
        elif block.code.startswith(">>>"):
            _doctest(block, namespace)
        else:
            with contextlib.redirect_stdout(io.StringIO()):
                exec(compile("\n" * block.line + block.code, block.page, "exec"), namespace)


def _write(path: Path, code: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(code, encoding="utf-8")
    if code.startswith("#!"):
        path.chmod(0o755)


def _doctest(block: Block, namespace: dict[str, Any]) -> None:
    test = doctest.DocTestParser().get_doctest(block.code, {}, block.place, block.page, block.line)
    test.globs = namespace
    report: list[str] = []
    outcome = doctest.DocTestRunner(verbose=False).run(test, out=report.append, clear_globs=False)
    assert not outcome.failed, "\n".join(report)


def _shell(block: Block, folder: Path) -> None:
    """Run a block in bash; one with nothing but commands of boids in this process, which is quicker."""
    more = shlex.split(block.words) if block.note == "run with" else []
    lines = [line for line in block.code.replace("\\\n", " ").splitlines() if line.strip()]
    if all(ONLY_BOIDS.match(line) for line in lines):
        for line in lines:
            _command(line, more, block)
        return
    _write(folder / ".programs" / "boids", BOIDS.format(python=sys.executable, more=more))
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(Path(boids.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]),
        "OPENBLAS_NUM_THREADS": "1",
        "PYTHONWARNINGS": "error",
    }
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", block.code],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, f"{block.place} ended with {done.returncode}:\n{done.stdout}{done.stderr}"


def _command(line: str, more: list[str], block: Block) -> None:
    words = shlex.split(line, comments=True)[1:]
    target = io.StringIO()
    if ">" in words:
        words, (file,) = words[: words.index(">")], words[words.index(">") + 1 :]
        target = open(file, "w", encoding="utf-8")  # noqa: SIM115 - closed below, as the other one is
    with target, contextlib.redirect_stdout(target):
        code = main(boids_words(words, more))
    assert code == 0, f"{block.place}, {line.strip()}: ended with {code}"


def boids_words(words: list[str], more: list[str]) -> list[str]:
    """Return the arguments of a command of boids with what the test puts in."""
    if "ID" in words:
        latest = Store("boids-runs.db").runs()[-1].id
        words = [latest if word == "ID" else word for word in words]
    return [*words, *(more if words[0] in ("run", "bench") else [])]
