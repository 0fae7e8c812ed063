"""How the cost of one proposal grows with the data and with the dimension: a table, and log–log plots of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.machine import Numbers, in_own_process
from benchmarks.proposals import PHASES, case
from benchmarks.text import markdown, milliseconds

DATA, DIMENSIONS = (100, 300, 1000, 2000), (10, 100, 500, 1000)
LABELS = {
    "whole": "proposal without refit",
    "fit": "fit: condition the model",
    "select": "select: which line",
    "optimise": "optimise: climb",
    "refit": "one refit",
}


def measure(tiny: bool = False) -> dict[str, Any]:
    """Measure every combination, each in a process of its own."""
    data, dimensions, repeats = ((30, 60), (3, 6), 1) if tiny else (DATA, DIMENSIONS, 3)
    return {"cases": [in_own_process(case, n, d, repeats) for d in dimensions for n in data]}


def numbers(result: dict[str, Any]) -> Numbers:
    """Return what is compared with the baseline."""
    return {
        f"n = {each['n']}, d = {each['d']}, {LABELS[name].partition(':')[0]}": each[name] / each["kernel"]
        for each in result["cases"]
        for name in ("whole", "refit")
    }


def section(result: dict[str, Any]) -> str:
    """Return the table and the plots."""
    head = ["n", "d", "proposal (ms)", *PHASES, "gradients", "one refit (ms)", "likelihoods", "peak memory"]
    rows = [
        [
            f"{each['n']}",
            f"{each['d']}",
            f"**{milliseconds(each['whole'])}**",
            *(milliseconds(each[phase]) for phase in PHASES),
            f"{each['gradients']:.0f}",
            milliseconds(each["refit"]),
            f"{each['likelihoods']:.0f}",
            f"{each['megabytes']:.0f} MB",
        ]
        for each in result["cases"]
    ]
    plots = (
        "![processor time of a proposal against the number of data](images/benchmarks/data.svg)\n\n"
        "![processor time of a proposal against the dimension](images/benchmarks/dimension.svg)"
    )
    return f"{markdown(head, rows)}\n\n{plots}"


def draw(result: dict[str, Any], folder: Path) -> None:
    """Draw the cost against n and against d, a panel for each size of the other."""
    folder.mkdir(parents=True, exist_ok=True)
    _draw(result["cases"], "n", "d", "data n", folder / "data.svg")
    _draw(result["cases"], "d", "n", "dimension d", folder / "dimension.svg")


def _draw(cases: list[Numbers], along: str, across: str, label: str, file: Path) -> None:
    import matplotlib as mpl
    from matplotlib.figure import Figure

    from boids.plots.style import BLUE, GREEN, GREY, ORANGE, PURPLE, RED, SMALL, TINY, plain

    colours = dict(zip(LABELS, (BLUE, GREEN, ORANGE, RED, PURPLE), strict=True))
    sizes = sorted({each[across] for each in cases})
    ticks = sorted({each[along] for each in cases})
    figure = Figure(figsize=(2.4 * len(sizes) + 0.6, 3.2), layout="constrained")
    panels = figure.subplots(1, len(sizes), sharey=True, squeeze=False)[0]
    for axes, size in zip(panels, sizes, strict=True):
        row = sorted((each for each in cases if each[across] == size), key=lambda each: each[along])
        for name, words in LABELS.items():
            points = [(each[along], each[name]) for each in row if each[name] > 0.0]
            style = {"linestyle": "--" if name == "refit" else "-", "linewidth": 2.2 if name == "whole" else 1.3}
            axes.loglog(*zip(*points, strict=True), marker="o", markersize=3, color=colours[name], label=words, **style)
        for power in (1, 2) if along == "n" else (1,):
            begin, end, height = ticks[0], ticks[-1], row[0]["whole"]
            axes.plot([begin, end], [height, height * (end / begin) ** power], color=GREY, linewidth=0.8, linestyle=":")
            axes.annotate(f"{along}²" if power == 2 else along, (end, height * (end / begin) ** power), fontsize=TINY)
        plain(axes, f"{across} = {size}")
        axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        axes.minorticks_off()
        axes.set_xlabel(label, fontsize=SMALL)
    panels[0].set_ylabel("processor time (s)", fontsize=SMALL)
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False, fontsize=TINY)
    with mpl.rc_context({"svg.hashsalt": "boids", "svg.fonttype": "none"}):
        figure.savefig(file, metadata={"Date": None})
