"""What runs on a Dask worker: one evaluation, if it is the worker that it was meant for."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

from boids.isolation.worker import Answer, Function, call, refused
from boids.values import describe_error

#: Seconds that the news of the beginning has to get out of the worker: its messages are collected for 2 ms.
_HEAD_START = 0.01

#: The latest functions of this process, by the key of the data that they were made of.
_loaded: dict[str, Function] = {}
_MOST_LOADED = 4


def evaluate(code: bytes, name: str, point: bytes, directory: str, topic: str, number: int) -> Answer | str | None:
    """Call the function and return what came of it.

    Dask runs a task again after its worker has died, if another one stands up under the same address. That must not
    happen to an evaluation, of which nobody knows how far it had come.

    Parameters
    ----------
    code, name
        The function, serialised, and a name to know it by.
    point
        The point, serialised.
    directory
        The local directory of the worker that is meant: every worker process has a new one.
    topic, number
        What to send the number to when the evaluation begins; nothing is sent if the topic is empty.

    Returns
    -------
    None if it is another worker, and a text if the function cannot be loaded there.
    """
    from distributed import get_worker

    worker: Any = get_worker()
    if worker.local_directory != directory:
        return None
    try:
        fun = _load(code, name)
        params = _serialiser().loads(point)
    except Exception as error:
        return describe_error(error)
    if topic:
        worker.log_event(topic, number)
        # The function may never let the worker's other threads have their turn, and nobody would learn that it hangs.
        with suppress(TimeoutError):
            asyncio.run_coroutine_threadsafe(asyncio.sleep(_HEAD_START), worker.loop.asyncio_loop).result(1.0)
    answer = call(fun, params)
    try:
        _serialiser().dumps(answer.value)
    except Exception as error:
        answer = refused(answer, error)
    return answer


def serialise(fun: Any) -> bytes:
    """Return a function, or anything else, as bytes, or raise whatever says that it cannot be done."""
    code: bytes = _serialiser().dumps(fun)
    return code


def _load(code: bytes, name: str) -> Function:
    if name not in _loaded:
        while len(_loaded) >= _MOST_LOADED:
            _loaded.pop(next(iter(_loaded)), None)
        fun: Function = _serialiser().loads(code)
        _loaded[name] = fun
    return _loaded[name]


def _serialiser() -> Any:
    """Dask's own, which takes lambdas and closures."""
    from distributed.protocol import pickle

    return pickle
