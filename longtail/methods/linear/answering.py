"""Texts to labels in one call of compiled code: bytes, words, weights, tree, best labels."""

from __future__ import annotations

import threading

import numpy as np

from longtail.corpus import PAD, Texts
from longtail.features.bagging import NOT_GIVEN, ON_DESK
from longtail.features.tfidf import Tfidf
from longtail.kernels import bags
from longtail.kernels.descent import Level, Path, Walk, path_for, rank_texts
from longtail.kernels.reading import STATE
from longtail.kernels.threads import in_slices, in_threads
from longtail.progress import is_watched
from longtail.ranking import Ranking

NUMBERS_A_TEXT = 100_000  # the work that a text makes, as `in_threads` counts it: some 25 microseconds


class Answering:
    """A vocabulary and a tree, with arrays for every thread that are kept from one text to the next."""

    def __init__(self, tfidf: Tfidf, levels: tuple[Level, ...], walk: Walk):
        self._tfidf, self._levels, self._walk = tfidf, levels, walk
        self._bagging, self._here = tfidf.bagging, threading.local()

    def __reduce__(self):  # type: ignore[no-untyped-def]  # noqa: ANN204 - tables are made again, not copied
        return Answering, (self._tfidf, self._levels, self._walk)

    def rank(self, texts: Texts, k: int) -> tuple[Ranking, np.ndarray]:
        """The k best labels of each text, and how many known words it has."""
        if len(texts) == 1:
            start, stop = int(texts.starts[0]), int(texts.stops[0])
            if stop - start <= ON_DESK and self._bagging.given(texts) is NOT_GIVEN:
                answer = self._desk(k).answer(texts.data[start:stop])
                if answer is not None:
                    return answer
        return self._rank(texts, k)

    def _rank(self, texts: Texts, k: int) -> tuple[Ranking, np.ndarray]:
        labels, scores = np.full((len(texts), k), PAD, np.int32), np.zeros((len(texts), k), np.float32)
        lengths = np.zeros(len(texts), np.int64)

        def part(start: int, stop: int) -> None:
            reading, path, state = self._bagging.reading, self._path, np.zeros(STATE, np.int64)
            out = lengths[start:stop], labels[start:stop], scores[start:stop], state

            def read(words: bags.Texts, pieces: bags.Texts, given: bags.Given, first: int, last: int) -> int:
                return rank_texts(self._levels, self._walk, reading, words, pieces, given, first, last, path, *out)

            self._bagging.read_all(texts[start:stop], read, state, _never)

        if is_watched():
            in_slices(part, len(texts), "ranking documents")
        else:
            in_threads(part, len(texts), None, NUMBERS_A_TEXT)
        return Ranking(labels, scores), lengths

    @property
    def _path(self) -> Path:
        if not hasattr(self._here, "path"):
            self._here.path = path_for(self._levels, self._walk.beam, len(self._tfidf.vocabulary))
        return self._here.path

    def _desk(self, k: int) -> _Desk:
        """The arrays of this thread for answers of k labels; those for another k are given up."""
        desk = getattr(self._here, "desk", None)
        if desk is None or desk.k != k:
            desk = self._here.desk = _Desk(self._levels, self._walk, self._bagging.reading, self._path, k)
        return desk


def _never() -> None:
    """A bag has no more entries than there are words, for all of which there is room."""
    raise AssertionError("a bag has more entries than there are words")


class _Desk:
    """A call for one text that is ready to be made again and again."""

    def __init__(self, levels: tuple[Level, ...], walk: Walk, reading: bags.Reading, path: Path, k: int):
        self.k = k
        self._text, self._ends = np.zeros(ON_DESK, np.uint8), np.zeros(1, np.int64)
        self._lengths, self._state = np.zeros(1, np.int64), np.zeros(STATE, np.int64)
        self._labels, self._scores = np.zeros((1, k), np.int32), np.zeros((1, k), np.float32)
        texts = bags.Texts(self._text, np.zeros(1, np.int64), self._ends)
        self._call = rank_texts.ready(
            levels, walk, reading, texts, texts, NOT_GIVEN, 0, 1, path,
            self._lengths, self._labels, self._scores, self._state,
        )  # fmt: skip

    def answer(self, data: np.ndarray) -> tuple[Ranking, np.ndarray] | None:
        """The best labels of a text and the length of its bag, or nothing where it needs help."""
        self._text[: len(data)] = data
        self._ends[0] = len(data)
        self._labels.fill(PAD)
        self._scores.fill(0)
        if self._call() == 0:
            return None
        return Ranking(self._labels.copy(), self._scores.copy()), self._lengths.copy()
