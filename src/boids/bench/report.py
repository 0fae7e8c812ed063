"""The report: one HTML page that holds everything it needs, and asks the network for nothing.

The page's parts lie in `page/`. Labels, errors and tracebacks come from files that anybody may have written: what goes
into the markup is escaped here, what goes into the data cannot end its element, and the scripts write text nodes only.
Besides, a content security policy allows no script or style but the page's own, by their hashes.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import os
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib.resources import files
from typing import Any

from boids import __version__
from boids.bench.findings import TOLERANCES, findings, sentences
from boids.bench.looks import looks
from boids.bench.table import Table
from boids.store.export import write_bytes

_SCRIPTS = ("base.js", "chart.js", "curves.js", "tables.js", "ranks.js", "times.js", "runs.js")
#: What many runs have in common, and is kept once.
_SHARED = ("environment", "settings", "problem_options")


def write_report(
    table: Table,
    path: str | os.PathLike[str],
    *,
    title: str | None = None,
    at: int | None = None,
    reference: str | None = None,
) -> dict[str, Any]:
    """Write the page, as a whole or not at all.

    Parameters
    ----------
    table
        Results, see `boids.bench.load`.
    path
        Where to write it.
    title
        Its heading; that of the plan if not given.
    at, reference
        After how many evaluations, and with which method, to compare.

    Returns
    -------
    dict
        What the page says.
    """
    found = findings(table, at=at, reference=reference)
    if title:
        found["title"] = title
    write_bytes(page(found).encode("utf-8", "backslashreplace"), path)
    return found


def page(found: Mapping[str, Any]) -> str:
    """Return the page that says what was found."""
    made = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    said, noticed = sentences(found)
    style, script = _style(found["methods"]), "\n".join(map(_part, _SCRIPTS))
    contents = {
        "title": html.escape(found["title"]),
        "lead": html.escape(" ".join(said)),
        "notices": "\n".join(map(_notice, noticed)),
        "footer": html.escape(f"Made by boids {__version__} on {made}. Smaller values are better."),
        "style": style,
        "script": script,
        "style_hash": _hash(style),
        "script_hash": _hash(script),
        "data": embedded(_shared(found)),
    }
    return re.sub(r"\{\{(\w+)\}\}", lambda place: contents[place[1]], _part("page.html"))


def embedded(document: Any) -> str:
    """Return JSON for the inside of a script element: nothing in it can end the element or open another."""
    text = json.dumps(document, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _shared(found: Mapping[str, Any]) -> dict[str, Any]:
    """Return the findings as the page's scripts want them: with looks, and with what runs share in a pool."""
    pool: dict[str, int] = {}
    runs = []
    for run in found["runs"]:
        places = {name: pool.setdefault(json.dumps(run[name], sort_keys=True), len(pool)) for name in _SHARED}
        runs.append({**run, **places})
    return {
        **found,
        "runs": runs,
        "pool": [json.loads(text) for text in pool],
        "looks": [{"dashes": look.dashes, "mark": look.mark} for look in looks(found["methods"]).values()],
        "tolerances": [f"{tolerance:g}" for tolerance in TOLERANCES],
    }


def _style(methods: list[str]) -> str:
    light = "".join(f"--m{place}:{look.light};" for place, look in enumerate(looks(methods).values()))
    dark = "".join(f"--m{place}:{look.dark};" for place, look in enumerate(looks(methods).values()))
    return f"{_part('style.css')}\n:root{{{light}}}\n@media (prefers-color-scheme: dark){{:root{{{dark}}}}}\n"


def _notice(sentence: str) -> str:
    first, colon, rest = sentence.partition(":")
    strong = f"<strong>{html.escape(first)}:</strong>{html.escape(rest)}" if colon else html.escape(sentence)
    return f'<p class="notice">{strong}</p>'


def _part(name: str) -> str:
    return files("boids.bench").joinpath("page", name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return f"'sha256-{digest}'"
