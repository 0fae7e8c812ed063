"""The tables and figures of the documentation that are made of the results beside this file.

    make results                     # the same as: python experiments/pages.py

A compact file FILE.json.gz (`boids report results/FILE --compact experiments/FILE.json.gz`) fills the part FILE of its
page, between the marks of that name, with tables and figures; these go to docs/images/FILE. A part whose file is not
there is left as it is.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from common import markdown, put_between

from boids.bench import Table, compare, load, statistics
from boids.bench.findings import findings

HERE = Path(__file__).parent
DOCS = HERE.parent / "docs"
#: Problems in one table.
MOST_COLUMNS = 7


def with_error(mean: float | None, error: float | None) -> str:
    """Return mean ± standard error, both with as many decimals as two figures of the error need."""
    if mean is None:
        return "–"
    if not error or error < 1e-12 * abs(mean):  # of one run, or of runs that are the same but for rounding
        return f"{mean:.4g}".replace("-", "−")
    decimals = 1 - math.floor(math.log10(error))
    if decimals > 6:
        return f"{mean:.5f} ± {error:.0e}".replace("-", "−").replace("e−0", "e−")
    return f"{mean:.{max(0, decimals)}f} ± {error:.{max(0, decimals)}f}".replace("-", "−")


def final_values(table: Table) -> str:
    """Return a row per method, a column per problem, the best means in bold; tables of a page's width."""
    found = findings(table, curves=False)
    columns = []
    for problem in found["problems"]:
        means = {each["method"]: each for each in problem["finals"]["values"] if each["mean"] is not None}
        best = min(means, key=lambda method: means[method]["mean"], default=None)
        cells = {method: with_error(each["mean"], each["error"]) for method, each in means.items()}
        columns.append({method: f"**{cell}**" if method == best else cell for method, cell in cells.items()})
    methods = [place for place in range(len(found["methods"])) if any(place in column for column in columns)]
    headings = list(map(heading, found["problems"]))
    tables = []
    for some in np.array_split(np.arange(len(columns)), math.ceil(len(columns) / MOST_COLUMNS)):
        rows = [[found["methods"][place], *(columns[k].get(place, "–") for k in some)] for place in methods]
        tables.append(markdown(["method", *(headings[k] for k in some)], rows))
    return "\n\n".join(tables)


def against_the_best(table: Table, method: str = "BOIDS", floor: str = "random search") -> str:
    """Return a row per problem: a method, the best of the others, and how far behind it is.

    That is a share of the way from random search to the best: whichever bad method is in the table does not matter.
    Among the best every method counts, and one with fewer runs than most is marked.
    """
    found = findings(table, curves=False)
    names = found["methods"]
    rows = []
    for problem in found["problems"]:
        values = {names[each["method"]]: each for each in problem["finals"]["values"] if each["mean"] is not None}
        if method not in values or floor not in values or len(values) < 3:
            continue
        counts = Counter(run.method for run in table.runs if run.problem == problem["label"])
        best, label = min((values[name]["mean"], name) for name in values if name != method)
        mine, random = values[method]["mean"], values[floor]["mean"]
        way = random - min(best, mine)
        gap = share(max(0.0, mine - best) / way) if way > 0 else "–"
        few = f" ({counts[label]} of {found_seeds(table)} seeds)" if counts[label] < found_seeds(table) else ""
        cells = [with_error(values[each]["mean"], values[each]["error"]) for each in (method, label, floor)]
        cells = [f"**{cells[0]}**" if mine <= best else cells[0], f"{label}{few}: {cells[1]}", cells[2]]
        rows.append([heading(problem), *cells, gap])
    return markdown(["problem", method, "best of the others", floor, "behind the best, of the way from random"], rows)


def share(part: float) -> str:
    """Return a share in percent; what is not nothing does not look like nothing."""
    return "< 0.1 %" if 0.0 < part < 0.0005 else f"{100.0 * part:.1f} %"


