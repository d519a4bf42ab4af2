"""Annif's interface: Annif's own client, and Annif itself with Longtail in its ensemble, ask a real server."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import requests
from annif_client import AnnifClient

import longtail
from longtail import fit
from longtail.corpus import Label, LabelSet, Splits
from longtail.predict.predictor import Predictor
from tests.planted import N_LABELS, word
from tests.serving import Server, running

URI = "http://example.org/subject/"


@pytest.fixture(scope="module")
def place(planted: Splits, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model whose labels have URIs for ids, as a library's have."""
    subjects = LabelSet.of(Label(f"{URI}{at}", word(at)) for at in range(N_LABELS))
    folder = tmp_path_factory.mktemp("models") / "subjects"
    fit("linear", replace(planted.train, label_set=subjects)).save(folder)
    return folder


@pytest.fixture(scope="module")
def model(place: Path) -> Predictor:
    return longtail.open(place)


@pytest.fixture(scope="module")
def server(place: Path) -> Iterator[Server]:
    with running(place) as started:
        yield started


@pytest.fixture(scope="module")
def client(server: Server) -> AnnifClient:
    return AnnifClient(api_base=f"{server.base}/v1/")


def expected(model: Predictor, text: str, limit: int = 10, threshold: float = 0.0) -> list[dict]:
    found = model.predict([text], k=limit, threshold=threshold)[0]
    return [{"uri": one.id, "label": one.name, "notation": None, "score": one.score} for one in found if one.score > 0]


# -- annif-client ------------------------------------------------------------------------------------------------------


def test_the_client_learns_what_there_is(client: AnnifClient):
    assert client.api_info["title"] and client.api_info["version"]
    [project] = client.projects
    assert project == client.get_project("subjects")
    assert project["project_id"] == "subjects" and project["is_trained"] is True and project["language"] == "en"
    assert project["backend"] == {"backend_id": "linear"} and project["vocab"]["size"] == N_LABELS
    with pytest.raises(ValueError, match="'nobody' not found"):
        client.get_project("nobody")


def test_the_client_gets_the_predictor_s_suggestions(client: AnnifClient, model: Predictor, planted: Splits):
    text = planted.test.texts[3]
    assert client.suggest("subjects", text) == expected(model, text)
    assert client.suggest("subjects", io.StringIO(text), limit=3) == expected(model, text, 3)
    assert client.suggest("subjects", text, threshold=0.5) == expected(model, text, 10, 0.5)
    assert client.suggest("subjects", text, limit=0) == []
    with pytest.raises(ValueError, match="not found"):
        client.suggest("nobody", text)


def test_the_client_asks_for_a_batch(client: AnnifClient, model: Predictor, planted: Splits):
    documents = [{"text": text, "document_id": f"doc-{at}"} for at, text in enumerate(planted.test.texts[:32])]
    documents[5].pop("document_id")
    answer = client.suggest_batch("subjects", documents, limit=4)
    assert [one["document_id"] for one in answer] == [one.get("document_id") for one in documents]
    assert [one["results"] for one in answer] == [expected(model, one["text"], 4) for one in documents]
    with pytest.raises(requests.HTTPError) as error:
        client.suggest_batch("subjects", [{"text": "x"}] * 33)
    assert error.value.response.status_code == 400


def test_learning_is_refused_with_the_reason(client: AnnifClient):
    with pytest.raises(requests.HTTPError) as error:
        client.learn("subjects", [{"text": "x", "subjects": [{"uri": f"{URI}1", "label": "y"}]}])
    assert error.value.response.status_code == 403 and "POST /v1/labels" in error.value.response.json()["detail"]


def test_languages_are_detected(client: AnnifClient):
    found = client.detect_language("The quick brown fox jumps over the lazy dog", ["en", "fi", "sv"])["results"]
    assert found[0]["language"] == "en" and found[0]["score"] > 0.8
    assert {one["language"] for one in found} == {"en", "fi", "sv", None}


# -- details of the interface ------------------------------------------------------------------------------------------


def test_it_refuses_as_annif_does(server: Server):
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    address = "/v1/projects/subjects/suggest"
    for body in (
        "",
        "limit=3",
        "text=a&limit=-1",
        "text=a&limit=x",
        "text=a&threshold=2",
        "text=a&language=fi",
        "text=%ff",
    ):
        answer = server.ask("POST", address, body, form)
        assert answer.status == 400 and answer.headers["Content-Type"] == "application/problem+json", body
    large = server.ask("POST", address, "text=" + "a" * 1_000_001, form)
    assert large.status == 413 and large.headers["Content-Type"].startswith("text/plain")
    batch = "/v1/projects/subjects/suggest-batch"
    for value in ([], {}, {"documents": 1}):
        assert server.post(batch, value).status == 400, value
    for one in ({}, {"text": 1}, {"text": "a", "document_id": 1}, {"text": "a", "metadata": {"x": 1}}):
        assert server.post(batch, {"documents": [one]}).status == 400, one
    assert server.post(f"{batch}?limit=x", {"documents": []}).status == 400
    assert server.post(batch, {"documents": []}).json == []
    for languages in ([], ["e"], ["english"], ["en"] * 6, "en", [1], ["xx"]):
        assert server.post("/v1/detect-language", {"text": "a", "languages": languages}).status == 400, languages


