"""The server: the page and its files, the runs as a stream of events, and what is computed when it is asked for."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from importlib.resources import files
from typing import Any, TypeVar

from boids.dashboard.course import FollowedRun
from boids.dashboard.events import Newsfeed, as_event
from boids.dashboard.guard import Guard
from boids.dashboard.insight import Insight, coordinates
from boids.dashboard.library import Library
from boids.errors import BoidsError, MissingExtra

T = TypeVar("T")

#: Seconds between two looks for news, and after which a silent connection is kept alive.
PAUSE, SILENCE = 0.5, 15.0
#: Runs that may be compared, and parameters that may be drawn.
MOST_RUNS, MOST_AXES = 8, 24

_TYPES = {
    "html": "text/html",
    "css": "text/css",
    "js": "text/javascript",
    "svg": "image/svg+xml",
    "LICENSE": "text/plain",
}


def application(library: Library, host: str = "127.0.0.1", token: str | None = None) -> Any:
    """Return the application (ASGI).

    Parameters
    ----------
    library
        The runs to show.
    host
        The address at which it is going to listen.
    token
        What visitors must know; None if everybody on this machine may look.
    """
    needs_extra()
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import JSONResponse, Response, StreamingResponse
    from starlette.routing import Route

    insight, page = Insight(), _page_files()

    async def file(request: Request) -> Response:
        name = request.path_params.get("name", "index.html")
        if name not in page:
            return Response("There is no such page.\n", 404, media_type="text/plain")
        content, kind = page[name]
        return Response(content, media_type=kind, headers={"cache-control": "no-cache"})

    async def events(request: Request) -> Response:
        feed = Newsfeed(library, request.query_params.getlist("run")[:MOST_RUNS])
        return StreamingResponse(_stream(feed), media_type="text/event-stream")

    async def answered(work: Callable[[], Any]) -> Response:
        try:
            answer = await asyncio.to_thread(work)
        except KeyError:
            return JSONResponse({"error": "There is no such run."}, 404)
        except BoidsError as error:
            return JSONResponse({"error": str(error)}, 503)
        if answer is None:
            return JSONResponse({"error": "There is no such trial."}, 404)
        return JSONResponse(answer)

    def of_run(work: Callable[[str, FollowedRun, Request], Any]) -> Callable[[Request], Any]:
        async def endpoint(request: Request) -> Response:
            key = request.path_params["key"]
            return await answered(lambda: work(key, library.follow(key)[0], request))

        return endpoint

    async def runs(request: Request) -> Response:
        return await answered(lambda: dict(zip(("runs", "remarks"), _listed(library), strict=True)))

    trial = of_run(lambda key, run, request: run.detail(request.path_params["number"]))
    weights = of_run(lambda key, run, request: insight.importance(key, run))
    axes = of_run(lambda key, run, request: coordinates(run, request.query_params.getlist("name")[:MOST_AXES]))
    routes = [
        Route("/", file),
        Route("/api/events", events),
        Route("/api/runs", runs),
        Route("/api/runs/{key}/trials/{number:int}", trial),
        Route("/api/runs/{key}/importance", weights),
        Route("/api/runs/{key}/coordinates", axes),
        Route("/{name:path}", file),
    ]
    return Guard(Starlette(routes=routes), host, token)


def needs_extra() -> None:
    """Say in a sentence what is missing, if something is."""
    try:
        import starlette  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as error:
        raise MissingExtra(
            "The dashboard needs starlette and uvicorn; install them with: pip install 'boids-opt[dashboard]'"
        ) from error


def _listed(library: Library) -> tuple[list[dict[str, Any]], list[str]]:
    lines, remarks = library.runs()
    return list(lines.values()), remarks


async def _stream(feed: Newsfeed) -> AsyncIterator[bytes]:
    yield b"retry: 1000\n\n"
    silent = 0.0
    while True:
        news = await asyncio.to_thread(feed.news)
        for name, content in news:
            yield as_event(name, content)
        silent = 0.0 if news else silent + PAUSE
        if silent >= SILENCE:
            yield b": still here\n\n"
            silent = 0.0
        await asyncio.sleep(PAUSE)


def _page_files() -> dict[str, tuple[bytes, str]]:
    """Return the page's files by name, with their types; nothing else can be asked for."""
    found: dict[str, tuple[bytes, str]] = {}
    root = files("boids.dashboard").joinpath("page")
    for folder, prefix in ((root, ""), (root.joinpath("vendor"), "vendor/")):
        for each in folder.iterdir():
            kind = _TYPES.get(each.name.rpartition(".")[2])
            if kind is not None:
                found[prefix + each.name] = each.read_bytes(), kind
    return found
