"""`isolate`: the caller's side of a function that is evaluated in another process."""

from __future__ import annotations

import math
import os
import threading
import time
import weakref
from multiprocessing.connection import Connection, wait
from typing import Any, final

from boids.errors import EvaluationError
from boids.isolation.host import Host, StartMethod, checked_start_method, checked_timeout, make_host
from boids.isolation.worker import Answer, Function, describe_ending, receive

#: Seconds to wait at a time: the system's calls count in milliseconds, and not beyond 2^31 of them.
_LONGEST_WAIT = 86400.0


def isolate(fun: Function, *, timeout: float | None = None, start_method: StartMethod | None = None) -> Isolated:
    """Return `fun` as a callable that evaluates it in another process, and outlives whatever it does there.

    An evaluation that crashes its process, ends it or takes too long becomes an `EvaluationError`, as does an exception
    of the function; its traceback is a note of the error. The process is used again for the next evaluation, unless it
    had to be ended; everything that the function has started ends with it. Every evaluation begins in the folder in
    which the function was wrapped. Wrap a function early, before threads are
    started, and close the wrapper when done, best in a ``with`` statement.

    Parameters
    ----------
    fun
        The objective. What it returns must be something that `multiprocessing` can pass on.
    timeout
        Seconds that an evaluation may take; None is no limit.
    start_method
        "fork" where the system has it: any function will do, also a lambda. "spawn": a fresh process that imports the
        function, which must be at the top level of a module; for a caller whose libraries cannot be forked (CUDA, JAX).

    Examples
    --------
    >>> with isolate(lambda x: x**2, timeout=60.0) as square:
    ...     square(3.0)
    9.0
    """
    return Isolated(fun, timeout=timeout, start_method=start_method)


@final
class Isolated:
    """A function that is evaluated in another process, one evaluation at a time; see `isolate`.

    Threads take turns: for evaluations at the same time, wrap the function once per thread. A copy that is sent to
    another process has a worker of its own there.
    """

    def __init__(self, fun: Function, *, timeout: float | None = None, start_method: StartMethod | None = None) -> None:
        if not callable(fun):
            raise ValueError(f"fun must be callable, got {fun!r}.")
        self.fun = fun
        self.timeout = checked_timeout(timeout)
        self.start_method = checked_start_method(start_method)
        self._lock = threading.RLock()  # a signal handler may call `close` in the middle of an evaluation
        self._host = make_host(fun, self.start_method)
        self._finalizer = weakref.finalize(self, _finish, self._host, self._lock)  # also when the interpreter exits
        self._owner = os.getpid()
        if self.start_method == "spawn":
            self._host.connect()  # so that a function that cannot be sent there is refused right away

    def __repr__(self) -> str:
        return f"isolate({self.fun!r}, timeout={self.timeout!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _isolate_again, (self.fun, self.timeout, self.start_method)

    def __call__(self, params: Any) -> Any:
        """Evaluate the function at a point."""
        if os.getpid() != self._owner:
            raise EvaluationError("This isolated function belongs to another process; call isolate() in this one too.")
        with self._lock:
            if not self._finalizer.alive:
                raise EvaluationError("This isolated function has been closed; call isolate() again.")
            connection = self._host.connect()
            try:
                answer = self._exchange(connection, params)
            except (EOFError, OSError):
                ending = describe_ending(self._host.end())
                if not self._finalizer.alive:
                    ending = "was ended, for the isolated function was closed"
                raise EvaluationError(f"The process of the evaluation {ending}.") from None
            except BaseException:  # too late, or interrupted: the worker is still at it
                self._host.end()
                raise
        if answer.returned:
            return answer.value
        error = EvaluationError(answer.value)
        error.add_note(f"In the process of the evaluation:\n{answer.details}")
        raise error

    def __enter__(self) -> Isolated:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """End the other process, and with it an evaluation in another thread; nothing happens the second time."""
        self._finalizer()

    def _exchange(self, connection: Connection[Any, Any], params: Any) -> Answer:
        """Send a point and return the answer; EOFError if the worker is gone."""
        begun = time.monotonic()
        connection.send(params)
        while True:
            left = math.inf if self.timeout is None else begun + self.timeout - time.monotonic()
            if left <= 0.0:
                raise EvaluationError(f"The evaluation took longer than {self.timeout:g} s and was ended.")
            ready = wait([connection, self._host.sentinel], min(left, _LONGEST_WAIT))
            if connection in ready:
                return receive(connection)
            if ready:  # dead, while something that it has started holds its end of the connection
                raise EOFError


def _isolate_again(fun: Function, timeout: float | None, start_method: StartMethod) -> Isolated:
    return Isolated(fun, timeout=timeout, start_method=start_method)


def _finish(host: Host, lock: threading.RLock) -> None:
    host.stop()
    with lock:
        host.close()
