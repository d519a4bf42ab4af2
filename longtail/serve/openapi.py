"""Our interface in OpenAPI 3.1, with examples; tests hold answers against it."""

from __future__ import annotations

from typing import Any

Schema = dict[str, Any]


def document(version: str) -> Schema:
    """The whole description."""
    return {
        "openapi": "3.1.0",
        "info": {"title": "Longtail", "version": version, "description": ABOUT},
        "paths": PATHS,
        "components": {
            "schemas": SCHEMAS,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{}, {"token": []}],
    }


ABOUT = (
    "Texts in, the few right labels out. Errors are application/problem+json. Annif's interface is in "
    "/openapi-annif.json. GET /v1/limits has the limits of this server."
)


# -- shorthand ---------------------------------------------------------------------------------------------------------


def ref(name: str) -> Schema:
    """A schema by its name."""
    return {"$ref": f"#/components/schemas/{name}"}


def string(**more: Any) -> Schema:  # noqa: ANN401 - keywords of JSON Schema
    """A string."""
    return {"type": "string"} | more


def whole(least: int | None = 0, **more: Any) -> Schema:  # noqa: ANN401
    """A whole number."""
    return {"type": "integer"} | ({} if least is None else {"minimum": least}) | more


def number(**more: Any) -> Schema:  # noqa: ANN401
    """A number."""
    return {"type": "number"} | more


def many(items: Schema, **more: Any) -> Schema:  # noqa: ANN401
    """A list."""
    return {"type": "array", "items": items} | more


def obj(properties: Schema, optional: tuple[str, ...] = (), *, closed: bool = False) -> Schema:
    """An object whose properties are required unless named."""
    required = [name for name in properties if name not in optional]
    return {"type": "object", "properties": properties, "required": required} | (
        {"additionalProperties": False} if closed else {}
    )


def maybe(schema: Schema) -> Schema:
    """This, or null."""
    return {"oneOf": [schema, {"type": "null"}]}


def answer(about: str, schema: Schema, example: Any = None) -> Schema:  # noqa: ANN401 - any JSON
    """A response of JSON."""
    content: Schema = {"schema": schema}
    return {"description": about, "content": {"application/json": content | ({"example": example} if example else {})}}


def refusals(*statuses: int) -> Schema:
    """Responses that are problems."""
    content = {"application/problem+json": {"schema": ref("Problem")}}
    return {str(status): {"description": REFUSED[status], "content": content} for status in statuses}


def in_query(name: str, schema: Schema, about: str) -> Schema:
    """A parameter behind the question mark."""
    return {"name": name, "in": "query", "schema": schema, "description": about}


def in_path(name: str, about: str, example: str) -> Schema:
    """A parameter in the path."""
    return {"name": name, "in": "path", "required": True, "schema": string(), "description": about, "example": example}


def body(schema: Schema, examples: Schema) -> Schema:
    """A body of JSON."""
    return {"required": True, "content": {"application/json": {"schema": schema, "examples": examples}}}


REFUSED = {
    400: "Not JSON, not UTF-8, or not HTTP.",
    401: "A token is required.",
    403: "A page of another host asks.",
    404: "Not there.",
    405: "Not with this method.",
    408: "The request did not arrive in time.",
    409: "Refused in the present state; the detail says why.",
    413: "Too large.",
    415: "The body has another type.",
    421: "The server is not called that.",
    422: "A field is missing, unknown, of the wrong type or out of range.",
    429: "Too many requests wait; Retry-After says when to ask again.",
    501: "This version or this model cannot do it.",
    503: "Not ready.",
    504: "No answer within the deadline.",
}
ALWAYS = (400, 401, 421, 503)
READING = (*ALWAYS, 403, 408, 413, 415, 422)


# -- schemas -----------------------------------------------------------------------------------------------------------

LABEL = {"index": whole(), "id": string(), "name": string(), "count": whole()}
SCHEMAS: Schema = {
    "Problem": obj({"type": string(), "title": string(), "status": whole(100), "detail": string()}),
    "Label": obj(LABEL),
    "Suggestion": obj(LABEL | {"score": number(minimum=0, maximum=1)}),
    "Query": obj(
        {
            "text": string(),
            "texts": many(string(), minItems=1, maxItems=32),
            "model": string(description="One of GET /v1/models; the default one if absent."),
            "k": whole(1, maximum=1000, default=5),
            "threshold": {"oneOf": [number(minimum=0, maximum=1), {"const": "auto"}], "default": 0},
            "explain": {"type": "boolean", "default": False},
        },
        ("text", "texts", "model", "k", "threshold", "explain"),
        closed=True,
    )
    | {"oneOf": [{"required": ["text"]}, {"required": ["texts"]}]},
    "Prediction": obj({"model": string(), "results": many(ref("Result"))}),
    "Result": obj(
        {"labels": many(ref("Suggestion")), "explanation": {"type": "object"}},
        ("explanation",),
    ),
    "Model": obj(
        {
            "name": string(), "method": string(), "labels": whole(), "precision": string(), "checksum": string(),
            "default": {"type": "boolean"}, "calibrated": {"type": "boolean"},
        }
    ),
    "Details": {
        "allOf": [
            ref("Model"),
            obj(
                {
                    "corpus": {"type": "object"}, "config": {"type": "object"}, "validation": {"type": "object"},
                    "metrics": maybe({"type": "object"}), "deciles": maybe(many({"type": "object"})),
                    "calibration": maybe({"type": "object"}), "versions": {"type": "object"}, "size": whole(),
                }
            ),
        ]
    },
    "Neighbourhood": obj(
        LABEL
        | {
            "text": string(),
            "nearest": many(obj({"id": string(), "name": string(), "similarity": number()})),
            "cluster": many(obj({"id": string(), "name": string()})),
        }
    ),
    "NewLabel": obj(
        {
            "id": string(pattern=r"\S"), "name": string(pattern=r"\S"), "text": string(default=""),
            "examples": many(string()),
        },
        ("text", "examples"),
        closed=True,
    ),
    "Limits": obj(
        {
            "texts": whole(1), "text_bytes": whole(1), "body_bytes": whole(1), "k": whole(1),
            "token_required": {"type": "boolean"},
        }
    ),
}  # fmt: skip

