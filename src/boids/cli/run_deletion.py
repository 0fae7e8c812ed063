"""`boids delete`: remove a run from a store, if that is really meant."""

from __future__ import annotations

import sys

import click

from boids.cli import shelf
from boids.cli.output import emit, emit_json
from boids.errors import InputError
from boids.store import Store


def delete(store: str, given: str, *, is_sure: bool, as_json: bool) -> None:
    """Delete a run, after a question if there is somebody to ask."""
    run_id = shelf.find(store, given)
    shelf.refuse_if_active(store, run_id)
    if not is_sure:
        if not sys.stdin or not sys.stdin.isatty():
            raise InputError(f"Deleting the run {run_id!r} cannot be undone; say that it is meant with --yes.")
        (summary,) = (each for each in shelf.runs(store) if each.id == run_id)
        if not click.confirm(f"Delete the run {run_id} with its {summary.nfev} evaluations for good?", err=True):
            emit(f"The run {run_id} was not deleted.")
            return
    Store(store).delete(run_id)
    if as_json:
        emit_json({"id": run_id, "deleted": True})
    else:
        emit(f"The run {run_id} was deleted.")