def found_seeds(table: Table) -> int:
    """Return the number of repetitions that some method has made."""
    return len({run.repetition for run in table.runs})


def heading(problem: dict[str, Any]) -> str:
    """Return a problem's label with its number of parameters, if that is not in it."""
    label, dim = problem["label"], str(problem["dim"])
    return label if dim in label else f"{label} ({dim})"


def progress(table: Table, counts: Sequence[int]) -> str:
    """Return a row per problem and number of evaluations, a column per method."""
    rows = []
    at = {count: findings(table, at=count, curves=False) for count in counts}
    for place, problem in enumerate(table.problems):
        for count in counts:
            values = {each["method"]: each for each in at[count]["problems"][place]["finals"]["values"]}
            cells = [
                with_error(values[m]["mean"], values[m]["error"]) if m in values else "–"
                for m in range(len(table.methods))
            ]
            rows.append([problem, str(count), *cells])
    return markdown(["problem", "evaluations", *table.methods], rows)


def verdicts(table: Table) -> str:
    """Return ranks, what the tests say, and what has not been run, in sentences."""
    found = findings(table, curves=False)
    paragraphs = [ranked(table), tested(found, table)]
    missing = Counter(run.method for run in table.missing)
    if missing:
        listed = ", ".join(f"{label} ({count} run{'s' * (count != 1)})" for label, count in missing.items())
        paragraphs.append(f"**Not run yet: {listed}.**")
    return "\n\n".join(filter(None, paragraphs))


def ranked(table: Table) -> str:
    """Return the average ranks of the methods with most runs on every problem, then with those that lack some problems.

    Which problems are left decides who looks good, so that a method that lacks some must not decide it for the others.
    """
    (methods, _), everywhere = compare(table).ranking(), found_everywhere(table)
    said = rank_sentence(table, everywhere)
    if 1 < len(everywhere) < len(methods):
        said += " " + rank_sentence(table, methods, f"With {' and '.join(m for m in methods if m not in everywhere)}: ")
    return said


def found_everywhere(table: Table) -> tuple[str, ...]:
    """Return the ranked methods with at least half as many runs on every problem as two of them have.

    What one method alone has cannot be compared, and must not keep the others out.
    """
    methods, _ = compare(table).ranking()
    runs = Counter((run.problem, run.method) for run in table.runs)
    most = {problem: sorted(runs[problem, method] for method in methods)[-2:][0] for problem, _ in runs}
    return tuple(m for m in methods if all(2 * runs[problem, m] >= count for problem, count in most.items()))


def rank_sentence(table: Table, methods: Sequence[str], opening: str = "") -> str:
    """Return the average ranks of these methods in a sentence; empty if there is nothing to rank."""
    comparison = compare(table.where(method=tuple(methods)))
    names, ranks = comparison.ranking()
    if not ranks.blocks or len(names) < 2:
        return ""
    listed = ", ".join(f"{name} {rank:.2f}" for rank, name in sorted(zip(ranks.average, names, strict=True)))
    problems = len(comparison.shared_by(names))
    start = f"{opening}average ranks" if opening else "Average ranks"
    of_problems = statistics.critical_difference(len(names), problems)
    return (
        f"{start} over {ranks.blocks} pairs of problem and seed, of {problems} problems: {listed}; the critical "
        f"difference is {ranks.difference:.2f} counting these pairs, {of_problems:.2f} counting problems."
    )


