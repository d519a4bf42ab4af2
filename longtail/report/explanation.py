"""An Explanation for people: on a terminal, where words have colours, and as a page of HTML."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from rich.text import Text

from longtail.predict.explain import Explanation, Reason, Word

WORDS = 10  # listed with their numbers
CHARACTERS = 2000  # of the text that a terminal shows
FAINT = 0.05  # of the strongest word: less has no colour


# -- on a terminal -----------------------------------------------------------------------------------------------------


def explanation_text(explanation: Explanation) -> Text:
    """What `longtail explain` prints; colours are rich's to leave out."""
    parts = [_reason(explanation.text, reason) for reason in explanation.labels]
    return Text("\n\n").join(parts) if parts else Text("no label is suggested for this text")


def _reason(text: str, reason: Reason) -> Text:
    head = Text.assemble((heading(reason), "bold"), f"  {facts(reason)}\n", f"  {equation(reason)}\n", "  ")
    lines = [_coloured(text, reason.words), Text(strongest(reason))]
    lines += [Text(line) for line in (*clusters(reason), *documents(reason))]
    return head.append_text(Text("\n  ").join(line for line in lines if line.plain))


def _coloured(text: str, words: list[Word]) -> Text:
    """The text with words that speak for the label in green, against it in red, the strong ones bold."""
    largest = max((abs(word.contribution) for word in words), default=0.0)
    shown = Text(printable(text[:CHARACTERS]))
    for word in words:
        share = word.contribution / largest if largest else 0.0
        if abs(share) > FAINT and word.stop <= CHARACTERS:
            shown.stylize(f"{'bold ' * (abs(share) > 0.5)}{'green' if share > 0 else 'red'}", word.start, word.stop)
    return shown.append("…") if len(text) > CHARACTERS else shown


def printable(text: str) -> str:
    """As long as the text, without characters that move a cursor or that no terminal can take."""
    return "".join(char if char.isprintable() else " " for char in text)


# -- sentences that both formats have ----------------------------------------------------------------------------------


def heading(reason: Reason) -> str:
    """The label's name, and its id where that is another."""
    label = reason.suggestion
    return label.name if label.name == label.id else f"{label.name} ({label.id})"


def facts(reason: Reason) -> str:
    """Score or probability, and how often the label was seen."""
    score = f"score {reason.suggestion.score:.3f}"
    known = score if reason.probability is None else f"probability {reason.probability:.3f}"
    return f"{known}, {reason.count:,} training document{'' if reason.count == 1 else 's'}"


def equation(reason: Reason) -> str:
    """The sum of contributions, as text."""
    total = sum(word.contribution for word in reason.words)
    about = "about " if reason.approximate else ""
    return f"logit {reason.logit:.2f} = {about}{total:+.2f} by words {reason.bias:+.2f} bias"


def strongest(reason: Reason) -> str:
    """The words that moved the score most, equal ones together."""
    return "   ".join(f"{value:+.2f} {word}" for word, value in summed(reason.words)[:WORDS])


def summed(words: list[Word]) -> list[tuple[str, float]]:
    """Contributions of equal words added up, the strongest first; those of 0 are left out."""
    values: dict[str, float] = {}
    for word in words:
        values[word.text.lower()] = values.get(word.text.lower(), 0.0) + word.contribution
    return sorted(((word, value) for word, value in values.items() if value), key=lambda item: -abs(item[1]))


def clusters(reason: Reason) -> Iterator[str]:
    """The clusters that proposed the label, one line each."""
    for opened in reason.clusters:
        yield f"cluster {opened.cluster}, belief {opened.belief:.3f}: {', '.join(opened.labels)}, …"


def documents(reason: Reason) -> Iterator[str]:
    """The label's training documents most like the text, one line each."""
    for near in reason.documents:
        yield f"like {near.similarity:.2f}: {printable(near.text)}"


# -- HTML --------------------------------------------------------------------------------------------------------------

STYLE = """body{font:16px/1.5 system-ui,sans-serif;max-width:50em;margin:2em auto;padding:0 1em}
section{margin:2em 0}h2{font-size:1.1em;margin:0}p,ul{margin:.3em 0}.text{white-space:pre-wrap}.note{color:#555}
.text span{border-radius:3px}"""


def explanation_html(explanation: Explanation) -> str:
    """One page that needs nothing else; a word's number is shown when the pointer is on it."""
    sections = "\n".join(_section(explanation.text, reason) for reason in explanation.labels)
    head = f'<meta charset="utf-8"><title>Why these labels</title><style>{STYLE}</style>'
    return f'<!doctype html>\n<html lang="en"><head>{head}</head><body>\n{sections}\n</body></html>\n'


def _section(text: str, reason: Reason) -> str:
    lines = "".join(f"<li>{escape(line)}</li>" for line in (*clusters(reason), *documents(reason)))
    parts = [
        f"<h2>{escape(heading(reason))}</h2>",
        f'<p class="note">{escape(facts(reason))}; {escape(equation(reason))}</p>',
        f'<p class="text">{_marked(text, reason.words)}</p>',
        f"<p>{escape(strongest(reason))}</p>",
        f"<ul>{lines}</ul>" if lines else "",
    ]
    return f"<section>{''.join(parts)}</section>"


def _marked(text: str, words: list[Word]) -> str:
    """The text, escaped, with a green or red ground behind words."""
    largest = max((abs(word.contribution) for word in words), default=0.0) or 1.0
    parts, at = [], 0
    for word in words:
        if word.start >= at:
            parts += [escape(text[at : word.start]), _mark(word, word.contribution / largest)]
            at = word.stop
    return "".join([*parts, escape(text[at:])])


def _mark(word: Word, share: float) -> str:
    if abs(share) <= FAINT:
        return escape(word.text)
    colour = f"rgba({'40,160,60' if share > 0 else '210,50,50'},{0.15 + 0.6 * abs(share):.2f})"
    return f'<span style="background:{colour}" title="{word.contribution:+.3f}">{escape(word.text)}</span>'
