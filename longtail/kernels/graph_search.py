"""Walking a hierarchical navigable small world (Malkov & Yashunin, TPAMI 2018) to the nodes nearest a document.

The graph's arrays are laid out as faiss builds them: node n has its links on level l at
links[starts[n] + levels[l] : starts[n] + levels[l + 1]], PAD behind the last.
"""

from __future__ import annotations

import threading

import numpy as np

from longtail.corpus import PAD
from longtail.kernels.borders import check
from longtail.kernels.compiled import compiled
from longtail.kernels.products import picked_products, product
from longtail.kernels.standalone import standalone
from longtail.kernels.tables import Table, nothing_found, sigmoid
from longtail.kernels.threads import in_slices
from longtail.sparse import frozen


class Links:
    """A graph's arrays, with the node where it is entered and the level of that: checked once."""

    def __init__(self, links: np.ndarray, starts: np.ndarray, levels: np.ndarray, entry: int, top: int):
        self.nodes = len(starts) - 1
        if self.nodes > 0:
            check(0 <= entry < self.nodes, f"the graph is entered at node {entry}, and it has {self.nodes}")
            check(starts[-1] <= len(links), "the graph lacks links of some nodes")
            check(0 <= top <= len(levels) - 2, f"the graph is entered at level {top}, and it has {len(levels) - 1}")
        arrays = frozen(links, np.int32), frozen(starts, np.int64), frozen(levels, np.int64)
        self.numbers = *arrays, int(entry), int(top)
        self.most = int(levels[1]) if len(levels) > 1 else 0  # links of a node on the lowest level


def walk(
    table: Table, links: Links, documents: np.ndarray, k: int, threads: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """About the k nodes with the largest ⟨document, row⟩, best first, and σ of it: (documents, k) each.

    Places that the walk does not fill are PAD with 0; a graph without nodes fills none.  Biases are not looked at.
    """
    best, queries = nothing_found(len(documents), k), table.queries(documents)
    if k == 0 or links.nodes == 0:
        return best
    check(links.nodes <= len(table), f"the graph has {links.nodes} nodes, and there are {len(table)} rows")
    loop = table.loop(_walk, *links.numbers)

    def part(start: int, stop: int) -> None:
        seen, before = unseen(links.nodes, stop - start)
        room = np.empty(k, np.uint8), np.empty(links.most, np.int32), np.empty(links.most, np.float32)
        loop(queries, start, stop, seen, before - start, *room, *best)

    in_slices(part, len(documents), "searching labels", threads)
    return best


_here = threading.local()


def unseen(n_nodes: int, n_documents: int) -> tuple[np.ndarray, int]:
    """Which walk saw a node last, (nodes,) int32 for this thread, and a number that all walks before are at most.

    It is kept from call to call: a query is not to cost a write a node.
    """
    known = getattr(_here, "seen", None)
    if known is None or len(known) < n_nodes or _here.walks + n_documents >= MOST_WALKS:
        _here.seen, _here.walks = np.zeros(n_nodes, np.int32), 0
    before = _here.walks
    _here.walks += n_documents
    return _here.seen[:n_nodes], before


MOST_WALKS = 2**31 - 1


@standalone
def _walk(
    table, biases, links, starts, levels, entry, top, queries, start, stop, seen, before, opened, new, nearness,
    best, scores,
):  # fmt: skip
    """`seen` has no number above `before` + `start`; the walk of a document writes `before` + 1 + the document.

    `opened` is room for a number a place, `new` and `nearness` for the nodes around one.
    """
    for document in range(start, stop):
        found, near = best[document], scores[document]
        node = _descend(queries, document, table, links, starts, levels, entry, top)
        seen[node] = before + document + 1
        size = _insert(found, near, opened, 0, node, product(queries, document, table, node))
        at = 0
        while at < size:
            if opened[at] != 0:
                at += 1
            else:
                opened[at] = 1
                around = links[starts[found[at]] : starts[found[at]] + levels[1]]
                count = _unseen_of(around, seen, before + document + 1, new)
                picked_products(queries, document, table, new, count, nearness)
                for other in range(count):
                    size = _insert(found, near, opened, size, new[other], nearness[other])
                at = 0  # something nearer may have come in before
        for at in range(size):
            near[at] = sigmoid(near[at])
    return 0


@compiled
def _unseen_of(around, seen, seen_by, new):
    """The nodes around one that were not seen before, into `new`; how many they are."""
    count = 0
    for node in around:
        if node == PAD:
            break
        if seen[node] != seen_by:
            seen[node] = seen_by
            new[count] = node
            count += 1
    return count


@compiled
def _descend(queries, document, table, links, starts, levels, node, top):
    """The node of the lowest level from which no link of a higher level leads nearer."""
    nearest = product(queries, document, table, node)
    for level in range(top, 0, -1):
        came_from = -1
        while came_from != node:
            came_from = node
            for link in range(starts[came_from] + levels[level], starts[came_from] + levels[level + 1]):
                other = links[link]
                if other == PAD:
                    break
                near = product(queries, document, table, other)
                if near > nearest:
                    node, nearest = other, near
    return node


@compiled
def _insert(found, near, opened, size, node, nearness):
    """Put a node where it belongs, nearest first, equal ones by number; a full list loses its last.  The new size."""
    if size == len(found):
        if not _before(node, nearness, found[-1], near[-1]):
            return size
        size -= 1
    at = size
    while at > 0 and _before(node, nearness, found[at - 1], near[at - 1]):
        found[at], near[at], opened[at] = found[at - 1], near[at - 1], opened[at - 1]
        at -= 1
    found[at], near[at], opened[at] = node, nearness, 0
    return size + 1


@compiled
def _before(node, nearness, other, other_nearness):
    return nearness > other_nearness or (nearness == other_nearness and node < other)
