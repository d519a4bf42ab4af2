"""Dual coordinate descent for L2-regularised squared-hinge classifiers, many labels side by side.

For each label, with y = +1 on its documents, -1 on the others that take part, and x extended by a constant,

    min over w       |w|^2 / 2 + cost * sum_i max(0, 1 - y_i w·x_i)^2

is solved in its dual (Hsieh et al., ICML 2008, Algorithm 1; LIBLINEAR's L2R_L2LOSS_SVC_DUAL),

    min over a >= 0  |w|^2 / 2 + sum_i a_i^2 / (4 cost) - sum_i a_i    where  w = sum_i a_i y_i x_i

one a_i at a time.  The labels of one cluster are trained on the same documents, so they are solved together: a
feature's weights for all labels of a block lie side by side, and one reading of a document moves all of them with
vector instructions.  Each label takes exactly the steps it would take alone.

Differs from LIBLINEAR in that nothing is shrunk: a document is settled for one label and not for its neighbour,
and passing over it for all of them at once costs less than keeping books for each.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from longtail.kernels.borders import check, check_places, check_rows
from longtail.kernels.compiled import compiled
from longtail.sparse import Rows

LANES = 8  # a block's width is a multiple of so many float32: no loop over its labels has a remainder


class Problem(NamedTuple):
    """The objective and its tolerance."""

    cost: float  # of the loss, against |w|^2 / 2
    bias: float  # value of the constant feature
    tolerance: float  # a label is settled when its projected gradients in one pass lie this close together
    max_passes: int
    seed: int  # draws the order in which documents are visited


class Block(NamedTuple):
    """Sparse weights of a few labels: those of label l stand from starts[l] to starts[l + 1]."""

    starts: np.ndarray
    features: np.ndarray
    weights: np.ndarray
    biases: np.ndarray


def train_block(
    features: Rows,
    positives: Rows,
    shortlists: Rows,
    labels: np.ndarray,
    lists: np.ndarray,
    n_features: int,
    problem: Problem,
    threshold: float,
) -> Block:
    """Classifiers of `labels`; weights smaller than `threshold` are left out.

    Row l of `positives` holds the documents of label l.  Label labels[i] is trained on the documents in row lists[i]
    of `shortlists` and on its positives; the rows of both are sorted.
    """
    n_documents = len(features[0]) - 1
    check(len(lists) == len(labels), f"{len(labels)} labels have {len(lists)} lists of documents")
    check_places(labels, len(positives[0]) - 1, "labels to train")
    check_places(lists, len(shortlists[0]) - 1, "lists of documents")
    documents, signs = _take_part(*positives[:2], *shortlists[:2], labels, lists)
    check_places(documents, n_documents, "documents to train on")
    names, *rows = _own_features(*features, documents, n_features, problem.bias)
    weights = _descend(*rows, signs, len(names) + 1, problem)
    starts, kept_features, kept = _kept(weights, names, len(labels), threshold)
    return Block(starts, kept_features, kept, weights[-1, : len(labels)] * problem.bias)


def solve(features: Rows, n_features: int, signs: np.ndarray, problem: Problem) -> tuple[np.ndarray, np.ndarray]:
    """All weights (features, labels) and biases (labels,), for documents that are +1, -1 or 0 (left out) of a label."""
    n_documents, n_labels = signs.shape
    check(n_documents == len(features[0]) - 1, f"{n_documents} rows of signs, {len(features[0]) - 1} of features")
    check_rows(features, n_features, "features of documents")
    padded = np.zeros((n_documents, _padded(n_labels)), np.int8)
    padded[:, :n_labels] = signs
    names, *rows = _own_features(*features, np.arange(n_documents, dtype=np.int32), n_features, problem.bias)
    own = _descend(*rows, padded, len(names) + 1, problem)
    weights = np.zeros((n_features, n_labels), np.float32)
    weights[names] = own[:-1, :n_labels]
    return weights, own[-1, :n_labels] * problem.bias


# -- the documents of a block ----------------------------------------------------------------------------------------


@compiled
def _padded(width):
    return (width + LANES - 1) // LANES * LANES


@compiled
def _take_part(label_starts, label_documents, list_starts, list_documents, labels, lists):
    """The documents of a block, sorted, and their sign for every label: +1 right, -1 wrong, 0 not asked."""
    parts = [label_documents[label_starts[label] : label_starts[label + 1]] for label in labels]
    for at, row in enumerate(lists):
        if at == 0 or row != lists[at - 1]:
            parts.append(list_documents[list_starts[row] : list_starts[row + 1]])
    documents = np.unique(_joined(parts))
    signs = np.zeros((len(documents), _padded(len(labels))), np.int8)
    for at, row in enumerate(lists):
        _mark(signs[:, at], -1, documents, list_documents[list_starts[row] : list_starts[row + 1]])
        _mark(signs[:, at], +1, documents, parts[at])
    return documents, signs


@compiled
def _joined(parts):
    length = 0
    for part in parts:
        length += len(part)
    joined = np.empty(length, np.int32)
    length = 0
    for part in parts:
        joined[length : length + len(part)] = part
        length += len(part)
    return joined


@compiled
def _mark(column, sign, documents, some):
    """Both lists are sorted, so one walk finds every one of `some` among `documents`."""
    at = 0
    for document in some:
        while documents[at] < document:
            at += 1
        column[at] = sign


@compiled
def _own_features(starts, columns, values, documents, n_features, bias):
    """The rows of `documents` over only the features they use, in order and closed by the constant feature.

    First the names of these features.  Few features close together fit a cache that all features do not.
    """
    own_starts = np.zeros(len(documents) + 1, np.int64)
    number = np.zeros(n_features, np.int32)
    for at, document in enumerate(documents):
        own_starts[at + 1] = own_starts[at] + starts[document + 1] - starts[document] + 1
        for j in range(starts[document], starts[document + 1]):
            number[columns[j]] = 1
    names = np.flatnonzero(number).astype(np.int32)
    for own, name in enumerate(names):
        number[name] = own
    own_columns = np.full(own_starts[-1], len(names), np.int32)
    own_values = np.full(own_starts[-1], bias, np.float32)
    for at, document in enumerate(documents):
        to = own_starts[at]
        for j in range(starts[document], starts[document + 1]):
            own_columns[to], own_values[to] = number[columns[j]], values[j]
            to += 1
    return names, own_starts, own_columns, own_values


# -- the descent -----------------------------------------------------------------------------------------------------


@compiled
def _descend(starts, columns, values, signs, n_columns, problem):
    """Weights (columns, labels) after the last pass.  Settled labels leave `signs`."""
    n_documents, width = signs.shape
    weights = np.zeros((n_columns, width), np.float32)
    alphas = np.zeros((n_documents, width), np.float32)
    softness = np.float32(0.5 / problem.cost)
    curvatures = _curvatures(starts, values, softness)
    margins, steps = np.empty(width, np.float32), np.empty(width, np.float32)
    highest, lowest = np.empty(width, np.float32), np.empty(width, np.float32)
    order = np.arange(n_documents)
    np.random.seed(problem.seed)  # numba's own generator of this thread; NumPy's is not touched
    for _ in range(problem.max_passes):
        np.random.shuffle(order)
        highest[:], lowest[:] = 0, 0
        for i in order:
            row = columns[starts[i] : starts[i + 1]]
            row_values = values[starts[i] : starts[i + 1]]
            _multiply(row, row_values, weights, margins)
            if _step(margins, signs[i], alphas[i], softness, curvatures[i], steps, highest, lowest):
                _add(row, row_values, steps, weights)
        if _settle(highest, lowest, problem.tolerance, signs):
            break
    return weights


@compiled
def _curvatures(starts, values, softness):
    """Second derivative of the dual in each a_i: |x_i|^2 + 1 / (2 cost)."""
    curvatures = np.full(len(starts) - 1, softness, np.float32)
    for i in range(len(curvatures)):
        for j in range(starts[i], starts[i + 1]):
            curvatures[i] += values[j] * values[j]
    return curvatures


@compiled(fastmath={"contract"})
def _multiply(row, values, weights, margins):
    """margins = x·w for every label.  Four features at a time, for each sum waits for the one before it."""
    margins[:] = 0
    whole = len(row) // 4 * 4
    for j in range(0, whole, 4):
        x0, x1, x2, x3 = values[j], values[j + 1], values[j + 2], values[j + 3]
        w0, w1, w2, w3 = weights[row[j]], weights[row[j + 1]], weights[row[j + 2]], weights[row[j + 3]]
        for label in range(len(margins)):
            margins[label] += (x0 * w0[label] + x1 * w1[label]) + (x2 * w2[label] + x3 * w3[label])
    for j in range(whole, len(row)):
        x0, w0 = values[j], weights[row[j]]
        for label in range(len(margins)):
            margins[label] += x0 * w0[label]


@compiled(fastmath={"contract"})
def _step(margins, signs, alphas, softness, curvature, steps, highest, lowest):
    """Newton step in a_i, cut off at 0, of every label; `steps` is the change of a_i y_i.  True if any moved."""
    zero, one = np.float32(0), np.float32(1)
    moved = False
    for label in range(len(steps)):
        y, alpha = np.float32(signs[label]), alphas[label]
        gradient = y * margins[label] - one + softness * alpha
        asked = y != zero
        # At the border a_i = 0 only a falling gradient counts.
        projected = gradient if asked and (alpha > zero or gradient < zero) else zero
        highest[label] = max(highest[label], projected)
        lowest[label] = min(lowest[label], projected)
        new = max(alpha - projected / curvature, zero)
        alphas[label] = new
        steps[label] = (new - alpha) * y
        moved |= new != alpha
    return moved


@compiled(fastmath={"contract"})
def _add(row, values, steps, weights):
    """w += step * x for every label."""
    for j in range(len(row)):
        x, w = values[j], weights[row[j]]
        for label in range(len(steps)):
            w[label] += x * steps[label]


@compiled
def _settle(highest, lowest, tolerance, signs):
    """Drop labels that have converged; True when none is left."""
    settled = 0
    for label in range(len(highest)):
        if highest[label] - lowest[label] <= tolerance:
            signs[:, label] = 0
            settled += 1
    return settled == len(highest)


# -- what is kept ----------------------------------------------------------------------------------------------------


@compiled
def _kept(weights, names, n_labels, threshold):
    """Starts, features and weights of every label's large enough weights; the constant feature's are not among them."""
    starts = np.zeros(n_labels + 1, np.int64)
    for at in range(len(names)):
        for label in range(n_labels):
            starts[label + 1] += abs(weights[at, label]) >= threshold
    starts = np.cumsum(starts)
    features, kept = np.empty(starts[-1], np.int32), np.empty(starts[-1], np.float32)
    ends = starts.copy()
    for at in range(len(names)):
        for label in range(n_labels):
            if abs(weights[at, label]) >= threshold:
                features[ends[label]], kept[ends[label]] = names[at], weights[at, label]
                ends[label] += 1
    return starts, features, kept
