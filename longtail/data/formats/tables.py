"""Your own texts and label names: JSON lines, CSV, TSV or Parquet, one row per document.

    text                 or title and content, joined as in `lf_json`
    labels               a list of label names; in CSV and TSV names separated by |
    label                instead of labels: one name
    id                   optional

One file is a training split; a directory may hold train, valid and test.  Labels are numbered in order of first
appearance, training first: a label that occurs only in test is part of the truth but has no training document.

A file of labels beside them (labels.jsonl, .csv, .tsv, .parquet: id, name, text) describes and orders the labels; then
documents refer to labels by id, and an unknown id is an error.
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
    """Read documents with label names, with or without a labels file."""
    if source.labels is None:
        vocabulary = growing_vocabulary()
        read_documents(source, vocabulary, draft)
        draft.add_labels(Label(name, name) for name in vocabulary)
    else:
        vocabulary = {}
        draft.add_labels(distinct(labels(source.labels), vocabulary))
        read_documents(source, vocabulary, draft)


def read_documents(source: Source, vocabulary: Vocabulary, draft: Draft) -> None:
    """Read every split, looking labels up in the vocabulary."""
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
    """The labels of each block; a missing name defaults to the id, and a missing id to the name."""
    for block in rows(path):
        require(block, _LABEL)
        ids = [id or name for id, name in zip(strings(block, "id"), strings(block, "name"))]
        names = [
            id if row.get("name") is None else name for id, name, row in zip(ids, strings(block, "name"), block.rows)
        ]
        yield block, list(map(Label, ids, names, strings(block, "text")))


def _names(row: Fields) -> Any:  # noqa: ANN401 - any value in the file; `from_names` checks it
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
