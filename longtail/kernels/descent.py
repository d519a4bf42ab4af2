"""Texts or bags down a tree of clusters to the best labels: sparse classifiers, a beam on every level.

A node is believed exp(-max(0, 1 - x·w - b)^power) times as much as its parent; a power of 0 means sigmoid(x·w + b)
times.  Belief falls with the margin, so for each parent there is a margin below which a child cannot be among the best
any more: only the few above it are turned into beliefs, which is what took most of the time.

Behind the levels of the tree stands one level more, of labels that were added after training, or empty: see `_add`.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from longtail.corpus import PAD
from longtail.kernels.compiled import compiled
from longtail.kernels.reading import SHIFT, USED, read_row
from longtail.kernels.standalone import standalone
from longtail.kernels.top import _sink, _stands_behind


class Level(NamedTuple):
    """Classifiers of the nodes of one level, feature by feature, and where the children of each parent are."""

    starts: np.ndarray  # (features + 1,) int64
    nodes: np.ndarray  # (weights,) int32, rising within a feature, so that brothers stand together
    weights: np.ndarray  # (weights,) float32
    biases: np.ndarray  # (nodes,) float32
    child_starts: np.ndarray  # (parents + 1,) int64
    names: np.ndarray  # (nodes,) int32: what a node is called in the answer; none: by its own number


class Walk(NamedTuple):
    """How a tree is descended."""

    beam: int
    power: float
    belief_weight: float  # exponent of the clusters' beliefs where labels are scored


class Path(NamedTuple):
    """What one document needs on its way down."""

    margins: np.ndarray  # (children of the widest beam,) float32
    nodes: np.ndarray  # (beam or 1,) int32: opened, best first
    beliefs: np.ndarray  # float32
    next_nodes: np.ndarray  # the same of the level below
    next_beliefs: np.ndarray
    order: np.ndarray  # int32: places in `nodes`, which are in the order of nodes by it
    offsets: np.ndarray  # int64: where the children of nodes[i] begin in `margins`
    columns: np.ndarray  # (features,) int32: the bag
    values: np.ndarray  # float32


# -- one level ---------------------------------------------------------------------------------------------------------


@compiled
def open_level(level, columns, values, path, n_open, power, names, beliefs):
    """The most believed children of the open nodes, best first, into names and beliefs; how many there are."""
    _in_order(path, n_open)
    n_found = _biases(level, path, n_open)
    for at in range(len(columns)):
        _add_feature(level, columns[at], values[at], path, n_open)
    return _best(level, path, n_open, n_found, power, names, beliefs)


@compiled
def _in_order(path, n_open):
    """Sort the few open nodes by insertion."""
    order = path.order
    for at in range(n_open):
        place = at
        while place > 0 and path.nodes[order[place - 1]] > path.nodes[at]:
            order[place] = order[place - 1]
            place -= 1
        order[place] = at


@compiled
def _biases(level, path, n_open):
    """Begin the margins of all children, one open node after the other in order; how many there are."""
    count = 0
    for at in range(n_open):
        node = path.nodes[path.order[at]]
        path.offsets[path.order[at]] = count
        for child in range(level.child_starts[node], level.child_starts[node + 1]):
            path.margins[count] = level.biases[child]
            count += 1
    return count


@compiled
def _add_feature(level, column, value, path, n_open):
    """Add one feature's weights to the margins of the open nodes' children."""
    at, end = np.uint64(level.starts[column]), np.uint64(level.starts[column + 1])
    for number in range(n_open):
        if at == end:
            break
        opened = path.order[number]
        node = path.nodes[opened]
        first, last = level.child_starts[node], level.child_starts[node + 1]
        at = _not_before(level.nodes, first, at, end)
        offset = path.offsets[opened] - first
        while at < end and level.nodes[at] < last:
            path.margins[np.uint64(offset + level.nodes[at])] += value * level.weights[at]
            at += np.uint64(1)


@compiled
def _not_before(nodes, first, at, end):
    """The first place from `at` on whose node is not smaller: in strides that double, then between the last two."""
    stride = np.uint64(1)
    if at < end and nodes[at] < first:
        while at + stride < end and nodes[at + stride] < first:
            at += stride
            stride <<= np.uint64(1)
        low, high = at + np.uint64(1), min(at + stride, end)
        while low < high:
            middle = (low + high) >> np.uint64(1)
            if nodes[middle] < first:
                low = middle + np.uint64(1)
            else:
                high = middle
        at = low
    return at


@compiled
def _best(level, path, n_open, n_found, power, names, beliefs):  # noqa: C901 - hot loop
    """The best children of all; those that cannot be among them are not looked at."""
    size, most = 0, min(len(names), n_found)
    if most == 0:
        return 0
    for opened in range(n_open):
        node, belief = path.nodes[opened], path.beliefs[opened]
        first = level.child_starts[node]
        least = _least_margin(belief, beliefs[0], power) if size == most else -np.inf
        for child in range(first, level.child_starts[node + 1]):
            margin = path.margins[path.offsets[opened] + child - first]
            if margin < least:
                continue
            name = level.names[child] if len(level.names) > 0 else np.int32(child)
            score = np.float32(belief * credibility(margin, power))
            if size < most:
                names[size], beliefs[size] = name, score
                size += 1
                if size == most:
                    _heap(names, beliefs, size)
                    least = _least_margin(belief, beliefs[0], power)
            elif _stands_behind(names[0], beliefs[0], name, score):
                names[0], beliefs[0] = name, score
                _sink(names, beliefs, 0, size)
                least = _least_margin(belief, beliefs[0], power)
    for last in range(size - 1, 0, -1):
        names[0], names[last] = names[last], names[0]
        beliefs[0], beliefs[last] = beliefs[last], beliefs[0]
        _sink(names, beliefs, 0, last)
    return size


@compiled
def _heap(names, beliefs, size):
    for at in range(size // 2 - 1, -1, -1):
        _sink(names, beliefs, at, size)


@compiled
def _least_margin(belief, worst, power):
    """A margin below which belief · credibility(margin) is less than `worst`, whatever the last bits are."""
    if not (worst > 0 and worst < np.inf and belief > 0):
        return -np.inf
    if power == 0:
        share = worst / belief * (1 - SLACK)
        return -np.inf if share <= 0 else np.inf if share >= 1 else math.log(share / (1 - share)) - SLACK
    fall = math.log(belief / worst) + SLACK  # of which credibility = exp(-fall) is too small
    return np.inf if fall < 0 else 1 - fall ** (1 / power) - SLACK


SLACK = 1e-3  # a thousand times what rounding can do


@compiled
def credibility(margin, power):
    """How much a child is believed, given its parent."""
    if power == 0:
        return 1 / (1 + np.exp(-margin))
    return np.exp(-(max(0, 1 - margin) ** power))


# -- the whole way -----------------------------------------------------------------------------------------------------


@compiled
def descend(levels, walk, columns, values, path, labels, scores):
    """The best labels of one bag, best first; the rest of the row is left as it is."""
    n_open, last = 1, len(levels) - 2
    path.nodes[0], path.beliefs[0] = 0, 1
    for at in range(last):
        level = levels[at]
        width = min(walk.beam, len(level.biases))
        n_open = open_level(
            level, columns, values, path, n_open, walk.power, path.next_nodes[:width], path.next_beliefs[:width]
        )
        for place in range(n_open):
            path.nodes[place], path.beliefs[place] = path.next_nodes[place], path.next_beliefs[place]
    for place in range(n_open):
        path.beliefs[place] = path.beliefs[place] ** walk.belief_weight
    n_found = open_level(levels[last], columns, values, path, n_open, walk.power, labels, scores)
    if len(levels[last + 1].biases) > 0:
        _add(levels[last + 1], columns, values, path, walk.power, labels, scores, n_found)


@compiled
def _add(level, columns, values, path, power, labels, scores, n_found):
    """Put added labels among the best: each that has a word of the bag, as believed as in the best cluster opened."""
    belief = path.beliefs[0]
    path.nodes[0], path.order[0], path.offsets[0] = 0, 0, 0
    path.margins[: len(level.biases)] = 0
    for at in range(len(columns)):
        _add_feature(level, columns[at], values[at], path, 1)
    for child in range(len(level.biases)):
        if path.margins[child] > 0:
            score = np.float32(belief * credibility(path.margins[child] + level.biases[child], power))
            n_found = _insert(level.names[child], score, labels, scores, n_found)


@compiled
def _insert(name, score, labels, scores, n_found):
    """Put a label in its place in a row that is sorted, best first; how many labels are in it then."""
    place = min(n_found, len(labels) - 1)
    if place < 0 or (place < n_found and not _stands_behind(labels[place], scores[place], name, score)):
        return n_found
    while place > 0 and _stands_behind(labels[place - 1], scores[place - 1], name, score):
        labels[place], scores[place] = labels[place - 1], scores[place - 1]
        place -= 1
    labels[place], scores[place] = name, score
    return min(n_found + 1, len(labels))


@standalone
def rank_rows(levels, walk, features, first, last, path, labels, scores):
    """The best labels of bags `first` to `last`, starts, columns and values, into labels and scores (bags, k)."""
    starts, columns, values = features
    for row in range(first, last):
        entries = slice(starts[row], starts[row + 1])
        descend(levels, walk, columns[entries], values[entries], path, labels[row], scores[row])
    return last


@standalone
def rank_texts(
    levels, walk, reading, texts, piece_texts, given, first, last, path, lengths, labels, scores, state
):  # fmt: skip
    """The best labels of texts `first` to `last`, and how long their bags are; the row where it stopped."""
    for row in range(first, last):
        state[USED] = 0
        if not read_row(reading, texts, piece_texts, given, row, path.columns, path.values, state):
            return row
        out, used = state[SHIFT] + row - first, state[USED]
        lengths[out] = used
        if used > 0:
            descend(levels, walk, path.columns[:used], path.values[:used], path, labels[out], scores[out])
    return last


@standalone
def open_rows(level, features, nodes, beliefs, power, first, last, path, best, best_beliefs):
    """One level alone: the best children of the nodes in each document's beam (documents, width), PAD at none."""
    starts, columns, values = features
    for row in range(first, last):
        n_open = 0
        for place in range(nodes.shape[1]):
            if nodes[row, place] != PAD:
                path.nodes[n_open], path.beliefs[n_open] = nodes[row, place], beliefs[row, place]
                n_open += 1
        entries = slice(starts[row], starts[row + 1])
        open_level(level, columns[entries], values[entries], path, n_open, power, best[row], best_beliefs[row])
    return last


def path_for(levels: tuple[Level, ...], beam: int, n_features: int = 0) -> Path:
    """Room for one document at a time, with a beam of so many nodes."""
    widest, n_open = 1, max(1, beam)
    for level in levels:
        sizes = np.diff(level.child_starts)
        widest = max(widest, min(len(level.biases), n_open * int(sizes.max(initial=0))))
    columns, values = np.zeros(n_features, np.int32), np.zeros(n_features, np.float32)
    nodes, beliefs = (np.zeros((2, n_open), kind) for kind in (np.int32, np.float32))
    order, offsets = np.zeros(n_open, np.int32), np.zeros(n_open, np.int64)
    margins = np.zeros(widest, np.float32)
    return Path(margins, nodes[0], beliefs[0], nodes[1], beliefs[1], order, offsets, columns, values)
