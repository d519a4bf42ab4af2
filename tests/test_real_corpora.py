"""What the methods reach on real corpora, from the bars that were set for them; minutes each, run by `make slow`."""

from __future__ import annotations

from pathlib import Path

import pytest

import longtail

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
