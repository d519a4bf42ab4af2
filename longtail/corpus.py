"""Documents, their labels, and the names of the labels."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from os import PathLike
from typing import Any, Literal, NamedTuple, overload

import numpy as np

from longtail.errors import CorpusError
from longtail.sparse import sp

PAD = -1  # "no label here" in every fixed-width array of labels

Role = Literal["train", "valid", "test"]


class Texts(Sequence[str]):
    """Strings stored as one UTF-8 byte array with start and stop offsets.

    A million titles are three arrays that can be mapped from disk, not a million objects, and a
    subset shares the bytes of the original.

    >>> texts = Texts.of(["red fox", "été"])
    >>> texts[1], len(texts), list(texts[[1, 0]])
    ('été', 2, ['été', 'red fox'])
    """

    __slots__ = ("data", "starts", "stops")

    def __init__(self, data: np.ndarray, starts: np.ndarray, stops: np.ndarray):
        self.data, self.starts, self.stops = data, starts, stops

    @classmethod
    def of(cls, strings: Iterable[str]) -> Texts:
        """Concatenate the strings."""
        if not is_list(strings) or getattr(strings, "ndim", 1) != 1 or hasattr(strings, "columns"):
            from longtail.frames import not_texts

            raise CorpusError(not_texts(strings))
        chunks = [_encoded(at, string) for at, string in enumerate(strings)]
        offsets = np.array([*accumulate(map(len, chunks), initial=0)], np.int64)
        return cls(np.frombuffer(b"".join(chunks), np.uint8), offsets[:-1], offsets[1:])

    @classmethod
    def joined(cls, parts: Sequence[Texts]) -> Texts:
        """The strings of all parts; their bytes are copied once, and no string is made of them.

        >>> list(Texts.joined([Texts.of(["red"]), Texts.of(["fox", "été"])[[1]]]))
        ['red', 'été']
        """
        stops = np.cumsum(np.concatenate([part.stops - part.starts for part in parts]), dtype=np.int64)
        starts = np.concatenate([np.zeros(1, np.int64), stops])
        data, at = np.empty(starts[-1], np.uint8), 0
        for block in (block for part in parts for block in part._blocks()):
            data[at : at + len(block)] = block
            at += len(block)
        return cls(data, starts[:-1], stops)

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
        """The same strings without unused bytes between them, as written to disk."""
        stops = np.cumsum(self.stops - self.starts, dtype=np.int64)
        starts = np.concatenate([[0], stops[:-1]]) if len(stops) else stops
        blocks = list(self._blocks())
        return Texts(blocks[0] if len(blocks) == 1 else np.concatenate([self.data[:0], *blocks]), starts, stops)

    def _blocks(self) -> Iterator[np.ndarray]:
        """The bytes of some strings after the other."""
        return (self._bytes(slice(at, at + _BLOCK)) for at in range(0, len(self), _BLOCK))

    def _bytes(self, rows: slice) -> np.ndarray:
        """The concatenated bytes of some strings; a view where they are already contiguous."""
        starts, stops = self.starts[rows], self.stops[rows]
        if np.array_equal(starts[1:], stops[:-1]):
            return self.data[starts[0] : stops[-1]]
        lengths = stops - starts
        # Byte i of the result is byte i + (old start - new start) of its string.
        moved = np.repeat(starts - (np.cumsum(lengths) - lengths), lengths)
        return self.data[np.arange(len(moved)) + moved]


_BLOCK = 1 << 16  # strings packed at once: bounds the memory of the byte index


def _encoded(at: int, string: object) -> bytes:
    if not isinstance(string, str):
        raise CorpusError(f"text {at} is {string!r:.60}; every text is a string, be it an empty one")
    return string.encode("utf-8", "surrogatepass")


def is_list(value: object) -> bool:
    """Whether this is an iterable of items, not a string or a mapping."""
    if isinstance(value, (str, bytes, Mapping)):
        return False
    try:
        iter(value)  # type: ignore[call-overload]
    except TypeError:
        return False
    return True


class Label(NamedTuple):
    """One label: id, name, and an optional longer text."""

    id: str
    name: str
    text: str = ""

    @property
    def words(self) -> str:
        """Name and text of the label, for methods that read label text."""
        return f"{self.name}\n{self.text}" if self.text and self.text != self.name else self.name


@dataclass(frozen=True)
class LabelSet(Sequence[Label]):
    """The labels of a corpus, by index."""

    ids: Texts
    names: Texts
    texts: Texts

    @classmethod
    def of(cls, labels: Iterable[Label | str]) -> LabelSet:
        """Build from labels, or from names that double as ids."""
        rows = [Label(label, label) if isinstance(label, str) else label for label in labels]
        for at, row in enumerate(rows):
            if not isinstance(row, Label) or not all(isinstance(part, str) for part in row):
                raise CorpusError(f"label {at} is {row!r:.60}; a label is a name, or Label(id, name) of strings")
        return cls(*(Texts.of(row[column] for row in rows) for column in range(3)))

    def __len__(self) -> int:
        return len(self.ids)

    def __getitem__(self, at):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN204 - Sequence's two overloads, one line each
        if isinstance(at, (int, np.integer)):
            return Label(self.ids[int(at)], self.names[int(at)], self.texts[int(at)])
        return LabelSet(self.ids[at], self.names[at], self.texts[at])

    def words(self) -> Texts:
        """Name and text of every label, one string per label."""
        return Texts.of(label.words for label in self)


@dataclass(frozen=True)
class Documents:
    """Input of prediction: texts, ready-made features, or both."""

    texts: Texts | None = None
    features: sp.csr_array | None = None

    def __post_init__(self) -> None:
        if self.texts is None and self.features is None:
            raise CorpusError("documents need texts or features; neither was given")
        if self.texts is not None and not isinstance(self.texts, Texts):
            raise CorpusError("texts in a list become documents by Documents.of(texts)")
        if self.features is not None:
            _check_features(self.features)
        if self.texts is not None and self.features is not None and len(self.texts) != self.features.shape[0]:
            raise CorpusError(f"{len(self.texts)} texts but {self.features.shape[0]} rows of features")

    @classmethod
    def of(cls, texts: Iterable[str]) -> Documents:
        """Documents from plain strings."""
        return cls(Texts.of(texts))

    def check_numbers(self) -> None:
        """Raise if a feature is NaN or infinite."""
        if self.features is None:
            return
        values = self.features.data
        # The sum is finite only if every term is; no array of flags needed.
        if not np.isfinite(values.sum(dtype=np.float64)) and not np.isfinite(values).all():
            raise CorpusError("the features hold NaN or infinite values; replace them by numbers, or leave them out")

    def __len__(self) -> int:
        return len(self.texts) if self.texts is not None else self.features.shape[0]  # type: ignore[union-attr]

    def __getitem__(self, rows: slice | np.ndarray) -> Documents:
        texts, features = self.texts, self.features
        return Documents(None if texts is None else texts[rows], None if features is None else features[rows])


def _check_features(features: Any) -> None:  # noqa: ANN401 - any argument
    if not sp.issparse(features) or features.format != "csr":
        raise CorpusError(
            f"features are a sparse matrix, not {type(features).__name__}: pass scipy.sparse.csr_array(features)"
        )
    if features.ndim != 2 or features.dtype.kind not in "fiub":
        raise CorpusError(
            f"features have two dimensions, (documents, features), and are real numbers; these have {features.ndim} "
            f"and are {features.dtype}"
        )


@dataclass(frozen=True)
class Corpus:
    """Documents of one split with their labels.

    `labels` is a sparse 0/1 matrix (documents, labels).  `filtered` marks pairs (document, label) that
    evaluation removes from truth and prediction, such as a product recommended for itself.
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
    def of(
        cls,
        texts: Any,  # noqa: ANN401 - Iterable[str], or a data frame
        label_lists: Iterable[Iterable[str]] | None = None,
        name: str = "corpus",
        *,
        text: str | Sequence[str] | None = None,
        labels: str | Sequence[str] | None = None,
        label_separator: str | None = None,
    ) -> Corpus:
        """A corpus from texts and the label names of each, or from columns of a pandas or polars data frame.

        `text`, `labels` and `label_separator` are for a frame and mean what they mean for `longtail.load`.

        >>> corpus = Corpus.of(["red fox", "blue whale"], [["mammal", "red"], ["mammal"]])
        >>> [label.name for label in corpus.label_set], corpus.labels.toarray().astype(int).tolist()
        (['mammal', 'red'], [[1, 1], [1, 0]])
        """
        from longtail.frames import from_python

        strings, rows, names = from_python(texts, label_lists, text, labels, label_separator)
        documents = Documents.of(strings)
        if len(documents) != len(rows):
            raise CorpusError(
                f"{len(documents)} texts, but {len(rows)} lists of labels; give every text a list, be it an empty one"
            )
        known = sorted(set().union(*rows))
        index = {label: at for at, label in enumerate(known)}
        indptr = np.cumsum([0, *map(len, rows)])
        indices = np.array([index[label] for row in rows for label in row], np.int32)
        matrix = sp.csr_array((np.ones(len(indices), np.float32), indices, indptr), shape=(len(rows), len(known)))
        label_set = LabelSet.of(Label(label, names.get(label, label)) for label in known)
        return cls(documents, matrix, label_set, name).fingerprinted()

    def fingerprinted(self) -> Corpus:
        """The corpus with a fingerprint of everything training depends on, so that a run can identify it."""
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
        for part, kind in (("documents", Documents), ("label_set", LabelSet)):
            if not isinstance(getattr(self, part), kind):
                raise CorpusError(f"{part} of a corpus are {kind.__name__}; Corpus.of(texts, label_lists) makes them")
        if not sp.issparse(self.labels) or self.labels.format != "csr":
            raise CorpusError("labels of a corpus are a 0/1 matrix: pass scipy.sparse.csr_array(labels)")
        if self.labels.shape != (len(self.documents), len(self.label_set)):
            raise CorpusError(
                f"{self.name}: the label matrix is {self.labels.shape[0]} x {self.labels.shape[1]}, but there are "
                f"{len(self.documents)} documents and {len(self.label_set)} labels"
            )

    @property
    def texts(self) -> Texts:
        """The documents' texts; raises an explained error if there are none."""
        if self.documents.texts is None:
            raise CorpusError(f"{self.name} has features but no text; this method reads text")
        return self.documents.texts

    @property
    def n_labels(self) -> int:
        """Number of labels, including unused ones."""
        return len(self.label_set)

    def __len__(self) -> int:
        return len(self.documents)

    def none_of(self, role: Role) -> Corpus:
        """An empty split with the same labels."""
        return self.subset(np.empty(0, np.int64), role)

    def subset(self, rows: np.ndarray, role: Role) -> Corpus:
        """The documents at `rows` as a split with another role."""
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
        """Training and validation documents: the official validation split, or a random sample of this corpus.

        At most a tenth of the corpus is held out, so that a small corpus keeps its documents.
        """
        if self.official_valid is not None:
            return self, self.official_valid
        held = self.drawn(min(documents, len(self) // 10), seed)
        return self.subset(np.delete(np.arange(len(self)), held), "train"), self.subset(held, "valid")

    def drawn(self, documents: int, seed: int) -> np.ndarray:
        """Sorted indices of a random sample of at most `documents` documents."""
        return np.sort(np.random.default_rng(seed).permutation(len(self))[:documents])


@dataclass(frozen=True)
class Splits:
    """A loaded corpus: training, validation and test splits.

    `train` holds all training documents; a method that needs validation calls `train.hold_out`.
    """

    train: Corpus
    test: Corpus | None = None
    notes: tuple[str, ...] = ()  # what was guessed about the files, or left out of them, in sentences

    @property
    def valid(self) -> Corpus:
        """The official validation split, or the documents a method holds out by default."""
        return self.train.hold_out(VALID_DOCUMENTS, seed=0)[1]

    @property
    def without_valid(self) -> Corpus:
        """Train without the documents of `valid`, for when they tune the trained model."""
        return self.train.hold_out(VALID_DOCUMENTS, seed=0)[0]

    def split(self, name: str) -> Corpus:
        """A split by its command-line name: trn/train, val/valid, tst/test."""
        chosen = {"trn": "train", "val": "valid", "tst": "test"}.get(name, name)
        if chosen not in ("train", "valid", "test"):
            raise CorpusError(f"no split is called {name!r}; there are trn, val and tst")
        corpus = getattr(self, chosen)
        if corpus is None:
            raise CorpusError(
                f"{self.train.name} has no {chosen} split; to take all of its documents: --split trn; "
                f"else {WITHOUT_TEST}"
            )
        return corpus


WITHOUT_TEST = (  # what to do
    "make a test split with `longtail split CORPUS --test 0.1 --out DIR` and train on DIR, "
    "or train with --hold-out and evaluate with --split val"
)
VALID_DOCUMENTS = 4000  # the hold-out size of ELIAS and LightXML-large


def one_split(given: object, usual: str) -> Corpus:
    """Return `given` if it is a Corpus; else raise an error that explains how to get one, by the `usual` split."""
    if isinstance(given, Corpus):
        return given
    if isinstance(given, Splits):
        raise CorpusError(f"{given.train.name} was given with all its splits; pass one of them, as in corpus.{usual}")
    if isinstance(given, (str, PathLike)):
        raise CorpusError(f"{given} is a path; load it and pass a split: longtail.load({str(given)!r}).{usual}")
    raise CorpusError(
        f"expected a Corpus, not {type(given).__name__}: pass longtail.load(path).{usual}, "
        "or longtail.Corpus.of(texts, label_lists)"
    )
