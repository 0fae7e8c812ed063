"""Durations as people read them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from boids.durations import clock_time, short_time


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0, "0.00 ms"),
        (1.234e-5, "0.01 ms"),
        (0.35, "350 ms"),
        (0.99951, "1.00 s"),
        (1.25, "1.25 s"),
        (99.94, "99.9 s"),
        (99.96, "1.67 min"),
        (750.0, "12.5 min"),
        (12600.0, "3.50 h"),
    ],
)
def test_short_time(seconds, text):
    assert short_time(seconds) == text


@given(st.floats(1e-2, 1e7))
def test_short_time_is_right_to_three_figures(seconds):
    number, unit = short_time(seconds).split()
    scale = {"ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0}[unit]
    assert float(number) * scale == pytest.approx(seconds, rel=5.001e-3)
    assert unit == "h" or float(number) < 1000


@given(st.floats(0, 1e7))
def test_clock_time_is_right_to_the_second(seconds):
    parts = [int(part) for part in clock_time(seconds).split(":")]
    assert sum(part * 60**power for power, part in enumerate(reversed(parts))) == round(seconds)
    assert all(part < 60 for part in parts[1:])
