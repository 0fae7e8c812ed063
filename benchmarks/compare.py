"""Against an earlier measurement: ratios to the calibration kernel of their own run, since machines differ."""

from __future__ import annotations

import statistics
from typing import Any

from benchmarks.machine import Numbers
from benchmarks.text import markdown

#: Smaller differences are what two measurements of the same program differ by on a shared machine.
NOTABLE = 0.15


def change(now: float, before: float) -> str:
    """Say in words by how much something has become slower or faster.

    Examples
    --------
    >>> change(1.5, 1.0), change(0.8, 1.0), change(1.002, 1.0)
    ('50 % slower', '20 % faster', 'the same')
    """
    percent = round(100.0 * (now / before - 1.0))
    if percent == 0:
        return "the same"
    return f"{abs(percent)} % {'slower' if percent > 0 else 'faster'}"


def shared(now: Numbers, before: Numbers) -> dict[str, tuple[float, float]]:
    """Return what both have measured, as (now, before)."""
    return {name: (now[name], before[name]) for name in now if before.get(name, 0.0) > 0.0 and now[name] > 0.0}


def listing(part: str, now: Numbers, before: Numbers) -> str:
    """Return one line for each number, for a terminal."""
    pairs = shared(now, before)
    if not pairs:
        return f"{part}: nothing to compare with; `python -m benchmarks --baseline` keeps this measurement"
    width = max(map(len, pairs))
    return "\n".join(f"{part}: {name:<{width}}  {change(*pair)}, against the baseline" for name, pair in pairs.items())


def section(now: dict[str, Numbers], before: dict[str, Numbers]) -> str:
    """Return a table with a line for each part, and one for each number that has changed notably."""
    parts, notable = list[list[str]](), list[list[str]]()
    for part, numbers in now.items():
        pairs = shared(numbers, before.get(part, {}))
        if not pairs:
            continue
        ratios = {name: pair[0] / pair[1] for name, pair in pairs.items()}
        slowest, fastest = max(ratios, key=ratios.__getitem__), min(ratios, key=ratios.__getitem__)
        parts.append(
            [
                part,
                f"{len(ratios)}",
                f"**{change(statistics.median(ratios.values()), 1.0)}**",
                f"{slowest}: {change(ratios[slowest], 1.0)}",
                f"{fastest}: {change(ratios[fastest], 1.0)}",
            ]
        )
        notable += [
            [part, name, f"{pair[1]:.3g}", f"{pair[0]:.3g}", change(*pair)]
            for name, pair in pairs.items()
            if abs(pair[0] / pair[1] - 1.0) > NOTABLE
        ]
    if not parts:
        return "There is no baseline to compare with yet."
    table = markdown(["part", "numbers", "median", "the most slowed", "the most quickened"], parts)
    if not notable:
        return f"{table}\n\nNo number differs by more than {100 * NOTABLE:.0f} % from the baseline."
    details = markdown(["part", "number", "baseline (kernels)", "now (kernels)", "change"], notable)
    return f"{table}\n\nWhat differs by more than {100 * NOTABLE:.0f} %:\n\n{details}"


def ratios(results: dict[str, Any], parts: dict[str, Any]) -> dict[str, Numbers]:
    """Return of every part the numbers that are compared; `parts` are the modules."""
    found = {name: part.numbers(results[name]) for name, part in parts.items() if name in results}
    return {name: numbers for name, numbers in found.items() if numbers}
