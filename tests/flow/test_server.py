"""`longtail serve` in real processes: answers, batches, overload, deadlines, signals, reloads."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import longtail
from benchmarks.flood import Flood
from benchmarks.load import post
from longtail import fit
from longtail.corpus import Splits
from longtail.judge.validation import calibrate
from longtail.predict.predictor import Predictor
from longtail.serve.queue import CALM
from tests.full_disk import limit
from tests.planted import planted_corpus, word
from tests.serving import ROOT, Server, running, together

JSON = {"Content-Type": "application/json"}


@pytest.fixture(scope="module")
def places(planted: Splits, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Two models of one corpus; the second is calibrated, with a threshold."""
    folder = tmp_path_factory.mktemp("models")
    fit("linear", planted.train).save(folder / "linear")
    counting = fit("centroid", planted.train)
    calibrate(counting, planted_corpus(200, 3, "valid"), threshold="f1", k=10).model.save(folder / "centroid")
    return {name: folder / name for name in ("linear", "centroid")}


@pytest.fixture(scope="module")
def server(places: dict[str, Path]) -> Iterator[Server]:
    with running(places["linear"], f"counted={places['centroid']}") as started:
        yield started


@pytest.fixture(scope="module")
def linear(places: dict[str, Path]) -> Predictor:
    return longtail.open(places["linear"])


SLOW = ("--queue", 3, "--queue-texts", 40, "--deadline", 2, "--arrival", 1, "--drain", 5)


@pytest.fixture(scope="module")
def slow(places: dict[str, Path]) -> Iterator[Server]:
    """A server whose texts say how long they take."""
    with running(places["linear"], *SLOW, module="tests.slow_server") as started:
        yield started


@pytest.fixture
def stopped(places: dict[str, Path]) -> Iterator[Server]:
    """One more, which a test may stop."""
    with running(places["linear"], *SLOW, module="tests.slow_server") as started:
        yield started


def suggested(answer: list[dict]) -> list[list[tuple]]:
    return [[(one["index"], one["id"], one["name"], one["score"]) for one in result["labels"]] for result in answer]


# -- answers -----------------------------------------------------------------------------------------------------------


def test_it_answers_what_the_predictor_answers_to_the_last_bit(server: Server, linear: Predictor, planted: Splits):
    texts = list(planted.test.texts[:30])
    answer = server.predict(texts=texts, k=7)
    assert answer.status == 200 and answer.json["model"] == "linear"
    assert suggested(answer.json["results"]) == [[tuple(one) for one in row] for row in linear.predict(texts, k=7)]


def test_requests_that_meet_are_answered_as_if_they_were_alone(server: Server, linear: Predictor, planted: Splits):
    texts = list(planted.test.texts)

    def ask(at: int) -> list:
        connection, found = server.connect(), []
        for text in texts[at::8]:
            body = json.dumps({"text": text, "k": 3 + at % 2})
            connection.request("POST", "/v1/predict", body, JSON)
            found.append(suggested(json.loads(connection.getresponse().read())["results"])[0])
        connection.close()
        return found

    for at, found in enumerate(together(8, ask)):
        expected = linear.predict(texts[at::8], k=3 + at % 2)
        assert found == [[tuple(one) for one in row] for row in expected]


def test_the_automatic_threshold_is_the_one_that_was_chosen(server: Server, places: dict[str, Path], planted: Splits):
    counted, texts = longtail.open(places["centroid"]), list(planted.test.texts[:20])
    answer = server.predict(texts=texts, model="counted", threshold="auto")
    assert suggested(answer.json["results"]) == [
        [tuple(one) for one in row] for row in counted.predict(texts, threshold="auto")
    ]
    refused = server.predict(text="x", threshold="auto")
    assert refused.status == 409 and "longtail calibrate" in refused.json["detail"]


def test_it_says_what_its_models_are(server: Server, places: dict[str, Path]):
    models = server.get("/v1/models").json["models"]
    assert [(one["name"], one["method"], one["labels"], one["default"], one["calibrated"]) for one in models] == [
        ("linear", "linear", 60, True, False),
        ("counted", "centroid", 60, False, True),
    ]
    details = server.get("/v1/models/counted").json
    assert details["calibration"]["threshold"]["k"] == 10 and details["calibration"]["curve"]
    assert details["corpus"]["name"] == "planted" and details["size"] > 1000
    assert server.get("/v1/models/nobody").status == 404


