"""What runs in the other process: a loop that takes a point, calls the function and sends what came of it."""

from __future__ import annotations

import os
import signal
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any, TypeAlias

from boids.values import describe_error

Function: TypeAlias = Callable[[Any], Any]


def work(fun: Function, connection: Connection[Any, Any]) -> None:
    """Run a worker: answer points until the caller hangs up."""
    with open(os.devnull, encoding="utf-8") as nothing:
        sys.stdin = nothing  # the terminal is the caller's
        while True:
            try:
                params = connection.recv()
            except (EOFError, OSError):
                return
            answer = _answer(fun, params)
            flush()
            try:
                connection.send(answer)
            except OSError:
                return
            except Exception as error:  # raised before anything was sent
                reason = f"which cannot be passed between processes ({describe_error(error)})."
                connection.send((False, f"The function returned a {type(answer[1]).__name__}, {reason}", ""))


def _answer(fun: Function, params: Any) -> tuple[bool, Any, str]:
    """Return whether the function returned, what it returned or what went wrong, and details of that."""
    try:
        return True, fun(params), ""
    except BaseException as error:  # sys.exit in a simulator's wrapper is a failed evaluation
        return False, describe_error(error), traceback.format_exc()


def reset_signals() -> None:
    """Do what starting a program would: signals that the caller handles get their usual effect again."""
    signal.set_wakeup_fd(-1)
    for number in signal.valid_signals():
        if callable(signal.getsignal(number)):
            signal.signal(number, signal.SIG_DFL)
    if hasattr(signal, "SIGCHLD"):  # where it is ignored there are no exit codes
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)


def flush() -> None:
    """Write out what is waiting in the standard streams."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError, OSError, ValueError):  # none, gone, or closed
            stream.flush()
