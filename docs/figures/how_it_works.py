"""Draw one step of a real run of BOIDS, in six panels: `python docs/figures/how_it_works.py`.

The run is an ordinary one. The functions that choose the line and climb from it are watched, not changed: they are
replaced by versions that write down their arguments and results. The first subspace has two dimensions, so that it can
be drawn.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from types import SimpleNamespace

import matplotlib as mpl
import numpy as np

mpl.use("agg")
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection

import boids
from boids.algorithms import Boids, boids_climb
from boids.algorithms import boids as method_file
from boids.plots.style import BLUE, GREEN, GREY, ORANGE, RED

IMAGE = Path(__file__).parent.parent / "images" / "how-it-works.png"


def watch(steps: list[SimpleNamespace], optimizer: boids.Optimizer) -> None:
    """Let every step of BOIDS write down what it sees."""
    choose, climb, climbed = method_file.choose_line, method_file.climb_from_line, boids_climb._climbed

    def watched_choice(settings, draw, noise_variance, lines, *rest):
        i, rewards = choose(settings, draw, noise_variance, lines, *rest)
        steps.append(SimpleNamespace(draw=draw, lines=lines, i=i, rewards=rewards, climbs=[]))
        return i, rewards

    def watched_search(settings, posterior, limits, best, lines, i, known, merits, ground, *rest):
        step = steps[-1]
        step.state = optimizer.run.state
        step.known, step.values = known, merits
        step.alpha = boids_climb.improvement(posterior, limits, best).values
        step.lift = ground.embedding.lift
        step.proposed = climb(settings, posterior, limits, best, lines, i, known, merits, ground, *rest)
        return step.proposed

    def watched_climb(alpha, start, *rest):
        end = climbed(alpha, start, *rest)
        steps[-1].climbs.append((start, end))
        return end

    method_file.choose_line, method_file.climb_from_line = watched_choice, watched_search
    boids_climb._climbed = watched_climb


def run(dim: int, budget: int, seed: int):
    """Return the problem, the finished optimizer, and all steps that were watched."""
    problem = boids.problems.make("hartmann", dim=dim, positions="random", seed=seed)
    optimizer = boids.Optimizer(problem.space, budget=budget, method=Boids(initial_dim=2), seed=seed)
    steps: list[SimpleNamespace] = []
    watch(steps, optimizer)
    while optimizer.remaining:
        trial = optimizer.ask()
        optimizer.tell(trial, problem(trial.x))
        if trial.info["phase"] == "line":
            steps[-1].value = optimizer.trials[trial.id].value
            steps[-1].number = trial.id + 1
            steps[-1].after = optimizer.run.state
    return problem, optimizer, steps


SIDE = np.linspace(-1.0, 1.0, 121)
GRID = np.stack(np.meshgrid(SIDE, SIDE), -1).reshape(-1, 2)


def ground(axes: Axes, values: np.ndarray, colours: str = "Greys_r", levels: int = 14) -> None:
    """Draw a function of the subspace as contours."""
    axes.contourf(SIDE, SIDE, values.reshape(len(SIDE), -1), levels=levels, cmap=colours, alpha=0.55)
    axes.set(xlim=(-1, 1), ylim=(-1, 1), aspect="equal", xticks=[-1, 0, 1], yticks=[-1, 0, 1])
    axes.text(0.75, -0.03, "$z_1$", transform=axes.transAxes, ha="center", va="top", fontsize=11)
    axes.text(-0.03, 0.75, "$z_2$", transform=axes.transAxes, ha="right", va="center", fontsize=11)


def title(axes: Axes, number: int, text: str) -> None:
    """Say above a panel what it shows."""
    axes.set_title(f"{number}  {text}", loc="left", fontsize=11, fontweight="bold", wrap=True)


def ends(lines) -> np.ndarray:
    """Return both ends of every line inside the box (m, 2, 2)."""
    low = lines.origins + lines.low[:, None] * lines.directions
    high = lines.origins + lines.high[:, None] * lines.directions
    return np.stack([low, high], axis=1)


def dots(axes: Axes, points: np.ndarray, **more) -> None:
    """Mark points."""
    axes.plot(*np.atleast_2d(points).T, linestyle="none", **{"marker": "o", "markersize": 5, "color": "black", **more})


def arrow(axes: Axes, start: np.ndarray, end: np.ndarray, colour: str, style: str = "-") -> None:
    """Draw an arrow."""
    look = {"arrowstyle": "-|>", "color": colour, "linewidth": 1.8, "linestyle": style, "shrinkA": 3, "shrinkB": 2}
    axes.annotate("", end, start, arrowprops=look)


def legend(axes: Axes, columns: int = 2) -> None:
    """Explain the marks below the panel."""
    gaps = {"handlelength": 1.6, "columnspacing": 1.0, "handletextpad": 0.5}
    axes.legend(loc="upper left", bbox_to_anchor=(-0.02, -0.07), ncols=columns, frameon=False, fontsize=9, **gaps)


def draw(problem, optimizer, step, path: Path) -> None:
    """Draw the six panels."""
    figure, panels = plt.subplots(2, 3, figsize=(13.5, 9.8))
    figure.subplots_adjust(left=0.035, right=0.965, top=0.96, bottom=0.1, wspace=0.16, hspace=0.34)
    truth = problem(optimizer.space.decode_many(step.lift(GRID)))
    swarm, i, lines = step.state.swarm, step.i, step.lines
    design, chosen, pieces = step.known[:20], lines.origins[i], ends(lines)
    one, two, three, four, five, six = panels.flat

    ground(one, truth)
    one.scatter(*design.T, c=step.values[:20], cmap="viridis", s=42, edgecolor="black", linewidth=0.6, zorder=3)
    dots(one, [[9, 9]], markerfacecolor="#21918c", markeredgecolor="black", label="initial design")
    one.fill_between([], [], color="#777777", label="low values of the objective (dark)")
    title(one, 1, "Evaluate a design in a random subspace")

    ground(two, truth)
    two.add_collection(LineCollection(list(pieces), colors=GREY, linewidths=0.9, alpha=0.7))
    dots(two, swarm.positions, label="particles, each with its line")
    two.plot(*pieces[i].T, color=BLUE, linewidth=2.0, label="one of the lines")
    arrow(two, chosen, swarm.leader, RED)
    two.plot([], [], color=RED, linewidth=2, label="pull to the best of all, $g$")
    if np.ptp(swarm.best_positions[i] - chosen):
        arrow(two, chosen, swarm.best_positions[i], GREEN)
        two.plot([], [], color=GREEN, linewidth=2, label="pull to its own best, $p_i$")
    dots(two, swarm.leader, marker="*", markersize=17, color=RED, markeredgecolor="black", zorder=4)
    title(two, 2, "Lay a line through every particle")

    ground(three, step.draw(GRID).astype(float), "PuBu_r")
    coloured = LineCollection(list(pieces), array=step.rewards, cmap="autumn_r", linewidths=1.4)
    three.add_collection(coloured)
    three.plot(*pieces[i].T, color=BLUE, linewidth=3.0, label="chosen: the draw goes lowest on it")
    three.plot([], [], color="#FF8000", linewidth=1.4, label="the others, redder: lower draw, higher reward")
    title(three, 3, "Draw a function, choose a line")

    alpha = step.alpha(GRID)
    ground(four, np.maximum(-alpha, np.quantile(-alpha, 0.25)), "Blues")
    four.fill_between([], [], color="#6ea0c8", label="high (dark)")
    four.plot(*pieces[i].T, color=BLUE, linewidth=2.0, label="the chosen line")
    for start, end in step.climbs[:-1]:
        arrow(four, start, end, ORANGE)
    four.plot([], [], color=ORANGE, linewidth=2, label="climbs, ten steps each")
    dots(
        four, step.proposed, marker="D", markersize=9, color=RED, markeredgecolor="black", label="highest: the proposal"
    )
    title(four, 4, "Climb the expected improvement")

    ground(five, truth)
    is_new_best = step.value < swarm.leader_value
    dots(five, swarm.positions, color=GREY)
    dots(five, swarm.leader, marker="*", markersize=15, markerfacecolor="white", label="best of all before")
    arrow(five, chosen, step.proposed, BLUE)
    dots(five, chosen, markersize=8, markerfacecolor="white", label="particle before")
    dots(five, step.proposed, marker="D", markersize=9, color=RED, markeredgecolor="black",
         label="after, and the new best" if is_new_best else "after: evaluated here")  # fmt: skip
    title(five, 5, "Evaluate, and move the particle there")

    values = np.array([trial.value for trial in optimizer.trials])
    dims = np.array([trial.info["dim"] for trial in optimizer.trials])
    at = np.arange(1, len(values) + 1)
    six.plot(at, values, ".", color=GREY, markersize=3, label="values of all evaluations")
    six.plot(at, np.minimum.accumulate(values), color=BLUE, linewidth=2.2, label="best so far")
    six.axvline(step.number, color=RED, linestyle=":", label=f"panels 1 to 5: evaluation {step.number}")
    for begin in np.flatnonzero(np.diff(dims, prepend=0)):
        six.axvspan(begin + 0.5, len(values) + 0.5, color="black", alpha=0.05, linewidth=0)
        six.text(begin + 2, 0.98, f"d={dims[begin]}", transform=six.get_xaxis_transform(), va="top", fontsize=9)
    six.set_box_aspect(1)
    six.set(xlim=(0.5, len(values) + 0.5))
    six.set_ylim(top=six.get_ylim()[1] + 0.4)
    title(six, 6, "No progress? Split the subspace")

    for axes in (one, two, three, four, five):
        legend(axes, columns=1 if axes is three else 2)
    legend(six)
    figure.savefig(path, dpi=110)


def main() -> None:
    """Run, and draw."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dim", type=int, default=60)
    parser.add_argument("--budget", type=int, default=140)
    parser.add_argument("--seed", type=int, default=5)
    parser.add_argument("--step", type=int, default=3, help="which proposal after the design to draw")
    parser.add_argument("--output", type=Path, default=IMAGE)
    options = parser.parse_args()
    problem, optimizer, steps = run(options.dim, options.budget, options.seed)
    draw(problem, optimizer, steps[options.step], options.output)
    dims = [trial.info["dim"] for trial in optimizer.trials]
    print(f"best value {optimizer.best.value:.4f}, subspaces {sorted(set(dims))}; the picture is {options.output.name}")


if __name__ == "__main__":
    main()
