"""Annif's REST interface (annif.org, version 1.4), so that what asks Annif today can ask Longtail tomorrow.

A model is a project, its label set a vocabulary, a label's id a subject's URI.  Fields, defaults and statuses are
Annif's: what is malformed gets 400 where our own interface says 422, and unknown fields are let pass.

`learn` is refused with 403, as Annif refuses it for most backends: it brings documents of labels that a model already
has, and no method here changes a trained label by one document.  New labels come by POST /v1/labels.
"""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response

import longtail
from longtail.serve.fields import Fields, numbers_of, read_form, read_json, whole_number
from longtail.serve.models import Rank, Row, Served
from longtail.serve.problems import Problem, overloaded, too_late
from longtail.serve.state import State, state_of, unhurried

LIMIT, DOCUMENTS = 10, 32  # Annif's: suggestions of a text by default, texts of a batch at most


# -- what there is -----------------------------------------------------------------------------------------------------


async def info(request: Request) -> Response:
    """GET /v1/: who answers."""
    return JSONResponse({"title": "Longtail, by Annif's REST API", "version": longtail.__version__})


async def vocabs(request: Request) -> Response:
    """GET /v1/vocabs."""
    state = state_of(request)
    found = {vocab["vocab_id"]: vocab for vocab in (_vocab(state, served) for served in state.models.all())}
    return JSONResponse({"vocabs": list(found.values())})


async def projects(request: Request) -> Response:
    """GET /v1/projects."""
    state = state_of(request)
    return JSONResponse({"projects": [_project(state, served) for served in state.models.all()]})


async def project(request: Request) -> Response:
    """GET /v1/projects/{id}."""
    state = state_of(request)
    return JSONResponse(_project(state, _served(state, request)))


def _project(state: State, served: Served) -> dict[str, Any]:
    language = state.settings.language
    return {
        "project_id": served.name,
        "name": served.name,
        "language": language,
        "backend": {"backend_id": served.predictor.about.method},
        "vocab": _vocab(state, served),
        "vocab_language": language,
        "is_trained": True,
        "modification_time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(served.changed)),
    }


def _vocab(state: State, served: Served) -> dict[str, Any]:
    name = str(served.predictor.about.corpus.get("name") or served.name)
    size = len(served.predictor.labels)
    return {"vocab_id": name, "languages": [state.settings.language], "size": size, "loaded": True}


def _served(state: State, request: Request) -> Served:
    name = request.path_params["project_id"]
    if name not in state.models.places:
        raise Problem(404, f"Project {name!a:.70} not found", "Project not found")
    return state.models[name]


# -- suggestions -------------------------------------------------------------------------------------------------------


async def suggest(request: Request) -> Response:
    """POST /v1/projects/{id}/suggest: a form with a text."""
    state = state_of(request)
    form = await _plain_413(read_form(request, state.settings.limits))
    given = Fields(numbers_of(form, NUMBERS, 400), None, status=400)
    text = given.string("text")
    limit, threshold = _wanted(given)
    served = _served(state, request)
    _check_language(given, state)
    results = await _suggested(state, request, served, [text], limit, threshold)
    return Response(f'{{"results": {results[0]}}}', media_type="application/json")


async def suggest_batch(request: Request) -> Response:
    """POST /v1/projects/{id}/suggest-batch: up to 32 documents in JSON."""
    state = state_of(request)
    query = Fields(numbers_of(dict(request.query_params), NUMBERS, 400), None, status=400)
    limit, threshold = _wanted(query)
    given = Fields(await _plain_413(read_json(request, state.settings.limits)), None, status=400)
    documents = [_document(at, one) for at, one in enumerate(given.list("documents"))]
    if len(documents) > DOCUMENTS:
        raise Problem(400, f"{len(documents)} documents are more than {DOCUMENTS}")
    served = _served(state, request)
    _check_language(query, state)
    results = await _suggested(state, request, served, [text for text, _ in documents], limit, threshold)
    answers = [f'{{"document_id": {id}, "results": {all}}}' for (_, id), all in zip(documents, results)]
    return Response(f"[{', '.join(answers)}]", media_type="application/json")


async def _plain_413(reading: Any) -> Any:  # noqa: ANN401 - what it reads
    """Annif says in plain text that a body is too large."""
    try:
        return await reading
    except Problem as problem:
        if problem.status == 413:
            raise TooLarge(problem.detail) from None
        raise Problem(400, problem.detail) if problem.status in (415, 422) else problem from None


class TooLarge(Problem):
    """413, in plain text."""

    def __init__(self, detail: str):
        super().__init__(413, detail, headers={"Connection": "close"})

    def response(self) -> Response:
        """As Annif sends it."""
        return PlainTextResponse(self.detail, 413, self.headers)


def _number(text: str) -> float:
    if not text.strip() or "_" in text:
        raise ValueError(text)
    return float(text)


NUMBERS = {"limit": whole_number, "threshold": _number}


def _wanted(given: Fields) -> tuple[int, float]:
    return given.whole("limit", LIMIT, 0, 2**31 - 1), given.share("threshold", 0.0)


