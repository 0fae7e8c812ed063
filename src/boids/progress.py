"""How a run is going, on stderr: a live line on a terminal, elsewhere a plain line at every tenth of the budget."""

from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, TextIO, final

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from boids.optimizer import Optimizer
from boids.records import Trial

#: The pace is measured over so many evaluations: the cost of a model-based proposal changes during a run.
_WINDOW = 20
_REFRESHES_PER_SECOND = 4
_WIDEST_BAR, _NARROWEST_BAR = 30, 5
_GAP = "  "

Clock = Callable[[], float]


@final
@dataclass(frozen=True)
class Standing:
    """What is shown of a run; taken between evaluations, for the live line is drawn by another thread."""

    told: int
    budget: int
    best: float | None
    failed: int
    info: Mapping[str, Any]

    @classmethod
    def of(cls, optimizer: Optimizer, trial: Trial | None = None) -> Standing:
        """Return where an optimizer stands after a trial."""
        best = None if optimizer.best is None else optimizer.best.value
        info = {} if trial is None else trial.info
        return cls(optimizer.n_told, optimizer.budget, best, optimizer.n_failed, info)

    @property
    def tenths(self) -> int:
        """How many tenths of the budget are used."""
        return 10 * self.told // self.budget

    @property
    def count(self) -> str:
        """For example "  7/300", as wide as it will ever be."""
        return f"{self.told:>{len(str(self.budget))}}/{self.budget}"


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
        self._standing = None if optimizer is None else Standing.of(optimizer)
        self._title = title
        self._stream = sys.stderr if stream is None else stream
        self._pace = Pace(clock, 0 if self._standing is None else self._standing.told)
        self._console: Console | None = None
        self._closing = ExitStack()
        self._is_read = True

    def __enter__(self) -> Progress:
        # FORCE_COLOR makes rich take a file for a terminal: right for colours, wrong for a line that redraws itself.
        console = Console(file=self._stream) if self._stream.isatty() else None
        if console is None or console.is_dumb_terminal:
            if self._title:
                self._write(self._title)
            return self
        self._console = console
        live = Live(
            console=console,
            get_renderable=self._live,
            refresh_per_second=_REFRESHES_PER_SECOND,
            transient=True,
            # What the objective prints goes above the line, unless it was sent to a file.
            redirect_stdout=sys.stdout.isatty(),
        )
        self._closing.enter_context(live)
        return self

    def __exit__(self, *exception: object) -> None:
        self._closing.close()
        self._console = None

    def update(self, optimizer: Optimizer, trial: Trial) -> None:
        """Take note of an evaluation; a callback for `boids.drive.run`."""
        former, self._standing = self._standing, Standing.of(optimizer, trial)
        self._pace.note(self._standing.told)
        if self._console is None and self._standing.tenths > (0 if former is None else former.tenths):
            facts = self._facts(self._standing)
            self._write(f"{self._standing.count}{_GAP}{_GAP.join(text for text, _ in facts)}")

    def _write(self, line: str) -> None:
        if not self._is_read:
            return
        try:
            print(line, file=self._stream, flush=True)
        except OSError:  # nobody reads it any more, which is no reason to end the run
            self._is_read = False

    def _live(self) -> RenderableType:
        """Return the live line, as wide as the terminal allows."""
        standing = self._standing
        if standing is None or self._console is None:
            return Text("")
        width, facts = self._console.width - 1, self._facts(standing)
        while len(facts) > 1 and _length(facts) + len(standing.count) + 2 > width:
            facts.pop()  # the least important is the last
        text = Text(_GAP, no_wrap=True, overflow="ellipsis").join([Text(fact, style) for fact, style in facts])
        line: RenderableType = Text(f"{standing.count} ", no_wrap=True, overflow="ellipsis").append_text(text)
        room = width - len(standing.count) - _length(facts) - 3
        if room >= _NARROWEST_BAR:
            bar = ProgressBar(
                total=standing.budget,
                completed=standing.told,
                width=min(room, _WIDEST_BAR),
                complete_style="green",
                finished_style="green",
            )
            line = Table.grid(padding=(0, 1))
            line.add_row(standing.count, bar, text)
        return Group(Text(self._title, "bold", no_wrap=True, overflow="ellipsis"), line) if self._title else line

    def _facts(self, standing: Standing) -> list[tuple[str, str]]:
        """Return what is worth knowing, as (text, style), the most important first."""
        facts = [] if standing.best is None else [(f"best {standing.best:.6g}", "bold")]
        info = standing.info
        facts += [(f"{label} {info[key]}", "") for label, key in (("d", "dim"), ("K", "K")) if key in info]
        if standing.failed:
            facts.append((f"{standing.failed} failed", "red"))
        seconds, waiting = self._pace.seconds, standing.budget - standing.told
        if seconds is not None:
            facts.append((f"{short_time(seconds)} each", "dim"))
            if waiting:
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


def _length(facts: list[tuple[str, str]]) -> int:
    return sum(len(text) for text, _ in facts) + len(_GAP) * (len(facts) - 1)
