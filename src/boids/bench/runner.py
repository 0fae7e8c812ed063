"""Make many runs, several at a time, each in a process of its own with one thread of linear algebra.

A process of its own per run means that a crash is one run's, that a run which does not come back can be ended at its
time limit, and that runs do not share caches, thread pools or memory.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Protocol, final

from boids.bench import run_log
from boids.bench.carry_out import TAKEN, TIME_LIMIT, end_event, error_event
from boids.bench.environment import THREAD_VARIABLES, commit
from boids.bench.job import Job
from boids.bench.run_log import OpenRun
from boids.errors import MissingExtra, WorkersGone
from boids.process_group import describe_exit, end_group

#: Seconds beyond its time limit after which a run is ended by force: a proposal may take that long.
GRACE_SECONDS = 30.0
GRACE_SHARE = 0.1
#: Seconds that a scheduler has to answer.
CONNECT_SECONDS = 10.0
_PAUSE = 0.05
#: How a run stands that was ended because nobody wanted it any more.
INTERRUPTED = "interrupted"
#: Characters of a dead process's last words.
_LAST_WORDS = 4000


class Watcher(Protocol):
    """Is told how the runs go."""

    def began(self, job: Job) -> None:
        """Hear that a run has been begun."""

    def looked(self, jobs: Iterable[Job]) -> None:
        """Hear now and then which runs are under way."""

    def ended(self, job: Job, status: str) -> None:
        """Hear that a run has ended: with its status, or "taken" if another process carries it out."""


@final
@dataclass(eq=False)
class Child:
    """A process that carries out a run."""

    job: Job
    process: subprocess.Popen[bytes]
    words: IO[bytes]
    begun: float = field(default_factory=time.monotonic)

    @classmethod
    def start(cls, job: Job, folder: Path, of_commit: str | None) -> Child:
        """Start a process for a run."""
        words = tempfile.TemporaryFile()  # noqa: SIM115 - closed by `result`
        limits = dict.fromkeys(THREAD_VARIABLES, "1")
        process = subprocess.Popen(
            [sys.executable, "-m", "boids.bench.carry_out"],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=words,
            env={**os.environ, **limits},
            start_new_session=True,  # Ctrl-C is for the parent, which ends its children itself
        )
        order = {"job": job.to_document(), "folder": os.fspath(folder), "commit": of_commit}
        with suppress(BrokenPipeError):  # it has died already; `result` says of what
            if process.stdin is not None:
                process.stdin.write(json.dumps(order).encode() + b"\n")
                process.stdin.flush()  # and stays open: the child ends when it is closed
        return cls(job, process, words)

    @property
    def is_overdue(self) -> bool:
        """Whether the run is so far beyond its time limit that it will not end by itself."""
        limit = self.job.time_limit
        grace = 0.0 if limit is None else max(GRACE_SECONDS, GRACE_SHARE * limit)
        return limit is not None and time.monotonic() - self.begun > limit + grace

    def end(self) -> None:
        """End the process and what it has started."""
        if sys.platform == "win32":
            self.process.kill()
        else:
            end_group(self.process.pid, self.process.poll)
        self.process.wait()

    def result(self, folder: Path) -> str:
        """Return how the run stands after the end of the process; what that died of is written into the run's file."""
        if self.process.stdin is not None:
            with suppress(BrokenPipeError):
                self.process.stdin.close()
        self.words.seek(0, os.SEEK_END)
        self.words.seek(max(0, self.words.tell() - _LAST_WORDS))
        words = self.words.read().decode(errors="replace").strip()
        self.words.close()
        code = self.process.returncode
        if code == TAKEN:
            return "taken"
        found = run_log.glance(folder / self.job.path)
        if code == 0 or (found is not None and found.status != "unfinished"):  # or it has died after its work
            return "error" if found is None else found.status
        said = words.splitlines()[-1] if words else ""
        self.note(folder, error_event(f"The process of the run {describe_exit(code)}. {said}".strip(), words))
        return "error"

    def note(self, folder: Path, event: dict[str, Any]) -> None:
        """Write an event into the run's file."""
        with OpenRun(folder / self.job.path) as file:
            if file.log is None:
                file.append(self.job.header(None, None))
            file.append(event)


