"""The progress display: what it says, where, and how often."""

from __future__ import annotations

import io
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

import boids
from boids import drive
from boids.progress import Pace, Progress, clock_time, short_time


class Clock:
    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


class Terminal(io.StringIO):
    def isatty(self):
        return True


class Closed(io.StringIO):
    writes = 0

    def write(self, text):
        self.writes += 1
        raise BrokenPipeError


@pytest.fixture
def terminal(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")
    for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)
    return Terminal()


def sphere(x):
    if x[0] > 0.6:
        raise RuntimeError("diverged")
    return float(x @ x)


def shown(stream):
    """What was written, without the terminal's control sequences."""
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", stream.getvalue())


def run(budget, stream, *, batch=1, seconds=2.0, method="random", **options):
    """Run with a clock that advances by so many seconds per call of the objective."""
    clock = Clock()

    def fun(x):
        clock.now += seconds
        return [sphere(row) for row in x] if batch > 1 else sphere(x)

    optimizer = boids.Optimizer([(-1, 1)] * 3, budget=budget, method=method, seed=0)
    with Progress(optimizer, stream=stream, clock=clock, **options) as progress:
        drive.run(optimizer, fun, vectorized=batch > 1, batch=batch, callback=progress.update)
    return optimizer


def test_plain_lines_come_at_every_tenth():
    stream = io.StringIO()
    run(50, stream, title="sphere")
    title, *lines = stream.getvalue().splitlines()
    assert title == "sphere"
    assert [int(line.split("/")[0]) for line in lines] == [5, 10, 15, 20, 25, 30, 35, 40, 45, 50]
    assert lines[4].endswith("2.00 s each  0:50 left")
    assert lines[-1].endswith("2.00 s each")
    assert "\x1b" not in stream.getvalue()


def test_a_small_budget_gets_a_line_per_evaluation():
    stream = io.StringIO()
    run(4, stream)
    assert [line[:3] for line in stream.getvalue().splitlines()] == ["1/4", "2/4", "3/4", "4/4"]


def test_values_are_those_of_the_optimizer():
    stream = io.StringIO()
    optimizer = run(40, stream)
    assert optimizer.n_failed > 0
    last = stream.getvalue().splitlines()[-1]
    assert f"best {optimizer.best.value:.6g}" in last
    assert f"{optimizer.n_failed} failed" in last


def test_the_subspace_is_shown_for_methods_that_have_one():
    stream = io.StringIO()
    run(4, stream, method="boids")
    assert re.search(r"  d \d+  K \d+  ", stream.getvalue())


def test_a_resumed_run_counts_from_where_it_is():
    optimizer = boids.Optimizer([(-1, 1)] * 3, budget=10, method="random", seed=0)
    for _ in range(5):
        optimizer.tell(optimizer.ask(), 1.0)
    stream, clock = io.StringIO(), Clock()
    with Progress(optimizer, stream=stream, clock=clock) as progress:
        clock.now += 3.0
        progress.update(optimizer, optimizer.tell(optimizer.ask(), 0.5))
    assert stream.getvalue() == " 6/10  best 0.5  3.00 s each  0:12 left\n"


def test_several_at_once_share_their_time():
    stream = io.StringIO()
    run(40, stream, batch=4, seconds=8.0)
    # Four points a call of 8 seconds.
    assert stream.getvalue().splitlines()[-1].endswith("2.00 s each")


def test_a_closed_pipe_does_not_end_the_run():
    stream = Closed()
    assert run(30, stream, title="sphere").n_told == 30
    assert stream.writes == 1


def test_all_failed_is_shown_as_such():
    stream = io.StringIO()
    optimizer = boids.Optimizer([(-1, 1)], budget=2, method="random", seed=0)
    with Progress(optimizer, stream=stream, clock=Clock()) as progress:
        drive.run(optimizer, lambda x: float("nan"), callback=progress.update)
    assert "best" not in stream.getvalue()
    assert "2 failed" in stream.getvalue()


def test_minimize_shows_it_on_stderr(capsys):
    boids.minimize(sphere, [(-1, 1)] * 2, 10, method="random", seed=0, progress=True)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert len(captured.err.splitlines()) == 10


@pytest.mark.parametrize("width", [20, 40, 60, 80, 200])
def test_the_live_line_fits_the_terminal(terminal, monkeypatch, width):
    monkeypatch.setenv("COLUMNS", str(width))
    optimizer = run(300, terminal, title="a title that is rather long: " + "x" * 40)
    text = shown(terminal)
    lines = [line for line in re.split(r"[\r\n]+", text) if line]
    assert max(map(len, lines)) <= width
    assert f"300/300 {'━' * 5 if width >= 60 else ''}" in text
    if width >= 40:
        assert f"best {optimizer.best.value:.6g}" in text


def test_the_live_line_goes_away(terminal):
    run(10, terminal)
    written = terminal.getvalue()
    assert written.count("\x1b[?25l") == written.count("\x1b[?25h") == 1  # the cursor: hidden, shown again
    assert written.endswith("\x1b[1A\x1b[2K")  # the line erased


def test_the_live_line_is_there_before_the_first_evaluation(terminal):
    optimizer = boids.Optimizer([(-1, 1)], budget=10, method="random", seed=0)
    with Progress(optimizer, stream=terminal):
        pass
    assert " 0/10 " in shown(terminal)
    assert "starting" in shown(terminal)


def test_without_an_optimizer_it_waits_for_the_first_trial(terminal):
    optimizer = boids.Optimizer([(-1, 1)], budget=10, method="random", seed=0)
    with Progress(stream=terminal) as progress:
        drive.run(optimizer, sphere, callback=progress.update)
    assert "10/10" in shown(terminal)


def test_no_color_is_honoured(terminal, monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    run(10, terminal)
    assert not re.search(r"\x1b\[[0-9;]*3[0-9]m", terminal.getvalue())


def test_a_dumb_terminal_gets_plain_lines(terminal, monkeypatch):
    monkeypatch.setenv("TERM", "dumb")
    run(10, terminal)
    assert "\x1b" not in terminal.getvalue()
    assert len(terminal.getvalue().splitlines()) == 10


def test_a_file_gets_plain_lines_whatever_force_color_says(monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    stream = io.StringIO()
    run(10, stream)
    assert "\x1b" not in stream.getvalue()


def test_the_pace_follows_the_last_evaluations():
    clock = Clock()
    pace = Pace(clock, told=0)
    assert pace.seconds is None
    for told in range(1, 101):
        clock.now += 1.0 if told <= 50 else 5.0
        pace.note(told)
    assert pace.seconds == pytest.approx(5.0)
    assert pace.left(10) == pytest.approx(50.0)
    clock.now += 20.0  # a long evaluation is under way
    assert pace.left(10) == pytest.approx(30.0)
    clock.now += 1000.0
    assert pace.left(10) == 0.0


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
