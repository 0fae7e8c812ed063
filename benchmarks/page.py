"""docs/benchmarks.md: what was measured goes between its marks; what people write stands around them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from benchmarks import compare, floor, growth, methods, runs, scale, startup, tried
from benchmarks.machine import ROOT

PAGE, IMAGES = ROOT / "docs" / "benchmarks.md", ROOT / "docs" / "images" / "benchmarks"
LATEST, BASELINE = Path(__file__).parent / "latest.json", Path(__file__).parent / "baseline.json"
#: The parts in the order in which they are measured.
PARTS: dict[str, Any] = {
    "startup": startup,
    "runs": runs,
    "growth": growth,
    "floor": floor,
    "scale": scale,
    "methods": methods,
    "tried": tried,
}


def kept(file: Path) -> dict[str, Any]:
    """Return what a file holds; nothing if it is not there."""
    if not file.exists():
        return {}
    content: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return content


def keep(file: Path, content: dict[str, Any]) -> None:
    """Write numbers to a file, to four figures: what they differ by beyond that is chance."""
    file.write_text(json.dumps(_rounded(content), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def rendered(text: str, latest: dict[str, Any], baseline: dict[str, Any]) -> str:
    """Return the text of the page with these measurements in it."""
    results = latest["parts"]
    for name, part in PARTS.items():
        if name in results:
            text = put_between(text, name, part.section(results[name]))
    text = put_between(text, "changes", compare.section(compare.ratios(results, PARTS), baseline))
    return put_between(text, "machine", _machine(latest["machine"]))


def put_between(text: str, name: str, content: str) -> str:
    """Return the text with something else between its marks of that name."""
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    if text.count(begin) != 1 or text.count(end) != 1:
        raise ValueError(f"{PAGE.name} must have {begin} and {end} once each; add them where the table is to be.")
    before, _, rest = text.partition(begin)
    return f"{before}{begin}\n{content}\n{end}{rest.partition(end)[2]}"


def write() -> None:
    """Bring the page and its pictures up to date with the numbers on file."""
    latest = kept(LATEST)
    PAGE.write_text(rendered(PAGE.read_text(encoding="utf-8"), latest, kept(BASELINE)), encoding="utf-8")
    if "growth" in latest["parts"]:
        growth.draw(latest["parts"]["growth"], IMAGES)


def _machine(facts: dict[str, Any]) -> str:
    return (
        f"Measured on {facts['processor']} with {facts['cores']} cores, shared with others; Python {facts['python']}, "
        f"NumPy {facts['numpy']}, SciPy {facts['scipy']}."
    )


def _rounded(content: Any) -> Any:
    if isinstance(content, dict):
        return {key: _rounded(value) for key, value in content.items()}
    if isinstance(content, list):
        return [_rounded(value) for value in content]
    return float(f"{content:.4g}") if isinstance(content, float) else content
