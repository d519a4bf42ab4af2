"""Commands that change the labels of a trained model: add-labels, remove-labels."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from longtail.cli.output import counted, say
from longtail.cli.words import ModelArgument, to_write
from longtail.errors import ConfigError

OutOption = Annotated[Path, typer.Option(parser=to_write, help="Where the new model goes.")]


def add_labels(
    model: ModelArgument,
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="Labels: JSON lines, CSV, TSV or Parquet with id, name, and where there are any text and examples.",
        ),
    ],
    out: OutOption,
) -> None:
    """Add labels to a model without training: from their names, texts and a few examples."""
    from longtail.data.new_labels import read_new_labels
    from longtail.predict.known_words import undescribed
    from longtail.predict.opening import open_model
    from longtail.store import MODEL, check_target

    check_target(out, MODEL)
    labels = read_new_labels(file, say)
    opened = open_model(model)
    grown = opened.add_labels(labels)
    grown.save(out)
    examples = sum(len(label.examples) for label in labels)
    described = f"described by {counted(examples, 'example')}"
    say(f"added {counted(len(labels), 'label')}, {described}; the model has {len(grown.labels):,}")
    for line in undescribed(opened, labels):
        say(f"careful: {line}")
    say(f"wrote {out}")


def remove_labels(
    model: ModelArgument,
    ids: Annotated[list[str], typer.Argument(metavar="ID...", help="Ids of labels, or @FILE with one id a line.")],
    out: OutOption,
) -> None:
    """Remove labels from a model: their indices stay, and they are not suggested any more."""
    from longtail.predict.opening import open_model
    from longtail.store import MODEL, check_target

    check_target(out, MODEL)
    gone = [id for word in ids for id in _ids(word)]
    smaller = open_model(model).remove_labels(gone)
    smaller.save(out)
    say(f"removed {counted(len(gone), 'label')}; indices stay, and removed labels are not suggested any more")
    say(f"wrote {out}")


def _ids(word: str) -> list[str]:
    """The id, or those in the file that it names."""
    if not word.startswith("@"):
        return [word]
    try:
        return [line for line in Path(word[1:]).read_text("utf-8").splitlines() if line.strip()]
    except UnicodeDecodeError:
        raise ConfigError(f"{word[1:]}: not a text file in UTF-8; write one label id a line") from None
