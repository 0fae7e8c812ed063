"""Fixtures of the command line: a folder with objectives, and a way to call `main`."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import pytest
from cli.support import MODULE, SPACE, Answer

from boids.cli import main


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The current folder, with a module of objectives of a name of its own."""
    name = f"objectives_{abs(hash(str(tmp_path)))}"
    (tmp_path / f"{name}.py").write_text(MODULE.replace("\\\\n", "\\n"))
    (tmp_path / "space.toml").write_text(SPACE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setenv("COLUMNS", "80")
    yield SimpleNamespace(path=tmp_path, module=name, box=("--low", "-5", "--high", "10"))
    sys.modules.pop(name, None)


@pytest.fixture
def cli(folder, capsys):
    """Call `main` as the console script does."""

    def call(*arguments: Any) -> Answer:
        code = main([str(argument).replace("MODULE", folder.module) for argument in arguments])
        captured = capsys.readouterr()
        return Answer(code, captured.out, captured.err)

    return call
