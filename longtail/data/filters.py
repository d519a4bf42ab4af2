"""Reciprocal pairs: labels excluded from the evaluation of a document, as in `filter_labels_test.txt`."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from longtail.data.lines import lines

_PAIR = re.compile(r"\s*([0-9]{1,18})\s+([0-9]{1,18})\s*")


def read_pairs(path: Path, n_documents: int, n_labels: int) -> tuple[np.ndarray, np.ndarray]:
    """Document and label of each pair, one pair per line."""
    documents, labels = [], []
    for block in lines(path):
        for at, line in enumerate(block.rows):
            pair = _PAIR.fullmatch(line)
            if pair is None:
                if line.strip():
                    raise block.wrong(at, f"{line!r:.60} is not a document's row and a label's index")
                continue
            document, label = int(pair[1]), int(pair[2])
            if document >= n_documents or label >= n_labels:
                raise block.wrong(at, f"document {document}, label {label}: there are {n_documents} and {n_labels}")
            documents.append(document)
            labels.append(label)
    return np.array(documents, np.int64), np.array(labels, np.int64)
