"""Workers by fork, also when threads run: they are forked from a keeper process, which has none.

::

    caller ── control ──> keeper ── forks ──> worker, which calls the function
       └──────────── point, answer ─────────────┘

The keeper is forked when the function is wrapped, before the caller starts threads (a progress line, those of BLAS) if
it can be helped: a fork copies locks in the state in which other threads hold them, and nobody is left to open them.
The keeper runs no threads and never the function, so workers can be forked from it at any time, after a crash say. It
alone signals and collects workers, with everything that they have started, and ends with them when the caller is gone,
however that came about.
"""

from __future__ import annotations

import multiprocessing
import os
import socket
import time
import traceback
import warnings
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from typing import Any, NoReturn, final

from boids.isolation.family import adopt_orphans, death_of, die_with, end_descendants
from boids.isolation.surroundings import current_folder, flush
from boids.isolation.worker import Function, reset_signals, work
from boids.process_group import end_group

#: Seconds between two looks of the keeper at whether caller and worker still live, where the system does not tell.
_CHECK = 1.0
_START, _END, _QUIT = b"s", b"e", b"q"


@final
class Keeper:
    """The caller's side of a keeper process."""

    def __init__(self, fun: Function, is_one_of_many: bool = False) -> None:
        self.pid = 0
        self._arguments = fun, current_folder(), is_one_of_many
        self._owner = os.getpid()
        self._keeper = 0
        self._control: socket.socket | None = None
        self._worker: tuple[Connection[Any, Any], Connection[Any, Any]] | None = None
        self._is_ending = False
        self._fork()

    @property
    def sentinel(self) -> Any:
        """Has the exit code to read when the worker is dead."""
        return None if self._worker is None else self._worker[1]

    def connect(self) -> Connection[Any, Any]:
        """Return the connection to the worker; let the keeper fork a new one if need be."""
        if self._worker is not None and any(end.poll() for end in self._worker):  # died since the last evaluation
            self.end()
        if self._worker is None:
            self.pid, self._is_ending = 0, False
            point, its_point = multiprocessing.Pipe()
            exit_code, its_exit_code = multiprocessing.Pipe(duplex=False)
            self._worker = point, exit_code
            try:
                self._send(_START, its_point.fileno(), its_exit_code.fileno())
            except OSError:  # the keeper is lost, killed by somebody
                self._forget_keeper()
                self._fork()
                self._send(_START, its_point.fileno(), its_exit_code.fileno())
            its_point.close()
            its_exit_code.close()
        return self._worker[0]

    def start(self) -> None:
        """Let the keeper fork a worker if there is none."""
        self.connect()

    def begin_to_end(self) -> None:
        """Tell the keeper to end the worker, and do not wait for it."""
        if self._worker is not None and not self._is_ending and os.getpid() == self._owner:
            self._is_ending = True
            with suppress(OSError):  # the keeper is lost
                self._send(_END)

    def end(self) -> int | None:
        """Let the keeper end the worker, and return the exit code that it reports."""
        if self._worker is None:
            return None
        self.begin_to_end()
        point, exit_code = self._worker
        self._worker = None
        try:
            self.pid, code = exit_code.recv()
        except (EOFError, OSError):
            return None
        else:
            return int(code)
        finally:
            point.close()
            exit_code.close()

    def stop(self) -> None:
        """End the keeper, and with it the worker."""
        if os.getpid() != self._owner:  # a copy, in a process that was forked from the caller
            return
        # A word, for closing says nothing while a process that was forked later has a copy of the socket.
        with suppress(OSError):
            self._send(_QUIT)
        self._forget_keeper()

    def close(self) -> None:
        """Close the connection."""
        for end in self._worker or ():
            end.close()
        self._worker = None

    def _send(self, message: bytes, *handles: int) -> None:
        if self._control is not None:
            socket.send_fds(self._control, [message], handles)

    def _forget_keeper(self) -> None:
        if self._control is not None:
            self._control.close()
            self._control = None
            with suppress(ChildProcessError):  # somebody else has collected it
                os.waitpid(self._keeper, 0)

    def _fork(self) -> None:
        ours, theirs = socket.socketpair()
        flush()  # or the copies of what is waiting to be written would be written too
        caller = os.getpid()
        self._keeper = _fork()
        if self._keeper == 0:
            ours.close()
            _never_return(_keep, self._arguments, theirs, caller)
        theirs.close()
        self._control = ours


def _fork() -> int:
    """Fork, without a warning of threads: it comes as early as the caller lets it, and the keeper takes no locks."""
    with warnings.catch_warnings():
        for category in (DeprecationWarning, RuntimeWarning):  # Python's, and that of JAX once it has been used
            warnings.filterwarnings("ignore", message=".*multi-?threaded", category=category)
        return os.fork()


def _keep(arguments: tuple[Function, str | None, bool], control: socket.socket, caller: int) -> None:
    """Run the keeper: fork a worker, end it, say how it ended, as the caller wants it."""
    os.setsid()  # a terminal's Ctrl-C is the caller's business
    reset_signals()
    adopt_orphans()
    death_of_caller = death_of(caller)
    worker: _Worker | None = None
    try:
        while os.getppid() == caller:
            message = b""
            signs = [control, death_of_caller, None if worker is None else worker.death]
            if control in wait([sign for sign in signs if sign is not None], _CHECK):
                message, handles, _, _ = socket.recv_fds(control, 1, 2)
                if message == _START:
                    worker = _Worker(arguments, control, *handles)
                elif message != _END:
                    break
            if worker is not None and (message == _END or worker.poll() is not None):
                worker.end()
                worker = None
    finally:
        if worker is not None:
            worker.end()


@final
class _Worker:
    """A worker process, as its keeper sees it."""

    def __init__(
        self, arguments: tuple[Function, str | None, bool], control: socket.socket, point: int, exit_code: int
    ) -> None:
        fun, folder, is_one_of_many = arguments
        self._code: int | None = None
        self._report = Connection(exit_code, readable=False)
        keeper = os.getpid()
        self._pid = _fork()
        if self._pid == 0:
            die_with(keeper)
            control.close()
            self._report.close()
            os.setpgid(0, 0)
            os.set_inheritable(point, False)
            _never_return(work, fun, Connection(point), folder, is_one_of_many)
        with suppress(OSError):  # both set it, for either may come first
            os.setpgid(self._pid, self._pid)
        os.close(point)
        self.death = death_of(self._pid)

    def poll(self) -> int | None:
        """Collect dead processes, and return the worker's exit code, None while it runs."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return self._code
            if pid == 0:
                return self._code
            if pid == self._pid:  # the others were adopted
                self._code = os.waitstatus_to_exitcode(status)

    def end(self) -> None:
        """End the process and everything it has started, and report its exit code; a dead one keeps its own."""
        end_group(self._pid, reap=self.poll)
        while self.poll() is None:
            time.sleep(0.001)
        end_descendants(reap=self.poll)
        if self.death is not None:
            os.close(self.death)
        with suppress(OSError):  # the caller is gone
            self._report.send((self._pid, self._code))
        self._report.close()


def _never_return(main: Callable[..., None], *arguments: Any) -> NoReturn:
    """Run the main function of a forked process, and end it: the caller's code must not go on in a second process."""
    code = 1
    try:
        main(*arguments)
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        flush()
        os._exit(code)
