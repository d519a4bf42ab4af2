"""A real browser for tests of the page: Debian's chromium, driven by Playwright."""

from __future__ import annotations

import os
import re
import shutil
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update",
)  # fmt: skip
PHONE = {"width": 390, "height": 844}


def skip_loudly(why: str) -> None:
    """Skip with a warning that stands in the summary, too."""
    message = f"SKIPPED, NOT PASSED: {why}"
    warnings.warn(message, stacklevel=2)
    pytest.skip(message)


@contextmanager
def chromium() -> Iterator[Any]:
    """A browser.  It must be closed at the end of a module: while it runs, no other test can start an event loop."""
    place = os.environ.get("LONGTAIL_CHROMIUM") or shutil.which("chromium")
    if not place:
        skip_loudly("no chromium; apt-get install chromium, or set LONGTAIL_CHROMIUM to its path")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        skip_loudly("no Playwright; pip install 'longtail[dev]'")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=place, args=FLAGS)
        try:
            yield browser
        finally:
            browser.close()


class Visit:
    """A page in the browser, what its console said, and where its requests went."""

    def __init__(self, context: Any, address: str):
        self.page = context.new_page()
        self.page.set_default_timeout(15_000)
        self.address = address
        self.errors: list[str] = []
        self.hosts: set[str] = set()
        self.expected = ""  # a pattern of console errors that the test provokes
        self.page.on("console", lambda said: said.type in ("error", "warning") and self.errors.append(said.text))
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("request", self._note)
        self.page.goto(address)

    def _note(self, request: Any) -> None:
        if not request.url.startswith(("blob:", "data:")):
            self.hosts.add(urlsplit(request.url).netloc)

    def write(self, text: str) -> None:
        """Type a text and wait for its labels."""
        self.page.fill("#text", text)
        self.page.wait_for_selector(".suggestion")

    def names(self, column: int = 0) -> list[str]:
        """The labels that are suggested."""
        return self.page.locator(".column").nth(column).locator(".suggestion .name").all_inner_texts()

    def marked(self) -> list[str]:
        """The words that are lit."""
        return self.page.locator(".layer mark").all_inner_texts()

    def downloaded(self, button: str, to: Path) -> Path:
        """The file that a button gives."""
        with self.page.expect_download() as download:
            self.page.click(button)
        download.value.save_as(to)
        return to

    def check(self) -> None:
        """Nothing in the console, and no request to another host."""
        unexpected = [said for said in self.errors if not (self.expected and re.search(self.expected, said))]
        assert not unexpected, f"the console says {unexpected}"
        assert self.hosts == {urlsplit(self.address).netloc}, f"requests went to {self.hosts}"


@contextmanager
def visiting(browser: Any, address: str, **options: Any) -> Iterator[Visit]:
    """A visit to the page in a fresh profile; in the end its console must be clean."""
    context = browser.new_context(**({"viewport": {"width": 1280, "height": 900}} | options))
    try:
        visit = Visit(context, address)
        yield visit
        visit.check()
    finally:
        context.close()
