"""What the tests of other processes share: waiting, processes that have ended, objectives that do as they are told."""

from __future__ import annotations

import ctypes
import faulthandler
import os
import signal
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path

LONG = 600.0
#: For what should happen soon, on a machine that may be busy.
SOON = 60.0


def wait_for(condition, seconds: float = SOON):
    """Wait until something is true, and return it."""
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.01)
    return found


def is_gone(pid: int) -> bool:
    """Whether a process has ended; nobody but its parent can make a dead one disappear."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return True


def read_lines(path: Path, count: int = 1) -> list[str]:
    """Wait for so many lines in a file, and return all there are."""
    wait_for(lambda: path.exists() and path.read_text().count("\n") >= count)
    return path.read_text().split("\n")[:-1]


def read_pids(path: Path, count: int) -> list[int]:
    return [int(line) for line in read_lines(path, count)]


def note(path: Path, *words: object) -> None:
    """Add lines to a file, each at once."""
    with path.open("ab", buffering=0) as file:
        file.write("".join(f"{word}\n" for word in words).encode())


def gather(workers, count: int, seconds: float = SOON) -> list:
    """Wait for so many evaluations, and return them by key."""
    deadline, found = time.monotonic() + seconds, []
    while len(found) < count:
        assert time.monotonic() < deadline, f"waited in vain; got {found}"
        found += workers.wait(1.0)
    assert len(found) == count
    return sorted(found, key=lambda each: each.key)


@contextmanager
def interrupted_soon():
    """Let Ctrl-C come in a moment."""
    former = signal.signal(
        signal.SIGINT, signal.default_int_handler
    )  # a background job of a shell ignores it from birth
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    try:
        yield
    finally:
        timer.join()
        signal.signal(signal.SIGINT, former)


def act(x):
    """Do what the point says."""
    match x:
        case "segfault":
            faulthandler.disable()  # pytest's, which would fill the screen
            ctypes.string_at(0)
        case "exit":
            os._exit(3)
        case "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        case "raise":
            raise ValueError("bad mesh")
        case "sys.exit":
            sys.exit("no licence")
        case "interrupt":
            raise KeyboardInterrupt
        case "lambda":
            return lambda: None
        case "hang":
            time.sleep(LONG)
        case "spin":
            while True:
                pass
        case "pid":
            return os.getpid()
        case ("sleep", seconds):
            time.sleep(seconds)
        case ("wait", path):
            wait_for(Path(path).exists)
        case ("count", path, then):
            note(Path(path), os.getpid())
            return act(then)
    return x
