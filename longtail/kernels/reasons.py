"""What explanations ask about one text and a few labels: the weights that words meet, and the ways to the labels."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from longtail.corpus import PAD
from longtail.kernels.borders import check, check_places
from longtail.kernels.compiled import compiled
from longtail.kernels.descent import Level, credibility
from longtail.kernels.located import NOT_HERE, _place, locate
from longtail.kernels.reading import USED, read_row
from longtail.kernels.standalone import standalone
from longtail.sparse import Rows, frozen

# -- trees -------------------------------------------------------------------------------------------------------------


class Ways(NamedTuple):
    """A tree, and labels behind it."""

    levels: tuple[Level, ...]  # the last one is that of labels behind the tree
    leaf_of: np.ndarray  # the leaves of labels up to the largest in the tree, PAD for none
    first: int  # labels from here on are behind the tree
    power: float


class Walked(NamedTuple):
    """What `walk_up` finds about labels."""

    leaves: np.ndarray  # (labels,) int32
    weights: np.ndarray  # (labels, tokens) float64
    biases: np.ndarray  # (labels,) float64
    nodes: np.ndarray  # (labels, levels above) int32
    beliefs: np.ndarray  # (labels, levels above) float64


@standalone
def walk_up(ways, labels, columns, values, leaves, weights, biases, nodes, beliefs):
    """What the classifiers of labels weigh the features of a bag, and the nodes above the labels with their beliefs.

    `leaves` (labels,) are the labels' nodes.  `weights` is (labels, columns or more), `biases` (labels,), 0 for a label
    without a classifier; `nodes` and `beliefs` are (labels, levels above), PAD and 1 where it hangs nowhere.
    """
    levels, first = ways.levels, ways.first
    last = len(levels) - 2
    for at in range(len(labels)):
        leaves[at], level = _classifier(levels, ways.leaf_of, first, labels[at])
        biases[at] = level.biases[leaves[at]] if leaves[at] != PAD else 0
        _begin_above(levels, leaves[at] if labels[at] < first else np.int32(PAD), nodes[at], beliefs[at])
    # Feature by feature: what is looked up for one label is near to what the next needs.
    for place in range(len(columns)):
        for at in range(len(labels)):
            level = levels[last + 1] if labels[at] >= first else levels[last]
            weights[at, place] = _weight(level, columns[place], leaves[at])
        for down in range(last):
            for at in range(len(labels)):
                beliefs[at, down] += _weight(levels[down], columns[place], nodes[at, down]) * values[place]
    for at in range(len(labels)):
        belief = 1.0
        for down in range(last):
            belief *= credibility(beliefs[at, down], ways.power) if nodes[at, down] != PAD else 1.0
            beliefs[at, down] = belief
    return 0


@compiled
def _begin_above(levels, node, nodes, margins):
    """The nodes above a leaf, and their biases, with which margins begin."""
    for up in range(len(nodes) - 1, -1, -1):
        node = _parent(levels[up + 1].child_starts, node) if node != PAD else np.int32(PAD)
        nodes[up], margins[up] = node, levels[up].biases[node] if node != PAD else 0


@standalone
def explain_text(ways, reading, texts, given, sizes, columns, values, state, labels, room, found, spread, logits):
    """One text and sizes[2] labels: its bag, where its words stand, `walk_up`, and what words add to the logits.

    Arrays have room for more.  Returns NOT_HERE for a text that is to be read otherwise.
    """
    state[USED] = 0
    if not read_row(reading, texts, texts, given, 0, columns, values, state):
        return NOT_HERE
    sizes[1] = state[USED]
    if locate(reading, texts.data, sizes, columns, found) != 0:
        return NOT_HERE
    tokens, words, asked = sizes[1], found.counts[1], labels[: sizes[2]]
    bag = columns[:tokens], values[:tokens]
    walk_up(ways, asked, *bag, room.leaves, room.weights, room.biases, room.nodes, room.beliefs)
    for at in range(len(asked) * words):
        spread[at] = 0
    for label in range(len(asked)):
        logits[label] = room.biases[label]
        for token in range(tokens):
            room.weights[label, token] *= values[token]
            logits[label] += room.weights[label, token]
        for at in range(found.counts[0]):
            spread[label * words + found.words[at]] += room.weights[label, found.tokens[at]] * found.shares[at]
    return 0


@compiled
def _classifier(levels, leaf_of, first, label):
    """The node that is a label, PAD for none, and its level."""
    if label >= first:
        level = levels[len(levels) - 1]
        return np.int32(label - first if label - first < len(level.biases) else PAD), level
    return leaf_of[label] if label < len(leaf_of) else np.int32(PAD), levels[len(levels) - 2]


@compiled
def _weight(level, column, node):
    """The weight of a node for a feature; 0 at PAD."""
    low, end = level.starts[column], level.starts[column + 1]
    high = end if node != PAD else low
    while low < high:
        middle = (low + high) >> 1
        if level.nodes[middle] < node:
            low = middle + 1
        else:
            high = middle
    return np.float64(level.weights[low]) if low < end and level.nodes[low] == node else 0.0


@compiled
def _parent(starts, node):
    """The node whose children, starts[p] to starts[p + 1], have this one among them."""
    low, high = 0, len(starts)
    while low < high:
        middle = (low + high) >> 1
        if starts[middle] <= node:
            low = middle + 1
        else:
            high = middle
    return np.int32(low - 1)


# -- sparse rows -------------------------------------------------------------------------------------------------------


def weights_of(matrix: Rows, labels: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """What rows of a sparse matrix have in some columns, which rise: (labels, columns) float64."""
    starts, features, weights = matrix
    check(len(features) == len(weights) == starts[-1], f"{len(features)} columns and {len(weights)} weights")
    check_places(labels, len(starts) - 1, "labels")
    found = np.zeros((len(labels), len(columns)))
    _weights_of(starts, features, weights, frozen(labels, np.int32), frozen(columns, np.int32), found)
    return found


@standalone
def _weights_of(starts, features, weights, labels, columns, found):
    for at in range(len(labels)):
        for entry in range(starts[labels[at]], starts[labels[at] + 1]):
            place = _place(columns, features[entry])
            if place >= 0:
                found[at, place] = weights[entry]
    return 0
