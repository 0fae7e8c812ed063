"""How a run is going, evaluation by evaluation: for people on stderr, for programs as lines of JSON.

People get a live line on a terminal, with the time per phase beneath it where there is room:

    132/300 ━━━━━━━━━━━━━╺━━━━━━━━━━━━━━━━ best -3.2071  d 128  K 3  2 failed  2.17 s each  6:05 left
            fit 40.1 ms · select 10.2 ms · optimise 120 ms · evaluate 2.00 s

Elsewhere they get a plain line at every tenth of the budget.
"""

from __future__ import annotations

import json
import math
import sys
import time
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, TextIO, final

import numpy as np
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from boids.durations import clock_time, short_time
from boids.optimizer import Optimizer
from boids.records import Trial
from boids.run import PHASES

#: Times are measured over so many evaluations: the cost of a model-based proposal changes during a run.
_WINDOW = 20
_REFRESHES_PER_SECOND = 4
_WIDEST_BAR, _NARROWEST_BAR = 30, 5
_GAP, _DOT = "  ", " · "
#: Columns of a terminal from which on the times have a line of their own.
_ROOMY = 60
#: Phases that take less than this share of the method's own time are not worth reading.
_NOTABLE = 0.01

Clock = Callable[[], float]


@final
@dataclass(frozen=True)
class Standing:
    """What is shown of a run; taken between evaluations, for the live line is drawn by another thread.

    Attributes
    ----------
    told, waiting, budget
        Number of evaluations made, of those to come, and of those planned, which a small space may not have room for.
    best
        The best value, None before the first success.
    violation
        By how much the best point violates the constraints; 0 if it is feasible.
    failed
        Number of evaluations that failed.
    info
        The method's diagnostics for the last evaluation.
    """

    told: int
    waiting: int
    budget: int
    best: float | None
    violation: float
    failed: int
    info: Mapping[str, Any]

    @classmethod
    def of(cls, optimizer: Optimizer, trial: Trial | None = None) -> Standing:
        """Return where an optimizer stands after a trial."""
        best = optimizer.best
        return cls(
            told=optimizer.n_told,
            waiting=optimizer.remaining + len(optimizer.pending),
            budget=optimizer.budget,
            best=optimizer.estimate,
            violation=0.0 if best is None else best.violation,
            failed=optimizer.n_failed,
            info={} if trial is None else trial.info,
        )

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
        self._pace = Pace(clock, 0 if optimizer is None else optimizer.n_told)
        self._phases = PhaseTimes() if optimizer is None else PhaseTimes(optimizer.n_told, optimizer.times)
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
        self._phases.note(self._standing.told, optimizer.times)
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
        """Return the title, the live line and the line of times, as wide as the terminal allows."""
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
        title = [Text(self._title, "bold", no_wrap=True, overflow="ellipsis")] if self._title else []
        times = [self._line_of_times(standing, width)] if width >= _ROOMY and self._phases.means else []
        return Group(*title, line, *times)

    def _line_of_times(self, standing: Standing, width: int) -> Text:
        """Return where the time of the last evaluations went, without the smallest parts if room is scarce."""
        means = self._phases.means
        own = sum(seconds for phase, seconds in means.items() if phase != "evaluate")
        shown = [phase for phase, seconds in means.items() if phase == "evaluate" or seconds >= _NOTABLE * own]
        while True:
            text = " " * (len(standing.count) + 1) + _DOT.join(f"{name} {short_time(means[name])}" for name in shown)
            if len(text) <= width or len(shown) == 1:
                return Text(text, "dim", no_wrap=True, overflow="ellipsis")
            shown.remove(min(shown, key=means.__getitem__))

    def _facts(self, standing: Standing) -> list[tuple[str, str]]:
        """Return what is worth knowing, as (text, style), the most important first."""
        facts = []
        if standing.violation > 0.0:
            facts.append((f"least infeasible, violation {standing.violation:.3g}", "bold yellow"))
        elif standing.best is not None:
            facts.append((f"best {standing.best:.6g}", "bold"))
        info = standing.info
        facts += [(f"{label} {info[key]}", "") for label, key in (("d", "dim"), ("K", "K")) if key in info]
        if standing.failed:
            facts.append((f"{standing.failed} failed", "red"))
        seconds = self._pace.seconds
        if seconds is not None:
            facts.append((f"{short_time(seconds)} each", "dim"))
            if standing.waiting:
                facts.append((f"{clock_time(self._pace.left(standing.waiting))} left", "dim"))
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


