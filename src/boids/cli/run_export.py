"""`boids export`: the trials of a run as a table for other programs."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Literal, TypeAlias, get_args

from boids.cli import shelf
from boids.cli.output import write
from boids.errors import InputError
from boids.store import export as tables

Form: TypeAlias = Literal["csv", "json", "parquet"]

_WRITE = {"csv": tables.write_csv, "json": tables.write_json, "parquet": tables.write_parquet}


def chosen(given: Mapping[str, bool], output: str | None) -> Form:
    """Return the form that was asked for; if none was, that of the file's name, or else CSV."""
    forms: list[Form] = [form for form in get_args(Form) if given[form]]
    if len(forms) > 1:
        raise InputError(f"--{forms[0]} and --{forms[1]} exclude each other; give one of them.")
    ending = "" if output is None else os.path.splitext(output)[1].lower().removeprefix(".")
    form: Form = forms[0] if forms else "json" if ending == "json" else "parquet" if ending == "parquet" else "csv"
    if form == "parquet" and output is None:
        raise InputError("--parquet is not for the screen; name a file with --output FILE.")
    return form


def export(store: str, given: str | None, *, form: Form, output: str | None) -> None:
    """Write all trials of a run, the latest if none is given, to a file or to stdout."""
    if output is not None:
        _refuse_store(store, output)
    stored = shelf.read(store, shelf.found_or_latest(store, given))
    space = shelf.space_of(stored)
    columns = tables.table(stored.rows, [space.decode(row.unit) for row in stored.rows])
    if output is not None:
        _WRITE[form](columns, output)
    elif form == "json":
        write(tables.json_text(columns))
    else:
        write("".join(tables.csv_lines(columns)))


def _refuse_store(store: str, output: str) -> None:
    """Refuse to write over the runs themselves."""
    if os.path.realpath(store) == os.path.realpath(output):
        raise InputError(f"--output {output}: that is the store itself; choose another file.")
