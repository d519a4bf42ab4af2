"""The page: files of the package, read once.  A request names one of them or gets nothing; no path reaches the disk."""

from __future__ import annotations

import hashlib
import mimetypes
from dataclasses import dataclass
from pathlib import Path

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from longtail.serve.problems import Problem

FOLDER = Path(__file__).with_name("page")
TYPES = {
    ".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml", ".json": "application/json", ".png": "image/png", ".ico": "image/x-icon",
    ".woff2": "font/woff2", ".txt": "text/plain; charset=utf-8",
}  # fmt: skip

PLAIN = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Longtail</title>
<h1>Longtail</h1>
<p>This server suggests labels for texts. Its interface is described in <a href="/openapi.json">/openapi.json</a>;
<code>POST /v1/predict</code> with <code>{"text": "…"}</code> answers with labels.</p>
</html>
"""


@dataclass(frozen=True)
class File:
    """One file of the page."""

    body: bytes
    type: str
    tag: str  # ETag: a browser that has it need not load it again


def read_page(folder: Path = FOLDER) -> dict[str, File]:
    """Every file of the page by its path below the folder."""
    if not folder.is_dir():
        return {}
    paths = sorted(path for path in folder.rglob("*") if path.is_file() and not path.name.startswith("."))
    return {path.relative_to(folder).as_posix(): _file(path) for path in paths}


def _file(path: Path) -> File:
    body = path.read_bytes()
    kind = TYPES.get(path.suffix) or mimetypes.guess_type(path.name)[0] or "application/octet-stream"
    return File(body, kind, f'"{hashlib.sha256(body).hexdigest()[:20]}"')


class Page:
    """The two routes of the page."""

    def __init__(self, files: dict[str, File]):
        self.files = files

    async def index(self, request: Request) -> Response:
        """GET /: the page, or a few words where the package was built without it."""
        if "index.html" not in self.files:
            return HTMLResponse(PLAIN)
        return self._sent(request, "index.html")

    async def file(self, request: Request) -> Response:
        """GET /page/…"""
        return self._sent(request, request.path_params["name"])

    def _sent(self, request: Request, name: str) -> Response:
        if name not in self.files:
            raise Problem(404, "the page has no such file")
        found = self.files[name]
        headers = {"etag": found.tag, "cache-control": "no-cache"}
        if found.tag in request.headers.get("if-none-match", ""):
            return Response(status_code=304, headers=headers)
        return Response(found.body, headers=headers | {"content-type": found.type})
