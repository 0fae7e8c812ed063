"""`boids dashboard`: serve the page to watch runs, until Ctrl-C."""

from __future__ import annotations

import webbrowser
from collections.abc import Sequence

from boids.cli.output import emit, emit_json, note
from boids.dashboard.serving import listen

#: Where `boids bench` puts its runs if it is not told otherwise.
RESULTS = "results"


def watch(
    paths: Sequence[str], *, store: str, host: str, port: int | None, token: str | None, browser: bool, as_json: bool
) -> int:
    """Serve the page; `store` is where runs are kept if no paths are given."""
    listening = listen(paths or (store, RESULTS), host=host, port=port, token=token, optional=not paths)
    if as_json:
        emit_json({"url": listening.url, "token": listening.token})
    else:
        emit(f"Runs in {', '.join(paths or (store, RESULTS))}; the page is at", f"  {listening.url}")
        if host in ("0.0.0.0", "::"):  # noqa: S104 (this is where it is warned of)
            note("From other machines, put this machine's name or address in its place.")
        note("Ctrl-C ends it. It only reads: runs go on without it.")
    if browser:
        webbrowser.open(listening.url)
    listening.serve()
    return 0
