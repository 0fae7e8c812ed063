"""One numbered folder per evaluation: 0000, 0001, …, also with several processes at once."""

from __future__ import annotations

from pathlib import Path

# The next number to try, by the folder of folders: numbers go on also when the folders of successes are removed,
# so that a program that has escaped its end does not write into another evaluation's folder.
_next: dict[Path, int] = {}


def claim(root: Path) -> tuple[int, Path]:
    """Make the next folder and return its number and path; nobody else gets the same one."""
    root.mkdir(parents=True, exist_ok=True)
    number = _next.get(root)
    if number is None:
        number = 1 + max((int(each.name) for each in root.iterdir() if _is_number(each.name)), default=-1)
    while True:
        folder = root / f"{number:04d}"
        try:
            folder.mkdir()
        except FileExistsError:  # another thread or process was quicker
            number += 1
        else:
            _next[root] = number + 1
            return number, folder


def _is_number(name: str) -> bool:
    return name.isascii() and name.isdigit()
