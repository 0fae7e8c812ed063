"""Trials as a table for other programs: CSV, JSON or Parquet; a file is written as a whole or not at all."""

from __future__ import annotations

import json
import math
import os
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, TypeAlias

import numpy as np

from boids.errors import MissingExtra, StoreError
from boids.journal import TrialRow

#: The columns of a table, all of the same length, by their headings.
Columns: TypeAlias = dict[str, list[Any]]


def table(
    rows: Iterable[TrialRow], params: Iterable[Mapping[str, Any] | Sequence[Any] | np.ndarray[Any, Any]]
) -> Columns:
    """Return trials as columns.

    Parameters
    ----------
    rows
        The trials.
    params
        The point of each of them in the user's units: a mapping from names to values for a named space, where vectors
        become columns ``name[0], name[1], …``, or an array for a plain box, with the columns ``x0, x1, …``.

    Returns
    -------
    Columns
        ``number, state, value, c1, …, noise_variance, error, started, ended, attempts``, then one column for each
        parameter; None where there is nothing to say. A parameter that has the name of another column is called
        ``params.name``.
    """
    trials = list(rows)
    columns: Columns = {name: [getattr(row, name) for row in trials] for name in ("number", "state", "value")}
    for place in range(max((len(row.constraints or ()) for row in trials), default=0)):
        columns[f"c{place + 1}"] = [_item(row.constraints, place) for row in trials]
    for name in ("noise_variance", "error", "started", "ended", "attempts"):
        columns[name] = [getattr(row, name) for row in trials]
    taken = set(columns)
    points = [dict(_spread(point)) for point in params]
    if len(points) != len(trials):
        raise ValueError(f"Expected one point for each of the {len(trials)} trials, got {len(points)}.")
    headings = dict.fromkeys(name for point in points for name in point)
    for heading in headings:
        free = heading
        while free in taken or (free != heading and free in headings):
            free = f"params.{free}"
        taken.add(free)
        columns[free] = [point.get(heading) for point in points]
    return columns


def csv_lines(columns: Columns) -> Iterator[str]:
    """Yield the lines of a CSV file: numbers to the last digit, nothing for None, text quoted where it must be."""
    yield ",".join(map(_csv_cell, columns)) + "\n"
    for cells in zip(*columns.values(), strict=True):
        yield ",".join(map(_csv_cell, cells)) + "\n"


def json_text(columns: Columns) -> str:
    """Return a JSON list with an object for each trial; numbers that JSON has not (nan, infinity) are null."""
    names = list(columns)
    records = [dict(zip(names, map(_json_cell, cells), strict=True)) for cells in zip(*columns.values(), strict=True)]
    return json.dumps(records, indent=1, allow_nan=False) + "\n"


def write_csv(columns: Columns, path: str | os.PathLike[str]) -> None:
    """Write a CSV file (UTF-8)."""
    _replace(path, lambda draft: _write_text(draft, csv_lines(columns)))


def write_json(columns: Columns, path: str | os.PathLike[str]) -> None:
    """Write a JSON file."""
    text = json_text(columns)
    _replace(path, lambda draft: _write_text(draft, [text]))


def write_parquet(columns: Columns, path: str | os.PathLike[str]) -> None:
    """Write a Parquet file; columns of mixed types become text.

    Raises
    ------
    MissingExtra
        If pyarrow is not installed.
    """
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as error:
        raise MissingExtra(
            "Parquet files need pyarrow, which is not installed; install it with: pip install 'boids-opt[parquet]'"
        ) from error
    content = pyarrow.table({name: _typed(cells, pyarrow) for name, cells in columns.items()})
    _replace(path, lambda draft: parquet.write_table(content, draft))


def write_bytes(content: bytes, path: str | os.PathLike[str]) -> None:
    """Write a file as a whole or not at all."""

    def write(draft: str) -> None:
        with open(draft, "xb") as file:
            file.write(content)

    _replace(path, write)


def _spread(point: Mapping[str, Any] | Sequence[Any] | np.ndarray[Any, Any]) -> Iterator[tuple[str, Any]]:
    """Yield heading and value of every parameter of a point."""
    if not isinstance(point, Mapping):
        yield from ((f"x{place}", _plain(value)) for place, value in enumerate(point))
        return
    for name, value in point.items():
        if isinstance(value, (np.ndarray, list, tuple)) and np.ndim(value) == 1:
            yield from ((f"{name}[{place}]", _plain(item)) for place, item in enumerate(value))
        else:
            yield name, _plain(value)


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, (np.generic, np.ndarray)) and np.size(value) == 1 else value


def _item(values: Sequence[float] | None, place: int) -> float | None:
    return None if values is None or place >= len(values) else values[place]


def _csv_cell(cell: Any) -> str:
    if cell is None:
        return ""
    text = cell if isinstance(cell, str) else repr(cell)
    # The csv module leaves a carriage return alone, which its own reader then takes for the end of the line.
    special = not text or text != text.strip() or any(character in text for character in ',"\r\n')
    return f'"{text.replace(chr(34), chr(34) * 2)}"' if special else text


def _json_cell(cell: Any) -> Any:
    if isinstance(cell, float):
        return cell if math.isfinite(cell) else None
    return cell if cell is None or isinstance(cell, (bool, int, str)) else str(cell)


def _typed(cells: Sequence[Any], pyarrow: Any) -> Any:
    """Return a column as an Arrow array of one type."""
    kinds = {type(cell) for cell in cells if cell is not None}
    if kinds == {int, float}:
        return pyarrow.array([None if cell is None else float(cell) for cell in cells], pyarrow.float64())
    types = {bool: pyarrow.bool_(), int: pyarrow.int64(), float: pyarrow.float64()}
    if len(kinds) == 1 and (kind := kinds.pop()) in types:
        with suppress(OverflowError):  # integers beyond 64 bits become text
            return pyarrow.array(cells, types[kind])
    text = [cell if cell is None or isinstance(cell, str) else str(cell) for cell in cells]
    return pyarrow.array([_unicode(cell) for cell in text], pyarrow.string())


def _unicode(cell: str | None) -> str | None:
    return None if cell is None else cell.encode("utf-8", "backslashreplace").decode()


def _write_text(path: str, parts: Iterable[str]) -> None:
    with open(path, "x", encoding="utf-8", errors="backslashreplace", newline="") as file:
        file.writelines(parts)


def _replace(path: str | os.PathLike[str], write: Callable[[str], object]) -> None:
    """Write a file beside the target and move it over it."""
    try:
        target = os.path.realpath(path)
        draft = os.path.join(os.path.dirname(target), f".{secrets.token_hex(8)}.tmp")
        try:
            write(draft)
            descriptor = os.open(draft, os.O_RDWR)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
            os.replace(draft, target)
        finally:
            with suppress(OSError):
                os.unlink(draft)
    except (OSError, ValueError) as error:  # a ValueError for a name that no file can have
        reason = getattr(error, "strerror", None) or error
        raise StoreError(f"The file {os.fspath(path)!r} cannot be written: {reason}.") from error
