"""The XMC repository's sparse files: ready-made features, and labels by index.

    train.txt, test.txt              header "documents features labels", then "label,label feature:value feature:value"
    trn_X_Xf.txt, trn_X_Y.txt, …     header "rows columns", then "column:value column:value"
    Y.txt or lbl.txt                 names of the labels, one per line; without it the index is the name

Indices start at 0, in any order.  A feature occurs at most once in a document; a label of value 0 is ignored.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import numpy as np

from longtail.corpus import Label
from longtail.data.labelling import from_indices
from longtail.data.layout import PLAIN_NAMES, SHORT_NAMES, Layout, Source
from longtail.data.lines import Block, lines
from longtail.data.mapped import Draft
from longtail.errors import CorpusError
from longtail.sparse import sp

MOST_LABELS = 10**8  # a header with more is a mistake, and its label names would fill the disk
MOST_COLUMNS = 2**31 - 1  # column numbers are stored in 32 bits
LARGEST = float(np.finfo(np.float32).max)


def read_one_file(source: Source, draft: Draft) -> None:
    """Read files with labels and features of a document on one line."""
    agreed = _Agreement()
    for role, (path,) in source.splits.items():
        (_, n_features, n_labels), blocks = under_header(path, ("documents", "features", "labels"))
        agreed.on(path, features=n_features, labels=n_labels)
        for block in blocks:
            halves = [_halves(row) for row in block.rows]
            labels = from_indices(block, _index_lists(block, [indices for indices, _ in halves]), n_labels)
            draft.add(role, labels=labels, features=features(block, [pairs for _, pairs in halves], n_features))
    draft.add_labels(label_names(source.labels, agreed.sizes["labels"]))


def read_two_files(source: Source, draft: Draft) -> None:
    """Read features from one file, labels from another."""
    agreed = _Agreement()
    for role, (feature_path, label_path) in source.splits.items():
        (n_documents, n_features), blocks = under_header(feature_path, ("rows", "columns"))
        for block in blocks:
            draft.add(role, features=features(block, block.rows, n_features))
        (n_rows, n_labels), blocks = under_header(label_path, ("rows", "columns"))
        if n_rows != n_documents:
            raise CorpusError(f"{label_path}:1: {n_rows} rows, but {feature_path.name} has {n_documents}")
        agreed.on(label_path, features=n_features, labels=n_labels)
        for block in blocks:
            draft.add(role, labels=relevant(block, n_labels))
    draft.add_labels(label_names(source.labels, agreed.sizes["labels"]))


class _Agreement:
    """Checks that all splits have the same numbers of features and labels."""

    def __init__(self) -> None:
        self.sizes: dict[str, int] = {}

    def on(self, path: Path, **sizes: int) -> None:
        for what, size in sizes.items():
            if self.sizes.setdefault(what, size) != size:
                raise CorpusError(f"{path}:1: the header promises {size} {what}, but training has {self.sizes[what]}")
        if self.sizes["labels"] > MOST_LABELS:
            raise CorpusError(f"{path}:1: the header promises {sizes['labels']} labels, more than {MOST_LABELS}")


# -- lines under a header -------------------------------------------------------------------------------------------


def under_header(path: Path, counts: tuple[str, ...]) -> tuple[list[int], Iterator[Block[str]]]:
    """The numbers on the first line, and the rows below it, as many as the first number."""
    blocks = lines(path)
    first = next(blocks, Block(path, [1], [""]))
    sizes = first.rows[0].split()
    if len(sizes) != len(counts) or not all(map(_COUNT.fullmatch, sizes)) or max(map(int, sizes)) > MOST_COLUMNS:
        raise first.wrong(0, f"the header must be the numbers of {', '.join(counts)}, not {first.rows[0]!r:.60}")
    rest = Block(path, first.numbers[1:], first.rows[1:])
    promise = f"the header promises {sizes[0]} {counts[0]}"
    return list(map(int, sizes)), counted(chain([rest], blocks), path, int(sizes[0]), promise)


def counted(blocks: Iterator[Block[str]], path: Path, expected: int, promise: str) -> Iterator[Block[str]]:
    """The same rows; raises if there are too few or too many (ignoring trailing blank lines)."""
    seen = 0
    for block in blocks:
        rows = block.rows[: expected - seen]
        for at in range(len(rows), len(block.rows)):
            if block.rows[at].strip():
                raise block.wrong(at, f"{promise}, and this is one more")
        yield Block(path, block.numbers[: len(rows)], rows)
        seen += len(rows)
    if seen < expected:
        raise CorpusError(f"{path}: {promise}, but there are only {seen}; is the file cut short?")


def label_names(path: Path | None, n_labels: int) -> Iterator[Label]:
    """Labels with id i and the name on line i."""
    if path is None:
        yield from (Label(str(index), str(index)) for index in range(n_labels))
        return
    names = counted(lines(path), path, n_labels, f"there are {n_labels} labels to name")
    for index, name in enumerate(name for block in names for name in block.rows):
        yield Label(str(index), name)


# -- rows of pairs --------------------------------------------------------------------------------------------------

_COUNT = re.compile(r"[0-9]{1,18}")
_INDICES = re.compile(r"(?:[0-9]{1,18}(?:,[0-9]{1,18})*+)?")
_NUMBER = re.compile(r"[-+.0-9eE]++")
_PAIRS = re.compile(rf"\s*+(?:[0-9]++:{_NUMBER.pattern}(?:\s++|$))*+")


def features(block: Block[str], rows: list[str], width: int) -> sp.csr_array:
    """Feature values; duplicates in a document are errors."""
    matrix = pairs(block, rows, width)
    matrix.sort_indices()
    if not matrix.has_canonical_format:
        for at, row in enumerate(rows):
            columns = [int(pair.partition(":")[0]) for pair in row.split()]
            if len(set(columns)) < len(columns):
                twice = next(column for column in columns if columns.count(column) > 1)
                raise block.wrong(at, f"feature {twice} comes twice; add its values up, or keep one")
    return matrix


def relevant(block: Block[str], width: int) -> sp.csr_array:
    """Labels given as `label:relevance`."""
    matrix = pairs(block, block.rows, width)
    if matrix.nnz and matrix.data.min() < 0:
        at = int(np.searchsorted(matrix.indptr, matrix.data.argmin(), "right")) - 1
        raise block.wrong(at, f"a label's relevance is 0 or more, not {matrix.data.min():g}")
    matrix.eliminate_zeros()
    return matrix


def pairs(block: Block[str], rows: list[str], width: int) -> sp.csr_array:
    """Rows of `column:value`, in file order."""
    numbers = _numbers(rows)
    if numbers is None or not ((numbers[:, 0] < width) & (np.abs(numbers[:, 1]) <= LARGEST)).all():
        raise _guilty(block, rows, width)
    stops = np.cumsum([0, *(row.count(":") for row in rows)])
    parts = numbers[:, 1].astype(np.float32), numbers[:, 0].astype(np.int32), stops
    return sp.csr_array(parts, shape=(len(rows), width))


def _numbers(rows: list[str]) -> np.ndarray | None:
    """Columns and values, (pairs, 2); None if a row does not consist of pairs."""
    if not all(map(_PAIRS.fullmatch, rows)):
        return None
    try:
        return np.array(list(map(float, " ".join(rows).replace(":", " ").split()))).reshape(-1, 2)
    except ValueError:
        return None


def _guilty(block: Block[str], rows: list[str], width: int) -> CorpusError:
    faults = ((at, _fault(pair, width)) for at, row in enumerate(rows) for pair in row.split())
    at, fault = next((at, fault) for at, fault in faults if fault)
    return block.wrong(at, fault)


def _fault(pair: str, width: int) -> str:
    """The error in one pair, or an empty string."""
    column, _, value = pair.partition(":")
    if not re.fullmatch("[0-9]+", column) or not value:
        return f"{pair!r:.60} is not a pair column:value"
    if len(column) > 18 or int(column) >= width:
        return f"column {column:.60} is not below {width}, which the header promises"
    try:
        finite = bool(_NUMBER.fullmatch(value)) and abs(float(value)) <= LARGEST
    except ValueError:
        finite = False
    return "" if finite else f"{value!r:.60} is not a finite number"


def _halves(row: str) -> tuple[str, str]:
    """Labels and features; a line that begins with a feature has no labels."""
    indices, _, rest = row.partition(" ")
    return ("", row) if ":" in indices else (indices, rest)


def _index_lists(block: Block[str], rows: list[str]) -> list[list[int]]:
    for at, row in enumerate(rows):
        if not _INDICES.fullmatch(row):
            raise block.wrong(at, f"{row!r:.60} is not a list of label indices with commas between them")
    return [list(map(int, row.split(","))) if row else [] for row in rows]


ONE_FILE = Layout(
    title="XMC repository, sparse features",
    parts=(("{}.txt",),),
    read=read_one_file,
    splits=PLAIN_NAMES,
    labels=("Y.txt", "lbl.txt"),
    begins=lambda line: [bool(_COUNT.fullmatch(word)) for word in line.split()] == [True] * 3,
)
TWO_FILES = Layout(
    title="XMC repository, sparse features and labels in two files",
    parts=(("{}_X_Xf.txt",), ("{}_X_Y.txt",)),
    read=read_two_files,
    splits=SHORT_NAMES,
    labels=("Y.txt", "lbl.txt"),
)
