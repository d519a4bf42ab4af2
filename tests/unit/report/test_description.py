"""A corpus described in tables and in blocks."""

from __future__ import annotations

import numpy as np
import pytest

from longtail.corpus import Splits
from longtail.data.describe import describe
from longtail.report import description
from tests.unit.report.terminal import cells, shown


def test_frequencies_as_blocks():
    # On a logarithmic scale 64 is three times as high as 4; one document just shows, none does not.
    assert description.frequency_blocks(np.array([0, 4, 64, 1]), width=4, height=3).splitlines() == [
        "64 ▕█   ",
        "   ▕█   ",
        " 1 ▕██▁ ",
        "    1  4",
    ]


def test_blocks_of_one_document_a_label_are_low_and_of_none_are_words():
    assert description.frequency_blocks(np.ones(5, int), width=5, height=2).splitlines() == [
        "1 ▕     ",
        "1 ▕▁▁▁▁▁",
        "   1   5",
    ]
    assert description.frequency_blocks(np.zeros(5, int)) == "no label has a document"


@pytest.mark.parametrize("n_labels", [1, 2, 59, 60, 5000])
def test_blocks_are_as_wide_and_high_as_asked(n_labels: int):
    lines = description.frequency_blocks(np.arange(n_labels) + 1, width=30, height=5).splitlines()
    assert len(lines) == 6 and len({line.index("▕") for line in lines[:5]}) == 1
    assert {len(line.partition("▕")[2]) for line in lines[:5]} == {30}


def test_a_description_tells_of_splits_deciles_and_the_curve(planted: Splits):
    found = describe(planted)
    splits, deciles, curve = (shown(part) for part in description.description_tables(found))
    train, test = found.splits["train"], found.splits["test"]
    assert cells(splits, "train") == ["train", "test"]
    assert cells(splits, "documents") == ["documents", str(train.documents), str(test.documents)]
    median, low, high = (train.words[share] for share in ("50%", "5%", "95%"))
    assert f"{median} ({low}–{high})" in splits
    assert "…" not in splits + deciles
    assert f"{found.labels} labels, 0 of them without a training document" in deciles
    first = found.deciles[0]
    assert cells(deciles, "1")[:3] == ["1", str(first.labels), f"{first.least}–{first.most}"]
    assert "█" in curve
