"""The page for everybody: axe finds nothing in any tab, light or dark; a phone needs no sideways scrolling."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.browser import PHONE, Visit, chromium, skip_loudly, visiting
from tests.page_server import TEXTS, Fake, serving

ROWS = b"text,note\na striped tiger,x\nhttp proxy,y\n"


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as opened:
        yield opened


@pytest.fixture(scope="module")
def axe() -> Any:
    try:
        from axe_playwright_python.sync_playwright import Axe
    except ImportError:
        skip_loudly("no axe; pip install 'longtail[dev]'")
    return Axe()


def suggest_empty(visit: Visit) -> None:
    visit.page.wait_for_selector("#text")


def suggest(visit: Visit) -> None:
    visit.expected = "501"
    visit.write(TEXTS["tigers"])
    visit.page.locator(".chip", has_text="plain").click()
    visit.page.wait_for_selector(".column:nth-child(2) .suggestion")
    visit.page.locator("input[type=range]").first.fill("0.6")
    visit.page.get_by_role("button", name="Accept tigers").first.click()
    visit.page.get_by_role("button", name="Reject Asia").first.click()
    visit.page.click("#keep")
    visit.write(TEXTS["tigers"])
    visit.page.get_by_role("button", name="Accept tigers").first.click()
    visit.page.fill("#add-accepted", "a")
    visit.page.wait_for_selector(".options li")
    visit.page.locator(".name", has_text="big cats").first.focus()
    visit.page.wait_for_selector(".layer mark")


def batch(visit: Visit) -> None:
    visit.page.click("#tab-batch")
    visit.page.set_input_files("#file", {"name": "texts.csv", "mimeType": "text/csv", "buffer": ROWS})
    visit.page.click("#batch-start")
    visit.page.wait_for_selector("#batch-done")


def batch_trouble(visit: Visit) -> None:
    visit.page.click("#tab-batch")
    visit.page.set_input_files("#file", {"name": "texts.csv", "mimeType": "text/csv", "buffer": b'text\n"open'})
    visit.page.wait_for_selector(".problem")


def labels(visit: Visit) -> None:
    visit.page.click("#tab-labels")
    visit.page.click("#new-label summary")
    visit.page.fill("#label-search", "o")
    visit.page.locator(".found button").first.click()
    visit.page.wait_for_selector("#label-card h2")


def model(visit: Visit) -> None:
    visit.page.click("#tab-model")
    visit.page.wait_for_selector(".plot svg")
    for summary in visit.page.locator("#model summary").all():
        summary.click()


STATES = (suggest_empty, suggest, batch, batch_trouble, labels, model)


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("state", STATES, ids=lambda state: state.__name__)
def test_axe_finds_nothing(browser: Any, axe: Any, state: Any, theme: str):
    options = {"color_scheme": theme, "reduced_motion": "reduce"}
    with serving(Fake()) as address, visiting(browser, address, **options) as visit:
        state(visit)
        found = axe.run(visit.page).response["violations"]
        assert [(each["id"], [node["html"] for node in each["nodes"]]) for each in found] == []


@pytest.mark.parametrize("state", STATES, ids=lambda state: state.__name__)
def test_a_phone_scrolls_down_and_not_sideways(browser: Any, state: Any):
    with serving(Fake()) as address, visiting(browser, address, viewport=PHONE) as visit:
        state(visit)
        wide, narrow = visit.page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
        assert wide <= narrow


def test_the_theme_follows_the_system_until_it_is_chosen_and_is_remembered(browser: Any):
    background = "getComputedStyle(document.body).backgroundColor"
    with serving(Fake()) as address, visiting(browser, address, color_scheme="dark") as visit:
        dark = visit.page.evaluate(background)
        visit.page.click("#theme")
        assert visit.page.locator("#theme").inner_text() == "Theme: light"
        light = visit.page.evaluate(background)
        assert light != dark
        visit.page.reload()
        assert visit.page.evaluate(background) == light


def test_tabs_follow_the_arrow_keys_and_the_address(browser: Any):
    with serving(Fake()) as address, visiting(browser, f"{address}/#labels") as visit:
        visit.page.locator("#labels").wait_for()
        visit.page.focus("#tab-labels")
        visit.page.keyboard.press("ArrowRight")
        assert visit.page.locator("#model").is_visible() and visit.page.url.endswith("#model")
        visit.page.keyboard.press("ArrowRight")
        assert visit.page.locator("#suggest").is_visible()
        visit.page.go_back()
        assert visit.page.locator("#model").is_visible()


def test_nothing_in_the_page_is_inline(browser: Any):
    """The server's policy forbids it; a page that relied on it would only fail there."""
    with serving(Fake()) as address, visiting(browser, address) as visit:
        found = visit.page.evaluate(
            "fetch('/').then(a => a.text()).then(t => new DOMParser().parseFromString(t, 'text/html'))"
            ".then(d => d.querySelectorAll('[style], style, script:not([src])').length)"
        )
        assert found == 0
