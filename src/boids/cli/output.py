"""How things are written: tables and JSON to stdout, notes to stderr, and nothing else where programs read."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from typing import Any, TextIO

import click
from rich import box
from rich.console import Console
from rich.table import Table

_WIDEST, _NO_END = 100, 10_000
_LONGEST = 300


def emit(*lines: Any) -> None:
    """Write strings and rich's tables to stdout; long strings are left to the terminal to wrap, and can be copied."""
    _emit(_WIDEST, lines)


def emit_wide(*lines: Any) -> None:
    """Write tables whose lines are as long as their content, which is left to the terminal to wrap."""
    _emit(None, lines)


def _emit(widest: int | None, lines: tuple[Any, ...]) -> None:
    # Captured first, for rich ends the program on its own terms if the reader of a pipe has gone.
    console = Console(file=sys.stdout, highlight=False, markup=False)
    console.width = _NO_END if widest is None else min(console.width, widest)
    with console.capture() as captured:
        for line in lines:
            console.print(line, soft_wrap=isinstance(line, str))
    write("\n".join(line.rstrip() for line in captured.get().split("\n")))


def emit_json(document: Any) -> None:
    """Write one line of strict JSON to stdout."""
    write(json.dumps(document, allow_nan=False) + "\n")


def write(text: str) -> None:
    """Write a text to stdout."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:  # `boids problems | head -1` has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise click.exceptions.Exit(141) from None  # as if ended by SIGPIPE


def note(line: str) -> None:
    """Write a line to stderr."""
    click.echo(line, err=True)


def one_line(text: str) -> str:
    """Return somebody else's words in one line, cut, and without what a terminal would obey."""
    words = "".join(each if each.isprintable() else "?" for each in " ".join(text.split()))
    return words if len(words) <= _LONGEST else words[: _LONGEST - 1] + "…"


def table(*headings: str) -> Table:
    """Return an empty table in the style of all lists."""
    made = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1, 0, 0), header_style="cyan")
    for number, heading in enumerate(headings):
        made.add_column(heading, no_wrap=number == 0, overflow="fold", style="bold" if number == 0 else "")
    return made


def facts() -> Table:
    """Return an empty table of facts, each with a name."""
    made = Table.grid(padding=(0, 2))
    made.add_column(style="cyan", no_wrap=True)
    made.add_column(overflow="fold")
    return made


@contextmanager
def nothing_but_json(active: bool) -> Iterator[TextIO]:
    """While `active`, send to stderr whatever else is printed: by the objective, by C code, by child processes.

    The stream that is given is stdout all the same.
    """
    former = sys.stdout
    if not active:
        yield former
        return
    former.flush()
    with redirect_stdout(sys.stderr):
        stdout = _descriptor(sys.__stdout__)
        if stdout is None:
            yield former
            return
        kept = os.dup(stdout)
        is_real = _descriptor(former) == stdout  # else somebody has put a stream of his own in its place
        stream = open(kept, "w", encoding="utf-8", errors="replace", closefd=False) if is_real else former  # noqa: SIM115
        os.dup2(2, stdout)
        try:
            yield stream
        finally:
            if is_real:
                _close(stream)
            os.dup2(kept, stdout)
            os.close(kept)


def _descriptor(stream: TextIO | None) -> int | None:
    try:
        return None if stream is None else stream.fileno()
    except (OSError, ValueError):  # not a real file, or closed
        return None


def _close(stream: TextIO) -> None:
    try:
        stream.close()
    except OSError:  # the reader has gone
        return
