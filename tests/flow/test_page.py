"""The page in a real browser: labels as you type, their words, thresholds, decisions; labels, models, tokens."""

from __future__ import annotations

import json
import math
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import longtail
from tests.browser import Visit, chromium, visiting
from tests.page_server import TEXTS, Fake, serving

TIGER = TEXTS["tigers"]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as opened:
        yield opened


@pytest.fixture
def fake() -> Fake:
    return Fake()


@pytest.fixture
def visit(browser: Any, fake: Fake) -> Iterator[Visit]:
    with serving(fake) as address, visiting(browser, address) as opened:
        yield opened


# -- suggest --------------------------------------------------------------------------------------------------------


def test_labels_appear_while_somebody_types(visit: Visit, fake: Fake):
    visit.page.locator("#text").press_sequentially("a striped tiger", delay=5)
    score = f"{1 / (1 + math.exp(-2.5)):.2f}"  # tiger 4 + striped 1.5 − 3
    visit.page.locator(".score", has_text=score).wait_for()
    assert visit.names()[0] == "tigers"
    first = visit.page.locator(".suggestion").first
    assert first.locator(".score").inner_text() == score
    assert first.locator(".badge").inner_text() == "tail"
    assert "3 documents" in first.inner_text()
    assert len([body for body in fake.asked if not body.get("explain")]) < len("a striped tiger")


def test_an_answer_that_comes_late_does_not_replace_a_newer_one(visit: Visit, fake: Fake):
    fake.delay = 0.6
    visit.page.fill("#text", "tomatoes in a sauce")
    visit.page.wait_for_timeout(300)  # under way
    fake.delay = 0.0
    visit.write("a striped tiger")
    visit.page.wait_for_timeout(700)
    assert visit.names()[0] == "tigers"


def test_pointing_at_a_label_lights_its_words_and_says_why(visit: Visit):
    visit.write(TIGER)
    visit.page.locator(".suggestion", has_text="big cats").hover()
    visit.page.wait_for_selector(".layer mark")
    assert visit.marked() == ["tiger", "wild", "cat"]
    why = visit.page.locator("#why")
    assert "All words +5.40, bias −3.00, together +2.40." in why.inner_text()
    assert "Cluster 0 · belief 0.83" in why.inner_text()
    assert "A training document about big cats." in why.inner_text()
    visit.page.mouse.move(5, 5)
    assert visit.marked() == []


def test_words_light_up_in_the_right_place_behind_characters_of_two_units(visit: Visit):
    visit.write("𝔘𝔫 🐅🐅 tiger hunts")
    visit.page.locator(".name", has_text="tigers").focus()
    visit.page.wait_for_selector(".layer mark")
    assert visit.marked() == ["tiger"]


def test_a_word_against_a_label_is_marked_otherwise(visit: Visit):
    visit.write("a wild recipe")
    visit.page.locator(".name", has_text="cooking").focus()
    visit.page.wait_for_selector(".layer mark.against")
    assert visit.page.locator(".layer mark.against").all_inner_texts() == ["wild"]
    assert visit.page.locator(".layer mark.for").all_inner_texts() == ["recipe"]


def test_the_threshold_parts_the_labels_and_tells_precision_and_recall(visit: Visit):
    visit.write(TIGER)
    slider = visit.page.locator("input[type=range]")
    slider.fill("0.6")
    assert visit.page.locator(".reached").inner_text().split("\n")[0].startswith("74.8 % precision")
    assert "61.4 % recall" in visit.page.locator(".reached").inner_text()
    scores = [float(score) for score in visit.page.locator(".suggestion:not(.below) .score").all_inner_texts()]
    assert scores and min(scores) >= 0.6
    assert visit.page.locator(".divider").inner_text() == "5 labels below the threshold"
    visit.page.get_by_role("button", name="Auto", exact=True).click()
    assert visit.page.locator(".threshold output").inner_text() == "0.40"


def test_more_labels_are_shown_when_asked_for(visit: Visit, fake: Fake):
    fake.add([{"id": f"more {number}", "name": f"more {number}"} for number in range(15)])
    visit.page.reload()
    visit.write("a striped tiger")
    assert len(visit.names()) == 10
    visit.page.click(".more")
    visit.page.locator(".suggestion").nth(19).wait_for()
    assert len(visit.names()) == 20


