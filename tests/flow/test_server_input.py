"""What strangers send: tokens, limits, broken input, slow clients, random bytes.  Nothing of it gets a 5xx."""

from __future__ import annotations

import json
import os
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from longtail import fit
from longtail.corpus import Splits
from tests.fuzzing import fuzz
from tests.planted import word
from tests.serving import Server, running

TOKEN = "0123456789abcdef0123456789abcdef"
JSON = {"Content-Type": "application/json"}
POST = b"POST /v1/predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"


@pytest.fixture(scope="module")
def model(planted: Splits, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("models") / "linear"
    fit("linear", planted.train).save(place)
    return place


@pytest.fixture(scope="module")
def server(model: Path) -> Iterator[Server]:
    limits = ("--max-texts", 4, "--max-text-bytes", 2000, "--max-body-bytes", 20_000, "--max-k", 50, "--arrival", 1)
    with running(model, *limits, "--idle", 2, "--max-connections", 1500) as started:
        yield started
        assert "".join(line["traceback"] for line in started.log() if line["event"] == "error") == ""


@pytest.fixture(scope="module")
def guarded(model: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    token = tmp_path_factory.mktemp("secret") / "token"
    token.write_text(f"{TOKEN}\n")
    with running(model, "--token-file", token, "--host", "0.0.0.0") as started:
        yield started


# -- who may ask -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path", ["/v1/models", "/v1/labels", "/metrics", "/v1/", "/v1/projects", "/openapi.json", "/nowhere"]
)
def test_a_token_is_asked_of_everything_but_health_and_the_page(guarded: Server, path: str):
    for given in (None, f"Bearer {TOKEN}x", "Bearer ", TOKEN, f"bearer{TOKEN}", "Bearer é"):
        refused = guarded.get(path, **({} if given is None else {"Authorization": given}))
        assert refused.status == 401 and refused.headers["WWW-Authenticate"] == "Bearer"
    assert guarded.get(path, Authorization=f"Bearer {TOKEN}").status == (404 if path == "/nowhere" else 200)


def test_without_a_token_there_is_health_and_the_page(guarded: Server):
    for path in ("/livez", "/readyz", "/", "/v1/limits"):
        assert guarded.get(path).status == 200
    assert guarded.get("/v1/limits").json["token_required"] is True
    assert guarded.post("/v1/predict", {"text": word(1)}).status == 401
    assert guarded.post("/v1/predict", {"text": word(1)}, Authorization=f"Bearer {TOKEN}").status == 200


def test_a_server_without_a_token_answers_only_to_names_of_this_machine(server: Server, model: Path):
    for name in ("localhost", "127.0.0.1:80", "[::1]:8080", "127.8.9.1"):
        assert server.get("/livez", Host=name).status == 200
    for name in ("evil.example", "127.0.0.1.evil.example", "[", "", "10.0.0.1"):
        assert server.get("/v1/models", Host=name).status == 421
    with running(model, "--allow-host", "labels.example") as named:
        assert named.get("/v1/models", Host="labels.example").status == 200


def test_pages_of_other_hosts_are_refused(server: Server):
    own = f"127.0.0.1:{server.port}"
    assert server.post("/v1/predict", {"text": "x"}, Origin=f"http://{own}").status == 200
    for origin in ("http://evil.example", "null", f"http://{own}.evil.example"):
        assert server.post("/v1/predict", {"text": "x"}, Origin=origin).status == 403
        assert server.ask("POST", "/v1/models/linear/reload", None, {"Origin": origin}).status == 403
    answer = server.ask("OPTIONS", "/v1/predict", None, {"Origin": "http://evil.example"})
    assert "Access-Control-Allow-Origin" not in answer.headers


def test_no_path_reaches_the_disk(server: Server):
    for path in ("/page/../__init__.py", "/page/%2e%2e/__init__.py", "/page//etc/passwd", "/page/", "/etc/passwd",
                 "/v1/models/..%2f..%2fetc", "/v1/models/%00", "/v1/labels/../../x", "/page/..\\x"):  # fmt: skip
        answer = server.get(path)
        assert answer.status == 404 and b"root:" not in answer.body, path


# -- input -------------------------------------------------------------------------------------------------------------

BROKEN: list[tuple[bytes, int, str]] = [
    (b"", 400, "not JSON"),
    (b"{", 400, "not JSON"),
    (b'{"text": NaN}', 400, "NaN"),
    (b'{"text": "x", "threshold": -Infinity}', 400, "Infinity"),
    (b'{"text": "x", "threshold": 1e999}', 400, "too large"),
    (b'{"text": "x", "k": ' + b"9" * 3000 + b"}", 400, "digits"),
    (b'{"text": "\xff"}', 400, "not UTF-8: byte 10 is 0xff"),
    (b'{"text": "\\ud800"}', 422, "half of a character"),
    (b"[" * 9000, 400, "nested too deeply"),
    (b'{"a":' * 3000 + b"1" + b"}" * 3000, 400, "nested too deeply"),
    (b"[]", 422, "must be an object, not a list"),
    (b"null", 422, "must be an object, not null"),
    (b"{}", 422, "either"),
    (b'{"text": "a", "texts": ["b"]}', 422, "either"),
    (b'{"text": 5}', 422, "text must be a string, not 5"),
    (b'{"texts": "a"}', 422, "texts must be a list"),
    (b'{"texts": []}', 422, "texts is empty"),
    (b'{"texts": ["a", null]}', 422, "texts[1] must be a string, not None"),
    (b'{"texts": ["a", "b", "c", "d", "e"]}', 422, "5 texts are more than the 4"),
    (b'{"text": "x", "k": 0}', 422, "k must be from 1 to 50, not 0"),
    (b'{"text": "x", "k": 51}', 422, "k must be from 1 to 50, not 51"),
    (b'{"text": "x", "k": 5.5}', 422, "k must be a whole number"),
    (b'{"text": "x", "k": true}', 422, "k must be a whole number"),
    (b'{"text": "x", "threshold": 1.5}', 422, "threshold must be a number from 0 to 1"),
    (b'{"text": "x", "threshold": "high"}', 422, "threshold must be"),
    (b'{"text": "x", "explain": 1}', 422, "explain must be true or false"),
    (b'{"text": "x", "limit": 3}', 422, "no field 'limit'; there are text, texts"),
    (b'{"text": "x", "model": "nobody"}', 404, "there is no model"),
    (b'{"text": "' + b"x" * 2001 + b'"}', 413, "text has more than 2,000 bytes"),
    (b'{"text": "' + b"x" * 21_000 + b'"}', 413, "larger than 20,000 bytes"),
]


@pytest.mark.parametrize(("body", "status", "sentence"), BROKEN, ids=[sentence for _, _, sentence in BROKEN])
def test_broken_input_is_refused_with_a_sentence(server: Server, body: bytes, status: int, sentence: str):
    answer = server.ask("POST", "/v1/predict", body, JSON)
    assert answer.status == status and sentence in answer.json["detail"], answer
    assert answer.headers["Content-Type"] == "application/problem+json" and answer.json["status"] == status


def test_whole_characters_beyond_the_first_plane_are_welcome(server: Server):
    assert server.ask("POST", "/v1/predict", '{"text": "\\ud83d\\ude00 \U0001f600"}'.encode(), JSON).status == 200


def test_the_type_of_a_body_is_checked(server: Server):
    for kind in ("text/plain", "application/x-www-form-urlencoded", "", "application/jsonx"):
        assert server.ask("POST", "/v1/predict", b'{"text": "x"}', {"Content-Type": kind}).status == 415
    assert (
        server.ask("POST", "/v1/predict", b'{"text": "x"}', {"Content-Type": "application/json; charset=utf-8"}).status
        == 200
    )


def test_a_body_in_pieces_is_limited_too(server: Server):
    with socket.create_connection(("127.0.0.1", server.port), 10) as raw:
        raw.sendall(POST + b"Transfer-Encoding: chunked\r\n\r\n")
        for _ in range(30):
            try:
                raw.sendall(b"400\r\n" + b"x" * 1024 + b"\r\n")
            except OSError:
                break
        assert raw.recv(100).startswith(b"HTTP/1.1 413")


def test_searches_are_checked(server: Server):
    for query in ("limit=0", "limit=1001", "limit=x", "limit=1_0", "limit=", "q=a&q=b", "what=1", "limit=" + "9" * 30):
        assert server.get(f"/v1/labels?{query}").status == 422, query
    assert server.get("/v1/labels?q=" + "a" * 1001).status == 413
    assert server.get("/v1/labels?q=%ff%fe").status == 200
    assert server.get("/v1/labels?model=nobody").status == 404


def test_methods_and_addresses_that_are_not_there(server: Server):
    assert server.get("/v1/predict").status == 405 and server.get("/v1/predict").headers["Allow"] == "POST"
    assert server.ask("DELETE", "/v1/models/linear").status == 405
    assert server.get("/v2/predict").status == 404 and "openapi" in server.get("/v2/predict").json["detail"]


def test_adding_labels_is_checked_before_it_is_tried(server: Server):
    for one in ({}, {"id": "x"}, {"id": "", "name": "y"}, {"id": "\t", "name": "y"}, {"id": "x", "name": " "},
                {"id": "x", "name": "y", "color": 1}, {"id": "x", "name": "y", "examples": [1]}):  # fmt: skip
        assert server.post("/v1/labels", {"labels": [one]}).status == 422, one
    for body in ({}, {"labels": []}, {"labels": {}}):
        assert server.post("/v1/labels", body).status == 422, body
    assert server.post("/v1/labels", {"labels": [{"id": "L3", "name": "y"}]}).status == 409


# -- connections -------------------------------------------------------------------------------------------------------


def raw_answer(server: Server, *parts: bytes, pause: float = 0.0) -> bytes:
    """What is sent back to bytes that arrive one after the other."""
    with socket.create_connection(("127.0.0.1", server.port), 10) as raw:
        for part in parts:
            try:
                raw.sendall(part)
            except OSError:
                break
            time.sleep(pause)
        received = b""
        try:
            while part := raw.recv(65536):
                received += part
        except OSError:
            pass
        return received


def test_clients_that_are_slow_on_purpose_are_dropped(server: Server):
    started = time.perf_counter()
    assert raw_answer(server, b"GET /livez HTTP/1.1\r\nHost: local").startswith(b"HTTP/1.1 408")
    headers = POST + b"Content-Length: 100\r\n\r\n"
    assert raw_answer(server, headers + b'{"te').startswith(b"HTTP/1.1 408")
    dripping = [b"GET /livez HTTP/1.1\r\n", *(b"X-%d: y\r\n" % at for at in range(30))]
    assert raw_answer(server, *dripping, pause=0.1).startswith(b"HTTP/1.1 408")
    assert time.perf_counter() - started < 8


@pytest.mark.parametrize("sent", [b"", b"\r\n", b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n\r\n"])
def test_a_connection_that_is_idle_for_too_long_is_closed_without_a_word(server: Server, sent: bytes):
    started = time.perf_counter()
    assert raw_answer(server, sent).partition(b"\r\n")[0] in (b"", b"HTTP/1.1 200 OK")
    assert 1.9 < time.perf_counter() - started < 5


def test_a_client_that_does_not_read_its_answers_is_dropped(server: Server):
    one = b"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with socket.socket() as raw:
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        raw.settimeout(1)
        raw.connect(("127.0.0.1", server.port))
        until, dropped = time.monotonic() + 60, False
        while not dropped and time.monotonic() < until:
            try:
                raw.sendall(one * 4)
                time.sleep(0.005)
            except TimeoutError:
                continue
            except OSError:
                dropped = True
    assert dropped and server.get("/livez").status == 200


def test_a_client_that_sends_many_requests_ahead_is_refused(server: Server):
    body = json.dumps({"text": word(9)}).encode()
    answer = raw_answer(server, (POST + b"Content-Length: %d\r\n\r\n%s" % (len(body), body)) * 500)
    assert answer == b"" or b"read answers first" in answer  # or reset, as not all of it was read
    assert answer.count(b"HTTP/1.1 200") < 50


def test_what_is_no_http_gets_a_problem(server: Server):
    for noise in (b"hello\r\n\r\n", os.urandom(200), b"GET / HTTP/9.9\r\n\r\n", b"\x16\x03\x01" + b"\0" * 50):
        answer = raw_answer(server, noise)
        assert answer.startswith((b"HTTP/1.1 400", b"HTTP/1.1 408")) and b"problem+json" in answer


def test_endless_headers_are_refused(server: Server):
    answer = raw_answer(server, b"GET /livez HTTP/1.1\r\nX: " + b"y" * 100_000)
    assert answer == b"" or answer.startswith(b"HTTP/1.1 431")  # or reset, as not all of it was read
    assert server.get("/livez").status == 200


def test_a_thousand_idle_connections_and_slow_loris_do_not_stop_answers(server: Server):
    idle = []
    try:
        for at in range(1000):
            raw = socket.create_connection(("127.0.0.1", server.port), 10)
            raw.sendall(b"GET /livez HTTP/1.1\r\nHost: loc" if at % 2 else b"")
            idle.append(raw)
        started = time.perf_counter()
        for at in range(20):
            assert server.predict(text=word(at)).status == 200
        assert time.perf_counter() - started < 5
    finally:
        for raw in idle:
            raw.close()


def test_pipelined_requests_are_answered_in_order(server: Server):
    body = json.dumps({"text": word(9), "k": 1}).encode()
    one = POST + b"Content-Length: %d\r\n\r\n%s"
    two = b"GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    answer = raw_answer(server, one % (len(body), body) + two)
    assert answer.find(word(9).encode()) < answer.find(b"alive") and answer.count(b"HTTP/1.1 200") == 2


# -- random ------------------------------------------------------------------------------------------------------------


def test_thousands_of_random_requests_get_no_5xx(server: Server):
    statuses, mistakes = fuzz(server.port, 4000, seed=1)
    assert mistakes == []
    assert statuses[200] > 100 and statuses[422] > 30 and statuses[400] > 100
    assert server.predict(text=word(1)).json["results"][0]["labels"][0]["name"] == word(1)


@pytest.mark.slow
def test_a_hundred_thousand_random_requests_get_no_5xx(server: Server):
    statuses, mistakes = fuzz(server.port, 100_000, seed=2)
    assert mistakes == [] and statuses.total() > 90_000
