"""GET /v1/labels, GET /v1/labels/{id}, POST /v1/labels."""

from __future__ import annotations

import asyncio
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from longtail.serve.fields import Fields, check_text, numbers_of, read_json, whole_number
from longtail.serve.models import Served
from longtail.serve.neighbours import nearest, of_one_cluster
from longtail.serve.problems import Problem
from longtail.serve.settings import Limits
from longtail.serve.state import state_of

SHOWN, MOST = 20, 1000  # labels that a search returns: by default, and at most
LONGEST_QUERY = 1000  # bytes
LONGEST_ID = 10_000  # bytes of a new label's id or name


async def labels(request: Request) -> Response:
    """Labels whose names begin with the query, then those that contain it."""
    state = state_of(request)
    given = Fields(query_of(request, {"limit": whole_number}), ("q", "model", "limit"), "the query")
    served = state.models[given.string("model", state.models.first)]
    part = given.string("q", "", longest=LONGEST_QUERY)
    limit = given.whole("limit", SHOWN, 1, MOST)
    found = await asyncio.to_thread(lambda: served.search.find(part, limit))
    return JSONResponse({"labels": [about(served, at) for at in found.indices], "total": found.total})


async def label(request: Request) -> Response:
    """One label and those like it."""
    state = state_of(request)
    given = Fields(query_of(request, {}), ("model",), "the query")
    served = state.models[given.string("model", state.models.first)]
    id = check_text(request.path_params["id"], "the id", LONGEST_ID, 422)
    at = await asyncio.to_thread(lambda: served.search.index(id))
    if at is None:
        raise Problem(404, f"model {served.name} has no label with the id {id!a:.70}", "Label not found")
    return JSONResponse(await asyncio.to_thread(neighbourhood, served, at))


def about(served: Served, at: int) -> dict[str, Any]:
    """A label in a list."""
    found = served.predictor.labels[at]
    return {"index": at, "id": found.id, "name": found.name, "count": int(served.predictor.counts[at])}


def neighbourhood(served: Served, at: int) -> dict[str, Any]:
    """A label, those whose classifiers are like its own, and others of its cluster."""
    names, model = served.predictor.labels, served.predictor.model
    similar = [(names[other], similarity) for other, similarity in nearest(model, at)]
    members = [names[other] for other in of_one_cluster(model, at)]
    return about(served, at) | {
        "text": names[at].text,
        "nearest": [{"id": one.id, "name": one.name, "similarity": value} for one, value in similar],
        "cluster": [{"id": one.id, "name": one.name} for one in members],
    }


async def add_labels(request: Request) -> Response:
    """Add labels to a model, by name, text and examples."""
    state = state_of(request)
    given = Fields(await read_json(request, state.settings.limits), ("model", "labels"))
    served = state.models[given.string("model", state.models.first)]
    new = [_new(at, one, state.settings.limits) for at, one in enumerate(given.list("labels"))]
    if not new:
        raise Problem(422, "labels is empty; send at least one")
    await asyncio.to_thread(_refuse_known, served, new)
    saved = await state.control.add_labels(served.name, new)
    return JSONResponse({"added": len(new), "model": served.name, "saved": saved}, 201)


def _new(at: int, one: object, limits: Limits) -> dict[str, Any]:
    given = Fields(one, ("id", "name", "text", "examples"), f"labels[{at}]")
    read: dict[str, Any] = {name: given.string(name, longest=LONGEST_ID) for name in ("id", "name")}
    if not read["id"].strip() or not read["name"].strip():
        raise Problem(422, f"labels[{at}] needs an id and a name")
    examples = given.strings("examples", limits.text_bytes) if "examples" in given else []
    return read | {"text": given.string("text", "", longest=limits.text_bytes), "examples": examples}


def _refuse_known(served: Served, new: list[dict[str, Any]]) -> None:
    seen: set[str] = set()
    for one in new:
        if one["id"] in seen or served.search.index(one["id"]) is not None:
            raise Problem(409, f"there is a label with the id {one['id']!a:.70} already")
        seen.add(one["id"])


def query_of(request: Request, kinds: dict[str, Any]) -> dict[str, object]:
    """The parameters behind the question mark, each once."""
    pairs = request.query_params.multi_items()
    if len({name for name, _ in pairs}) < len(pairs):
        raise Problem(422, "a parameter of the query is given twice")
    return numbers_of(dict(pairs), kinds, 422)