def test_decisions_become_a_corpus_that_longtail_loads(visit: Visit, tmp_path: Path):
    visit.write(TIGER)
    visit.page.get_by_role("button", name="Accept tigers").click()
    visit.page.get_by_role("button", name="Accept big cats").click()
    visit.page.get_by_role("button", name="Reject Asia").click()
    visit.page.click("#keep")
    assert visit.page.input_value("#text") == ""
    visit.write('A sauce of tomatoes,\n"the" recipe 🍅')
    visit.page.get_by_role("button", name="Accept cooking").click()
    file = visit.downloaded("#download-decisions", tmp_path / "decisions.jsonl")
    rows = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    assert rows[0]["rejected"] == ["Asia"]
    corpus = longtail.load(file).train
    assert list(corpus.documents.texts) == [TIGER, 'A sauce of tomatoes,\n"the" recipe 🍅']
    names = [label.id for label in corpus.label_set]
    assert [[names[at] for at in row.indices] for row in corpus.labels] == [["tigers", "big cats"], ["cooking"]]


def test_everything_in_suggest_is_done_with_the_keyboard_alone(visit: Visit):
    visit.page.locator("#text").focus()
    visit.page.keyboard.insert_text(TIGER)
    visit.page.wait_for_selector(".suggestion")
    keys = ("Alt+ArrowDown", "a", "ArrowDown", "r", "ArrowDown", "a", "a", "Escape")
    for key in keys:
        visit.page.keyboard.press(key)
    assert visit.page.evaluate("document.activeElement.id") == "text"
    first, second, third = visit.names()[:3]
    assert visit.page.locator(".suggestion.accepted .name").all_inner_texts() == [first]
    assert visit.page.locator(".suggestion.rejected .name").all_inner_texts() == [second]
    assert third not in visit.page.locator(".accepted-labels").inner_text()  # the second `a` took it back
    visit.page.keyboard.press("Control+Enter")
    assert first in visit.page.locator(".kept").inner_text()


def test_decisions_stay_with_their_text(visit: Visit):
    """A correction keeps them; another text in its place does not inherit them."""
    visit.write(TIGER)
    visit.page.get_by_role("button", name="Accept tigers").click()
    visit.page.fill("#text", TIGER.replace("large", "very large"))
    assert visit.page.locator(".accepted-labels li").count() == 1
    visit.page.fill("#text", "A sauce of tomatoes")
    assert visit.page.locator(".accepted-labels li").count() == 0
    assert "tigers" in visit.page.locator(".kept").inner_text()
    visit.page.reload()
    visit.page.wait_for_selector(".kept li")
    assert "tigers" in visit.page.locator(".kept").inner_text()


def test_a_label_that_was_not_suggested_is_found_and_accepted(visit: Visit):
    visit.write("a striped tiger")
    visit.page.fill("#add-accepted", "serv")
    visit.page.wait_for_selector(".options li")
    assert visit.page.locator(".options li span:first-child").all_inner_texts() == [
        "nature conservation",
        "web servers",
    ]
    visit.page.press("#add-accepted", "ArrowDown")
    visit.page.press("#add-accepted", "Enter")
    assert "web servers" in visit.page.locator(".accepted-labels").inner_text()


def test_two_models_answer_side_by_side(visit: Visit):
    visit.expected = "501"  # `plain` cannot explain
    visit.write(TIGER)
    visit.page.locator(".chip", has_text="plain").click()
    visit.page.wait_for_selector(".column:nth-child(2) .suggestion")
    assert visit.names(0) == visit.names(1)
    assert "Not calibrated" in visit.page.locator(".column").nth(1).inner_text()
    visit.page.locator(".column").nth(1).locator(".name").first.focus()
    visit.page.get_by_text("This model cannot explain its suggestions").wait_for()
    assert visit.page.locator(".suggestion.lit").count() == 2  # the same label in both columns


def test_a_busy_server_is_asked_again(visit: Visit, fake: Fake):
    visit.expected = "429"
    fake.busy = 1
    visit.page.fill("#text", "a striped tiger")
    said = visit.page.get_by_text("The server is busy")
    said.wait_for()
    visit.page.wait_for_selector(".suggestion")
    assert visit.names()[0] == "tigers" and not said.is_visible()


# -- labels ---------------------------------------------------------------------------------------------------------


