"""The page on a real server with a real model: what the browser shows is what the command line prints."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import longtail
from longtail.corpus import Splits
from tests.browser import Visit, chromium, visiting
from tests.planted import word


@pytest.fixture(scope="module")
def model(planted: Splits, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("runs") / "model"
    trained = longtail.fit("linear", planted.without_valid)
    calibrated = longtail.calibrate(trained, planted.valid, threshold="f1", k=10).model
    calibrated.save(place)
    told = longtail.evaluate(calibrated, planted.test).to_json()
    (place.parent / "evaluation.json").write_text(json.dumps(told), "utf-8")
    return place


@contextmanager
def running(*words: object) -> Iterator[str]:
    """The address of `longtail serve`, which says it in its first line."""
    command = [sys.executable, "-m", "longtail", "serve", *map(str, words), "--port", "0", "--deadline", "120"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert process.stdout
    try:
        said = process.stdout.readline()
        assert "http://" in said, f"longtail serve ended with {process.wait(10)}"
        yield next(part for part in said.split() if part.startswith("http://")).rstrip("/")
    finally:
        process.terminate()
        process.wait(40)


@pytest.fixture(scope="module")
def address(model: Path) -> Iterator[str]:
    with running(f"planted={model}") as told:
        yield told


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as opened:
        yield opened


@pytest.fixture
def visit(browser: Any, address: str) -> Iterator[Visit]:
    with visiting(browser, address) as opened:
        yield opened


def predicted(model: Path, *words: object) -> list[dict[str, Any]]:
    command = [sys.executable, "-m", "longtail", "predict", str(model), *map(str, words)]
    printed = subprocess.run(command, capture_output=True, check=True).stdout.decode("utf-8")
    return [json.loads(line) for line in printed.splitlines()]


def test_typing_shows_the_label_whose_word_is_in_the_text(visit: Visit):
    visit.write(f"{word(7)} {word(520)} {word(501)}")
    assert visit.names()[0] == word(7)
    assert "precision" in visit.page.locator(".reached").inner_text()


def test_pointing_at_a_label_lights_its_word(visit: Visit):
    visit.write(f"{word(520)} {word(7)} {word(501)}")
    visit.page.locator(".suggestion").first.hover()
    visit.page.wait_for_selector(".layer mark.level-4")
    assert visit.page.locator(".layer mark.level-4").all_inner_texts() == [word(7)]


def test_a_batch_gives_what_the_command_line_prints(visit: Visit, model: Path, planted: Splits, tmp_path: Path):
    source = tmp_path / "texts.csv"
    written = io.StringIO(newline="")
    texts = [f'{text}, "quoted",\n{word(3)}' for text in planted.test.documents.texts]
    csv.writer(written).writerows([["id", "text"], *([f"doc-{at}", text] for at, text in enumerate(texts))])
    source.write_bytes(written.getvalue().encode())
    visit.page.click("#tab-batch")
    visit.page.set_input_files("#file", str(source))
    for k, threshold in ((5, "0"), (3, "0.25"), (7, "auto")):
        visit.page.fill("#batch-k", str(k))
        visit.page.fill("#batch-threshold", threshold)
        visit.page.click("#batch-start")
        visit.page.locator("#batch-done", has_text="120 rows labelled.").wait_for()
        file = visit.downloaded("#download-jsonl", tmp_path / f"{k}.jsonl")
        answers = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
        assert answers == predicted(model, source, "--k", k, "--threshold", threshold)
        visit.page.locator(".after").evaluate("card => card.remove()")


def test_the_example_and_the_labels_come_from_the_model(visit: Visit):
    visit.page.click("#tab-labels")
    visit.page.fill("#label-search", word(12))
    visit.page.get_by_role("button", name=word(12)).first.click()
    visit.page.locator("#label-card h2", has_text=word(12)).wait_for()
    assert "L12 ·" in visit.page.locator("#label-card").inner_text()


def test_a_new_label_is_suggested_at_once(visit: Visit):
    visit.page.click("#tab-labels")
    visit.page.click("#new-label summary")
    visit.page.fill("#new-name", "juggling")
    visit.page.fill("#new-text", "jugglers throw clubs")
    visit.page.fill("#new-examples", f"{word(530)} {word(531)}\n{word(531)} {word(532)}")
    visit.page.click("#new-add")
    visit.page.locator(".trial li.new", has_text="juggling").wait_for(timeout=120_000)  # it may compile


def test_the_model_tab_draws_what_the_evaluation_beside_the_model_says(visit: Visit, model: Path):
    visit.page.click("#tab-model")
    visit.page.wait_for_selector(".plot svg")
    assert visit.page.locator(".bar-shape").count() == 10
    assert visit.page.locator("polyline.line").count() == 3
    told = json.loads((model.parent / "evaluation.json").read_text("utf-8"))
    assert f"{told['metrics']['P@1']:.2f}" in visit.page.locator("#model-body").inner_text()


def test_a_token_opens_the_server(browser: Any, model: Path, tmp_path: Path):
    secret = tmp_path / "token"
    secret.write_text("correct-horse-battery-staple\n", "utf-8")
    secret.chmod(0o600)
    with running(model, "--token-file", secret) as address, visiting(browser, address) as visit:
        visit.expected = "401|501"
        visit.page.fill("#token", "wrong-horse-battery-staple")
        visit.page.press("#token", "Enter")
        visit.page.get_by_text("The server did not accept this token.").wait_for()
        visit.page.fill("#token", "correct-horse-battery-staple")
        visit.page.press("#token", "Enter")
        visit.write(word(7))
        assert visit.names()[0] == word(7)
