"""Draw a run: best value so far, every evaluation, and the subspace growing under it.

    python examples/plot_run.py --problem hartmann --dim 500 --budget 300 --seed 1 --output run.png

Needs the extra `plot` (matplotlib).
"""

from __future__ import annotations

import argparse

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

import boids


def draw(result: boids.Result, title: str, optimum: float | None, path: str) -> None:
    """Save the picture of one result."""
    count = np.arange(1, result.nfev + 1)
    values = np.array([np.nan if t.value is None else t.value for t in result.trials])
    dims = np.array([t.info["dim"] for t in result.trials])
    figure, (top, bottom) = plt.subplots(
        2, 1, figsize=(8, 4.6), sharex=True, height_ratios=(3, 1), layout="constrained"
    )
    top.plot(count, values, ".", color="0.7", markersize=3, label="evaluations")
    top.step(count, result.history, where="post", color="tab:blue", linewidth=2, label="best so far")
    if optimum is not None:
        top.axhline(optimum, color="0.3", linestyle=":", linewidth=1, label="optimum")
    top.set(ylabel="objective", title=title)
    top.legend(loc="upper right", frameon=False)
    bottom.step(count, dims, where="post", color="tab:orange", linewidth=2)
    bottom.set(ylabel="subspace\ndimension", xlabel="evaluation", yscale="log", xlim=(1, result.nfev))
    bottom.set_yticks(sorted(set(dims.tolist())), [str(d) for d in sorted(set(dims.tolist()))])
    bottom.minorticks_off()
    for axes in (top, bottom):
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=130)


def main() -> None:
    """Run the optimiser and save the picture."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--problem", default="hartmann")
    parser.add_argument("--dim", type=int, default=500)
    parser.add_argument("--budget", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--output", default="run.png")
    args = parser.parse_args()
    problem = boids.problems.make(args.problem, dim=args.dim)
    result = boids.minimize(problem, problem.space, args.budget, seed=args.seed, progress=True)
    title = f"{args.problem.capitalize()}, {args.dim} parameters: {result.fun:.3f} after {result.nfev} evaluations"
    draw(result, title, problem.optimum, args.output)
    print(f"{title}; saved to {args.output}")


if __name__ == "__main__":
    main()
