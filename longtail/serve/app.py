"""Every address of the server, and what answers it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route, Router
from starlette.types import Receive, Scope, Send

from longtail.serve import annif, describing, labelling, operating, predicting
from longtail.serve.guard import Guard
from longtail.serve.page_files import Page, read_page
from longtail.serve.state import State

Answers = Callable[[Request], Awaitable[Response]]


def by_method(answers: dict[str, Answers]) -> Answers:
    """What answers at an address, by the method of the request; GET answers HEAD too."""

    async def answer(request: Request) -> Response:
        chosen = answers["GET" if request.method == "HEAD" else request.method]
        request.scope["endpoint"] = chosen
        return await chosen(request)

    return answer


class Routes:
    """Finds what answers: at once where the address is fixed, by patterns where a part of it is a name."""

    def __init__(self, addresses: dict[str, dict[str, Answers]]):
        self._fixed = {(method, at): one for at, ways in addresses.items() for method, one in ways.items()}
        routes = [Route(at, by_method(ways), methods=list(ways)) for at, ways in addresses.items()]
        self._patterns = Router(routes, redirect_slashes=False)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        answers = self._fixed.get((scope["method"], scope["path"]))
        if answers is None:
            await self._patterns(scope, receive, send)
            return
        scope["endpoint"], scope["path_params"] = answers, {}
        response = await answers(Request(scope, receive, send))
        await response(scope, receive, send)


def build(state: State) -> Guard:
    """The application of one worker."""
    page = Page(read_page())
    # (address, method, what answers, its name in logs and metrics)
    table = [
        ("/v1/predict", "POST", predicting.predict, "predict"),
        ("/v1/projects/{project_id}/suggest", "POST", annif.suggest, "annif_suggest"),
        ("/v1/projects/{project_id}/suggest-batch", "POST", annif.suggest_batch, "annif_suggest_batch"),
        ("/v1/projects/{project_id}/learn", "POST", annif.learn, "annif_learn"),
        ("/v1/projects/{project_id}", "GET", annif.project, "annif_project"),
        ("/v1/projects", "GET", annif.projects, "annif_projects"),
        ("/v1/vocabs", "GET", annif.vocabs, "annif_vocabs"),
        ("/v1/detect-language", "POST", annif.detect_language, "annif_detect_language"),
        ("/v1/", "GET", annif.info, "annif_info"),
        ("/v1/models", "GET", describing.models, "models"),
        ("/v1/models/{name}", "GET", describing.model, "model"),
        ("/v1/models/{name}/reload", "POST", describing.reload, "reload"),
        ("/v1/limits", "GET", describing.limits, "limits"),
        ("/v1/labels", "GET", labelling.labels, "labels"),
        ("/v1/labels", "POST", labelling.add_labels, "add_labels"),
        ("/v1/labels/{id:path}", "GET", labelling.label, "label"),
        ("/livez", "GET", operating.livez, "health"),
        ("/readyz", "GET", operating.readyz, "health"),
        ("/metrics", "GET", operating.metrics, "metrics"),
        ("/openapi.json", "GET", operating.own_openapi, "openapi"),
        ("/openapi-annif.json", "GET", operating.annif_s_openapi, "openapi"),
        ("/", "GET", page.index, "page"),
        ("/page/{name:path}", "GET", page.file, "page"),
    ]
    addresses: dict[str, dict[str, Answers]] = {}
    for address, method, answers, _ in table:
        addresses.setdefault(address, {})[method] = answers
    names: dict[object, str] = {answers: name for _, _, answers, name in table}
    plain = {address: name for address, _, _, name in table}  # for what is refused before it is routed

    def name_of(scope: Scope) -> str:
        return names.get(scope.get("endpoint")) or plain.get(scope["path"], "none")

    return Guard(state, Routes(addresses), name_of)
