"""What the methods reach on real corpora, from the bars that were set for them; minutes each, run by `make slow`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import longtail
from longtail.features.tfidf import Tfidf
from longtail.features.tokens import Subwords, chunks

# Best peer of each corpus, or the bar set above it: P@1, P@3, P@5, PSP@1, PSP@3, PSP@5.
BARS = {
    ("linear", "eurlex57k"): {"P@1": 90.9, "nDCG@5": 82.0},
    ("decaf", "debian-related"): dict(
        zip(("P@1", "P@3", "P@5", "PSP@1", "PSP@3", "PSP@5"), (44.1, 28.9, 22.1, 22.3, 24.3, 26.3))
    ),
    ("decaf", "wordnet-glosses"): dict(
        zip(("P@1", "P@3", "P@5", "PSP@1", "PSP@3", "PSP@5"), (60.6, 49.8, 39.8, 23.2, 36.4, 46.2))
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize(("method", "corpus"), BARS, ids=map("-".join, BARS))
def test_a_method_reaches_its_bar(method: str, corpus: str, real_corpora: Path, tmp_path: Path):
    splits = longtail.load(real_corpora / corpus)
    model = longtail.fit(method, splits.train, run=tmp_path / "run")
    reached = longtail.evaluate(model, splits.split("test")).metrics
    assert {name: round(reached[name], 2) for name, bar in BARS[method, corpus].items() if reached[name] < bar} == {}


CORPORA = ("debian-related", "wordnet-glosses", "wordnet-related", "yso-finna-en", "eurlex57k")


@pytest.mark.slow
@pytest.mark.parametrize("corpus", CORPORA)
def test_compiled_pieces_are_those_of_hugging_face_in_every_text(corpus: str, real_corpora: Path):
    """Which pieces a text has; counts and weights are compared in tests/unit/features/test_bagging.py."""
    splits = longtail.load(real_corpora / corpus)
    subwords = Subwords.train(splits.train.texts, 8000)
    counted = Tfidf(subwords.names, np.ones(len(subwords.names), np.float32), False, subwords)
    for texts in (splits.train.texts, splits.split("test").texts, splits.train.label_set.words()):
        for chunk in chunks(texts):
            starts, columns, _ = counted.rows(chunk)
            tokens = subwords.encode(chunk)
            for row in range(len(chunk)):
                expected = {token for token in tokens[row].tolist() if subwords.names[token] != "[UNK]"}
                assert set(columns[starts[row] : starts[row + 1]].tolist()) == expected, chunk[row]
