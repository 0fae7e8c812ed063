"""What a process offers to the function besides its argument: a working directory, standard streams, memory."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import final


@final
class Surroundings:
    """The working directory and the standard streams that every evaluation begins with, whatever the last one did.

    Parameters
    ----------
    folder
        The working directory; None leaves it as it is.
    """

    def __init__(self, folder: str | None) -> None:
        self._folder = folder
        self._streams = {name: getattr(sys, name) for name in ("stdout", "stderr")}
        self._copies: dict[int, int] = {}
        for number in (1, 2):
            with suppress(OSError):  # there is none
                self._copies[number] = os.dup(number)

    def restore(self) -> None:
        """Put everything back; OSError if the working directory is gone."""
        for number, copy in self._copies.items():
            with suppress(OSError):  # the function has closed all files it could find
                os.dup2(copy, number)
        for number, (name, stream) in enumerate(self._streams.items(), start=1):
            if stream is not None and stream.closed:
                stream = self._streams[name] = open(  # noqa: SIM115 - for as long as the process lives
                    number, "w", encoding="utf-8", errors="backslashreplace", closefd=False
                )
            setattr(sys, name, stream)
        if self._folder is not None:
            os.chdir(self._folder)


def current_folder() -> str | None:
    """Return the working directory; None if it was deleted."""
    try:
        return os.getcwd()
    except OSError:
        return None


def flush() -> None:
    """Write out what is waiting in the standard streams."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError, OSError, ValueError):  # none, gone, or closed
            stream.flush()


def resident_memory() -> int:
    """Return how much memory the process occupies, in bytes: on Linux now, elsewhere the most so far, or 0."""
    with suppress(OSError, ValueError, IndexError), open("/proc/self/statm", "rb") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    if sys.platform == "darwin":
        import resource

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return 0
