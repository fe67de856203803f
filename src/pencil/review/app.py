"""The addresses of the review server: a page, its files, and small answers in JSON. None of them holds a path."""

from __future__ import annotations

from collections.abc import Callable
from importlib.resources import files
from typing import Any

from jinja2 import DictLoader, Environment
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from pencil.errors import PencilError
from pencil.review import asked
from pencil.review.desk import Desk

LARGEST_PAGE = 200
KINDS = {"js": "text/javascript; charset=utf-8", "css": "text/css; charset=utf-8", "svg": "image/svg+xml"}

Answer = Callable[[Desk, Request], Response]


def make_app(desk: Desk) -> Starlette:
    """Put the server together."""
    reading: dict[str, Answer] = {
        "/api/summary": _summary,
        "/api/page": _page,
        "/api/example": _example,
        "/api/changes": _changes,
        "/image": _image,
        "/thumbnail": _thumbnail,
    }
    routes = [Route(path, _reader(desk, answer), methods=["GET"]) for path, answer in reading.items()]
    routes += [
        Route("/api/decide", _decider(desk), methods=["POST"]),
        Route("/api/undo", _undoer(desk), methods=["POST"]),
    ]
    routes += [Route(f"/{name}", _constant(content, kind), methods=["GET"]) for name, content, kind in _files()]
    routes.append(Route("/", _constant(_front_page(desk), "text/html; charset=utf-8"), methods=["GET"]))
    return Starlette(routes=routes, exception_handlers={PencilError: _complain})


def _summary(desk: Desk, request: Request) -> Response:
    return JSONResponse(desk.summary())


def _page(desk: Desk, request: Request) -> Response:
    query = request.query_params
    wanted = asked.wanted(query, len(desk.classes))
    limit = asked.whole(query.get("limit"), "limit", below=LARGEST_PAGE + 1, default=60)
    backwards = "before" in query
    start = asked.whole(query.get("before" if backwards else "from"), "rank", below=asked.LARGEST, default=0)
    return JSONResponse(desk.page(wanted, start=start, limit=limit, backwards=backwards))


def _example(desk: Desk, request: Request) -> Response:
    return JSONResponse(desk.detail(_row(desk, request)))


def _changes(desk: Desk, request: Request) -> Response:
    return JSONResponse(desk.changes(asked.whole(request.query_params.get("since"), "since", below=asked.LARGEST)))


def _image(desk: Desk, request: Request) -> Response:
    return Response(desk.pictures.png(_row(desk, request), thumbnail=False), media_type="image/png")


def _thumbnail(desk: Desk, request: Request) -> Response:
    return Response(desk.pictures.png(_row(desk, request), thumbnail=True), media_type="image/png")


def _row(desk: Desk, request: Request) -> int:
    return asked.whole(request.query_params.get("row"), "row", below=len(desk.index))


def _reader(desk: Desk, answer: Answer) -> Callable[[Request], Response]:
    # Plain functions run in threads, so that a slow disk holds up nobody else.
    def endpoint(request: Request) -> Response:
        return answer(desk, request)

    return endpoint


def _decider(desk: Desk) -> Callable[[Request], Any]:
    async def decide(request: Request) -> Response:
        fields = await asked.body(request)
        row = asked.number_in(fields, "row", below=len(desk.index))
        skip = fields.get("label") is None
        label = None if skip else asked.number_in(fields, "label", below=len(desk.classes))
        signature = asked.signature(fields)
        return JSONResponse(await run_in_threadpool(desk.decide, row, label, **signature))

    return decide


def _undoer(desk: Desk) -> Callable[[Request], Any]:
    async def undo(request: Request) -> Response:
        signature = asked.signature(await asked.body(request))
        return JSONResponse(await run_in_threadpool(desk.undo, **signature))

    return undo


def _complain(request: Request, error: Exception) -> Response:
    """Answer with the line that a person would read in a terminal."""
    return JSONResponse({"error": str(error)}, 400 if isinstance(error, asked.BadRequest) else 500)


def _constant(content: bytes, kind: str) -> Callable[[Request], Response]:
    def endpoint(request: Request) -> Response:
        return Response(content, headers={"content-type": kind})

    return endpoint


def _files() -> list[tuple[str, bytes, str]]:
    """Read the page's own files once; only these are ever served by name."""
    found = [file for file in files("pencil.review").joinpath("page").iterdir()]
    suffixes = [(file, file.name.rpartition(".")[2]) for file in found]
    return [(file.name, file.read_bytes(), KINDS[suffix]) for file, suffix in suffixes if suffix in KINDS]


def _front_page(desk: Desk) -> bytes:
    text = files("pencil.review").joinpath("page", "index.html").read_text(encoding="utf-8")
    template = Environment(loader=DictLoader({"page": text}), autoescape=True).get_template("page")
    return template.render(run=desk.folder.path.resolve().name, mark=desk.run).encode(errors="replace")
