"""The screenshots in docs/images: `python -m tests.page_shots [ADDRESS TEXT]`.

Without an address they show the small model of tests/page_server.py; with one, a running `longtail serve`.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from tests.browser import PHONE, Visit, chromium
from tests.page_server import TEXTS, Fake, serving

IMAGES = Path(__file__).parents[1] / "docs" / "images"
WINDOW, TALL = {"width": 1280, "height": 900}, {"width": 1120, "height": 1850}


def decided(visit: Visit, text: str, looked_at: int) -> None:
    """A text with two labels accepted and one that is looked at."""
    visit.write(text)
    visit.page.wait_for_timeout(1000)  # reasons come after labels
    for at in (0, 1):
        visit.page.locator(".verdict.accepted").nth(at).click()
    visit.page.locator(".suggestion .name").nth(looked_at).focus()
    visit.page.evaluate("scrollTo(0, 0)")
    visit.page.wait_for_timeout(300)


def model(visit: Visit, text: str, looked_at: int) -> None:
    """The plots of the model tab."""
    visit.page.click("#tab-model")
    visit.page.wait_for_selector(".plot svg")
    visit.page.mouse.move(640, 5)
    visit.page.wait_for_timeout(300)


SHOTS: dict[str, tuple[Any, dict[str, Any]]] = {
    "page-light.png": (decided, {"viewport": WINDOW}),
    "page-dark.png": (model, {"viewport": TALL, "color_scheme": "dark"}),
    "page-phone.png": (decided, {"viewport": PHONE, "device_scale_factor": 2}),
}


def shoot(browser: Any, address: str, text: str) -> None:
    """All of them."""
    IMAGES.mkdir(parents=True, exist_ok=True)
    for name, (arrange, options) in SHOTS.items():
        context = browser.new_context(**options)
        visit = Visit(context, address)
        arrange(visit, text, 2)
        visit.page.screenshot(path=IMAGES / name)
        context.close()


if __name__ == "__main__":
    with chromium() as opened, serving(Fake()) as fake:
        shoot(opened, *(sys.argv[1:3] if len(sys.argv) > 2 else (fake, TEXTS["tigers"])))
