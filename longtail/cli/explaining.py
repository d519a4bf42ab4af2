"""The command explain."""

from __future__ import annotations

import sys
from typing import Annotated, Literal

import typer

from longtail.cli.output import say, screen, strict_json
from longtail.cli.words import ModelArgument


def explain(
    model: ModelArgument,
    text: Annotated[
        str | None, typer.Argument(metavar="[TEXT]", help="One text; without it, all of standard input is the text.")
    ] = None,
    label: Annotated[
        str | None, typer.Option(metavar="ID", help="Only the label with this id, suggested or not.")
    ] = None,
    k: Annotated[int, typer.Option(min=1, help="How many labels, best first.")] = 5,
    format: Annotated[
        Literal["text", "json", "html"], typer.Option(help="For a terminal, for programs, or for a browser.")
    ] = "text",
) -> None:
    """Why labels are suggested: words that moved their scores, clusters that proposed them, documents like the text."""
    from longtail.predict.opening import open_model
    from longtail.report.explanation import explanation_html, explanation_text

    opened = open_model(model)
    explanation = opened.explain(whole_characters(_read() if text is None else text), k, label)
    if opened.kept_documents is None:
        say("this model kept no training documents to show; train with --keep-documents to see those most alike")
    if format == "text":
        screen().print(explanation_text(explanation), soft_wrap=True)
        return
    shown = strict_json(explanation.to_json(), indent=1) if format == "json" else explanation_html(explanation)
    sys.stdout.buffer.write(shown.rstrip("\n").encode() + b"\n")
    sys.stdout.buffer.flush()


def _read() -> str:
    """All of standard input, without the line feed at its end."""
    from longtail.errors import CorpusError

    if sys.stdin is None:
        raise CorpusError("standard input is closed; give the text behind MODEL")
    if sys.stdin.isatty():
        say("type a text; Ctrl-D ends it")
    try:
        return sys.stdin.buffer.read().decode().removesuffix("\n").removesuffix("\r")
    except UnicodeDecodeError as error:
        raise CorpusError(f"standard input: byte {error.start} is not UTF-8; convert the text to UTF-8") from None


def whole_characters(text: str) -> str:
    """Bytes of the command line that are no UTF-8 come as halves of characters, which cannot be printed."""
    return text.encode("utf-8", "replace").decode("utf-8")
