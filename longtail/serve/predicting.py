"""POST /v1/predict: texts in, labels with scores out."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from longtail.predict.predictor import AUTO, LABELS
from longtail.serve.fields import Fields, read_json
from longtail.serve.models import Explain, Rank, Row, Served
from longtail.serve.problems import Problem
from longtail.serve.settings import Limits
from longtail.serve.state import State, state_of, unhurried

KNOWN = ("text", "texts", "model", "k", "threshold", "explain")


async def predict(request: Request) -> Response:
    """The labels of one text or of several."""
    state = state_of(request)
    given = Fields(await read_json(request, state.settings.limits), KNOWN)
    texts = _texts(given, state.settings.limits)
    served = state.models[given.string("model", state.models.first)]
    k, threshold = _wanted(given, served, state.settings.limits)
    explain = given.flag("explain")
    _note(state, request, served, texts)
    rows = await state.answer(request, Rank(served, k), texts)
    reasons = await state.answer(request, Explain(served, k), texts) if explain else None
    body = await unhurried(len(texts) * k, rendered, served, rows, threshold, reasons)
    return Response(body, media_type="application/json")


def _note(state: State, request: Request, served: Served, texts: list[str]) -> None:
    state.note(request, model=served.name, texts=len(texts))
    if state.settings.log_texts:
        state.note(request, given=texts)


def _texts(given: Fields, limits: Limits) -> list[str]:
    if ("text" in given) == ("texts" in given):
        raise Problem(422, 'send either "text", a string, or "texts", a list of strings')
    if "text" in given:
        return [given.string("text", longest=limits.text_bytes)]
    count = len(given.list("texts"))
    if count > limits.texts:
        raise Problem(422, f"{count} texts are more than the {limits.texts} that one request may have")
    if count == 0:
        raise Problem(422, "texts is empty; send at least one")
    return given.strings("texts", longest=limits.text_bytes)


def _wanted(given: Fields, served: Served, limits: Limits) -> tuple[int, float]:
    """How many labels, and from which score on; as `Predictor.predict` reads the two."""
    k, threshold = LABELS, 0.0
    if given.given.get("threshold") == AUTO:
        chosen = served.predictor.threshold(AUTO)
        k, threshold = min(chosen.k, limits.k), chosen.value
    elif "threshold" in given:
        threshold = given.share("threshold", 0.0)
    return given.whole("k", k, 1, limits.k), threshold


def rendered(served: Served, rows: Sequence[Row], threshold: float, reasons: Sequence[Any] | None) -> str:
    """The answer as JSON; what is the same whenever a label is suggested was rendered before."""
    results = [_result(served, row, threshold) for row in rows]
    if reasons is not None:
        results = [f'{one[:-1]}, "explanation": {json.dumps(why)}}}' for one, why in zip(results, reasons)]
    return f'{{"model": {json.dumps(served.name)}, "results": [{", ".join(results)}]}}'


def _result(served: Served, row: Row, threshold: float) -> str:
    labels = ", ".join(f"{served.label(at)}{score!r}}}" for at, score in row.above(threshold))
    return f'{{"labels": [{labels}]}}'
