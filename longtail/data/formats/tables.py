"""Your own texts and label names: one row per document, in any of the files that `rows` reads.

    text                 or title and content, joined as in `lf_json`
    labels               a list of label names; in CSV and TSV names separated by |
    label                instead of labels: one name
    id                   optional

Columns with other names are chosen by `columns`, and cells that are written differently are understood by
`label_cells`; either is decided by a sample of the training rows, the same for all splits.

One file is a training split; a directory may hold train, valid and test.  Labels are numbered in order of first
appearance, training first: a label that occurs only in test is part of the truth but has no training document.

A file of labels beside them (labels.jsonl, .csv, .tsv, .parquet: id, name, text) describes and orders the labels; then
documents refer to labels by id, and an unknown id is an error.  Vocabularies are such files too: see `vocabulary`.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Container
from itertools import chain, islice
from pathlib import Path
from typing import Any

from longtail import label_cells
from longtail.columns import LABELS, NO, TEXT, YES, Columns, Reading, choose
from longtail.corpus import Label, Role
from longtail.data.formats.lf_json import joined
from longtail.data.labelling import Appearing, Growing, Vocabulary, from_names
from longtail.data.layout import PLAIN_NAMES, Layout, Source
from longtail.data.lines import Block
from longtail.data.mapped import Draft
from longtail.data.rows import LABEL_SEPARATOR, ROWS, Access, Fields, holds_cells, require, rows, strings
from longtail.data.stored import arrow_files
from longtail.data.vocabulary import NAMES, read_labels
from longtail.label_cells import LabelCells

SAMPLE = 2000  # rows by which columns and separators are decided


def read(source: Source, draft: Draft) -> None:
    """Read documents with label names, with or without a labels file."""
    vocabulary: Vocabulary = Appearing()
    if source.labels is not None:
        vocabulary = read_labels(source.labels, source.reading.language, draft)
    (train,) = source.splits["train"]
    known = ChainMap(vocabulary, getattr(vocabulary, "names", {})) if source.labels else ()
    columns, cells = decide(train, source.reading, known, draft)
    for role, (path,) in source.splits.items():
        for block in rows(path, Access(source.reading, draft.note, columns.read)):
            require(block, frozenset(columns.text) or TEXT)
            require(block, frozenset(columns.labels) or LABELS)
            names = from_names(block, label_lists(block, columns, cells), vocabulary)
            draft.add(role, ids=ids(block, columns), texts=texts(block, columns), labels=names)
    if cells.nulls:
        draft.note(f"{train.name}: nulls in lists of labels were left out: {cells.nulls:,}")
    add_new_labels(vocabulary, cells.names, draft)


def add_new_labels(vocabulary: Vocabulary, names: dict[str, str], draft: Draft) -> None:
    """Describe the labels that only documents have; `names` are those that came with ids."""
    new = list(islice(vocabulary, draft.n_labels, None))
    if new and isinstance(vocabulary, Growing):
        draft.note(
            f"labels of documents that are not in {vocabulary.source} are kept under their ids: {len(new):,}, "
            f"as {new[0]!r:.80}"
        )
    draft.add_labels(Label(id, names.get(id, id)) for id in new)


def decide(path: Path, reading: Reading, known: Container[str], draft: Draft) -> tuple[Columns, LabelCells]:
    """Columns and cells of a corpus, by the first rows of its training file."""
    blocks = rows(path, Access(reading, draft.note))
    numbered = ((number, row) for block in blocks for number, row in zip(block.numbers, block.rows))
    sample = list(islice(numbered, SAMPLE))
    if not sample:
        return Columns(), LabelCells()
    columns = choose(f"{path}:{sample[0][0]}", [row for _, row in sample], reading)
    if columns.note:
        draft.note(f"{path.name}: {columns.note}")
    values = [value for _, row in sample for value in _label_values(row, columns)]
    single = not columns.labels and all("labels" not in row for _, row in sample)  # a name as it stands
    usual = LABEL_SEPARATOR if holds_cells(path) and not single else None
    told = "" if columns.one_hot or (single and reading.label_separator is None) else reading.label_separator
    cells, note = label_cells.found(values, told, usual, known)
    if single and reading.label_separator is None and not known:
        cells, note = label_cells.found_single(values)
    if note:
        draft.note(f"{path.name}: {note}")
    return columns, cells


# -- rows -----------------------------------------------------------------------------------------------------------


def texts(block: Block[Fields], columns: Columns = Columns()) -> list[str]:  # noqa: B008 - frozen
    """The text of each row, or its title and content."""
    if columns.text:
        parts = zip(*(strings(block, name) for name in columns.text))
        return [joined(row[0], "\n".join(filter(None, row[1:]))) for row in parts]
    parts = zip(strings(block, "text"), strings(block, "title"), strings(block, "content"))
    return [text or joined(title, content) for text, title, content in parts]


def ids(block: Block[Fields], columns: Columns) -> list[str]:
    """The id of each row; empty strings where there is none."""
    if columns.id:
        return strings(block, columns.id)
    return [id or uid for id, uid in zip(strings(block, "id"), strings(block, "uid"))]


def label_lists(block: Block[Fields], columns: Columns, cells: LabelCells) -> list[list[str]]:
    """The label ids of each row."""
    if columns.one_hot:
        return [[name for name in columns.labels if _flag(block, at, name)] for at in range(len(block.rows))]
    found = []
    for at, row in enumerate(block.rows):
        try:
            values = _label_values(row, columns)
            found.append(cells(values[0]) if len(values) == 1 else list(chain.from_iterable(map(cells, values))))
        except ValueError as error:
            raise block.wrong(at, str(error)) from None
    return found


def _label_values(row: Fields, columns: Columns) -> list[Any]:
    if columns.labels:
        return [row.get(name) for name in columns.labels]
    if row.get("labels") is not None:
        return [row["labels"]]
    return [] if row.get("label") in (None, "") else [row["label"]]


def _flag(block: Block[Fields], at: int, name: str) -> bool:
    cell = str(block.rows[at].get(name) or "").strip().lower()
    if cell not in YES | NO:
        raise block.wrong(at, f"{name} is {cell!r:.40}, but the columns of labels hold 0 and 1")
    return cell in YES


def find_dataset(place: Path) -> Source | None:
    """A directory that `datasets.Dataset.save_to_disk` or `DatasetDict.save_to_disk` wrote."""
    if (place / "state.json").is_file() and arrow_files(place):
        return Source({"train": (place,)}, None, {}, among=tuple(_dataset_files(place)))
    if not (place / "dataset_dict.json").is_file():
        return None
    found = {
        role: next(((place / name,) for name in names if arrow_files(place / name)), None)
        for role, names in PLAIN_NAMES.items()
    }
    splits: dict[Role, tuple[Path, ...]] = {role: paths for role, paths in found.items() if paths}
    files = [file for (directory,) in splits.values() for file in _dataset_files(directory)]
    return Source(splits, None, {}, among=tuple(files)) if "train" in splits else None


def _dataset_files(directory: Path) -> list[Path]:
    return [*arrow_files(directory), *directory.glob("*.json")]


LAYOUT = Layout(
    title="your own texts and label names",
    parts=(tuple(f"{{}}{suffix}" for suffix in ROWS),),
    read=read,
    splits=PLAIN_NAMES,
    labels=NAMES,
    has_columns=True,
    finder=find_dataset,
)
