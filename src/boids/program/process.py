"""One run of a program: in its own folder and process group, with its output in files, and not longer than it may."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, final

from boids.errors import ProgramError
from boids.process_group import describe_exit, end_group

STDOUT, STDERR = "stdout.txt", "stderr.txt"

#: Seconds to wait for a process that was killed; longer only if the system itself has lost hold of it.
_LAST_WAIT = 10.0

if sys.platform == "win32":
    _FLAGS = subprocess.CREATE_NEW_PROCESS_GROUP
else:
    _FLAGS = 0

_running: set[subprocess.Popen[bytes]] = set()


def run(words: Sequence[str], folder: Path, environment: Mapping[str, str], timeout: float | None) -> None:
    """Run a program to its end; if that is not exit code 0, raise a `ProgramError`.

    Nothing of its group is left when this returns, or raises.
    """
    # Files, not pipes: they never fill up, and what was written is there whatever happens.
    with (folder / STDOUT).open("wb") as stdout, (folder / STDERR).open("wb") as stderr:
        start = _Start(words, folder, environment, stdout, stderr)
        try:
            code = start.wait().wait(timeout)
        except subprocess.TimeoutExpired:
            raise ProgramError(f"The program took longer than {timeout:g} s and was ended") from None
        finally:
            start.end()
    if code != 0:
        raise ProgramError(f"The program {describe_exit(code)}")


def end_running() -> None:
    """End all programs that other threads of this process are waiting for; their evaluations fail.

    An interrupt reaches the main thread only. A caller that evaluates in threads and has been interrupted calls this,
    or would have to wait for its programs.
    """
    for process in tuple(_running):
        _end(process)


@final
class _Start(threading.Thread):
    """Starts a program from another thread, in which no signal handler runs.

    In the main thread an interrupt could come when the program runs already, but nobody yet knows its process id.
    """

    def __init__(
        self,
        words: Sequence[str],
        folder: Path,
        environment: Mapping[str, str],
        stdout: IO[bytes],
        stderr: IO[bytes],
    ) -> None:
        super().__init__(name="start of a program")
        self._words, self._folder, self._environment = words, folder, environment
        self._stdout, self._stderr = stdout, stderr
        self._process: subprocess.Popen[bytes] | None = None
        self._error: Exception | None = None
        self._turn = threading.Lock()  # taken by whoever comes first: `run`, or `end` to prevent it
        self._is_over = threading.Event()

    def run(self) -> None:
        """Start the program."""
        if not self._turn.acquire(blocking=False):
            return
        try:
            # S603: no shell is involved, and to run a program of the user's choice is the purpose.
            self._process = subprocess.Popen(  # noqa: S603
                self._words,
                stdin=subprocess.DEVNULL,
                stdout=self._stdout,
                stderr=self._stderr,
                cwd=self._folder,
                env=self._environment,
                start_new_session=True,  # the group; it also keeps a terminal's Ctrl-C to ourselves
                creationflags=_FLAGS,
            )
            _running.add(self._process)
        except (OSError, ValueError) as error:  # ValueError: a word that the system cannot take
            self._error = error
        finally:
            self._is_over.set()

    def wait(self) -> subprocess.Popen[bytes]:
        """Return the process, as soon as the program runs."""
        self.start()
        self._is_over.wait()  # not `join`, which after an interrupt takes a running thread for a finished one
        if self._process is None:
            raise ProgramError(f"The program could not be started: {self._error}")
        return self._process

    def end(self) -> None:
        """End what is left of the program and of everything it has started."""
        if self._turn.acquire(blocking=False):  # interrupted before it was started, and now it never will be
            return
        self._is_over.wait()
        if self._process is not None:
            try:
                _end(self._process)
            finally:
                _running.discard(self._process)


def _end(process: subprocess.Popen[bytes]) -> None:
    if sys.platform == "win32":  # as far as it goes: what the program has started itself lives on
        process.kill()
    elif process.returncode is None or _has_members(process.pid):
        end_group(process.pid, reap=process.poll)
    with suppress(subprocess.TimeoutExpired):
        process.wait(_LAST_WAIT)


def _has_members(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except (ProcessLookupError, PermissionError):
        return False
    return True
