"""Routes without a network: explanations and new labels, by a predictor that has both."""

from __future__ import annotations

import asyncio
import json
import os
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import longtail
from longtail import fit
from longtail.corpus import Label, LabelSet, Splits
from longtail.errors import ConfigError
from longtail.predict.predictor import Predictor
from longtail.serve import annif
from longtail.serve.app import build
from longtail.serve.control import Alone
from longtail.serve.guard import Guard
from longtail.serve.logs import Log
from longtail.serve.meter import Meter
from longtail.serve.models import Models, open_served
from longtail.serve.page_files import Page, read_page
from longtail.serve.queue import Queue
from longtail.serve.settings import Settings
from longtail.serve.state import State


class Explained(Predictor):
    """A predictor with the two methods that the server looks for."""

    def explain(self, text: str, k: int = 5, label: str | None = None) -> Any:
        class Explanation:
            def to_json(self) -> dict:
                return {"text": text, "labels": [], "k": k}

        return Explanation()

    def add_labels(self, labels: list[dict]) -> Predictor:
        if labels[0]["name"] == "impossible":
            raise ConfigError("this method cannot add labels")
        known = LabelSet.of([*list(self.labels)[:-1], Label(labels[0]["id"], labels[0]["name"])])
        return replace(self, labels=known)


@pytest.fixture(scope="module")
def place(planted: Splits, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models") / "linear"
    fit("linear", planted.train).save(folder)
    return folder


def asked(place: Path, kind: type[Predictor], *asks: tuple[str, str, Any], **settings: Any) -> list[tuple[int, Any]]:
    """Status and JSON of one request after the other."""

    async def run() -> list[tuple[int, Any]]:
        told = Settings({"linear": place}, **settings)
        models, meter, log = Models(told.models), Meter(), Log(os.open(os.devnull, os.O_WRONLY))
        served = open_served("linear", place)
        models.swap(replace(served, predictor=kind(**vars(served.predictor))))
        queue = Queue(told.limits, meter)
        app = build(State(told, models, queue, meter, log, Alone(told, models, meter, log)))
        try:
            return [await ask(app, *one) for one in asks]
        finally:
            await asyncio.to_thread(queue.close)
            log.close()

    return asyncio.run(run())


TOKEN = "a secret of some length"


async def ask(app: Guard, method: str, path: str, value: Any) -> tuple[int, Any]:
    body, sent = json.dumps(value).encode(), []

    async def receive() -> dict:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    path, _, query = path.partition("?")
    scope = {"type": "http", "method": method, "path": path, "query_string": query.encode(), "root_path": "",
             "headers": [(b"content-type", b"application/json"), (b"host", b"localhost"),
                         (b"authorization", b"Bearer " + TOKEN.encode())]}  # fmt: skip
    await app(scope, receive, send)
    return sent[0]["status"], json.loads(b"".join(one.get("body", b"") for one in sent[1:]) or b"null")


def test_explanations_are_put_beside_the_labels(place: Path):
    [(status, answer)] = asked(
        place, Explained, ("POST", "/v1/predict", {"texts": ["a", "b"], "k": 2, "explain": True})
    )
    assert status == 200
    assert [one["explanation"]["text"] for one in answer["results"]] == ["a", "b"]
    assert [len(one["labels"]) for one in answer["results"]] == [2, 2]


def test_labels_are_added_in_memory_and_found_at_once(place: Path):
    added, found, again, before = asked(
        place, Explained,
        ("POST", "/v1/labels", {"labels": [{"id": "new", "name": "novelty", "text": "t", "examples": ["e"]}]}),
        ("GET", "/v1/labels?q=novel", None),
        ("POST", "/v1/labels", {"labels": [{"id": "L1", "name": "y"}]}),
        ("POST", "/v1/labels", {"labels": [{"id": "z", "name": "impossible"}]}),
    )  # fmt: skip
    assert added == (201, {"added": 1, "model": "linear", "saved": False})
    assert found[1]["labels"][0]["id"] == "new" and again[0] == 409
    assert before == (409, before[1]) and before[1]["detail"] == "this method cannot add labels"


def test_a_model_that_is_opened_has_run_what_added_labels_need(place: Path, monkeypatch: pytest.MonkeyPatch):
    grown: list[int] = []
    rank = Predictor.rank

    def watched(self: Predictor, documents: Any, k: int = 5) -> Any:
        grown.append(self.about.added)
        return rank(self, documents, k)

    monkeypatch.setattr(Predictor, "rank", watched)
    Models({"linear": place}, grow=False).open_all()
    assert set(grown) == {0}
    models = Models({"linear": place})
    models.open_all()
    assert grown[-1] == 1 and models["linear"].predictor.about.added == 0
    served = models.grown("linear", [{"id": "new", "name": "novelty"}])
    assert grown[-1] == 1 and served.predictor.about.added == 1  # it answered before anybody asks it


def test_labels_are_saved_where_the_server_was_told_so(place: Path, tmp_path: Path):
    import shutil

    copy = Path(shutil.copytree(place, tmp_path / "model"))
    one = {"labels": [{"id": "new", "name": "novelty"}]}
    [(status, answer)] = asked(copy, Explained, ("POST", "/v1/labels", one), save_labels=True, token=TOKEN)
    assert status == 201 and answer["saved"] is True
    assert longtail.open(copy).labels[-1].id == "new"


def test_texts_of_a_transformer_may_not_be_merged_if_company_changes_a_bit(
    place: Path, monkeypatch: pytest.MonkeyPatch
):
    assert open_served("linear", place).mergeable
    rank = Predictor.rank

    def dependent(self: Predictor, documents: Any, k: int = 5) -> Any:
        ranking = rank(self, documents, k)
        ranking.scores[:] *= 1 - 1e-6 * len(documents)
        return ranking

    monkeypatch.setattr(Predictor, "rank", dependent)
    assert not open_served("linear", place).mergeable


def test_a_text_that_is_given_up_before_its_language_is_detected_leaves_its_place(
    place: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(annif, "PATIENCE", 0.01)
    end = threading.Event()
    busy = [annif._detectors.submit(end.wait, 60) for _ in range(annif.AT_ONCE)]
    ask = ("POST", "/v1/detect-language", {"text": "x", "languages": ["en"]})
    answers = asked(place, Predictor, *[ask] * (annif.AT_ONCE + 1))
    end.set()
    assert [status for status, _ in answers] == [504] * (annif.AT_ONCE + 1)  # a place that is not left gives 503
    assert all(one.result(60) for one in busy)


def test_files_of_the_page_are_served_with_type_and_tag(tmp_path: Path):
    from starlette.requests import Request

    (tmp_path / "index.html").write_text("<p>page")
    (tmp_path / "main.js").write_text("1")
    (tmp_path / ".hidden").write_text("no")
    page = Page(read_page(tmp_path))
    assert sorted(page.files) == ["index.html", "main.js"]

    def get(name: str, tag: str = "") -> Any:
        scope = {"type": "http", "headers": [(b"if-none-match", tag.encode())], "path_params": {"name": name}}
        return asyncio.run(page.file(Request(scope)))

    first = get("main.js")
    assert first.headers["content-type"] == "text/javascript; charset=utf-8" and first.body == b"1"
    assert get("main.js", first.headers["etag"]).status_code == 304
    with pytest.raises(Exception, match="no such file"):
        get("../x")
