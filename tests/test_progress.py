"""The progress display: what it says, where, and how often."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Mapping

import pytest

import boids
from boids import drive
from boids.progress import JsonLines, Pace, PhaseTimes, Progress


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
    assert written.endswith("\x1b[1A\x1b[2K" * 2)  # the two lines erased


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


def test_the_phases_are_those_of_the_last_evaluations():
    phases = PhaseTimes()
    assert phases.means == {}
    seconds = {"fit": 0.0, "evaluate": 0.0, "other": 0.0, "queue": 0.0}
    for told in range(1, 101):
        seconds["fit"] += 1.0 if told <= 50 else 3.0
        seconds["evaluate"] += 2.0
        seconds["queue"] += 0.5
        phases.note(told, dict(seconds))
    assert phases.means == pytest.approx({"fit": 3.0, "evaluate": 2.0, "queue": 0.5})
    assert list(phases.means) == ["fit", "evaluate", "queue"]


def test_the_phases_of_a_resumed_run_do_not_count_what_was_before():
    phases = PhaseTimes(told=10, times={"fit": 100.0})
    phases.note(14, {"fit": 108.0})
    phases.note(14, {"fit": 109.0})  # the same evaluations again
    assert phases.means == {"fit": 2.0}


class Phased:
    """A stand-in for an optimizer whose phases took known times."""

    budget, n_failed, best, estimate = 100, 0, None, None

    def __init__(self, told, times, budget=100):
        self.n_told, self.times, self.remaining, self.pending = told, times, budget - told, ()


def last_frame(terminal):
    """The lines that the live display showed last."""
    frames = re.split(r"\x1b\[2K", terminal.getvalue())
    texts = [re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", frame) for frame in frames]
    return next(text for text in reversed(texts) if "/" in text).strip("\r\n").split("\n")


def show(terminal, optimizer, trial):
    with Progress(stream=terminal, clock=Clock()) as progress:
        progress.update(optimizer, trial)


TIMES = {"fit": 0.4, "select": 0.1, "optimise": 1.2, "lift": 1e-5, "evaluate": 20.0, "other": 1e-4}
TRIAL = boids.Trial(id=0, params=None, unit=None, value=1.0, state="done")


def test_the_time_per_phase_has_a_line_of_its_own(terminal):
    show(terminal, Phased(10, TIMES), TRIAL)
    first, second = last_frame(terminal)
    assert first.startswith(" 10/100 ")
    assert second.strip() == "fit 40.0 ms · select 10.0 ms · optimise 120 ms · evaluate 2.00 s"
    assert second.index("fit") == len(" 10/100 ")


@pytest.mark.parametrize(
    ("width", "text"),
    [
        (74, "fit 40.0 ms · select 10.0 ms · optimise 120 ms · evaluate 2.00 s"),
        (73, "fit 40.0 ms · select 10.0 ms · optimise 120 ms · evaluate 2.00 s"),
        (72, "fit 40.0 ms · optimise 120 ms · evaluate 2.00 s"),
        (61, "fit 40.0 ms · optimise 120 ms · evaluate 2.00 s"),
    ],
)
def test_the_shortest_phases_go_where_room_is_scarce(terminal, monkeypatch, width, text):
    monkeypatch.setenv("COLUMNS", str(width))
    show(terminal, Phased(10, TIMES), TRIAL)
    _, second = last_frame(terminal)
    assert second.strip() == text
    assert len(second) < width


def test_a_narrow_terminal_gets_the_line_alone(terminal, monkeypatch):
    monkeypatch.setenv("COLUMNS", "50")
    show(terminal, Phased(10, TIMES), TRIAL)
    assert len(last_frame(terminal)) == 1


def test_infeasible_points_are_shown_as_such_until_one_is_feasible():
    stream = io.StringIO()
    optimizer = boids.Optimizer([(-1, 1)], budget=3, method="random", seed=0, n_constraints=2)
    with Progress(optimizer, stream=stream, clock=Clock()) as progress:
        for value, constraints in ((5.0, (0.5, 0.25)), (4.0, (2.0, -1.0)), (9.0, (-1.0, 0.0))):
            trial = optimizer.tell(optimizer.ask(), value, constraints=constraints)
            progress.update(optimizer, trial)
    lines = stream.getvalue().splitlines()
    assert "least infeasible, violation 0.75" in lines[0]
    assert "least infeasible, violation 0.75" in lines[1]
    assert "best 9" in lines[2]
    assert "infeasible" not in lines[2]


# Lines of JSON


def records(stream):
    def refuse(constant):
        raise AssertionError(f"{constant} is not JSON")

    return [json.loads(line, parse_constant=refuse) for line in stream.getvalue().splitlines()]


def test_json_lines_tell_the_whole_run():
    stream, clock = io.StringIO(), Clock()

    def fun(x):
        clock.now += 2.0
        return sphere(x)

    optimizer = boids.Optimizer([(-1, 1)] * 3, budget=30, method="random", seed=0)
    drive.run(optimizer, fun, callback=JsonLines(stream, clock=clock).update)
    lines = records(stream)
    assert [line["evaluation"] for line in lines] == list(range(1, 31))
    assert [line["trial"] for line in lines] == list(range(30))
    assert [line["seconds"] for line in lines] == [2.0 * n for n in range(1, 31)]
    for line, trial in zip(lines, optimizer.trials, strict=True):
        assert line["value"] == trial.value
        assert line["failed"] == trial.failed
        assert line["error"] == trial.error
        assert line["x"] == trial.params.tolist()
        assert line["feasible"] is (None if trial.failed else True)
        assert line["constraints"] is line["dim"] is line["K"] is None
    assert any(line["failed"] for line in lines)
    assert lines[-1]["best"] == optimizer.best.value
    bests = [line["best"] for line in lines if line["best"] is not None]
    assert bests == sorted(bests, reverse=True)
    assert lines[-1]["times"] == optimizer.times


def test_json_lines_know_the_subspace():
    stream = io.StringIO()
    optimizer = boids.Optimizer([(-1, 1)] * 3, budget=3, method="boids", seed=0)
    drive.run(optimizer, sphere, callback=JsonLines(stream).update)
    assert all(isinstance(line["dim"], int) and isinstance(line["K"], int) for line in records(stream))


def test_json_lines_of_a_batch_and_of_a_resumed_run_are_counted():
    stream = io.StringIO()
    optimizer = boids.Optimizer([(-1, 1)] * 3, budget=10, method="random", seed=0)
    for _ in range(3):
        optimizer.tell(optimizer.ask(), 1.0)
    drive.run(optimizer, lambda x: (x**2).sum(axis=1), vectorized=True, batch=4, callback=JsonLines(stream).update)
    assert [line["evaluation"] for line in records(stream)] == [4, 5, 6, 7, 8, 9, 10]


def test_json_lines_of_a_constrained_run_have_no_best_until_one_is_feasible():
    stream = io.StringIO()
    optimizer = boids.Optimizer([(-1, 1)], budget=3, method="random", seed=0, n_constraints=1)
    lines = JsonLines(stream)
    for constraint in (1.0, -1.0, 2.0):
        lines.update(optimizer, optimizer.tell(optimizer.ask(), 5.0, constraints=[constraint]))
    assert [line["best"] for line in records(stream)] == [None, 5.0, 5.0]
    assert [line["feasible"] for line in records(stream)] == [False, True, False]
    assert [line["constraints"] for line in records(stream)] == [[1.0], [-1.0], [2.0]]


class Odd:
    def __str__(self):
        return "odd"


def test_json_lines_are_strict_whatever_the_point_is():
    import numpy as np

    point: Mapping = {
        "n": np.int64(3),
        "on": np.bool_(True),
        "w": np.array([1.0, np.nan, np.inf]),
        "choice": Odd(),
        "pair": (1, "zwölf"),
        "none": None,
        7: float("-inf"),
    }
    optimizer = boids.Optimizer([(-1, 1)], budget=1, method="random", seed=0)
    optimizer.tell(optimizer.ask(), 1.0)
    stream = io.StringIO()
    trial = boids.Trial(id=0, params=point, unit=None, error="a\nb", state="failed")
    JsonLines(stream).update(optimizer, trial)
    [line] = records(stream)
    assert line["x"] == {
        "n": 3,
        "on": True,
        "w": [1.0, None, None],
        "choice": "odd",
        "pair": [1, "zwölf"],
        "none": None,
        "7": None,
    }
    assert line["error"] == "a\nb"


@pytest.mark.parametrize("closed", [False, True])
def test_json_lines_do_not_end_a_run_that_nobody_reads(closed):
    stream = io.StringIO() if closed else Closed()
    if closed:
        stream.close()
    optimizer = boids.Optimizer([(-1, 1)] * 3, budget=5, method="random", seed=0)
    drive.run(optimizer, sphere, callback=JsonLines(stream).update)
    assert optimizer.n_told == 5
    assert closed or stream.writes == 1


def test_json_lines_are_flushed_one_by_one():
    flushed = []

    class Flushing(io.StringIO):
        def flush(self):
            flushed.append(self.getvalue().count("\n"))

    optimizer = boids.Optimizer([(-1, 1)] * 3, budget=3, method="random", seed=0)
    drive.run(optimizer, sphere, callback=JsonLines(Flushing()).update)
    assert flushed == [1, 2, 3]
