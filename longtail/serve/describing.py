"""GET /v1/models, /v1/models/{name} and /v1/limits; POST /v1/models/{name}/reload."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from longtail.judge.calibration import Calibration, CutOffs
from longtail.serve.models import Served
from longtail.serve.state import STATE, State, state_of


async def models(request: Request) -> Response:
    """All models, the one that answers by default first."""
    state = state_of(request)
    return JSONResponse({"models": [summary(state, served) for served in state.models.all()]})


async def model(request: Request) -> Response:
    """All that is known about a model."""
    state = state_of(request)
    served = state.models[request.path_params["name"]]
    return JSONResponse(summary(state, served) | details(served))


async def reload(request: Request) -> Response:
    """Swap a model for the one that is on disk now."""
    state = state_of(request)
    name = state.models[request.path_params["name"]].name
    return JSONResponse({"name": name, "checksum": await state.control.reload(name)})


async def limits(request: Request) -> Response:
    """What a request may ask for."""
    state: State = request.scope[STATE]
    allowed = state.settings.limits
    told = {"texts": allowed.texts, "text_bytes": allowed.text_bytes, "body_bytes": allowed.body_bytes, "k": allowed.k}
    return JSONResponse(told | {"token_required": state.settings.token is not None})


def summary(state: State, served: Served) -> dict[str, Any]:
    """One line of the list of models."""
    predictor = served.predictor
    return {
        "name": served.name,
        "method": predictor.about.method,
        "labels": len(predictor.labels),
        "precision": served.precision,
        "checksum": served.checksum,
        "default": served.name == state.models.first,
        "calibrated": predictor.calibration is not None,
    }


def details(served: Served) -> dict[str, Any]:
    """What the list leaves out."""
    about, measured = served.predictor.about, evaluation(served.place)
    return {
        "corpus": about.corpus,
        "config": about.config,
        "validation": about.validation,
        "metrics": None if measured is None else measured["metrics"],
        "deciles": None if measured is None else [_decile(one) for one in measured["by_decile"]],
        "calibration": calibration(served.predictor.calibration),
        "versions": about.versions,
        "size": served.size,
    }


EVALUATION = "evaluation.json"  # beside a model: what `longtail evaluate --json` wrote about it


def evaluation(place: Path) -> dict[str, Any] | None:
    """How a model was judged, where its run has it; what cannot be read is as good as absent."""
    try:
        read = json.loads((place.parent / EVALUATION).read_text("utf-8"))
        [_decile(one) for one in read["by_decile"]]
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return None
    return read if isinstance(read["metrics"], dict) else None


def _decile(one: dict[str, Any]) -> dict[str, Any]:
    return {name: one[name] for name in ("decile", "labels", "documents")} | one["within"]


def calibration(learned: Calibration | None) -> dict[str, Any] | None:
    """The curve from scores to probabilities, the threshold if one was chosen, and what others would give."""
    if learned is None:
        return None
    points = zip(learned.curve.scores.tolist(), learned.curve.probabilities.tolist())
    return {
        "threshold": None if learned.threshold is None else asdict(learned.threshold),
        "curve": [{"score": score, "probability": probability} for score, probability in points],
        "cutoffs": [] if learned.cut_offs is None else _cut_offs(learned.cut_offs),
    }


def _cut_offs(kept: CutOffs) -> list[dict[str, float]]:
    columns = zip(kept.thresholds.tolist(), kept.precision.tolist(), kept.recall.tolist())
    return [{"threshold": at, "precision": precision, "recall": recall} for at, precision, recall in columns]