@final
class PhaseTimes:
    """Seconds per evaluation of each phase, measured over the last few evaluations."""

    def __init__(self, told: int = 0, times: Mapping[str, float] | None = None) -> None:
        self._marks: deque[tuple[int, Mapping[str, float]]] = deque([(told, times or {})], maxlen=_WINDOW + 1)

    def note(self, told: int, times: Mapping[str, float]) -> None:
        """Take note of the seconds that each phase has taken by now, so many evaluations having been told."""
        if told > self._marks[-1][0]:
            self._marks.append((told, times))

    @property
    def means(self) -> dict[str, float]:
        """Seconds per evaluation by phase, in the order of the phases; nothing for those that took no time."""
        (first, before), (last, after) = self._marks[0], self._marks[-1]
        order = [*(phase for phase in PHASES if phase != "other"), *sorted({*after} - {*PHASES}), "other"]
        spent = {phase: after.get(phase, 0.0) - before.get(phase, 0.0) for phase in order}
        return {phase: seconds / (last - first) for phase, seconds in spent.items() if seconds > 0.0}


@final
class JsonLines:
    """Writes one line of strict JSON per evaluation, for programs that watch a run.

    =============  ===========================================================================
    key            meaning
    =============  ===========================================================================
    evaluation     how many have been told, this one included
    trial          the trial's number
    value          its value, null after a failure
    best           the best value when the line was written, null while none is feasible
    failed, error  whether the evaluation failed, and why
    feasible       whether all black-box constraints hold, null after a failure
    constraints    their values, null without any
    dim, K         subspace dimension and termination factor, null for methods without
    seconds        time since the first line could have been written
    times          seconds spent in each phase of the whole run so far
    x              the point in the user's units
    =============  ===========================================================================

    nan and ±inf, which JSON does not have, are null. A reader that goes away does not end the run.

    Parameters
    ----------
    stream
        Where to write; flushed after every line.
    clock
        Where the time comes from, in seconds.
    """

    def __init__(self, stream: TextIO, *, clock: Clock = time.monotonic) -> None:
        self._stream = stream
        self._clock = clock
        self._begun = clock()
        self._count: int | None = None
        self._is_read = True

    def update(self, optimizer: Optimizer, trial: Trial) -> None:
        """Write the line of an evaluation; a callback for `boids.drive.run`."""
        if self._count is None:
            # Several trials may have been told before the first of them is reported.
            self._count = optimizer.n_told - sum(each.state != "pending" for each in optimizer.trials[trial.id :])
        self._count += 1
        best = optimizer.best
        record = {
            "evaluation": self._count,
            "trial": trial.id,
            "value": trial.value,
            "best": optimizer.estimate if best is not None and best.feasible else None,
            "failed": trial.failed,
            "error": trial.error,
            "feasible": trial.feasible,
            "constraints": trial.constraints,
            "dim": trial.info.get("dim"),
            "K": trial.info.get("K"),
            "seconds": self._clock() - self._begun,
            "times": optimizer.times,
            "x": trial.params,
        }
        if self._is_read:
            line = json.dumps(_strict(record), ensure_ascii=False, allow_nan=False)
            try:
                self._stream.write(line + "\n")
                self._stream.flush()
            except (OSError, ValueError):  # the reader has gone, or the file was closed
                self._is_read = False


def _strict(value: Any) -> Any:
    """Return a value as JSON can hold it; a choice that is neither text nor number goes by its name."""
    if isinstance(value, (np.generic, np.ndarray)):
        value = value.tolist()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, Mapping):
        return {str(key): _strict(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_strict(item) for item in value]
    return str(value)


def _length(facts: list[tuple[str, str]]) -> int:
    return sum(len(text) for text, _ in facts) + len(_GAP) * (len(facts) - 1)