def test_metrics_that_were_written_beside_a_model_are_shown(moving: Path, places: dict[str, Path], planted: Splits):
    judged = longtail.evaluate(longtail.open(places["centroid"]), planted.test).to_json()
    with running(places["centroid"], f"other={moving}") as started:
        assert started.get("/v1/models/other").json["metrics"] is None
        (moving.parent / "evaluation.json").write_text(json.dumps(judged))
        details = started.get("/v1/models/other").json
        assert details["metrics"] == judged["metrics"] and details["calibration"] is None
        assert details["deciles"][0]["P@1"] == judged["by_decile"][0]["within"]["P@1"]
        (moving.parent / "evaluation.json").write_text('{"metrics": 3}')
        assert started.get("/v1/models/other").json["deciles"] is None


def test_labels_are_found_by_name_and_id_with_their_neighbours(server: Server):
    found = server.get(f"/v1/labels?q={word(7)[:4]}&limit=100").json
    assert word(7) in [one["name"] for one in found["labels"]] and found["total"] == len(found["labels"])
    label = server.get("/v1/labels/L7").json
    assert (label["index"], label["name"]) == (7, word(7)) and "L7" not in [one["id"] for one in label["nearest"]]
    assert label["cluster"] and server.get("/v1/labels/L60").status == 404


def test_it_lists_its_interface_its_limits_and_its_health(server: Server):
    assert server.get("/openapi.json").json["paths"]["/v1/predict"]
    assert server.get("/v1/limits").json == {
        "texts": 32, "text_bytes": 1_000_000, "body_bytes": 20_000_000, "k": 1000, "token_required": False
    }  # fmt: skip
    assert server.get("/livez").body == b"alive\n" and server.get("/readyz").body == b"ready\n"
    told = server.get("/metrics").body.decode()
    assert 'longtail_requests_total{route="limits",status="200"}' in told and "longtail_batch_texts_bucket" in told
    page = server.get("/")
    assert page.status == 200 and page.headers["Content-Type"] == "text/html; charset=utf-8"
    assert "default-src 'self'" in page.headers["Content-Security-Policy"]


def test_texts_are_not_in_the_log_unless_asked(places: dict[str, Path]):
    for words, expected in (((), False), (("--log-texts",), True)):
        with running(places["linear"], *words) as started:
            started.predict(text="a secret word")
        lines = [line for line in started.log() if line["event"] == "request"]
        assert lines[0]["path"] == "/v1/predict" and lines[0]["texts"] == 1
        assert ("secret" in started.said()) == expected


# -- overload, deadlines, clients that leave ---------------------------------------------------------------------------


def test_a_full_queue_refuses_at_once(slow: Server):
    def ask(at: int) -> tuple[int, float, str | None]:
        time.sleep(0.05 * at)
        started = time.perf_counter()
        answer = slow.predict(text="nap 0.4")
        return answer.status, time.perf_counter() - started, answer.headers["Retry-After"]

    answers = together(8, ask)
    assert [status for status, _, _ in answers] == [200] * 4 + [429] * 4  # one is predicted, three wait
    assert all(seconds < 0.2 and after == "1" for status, seconds, after in answers if status == 429)
    assert slow.get("/livez").status == 200
    assert slow.predict(text=word(1)).status == 200


def test_whoever_is_let_in_by_an_overloaded_server_gets_the_right_answer(places: dict[str, Path]):
    asked = [post("/v1/predict", json.dumps({"text": f"{word(at)} {word(at + 1)}"}).encode()) for at in range(8)]
    with running(places["linear"], "--queue", 2) as started:
        right = [started.predict(text=f"{word(at)} {word(at + 1)}").body for at in range(8)]
        flood = Flood(started.port, asked, list(right), connections=32)
        outcome = flood.run(rate=50_000, seconds=1)
        flood.close()
        time.sleep(2 * CALM)
        assert started.predict(text=word(1)).status == 200
    assert outcome.wrong == outcome.broken == 0
    assert set(outcome.statuses) == {200, 429} and min(outcome.statuses.values()) > 10


@contextmanager
def full(server: Server, tmp_path: Path) -> Iterator[None]:
    """With its queue full: one request is predicted, three wait."""
    time.sleep(2 * CALM)  # whoever was refused before was told so by now; until then fewer may wait
    end = tmp_path / "end"
    asked = [threading.Thread(target=server.predict, kwargs={"text": text}) for text in (f"until {end}", "a", "b", "c")]
    asked[0].start()
    wait_for(end.with_suffix(".begun").exists, 20)
    for one in asked[1:]:
        one.start()
    wait_for(lambda: "longtail_queue_requests 3" in server.get("/metrics").body.decode(), 20)
    yield
    end.touch()
    for one in asked:
        one.join()


