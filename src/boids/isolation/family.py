"""The processes that a function has started, also those that have left its process group; complete on Linux.

A process whose parent dies becomes the child of the nearest ancestor that adopts orphans. If the keeper of a worker
does, everything that the worker has ever started is found among the keeper's descendants, daemons too. On other
systems nothing is found here, and what has left the group of its worker lives on.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from boids.process_group import GRACE

# From <linux/prctl.h>.
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
_PAUSE = 0.005


def adopt_orphans() -> None:
    """Make this process the parent of all its descendants whose parents die."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def die_with(parent: int) -> None:
    """Let the system kill this process when its parent, which has no threads, is dead."""
    if sys.platform == "linux":
        _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # too late to be told
        os._exit(1)


def death_of(pid: int) -> int | None:
    """Return a file descriptor that becomes ready to read when a process dies; None where there is no such thing."""
    if sys.platform == "linux" and hasattr(os, "pidfd_open"):
        with suppress(OSError):
            return os.pidfd_open(pid)
    return None


def end_descendants(reap: Callable[[], object], grace: float = GRACE) -> None:
    """Ask all descendants of this process to end, and kill those that have not after `grace` seconds.

    Parameters
    ----------
    reap
        Collects dead children without waiting.
    """
    deadline, asked = time.monotonic() + grace, set[int]()
    while family := descendants(os.getpid()):
        is_late = time.monotonic() >= deadline
        for pid in family if is_late else family - asked:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL if is_late else signal.SIGTERM)
        asked |= family
        time.sleep(_PAUSE)
        reap()
        if time.monotonic() > deadline + grace:  # the system has lost hold of them
            return


def descendants(ancestor: int) -> set[int]:
    """Return the process ids of the living children of a process, of theirs, and so on; Linux only."""
    children: dict[int, list[int]] = {}
    alive: set[int] = set()
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, parent = path.read_bytes().rpartition(b")")[2].split()[:2]
        except (OSError, ValueError):  # ended meanwhile
            continue
        pid = int(path.parent.name)
        children.setdefault(int(parent), []).append(pid)
        if state not in b"ZX":
            alive.add(pid)
    found: set[int] = set()
    waiting = [ancestor]
    while waiting:
        more = set(children.get(waiting.pop(), ())) - found
        found |= more
        waiting.extend(more)
    return found & alive


def _prctl(option: int, value: int) -> None:
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):  # a C library of another kind
            ctypes.CDLL(None).prctl(option, value, 0, 0, 0)