def _document(at: int, one: object) -> tuple[str, str]:
    """Its text, and its id as JSON."""
    given = Fields(one, None, f"documents[{at}]", 400)
    if "metadata" in given:
        metadata = Fields(given.given["metadata"], None, f"documents[{at}].metadata", 400).given
        if not all(isinstance(value, str) for value in metadata.values()):
            raise Problem(400, f"documents[{at}].metadata must hold strings")
    return given.string("text"), json.dumps(given.string("document_id")) if "document_id" in given else "null"


def _check_language(given: Fields, state: State) -> None:
    language = given.string("language", state.settings.language) or state.settings.language
    if language != state.settings.language:
        raise Problem(400, f"language {language!a:.40} not supported by vocabulary")


async def _suggested(
    state: State, request: Request, served: Served, texts: list[str], limit: int, threshold: float
) -> list[str]:
    """The suggestions for each text, as JSON."""
    state.note(request, model=served.name, texts=len(texts))
    if any(len(text.encode("utf-8", "surrogatepass")) > state.settings.limits.text_bytes for text in texts):
        raise TooLarge(f"a text has more than {state.settings.limits.text_bytes:,} bytes")
    if not texts or limit == 0:
        return ["[]" for _ in texts]
    rows = await state.answer(request, Rank(served, min(limit, state.settings.limits.k)), texts)
    return await unhurried(limit * len(texts), _all_results, served, rows, threshold)


def _all_results(served: Served, rows: Sequence[Row], threshold: float) -> list[str]:
    return [_results(served, row, threshold) for row in rows]


def _results(served: Served, row: Row, threshold: float) -> str:
    """Labels as Annif's subjects; those that score nothing are none."""
    found = [f"{served.subject(at)}{score!r}}}" for at, score in row.above(threshold) if score > 0]
    return f"[{', '.join(found)}]"


# -- learning, and languages -------------------------------------------------------------------------------------------


async def learn(request: Request) -> Response:
    """POST /v1/projects/{id}/learn: refused, with the reason."""
    state = state_of(request)
    served = _served(state, request)
    given = await _plain_413(read_json(request, state.settings.limits))
    if not isinstance(given, list):
        raise Problem(400, "the body must be a list of documents")
    raise Problem(
        403,
        f"Project '{served.name}' does not learn from single documents; train it again with them, or add labels that "
        "it does not have by POST /v1/labels",
        "Learning not allowed",
    )


async def detect_language(request: Request) -> Response:
    """POST /v1/detect-language: the share of a text's words in each language's dictionary, as Annif has it."""
    state = state_of(request)
    given = Fields(await _plain_413(read_json(request, state.settings.limits)), None, status=400)
    text, languages = given.string("text"), given.strings("languages")
    if not 1 <= len(languages) <= MOST_LANGUAGES or not all(2 <= len(one) <= 3 for one in languages):
        raise Problem(400, f"languages must be one to {MOST_LANGUAGES} codes such as en")
    if not _detecting.acquire(blocking=False):
        raise overloaded()
    detected = _detectors.submit(_shares, text[:LOOKED_AT], tuple(languages))
    detected.add_done_callback(lambda _: _detecting.release())  # also where it was given up before it began
    try:
        async with asyncio.timeout(PATIENCE):
            shares = await asyncio.wrap_future(detected)
    except TimeoutError:
        raise too_late(PATIENCE) from None
    results = [{"language": None if one == "unk" else one, "score": share} for one, share in shares.items()]
    return JSONResponse({"results": results})


MOST_LANGUAGES = 5
PATIENCE = 60.0  # seconds: dictionaries are loaded when they are first needed
LOOKED_AT = 20_000  # characters of a text that tell its language


AT_ONCE = 4  # texts whose language is detected: loading a dictionary takes a second of computing
_detecting, _detectors = threading.BoundedSemaphore(AT_ONCE), ThreadPoolExecutor(AT_ONCE, "language")


def _shares(text: str, languages: tuple[str, ...]) -> dict[str, float]:
    try:
        found = _detector(languages).proportion_in_each_language(text)
    except ValueError:
        raise Problem(400, "unsupported candidate languages") from None
    return dict(sorted(found.items(), key=lambda pair: pair[1], reverse=True))


@cache
def _dictionaries() -> Any:  # noqa: ANN401 - simplemma's
    try:
        from simplemma.strategies import DefaultStrategy
        from simplemma.strategies.dictionaries import DefaultDictionaryFactory
    except ImportError:
        raise Problem(501, "detecting languages needs a package: pip install 'longtail[annif]'") from None
    return DefaultStrategy(dictionary_factory=DefaultDictionaryFactory(cache_max_size=MOST_LANGUAGES))


def _detector(languages: tuple[str, ...]) -> Any:  # noqa: ANN401 - simplemma's
    strategy = _dictionaries()
    from simplemma import LanguageDetector

    if not set(languages) <= set(known_languages()):  # newer versions let them pass
        raise ValueError(languages)

    return LanguageDetector(languages, lemmatization_strategy=strategy)


def known_languages() -> list[str]:
    """Codes of the languages that there are dictionaries of; none without the package."""
    try:
        from simplemma.strategies.dictionaries.dictionary_factory import SUPPORTED_LANGUAGES
    except ImportError:
        return []
    return sorted(SUPPORTED_LANGUAGES)