def test_who_finds_the_queue_full_is_told_so_as_in_any_other_refusal(slow: Server, tmp_path: Path):
    with full(slow, tmp_path):
        own = slow.predict(text="x")
        annif = slow.post("/v1/projects/linear/suggest-batch", {"documents": []})
        other_host = slow.post("/v1/predict", {"text": "x"}, Host="elsewhere.example")
        page_of_another_host = slow.post("/v1/predict", {"text": "x"}, Origin="http://elsewhere.example")
    assert (own.status, annif.status, other_host.status, page_of_another_host.status) == (429, 503, 421, 403)
    for answer in (own, annif):
        assert answer.json["status"] == answer.status and "ask again" in answer.json["detail"]
        assert answer.headers["Content-Type"] == "application/problem+json" and answer.headers["Date"]
    same = ("X-Content-Type-Options", "Content-Security-Policy", "Cache-Control", "Referrer-Policy")
    assert [own.headers[name] for name in same] == [slow.get("/livez").headers[name] for name in same]
    wait_for(lambda: sum(line["requests"] for line in slow.log() if line["event"] == "refused") >= 2)
    assert 'longtail_requests_total{route="annif_suggest_batch",status="503"} 1' in slow.get("/metrics").body.decode()


def test_a_connection_outlives_a_refusal_and_the_rest_of_the_body_is_ignored(slow: Server, tmp_path: Path):
    head = (
        b"POST /v1/predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 17\r\n\r\n"
    )
    body = b'{"text": "tiger"}'
    with full(slow, tmp_path), socket.create_connection(("127.0.0.1", slow.port), 10) as raw:
        raw.sendall(head)
        refused = raw.recv(65536)  # before any body
        raw.sendall(body[:5])
        time.sleep(0.05)
        raw.sendall(body[5:] + head + body)
        again = raw.recv(65536)
        closing = slow.ask("POST", "/v1/predict", body, JSON | {"Connection": "close"})
    assert refused.startswith(b"HTTP/1.1 429 ") and again.startswith(b"HTTP/1.1 429 ")
    assert closing.status == 429 and closing.headers["Connection"] == "close"


def test_a_known_head_is_refused_unparsed_and_answered_when_there_is_room(slow: Server, tmp_path: Path):
    body = b'{"text": "tiger"}'
    asked = (
        b"POST /v1/predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 17\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", slow.port), 10) as raw:
        with full(slow, tmp_path):
            refusals = []
            for data in (asked + body, asked + body, asked + body[::-1]):
                raw.sendall(data)
                refusals.append(raw.recv(65536))
            raw.sendall(asked + body + asked + body)  # two in one piece get two answers
            twice = raw.recv(65536)
            while twice.count(b"HTTP/1.1 ") < 2:
                twice += raw.recv(65536)
        wait_for(lambda: "longtail_queue_requests 0" in slow.get("/metrics").body.decode(), 20)
        raw.sendall(asked + body)
        answer = raw.recv(65536)
    assert [one.partition(b"date: ")[0] for one in refusals] == [b"HTTP/1.1 429 Too Many Requests\r\n"] * 3
    assert len({len(one) for one in refusals}) == 1 and twice.count(b"HTTP/1.1 429 ") == 2
    assert answer.startswith(b"HTTP/1.1 200 ")


def test_a_body_that_does_not_end_after_a_refusal_ends_the_connection(slow: Server, tmp_path: Path):
    head = (
        b"POST /v1/predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n"
    )
    with full(slow, tmp_path), socket.create_connection(("127.0.0.1", slow.port), 10) as raw:
        raw.sendall(head + b"{")
        assert raw.recv(65536).startswith(b"HTTP/1.1 429 ")
        assert raw.recv(65536) == b""  # after the second that a request may take to arrive


def test_health_and_metrics_answer_while_the_queue_is_full(slow: Server):
    def ask(at: int) -> tuple[int, float]:
        if at < 5:
            return slow.predict(text="nap 0.5").status, 0.0
        time.sleep(0.3)
        started = time.perf_counter()
        status = slow.get(("/livez", "/readyz", "/metrics")[at - 5]).status
        return status, time.perf_counter() - started

    assert all(status == 200 and seconds < 0.2 for status, seconds in together(8, ask)[5:])


def test_a_request_is_given_up_at_its_deadline(slow: Server):
    started = time.perf_counter()
    answer = slow.predict(text="nap 3")
    assert answer.status == 504 and 1.9 < time.perf_counter() - started < 2.5
    time.sleep(1.2)
    assert slow.predict(text=word(1)).status == 200