def test_an_empty_language_counts_as_none_and_the_description_says_so(server: Server):
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    address = "/v1/projects/subjects/suggest"
    assert [server.ask("POST", address, f"text=x&language={given}", form).status for given in ("", "en", "xx")] == [
        200, 200, 400,
    ]  # fmt: skip
    paths = server.get("/openapi-annif.json").json["paths"]
    body = paths["/projects/{project_id}/suggest"]["post"]["requestBody"]["content"]
    assert body["application/x-www-form-urlencoded"]["schema"]["properties"]["language"]["enum"] == ["en", ""]


def test_metadata_is_let_pass(server: Server, model: Predictor):
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    answer = server.ask("POST", "/v1/projects/subjects/suggest", f"text={word(3)}&metadata_title=x&project=y", form)
    assert answer.json["results"] == expected(model, word(3))
    assert server.get("/v1/vocabs").json["vocabs"][0]["vocab_id"] == "planted"


# -- Annif itself ------------------------------------------------------------------------------------------------------

PROJECTS = """
[longtail]
name=Longtail
language=en
backend=http
vocab=planted
endpoint={base}/v1/projects/subjects/suggest
limit=20

[words]
name=Words
language=en
backend=tfidf
analyzer=simple
vocab=planted
limit=20

[both]
name=Both
language=en
backend=ensemble
vocab=planted
sources=longtail:3,words:1
limit=20
"""


@pytest.fixture(scope="module")
def annif() -> str:
    """Annif's command line, which lives in an environment of its own."""
    command = os.environ.get("LONGTAIL_ANNIF") or shutil.which("annif")
    if command is None or not Path(command).is_file():
        message = (
            "SKIPPED, NOT PASSED: no Annif; install annif==1.4.3 into a venv, and name its command in LONGTAIL_ANNIF"
        )
        warnings.warn(message, stacklevel=1)
        pytest.skip(message)
    return command


def without_nltk_s_download(folder: Path) -> None:
    """Annif's analyzers split sentences by tables that NLTK downloads; with empty ones it splits at every full stop."""
    tables = folder / "tokenizers" / "punkt_tab" / "english"
    tables.mkdir(parents=True)
    for name in ("collocations.tab", "sent_starters.txt", "abbrev_types.txt", "ortho_context.tab"):
        (tables / name).touch()


@pytest.mark.slow
def test_annif_has_longtail_in_its_ensemble(
    annif: str, server: Server, model: Predictor, planted: Splits, tmp_path: Path
):
    (tmp_path / "projects.cfg").write_text(PROJECTS.format(base=server.base))
    (tmp_path / "vocab.tsv").write_text("".join(f"<{URI}{at}>\t{word(at)}\n" for at in range(N_LABELS)))
    rows = planted.train.labels
    (tmp_path / "train.tsv").write_text(
        "".join(
            f"{text}\t" + " ".join(f"<{URI}{label}>" for label in rows.indices[start:stop]) + "\n"
            for text, start, stop in zip(planted.train.texts, rows.indptr, rows.indptr[1:])
        )
    )

    without_nltk_s_download(tmp_path / "nltk")
    environment = os.environ | {"NLTK_DATA": str(tmp_path / "nltk")}

    def run(*words: str, text: str | None = None) -> str:
        pipes = {"capture_output": True, "text": True, "timeout": 300}
        done = subprocess.run([annif, *words], input=text, cwd=tmp_path, env=environment, **pipes)
        assert done.returncode == 0, done.stderr
        return done.stdout

    run("load-vocab", "--language", "en", "planted", "vocab.tsv")
    run("train", "words", "train.tsv")
    text = planted.test.texts[0]
    alone = [line.split("\t") for line in run("suggest", "longtail", "--limit", "5", text=text).splitlines()]
    for (uri, name, score), ours in zip(alone, model.predict([text], k=5)[0], strict=True):
        assert uri == f"<{ours.id}>" and name == ours.name and float(score) == pytest.approx(ours.score, abs=1e-3)
    first = planted.test.labels.indices[: planted.test.labels.indptr[1]].tolist()
    together = run("suggest", "both", "--limit", str(len(first)), text=text)
    assert {line.split("\t")[0] for line in together.splitlines()} == {f"<{URI}{label}>" for label in first}
