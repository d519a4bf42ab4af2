"""/livez, /readyz, /metrics and the descriptions of both interfaces: outside of every queue."""

from __future__ import annotations

import json
from functools import cache

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response

import longtail
from longtail.serve import annif, annif_openapi, openapi
from longtail.serve.state import STATE, State


async def livez(request: Request) -> Response:
    """The event loop runs."""
    return PlainTextResponse("alive\n")


async def readyz(request: Request) -> Response:
    """Models are open and have answered their first texts, and the server is not about to stop."""
    state: State = request.scope[STATE]
    return PlainTextResponse("ready\n") if state.ready else PlainTextResponse("not ready\n", 503)


async def metrics(request: Request) -> Response:
    """Counters of all workers, for Prometheus."""
    state: State = request.scope[STATE]
    told = [state.meter.text(), "# HELP longtail_model_info A model that answers.\n# TYPE longtail_model_info gauge\n"]
    for served in state.models.all():
        about = {"name": served.name, "method": served.predictor.about.method, "checksum": served.checksum[:16]}
        named = ",".join(f'{key}="{value}"' for key, value in about.items())
        told.append(f"longtail_model_info{{{named}}} 1\n")
    return PlainTextResponse("".join(told), media_type="text/plain; version=0.0.4")


async def own_openapi(request: Request) -> Response:
    """Our interface."""
    return Response(_own(), media_type="application/json")


async def annif_s_openapi(request: Request) -> Response:
    """Annif's, as we speak it."""
    state: State = request.scope[STATE]
    return JSONResponse(annif_openapi.document(state.settings.language, annif.known_languages()))


@cache
def _own() -> bytes:
    return json.dumps(openapi.document(longtail.__version__)).encode()