def test_a_client_that_leaves_is_forgotten(slow: Server):
    first, second = slow.connect(), slow.connect()
    first.request("POST", "/v1/predict", '{"text": "nap 0.5"}', JSON)
    time.sleep(0.1)
    second.request("POST", "/v1/predict", '{"text": "nap 1.9"}', JSON)
    time.sleep(0.1)
    second.close()  # while it waits
    started = time.perf_counter()
    assert slow.predict(text=word(1)).status == 200
    assert time.perf_counter() - started < 1
    first.close()
    wait_for(lambda: any(line.get("status") == 499 for line in slow.log()))


def test_a_text_that_fails_fails_alone(slow: Server):
    def ask(at: int) -> int:
        time.sleep(0.02 * at)
        return slow.predict(text=["nap 0.3", word(1), "fail"][at]).status

    assert together(3, ask) == [200, 200, 500]
    wait_for(lambda: "on purpose" in slow.said())


def wait_for(holds, seconds: float = 5) -> None:
    until = time.monotonic() + seconds
    while not holds() and time.monotonic() < until:
        time.sleep(0.05)
    assert holds()


# -- starting and stopping ---------------------------------------------------------------------------------------------


def test_sigterm_lets_requests_finish_and_exits_with_0(stopped: Server):
    def ask(at: int) -> int:
        if at == 0:
            return stopped.predict(text="nap 1").status
        time.sleep(0.3)
        stopped.signal(signal.SIGTERM)
        return stopped.process.wait(10)

    assert together(2, ask) == [200, 0]
    with pytest.raises(ConnectionRefusedError):
        stopped.get("/livez")


def test_a_drain_has_an_end(places: dict[str, Path]):
    with running(places["linear"], "--drain", 1, module="tests.slow_server") as started:
        connection = started.connect()
        connection.request("POST", "/v1/predict", '{"text": "nap 4"}', JSON)
        time.sleep(0.3)
        started.signal(signal.SIGTERM)
        began = time.perf_counter()
        started.process.wait(10)
        assert time.perf_counter() - began < 6


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("nowhere",), "nowhere: no such directory"),
        (("{linear}", "--host", "0.0.0.0"), "--token-file"),
        (("{linear}", "--save-labels"), "--token-file"),
        (("{linear}", "{linear}"), "two models are called linear"),
        (("a/b={linear}",), "a model's name has letters"),
        (("{linear}", "--workers", "2", "--queue-texts", "1"), "one request may bring 32"),
        (("nowhere", "--workers", "2"), "nowhere: no such directory"),
    ],
)
def test_what_cannot_be_served_is_refused_with_a_sentence(places: dict[str, Path], words: tuple, sentence: str):
    command = [sys.executable, "-m", "longtail", "serve", *(one.format(**places) for one in words), "--port", "0"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=ROOT)
    assert done.returncode == 2 and sentence in done.stderr and "Traceback" not in done.stderr


def test_a_port_that_is_taken_is_said(server: Server, places: dict[str, Path]):
    command = [sys.executable, "-m", "longtail", "serve", str(places["linear"]), "--port", str(server.port)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=ROOT)
    assert done.returncode == 2 and "Address already in use; choose another --port" in done.stderr


def test_it_is_alive_before_it_is_ready(places: dict[str, Path], tmp_path: Path):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "longtail", "serve", str(places["linear"]), "--port", str(port)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=ROOT)
    try:
        early = Server(process, port, [])
        statuses = set()
        until = time.monotonic() + 30
        while 200 not in statuses and time.monotonic() < until:
            try:
                assert early.get("/livez").status == 200
                statuses.add(early.get("/readyz").status)
            except ConnectionError:
                time.sleep(0.005)
        assert 200 in statuses and statuses <= {200, 503}
    finally:
        process.terminate()
        process.wait(20)


def test_a_disk_that_is_full_for_logs_stops_no_answer(places: dict[str, Path], tmp_path: Path):
    log = (tmp_path / "log").open("w")
    command = [sys.executable, "-m", "longtail", "serve", str(places["linear"]), "--port", "0"]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=log, text=True, cwd=ROOT, preexec_fn=lambda: limit(2000)
    )
    try:
        port = int(process.stdout.readline().rpartition(":")[2].partition("/")[0])  # type: ignore[union-attr]
        full = Server(process, port, [])
        for _ in range(100):
            assert full.predict(text=word(3)).status == 200
        time.sleep(0.3)
        told = full.get("/metrics").body.decode()
        assert int(told.partition("\nlongtail_log_lines_dropped_total ")[2].split()[0]) > 0
    finally:
        process.terminate()
        assert process.wait(20) == 0


