"""The generator of large corpora: the same bytes for a seed, bounded memory, a long tail and a planted answer."""

from __future__ import annotations

import json
import tracemalloc
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from benchmarks.scale_corpus import CHUNK, SHIFT, SKEW, Planted, draw, make, word, zipf
from benchmarks.scale_curve import exponents, written
from longtail import fit
from longtail.data.load import load

SMALL = Planted(labels=300, documents=1500, test=200)


def content(place: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(place.iterdir())}


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(SMALL, tmp_path_factory.mktemp("scale") / "small")


def test_one_seed_gives_the_same_bytes_and_another_gives_others(small: Path, tmp_path: Path):
    assert content(make(SMALL, tmp_path / "again")) == content(small)
    other = content(make(Planted(300, 1500, seed=1, test=200), tmp_path / "other"))
    assert all(other[name] != content(small)[name] for name in ("trn.json", "tst.json", "lbl.json"))


def test_more_documents_begin_with_the_same_ones(small: Path, tmp_path: Path):
    more = make(Planted(300, CHUNK + 10, test=1), tmp_path / "more")
    assert (more / "trn.json").read_bytes().startswith((small / "trn.json").read_bytes())
    assert len((more / "trn.json").read_text().splitlines()) == CHUNK + 10


def test_every_label_has_its_line_and_its_documents_are_drawn_by_rank(small: Path):
    labels = [json.loads(line) for line in (small / "lbl.json").open()]
    assert [label["uid"] for label in labels] == [f"L{at}" for at in range(300)]
    assert sorted(SMALL.index(np.arange(300))) == list(range(300))
    splits = load(small)
    assert len(splits.train) == 1500 and splits.train.n_labels == 300
    counts = np.bincount(splits.train.labels.indices, minlength=300)[SMALL.index(np.arange(300))]
    assert counts[:30].mean() > 3 * counts[-150:].mean() > 0


def test_words_of_a_label_name_are_in_its_documents(small: Path):
    """The own words of a document's labels are found in it far more often than those of other labels."""
    names = [set(json.loads(line)["title"].split()[:-1]) for line in (small / "lbl.json").open()]
    own = other = 0.0
    for line in (small / "trn.json").open():
        document = json.loads(line)
        words = set(f"{document['title']} {document['content']}".split())
        labels = document["target_ind"]
        own += np.mean([len(names[at] & words) / len(names[at]) for at in labels])
        other += np.mean([len(names[at] & words) / len(names[at]) for at in range(0, 300, 29) if at not in labels])
    assert own > 6 * other


def test_a_model_finds_the_planted_labels(small: Path):
    splits = load(small)
    assert splits.test is not None
    first = fit("linear", splits.train).rank(splits.test.documents, 1).labels[:, 0]
    truth = splits.test.labels
    hits = [label in truth.indices[slice(*truth.indptr[at : at + 2])] for at, label in enumerate(first)]
    assert np.mean(hits) > 0.7


def test_ranks_are_drawn_by_their_law():
    drawn = Counter(zipf(np.random.default_rng(0), 400_000, 1000, SKEW, SHIFT).tolist())
    expected = (np.arange(1000) + SHIFT) ** -SKEW
    expected *= 400_000 / expected.sum()
    for rank in (0, 3, 50):
        assert drawn[rank] == pytest.approx(expected[rank], rel=0.15)
    tail = sum(drawn[rank] for rank in range(900, 1000))
    assert tail == pytest.approx(expected[900:].sum(), rel=0.05)


def test_lengths_are_those_of_real_texts():
    lengths = np.diff(draw(SMALL, 0, 0, CHUNK).word_starts)
    assert 45 < np.median(lengths) < 55 and lengths.max() > 4 * np.median(lengths) and lengths.min() >= 8
    assert 3 < np.diff(draw(SMALL, 0, 0, CHUNK).label_starts).mean() < 5.5


def test_memory_grows_neither_with_documents_nor_with_labels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("benchmarks.scale_corpus.CHUNK", 512)

    def peak(labels: int, documents: int) -> int:
        tracemalloc.start()
        try:
            make(Planted(labels, documents, test=1), tmp_path / f"{labels}-{documents}")
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    few = peak(5000, 1024)
    assert peak(5000, 4096) < 1.1 * few
    words = (Planted(20_000, 1).words - Planted(5000, 1).words) * 100  # bytes of a word that is spelt
    assert peak(20_000, 1024) < 1.1 * few + words


def test_no_two_numbers_are_one_word():
    assert len({word(number) for number in range(20_000)}) == 20_000


def test_exponents_are_those_of_the_law():
    points = {str(size): {"peak MB": 3 * size**0.5, "step CPU ms": None} for size in (1000, 10_000, 100_000)}
    assert exponents(points) == {"peak MB": 0.5}


def test_the_table_has_a_row_for_every_point_and_the_exponents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("benchmarks.scale_curve.RESULTS", tmp_path)
    points = {str(size): {"documents": size, "peak MB": size, "P@1": 50.0} for size in (10_000, 1000)}
    rows = written({"linear": points, "exponents": {"linear": exponents(points)}}).read_text().splitlines()[-3:]
    assert [row.split(" | ")[1] for row in rows] == ["1,000", "10,000", "exponent"]
    assert "L^1.0" in rows[2] and len({row.count("|") for row in rows}) == 1
