"""Corpora of any size whose answer is planted: labels with names, topics and a long tail, streamed to disk.

How it is planted.  Labels are ranked by how frequent they are: rank r is drawn with a probability ∝ (r + SHIFT)^-SKEW
(Zipf-Mandelbrot).  Rank r lies in topic r mod T, and there in one of several subtopics of about A_SUBTOPIC labels.  A
document draws one label, and the others mostly from the same topic.  Of its words, some are the own words of one of its
labels, some words of the subtopic, of the topic, and of the language as a whole, in the shares of SHARES; so a label
can be told by its own words, and a tree of clusters can be told by those above.  Own words belong to several labels:
there are fewer words than labels times OWN.  A label's name has some of its own words and one of its subtopic.

Nothing is kept of a label but what its number says: topics and words are hashes of numbers, so that memory does not
grow with labels or documents (only with the language, at most MOST_WORDS words).  Documents are drawn CHUNK at a time,
each chunk from a generator of its own, so that the same seed gives the same bytes, and more documents begin with the
same ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from longtail import store

SKEW, SHIFT = 0.9, 10.0  # of label frequencies
WORD_SKEW, WORD_SHIFT = 1.05, 2.0  # of words of the language
A_SUBTOPIC = 16  # labels
OWN, OF_SUBTOPIC, OF_TOPIC = 4, 16, 64  # words of a label, a subtopic, a topic
SHARES = (0.15, 0.15, 0.15, 0.55)  # words of a label, its subtopic, its topic, the language
SAME_TOPIC = 0.8  # of the other labels of a document
MORE_LABELS = 3.5  # labels of a document behind the first, in the mean
TITLE, MEDIAN, SPREAD, LEAST, MOST = (
    6,
    50,
    0.6,
    8,
    1000,
)  # words of a title; of a text: median, log-normal spread, limits
MOST_WORDS = 400_000
CHUNK = 4096  # documents drawn together
SYLLABLES = [first + second for first in "bdfgklmnprstvz" for second in "aeiou"]  # 70


@dataclass(frozen=True)
class Planted:
    """What is to be made."""

    labels: int
    documents: int
    seed: int = 0
    test: int = 5000  # documents more, of the test split

    @property
    def topics(self) -> int:
        return max(1, round(self.labels**0.5 / 2))

    @property
    def subtopics(self) -> int:
        """Of each topic."""
        return max(1, self.labels // (self.topics * A_SUBTOPIC))

    @property
    def words(self) -> int:
        """Of the language."""
        return min(MOST_WORDS, 2000 + round(20 * self.labels**0.7))

    def index(self, ranks: np.ndarray) -> np.ndarray:
        """The label of each rank: a permutation, so that neighbours in the files are not neighbours in anything."""
        return (ranks * stride(self.labels) + self.seed) % self.labels


def stride(count: int) -> int:
    """A number prime to `count`, far from 0 and from `count`."""
    found = max(1, int(count * 0.6180339887))
    while np.gcd(found, count) != 1:
        found += 1
    return found


# -- draws -------------------------------------------------------------------------------------------------------------


def zipf(rng: np.random.Generator, size: int, count: int, skew: float, shift: float) -> np.ndarray:
    """`size` ranks below `count`, rank r with a probability about ∝ (r + shift)^-skew: the inverse integral."""
    power = 1 - skew
    first, last = shift**power, (count + shift) ** power
    return ((first + rng.random(size) * (last - first)) ** (1 / power) - shift).astype(np.int64).clip(0, count - 1)


def hashed(*numbers: np.ndarray | int) -> np.ndarray:
    """A number of 63 bits for every row of numbers, as if drawn at random: splitmix64 over them."""
    state = np.zeros(1, np.uint64)
    for number in numbers:
        state = state + np.asarray(number).astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
        state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        state = state ^ (state >> np.uint64(31))
    return (state >> np.uint64(1)).astype(np.int64)


def owned(planted: Planted, kind: int, owner: np.ndarray, which: np.ndarray) -> np.ndarray:
    """The words of labels (kind 0), subtopics (1) or topics (2)."""
    return hashed(planted.seed, kind, owner, which) % planted.words


def subtopic(planted: Planted, ranks: np.ndarray) -> np.ndarray:
    """The subtopic of each rank, numbered over all topics."""
    return ranks % planted.topics * planted.subtopics + ranks // planted.topics % planted.subtopics


@dataclass(frozen=True)
class Drawn:
    """Some documents: labels and words, one after the other."""

    labels: np.ndarray  # ranks
    label_starts: np.ndarray
    words: np.ndarray
    word_starts: np.ndarray


def draw(planted: Planted, split: int, chunk: int, count: int) -> Drawn:
    """So many documents of a chunk of a split."""
    rng = np.random.default_rng([planted.seed, split, chunk])
    ranks, starts = draw_labels(planted, count, rng)
    lengths = np.exp(rng.normal(np.log(MEDIAN), SPREAD, count)).astype(np.int64).clip(LEAST, MOST)
    words = draw_words(planted, ranks, starts, lengths, rng)
    return Drawn(ranks, starts, words, np.append(0, np.cumsum(lengths)))


def draw_labels(planted: Planted, count: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Ranks of the labels of each document, each once and in order, and where those of a document start."""
    sizes = 1 + rng.poisson(MORE_LABELS, count).clip(0, 40)
    of = np.repeat(np.arange(count), sizes)
    ranks = zipf(rng, len(of), planted.labels, SKEW, SHIFT)
    firsts = np.cumsum(sizes) - sizes
    topics = (ranks[firsts] % planted.topics)[of]
    moved = ranks // planted.topics * planted.topics + topics
    stays = rng.random(len(of)) >= SAME_TOPIC
    stays[firsts] = True
    ranks = np.where(stays | (moved >= planted.labels), ranks, moved)
    pairs = np.unique(of * planted.labels + ranks)
    return pairs % planted.labels, np.append(0, np.cumsum(np.bincount(pairs // planted.labels, minlength=count)))


def draw_words(
    planted: Planted, ranks: np.ndarray, starts: np.ndarray, lengths: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """The words of documents, each of one of its labels or of what is above it."""
    of, total = np.repeat(np.arange(len(lengths)), lengths), int(lengths.sum())
    label = ranks[starts[of] + (rng.random(total) * np.diff(starts)[of]).astype(np.int64)]
    kind = np.searchsorted(np.cumsum(SHARES[:3]), rng.random(total), side="right")
    luck = rng.random(total) ** 1.5  # the first words of an owner are its most frequent
    words = zipf(rng, total, planted.words, WORD_SKEW, WORD_SHIFT)
    owners = label, subtopic(planted, label), label % planted.topics
    for at, (owner, count) in enumerate(zip(owners, (OWN, OF_SUBTOPIC, OF_TOPIC))):
        mine = kind == at
        words[mine] = owned(planted, at, owner[mine], (luck[mine] * count).astype(np.int64))
    return words


# -- files -------------------------------------------------------------------------------------------------------------


def spelled(count: int) -> list[str]:
    """A word of two syllables or more for every number; no two are alike."""
    return [word(number) for number in range(count)]


def word(number: int) -> str:
    number += len(SYLLABLES)  # so that none has a single syllable
    parts = []
    while number:
        number, digit = divmod(number, len(SYLLABLES))
        parts.append(SYLLABLES[digit])
    return "".join(reversed(parts))


def make(planted: Planted, out: Path) -> Path:
    """Write the corpus as files of the XMC repository (`trn.json`, `tst.json`, `lbl.json`), and what it is."""
    out.mkdir(parents=True, exist_ok=True)
    words = spelled(planted.words)
    write(out / "lbl.json", label_lines(planted, words))
    write(out / "trn.json", document_lines(planted, words, 0, planted.documents))
    write(out / "tst.json", document_lines(planted, words, 1, planted.test))
    store.write_json(out / "planted.json", asdict(planted))
    return out


def write(path: Path, pieces: Iterator[str]) -> None:
    with path.open("w", encoding="ascii", newline="\n") as file:
        file.writelines(pieces)


def label_lines(planted: Planted, words: list[str]) -> Iterator[str]:
    """A line for every label, in the order of its index."""
    back = pow(stride(planted.labels), -1, planted.labels) if planted.labels > 1 else 0
    for start in range(0, planted.labels, CHUNK):
        indices = np.arange(start, min(start + CHUNK, planted.labels))
        ranks = (indices - planted.seed) % planted.labels * back % planted.labels
        own = [owned(planted, 0, ranks, np.full(len(ranks), at)) for at in range(3)]
        above = owned(planted, 1, subtopic(planted, ranks), hashed(planted.seed, 3, ranks) % 4)
        sizes = 1 + hashed(planted.seed, 4, ranks) % 3
        rows = zip(indices.tolist(), sizes.tolist(), np.stack([*own, above], 1).tolist())
        yield "".join(
            f'{{"uid": "L{index}", "title": "{named(row, size, words)}", "content": ""}}\n' for index, size, row in rows
        )


def named(row: list[int], size: int, words: list[str]) -> str:
    """One to three own words, and one of the subtopic."""
    return " ".join(words[at] for at in [*row[:size], row[3]])


def document_lines(planted: Planted, words: list[str], split: int, count: int) -> Iterator[str]:
    """A line for every document of a split, CHUNK lines at a time."""
    for chunk, start in enumerate(range(0, count, CHUNK)):
        drawn = draw(planted, split, chunk, CHUNK)
        spelt = [words[at] for at in drawn.words.tolist()]
        labels, bounds = planted.index(drawn.labels).tolist(), drawn.label_starts.tolist()
        ends = drawn.word_starts.tolist()
        yield "".join(
            f'{{"uid": "{split}-{start + at}", "title": "{" ".join(spelt[ends[at] : ends[at] + TITLE])}", '
            f'"content": "{" ".join(spelt[ends[at] + TITLE : ends[at + 1]])}", '
            f'"target_ind": {sorted(labels[bounds[at] : bounds[at + 1]])}}}\n'
            for at in range(min(CHUNK, count - start))
        )
