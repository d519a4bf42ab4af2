"""Planted data: label i is right for a document exactly when the document contains word i."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from longtail.corpus import Corpus, Documents, Label, LabelSet, Role, Splits, Texts

N_LABELS = 60
SYLLABLES = ("ba", "du", "ki", "lo", "mo", "ne", "ra", "su", "ti", "vo")


def word(number: int) -> str:
    """A pronounceable word of its own for every number."""
    return "".join(SYLLABLES[int(digit)] for digit in f"{number:03d}")


NOISE = [word(number) for number in range(500, 540)]
WORDS = [word(number) for number in range(N_LABELS)] + NOISE


def text_for(labels: np.ndarray, rng: np.random.Generator) -> str:
    """The owned words of the labels between words that mean nothing."""
    words = [word(label) for label in labels] + list(rng.choice(NOISE, 4))
    return " ".join(rng.permutation(words))


def planted_corpus(documents: int, seed: int, role: Role) -> Corpus:
    """Documents of one to three labels; low labels are frequent, high ones rare, as in life."""
    rng = np.random.default_rng(seed)
    weight = 1 / np.arange(2, N_LABELS + 2) ** 0.5
    rows = [rng.choice(N_LABELS, rng.integers(1, 4), replace=False, p=weight / weight.sum()) for _ in range(documents)]
    # Every label is seen in training, so that every answer can be known.
    rows[:N_LABELS] = [np.array([label]) for label in range(N_LABELS)] if role == "train" else rows[:N_LABELS]
    labels = sp.csr_array(
        (np.ones(sum(map(len, rows)), np.float32), np.concatenate([np.sort(row) for row in rows]),
         np.cumsum([0, *map(len, rows)])), shape=(documents, N_LABELS),
    )  # fmt: skip
    for array in (labels.data, labels.indices, labels.indptr):
        array.flags.writeable = False  # as those of a loaded corpus, which are mapped from disk
    texts = Texts.of(text_for(row, rng) for row in rows)
    label_set = LabelSet.of(Label(f"L{at}", word(at)) for at in range(N_LABELS))
    return Corpus(Documents(texts), labels, label_set, "planted", role).fingerprinted()


def planted_splits() -> Splits:
    """Enough to learn every planted word in a second."""
    return Splits(planted_corpus(600, 1, "train"), planted_corpus(120, 2, "test"))
