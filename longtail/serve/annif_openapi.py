"""Annif's interface as we speak it, in OpenAPI 3.1."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from longtail.serve.openapi import SCHEMAS as OWN
from longtail.serve.openapi import answer, in_query, many, maybe, number, obj, refusals, string, whole
from longtail.serve.openapi import ref as _ref


def document(language: str, detected: Sequence[str]) -> dict[str, Any]:
    """The whole description: labels are in this language, and texts are known to be in one of these.

    An empty language counts as none, as in Annif.
    """
    return {
        "openapi": "3.1.0",
        "info": {"title": "Annif's REST API, spoken by Longtail", "version": "v1"},
        "servers": [{"url": "/v1"}],
        "paths": _paths(string(enum=[language, ""]), string(enum=sorted(detected)) if detected else string()),
        "components": {
            "schemas": SCHEMAS | {"Problem": OWN["Problem"]},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{}, {"token": []}],
    }


VOCAB = obj(
    {"vocab_id": string(), "languages": many(string()), "size": maybe(whole()), "loaded": {"type": "boolean"}},
    ("languages", "size", "loaded"),
)
SCHEMAS: dict[str, Any] = {
    "Vocab": VOCAB,
    "Project": obj(
        {
            "project_id": string(), "name": string(), "language": string(),
            "backend": obj({"backend_id": string()}), "vocab": maybe(_ref("Vocab")), "vocab_language": maybe(string()),
            "is_trained": maybe({"type": "boolean"}), "modification_time": maybe(string(format="date-time")),
        },
        ("vocab", "vocab_language", "is_trained", "modification_time"),
    ),
    "Results": obj(
        {
            "results": many(
                obj({"uri": string(), "label": string(), "notation": maybe(string()), "score": number()}, ("notation",))
            )
        }
    ),
    "Document": obj(
        {"text": string(), "document_id": string(),
         "metadata": {"type": "object", "additionalProperties": string()}},
        ("document_id", "metadata"),
    ),
}  # fmt: skip
PROJECT = {"name": "project_id", "in": "path", "required": True, "schema": string(), "example": "demo"}
ALWAYS = (400, 401, 421, 503)
READING = (*ALWAYS, 403, 404, 408, 501, 504)
LARGE = {"413": {"description": "Too large.", "content": {"text/plain": {"schema": string()}}}}
LIMIT = whole(0, maximum=2**31 - 1, default=10)
THRESHOLD = number(minimum=0, maximum=1, default=0)


def _json(schema: dict[str, Any]) -> dict[str, Any]:
    return {"required": True, "content": {"application/json": {"schema": schema}}}


def _paths(language: dict[str, Any], detected: dict[str, Any]) -> dict[str, Any]:
    return PATHS | {
        "/projects/{project_id}/suggest": {"post": _suggest(language)},
        "/projects/{project_id}/suggest-batch": {"post": _suggest_batch(language)},
        "/detect-language": {"post": _detect_language(detected)},
    }


LEARNT = obj(
    {"text": string(), "subjects": many(obj({"uri": string(), "label": string()}, ("label",)))}, ("text", "subjects")
)
PATHS: dict[str, Any] = {
    "/": {"get": {"responses": {"200": answer("Who answers.", obj({"title": string(), "version": string()}))}
                  | refusals(*ALWAYS)}},
    "/vocabs": {"get": {"responses": {"200": answer("Label sets.", obj({"vocabs": many(_ref("Vocab"))}))}
                        | refusals(*ALWAYS)}},
    "/projects": {"get": {"responses": {"200": answer("Models.", obj({"projects": many(_ref("Project"))}))}
                          | refusals(*ALWAYS)}},
    "/projects/{project_id}": {
        "get": {"parameters": [PROJECT],
                "responses": {"200": answer("A model.", _ref("Project"))} | refusals(*ALWAYS, 404)}
    },
    "/projects/{project_id}/learn": {
        "post": {"parameters": [PROJECT], "requestBody": _json(many(LEARNT)), "responses": LARGE | refusals(*READING)}
    },
}  # fmt: skip


def _suggest(language: dict[str, Any]) -> dict[str, Any]:
    fields = {"text": string(), "limit": LIMIT, "threshold": THRESHOLD, "language": language}
    form = {"schema": obj(fields, ("limit", "threshold", "language")) | {"additionalProperties": string()}}
    return {
        "parameters": [PROJECT],
        "requestBody": {"required": True, "content": {"application/x-www-form-urlencoded": form}},
        "responses": {"200": answer("Suggestions.", _ref("Results"))} | LARGE | refusals(*READING),
    }


def _suggest_batch(language: dict[str, Any]) -> dict[str, Any]:
    one = {"allOf": [_ref("Results"), obj({"document_id": maybe(string())}, ("document_id",))]}
    return {
        "parameters": [
            PROJECT,
            in_query("limit", LIMIT, "Suggestions at most."),
            in_query("threshold", THRESHOLD, "The lowest score."),
            in_query("language", language, "Of the labels."),
        ],
        "requestBody": _json(obj({"documents": many(_ref("Document"), maxItems=32)})),
        "responses": {"200": answer("Suggestions for each document.", many(one))} | LARGE | refusals(*READING),
    }


def _detect_language(detected: dict[str, Any]) -> dict[str, Any]:
    shares = obj({"results": many(obj({"language": maybe(string()), "score": number()}))})
    return {
        "requestBody": _json(obj({"text": string(), "languages": many(detected, minItems=1, maxItems=5)})),
        "responses": {"200": answer("The share of each language.", shares)} | LARGE | refusals(*READING),
    }
