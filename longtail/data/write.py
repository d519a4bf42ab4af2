"""Write a corpus to files: the XMC repository's LF JSON, JSON lines, CSV, or Parquet.

All keep every split, document ids, label ids, names and texts, and filtered pairs: loading the result
gives a corpus with the same fingerprint.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from longtail.corpus import Corpus, Label, Role, Splits
from longtail.data.formats.lf_json import split
from longtail.data.rows import LABEL_SEPARATOR
from longtail.errors import CorpusError, MissingExtraError
from longtail.store import Kind, check_target, named, whole_directory

ROWS_A_BLOCK = 4096
CORPUS = Kind("a corpus", None, CorpusError)  # never replaced: users may have edited it


def write(splits: Splits, path: str | Path, format: str = "lf") -> None:
    """Write a corpus to a new directory, atomically."""
    target = named(path)
    if format not in WRITERS:
        raise CorpusError(f"{format}: no such format to write; there are {', '.join(WRITERS)}")
    check_target(target, CORPUS)
    _refuse_unwritable(splits)
    try:
        with whole_directory(target, CORPUS) as building:
            WRITERS[format](splits, building)
    except UnicodeEncodeError as error:
        raise CorpusError(f"{splits.train.name}: a text holds half of a character ({error.reason}); mend it") from error


def write_lf_json(splits: Splits, directory: Path) -> None:
    """Write `trn.json`, `val.json`, `tst.json`, `lbl.json`, as `formats.lf_json` reads them."""
    for role, corpus in _present(splits).items():
        _write_lines(directory / f"{_SHORT[role]}.json", _lf_documents(corpus))
    labels = splits.train.label_set
    _write_lines(directory / "lbl.json", ({"uid": id, "title": name, "content": text} for id, name, text in labels))
    _write_filters(splits, directory)


def write_parquet(splits: Splits, directory: Path) -> None:
    """Write `train.parquet`, `valid.parquet`, `test.parquet`, `labels.parquet`, as `formats.tables` reads them."""
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError:
        raise MissingExtraError("Parquet files", "parquet") from None
    labels = splits.train.label_set
    label_ids = pa.array(list(labels.ids), pa.string())

    def columns(block: Corpus) -> dict[str, Any]:
        names = label_ids.take(pa.array(block.labels.indices))
        ids = {} if block.ids is None else {"id": pa.array(list(block.ids), pa.string())}
        lists = pa.ListArray.from_arrays(pa.array(block.labels.indptr, pa.int32()), names)
        return ids | {"text": pa.array(list(block.texts), pa.string()), "labels": lists}

    for role, corpus in _present(splits).items():
        schema = pa.table(columns(corpus.subset(np.arange(0), role))).schema
        with parquet.ParquetWriter(directory / f"{role}.parquet", schema) as file:
            for block in _blocks(corpus):
                file.write_table(pa.table(columns(block)))
    described = {"id": label_ids, "name": list(labels.names), "text": list(labels.texts)}
    parquet.write_table(pa.table(described), directory / "labels.parquet")
    _write_filters(splits, directory)


def write_jsonl(splits: Splits, directory: Path) -> None:
    """Write `train.jsonl`, `valid.jsonl`, `test.jsonl`, `labels.jsonl`, as `formats.tables` reads them."""
    for role, corpus in _present(splits).items():
        _write_lines(directory / f"{role}.jsonl", _rows(corpus))
    _write_lines(directory / "labels.jsonl", (label._asdict() for label in splits.train.label_set))
    _write_filters(splits, directory)


def write_csv(splits: Splits, directory: Path) -> None:
    """Write `train.csv`, `valid.csv`, `test.csv`, `labels.csv`, as `formats.tables` reads them."""
    for id in splits.train.label_set.ids:
        if LABEL_SEPARATOR in id or id != id.strip():
            raise CorpusError(f"label id {id!r:.60}: in CSV a cell of labels cannot hold it; write jsonl instead")
    for role, corpus in _present(splits).items():
        names = ["text", "labels"] if corpus.ids is None else ["id", "text", "labels"]
        cells = (row | {"labels": LABEL_SEPARATOR.join(row["labels"])} for row in _rows(corpus))
        _write_cells(directory / f"{role}.csv", names, cells)
    _write_cells(directory / "labels.csv", list(Label._fields), (label._asdict() for label in splits.train.label_set))
    _write_filters(splits, directory)


def _rows(corpus: Corpus) -> Iterator[dict[str, Any]]:
    """Id where there is one, text, and ids of the labels of each document."""
    label_ids = corpus.label_set.ids
    for block in _blocks(corpus):
        ids = [{}] * len(block) if block.ids is None else [{"id": id} for id in block.ids]
        targets = np.split(block.labels.indices, block.labels.indptr[1:-1])
        for id, text, labels in zip(ids, block.texts, targets):
            yield id | {"text": text, "labels": [label_ids[int(at)] for at in labels]}


def _write_cells(path: Path, names: list[str], rows: Iterable[dict[str, str]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, quoting=csv.QUOTE_ALL, lineterminator="\n")
        writer.writerow(names)
        for at, row in enumerate(rows, 1):
            if any("\r\n" in cell for cell in row.values()):
                raise CorpusError(
                    f"{path.name}: document or label {at} has lines that end as in Windows, which CSV readers change; "
                    "write jsonl instead"
                )
            writer.writerow([row[name] for name in names])


WRITERS: dict[str, Callable[[Splits, Path], None]] = {
    "lf": write_lf_json,
    "jsonl": write_jsonl,
    "csv": write_csv,
    "parquet": write_parquet,
}


def _refuse_unwritable(splits: Splits) -> None:
    train = splits.train
    if train.documents.features is not None:
        raise CorpusError(f"{train.name}: its documents are features somebody else made; only texts can be written")
    ids = set(train.label_set.ids)
    if len(ids) < train.n_labels or "" in ids:
        raise CorpusError(f"{train.name}: every label needs an id of its own before it can be written")


def _present(splits: Splits) -> dict[Role, Corpus]:
    every: dict[Role, Corpus | None] = {
        "train": splits.train,
        "valid": splits.train.official_valid,
        "test": splits.test,
    }
    return {role: corpus for role, corpus in every.items() if corpus is not None}


def _blocks(corpus: Corpus) -> Iterator[Corpus]:
    """The documents in blocks of a few thousand."""
    for start in range(0, len(corpus), ROWS_A_BLOCK):
        yield corpus.subset(np.arange(start, min(start + ROWS_A_BLOCK, len(corpus))), corpus.role)


def _lf_documents(corpus: Corpus) -> Iterator[dict[str, Any]]:
    for block in _blocks(corpus):
        uids = [{}] * len(block) if block.ids is None else [{"uid": id} for id in block.ids]
        targets = np.split(block.labels.indices, block.labels.indptr[1:-1])
        for uid, text, labels in zip(uids, block.texts, targets):
            title, content = split(text)
            yield uid | {"title": title, "content": content, "target_ind": labels.tolist()}


def _write_lines(path: Path, rows: Iterator[dict[str, Any]]) -> None:
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows)


def _write_filters(splits: Splits, directory: Path) -> None:
    for role, corpus in _present(splits).items():
        if corpus.filtered is not None:
            pairs = np.column_stack(corpus.filtered.nonzero())
            np.savetxt(directory / f"filter_labels_{role}.txt", pairs, "%d")


_SHORT: dict[Role, str] = {"train": "trn", "valid": "val", "test": "tst"}