def test_labels_are_searched_and_lead_to_their_neighbours(visit: Visit):
    visit.page.click("#tab-labels")
    visit.page.fill("#label-search", "cat")
    visit.page.get_by_role("button", name="big cats").click()
    card = visit.page.locator("#label-card")
    card.get_by_role("heading", name="big cats").wait_for()
    card.get_by_role("button", name="zoology").click()
    card.get_by_role("heading", name="zoology").wait_for()
    visit.page.go_back()
    card.get_by_role("heading", name="big cats").wait_for()


def add_a_label(visit: Visit) -> None:
    visit.page.click("#tab-labels")
    visit.page.click("#new-label summary")
    visit.page.fill("#new-name", "juggling")
    visit.page.fill("#new-text", "Keeping several objects in the air")
    visit.page.fill("#new-examples", "clubs and torches are thrown\njugglers practise daily")
    visit.page.click("#new-add")


def test_a_new_label_is_suggested_at_once(visit: Visit):
    add_a_label(visit)
    visit.page.wait_for_selector(".trial li.new")
    assert "juggling" in visit.page.locator(".trial li.new").inner_text()
    visit.page.get_by_role("button", name="Open it in Suggest").click()
    visit.page.wait_for_selector(".suggestion")
    assert visit.page.input_value("#text") == "clubs and torches are thrown"
    assert visit.names()[0] == "juggling"
    assert visit.page.locator(".suggestion .badge").first.inner_text() == "new"


def test_a_server_that_cannot_add_labels_says_so(visit: Visit, fake: Fake):
    visit.expected, fake.can_add = "501", False
    add_a_label(visit)
    visit.page.locator("#new-label .problem").wait_for()
    assert visit.page.locator("#new-label .problem").inner_text() == "This version cannot add labels."


# -- model ----------------------------------------------------------------------------------------------------------


def test_the_model_tab_draws_deciles_calibration_and_thresholds(visit: Visit):
    visit.page.click("#tab-model")
    visit.page.wait_for_selector(".plot svg")
    body = visit.page.locator("#model-body")
    assert "1,826 documents" in body.inner_text() and "12.4 MB" in body.inner_text()
    assert visit.page.locator(".bar-shape").count() == 10
    tallest, lowest = (float(visit.page.locator(".bar-shape").nth(at).get_attribute("height")) for at in (0, 9))
    assert tallest / lowest == pytest.approx((42 - 3.1) / (42 - 31.0), rel=0.01)
    assert visit.page.locator("polyline.line").count() == 3  # the curve, precision, recall
    assert "The threshold auto is 0.40: precision 63.2 %" in body.inner_text()


def test_a_model_that_is_not_calibrated_says_what_to_do(visit: Visit):
    visit.page.click("#tab-model")
    visit.page.select_option("#model-name", "plain")
    visit.page.get_by_text("longtail calibrate MODEL CORPUS").wait_for()


def test_a_card_that_comes_late_does_not_replace_that_of_the_model_chosen_after_it(browser: Any):
    late = threading.Event()
    with serving(Fake(held={"subjects": late})) as address, visiting(browser, address) as visit:
        visit.page.click("#tab-model")
        visit.page.select_option("#model-name", "plain")
        visit.page.get_by_text("longtail calibrate MODEL CORPUS").wait_for()
        with visit.page.expect_response("**/v1/models/subjects"):
            late.set()
        visit.page.wait_for_timeout(200)
        assert visit.page.locator("#model-body h2").first.inner_text() == "plain"


# -- tokens and trouble ---------------------------------------------------------------------------------------------


def test_a_token_is_asked_for_and_kept_for_the_tab(browser: Any):
    with serving(Fake(token="secret")) as address, visiting(browser, address) as visit:
        visit.expected = "401"
        visit.page.fill("#token", "wrong")
        visit.page.press("#token", "Enter")
        visit.page.get_by_text("The server did not accept this token.").wait_for()
        visit.page.fill("#token", "secret")
        visit.page.press("#token", "Enter")
        visit.write(TIGER)
        assert visit.page.locator("#problems").inner_text() == ""
        visit.page.reload()
        visit.write(TIGER)


def test_a_server_that_is_gone_is_said_in_a_sentence(browser: Any):
    with serving(Fake()) as address, visiting(browser, address) as visit:
        visit.expected = "ERR_"
        visit.page.wait_for_selector("#text")
        visit.page.context.set_offline(True)
        visit.page.fill("#text", "a tiger")
        visit.page.get_by_text("The server does not answer.").wait_for()
