"""Where runs may lie: stores and the files of experiments, among what the user names or where boids keeps them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import final

from boids.bench import run_log
from boids.store.tables import APPLICATION

#: Folders that have no runs of their own, or far too many files.
_SKIPPED = {".git", ".venv", "node_modules", "__pycache__", "site-packages"}
_STORE_SUFFIXES = (".db", ".sqlite", ".sqlite3")
#: Of an SQLite file: how it begins, and where in it the number of the application stands.
_MAGIC, _MARK = b"SQLite format 3\0", slice(68, 72)


@final
class Places:
    """Files and folders in which runs may lie, now or later.

    A file is opened here once, before anything else reads it, to see what it is: SQLite's locks on a file would be
    gone if it were closed by others of the same process.
    """

    def __init__(self, paths: Iterable[str | os.PathLike[str]]) -> None:
        self.paths = tuple(Path(path).resolve() for path in paths)
        self._is_run: dict[Path, bool] = {}

    def look(self) -> tuple[list[Path], list[Path]]:
        """Return the stores and the files of experiments' runs that there are."""
        stores: dict[Path, None] = {}
        logs: dict[Path, None] = {}
        for path in self.paths:
            if path.is_dir():
                for file in _below(path):
                    if file.suffix in _STORE_SUFFIXES and self._known(file, _is_store):
                        stores[file] = None
                    elif file.suffix == run_log.SUFFIX and self._known(file, _is_log):
                        logs[file] = None
            elif path.is_file():  # whatever is wrong with it will be said
                (logs if path.suffix == run_log.SUFFIX else stores)[path] = None
        return list(stores), list(logs)

    def _known(self, path: Path, is_ours: Callable[[bytes], bool]) -> bool:
        if path not in self._is_run:
            beginning = _beginning(path)
            if not beginning:  # just made; look again
                return False
            self._is_run[path] = is_ours(beginning)
        return self._is_run[path]


def _below(folder: Path) -> Iterator[Path]:
    for parent, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in _SKIPPED)
        yield from (Path(parent, name) for name in sorted(files))


def _beginning(path: Path) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read(400)
    except OSError:
        return b""


def _is_store(beginning: bytes) -> bool:
    return beginning.startswith(_MAGIC) and int.from_bytes(beginning[_MARK], "big") == APPLICATION


def _is_log(beginning: bytes) -> bool:
    return b'"boids_run"' in beginning
