"""Saving a run while it goes, without slowing it down."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from pathlib import Path
from typing import Any, final

from boids import plain
from boids.cli.errors import InputError
from boids.cli.output import note
from boids.cli.record import RUNNING, RunRecord
from boids.cli.targets import Memory
from boids.errors import StoreError
from boids.optimizer import Optimizer

FOLDER = "boids-runs"

#: Seconds between two saves, and the share of the time that saving may take.
_INTERVAL, _SHARE = 3.0, 0.02


@final
class Saver:
    """Keeps the snapshot of a run up to date.

    Parameters
    ----------
    path
        Where to save, absolute, for the current folder may change; None for nowhere.
    record
        What is saved beside the optimizer.
    memory
        An objective whose state is saved, too.
    """

    def __init__(
        self, optimizer: Optimizer, path: Path | None, record: RunRecord, memory: Memory | None = None
    ) -> None:
        self.record = record
        self._path = path
        self._optimizer = optimizer
        self._memory = memory
        self._next = 0.0
        self._warned = False

    def settle(self) -> None:
        """Take note that evaluations have been told.

        What an objective remembers is taken now, not when saving: an evaluation that is cut is made again later, and
        must find everything as it was.
        """
        if self._memory is not None:
            self.record = replace(self.record, memory=self._memory.state())

    def save(self, status: str) -> None:
        """Write the snapshot."""
        if self._path is None:
            return
        meta: dict[str, Any] = plain.encode(replace(self.record, status=status), RunRecord, [], "meta")
        begun = time.monotonic()
        try:
            self._optimizer.save(self._path, meta=meta)
        finally:
            spent = time.monotonic() - begun
            self._next = begun + spent + max(_INTERVAL, spent / _SHARE)
            self._optimizer.add_time("other", spent)

    def save_if_due(self) -> None:
        """Write the snapshot if the last one is old; a full disk is no reason to end the run."""
        if time.monotonic() < self._next:
            return
        try:
            self.save(RUNNING)
        except StoreError as error:
            if not self._warned:
                note(f"boids: {error} The run goes on.")
            self._warned = True


def new_path(run_id: str, save: str | None) -> str:
    """Return where a new run goes; a file that exists is somebody's results."""
    if save is None:
        try:
            os.makedirs(FOLDER, exist_ok=True)
        except OSError as error:
            reason = error.strerror or error
            raise StoreError(
                f"The folder {FOLDER!r} cannot be made ({reason}); use --save FILE or --no-store."
            ) from error
        return os.path.join(FOLDER, f"{run_id}.npz")
    if os.path.lexists(save):
        raise InputError(f"--save {save}: it exists already; choose another name, or continue it with `boids resume`.")
    return save
