"""Why a tree scores labels of one text as it does: what words add to the margins, and the nodes above the labels."""

from __future__ import annotations

import numpy as np

from longtail.corpus import PAD, Documents, Texts
from longtail.features.bagging import NOT_GIVEN
from longtail.features.bags import Bags
from longtail.features.locating import LONGEST, MOST, NUMBERS
from longtail.features.spans import ReadText
from longtail.features.tfidf import Tfidf
from longtail.index.clusters import Tree
from longtail.kernels import bags
from longtail.kernels.descent import Level
from longtail.kernels.located import room_for
from longtail.kernels.reading import STATE
from longtail.kernels.reasons import Walked, Ways, explain_text, walk_up
from longtail.kernels.threads import PerThread
from longtail.reasons import NAMED, Contributions, Proposal, Reasons

LABELS = 16  # of a text that are explained in one call


class Explaining:
    """A vocabulary and a tree, with arrays for every thread that are kept from one text to the next."""

    def __init__(self, words: Bags, levels: tuple[Level, ...], tree: Tree, first: int, power: float):
        self._words, self._tree, self._ways = words, tree, Ways(levels, tree.leaf_of, first, power)
        self._walk_up = walk_up.bound(self._ways)
        tfidf = words.tfidf
        self._desks = PerThread[_Desk](None if tfidf is None else lambda: _Desk(self._ways, tfidf))

    def reasons(self, documents: Documents, labels: np.ndarray) -> Reasons:
        """What words add to the margins of the labels' leaves, and the nodes above these with their beliefs.

        A label that hangs nowhere has no classifier: nothing adds to a margin of 0.
        """
        desk = self._desks.here
        found = None if desk is None or documents.texts is None else desk.explained(documents.texts, labels)
        words, nodes, beliefs = self._in_steps(documents, labels) if found is None else found

        def proposed(at: int) -> list[Proposal]:
            path = zip(nodes[at].tolist(), beliefs[at].tolist())
            return [
                Proposal(node, belief, self._tree.under(level, node)[:NAMED])
                for level, (node, belief) in enumerate(path, 1)
                if node != PAD
            ]

        return Reasons(words, proposed)

    def _in_steps(self, documents: Documents, labels: np.ndarray) -> tuple[Contributions, np.ndarray, np.ndarray]:
        """The same for any text and any number of labels."""
        read = ReadText.of(self._words, documents)
        room = _room(len(labels), len(read.columns), len(self._ways.levels) - 2)
        self._walk_up(labels, read.columns, read.values.astype(np.float32), *room)
        return read.explained(room.weights, room.biases), room.nodes, room.beliefs


def _room(labels: int, tokens: int, above: int) -> Walked:
    numbers = np.empty(labels, np.int32), np.empty((labels, tokens)), np.empty(labels)
    return Walked(*numbers, np.empty((labels, above), np.int32), np.empty((labels, above)))


class _Desk:
    """A call for one text that is ready to be made again and again."""

    def __init__(self, ways: Ways, tfidf: Tfidf):
        self._text, self._ends, self._sizes = np.zeros(LONGEST, np.uint8), np.zeros(1, np.int64), np.zeros(3, np.int64)
        self._labels, self._room = np.zeros(LABELS, np.int32), _room(LABELS, MOST, len(ways.levels) - 2)
        self._found, self._spread, self._logits = room_for(LONGEST, MOST), np.zeros(NUMBERS), np.zeros(LABELS)
        texts = bags.Texts(self._text, np.zeros(1, np.int64), self._ends)
        bag = np.zeros(MOST, np.int32), np.zeros(MOST, np.float32), np.zeros(STATE, np.int64)
        self._call = explain_text.ready(
            ways, tfidf.bagging.reading, texts, NOT_GIVEN, self._sizes, *bag, self._labels, self._room, self._found,
            self._spread, self._logits,
        )  # fmt: skip

    def explained(self, texts: Texts, labels: np.ndarray) -> tuple[Contributions, np.ndarray, np.ndarray] | None:
        """Of the first text, what words add, nodes above and their beliefs; nothing where it is not read here."""
        start, stop, count = int(texts.starts[0]), int(texts.stops[0]), len(labels)
        size = stop - start
        if count > LABELS or size > LONGEST or count * (size + 1) > NUMBERS:
            return None
        self._text[:size] = texts.data[start:stop]
        self._ends[0], self._sizes[0], self._sizes[2], self._labels[:count] = size, size, count, labels
        if self._call() != 0:
            return None
        found, room, words = self._found, self._room, int(self._found.counts[1])
        spread = self._spread[: count * words].copy().reshape(count, words)
        places = found.starts[:words].copy(), found.stops[:words].copy()
        added = Contributions(*places, spread, room.biases[:count].copy(), self._logits[:count].copy())
        return added, room.nodes[:count].copy(), room.beliefs[:count].copy()
