"""The same small corpus in every layout: what each file is called and says."""

from __future__ import annotations

import gzip
import io
import json
import lzma
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
from pyarrow import parquet

from longtail.corpus import Splits
from longtail.data.load import load

# (title, content, labels); "owl" is a label that only test has.
TRAIN = [("red fox", "runs at dusk", ["mammal", "red"]), ("été bleu", "", ["season"]), ("", "whale song", ["mammal"])]
TEST = [("snowy owl", "flies", ["owl", "mammal"]), ("no idea", "", [])]
LABELS = ["mammal", "red", "season", "owl"]
SPLITS = {"train": TRAIN, "test": TEST}

Files = dict[str, bytes]


def text(title: str, content: str) -> str:
    return "\n".join(part for part in (title, content) if part)


def jsonl(rows: list[dict]) -> bytes:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()


def parquet_bytes(rows: list[dict]) -> bytes:
    sink = io.BytesIO()
    parquet.write_table(pa.Table.from_pylist(rows), sink)
    return sink.getvalue()


def named_rows(documents: list[tuple]) -> list[dict]:
    return [{"text": text(title, content), "labels": labels} for title, content, labels in documents]


def lf_rows(documents: list[tuple]) -> list[dict]:
    return [
        {"uid": f"d{at}", "title": title, "content": content, "target_ind": [LABELS.index(label) for label in labels],
         "target_rel": [1.0] * len(labels)}
        for at, (title, content, labels) in enumerate(documents)
    ]  # fmt: skip


def separated(documents: list[tuple], by: str) -> bytes:
    cells = [["id", "title", "content", "labels"]]
    cells += [[f"d{at}", title, content, " | ".join(labels)] for at, (title, content, labels) in enumerate(documents)]
    return "".join(by.join(f'"{cell}"' for cell in row) + "\r\n" for row in cells).encode()


def one_line(documents: list[tuple]) -> list[str]:
    return [text(title, content).replace("\n", " ") for title, content, _ in documents]


def lines(rows: list[str]) -> bytes:
    return "".join(f"{row}\n" for row in rows).encode()


LF_JSON: Files = {
    "trn.json": jsonl(lf_rows(TRAIN)),
    "tst.json": jsonl(lf_rows(TEST)),
    "lbl.json": jsonl([{"uid": name, "title": name, "content": "", "parents": ["x"]} for name in LABELS]),
    "filter_labels_test.txt": b"0 3\n1 0\n",
}
TEXT_LINES: Files = {
    "train_raw_texts.txt": lines(one_line(TRAIN)),
    "train_labels.txt": lines([" ".join(labels) for *_, labels in TRAIN]),
    "test_raw_texts.txt": lines(one_line(TEST)),
    "test_labels.txt": lines([" ".join(labels) for *_, labels in TEST]),
}
FASTTEXT: Files = {
    f"{split}.txt": lines(
        [
            f"{' '.join('__label__' + name for name in labels)} {line}"
            for (*_, labels), line in zip(rows, one_line(rows))
        ]
    )
    for split, rows in SPLITS.items()
}
JSONL: Files = {f"{split}.jsonl": jsonl(named_rows(rows)) for split, rows in SPLITS.items()}
CSV: Files = {f"{split}.csv": separated(rows, ",") for split, rows in SPLITS.items()}
TSV: Files = {f"{split}.tsv": separated(rows, "\t") for split, rows in SPLITS.items()}
PARQUET: Files = {f"{split}.parquet": parquet_bytes(named_rows(rows)) for split, rows in SPLITS.items()}
DESCRIBED: Files = JSONL | {
    "labels.csv": lines(["id,name,text", *(f"{name},The {name},about {name}" for name in LABELS)]),
    "filter_labels_test.txt": b"0 3\n1 0\n",
}
SPARSE: Files = {
    "train.txt": b"3 5 4\n0,1 4:0.5 0:1\n2 1:2\n0 2:1e-1 3:1\n",
    "test.txt": b"2 5 4\n3,0 0:1\n 4:-1\n",
    "Y.txt": lines(LABELS),
}
SPARSE_PAIRS: Files = {
    "trn_X_Xf.txt": b"3 5\n4:0.5 0:1\n1:2\n2:1e-1 3:1\n",
    "trn_X_Y.txt": b"3 4\n0:1 1:1.0\n2:1\n0:3 3:0\n",
    "tst_X_Xf.txt": b"2 5\n0:1\n4:-1\n",
    "tst_X_Y.txt": b"2 4\n3:1 0:1\n\n",
    "lbl.txt": lines(LABELS),
}

WITH_TEXT = {
    "lf": LF_JSON, "text lines": TEXT_LINES, "fasttext": FASTTEXT, "jsonl": JSONL, "csv": CSV, "tsv": TSV,
    "parquet": PARQUET, "described": DESCRIBED,
}  # fmt: skip
WITH_FEATURES = {"sparse": SPARSE, "sparse pairs": SPARSE_PAIRS}
EVERY = WITH_TEXT | WITH_FEATURES

COMPRESS = {"": bytes, ".gz": gzip.compress, ".xz": lzma.compress}


def put(directory: Path, files: Files, ending: str = "") -> Path:
    """Write the files into a new directory, each compressed as the ending says."""
    directory.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        suffix = "" if name.endswith(".parquet") else ending  # Parquet compresses within
        (directory / f"{name}{suffix}").write_bytes(COMPRESS[suffix](content))
    return directory


def loaded(directory: Path, files: Files, ending: str = "") -> Splits:
    """The corpus of these files, with a cache of its own."""
    return load(put(directory / "corpus", files, ending), cache=directory / "cache")


def label_names(splits: Splits, split: str) -> list[list[str]]:
    """The labels of each document, by name."""
    corpus = splits.split(split)
    stops = corpus.labels.indptr
    return [
        [corpus.label_set[int(at)].name for at in corpus.labels.indices[start:stop]] for start, stop in pairwise(stops)
    ]
