"""A saved model is a directory anyone can open

model/
├── model.json           method, config, versions, corpus, validation metrics, the model's plain fields
├── weights.safetensors  every array, mapped when the model is opened
├── calibration.safetensors
│                        the curve from scores to probabilities, where one was learned
├── own_labels.safetensors
│                        hashes of label texts, where documents are labels themselves
├── *.json               vocabularies
├── labels.jsonl         {"id", "name", "text"} of label i on line i; of 65,536 labels or more labels.jsonl.gz and
│                        label_blocks.npy (packed_labels.py)
├── label_counts.npy     training documents of each label
├── documents/           training documents that were kept to be shown in explanations
├── members/N/           an ensemble's members, each a model directory
├── README.md            the model card, for people (card.py)
└── manifest.json        sha256 of every file, written last
"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

from longtail import store
from longtail.predict.labels import label_digest, write_labels

if TYPE_CHECKING:
    from longtail.predict.predictor import Predictor, Ranks

FORMAT = 4  # of model directories; a model of another version is refused with a sentence, never misread
READABLE = (3, FORMAT)  # format 3 has plain labels whatever their number
ABOUT, WEIGHTS, CALIBRATION = "model.json", "weights.safetensors", "calibration.safetensors"
OWN = "own_labels.safetensors"
KEPT = "documents"  # a directory of its own: its vocabulary is not the model's
COUNTS = "label_counts.npy"
ENSEMBLE = "ensemble"  # in the place of a method


def write_model(predictor: Predictor, directory: Path) -> None:
    """Put the files of a model into a directory, which is made if it is not there (see `store.whole_directory`)."""
    directory.mkdir(parents=True, exist_ok=True)
    state = _write_state(predictor.model, directory)
    np.save(directory / COUNTS, narrowed(predictor.counts))
    write_labels(directory, predictor.labels)
    about = dataclasses.asdict(predictor.about)
    identity = {"format": FORMAT, "label_ids": label_digest(predictor.labels)}
    if predictor.calibration is not None:
        about["calibration"] = store.write_parts(directory, predictor.calibration, CALIBRATION)
    if predictor.own is not None:
        about["own_labels"] = store.write_parts(directory, predictor.own, OWN)
    if predictor.kept is not None:
        store.write(_made(directory / KEPT), predictor.kept)
    store.write_json(directory / ABOUT, identity | about | {"state": state})


def narrowed(counts: np.ndarray) -> np.ndarray:
    """Counts in the smallest signed integers that hold them.

    >>> narrowed(np.array([0, 300])).dtype
    dtype('int16')
    """
    largest = int(counts.max(initial=0))
    return counts.astype(
        next(kind for kind in (np.int8, np.int16, np.int32, np.int64) if largest <= np.iinfo(kind).max)
    )


def _made(directory: Path) -> Path:
    directory.mkdir()
    return directory


def member_place(directory: Path, at: int) -> Path:
    """Where an ensemble keeps one of its members."""
    return directory / "members" / str(at)


@runtime_checkable
class WritesItself(Protocol):
    """A model that is more than one dataclass of arrays and plain values, as an ensemble is."""

    def write(self, directory: Path) -> dict[str, Any]:
        """Write its files; returns what `model.json` holds of it."""


def _write_state(model: Ranks, directory: Path) -> Any:  # noqa: ANN401 - whatever JSON can hold
    return model.write(directory) if isinstance(model, WritesItself) else store.write_parts(directory, model, WEIGHTS)
