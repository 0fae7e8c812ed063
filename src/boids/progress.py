"""How a run is going, on stderr: a live line on a terminal, elsewhere a plain line at every tenth of the budget."""

from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import Callable
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, TextIO, final

from boids.optimizer import Optimizer
from boids.records import Trial

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.text import Text

#: The pace is measured over so many evaluations: the cost of a model-based proposal changes during a run.
_WINDOW = 20
_REFRESHES_PER_SECOND = 4
_WIDEST_BAR, _NARROWEST_BAR = 30, 5

Clock = Callable[[], float]


@final
class Progress:
    """Shows how a run is going, while used as a context manager.

    Parameters
    ----------
    optimizer
        The run, if it is to be shown from before its first evaluation on.
    title
        A line to show above it.
    stream
        Where to write, stderr by default; whether it is a terminal decides the form.
    clock
        Where the time comes from, in seconds.
    """

    def __init__(
        self,
        optimizer: Optimizer | None = None,
        *,
        title: str = "",
        stream: TextIO | None = None,
        clock: Clock = time.monotonic,
    ) -> None:
        self._optimizer = optimizer
        self._title = title
        self._stream = sys.stderr if stream is None else stream
        self._pace = Pace(clock, 0 if optimizer is None else optimizer.n_told)
        self._trial: Trial | None = None
        self._tenths = 0 if optimizer is None else _tenths(optimizer)
        self._closing = ExitStack()
        self._console: Console | None = None

    def __enter__(self) -> Progress:
        # FORCE_COLOR makes rich take a file for a terminal: right for colours, wrong for a line that redraws itself.
        if self._stream.isatty():
            from rich.console import Console
            from rich.live import Live

            console = Console(file=self._stream)
            if not console.is_dumb_terminal:
                self._console = console
                live = Live(
                    console=console,
                    get_renderable=self._line,
                    refresh_per_second=_REFRESHES_PER_SECOND,
                    transient=True,
                    # What the objective prints goes above the line, unless it was sent to a file.
                    redirect_stdout=sys.stdout.isatty(),
                )
                self._closing.enter_context(live)
        if self._console is None and self._title:
            self._write(self._title)
        return self

    def __exit__(self, *exception: object) -> None:
        self._closing.close()
        self._console = None

    def update(self, optimizer: Optimizer, trial: Trial) -> None:
        """Take note of an evaluation; a callback for `boids.drive.run`."""
        self._optimizer, self._trial = optimizer, trial
        self._pace.note(optimizer.n_told)
        if self._console is None and _tenths(optimizer) > self._tenths:
            self._tenths = _tenths(optimizer)
            self._write(f"{_count(optimizer)}  {'  '.join(text for text, _ in self._facts(optimizer))}")

    def _write(self, line: str) -> None:
        try:
            print(line, file=self._stream, flush=True)
        except OSError:  # nobody reads it any more, which is no reason to end the run
            self._tenths = 10

    def _line(self) -> RenderableType:
        """Return the live line, as wide as the terminal allows."""
        from rich.console import Group
        from rich.progress_bar import ProgressBar
        from rich.table import Table
        from rich.text import Text

        optimizer = self._optimizer
        if optimizer is None or self._console is None:
            return Text("")
        facts = Text("  ", no_wrap=True, overflow="ellipsis").join(
            [Text(text, style) for text, style in self._facts(optimizer)]
        )
        count = Text(_count(optimizer))
        room = self._console.width - len(count) - len(facts) - 5
        cells: list[ProgressBar | Text] = [count, facts]
        if room >= _NARROWEST_BAR:
            bar = ProgressBar(
                total=optimizer.budget,
                completed=optimizer.n_told,
                width=min(room, _WIDEST_BAR),
                complete_style="green",
                finished_style="green",
            )
            cells.insert(1, bar)
        line = Table.grid(padding=(0, 1))
        for _ in cells:
            line.add_column(no_wrap=True)
        line.add_row(*cells)
        return Group(Text(self._title, "bold", no_wrap=True, overflow="ellipsis"), line) if self._title else line

    def _facts(self, optimizer: Optimizer) -> list[tuple[str, str]]:
        """Return what is worth knowing, as (text, style)."""
        facts = []
        if optimizer.best is not None and optimizer.best.value is not None:
            facts.append((f"best {optimizer.best.value:.6g}", "bold"))
        info: Any = {} if self._trial is None else self._trial.info
        facts += [(f"{label} {info[key]}", "") for label, key in (("d", "dim"), ("K", "K")) if key in info]
        if optimizer.n_failed:
            facts.append((f"{optimizer.n_failed} failed", "red"))
        seconds = self._pace.seconds
        if seconds is not None:
            facts.append((f"{short_time(seconds)} each", "dim"))
            waiting = optimizer.budget - optimizer.n_told
            facts.append((f"{clock_time(self._pace.left(waiting))} left", "dim"))
        return facts or [("starting", "dim")]


@final
class Pace:
    """Seconds per evaluation, measured over the last few; several may come in at once."""

    def __init__(self, clock: Clock, told: int) -> None:
        self._clock = clock
        self._marks: deque[tuple[float, int]] = deque([(clock(), told)], maxlen=_WINDOW + 1)

    def note(self, told: int) -> None:
        """Take note that so many evaluations have been told by now."""
        if told > self._marks[-1][1]:
            self._marks.append((self._clock(), told))

    @property
    def seconds(self) -> float | None:
        """Seconds per evaluation; None before the first one."""
        (begun, first), (ended, last) = self._marks[0], self._marks[-1]
        return (ended - begun) / (last - first) if last > first else None

    def left(self, waiting: int) -> float:
        """Return the seconds that `waiting` evaluations will take, counting from now."""
        since = self._clock() - self._marks[-1][0]
        return max(0.0, waiting * (self.seconds or 0.0) - since)


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


def _three_figures(number: float) -> str:
    decimals = 2 if number < 9.995 else 1 if number < 99.95 else 0
    return f"{number:.{decimals}f}"


def _tenths(optimizer: Optimizer) -> int:
    return 10 * optimizer.n_told // optimizer.budget


def _count(optimizer: Optimizer) -> str:
    """Return "  7/300", as wide as it will ever be."""
    return f"{optimizer.n_told:>{len(str(optimizer.budget))}}/{optimizer.budget}"
