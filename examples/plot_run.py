"""Run the optimiser and draw how it went: convergence, growing subspace, chosen lines, important parameters, time.

    python examples/plot_run.py --problem hartmann --dim 500 --budget 300 --seed 1 --output run.png

Needs the extra `plot` (matplotlib). `result.plot()` returns a Matplotlib figure whose axes have the panels' names as
labels, so that you can add what you know: here the optimum, which a real objective does not tell.
"""

from __future__ import annotations

import argparse

import boids


def main() -> None:
    """Run the optimiser and save the picture."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--problem", default="hartmann")
    parser.add_argument("--dim", type=int, default=500)
    parser.add_argument("--budget", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--output", default="run.png", help="a .png, .svg or .pdf file")
    args = parser.parse_args()

    problem = boids.problems.make(args.problem, dim=args.dim)
    result = boids.minimize(problem, problem.space, args.budget, seed=args.seed, progress=True)

    title = f"{args.problem.capitalize()}, {args.dim} parameters: {result.fun:.3f} after {result.nfev} evaluations"
    figure = result.plot(title=title)
    panels = {axes.get_label(): axes for axes in figure.axes}
    if problem.optimum is not None:
        panels["convergence"].axhline(problem.optimum, color="0.5", linestyle=":", linewidth=1)
    figure.savefig(args.output, dpi=150)
    print(f"{title}; saved to {args.output}")

    # The numbers behind the panel of importance.
    from boids.importance import parameter_importance

    done = [trial for trial in result.trials if not trial.failed]
    found = parameter_importance(
        [trial.unit for trial in done], [trial.value for trial in done], result.space.labels, result.space.owner
    )
    print("most important:", ", ".join(f"{name} ({score:.0%})" for name, score in found.top(6)))


if __name__ == "__main__":
    main()
