"""Runs in a store: begin to write one down, and take one up again."""

from __future__ import annotations

import os
import re
import secrets
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, final

from boids import packing, plain, run_file
from boids.algorithms import Algorithm
from boids.run import Run
from boids.setup import Setup

#: The status of a run that has not come to an end, or was killed.
RUNNING = "running"

if TYPE_CHECKING:
    from boids.store import RunWriter, StoredRun


@final
class Kept:
    """A run that is kept in a store, as long as it is carried out.

    Attributes
    ----------
    id
        What it is called there.
    memory
        What the objective remembered when the run was written down last; None if it has no memory.
    """

    def __init__(self, run: Run, writer: RunWriter, memory: Any = None) -> None:
        self.id = writer.id
        self.memory = memory
        self._run, self._writer = run, writer
        run.journal = writer

    @classmethod
    def new(
        cls,
        store: str | os.PathLike[str],
        run: Run,
        *,
        run_id: str | None = None,
        problem: str = "",
        meta: dict[str, Any] | None = None,
        memory: Callable[[], Any] | None = None,
    ) -> Kept:
        """Write a run down in a store, and keep it up to date there from now on.

        Parameters
        ----------
        run_id
            What it is called; None makes a name.
        problem
            What is minimised, for people.
        meta
            JSON-able facts of the caller's own.
        memory
            What the objective remembers, if it has a memory: as it is before the first evaluation, too.
        """
        from boids.store import RunHead, Store  # only for those who want it, for it imports SQLite

        setup, ledger = run.setup, run.ledger
        arrays: list[plain.AnyArray] = []
        content = run_file.encode_setup(setup, arrays)
        head = RunHead(
            id=new_id(problem or setup.algorithm.name, setup.space.dim) if run_id is None else run_id,
            created=time.time(),
            method=setup.algorithm.name,
            problem=problem,
            dim=setup.space.dim,
            budget=setup.budget,
            seed=setup.seed,
            setup=packing.pack(content, arrays),
        )
        rows = [ledger.row(number) for number in range(len(ledger))]
        first = None if memory is None else memory()
        kept = cls(run, Store(store).create(head, run.snapshot(run.state), meta=meta, memory=first, rows=rows), first)
        if memory is not None:
            kept.remember(memory)
        return kept

    @classmethod
    def found(
        cls, store: str | os.PathLike[str], run_id: str, algorithm: Algorithm[Any] | None = None
    ) -> tuple[Run, dict[str, Any], Kept]:
        """Return a run as it was written down last and the caller's facts, and keep it up to date from now on."""
        from boids.store import Store

        file = Store(store)
        stored, writer = file.resume(file.find(run_id))
        try:
            run = restored(stored, os.fspath(store), algorithm)
            if stored.status != RUNNING and (run.remaining or run.ledger.pending):
                writer.set_status(RUNNING)
        except BaseException:
            writer.close()
            raise
        return run, dict(stored.meta), cls(run, writer, stored.memory)

    def remember(self, state: Callable[[], Any]) -> None:
        """Keep what an objective remembers, too: it is written down together with each outcome."""
        self._writer.memory = state

    def note(self, status: str | None = None, meta: dict[str, Any] | None = None) -> None:
        """Write down how the run stands, or other facts of the caller's."""
        if meta is not None:
            self._writer.set_meta(meta)
        if status is not None:
            self._writer.set_status(status)

    def end(self, status: str | None, best: float | None, feasible: bool | None) -> None:
        """Write down how the run stands, with what is known of its best trial by now, and let go of it."""
        run = self._run
        if status is None:
            ended = "budget" if run.n_asked == run.setup.budget else "space"
            status = RUNNING if run.remaining or run.ledger.pending else ended
        try:
            run.sum_up(best, feasible)
            self.note(status)
        finally:
            self.let_go()

    def let_go(self) -> None:
        """Write no more, so that others can take the run up."""
        self._run.journal = None
        self._writer.close()


def known(store: str | os.PathLike[str], run_id: str, algorithm: Algorithm[Any] | None = None) -> Setup | None:
    """Return what the run of this name in a store is; None if there is none, or no such file yet, or an empty one."""
    from boids.store import Store

    if not os.path.exists(store) or not os.path.getsize(store):
        return None
    file = Store(store)
    if all(each.id != run_id for each in file.runs()):
        return None
    stored = file.read(run_id)
    with run_file.explained(f"The run {run_id!r} in {os.fspath(store)!r}"):
        return setup_of(stored, algorithm)


def copied(store: str | os.PathLike[str], run_id: str) -> tuple[Run, dict[str, Any], str]:
    """Return a run as it was written down last, the caller's facts, and how it stands."""
    from boids.store import Store

    file = Store(store)
    stored = file.read(file.find(run_id))
    return restored(stored, os.fspath(store)), dict(stored.meta), stored.status


def restored(stored: StoredRun, path: str, algorithm: Algorithm[Any] | None = None) -> Run:
    """Return a run as it was written down last."""
    with run_file.explained(f"The run {stored.head.id!r} in {path!r}"):
        return run_file.restored(setup_of(stored, algorithm), stored.rows, stored.snapshot)


def setup_of(stored: StoredRun, algorithm: Algorithm[Any] | None = None) -> Setup:
    """Return what a stored run is."""
    content, arrays = packing.unpack(stored.head.setup)
    return run_file.decode_setup(content, arrays, algorithm)


def new_id(word: str, dim: int) -> str:
    """Return a name for a run: unique, in the order of time, and safe as the name of a file."""
    safe = re.sub(r"[^A-Za-z0-9_]+", "-", word).strip("-")[:24].strip("-") or "run"
    return f"{time.strftime('%Y%m%d-%H%M%S')}-{safe}-{dim}-{secrets.token_hex(4)}"
