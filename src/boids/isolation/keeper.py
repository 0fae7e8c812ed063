"""Workers by fork, also when threads run: they are forked from a keeper process, which has none.

::

    caller ── control ──> keeper ── forks ──> worker, which calls the function
       └──────────── point, answer ─────────────┘

The keeper is forked when the function is wrapped, before the caller starts threads (a progress line, those of BLAS) if
it can be helped: a fork copies locks in the state in which other threads hold them, and nobody is left to open them.
The keeper runs no threads and never the function, so workers can be forked from it at any time, after a crash say. It
alone signals and collects workers, and ends with them when the caller is gone, however that came about.
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

from boids.isolation.worker import Function, flush, reset_signals, work
from boids.process_group import end_group

#: Seconds between two looks of the keeper at whether caller and worker still live.
_CHECK = 1.0
_START, _END, _QUIT = b"s", b"e", b"q"


@final
class Keeper:
    """The caller's side of a keeper process."""

    def __init__(self, fun: Function) -> None:
        self._fun = fun
        self._owner = os.getpid()
        self._pid = 0
        self._control: socket.socket | None = None
        self._worker: tuple[Connection[Any, Any], Connection[Any, Any]] | None = None
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

    def end(self) -> int | None:
        """Let the keeper end the worker, and return the exit code that it reports."""
        if self._worker is None:
            return None
        point, exit_code = self._worker
        self._worker = None
        try:
            self._send(_END)
            code: int = exit_code.recv()
        except (EOFError, OSError):
            return None
        else:
            return code
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
                os.waitpid(self._pid, 0)

    def _fork(self) -> None:
        ours, theirs = socket.socketpair()
        flush()  # or the copies of what is waiting to be written would be written too
        caller = os.getpid()
        with warnings.catch_warnings():
            # Python warns of threads at a fork. It comes as early as the caller lets it, and the keeper takes no locks.
            warnings.filterwarnings("ignore", message=".*multi-threaded", category=DeprecationWarning)
            self._pid = os.fork()
        if self._pid == 0:
            ours.close()
            _never_return(_keep, self._fun, theirs, caller)
        theirs.close()
        self._control = ours


def _keep(fun: Function, control: socket.socket, caller: int) -> None:
    """Run the keeper: fork a worker, end it, say how it ended, as the caller wants it."""
    os.setsid()  # a terminal's Ctrl-C is the caller's business
    reset_signals()
    worker: _Worker | None = None
    try:
        while os.getppid() == caller:
            message = b""
            if wait([control], _CHECK):
                message, handles, _, _ = socket.recv_fds(control, 1, 2)
                if message == _START:
                    worker = _Worker(fun, control, *handles)
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

    def __init__(self, fun: Function, control: socket.socket, point: int, exit_code: int) -> None:
        self._code: int | None = None
        self._report = Connection(exit_code, readable=False)
        self._pid = os.fork()
        if self._pid == 0:
            control.close()
            self._report.close()
            os.setpgid(0, 0)
            os.set_inheritable(point, False)
            _never_return(work, fun, Connection(point))
        with suppress(OSError):  # both set it, for either may come first
            os.setpgid(self._pid, self._pid)
        os.close(point)

    def poll(self) -> int | None:
        """Return the exit code, None while the process runs."""
        if self._code is None:
            pid, status = os.waitpid(self._pid, os.WNOHANG)
            self._code = os.waitstatus_to_exitcode(status) if pid else None
        return self._code

    def end(self) -> None:
        """End the process and everything it has started, and report its exit code; a dead one keeps its own."""
        end_group(self._pid, reap=self.poll)
        while self.poll() is None:
            time.sleep(0.001)
        with suppress(OSError):  # the caller is gone
            self._report.send(self._code)
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
