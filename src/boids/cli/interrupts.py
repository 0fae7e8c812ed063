"""Ctrl-C, SIGTERM and the closing of a terminal, delivered where they can do no harm."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, final

_SIGNALS = [signal.SIGINT, signal.SIGTERM]
if hasattr(signal, "SIGHUP"):  # programs in sessions of their own would not notice that a terminal is closed
    _SIGNALS.append(signal.SIGHUP)


@final
class Interrupts:
    """Makes a signal a `KeyboardInterrupt` that strikes during evaluations only, while used as a context manager.

    Inside the optimizer it could leave a trial told to the books but not to the method, and the run could not be
    continued exactly. A signal that comes there waits until the next evaluation; a second one does not wait.

    Attributes
    ----------
    received
        The number of the last signal, None before the first one.
    """

    def __init__(self) -> None:
        self.received: int | None = None
        self._armed = True
        self._inside = False
        self._former: dict[int, Any] = {}

    def __enter__(self) -> Interrupts:
        if threading.current_thread() is threading.main_thread():  # elsewhere Python allows no handlers
            for number in _SIGNALS:
                # What is ignored stays ignored, as in a background job of a script.
                if signal.getsignal(number) is not signal.SIG_IGN:
                    self._former[number] = signal.signal(number, self._receive)
        return self

    def __exit__(self, *exception: object) -> None:
        for number, handler in self._former.items():
            signal.signal(number, handler)

    def guard(self, fun: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """Return the objective with the places where a signal strikes."""

        def guarded(x: Any) -> Any:
            with self.window():
                return fun(x)

        return guarded

    @contextmanager
    def window(self) -> Iterator[None]:
        """Let signals strike in the block, also one that has come before it."""
        self.strike()
        self._inside = True
        try:
            yield
        finally:
            self._inside = False

    def strike(self) -> None:
        """Raise the KeyboardInterrupt that is waiting, if any."""
        if self.received is not None and self._armed:
            raise KeyboardInterrupt

    def disarm(self) -> None:
        """Only take note of further signals: what is left to do is short and must not be cut."""
        self._armed = False

    def _receive(self, number: int, frame: FrameType | None) -> None:
        again, self.received = self.received is not None, number
        if self._armed and (self._inside or again):
            raise KeyboardInterrupt
