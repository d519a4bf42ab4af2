"""Output of `longtail describe`: splits, label frequencies, and their curve as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from longtail.report.tables import empty_table, number

if TYPE_CHECKING:
    from collections.abc import Callable

    from longtail.data.describe import Description, SplitDescription


def description_tables(found: Description) -> list[RenderableType]:
    """Tables of `longtail describe`: splits, label frequencies, and their curve."""
    curve = f"Training documents by label, both axes logarithmic\n\n{frequency_blocks(found.frequencies)}\n"
    return [_splits_table(found), _frequency_table(found), Text(curve), *([Text(ITEMS)] if found.items else [])]


ITEMS = (
    "Documents are labels themselves and never carry their own label: a model that learns from them does not suggest a "
    "text's own label.\n"
)


def _splits_table(found: Description) -> Table:
    shown = empty_table(found.name, ["", *found.splits])
    for fact, of_split in SPLIT_FACTS.items():
        shown.add_row(fact, *(of_split(split) for split in found.splits.values()))
    return shown


def _words(split: SplitDescription) -> str:
    return "" if split.words is None else "{50%:,} ({5%:,}–{95%:,})".format_map(split.words)


SPLIT_FACTS: dict[str, Callable[[SplitDescription], str]] = {
    "documents": lambda split: f"{split.documents:,}",
    "labels of a document": lambda split: f"{split.labels_per_document:.2f}",
    "at most": lambda split: f"{split.most_labels:,}",
    "documents without labels": lambda split: f"{split.without_labels:,}",
    "words, median (5%–95%)": _words,
    "empty documents": lambda split: f"{split.empty:,}",
    "repeated documents": lambda split: f"{split.duplicates:,}",
    "documents also in train": lambda split: f"{split.in_train:,}",
}


def _frequency_table(found: Description) -> Table:
    title = f"{found.labels:,} labels, {found.labels_without_training:,} of them without a training document"
    shown = empty_table(title, ["decile", "labels", "training documents", "mean", "% of all pairs"])
    for at, part in enumerate(found.deciles, 1):
        about = [str(at), f"{part.labels:,}", f"{part.least:,}–{part.most:,}", f"{part.mean:,.1f}"]
        shown.add_row(*about, number(100 * part.share))
    return shown


def frequency_blocks(frequencies: np.ndarray, width: int = 60, height: int = 6) -> str:
    """The frequency curve drawn with text blocks, both axes logarithmic."""
    falling = np.sort(frequencies)[::-1]
    if not falling.any():
        return "no label has a document"
    columns = falling[np.geomspace(1, len(falling), width).round().astype(int) - 1]
    share = np.log(np.maximum(columns, 1)) / max(np.log(falling[0]), 1e-9)
    # Labels with at least one document are visible; those without are not.
    filled = np.where(columns > 0, np.maximum(np.ceil(share * height * FULL), 1), 0).astype(int)
    lines = ["".join(BLOCKS[part] for part in np.clip(filled - row * FULL, 0, FULL)) for row in range(height)]
    most, last = f"{falling[0]:,}", f"{len(falling):,}"
    marks = ["1", *[""] * (height - 2), most]
    drawn = [f"{mark:>{len(most)}} ▕{line}" for mark, line in zip(marks, lines)]
    return "\n".join([*reversed(drawn), f"{'':>{len(most)}}  {'1':<{width - len(last)}}{last}"])


BLOCKS = " ▁▂▃▄▅▆▇█"


FULL = len(BLOCKS) - 1
