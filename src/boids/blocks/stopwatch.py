"""Where the time goes: seconds by phase."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import final


@final
class Stopwatch:
    """Adds up the seconds spent in named phases; they go into a proposal's `times`, never into a state."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Count the time of the enclosed block as `name`."""
        begin = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - begin