# -- reloading ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def moving(places: dict[str, Path], tmp_path: Path) -> Path:
    """A model directory that a test may change."""
    return Path(shutil.copytree(places["linear"], tmp_path / "moving"))


@pytest.mark.parametrize("workers", [1, 2])
def test_a_reload_swaps_the_model_and_a_bad_one_is_refused(moving: Path, places: dict[str, Path], workers: int):
    with running(moving, "--workers", workers) as started:
        before = started.get("/v1/models").json["models"][0]
        longtail.open(places["centroid"]).save(moving)
        answer = started.post("/v1/models/moving/reload", None)
        assert answer.status == 200 and answer.json["checksum"] != before["checksum"]
        for _ in range(8):  # whichever worker is asked
            now = started.get("/v1/models").json["models"][0]
            assert (now["method"], now["checksum"]) == ("centroid", answer.json["checksum"])
        (moving / "labels.jsonl").unlink()  # not written over: the server has it mapped
        (moving / "labels.jsonl").write_text("{}\n")
        refused = started.post("/v1/models/moving/reload", None)
        assert refused.status == 409 and "its bytes changed" in refused.json["detail"]
        shutil.rmtree(moving)
        assert started.post("/v1/models/moving/reload", None).status == 409
        for _ in range(8):
            assert started.get("/v1/models").json["models"][0]["checksum"] == answer.json["checksum"]
            assert started.predict(text=word(5)).json["results"][0]["labels"][0]["name"] == word(5)


@pytest.mark.parametrize("workers", [1, 2])
def test_sighup_reloads_too(moving: Path, places: dict[str, Path], workers: int):
    with running(moving, "--workers", workers) as started:
        longtail.open(places["centroid"]).save(moving)
        started.signal(signal.SIGHUP)
        wait_for(lambda: all(started.get("/v1/models").json["models"][0]["method"] == "centroid" for _ in range(6)), 20)


def test_reloads_under_load_lose_nothing_and_mix_nothing(moving: Path, places: dict[str, Path], planted: Splits):
    models = {"linear": longtail.open(places["linear"]), "centroid": longtail.open(places["centroid"])}
    text = planted.test.texts[0]
    possible = [[tuple(one) for one in model.predict([text])[0]] for model in models.values()]
    with running(moving) as started:

        def ask(at: int) -> list:
            if at == 0:
                for turn in range(10):
                    list(models.values())[turn % 2].save(moving)
                    assert started.post("/v1/models/moving/reload", None).status == 200
                return []
            connection, found = started.connect(), []
            for _ in range(150):
                connection.request("POST", "/v1/predict", json.dumps({"text": text}), JSON)
                response = connection.getresponse()
                assert response.status == 200
                found.append(suggested(json.loads(response.read())["results"])[0])
            return found

        found = [one for answers in together(4, ask) for one in answers]
    assert len(found) == 450 and all(one in possible for one in found)


# -- several workers ---------------------------------------------------------------------------------------------------


def test_a_killed_worker_is_replaced_while_the_other_answers(places: dict[str, Path]):
    with running(places["linear"], "--workers", 2) as started:
        first = started.workers()
        assert len(first) == 2

        os.kill(first[0], signal.SIGKILL)
        until = time.monotonic() + 3
        while time.monotonic() < until:  # also while its successor starts
            assert started.predict(text=word(2)).status == 200
        wait_for(lambda: len(started.workers()) == 2 and first[0] not in started.workers(), 2)
        told = started.get("/metrics").body.decode()
        assert "longtail_worker_starts_total 3" in told
    assert started.process.returncode == 0


def test_labels_are_not_added_to_the_memory_of_one_worker_of_two(places: dict[str, Path]):
    with running(places["linear"], "--workers", 2) as started:
        refused = started.post("/v1/labels", {"labels": [{"id": "new", "name": "novelty"}]})
    assert refused.status == 409 and "--save-labels" in refused.json["detail"]


def test_counters_are_those_of_all_workers(places: dict[str, Path]):
    counted = 'longtail_requests_total{route="predict",status="200"} 30'
    with running(places["linear"], "--workers", 2) as started:
        assert set(together(30, lambda at: started.predict(text=word(at)).status)) == {200}
        # A request is counted when its answer has been sent.
        wait_for(lambda: counted in started.get("/metrics").body.decode())
