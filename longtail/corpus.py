"""Documents, the labels they carry, and what the labels are called."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple, overload

import numpy as np
import scipy.sparse as sp

from longtail.errors import CorpusError

PAD = -1  # "no label here" in every fixed-width array of labels

Role = Literal["train", "valid", "test"]


class Texts(Sequence[str]):
    """Strings as one run of UTF-8 bytes with a start and a stop each.

    A million titles are three arrays that can be mapped from disk, not a million objects, and a
    subset shares the bytes of the whole.

    >>> texts = Texts.of(["red fox", "été"])
    >>> texts[1], len(texts), list(texts[[1, 0]])
    ('été', 2, ['été', 'red fox'])
    """

    __slots__ = ("data", "starts", "stops")

    def __init__(self, data: np.ndarray, starts: np.ndarray, stops: np.ndarray):
        self.data, self.starts, self.stops = data, starts, stops

    @classmethod
    def of(cls, strings: Iterable[str]) -> Texts:
        """Lay the strings end to end."""
        chunks = [string.encode("utf-8", "surrogatepass") for string in strings]
        offsets = np.zeros(len(chunks) + 1, np.int64)
        np.cumsum([len(chunk) for chunk in chunks], out=offsets[1:])
        return cls(np.frombuffer(b"".join(chunks), np.uint8), offsets[:-1], offsets[1:])

    def __len__(self) -> int:
        return len(self.starts)

    @overload
    def __getitem__(self, at: int) -> str: ...
    @overload
    def __getitem__(self, at: slice | Sequence[int] | np.ndarray) -> Texts: ...
    def __getitem__(self, at: int | slice | Sequence[int] | np.ndarray) -> str | Texts:
        if isinstance(at, (int, np.integer)):
            return self.data[self.starts[at] : self.stops[at]].tobytes().decode("utf-8", "surrogatepass")
        return Texts(self.data, self.starts[at], self.stops[at])

    def __iter__(self) -> Iterator[str]:
        return (self[row] for row in range(len(self)))

    def __repr__(self) -> str:
        return f"Texts({len(self):,} strings, {int((self.stops - self.starts).sum()):,} bytes)"

    def packed(self) -> Texts:
        """The same strings with no bytes between them that belong to none: what to write to disk."""
        stops = np.cumsum(self.stops - self.starts, dtype=np.int64)
        starts = np.concatenate([[0], stops[:-1]]) if len(stops) else stops
        blocks = [self._bytes(slice(at, at + _BLOCK)) for at in range(0, len(self), _BLOCK)]
        return Texts(blocks[0] if len(blocks) == 1 else np.concatenate([self.data[:0], *blocks]), starts, stops)

    def _bytes(self, rows: slice) -> np.ndarray:
        """The bytes of some strings, end to end: a view where they already lie so."""
        starts, stops = self.starts[rows], self.stops[rows]
        if np.array_equal(starts[1:], stops[:-1]):
            return self.data[starts[0] : stops[-1]]
        lengths = stops - starts
        # Byte i of the result comes from i + (where its string starts now - where it will start).
        moved = np.repeat(starts - (np.cumsum(lengths) - lengths), lengths)
        return self.data[np.arange(len(moved)) + moved]


_BLOCK = 1 << 16  # strings packed at once: bounds the index of bytes beside them


class Label(NamedTuple):
    """One label: the id its owner knows it by, its name, and a longer text where there is one."""

    id: str
    name: str
    text: str = ""

    @property
    def words(self) -> str:
        """All that is said about the label, for methods that read label text."""
        return f"{self.name}\n{self.text}" if self.text and self.text != self.name else self.name


@dataclass(frozen=True)
class LabelSet(Sequence[Label]):
    """The labels of a corpus, by index."""

    ids: Texts
    names: Texts
    texts: Texts

    @classmethod
    def of(cls, labels: Iterable[Label | str]) -> LabelSet:
        """From labels, or from names that serve as their own ids."""
        rows = [Label(label, label) if isinstance(label, str) else label for label in labels]
        return cls(*(Texts.of(row[column] for row in rows) for column in range(3)))

    def __len__(self) -> int:
        return len(self.ids)

    def __getitem__(self, at):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN204 - Sequence's two overloads, one line each
        if isinstance(at, (int, np.integer)):
            return Label(self.ids[int(at)], self.names[int(at)], self.texts[int(at)])
        return LabelSet(self.ids[at], self.names[at], self.texts[at])

    def words(self) -> Texts:
        """Every label's name and text, one string a label."""
        return Texts.of(label.words for label in self)


@dataclass(frozen=True)
class Documents:
    """What is read at prediction: texts, or features somebody else made, or both."""

    texts: Texts | None = None
    features: sp.csr_array | None = None

    def __post_init__(self) -> None:
        if self.texts is None and self.features is None:
            raise CorpusError("documents need texts or features; neither was given")
        if self.texts is not None and self.features is not None and len(self.texts) != self.features.shape[0]:
            raise CorpusError(f"{len(self.texts)} texts but {self.features.shape[0]} rows of features")

    @classmethod
    def of(cls, texts: Iterable[str]) -> Documents:
        """Documents from plain strings."""
        return cls(Texts.of(texts))

    def __len__(self) -> int:
        return len(self.texts) if self.texts is not None else self.features.shape[0]  # type: ignore[union-attr]

    def __getitem__(self, rows: slice | np.ndarray) -> Documents:
        return Documents(
            None if self.texts is None else self.texts[rows], None if self.features is None else self.features[rows]
        )


