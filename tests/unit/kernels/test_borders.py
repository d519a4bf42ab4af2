"""Every kernel on input that is empty, degenerate or wrong: a right answer or a sentence, never memory of others."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from longtail import kernels
from longtail.corpus import PAD
from longtail.features.bagging import NOT_GIVEN, Bagging
from longtail.kernels import bags
from longtail.kernels.bag import Encoding, bag_gradients, bag_sums
from longtail.kernels.candidates import top_of_candidates
from longtail.kernels.cosines import cosines
from longtail.kernels.descent import Level, Walk, open_rows, path_for, rank_rows, rank_texts
from longtail.kernels.dropout import dropped
from longtail.kernels.dual import Problem, solve, train_block
from longtail.kernels.entries import entries
from longtail.kernels.fusion import fused_top, weighed_top
from longtail.kernels.gates import mixed, mixed_gradients
from longtail.kernels.graph_search import Links, walk
from longtail.kernels.halves import LEFT, NEITHER, RIGHT, halved, upper_half
from longtail.kernels.hits import NOWHERE, SOUND, find_places
from longtail.kernels.label_rows import likeliest, likeliest_for_many, shortlist_gradients, shortlist_logits
from longtail.kernels.label_search import beginning, containing, heads, signatures
from longtail.kernels.logistic import logistic
from longtail.kernels.nearest import nearest
from longtail.kernels.opening import likeliest_in_levels
from longtail.kernels.paths import best_labels, log_belief_gradients, log_beliefs, nowhere, opened, paths_to
from longtail.kernels.reading import STATE, fill_trie, read_rows
from longtail.kernels.reasons import weights_of
from longtail.kernels.row_adam import move_rows
from longtail.kernels.score_tree import shares_at_leaves
from longtail.kernels.sparse_scores import open_nodes, score_candidates
from longtail.kernels.tables import Members, Table, likeliest_of, own_products, rank_members
from longtail.kernels.terms import count_pairs, count_tokens, find_slots
from longtail.kernels.top import top_of_rows
from longtail.kernels.words import (
    CODE_POINTS,
    FREE,
    UNKNOWN,
    empty_table,
    enter_pairs,
    enter_terms,
    fill_slots,
    number_words,
    spell_words,
    with_room,
)
from longtail.sparse import Rows, rows_of


def in_eight_bits(rows: Rows) -> Rows:
    return rows[0], rows[1], rows[2].astype(np.uint8)


def floats(*shape: int) -> np.ndarray:
    return np.zeros(shape, np.float32)


def ones(*shape: int) -> np.ndarray:
    return np.ones(shape, np.float32)


def table(rows: int, dim: int) -> Table:
    return Table(ones(rows, dim), ones(rows))


def ints(*rows: Any) -> np.ndarray:
    return np.array(rows, np.int32)


def pads(*shape: int) -> np.ndarray:
    return np.full(shape, PAD, np.int32)


def no_ints(*shape: int) -> np.ndarray:
    return np.zeros(shape, np.int32)


ONE_RUN = Members(np.array([0, 3]), ints(0, 1, 2))  # three labels in one cluster


def sparse(*shape: int) -> Rows:
    return rows_of(sp.csr_array(shape, dtype=np.float32))


def one_entry(column: int) -> Rows:
    """A row with a single entry, which may name any column."""
    return np.array([0, 1]), ints(column), ones(1)


def moved(*table: int, rows: np.ndarray, step: int = 1) -> np.ndarray:
    table_ = floats(*table)
    move_rows(table_, (floats(*table), floats(*table)), rows, ones(len(rows), table[1]), step, 0.1)
    return table_


def counted(kernel: Callable[..., Any], ids: np.ndarray, offsets: np.ndarray, *tables: np.ndarray) -> list:
    kernel(ids, offsets, 0, *tables)
    return tables[-1].tolist()


PROBLEM = Problem(cost=1.0, bias=1.0, tolerance=0.1, max_passes=5, seed=0)
LOWERS = np.zeros(CODE_POINTS, np.int32)
BYTES = np.zeros(0, np.uint8)
NO_TERMS = bags.Terms(np.zeros(0, np.int32), np.zeros(0, np.int64), np.zeros(0, np.int32), np.zeros(0, np.float32), 0)
READING = Bagging(None, None).reading
NO_TEXTS = bags.Texts(BYTES, *[np.zeros(0, np.int64)] * 2), bags.Texts(BYTES, *[np.zeros(0, np.int64)] * 2), NOT_GIVEN
ONE_TEXT = bags.Texts(BYTES, *[np.zeros(1, np.int64)] * 2), bags.Texts(BYTES, *[np.zeros(1, np.int64)] * 2), NOT_GIVEN
OUT = np.zeros(2, np.int64), np.zeros(0, np.int32), np.zeros(0, np.float32), np.zeros(STATE, np.int64)
TREE_LEVELS = (
    Level(np.zeros(2, np.int64), *OUT[1:3], np.zeros(1, np.float32), np.array([0, 1]), np.zeros(1, np.int32)),
    Level(np.zeros(2, np.int64), *OUT[1:3], np.zeros(0, np.float32), np.array([0, 0]), np.zeros(0, np.int32)),
)
WALK, PATH = Walk(1, 3.0, 1.0), path_for(TREE_LEVELS, 1, 1)
ANSWERS = np.zeros(1, np.int64), np.zeros((1, 2), np.int32), np.zeros((1, 2), np.float32), np.zeros(STATE, np.int64)
OFFSETS = np.zeros(1, np.int64)
NO_PAIRS, COUNTS = np.zeros(0, np.int64), np.zeros((0, 3), np.int64)
# Three nodes, each linked to the next; a graph of one level, as faiss lays it out.
LINKS, STARTS, LEVELS = ints(1, PAD, 2, PAD, 0, PAD), np.array([0, 2, 4, 6]), np.array([0, 2])
GRAPH = Links(LINKS, STARTS, LEVELS, 0, 0)
NO_GRAPH = no_ints(0), np.zeros(1, np.int64), np.array([0, 2])
TREE = np.array([0, 2, 2])  # a node with two children and one without


# What a kernel answers where there is nothing, or too little, to work on.
NO_BYTES, WORD_A = np.zeros(0, np.uint8), np.frombuffer(b"a", np.uint8)
NO_NAMES = NO_BYTES, np.zeros(1, np.int64)
LEAF = ints(-1), np.zeros(1), ints(0), ints(0), ones(1)  # a tree that asks nothing

DEGENERATE: dict[str, tuple[Callable[[], Any], Any]] = {
    "heads: no names": (lambda: heads(*NO_NAMES), np.zeros(0, np.uint64)),
    "heads: an empty name": (lambda: heads(NO_BYTES, np.zeros(2, np.int64)), np.zeros(1, np.uint64)),
    "signatures: no names": (lambda: signatures(*NO_NAMES), np.zeros((4, 0), np.uint64)),
    "beginning: no names": (
        lambda: beginning(*NO_NAMES, np.zeros(0, np.uint64), WORD_A, 3), (np.zeros(0, np.int64), 0),
    ),
    "containing: no names": (
        lambda: containing(*NO_NAMES, np.zeros((4, 0), np.uint64), WORD_A, 3, 9), (np.zeros(0, np.int64), 0),
    ),
    "top_of_candidates: no rows": (
        lambda: top_of_candidates(no_ints(0, 2), floats(0, 2), 3), (no_ints(0, 3), floats(0, 3)),
    ),
    "top_of_candidates: no candidates": (
        lambda: top_of_candidates(no_ints(1, 0), floats(1, 0), 1), (ints([-1]), floats(1, 1)),
    ),
    "shares_at_leaves: no labels": (lambda: shares_at_leaves(*LEAF, 0, floats(3, 0)), floats(0)),
    "bag_sums: no bags": (lambda: bag_sums(sparse(0, 3), floats(3, 2)), floats(0, 2)),
    "bag_sums: no tokens": (lambda: bag_sums(sparse(2, 0), floats(0, 2)), floats(2, 2)),
    "bag_sums: vectors of no numbers": (lambda: bag_sums(one_entry(0), floats(1, 0)), floats(1, 0)),
    "bag_gradients: no bags": (lambda: bag_gradients(sparse(0, 3), floats(0, 2)), (no_ints(0), floats(0, 2))),
    "bag_gradients: empty bags": (lambda: bag_gradients(sparse(2, 3), ones(2, 2)), (no_ints(0), floats(0, 2))),
    "entries: no rows": (lambda: entries(sparse(2, 3), no_ints(0), ints(1)), floats(0, 1)),
    "entries: no columns": (lambda: entries(sparse(2, 3), ints(1), no_ints(0)), floats(1, 0)),
    "entries: nothing there": (lambda: entries(sparse(2, 3), ints(0, 1), ints(2)), floats(2, 1)),
    "weights_of: no labels": (lambda: weights_of(sparse(2, 3), no_ints(0), ints(1)), floats(0, 1)),
    "weights_of: no columns": (lambda: weights_of(sparse(2, 3), ints(1), no_ints(0)), floats(1, 0)),
    "weights_of: nothing there": (lambda: weights_of(sparse(2, 3), ints(0, 1), ints(2)), floats(2, 1)),
    "paths_to: no labels": (lambda: paths_to(pads(2, 1), floats(2, 1), ints(0), ones(1), no_ints(0), 3)[0], pads(0, 3)),
    "paths_to: no clusters": (lambda: paths_to(pads(2, 1), ones(2, 1), no_ints(0), ones(0), ints(1), 3)[0], pads(1, 3)),
    "paths_to: no edges": (lambda: paths_to(pads(2, 0), floats(2, 0), ints(0), ones(1), ints(1), 3)[0], pads(1, 3)),
    "paths_to: none wanted": (lambda: paths_to(ints([1]), ones(1, 1), ints(0), ones(1), ints(1), 0)[0], pads(1, 0)),
    "cosines: no documents": (lambda: cosines(in_eight_bits(sparse(2, 3)), no_ints(0), ints(1), ones(1)), floats(0)),
    "cosines: no words": (lambda: cosines(in_eight_bits(sparse(2, 3)), ints(0, 1), no_ints(0), ones(0)), floats(2)),
    "dropped: nothing": (lambda: dropped(floats(0, 4), 0.5, 1), floats(0, 4)),
    "dropped: none": (lambda: dropped(ones(2, 2), 0.0, 1), ones(2, 2)),
    "solve: no documents": (
        lambda: solve(sparse(0, 3), 3, np.zeros((0, 2), np.int8), PROBLEM), (floats(3, 2), floats(2))
    ),
    "solve: no labels": (lambda: solve(sparse(2, 3), 3, np.zeros((2, 0), np.int8), PROBLEM), (floats(3, 0), floats(0))),
    "solve: documents that take no part": (
        lambda: solve(one_entry(0), 3, np.zeros((1, 2), np.int8), PROBLEM), (floats(3, 2), floats(2))
    ),
    "train_block: no documents": (
        lambda: train_block(sparse(0, 3), sparse(2, 0), sparse(1, 0), ints(0, 1), ints(0, 0), 3, PROBLEM, 0.1),
        (np.zeros(3, np.int64), no_ints(0), floats(0), floats(2)),
    ),
    "train_block: no features": (
        lambda: train_block(sparse(2, 0), sparse(1, 2), sparse(1, 2), ints(0), ints(0), 0, PROBLEM, 0.1),
        (np.zeros(2, np.int64), no_ints(0), floats(0), floats(1)),
    ),
    "weighed_top: shortlists of PAD": (
        lambda: weighed_top(table(3, 2), ones(1, 2), pads(1, 4), floats(1, 4), 2),
        (pads(1, 2), floats(1, 2)),
    ),
    "fused_top: no documents": (
        lambda: fused_top(table(3, 2), floats(0, 2), no_ints(0, 4), floats(0, 4), 0.5, 2),
        (no_ints(0, 2), floats(0, 2)),
    ),
    "fused_top: empty shortlists": (
        lambda: fused_top(table(3, 2), ones(1, 2), no_ints(1, 0), floats(1, 0), 0.5, 2),
        (pads(1, 2), floats(1, 2)),
    ),
    "fused_top: shortlists of PAD": (
        lambda: fused_top(table(3, 2), ones(1, 2), pads(1, 4), floats(1, 4), 0.5, 2), (pads(1, 2), floats(1, 2))
    ),
    "fused_top: no labels": (
        lambda: fused_top(table(0, 2), ones(1, 2), pads(1, 4), floats(1, 4), 0.5, 2), (pads(1, 2), floats(1, 2))
    ),
    "fused_top: k of 0": (
        lambda: fused_top(table(3, 2), ones(1, 2), ints([0, 1]), ones(1, 2), 0.5, 0),
        (no_ints(1, 0), floats(1, 0)),
    ),
    "logistic: no rows": (lambda: logistic(floats(0, 2), ones(2), floats(0, 2)), (0.0, floats(0, 2), floats(2))),
    "logistic: no columns": (lambda: logistic(floats(2, 0), floats(0), floats(2, 0)), (0.0, floats(2, 0), floats(0))),
    "mixed: no rows": (lambda: mixed(floats(0, 2), floats(0, 2), ones(2), ones(2)), floats(0, 2)),
    "mixed_gradients: no rows": (
        lambda: mixed_gradients(floats(0, 2), floats(0, 2), floats(0, 2), ones(2), ones(2)),
        (floats(0, 2), floats(0, 2), floats(2), floats(2)),
    ),
    "walk: a graph without nodes, which is entered at -1": (
        lambda: walk(table(0, 2), Links(*NO_GRAPH, entry=-1, top=-1), ones(3, 2), k=4), (pads(3, 4), floats(3, 4))
    ),
    "walk: no documents": (
        lambda: walk(table(3, 2), GRAPH, floats(0, 2), 2), (no_ints(0, 2), floats(0, 2))
    ),
    "walk: k of 0": (
        lambda: walk(table(3, 2), GRAPH, ones(2, 2), 0), (no_ints(2, 0), floats(2, 0))
    ),
    "walk: more wanted than there are nodes, all equally near": (
        lambda: walk(table(3, 2), Links(LINKS, STARTS, LEVELS, 1, 0), floats(1, 2), 5),
        (ints([0, 1, 2, PAD, PAD]), np.array([[0.5, 0.5, 0.5, 0, 0]], np.float32)),
    ),
    "halved: no members": (lambda: halved(sparse(2, 3), no_ints(0), np.zeros(0, np.int8), floats(3, 2)), no_ints(0)),
    "halved: one member": (lambda: halved(ones(2, 3), ints(1), np.array([NEITHER], np.int8), floats(3, 2)), ints(LEFT)),
    "halved: points of no dimensions": (
        lambda: halved(ones(2, 0), ints(0, 1), np.array([LEFT, RIGHT], np.int8), floats(0, 2)), ints(LEFT, RIGHT)
    ),
    "upper_half: no scores": (lambda: upper_half(np.zeros(0)), no_ints(0)),
    "upper_half: one score": (lambda: upper_half(np.ones(1)), ints(LEFT)),
    "find_places: no documents": (
        lambda: find_places(no_ints(0, 3), sp.csr_array((0, 4)), sp.csr_array((0, 4))), (no_ints(0), SOUND)
    ),
    "find_places: rankings of no labels": (
        lambda: find_places(no_ints(1, 0), sp.csr_array([[0, 1]]), sp.csr_array((1, 2))), (ints(NOWHERE), SOUND)
    ),
    "find_places: no labels at all": (
        lambda: find_places(pads(2, 3), sp.csr_array((2, 0)), sp.csr_array((2, 0))), (no_ints(0), SOUND)
    ),
    "shortlist_logits: no rows": (lambda: shortlist_logits(ones(2, 3), ones(0, 3), pads(2, 4)), floats(2, 4)),
    "shortlist_logits: empty shortlists": (
        lambda: shortlist_logits(ones(2, 3), ones(4, 3), no_ints(2, 0)), floats(2, 0)
    ),
    "shortlist_gradients: no rows": (
        lambda: shortlist_gradients(ones(2, 3), ones(0, 3), pads(2, 4), ones(2, 4)), (floats(2, 3), floats(0, 3))
    ),
    "likeliest_of: no documents": (
        lambda: likeliest_of(table(5, 3), floats(0, 3), 2), (no_ints(0, 2), floats(0, 2))
    ),
    "likeliest: no rows": (lambda: likeliest(ones(2, 3), ones(0, 3), ones(0), 4), (pads(2, 4), floats(2, 4))),
    "likeliest: k of 0": (lambda: likeliest(ones(2, 3), ones(5, 3), ones(5), 0), (no_ints(2, 0), floats(2, 0))),
    "likeliest: more wanted than there are": (
        lambda: likeliest(floats(1, 3), ones(2, 3), floats(2), 3),
        (ints([0, 1, PAD]), np.array([[0.5, 0.5, 0]], np.float32)),
    ),
    "likeliest_for_many: no rows": (lambda: likeliest_for_many(ones(2, 3), ones(0, 3), ones(0), 4), pads(2, 4)),
    "likeliest_for_many: k of 0": (lambda: likeliest_for_many(ones(2, 3), ones(5, 3), ones(5), 0), no_ints(2, 0)),
    "own_products: no documents": (lambda: own_products(table(3, 2), floats(0, 2), no_ints(0, 4)), floats(0, 4)),
    "own_products: rows of PAD": (lambda: own_products(table(3, 2), ones(1, 2), pads(1, 4)), floats(1, 4)),
    "likeliest_in_levels: no cluster opened": (
        lambda: likeliest_in_levels(table(3, 2), table(1, 2), ONE_RUN, ones(1, 2), 0, 2), (pads(1, 2), floats(1, 2))
    ),
    "likeliest_in_levels: k of 0": (
        lambda: likeliest_in_levels(table(3, 2), table(1, 2), ONE_RUN, ones(1, 2), 1, 0),
        (no_ints(1, 0), floats(1, 0)),
    ),
    "likeliest_in_levels: an empty cluster": (
        lambda: likeliest_in_levels(
            table(0, 2), table(1, 2), Members(np.zeros(2, np.int64), no_ints(0)), ones(1, 2), 1, 2
        ),
        (pads(1, 2), floats(1, 2)),
    ),
    "rank_members: clusters without labels": (
        lambda: rank_members(
            table(0, 2), Members(np.zeros(3, np.int64), no_ints(0)), ones(1, 2), ints([0, 1]), ones(1, 2), 2
        ),
        (pads(1, 2), floats(1, 2)),
    ),
    "rank_members: no cluster opened": (
        lambda: rank_members(
            table(2, 2), Members(np.array([0, 2]), ints(0, 1)), ones(1, 2), pads(1, 3), floats(1, 3), 2
        ),
        (pads(1, 2), floats(1, 2)),
    ),
    "rank_members: no clusters": (
        lambda: rank_members(table(0, 2), Members(OFFSETS, no_ints(0)), ones(1, 2), no_ints(1, 0), floats(1, 0), 2),
        (pads(1, 2), floats(1, 2)),
    ),
    "nearest: no documents": (lambda: nearest(sparse(0, 3), sparse(3, 4), 4, 2), (no_ints(0, 2), floats(0, 2))),
    "nearest: no labels": (lambda: nearest(one_entry(0), sparse(3, 0), 0, 2), (pads(1, 2), floats(1, 2))),
    "nearest: no features": (lambda: nearest(sparse(2, 0), sparse(0, 4), 4, 2), (pads(2, 2), floats(2, 2))),
    "nearest: k of 0": (lambda: nearest(one_entry(0), one_entry(0), 1, 0), (no_ints(1, 0), floats(1, 0))),
    "opened: no clusters": (lambda: opened(table(0, 3), ones(2, 3), 10.0, 4), (pads(2, 4), floats(2, 4))),
    "opened: a beam of 0": (lambda: opened(table(5, 3), ones(2, 3), 10.0, 0), (no_ints(2, 0), floats(2, 0))),
    "opened: a wider beam than there are clusters": (
        lambda: opened(table(2, 3), floats(1, 3), 1.0, 3),
        (ints([0, 1, PAD]), np.array([[0.5, 0.5, 0]], np.float32)),
    ),
    "nowhere: no labels": (lambda: nowhere(0), no_ints(0)),
    "best_labels: no clusters": (
        lambda: best_labels(pads(2, 3), floats(2, 3), no_ints(0, 4), floats(0, 4), 5, 2), (pads(2, 2), floats(2, 2))
    ),
    "best_labels: clusters that lead nowhere": (
        lambda: best_labels(ints([0, 1]), ones(1, 2), pads(2, 4), floats(2, 4), 5, 2), (pads(1, 2), floats(1, 2))
    ),
    "best_labels: clusters without edges": (
        lambda: best_labels(ints([0, 1]), ones(1, 2), no_ints(2, 0), floats(2, 0), 0, 2), (pads(1, 2), floats(1, 2))
    ),
    "best_labels: k of 0": (
        lambda: best_labels(ints([0]), ones(1, 1), ints([3]), ones(1, 1), 5, 0), (no_ints(1, 0), floats(1, 0))
    ),
    "log_beliefs: nothing wanted": (
        lambda: log_beliefs(no_ints(1, 0), ints([0]), ones(1, 1), ints([3]), ones(1, 1), 5, True), floats(1, 0)
    ),
    "log_beliefs: no clusters": (
        lambda: log_beliefs(ints([2]), pads(1, 3), floats(1, 3), no_ints(0, 4), floats(0, 4), 5, True),
        np.full((1, 1), -np.inf, np.float32),
    ),
    "log_belief_gradients: nothing wanted": (
        lambda: log_belief_gradients(
            floats(1, 0), floats(1, 0), no_ints(1, 0), ints([0]), ones(1, 1), ints([3]), ones(1, 1), 5, False
        ),
        (floats(1, 1), floats(1, 1)),
    ),
    "log_belief_gradients: no documents": (
        lambda: log_belief_gradients(
            floats(0, 2), floats(0, 2), no_ints(0, 2), no_ints(0, 3), floats(0, 3), ints([3]), ones(1, 1), 5, True
        ),
        (floats(0, 3), floats(1, 1)),
    ),
    "move_rows: no rows": (lambda: moved(3, 2, rows=no_ints(0)), floats(3, 2)),
    "move_rows: an empty table": (lambda: moved(0, 2, rows=no_ints(0)), floats(0, 2)),
    "score_candidates: no documents": (
        lambda: score_candidates(sparse(0, 3), sparse(2, 3), ones(2), no_ints(0, 4), 3), floats(0, 4)
    ),
    "score_candidates: no labels": (
        lambda: score_candidates(one_entry(0), sparse(0, 3), ones(0), pads(1, 4), 3), floats(1, 4)
    ),
    "score_candidates: no candidates": (
        lambda: score_candidates(one_entry(0), sparse(2, 3), ones(2), no_ints(1, 0), 3), floats(1, 0)
    ),
    "open_nodes: an empty beam": (
        lambda: open_nodes(one_entry(0), sparse(3, 2), ones(2), TREE, ints(7, 8), (pads(1, 2), floats(1, 2)), 3, 3.0),
        (pads(1, 3), floats(1, 3)),
    ),
    "open_nodes: a node without children": (
        lambda: open_nodes(one_entry(0), sparse(3, 2), ones(2), TREE, ints(7, 8), (ints([1]), ones(1, 1)), 3, 3.0),
        (pads(1, 3), floats(1, 3)),
    ),
    "open_nodes: no nodes at all": (
        lambda: open_nodes(
            one_entry(0), sparse(3, 0), ones(0), OFFSETS, no_ints(0), (pads(1, 2), floats(1, 2)), 3, 3.0
        ),
        (pads(1, 3), floats(1, 3)),
    ),
    "open_nodes: k of 0": (
        lambda: open_nodes(one_entry(0), sparse(3, 2), ones(2), TREE, ints(7, 8), (ints([0]), ones(1, 1)), 0, 3.0),
        (no_ints(1, 0), floats(1, 0)),
    ),
    "open_nodes: a document without features": (
        lambda: open_nodes(sparse(1, 3), sparse(3, 2), ones(2), TREE, ints(7, 8), (ints([0]), ones(1, 1)), 2, 3.0),
        (ints([7, 8]), ones(1, 2)),
    ),
    "top_of_rows: no columns": (lambda: top_of_rows(sparse(2, 0), 3), (pads(2, 3), floats(2, 3))),
    "top_of_rows: k of 0": (lambda: top_of_rows(one_entry(4), 0), (no_ints(1, 0), floats(1, 0))),
    "count_tokens: no rows": (lambda: counted(count_tokens, no_ints(0), OFFSETS, COUNTS.copy()), []),
    "count_tokens: unknown tokens": (
        lambda: counted(count_tokens, ints(UNKNOWN), np.array([0, 1]), np.zeros((1, 3), np.int64)), [[0, 0, 0]]
    ),
    "count_pairs: no rows": (
        lambda: counted(count_pairs, no_ints(0), OFFSETS, NO_PAIRS.copy(), COUNTS.copy()), []
    ),
    "enter_pairs: no pairs": (lambda: enter_pairs(NO_PAIRS, no_ints(0), NO_PAIRS.copy(), no_ints(0)), 0),
    "enter_terms: no terms": (
        lambda: enter_terms(BYTES, NO_PAIRS, NO_PAIRS, NO_PAIRS, empty_table(), BYTES, *NO_TERMS[:3]), 0
    ),
    "fill_trie: no pieces": (lambda: fill_trie(BYTES, *[NO_PAIRS] * 3, np.zeros(1, np.uint64), no_ints(2)), 2),
    "read_rows: no texts": (lambda: read_rows(READING, *NO_TEXTS, 0, 0, *OUT), 0),
    "read_rows: an empty text and no vocabulary": (lambda: read_rows(READING, *ONE_TEXT, 0, 1, *OUT), 1),
    "rank_texts: no texts": (lambda: rank_texts(TREE_LEVELS, WALK, READING, *NO_TEXTS, 0, 0, PATH, *ANSWERS), 0),
    "rank_texts: an empty text": (lambda: rank_texts(TREE_LEVELS, WALK, READING, *ONE_TEXT, 0, 1, PATH, *ANSWERS), 1),
    "rank_rows: no documents": (lambda: rank_rows(TREE_LEVELS, WALK, sparse(0, 1), 0, 0, PATH, *ANSWERS[1:3]), 0),
    "open_rows: no documents": (
        lambda: open_rows(TREE_LEVELS[0], sparse(0, 1), no_ints(0, 1), floats(0, 1), 3.0, 0, 0, PATH, *ANSWERS[1:3]), 0
    ),
    "path_for: no levels": (lambda: path_for((), 0).margins, floats(1)),
    "find_slots: no pairs": (lambda: find_slots(NO_PAIRS.copy(), NO_PAIRS), NO_PAIRS),
    "spell_words: no texts": (
        lambda: spell_words(np.zeros(0, np.uint8), NO_PAIRS, NO_PAIRS, LOWERS),
        (np.zeros(0, np.uint64), OFFSETS, OFFSETS, True),
    ),
    "spell_words: empty texts": (
        lambda: spell_words(np.zeros(0, np.uint8), np.zeros(2, np.int64), np.zeros(2, np.int64), LOWERS),
        (np.zeros(0, np.uint64), OFFSETS, np.zeros(3, np.int64), True),
    ),
    "empty_table: no words": (lambda: empty_table().size.tolist(), [0]),
    "with_room: for nothing": (lambda: with_room(empty_table(), 0, 0).size.tolist(), [0]),
    "number_words: no words": (lambda: number_words(np.zeros(0, np.uint64), OFFSETS, empty_table(), True), no_ints(0)),
    "number_words: words of an empty table": (
        lambda: number_words(np.ones(1, np.uint64), np.array([0, 1]), empty_table(), False), ints(UNKNOWN)
    ),
    "fill_slots: no words": (lambda: fill_slots(np.zeros(2, np.uint64), OFFSETS, np.zeros(0, np.uint64), 0), None),
}  # fmt: skip


def parts(value: Any) -> list[Any]:
    return list(value) if isinstance(value, tuple) else [value]


@pytest.mark.parametrize("case", DEGENERATE)
def test_there_is_an_answer_where_there_is_nothing_to_work_on(case: str):
    call, expected = DEGENERATE[case]
    for answer, right in zip(parts(call()), parts(expected), strict=True):
        assert np.shape(answer) == np.shape(right)
        np.testing.assert_array_equal(answer, right)


# What compiled loops must never see.
WRONG: dict[str, Callable[[], Any]] = {
    "heads: names behind the bytes": lambda: heads(NO_BYTES, np.array([0, 1])),
    "signatures: names that overlap": lambda: signatures(WORD_A, np.array([0, 1, 0, 1])),
    "beginning: fewer heads than names": lambda: beginning(WORD_A, np.array([0, 1]), np.zeros(0, np.uint64), WORD_A, 3),
    "beginning: names behind the bytes": lambda: beginning(
        NO_BYTES, np.array([0, 1]), np.zeros(1, np.uint64), WORD_A, 3
    ),
    "containing: fewer signatures than names": lambda: containing(
        WORD_A, np.array([0, 1]), np.zeros((4, 0), np.uint64), WORD_A, 3, 9
    ),
    "containing: names behind the bytes": lambda: containing(
        NO_BYTES, np.array([0, 1]), np.zeros((4, 1), np.uint64), WORD_A, 3, 9
    ),
    "top_of_candidates: fewer scores than labels": lambda: top_of_candidates(ints([0, 1]), floats(1, 1), 1),
    "shares_at_leaves: a number that is not given": lambda: shares_at_leaves(ints(3), *LEAF[1:], 0, floats(3, 1)),
    "bag_sums: a token without a vector": lambda: bag_sums(one_entry(3), floats(3, 2)),
    "bag_sums: a negative token": lambda: bag_sums(one_entry(-1), floats(3, 2)),
    "bag_sums: rows beyond their entries": lambda: bag_sums((np.array([0, 2]), ints(0), ones(1)), floats(3, 2)),
    "bag_sums: rows before their entries": lambda: bag_sums((np.array([-1, 1]), ints(0), ones(1)), floats(3, 2)),
    "bag_sums: entries without weights": lambda: bag_sums((np.array([0, 1]), ints(0), ones(0)), floats(3, 2)),
    "bag_gradients: a negative token": lambda: bag_gradients(one_entry(-1), floats(1, 2)),
    "bag_gradients: fewer gradients than bags": lambda: bag_gradients(one_entry(0), floats(0, 2)),
    "Encoding: vectors of another length": lambda: Encoding(ones(1, 3), ones(2, 2), ones(2)),
    "Encoding: a token without a vector": lambda: Encoding(ones(3, 2), ones(2, 2), ones(2))(one_entry(3)),
    "Encoding: a negative token": lambda: Encoding(ones(3, 2), ones(2, 2), ones(2))(one_entry(-1)),
    "Encoding: rows beyond their entries": lambda: Encoding(ones(3, 2), ones(2, 2), ones(2))(
        (np.array([0, 2]), ints(0), ones(1))
    ),
    "own_products: a row that does not exist": lambda: own_products(table(3, 2), ones(1, 2), ints([3])),
    "rank_members: a cluster opened twice": lambda: rank_members(
        table(2, 2), Members(np.array([0, 2]), ints(0, 1)), ones(1, 2), ints([0, 0]), ones(1, 2), 2
    ),
    "dropped: all": lambda: dropped(ones(2), 1.0, 0),
    "solve: fewer signs than documents": lambda: solve(sparse(2, 3), 3, np.zeros((1, 2), np.int8), PROBLEM),
    "train_block: a label that does not exist": lambda: train_block(
        sparse(2, 3), sparse(1, 2), sparse(1, 2), ints(1), ints(0), 3, PROBLEM, 0.1
    ),
    "train_block: a list that does not exist": lambda: train_block(
        sparse(2, 3), sparse(1, 2), sparse(1, 2), ints(0), ints(1), 3, PROBLEM, 0.1
    ),
    "train_block: a document that does not exist": lambda: train_block(
        sparse(2, 3), one_entry(2), sparse(1, 2), ints(0), ints(0), 3, PROBLEM, 0.1
    ),
    "fused_top: a label without a classifier": lambda: fused_top(
        table(3, 2), ones(1, 2), ints([3]), ones(1, 1), 0.5, 1
    ),
    "logistic: fewer biases than columns": lambda: logistic(ones(2, 3), ones(2), ones(2, 3)),
    "logistic: fewer targets than logits": lambda: logistic(ones(2, 3), ones(3), ones(1, 3)),
    "logistic: logits of an unknown kind": lambda: logistic(np.ones((2, 3)), ones(3), ones(2, 3)),
    "mixed: rows of different lengths": lambda: mixed(ones(2, 3), ones(2, 2), ones(3), ones(3)),
    "mixed_gradients: fewer gradients than rows": lambda: mixed_gradients(
        ones(1, 3), ones(2, 3), ones(2, 3), ones(3), ones(3)
    ),
    "walk: entered at a node that does not exist": lambda: walk(
        table(3, 2), Links(LINKS, STARTS, LEVELS, 3, 0), ones(1, 2), 1
    ),
    "walk: entered at -1": lambda: walk(table(3, 2), Links(LINKS, STARTS, LEVELS, -1, 0), ones(1, 2), 1),
    "walk: a level that does not exist": lambda: walk(table(3, 2), Links(LINKS, STARTS, LEVELS, 0, 1), ones(1, 2), 1),
    "walk: more nodes than rows": lambda: walk(table(2, 2), GRAPH, ones(1, 2), 1),
    "halved: a member that does not exist": lambda: halved(
        ones(2, 3), ints(0, 2), np.array([LEFT, RIGHT], np.int8), floats(3, 2)
    ),
    "find_places: fewer rankings than documents": lambda: find_places(
        no_ints(1, 1), sp.csr_array((2, 4)), sp.csr_array((2, 4))
    ),
    "shortlist_logits: a row that does not exist": lambda: shortlist_logits(ones(1, 3), ones(2, 3), ints([2])),
    "shortlist_gradients: a row that does not exist": lambda: shortlist_gradients(
        ones(1, 3), ones(2, 3), ints([2]), ones(1, 1)
    ),
    "likeliest: fewer biases than rows": lambda: likeliest(ones(1, 3), ones(2, 3), ones(1), 1),
    "likeliest_in_levels: fewer coarse rows than clusters": lambda: likeliest_in_levels(
        table(3, 2), table(0, 2), ONE_RUN, ones(1, 2), 1, 2
    ),
    "likeliest_in_levels: more rows than labels": lambda: likeliest_in_levels(
        table(4, 2), table(1, 2), ONE_RUN, ones(1, 2), 1, 2
    ),
    "likeliest_in_levels: coarse rows of another length": lambda: likeliest_in_levels(
        table(3, 2), table(1, 3), ONE_RUN, ones(1, 2), 1, 2
    ),
    "rank_members: a cluster that does not exist": lambda: rank_members(
        table(2, 2), Members(np.array([0, 2]), ints(0, 1)), ones(1, 2), ints([1]), ones(1, 1), 2
    ),
    "nearest: a feature that does not exist": lambda: nearest(one_entry(3), sparse(3, 4), 4, 2),
    "opened: rows of another length": lambda: opened(table(3, 3), ones(1, 2), 10.0, 2),
    "best_labels: a cluster that does not exist": lambda: best_labels(
        ints([1]), ones(1, 1), ints([3]), ones(1, 1), 5, 1
    ),
    "log_beliefs: a label that does not exist": lambda: log_beliefs(
        ints([5]), ints([0]), ones(1, 1), ints([3]), ones(1, 1), 5, True
    ),
    "log_belief_gradients: a label that does not exist": lambda: log_belief_gradients(
        ones(1, 1), ones(1, 1), ints([5]), ints([0]), ones(1, 1), ints([3]), ones(1, 1), 5, True
    ),
    "move_rows: a row that does not exist": lambda: moved(3, 2, rows=ints(3)),
    "move_rows: step 0": lambda: moved(3, 2, rows=ints(0), step=0),
    "entries: a row that does not exist": lambda: entries(sparse(2, 3), ints(2), ints(0)),
    "entries: a row below the first": lambda: entries(sparse(2, 3), ints(-1), ints(0)),
    "weights_of: a label that does not exist": lambda: weights_of(sparse(2, 3), ints(2), ints(0)),
    "weights_of: a label below the first": lambda: weights_of(sparse(2, 3), ints(-1), ints(0)),
    "paths_to: a cluster that does not exist": lambda: paths_to(pads(2, 1), ones(2, 1), ints(2), ones(1), ints(0), 3),
    "paths_to: fewer scores than edges": lambda: paths_to(pads(2, 2), ones(2, 1), ints(0), ones(1), ints(0), 3),
    "paths_to: more beliefs than clusters": lambda: paths_to(pads(2, 1), ones(2, 1), ints(0), ones(2), ints(0), 3),
    "cosines: a document that does not exist": lambda: cosines(
        in_eight_bits(sparse(2, 3)), ints(2), ints(0), ones(1)
    ),
    "cosines: columns without values": lambda: cosines(in_eight_bits(sparse(2, 3)), ints(0), ints(0, 1), ones(1)),
    "score_candidates: a candidate that does not exist": lambda: score_candidates(
        one_entry(0), sparse(2, 3), ones(2), ints([2]), 3
    ),
    "open_nodes: a node that does not exist": lambda: open_nodes(
        one_entry(0), sparse(3, 2), ones(2), TREE, ints(7, 8), (ints([2]), ones(1, 1)), 3, 3.0
    ),
    "open_nodes: a feature that does not exist": lambda: open_nodes(
        one_entry(3), sparse(3, 2), ones(2), TREE, ints(7, 8), (ints([0]), ones(1, 1)), 3, 3.0
    ),
    "count_tokens: a token that does not exist": lambda: counted(
        count_tokens, ints(0), np.array([0, 1]), COUNTS.copy()
    ),
    "count_tokens: rows beyond their tokens": lambda: counted(
        count_tokens, ints(0), np.array([0, 2]), np.zeros((1, 3), np.int64)
    ),
    "count_pairs: no room": lambda: counted(
        count_pairs, ints(0, 0), np.array([0, 2]), NO_PAIRS.copy(), COUNTS.copy()
    ),
    "find_slots: no room": lambda: find_slots(np.full(1, FREE, np.int64), np.array([5])),
    "spell_words: a text beyond the data": lambda: spell_words(
        np.zeros(2, np.uint8), np.array([0]), np.array([3]), LOWERS
    ),
    "number_words: no room": lambda: number_words(np.ones(2, np.uint64), np.array([0, 1, 2]), empty_table(), True),
    "number_words: a word beyond its blocks": lambda: number_words(
        np.ones(1, np.uint64), np.array([0, 2]), empty_table(), False
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_what_would_lead_out_of_an_array_is_refused(case: str):
    with pytest.raises(ValueError):
        WRONG[case]()


PLUMBING = {
    "borders",
    "compiled",
    "matmul_code",
    "standalone",
    "threads",
    "vector_code",
}  # modules without a loop of their own
FOR_OTHER_KERNELS = {  # called by compiled code alone, or before it
    "as_float", "find_slot", "in_integers", "keep_best", "keep_one", "put_in_order", "keep_largest_in",
    "gather_largest", "keep_best_of_many",
    "put_largest_first", "add_up", "picked_products", "to_integers", "most_codes", "errors", "find_possible",
    "member_logits", "nothing_found", "logit_room", "code_room", "sketch_of", "product", "run_products", "sides",
    "sigmoid",
    "table_of", "tile_logits", "tile_products", "unseen", "turned_to_integers", "no_sketch", "are_parted",
    "keep_largest_unsorted", "leave_out", "score",  # of Opening and GraphRanking, which have tests of their own
    "no_tree", "complain",  # of Reranker, which has too
    "locate", "room_for", "spread_out", "locate_and_spread",  # features/locating.py and features/spans.py check first
    "walk_up", "explain_text",  # methods/linear/explaining.py, whose bags and labels are the model's own
    "packed", "in_one_run", "block_products", "dense",  # encoders/forward.py checks weights
    "read", "through_layer", "pool",  # and tokens
    "count_pieces", "count_token", "count_words", "credibility", "descend", "forget", "open_level", "read_row",
    "write_row",
}  # fmt: skip


def test_every_kernel_is_asked_about_nothing():
    public = set()
    for module in pkgutil.iter_modules(kernels.__path__):
        if module.name not in PLUMBING:
            found = vars(importlib.import_module(f"longtail.kernels.{module.name}")).items()
            public |= {name for name, value in found if callable(value) and is_kernel(name, value, module.name)}
    assert public - FOR_OTHER_KERNELS == {case.partition(":")[0] for case in DEGENERATE}


def is_kernel(name: str, value: object, module: str) -> bool:
    own = getattr(value, "__module__", "") == f"longtail.kernels.{module}"
    return own and not name.startswith("_") and not inspect.isclass(value)