# -- paths -------------------------------------------------------------------------------------------------------------

SUGGESTED = {"index": 17, "id": "n01886756", "name": "placental", "count": 911, "score": 0.94}
MODEL = in_query("model", string(), "One of GET /v1/models; the default one if absent.")
PLAIN = {"text/plain": {"schema": string()}}

PATHS: Schema = {
    "/v1/predict": {
        "post": {
            "operationId": "predict",
            "summary": "The labels of one text or of several",
            "requestBody": body(
                ref("Query"),
                {
                    "one": {"value": {"text": "a large wild cat with a striped coat", "k": 3}},
                    "many": {"value": {"texts": ["a stringed instrument", "a heart disease"], "threshold": 0.2}},
                },
            ),
            "responses": {
                "200": answer(
                    "One result for every text, in order.",
                    ref("Prediction"),
                    {"model": "demo", "results": [{"labels": [SUGGESTED]}]},
                )
            }
            | refusals(*READING, 404, 409, 429, 501, 504),
        }
    },
    "/v1/models": {
        "get": {
            "operationId": "models",
            "summary": "The models that answer",
            "responses": {"200": answer("Models.", obj({"models": many(ref("Model"))}))} | refusals(*ALWAYS),
        }
    },
    "/v1/models/{name}": {
        "get": {
            "operationId": "model",
            "summary": "All that is known about a model",
            "parameters": [in_path("name", "A model.", "demo")],
            "responses": {"200": answer("The model.", ref("Details"))} | refusals(*ALWAYS, 404),
        }
    },
    "/v1/models/{name}/reload": {
        "post": {
            "operationId": "reload",
            "summary": "Swap a model for the one that is on disk now, in all workers or in none",
            "parameters": [in_path("name", "A model.", "demo")],
            "responses": {"200": answer("Swapped.", obj({"name": string(), "checksum": string()}))}
            | refusals(*ALWAYS, 403, 404, 409),
        }
    },
    "/v1/labels": {
        "get": {
            "operationId": "labels",
            "summary": "Labels whose names begin with a word or contain it, frequent ones first",
            "parameters": [
                in_query("q", string(), "A part of a name, or an id; all labels if absent."),
                in_query("limit", whole(1, maximum=1000, default=20), "Labels at most."),
                MODEL,
            ],
            "responses": {
                "200": answer(
                    "Labels that begin with it, then those that contain it, which are counted up to 10,000.",
                    obj({"labels": many(ref("Label")), "total": whole()}),
                )
            }
            | refusals(*ALWAYS, 404, 413, 422),
        },
        "post": {
            "operationId": "add_labels",
            "summary": "Add labels to a model by name, text and examples",
            "requestBody": body(
                obj({"model": string(), "labels": many(ref("NewLabel"), minItems=1)}, ("model",), closed=True),
                {"one": {"value": {"labels": [{"id": "x1", "name": "violin", "text": "a bowed instrument"}]}}},
            ),
            "responses": {
                "201": answer(
                    "Added. `saved`: whether they outlive the server.",
                    obj({"added": whole(), "model": string(), "saved": {"type": "boolean"}}),
                )
            }
            | refusals(*READING, 404, 409, 501),
        },
    },
    "/v1/labels/{id}": {
        "get": {
            "operationId": "label",
            "summary": "A label, those whose classifiers are like its own, and others of its cluster",
            "parameters": [in_path("id", "A label's id.", "n01886756"), MODEL],
            "responses": {"200": answer("The label.", ref("Neighbourhood"))} | refusals(*ALWAYS, 404, 413, 422),
        }
    },
    "/v1/limits": {
        "get": {
            "operationId": "limits",
            "summary": "What a request may ask for",
            "responses": {"200": answer("Limits.", ref("Limits"))} | refusals(421),
        }
    },
    "/livez": {
        "get": {"operationId": "livez", "summary": "The server lives",
                "responses": {"200": {"description": "It does.", "content": PLAIN}} | refusals(421)}
    },
    "/readyz": {
        "get": {"operationId": "readyz", "summary": "Models are open",
                "responses": {"200": {"description": "They are.", "content": PLAIN},
                              "503": {"description": "Not yet, or no more.", "content": PLAIN}} | refusals(421)}
    },
    "/metrics": {
        "get": {"operationId": "metrics", "summary": "Counters for Prometheus",
                "responses": {"200": {"description": "Counters.", "content": PLAIN}} | refusals(401, 421)}
    },
}  # fmt: skip