def tested(found: dict[str, Any], table: Table) -> str:
    """Return the paired tests against BOIDS: over all runs, and with one pair per problem; empty without BOIDS."""
    methods, tests = found["methods"], found["tests"]
    reference = methods[tests["reference"]]
    if not any((run.method, run.header["method"]["name"]) == (reference, "boids") for run in table.runs):
        return ""
    rows = [row for row in tests["rows"] if row["pairs"] >= tests["pairs_needed"]]
    kinds: dict[str, list[str]] = {"better": [], "worse": [], "not significantly different": []}
    for row in rows:
        direction = "better" if row["effect"] < 0 else "worse"
        kind = direction if row["holm"] < tests["level"] else "not significantly different"
        kinds[kind].append(methods[row["method"]])
    said = ""
    if rows:
        listed = "; ".join(f"{kind}: {', '.join(names)}" for kind, names in kinds.items() if names)
        said = f"Against {reference}, paired by problem and seed (Wilcoxon with Holm's correction, 0.05): {listed}."
    enough = [row for row in rows if row["problems"] >= tests["pairs_needed"]]
    if enough:
        listed = ", ".join(f"{methods[row['method']]} {row['problems_holm']:.3f}" for row in enough)
        said += f" With one pair per problem instead, the median over its seeds, p after Holm's correction: {listed}."
    return said


FIGURES = {
    "curves": "Best value so far on every problem: means with standard errors",
    "ranks": "Average ranks; a bar joins methods that are not significantly apart",
    "profile": "Share of problems and seeds solved to 1 %, against evaluations and relative to the fastest method",
    "times": "Seconds per evaluation that each method takes for itself",
}


def draw(table: Table, folder: Path, names: Sequence[str]) -> None:
    """Save some of the report's figures as SVG."""
    from boids.bench import figures

    comparison = compare(table)
    drawings = {
        "curves": lambda: figures.curves(table),
        "ranks": lambda: figures.ranks(compare(table.where(method=found_everywhere(table)))),
        "profile": lambda: figures.profile(table, comparison),
        "times": lambda: figures.times(table),
    }
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        figure = drawings[name]()
        if figure is not None:
            figures.save(figure, folder / f"{name}.svg")


@dataclass(frozen=True)
class Part:
    """A part of a page: its name, what its tables say, and which figures follow."""

    name: str
    page: Path
    tables: Callable[[Table], str]
    figures: tuple[str, ...] = ()

    @property
    def file(self) -> Path:
        """The results."""
        return HERE / f"{self.name}.json.gz"

    @property
    def images(self) -> Path:
        """Where its figures are."""
        return DOCS / "images" / self.name

    def text(self, table: Table) -> str:
        """Return what stands between the marks."""
        shown = [f"![{FIGURES[name]}](images/{self.name}/{name}.svg)" for name in self.figures]
        return "\n\n".join([self.tables(table), *shown])


def compared(table: Table) -> str:
    """Return final values and what the tests say of them."""
    return f"{final_values(table)}\n\n{verdicts(table)}"


def ahead(table: Table) -> str:
    """Return BOIDS against the best of the others, all final values, and what the tests say of them."""
    return f"{against_the_best(table)}\n\n{compared(table)}"


PARTS = (
    Part("ahead", DOCS / "results.md", ahead, ("curves", "ranks", "profile", "times")),
    Part("ahead-again", DOCS / "results.md", lambda table: final_values(table).replace("**", "")),
    Part("ahead-long", DOCS / "results.md", ahead, ("curves", "ranks")),
    Part("results", DOCS / "results.md", compared, ("curves", "ranks", "profile", "times")),
    Part("ablation", DOCS / "results.md", compared, ("curves", "ranks")),
    Part("quality", DOCS / "benchmarks.md", compared, ("curves",)),
    Part("half_cheetah", DOCS / "results.md", lambda table: progress(table, (50, 100, 200, 300)), ("curves",)),
    Part("defaults", DOCS / "deviations.md", lambda table: progress(table, (100, 200, 300))),
)


def main() -> None:
    """Fill every part whose results are there."""
    for part in PARTS:
        if not part.file.exists():
            print(f"{part.page.name}, {part.name}: left as it is, for there is no {part.file.name}")
            continue
        table = load(part.file)
        draw(table, part.images, part.figures)
        put_between(part.page, part.name, part.text(table))
        print(f"{part.page.name}, {part.name}: {len(table.runs)} runs")


if __name__ == "__main__":
    main()
