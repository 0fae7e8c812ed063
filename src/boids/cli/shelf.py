"""Runs in a store as commands see them: found by part of their names, read, and refused with one sentence."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from boids import packing, plain, recording, run_file
from boids.cli.names import default_store
from boids.cli.record import RunRecord
from boids.errors import StoreError
from boids.space import Space
from boids.stopping import StopReason

if TYPE_CHECKING:
    from boids.run import Run
    from boids.store import RunSummary, StoredRun


def runs(store: str) -> list[RunSummary]:
    """Return all runs, oldest first; none if the default store is not there yet."""
    from boids.store import Store

    if store == default_store() and not os.path.lexists(store):
        return []
    return Store(store).runs()


def find(store: str, given: str) -> str:
    """Return the id of the run that is meant by its id, or by the beginning or end of it."""
    from boids.store import Store

    return Store(store).find(given)


def read(store: str, run_id: str) -> StoredRun:
    """Return all of a run."""
    from boids.store import Store

    return Store(store).read(run_id)


def restored(store: str, stored: StoredRun) -> Run:
    """Return a run that was read, as it was written down last."""
    return recording.restored(stored, store)


def space_of(stored: StoredRun) -> Space:
    """Return the space of a run, whatever its method is."""
    with run_file.explained(f"The run {stored.head.id!r}"):
        content, arrays = packing.unpack(stored.head.setup)
        setup: run_file.SavedSetup = plain.decode(content["setup"], run_file.SavedSetup, arrays, "setup")
        return Space.from_manifest(setup.space)


def found_or_latest(store: str, given: str | None) -> str:
    """Return the id of the run that `given` stands for, or of the one that was begun last."""
    return latest(store) if given is None else find(store, given)


def latest(store: str) -> str:
    """Return the id of the run that was begun last."""
    known = runs(store)
    if not known:
        raise StoreError(f"There is no run in {store!r} yet; `boids run` begins one.")
    return known[-1].id


def latest_unfinished(store: str) -> str:
    """Return the id of the latest run to resume: one that Python code has begun only if there is no other."""
    unfinished = [each for each in runs(store) if not reason_of(each.status).is_final]
    waiting = [each for each in unfinished if not each.active]
    for each in reversed(waiting):
        if record_of(read(store, each.id)) is not None:
            return each.id
    if unfinished and not waiting:
        refuse_if_active(store, unfinished[-1].id)
    if not waiting:
        raise StoreError(f"There is no unfinished run in {store!r}; `boids runs` lists all of them.")
    return waiting[-1].id


def refuse_if_active(store: str, run_id: str) -> None:
    """Say who carries a run out, if somebody does, before anything else is made ready."""
    from boids.store import Store

    shelf = Store(store)
    if shelf.is_active(run_id):
        _, writer = shelf.resume(run_id)  # knows who it is, and says so
        writer.close()  # or else has ended just now


def reason_of(status: str) -> StopReason:
    """Return why a run ended; a word of somebody else's for the end of a run is as good as none."""
    try:
        return StopReason(status)
    except ValueError:
        return StopReason.RUNNING


def record_of(stored: StoredRun) -> RunRecord | None:
    """Return what was kept beside the optimizer; None if the run was not begun by `boids run`."""
    return RunRecord.of(stored.meta) if stored.meta.get("class") == RunRecord.__name__ else None


def record_to_resume(store: str, stored: StoredRun) -> RunRecord:
    """Return what was kept beside the optimizer, or say how else to go on."""
    run_id = stored.head.id
    try:
        record = record_of(stored)
    except StoreError as error:
        raise StoreError(f"The run {run_id!r} cannot be resumed: {error}") from error
    if record is None:
        raise StoreError(
            f"The run {run_id!r} was not begun by `boids run`, so its objective is not known; go on with it in Python, "
            f"with boids.minimize(…, store={store!r}, run_id={run_id!r})."
        )
    return record
