"""Workers that are fresh Python processes, for systems that cannot fork and libraries that cannot be forked."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from typing import Any, final

from boids.isolation.surroundings import current_folder
from boids.isolation.worker import Function, describe_ending, reset_signals, work
from boids.process_group import end_group
from boids.values import describe_error


@final
class Spawner:
    """Workers that are fresh Python processes."""

    def __init__(self, fun: Function) -> None:
        self.pid = 0
        self._fun = fun
        self._folder = current_folder()
        self._owner = os.getpid()
        self._context = multiprocessing.get_context("spawn")
        self._worker: tuple[Any, Connection[Any, Any]] | None = None
        self._is_ready = False

    @property
    def sentinel(self) -> Any:
        """Becomes ready when the worker is dead."""
        return None if self._worker is None else self._worker[0].sentinel

    def connect(self) -> Connection[Any, Any]:
        """Return the connection to the worker, started anew if need be."""
        if self._worker is not None and self._is_ready and not self._worker[0].is_alive():
            self.end()
        self.start()
        if self._worker is None:
            raise ValueError("The worker was ended while it started.")
        if not self._is_ready:
            self._await_start(self._worker[1])
        return self._worker[1]

    def start(self) -> None:
        """Start a worker if there is none; it makes its imports while we go on."""
        if self._worker is None:
            point, its_point = self._context.Pipe()
            # As a daemon, for multiprocessing waits at exit for all others, before our finalizer may have its turn.
            process = self._context.Process(target=_main, args=(self._fun, its_point, self._folder), daemon=True)
            try:
                process.start()
            except Exception as error:
                point.close()
                raise ValueError(
                    f"{self._fun!r} cannot be sent to a new process ({describe_error(error)}); define it at the top "
                    "level of a module, or use start_method='fork'."
                ) from None
            finally:
                its_point.close()
            self._worker, self._is_ready, self.pid = (process, point), False, process.pid or 0

    def _await_start(self, point: Connection[Any, Any]) -> None:
        """Wait until the worker has made its imports, which must not count as time of an evaluation."""
        try:
            point.recv()
            self._is_ready = True
        except (EOFError, OSError):
            code = self.end()
            ending = describe_ending(code)
            raise ValueError(
                f"The new process for {self._fun!r} {ending} before it could begin; standard error says why. A script "
                "that spawns processes needs `if __name__ == '__main__':`."
            ) from None
        except BaseException:
            self.end()
            raise

    def begin_to_end(self) -> None:
        """Ask the worker and everything it has started to end, and do not wait for it."""
        if sys.platform != "win32" and self._worker is not None and os.getpid() == self._owner:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._worker[0].pid, signal.SIGTERM)

    def end(self) -> int | None:
        """End the worker and everything it has started, and return its exit code."""
        if self._worker is None:
            return None
        process, point = self._worker
        self._worker = None
        try:
            _end(process)
            process.join()
            code: int | None = process.exitcode
        finally:
            point.close()
        process.close()
        return code

    def stop(self) -> None:
        """End the worker."""
        if os.getpid() == self._owner and self._worker is not None:
            _end(self._worker[0])

    def close(self) -> None:
        """Collect the worker."""
        if os.getpid() == self._owner:
            self.end()


def _end(process: Any) -> None:
    if sys.platform != "win32":
        end_group(process.pid, reap=process.is_alive)
    process.kill()  # where there are no groups, or it has not come to leading one


def _main(fun: Function, connection: Connection[Any, Any], folder: str | None) -> None:
    if sys.platform != "win32":
        os.setsid()
        reset_signals()
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_die_with, args=(parent.sentinel,), daemon=True).start()
    connection.send("ready")
    work(fun, connection, folder, is_one_of_many=False)  # a fresh process draws numbers of its own


def _die_with(sentinel: int) -> None:
    """End this process and its children when the caller is gone."""
    wait([sentinel])
    if sys.platform != "win32":
        os.killpg(0, signal.SIGKILL)
    os._exit(1)
