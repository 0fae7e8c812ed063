"""What the scripts of this folder share: runs that are made once and kept as JSON lines, and tables for the pages."""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

Line = dict[str, Any]


@dataclass(frozen=True)
class Study:
    """Runs that `boids bench` cannot make: each is one call, and its result one line of a file.

    Attributes
    ----------
    file
        Where the lines are.
    keys
        Names of the fields that tell runs apart; `run` takes their values.
    run
        Makes one run and returns its line.
    """

    file: Path
    keys: tuple[str, ...]
    run: Callable[..., Line]

    def lines(self, **wanted: object) -> list[Line]:
        """Return the lines on file with these values."""
        rows = self.file.read_text(encoding="utf-8").splitlines() if self.file.exists() else []
        lines = map(json.loads, rows)
        return [line for line in lines if all(line[key] == value for key, value in wanted.items())]

    def means(self, problems: Iterable[str], variants: Iterable[str], decimals: int = 3) -> list[list[str]]:
        """Return rows of a table: the problem, and mean ± standard error of the best value for every variant."""
        variants = tuple(variants)

        def cell(name: str, variant: str) -> str:
            values = [line["fun"] for line in self.lines(problem=name, variant=variant)]
            return mean_with_error(values, decimals)

        return [[name, *(cell(name, variant) for variant in variants)] for name in problems]

    def make_missing(self, jobs: Iterable[tuple[Any, ...]], pool: Executor) -> None:
        """Make the runs that are not on file."""
        done = {tuple(line[key] for key in self.keys) for line in self.lines()}
        missing = [job for job in jobs if job not in done]
        for line in pool.map(self.run, *zip(*missing, strict=True)) if missing else ():
            with self.file.open("a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")

    def main(
        self,
        about: str | None,
        jobs: Iterable[tuple[Any, ...]],
        tables: Callable[[], str],
        pool: Callable[[int], Executor] = ProcessPoolExecutor,
    ) -> None:
        """Do what the command line says: make what is missing, and print the tables."""
        parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
        parser.add_argument("--workers", type=int, default=1, help="runs at a time")
        parser.add_argument("--table", action="store_true", help="only print what is on file")
        given = parser.parse_args()
        if not given.table:
            with pool(given.workers) as workers:
                self.make_missing(jobs, workers)
        print(tables())


def markdown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table."""
    body = [f"| {' | '.join(row)} |" for row in (head, *rows)]
    return "\n".join([body[0], "|" + "---|" * len(head), *body[1:]])


def mean_with_error(values: Sequence[float] | np.ndarray, decimals: int = 3) -> str:
    """Return mean ± standard error; a dash for fewer than two values, or if one is missing."""
    array = np.asarray(values, dtype=float)
    if len(array) < 2 or np.isnan(array).any():
        return "–"
    return f"{array.mean():.{decimals}f} ± {array.std(ddof=1) / math.sqrt(len(array)):.{decimals}f}"


def marks(name: str) -> tuple[str, str]:
    """Return the comments between which a page holds what was measured."""
    return f"<!-- {name}: begin -->", f"<!-- {name}: end -->"


def between(page: Path, name: str) -> str:
    """Return what a page holds between its marks."""
    begin, end = marks(name)
    text = page.read_text(encoding="utf-8")
    if text.count(begin) != 1 or text.count(end) != 1:
        raise ValueError(f"{page.name} must have {begin} and {end} once each; add them where the table is to be.")
    return text.partition(begin)[2].partition(end)[0].strip("\n")


def put_between(page: Path, name: str, content: str) -> None:
    """Put something between the marks of a page."""
    between(page, name)  # says what is missing
    (begin, end), text = marks(name), page.read_text(encoding="utf-8")
    before, after = text.partition(begin)[0], text.partition(end)[2]
    page.write_text(f"{before}{begin}\n{content}\n{end}{after}", encoding="utf-8")