@dataclass(frozen=True)
class Corpus:
    """Documents of one split with their labels.

    `labels` is a sparse 0/1 matrix (documents, labels).  `filtered` marks pairs (document, label) that
    evaluation removes from truth and prediction alike: a product is not a suggestion for itself.
    """

    documents: Documents
    labels: sp.csr_array
    label_set: LabelSet
    name: str = "corpus"
    role: Role = "train"
    fingerprint: str = ""
    ids: Texts | None = None
    filtered: sp.csr_array | None = None
    official_valid: Corpus | None = field(default=None, repr=False)
    part_of: tuple[str, ...] = field(default=(), repr=False)  # fingerprints of the corpora it was taken from

    @classmethod
    def of(cls, texts: Iterable[str], label_lists: Iterable[Iterable[str]], name: str = "corpus") -> Corpus:
        """A corpus from what is at hand: texts, and for each the names of its labels.

        >>> corpus = Corpus.of(["red fox", "blue whale"], [["mammal", "red"], ["mammal"]])
        >>> [label.name for label in corpus.label_set], corpus.labels.toarray().astype(int).tolist()
        (['mammal', 'red'], [[1, 1], [1, 0]])
        """
        rows = [sorted(set(names)) for names in label_lists]
        known = sorted(set().union(*rows))
        index = {label: at for at, label in enumerate(known)}
        indptr = np.cumsum([0, *map(len, rows)])
        indices = np.array([index[label] for row in rows for label in row], np.int32)
        labels = sp.csr_array((np.ones(len(indices), np.float32), indices, indptr), shape=(len(rows), len(known)))
        return cls(Documents.of(texts), labels, LabelSet.of(known), name).fingerprinted()

    def fingerprinted(self) -> Corpus:
        """With a fingerprint of all that a training can depend on, so that a run can tell this corpus from another."""
        matrices = [self.labels] if self.documents.features is None else [self.labels, self.documents.features]
        texts = [self.label_set.ids, self.label_set.names, self.label_set.texts]
        texts += [] if self.documents.texts is None else [self.documents.texts]
        digest = hashlib.sha256()
        for matrix in matrices:
            for array in (matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32), matrix.data.astype("<f4")):
                digest.update(np.ascontiguousarray(array).data)
        for text in texts:
            packed = text.packed()
            digest.update(np.ascontiguousarray(packed.data).data)
            digest.update(packed.stops.data)
        return replace(self, fingerprint=digest.hexdigest()[:16])

    def __post_init__(self) -> None:
        if self.labels.shape != (len(self.documents), len(self.label_set)):
            raise CorpusError(
                f"{self.name}: the label matrix is {self.labels.shape[0]} x {self.labels.shape[1]}, but there are "
                f"{len(self.documents)} documents and {len(self.label_set)} labels"
            )

    @property
    def texts(self) -> Texts:
        """The documents' texts, or a sentence about why there are none."""
        if self.documents.texts is None:
            raise CorpusError(f"{self.name} has features but no text; this method reads text")
        return self.documents.texts

    @property
    def n_labels(self) -> int:
        """How many labels there are, used or not."""
        return len(self.label_set)

    def __len__(self) -> int:
        return len(self.documents)

    def subset(self, rows: np.ndarray, role: Role) -> Corpus:
        """The documents at `rows`, for another purpose."""
        return replace(
            self,
            documents=self.documents[rows],
            labels=self.labels[rows],
            role=role,
            fingerprint=hashlib.sha256(self.fingerprint.encode() + rows.astype(np.int64).tobytes()).hexdigest()[:16],
            ids=None if self.ids is None else self.ids[rows],
            filtered=None if self.filtered is None else self.filtered[rows],
            official_valid=None,
            part_of=(*self.part_of, self.fingerprint),
        )

    def hold_out(self, documents: int, seed: int) -> tuple[Corpus, Corpus]:
        """What to learn from and what to choose settings by: the official validation split, or one carved from here.

        Never more than a tenth of the corpus is carved, so that a small corpus keeps its documents.
        """
        if self.official_valid is not None:
            return self, self.official_valid
        held = self.drawn(min(documents, len(self) // 10), seed)
        return self.subset(np.delete(np.arange(len(self)), held), "train"), self.subset(held, "valid")

    def drawn(self, documents: int, seed: int) -> np.ndarray:
        """Which documents at random are at most so many, in order."""
        return np.sort(np.random.default_rng(seed).permutation(len(self))[:documents])


@dataclass(frozen=True)
class Splits:
    """A loaded corpus: what to train on, what to choose by, what to report on.

    `train` is everything there is to learn from; a method that needs validation calls `train.hold_out`.
    """

    train: Corpus
    test: Corpus | None = None

    @property
    def valid(self) -> Corpus:
        """The official validation split, or the documents a method holds out of train by default."""
        return self.train.hold_out(VALID_DOCUMENTS, seed=0)[1]

    @property
    def without_valid(self) -> Corpus:
        """Train without the documents of `valid`, for a training after which something is chosen by them."""
        return self.train.hold_out(VALID_DOCUMENTS, seed=0)[0]

    def split(self, name: str) -> Corpus:
        """By the names people use on the command line: trn/train, val/valid, tst/test."""
        chosen = {"trn": "train", "val": "valid", "tst": "test"}.get(name, name)
        if chosen not in ("train", "valid", "test"):
            raise CorpusError(f"no split is called {name!r}; there are trn, val and tst")
        corpus = getattr(self, chosen)
        if corpus is None:
            raise CorpusError(f"{self.train.name} has no {chosen} split; {WITHOUT_TEST}")
        return corpus


WITHOUT_TEST = (  # what to do
    "make a test split with `longtail split CORPUS --test 0.1 --out DIR` and train on DIR, "
    "or train with --hold-out and evaluate with --split val"
)
VALID_DOCUMENTS = 4000  # as ELIAS and LightXML-large hold out
