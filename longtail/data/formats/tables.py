"""Your own texts and label names: JSON lines, CSV, TSV or Parquet, one row a document.

    text                 or title and content, joined as in `lf_json`
    labels               a list of label names; in CSV and TSV the names with | between them
    label                instead of labels: one name
    id                   optional

One file is a training split; a directory may hold train, valid and test.  Labels are numbered in the order in which
they are first met, training first: a label that only test has is in the truth, and no training document carries it.

A file of labels beside them (labels.jsonl, .csv, .tsv, .parquet: id, name, text) describes and orders the labels; then
documents name their labels by id, and a label that is not in it is an error.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from longtail.corpus import Label
from longtail.data.formats.lf_json import joined
from longtail.data.labelling import Vocabulary, distinct, from_names, growing_vocabulary
from longtail.data.layout import PLAIN_NAMES, Layout, Source
from longtail.data.lines import Block
from longtail.data.mapped import Draft
from longtail.data.rows import ROWS, Fields, require, rows, strings


def read(source: Source, draft: Draft) -> None:
    """Documents with label names, with or without a file that describes the labels."""
    if source.labels is None:
        vocabulary = growing_vocabulary()
        read_documents(source, vocabulary, draft)
        draft.add_labels(Label(name, name) for name in vocabulary)
    else:
        vocabulary = {}
        draft.add_labels(distinct(labels(source.labels), vocabulary))
        read_documents(source, vocabulary, draft)


def read_documents(source: Source, vocabulary: Vocabulary, draft: Draft) -> None:
    """Every split, its labels looked up in the vocabulary."""
    for role, (path,) in source.splits.items():
        for block in rows(path):
            require(block, TEXT)
            require(block, _LABELS)
            ids = [id or uid for id, uid in zip(strings(block, "id"), strings(block, "uid"))]
            names = from_names(block, [_names(row) for row in block.rows], vocabulary)
            draft.add(role, ids=ids, texts=texts(block), labels=names)


def texts(block: Block[Fields]) -> list[str]:
    """The text of each row, or its title and content."""
    parts = zip(strings(block, "text"), strings(block, "title"), strings(block, "content"))
    return [text or joined(title, content) for text, title, content in parts]


def labels(path: Path) -> Iterator[tuple[Block[Fields], list[Label]]]:
    """The labels of each block; an id stands in for a name that is not given, and a name for an id."""
    for block in rows(path):
        require(block, _LABEL)
        ids = [id or name for id, name in zip(strings(block, "id"), strings(block, "name"))]
        names = [
            id if row.get("name") is None else name for id, name, row in zip(ids, strings(block, "name"), block.rows)
        ]
        yield block, list(map(Label, ids, names, strings(block, "text")))


def _names(row: Fields) -> Any:  # noqa: ANN401 - whatever the file has there; `from_names` checks it
    if row.get("labels") is not None:
        return row["labels"]
    return [] if row.get("label") in (None, "") else [row["label"]]


TEXT = frozenset({"text", "title", "content"})
_LABELS = frozenset({"labels", "label"})
_LABEL = frozenset({"id", "name"})

LAYOUT = Layout(
    title="your own texts and label names",
    parts=(tuple(f"{{}}{suffix}" for suffix in ROWS),),
    read=read,
    splits=PLAIN_NAMES,
    labels=tuple(f"labels{suffix}" for suffix in ROWS),
)
