"""Durations as people read and write them."""

from __future__ import annotations

import math
import re

_UNITS = {"s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0}


def short_time(seconds: float) -> str:
    """Return a duration in three figures: "0.01 ms", "350 ms", "1.25 s", "12.5 min", "3.5 h"."""
    for limit, scale, unit in ((0.9995, 1e-3, "ms"), (99.95, 1.0, "s"), (5997.0, 60.0, "min")):
        if seconds < limit:
            return f"{_three_figures(seconds / scale)} {unit}"
    return f"{_three_figures(seconds / 3600.0)} h"


def clock_time(seconds: float) -> str:
    """Return a duration as on a clock: "0:05", "12:34", "1:23:45"."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


def seconds(text: str) -> float:
    """Return the seconds that a text such as "90 s", "15min", "2h" or "1.5 d" stands for; a ValueError if none.

    Examples
    --------
    >>> seconds("2h"), seconds("1.5 min")
    (7200.0, 90.0)
    """
    match = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*(s|min|h|d)\s*", text)
    value = float(match[1]) * _UNITS[match[2]] if match else math.nan
    if not 0.0 < value < math.inf:
        raise ValueError(f"A duration is written like '90 s', '15 min' or '2h', got {text[:40]!r}.")
    return value


def _three_figures(number: float) -> str:
    decimals = 2 if number < 9.995 else 1 if number < 99.95 else 0
    return f"{number:.{decimals}f}"