def run_here(
    jobs: Iterable[Job],
    folder: str | os.PathLike[str],
    at_once: int,
    watcher: Watcher,
    is_wanted: Callable[[], bool] = lambda: True,
) -> None:
    """Make runs on this machine, as long as they are wanted; Ctrl-C, too, ends those under way, for another time."""
    place, waiting = Path(folder), iter(jobs)
    of_commit, children = commit(), list[Child]()
    try:
        while is_wanted():
            for job in _next(waiting, at_once - len(children)):
                watcher.began(job)
                children.append(Child.start(job, place, of_commit))
            if not children:
                return
            time.sleep(_PAUSE)
            for child in list(children):
                if child.process.poll() is None and child.is_overdue:
                    child.end()
                    message = "The time limit was reached, and the run was ended by force in the middle of a step."
                    child.note(place, end_event(TIME_LIMIT, message, child.job))
                    child.process.returncode = 0
                if child.process.poll() is not None:
                    children.remove(child)
                    watcher.ended(child.job, child.result(place))
            watcher.looked([child.job for child in children])
    finally:
        for child in children:
            child.end()
            child.words.close()


def run_on_dask(jobs: Iterable[Job], folder: str | os.PathLike[str], address: str, watcher: Watcher) -> None:
    """Make runs on the workers of a Dask cluster, which must see the folder under the same path.

    A run whose worker is lost goes on at another one. Runs under way end, to be continued another time, at Ctrl-C, and
    when the scheduler notices that this process is gone.
    """
    try:
        from distributed import Client, as_completed
    except ImportError as error:
        raise MissingExtra(
            "Runs on a Dask cluster need distributed, which is not installed; install it with: "
            "pip install 'boids-opt[dask]'"
        ) from error
    make_client: Any = Client  # has no types
    try:
        client = make_client(address, timeout=CONNECT_SECONDS, set_as_default=False, name="boids-bench")
    except (OSError, ValueError) as error:
        raise WorkersGone(f"No Dask scheduler answers at {address!r}: {error}; check the address.") from error
    waiting: dict[Any, Job] = {}
    try:
        place, of_commit = os.path.abspath(folder), commit()
        for job in jobs:
            future = client.submit(carry_out_there, job.to_document(), place, of_commit, pure=False)
            waiting[future] = job
        watcher.looked(waiting.values())
        completed: Any = as_completed
        for future in completed(list(waiting), loop=client.loop):
            job = waiting.pop(future)
            watcher.ended(job, str(future.result()) if future.status == "finished" else f"lost: {future.exception()}")
            watcher.looked(waiting.values())
    finally:
        client.cancel(list(waiting))
        client.close()


def carry_out_there(document: dict[str, Any], folder: str, of_commit: str | None) -> str:
    """Make one run where this is called, and return how it stands then; a task of a Dask cluster."""
    endings = Endings()
    run_here([Job.from_document(document)], folder, 1, endings, _is_task_wanted())
    return endings.statuses[0] if endings.statuses else INTERRUPTED


def _is_task_wanted() -> Callable[[], bool]:
    """Return what tells whether anybody still waits for the Dask task that this is called in.

    Dask does not stop the thread of a task that is cancelled. But its worker knows at once: the scheduler tells it when
    the client cancels the task, or is gone.
    """
    from distributed import get_worker

    worker: Any = get_worker()
    key = worker.get_current_task()

    def is_wanted() -> bool:
        task = worker.state.tasks.get(key)
        return task is not None and task.state != "cancelled"

    return is_wanted


@final
@dataclass
class Endings:
    """A watcher that only takes down how runs ended."""

    statuses: list[str] = field(default_factory=list)

    def began(self, job: Job) -> None:
        """Hear that a run has been begun."""

    def looked(self, jobs: Iterable[Job]) -> None:
        """Hear which runs are under way."""

    def ended(self, job: Job, status: str) -> None:
        """Take it down."""
        self.statuses.append(status)


def _next(jobs: Iterator[Job], count: int) -> Iterator[Job]:
    """Yield up to so many more."""
    for _, job in zip(range(count), jobs, strict=False):
        yield job
