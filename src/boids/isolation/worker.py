"""What runs in the other process: a loop that takes a point, calls the function and sends what came of it."""

from __future__ import annotations

import os
import signal
import sys
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any, NamedTuple, NoReturn, TypeAlias

import numpy as np

from boids.isolation.surroundings import Surroundings, flush, resident_memory
from boids.process_group import describe_exit
from boids.values import describe_error

Function: TypeAlias = Callable[[Any], Any]


class Answer(NamedTuple):
    """What came of a call.

    Attributes
    ----------
    returned
        Whether the function returned.
    value
        What it returned, or else what went wrong.
    details
        The traceback of what went wrong.
    interrupted
        Whether it was Ctrl-C that went wrong.
    seconds
        How long the call took.
    pid
        The process in which it took place.
    memory
        Resident memory of the process after the call, in bytes; 0 if it is not known.
    """

    returned: bool
    value: Any
    details: str = ""
    interrupted: bool = False
    seconds: float = 0.0
    pid: int = 0
    memory: int = 0


def call(fun: Function, params: Any) -> Answer:
    """Call the function, and return what came of it, whatever it does.

    A function that forks may let its child return as well: the child ends here, for there is one answer to a call.
    """
    me, begun = os.getpid(), time.perf_counter()
    value, caught = None, None
    try:
        value = fun(params)
    except BaseException as error:  # sys.exit in a simulator's wrapper is a failed evaluation
        caught = error
    seconds = time.perf_counter() - begun
    if os.getpid() != me:
        _end_copy(caught)
    if caught is None:
        return Answer(True, value, seconds=seconds, pid=me, memory=resident_memory())
    details = "".join(traceback.format_exception(caught))
    is_interrupt = isinstance(caught, KeyboardInterrupt)
    return Answer(False, describe_error(caught), details, is_interrupt, seconds, me, resident_memory())


def refused(answer: Answer, error: Exception) -> Answer:
    """Return the answer in place of one whose value cannot be sent."""
    reason = f"which cannot be passed between processes ({describe_error(error)})."
    return answer._replace(returned=False, value=f"The function returned a {type(answer.value).__name__}, {reason}")


def work(fun: Function, connection: Connection[Any, Any], folder: str | None, is_one_of_many: bool) -> None:
    """Run a worker: answer points until the caller hangs up."""
    if is_one_of_many:
        np.random.seed()  # noqa: NPY002 - or copies of one process would all draw the same noise
    surroundings = Surroundings(folder)
    with open(os.devnull, encoding="utf-8") as nothing:
        sys.stdin = nothing  # the terminal is the caller's
        while True:
            try:
                params = connection.recv()
            except (EOFError, OSError):
                return
            try:
                surroundings.restore()
                answer = call(fun, params)
            except OSError as error:  # the folder is gone
                answer = Answer(False, describe_error(error), pid=os.getpid())
            flush()
            try:
                connection.send(answer)
            except OSError:
                return
            except Exception as error:  # raised before anything was sent
                connection.send(refused(answer, error))


def receive(connection: Connection[Any, Any]) -> Answer:
    """Return the answer that a worker has sent; EOFError or OSError if it is dead."""
    try:
        answer: Answer = connection.recv()
    except (EOFError, OSError):
        raise
    except Exception as error:  # an object of a class that this process cannot find
        return Answer(False, f"The function returned something that cannot be read here ({describe_error(error)}).")
    return answer


def describe_ending(code: int | None) -> str:
    """Return how a worker ended, from its exit code; None if that is not known."""
    return "is lost" if code is None else describe_exit(code)


def reset_signals() -> None:
    """Do what starting a program would: signals that the caller handles get their usual effect again."""
    signal.set_wakeup_fd(-1)
    for number in signal.valid_signals():
        if callable(signal.getsignal(number)):
            signal.signal(number, signal.SIG_DFL)
    if hasattr(signal, "SIGCHLD"):  # where it is ignored there are no exit codes
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)


def _end_copy(error: BaseException | None) -> NoReturn:
    """End a process that the function has forked, as Python would at the end of a script."""
    code = 0 if error is None else 1
    if isinstance(error, SystemExit) and (error.code is None or isinstance(error.code, int)):
        code = error.code or 0
    elif error is not None:
        with suppress(AttributeError, OSError, ValueError):  # no standard error, or a closed one
            traceback.print_exception(error)
    flush()
    os._exit(code)
