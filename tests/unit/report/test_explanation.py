"""Explanations as people see them."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from longtail.predict.explain import Explanation, Neighbour, Opened, Reason, Word
from longtail.predict.predictor import Suggestion
from longtail.report.explanation import explanation_html, explanation_text, summed

TEXT = "A <b>Fox</b> & a fox"
WORDS = [Word("Fox", 5, 8, 1.5), Word("a", 15, 16, -1.0), Word("fox", 17, 20, 1.5)]


def explanation(**changes: object) -> Explanation:
    told = {
        "suggestion": Suggestion(4, "<i>4</i>", "[red]foxes[/red]", 0.75), "probability": None, "count": 1,
        "logit": 0.5, "bias": -1.5, "approximate": False, "words": WORDS,
        "clusters": [Opened(12, 0.9, ["dogs & cats", "wolves"])],
        "documents": [Neighbour("a <script>fox</script>\x1b[31m", 0.625)],
    }  # fmt: skip
    return Explanation(TEXT, [Reason(**(told | changes))])  # type: ignore[arg-type]


def printed(value: Explanation, **how: object) -> str:
    console = Console(file=io.StringIO(), width=200, **how)  # type: ignore[arg-type]
    console.print(explanation_text(value), soft_wrap=True)
    return console.file.getvalue()  # type: ignore[attr-defined]


def test_a_terminal_without_colours_gets_plain_words_and_all_numbers():
    assert printed(explanation()).splitlines() == [
        "[red]foxes[/red] (<i>4</i>)  score 0.750, 1 training document",
        "  logit 0.50 = +2.00 by words -1.50 bias",
        "  A <b>Fox</b> & a fox",
        "  +3.00 fox   -1.00 a",
        "  cluster 12, belief 0.900: dogs & cats, wolves, …",
        "  like 0.62: a <script>fox</script> [31m",
    ]


def test_a_terminal_with_colours_has_words_for_a_label_in_green_and_against_it_in_red(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("NO_COLOR", raising=False)
    shown = printed(explanation(), force_terminal=True, color_system="standard")
    assert "\x1b[1;32mFox\x1b[0m" in shown and "\x1b[1;31ma\x1b[0m" in shown
    monkeypatch.setenv("NO_COLOR", "1")
    assert "32m" not in printed(explanation(), force_terminal=True, color_system="standard")


def test_what_is_approximate_says_so_and_a_probability_is_called_one():
    shown = printed(explanation(approximate=True, probability=0.75, count=1234))
    assert "= about +2.00 by words" in shown and "probability 0.750, 1,234 training documents" in shown


def test_a_long_text_is_cut_and_control_characters_are_not_passed_on():
    text = "fox\x1b[2J\x00 " * 1000
    shown = printed(Explanation(text, [explanation().labels[0]]))
    assert "\x1b" not in shown and "\x00" not in shown and "…" in shown and len(shown) < 3000


def test_no_labels_no_reasons():
    assert "no label is suggested" in printed(Explanation("x", []))


def test_equal_words_are_added_up_and_zeros_left_out():
    assert summed([*WORDS, Word("den", 30, 33, 0.0)]) == [("fox", 3.0), ("a", -1.0)]


def test_html_escapes_whatever_comes_from_outside():
    page = explanation_html(explanation())
    assert page.startswith("<!doctype html>") and page.rstrip().endswith("</html>")
    for harmful in ("<b>", "<script>", "<i>"):
        assert harmful not in page
    assert "A &lt;b&gt;<span" in page and "&amp; " in page and "dogs &amp; cats" in page
    assert 'title="+1.500">Fox</span>' in page and "rgba(210,50,50" in page


def test_html_of_a_label_without_words_is_the_text():
    page = explanation_html(explanation(words=[], clusters=[], documents=[]))
    assert "A &lt;b&gt;Fox&lt;/b&gt; &amp; a fox</p>" in page and "<ul>" not in page
