"""Batches of documents: which rows share a batch, and the tensors made from them."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol, TypeVar

import numpy as np

from longtail.sparse import sp

Item = TypeVar("Item")
Batch_co = TypeVar("Batch_co", covariant=True)

WINDOW = 64  # batches whose documents are sorted by length together


class Batches(Protocol[Batch_co]):
    """Documents in the form one kind of model reads; methods with other inputs implement their own."""

    @property
    def lengths(self) -> np.ndarray:
        """(documents,) length of each; documents of similar length share a batch."""

    @property
    def labels(self) -> sp.csr_array:
        """(documents, labels) true labels."""

    @property
    def filtered(self) -> sp.csr_array | None:
        """Pairs that validation removes from truth and ranking, as in a Corpus."""

    def batch(self, rows: np.ndarray, rng: np.random.Generator) -> Batch_co:
        """A dataclass of tensors for the documents at `rows`; all sampling uses `rng`."""


# -- rows of each batch -------------------------------------------------------------------------------------------


def generator(seed: int, *key: int) -> np.random.Generator:
    """Random generator for one position in training, such as (epoch, batch); resuming needs no stored state."""
    # A spawn key, because SeedSequence pads a list with zeros: [seed, 1] and [seed, 1, 0] would be equal.
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key))


def shuffled(lengths: np.ndarray, size: int, seed: int, epoch: int) -> list[np.ndarray]:
    """The rows of each batch of an epoch: every document once, a pure function of the arguments.

    Rows are shuffled, then sorted by length within windows of many batches to reduce padding; then the batches are
    shuffled.  Equal lengths make it a plain shuffle.

    >>> [batch.tolist() for batch in shuffled(np.ones(5), size=2, seed=0, epoch=0)]
    [[4], [2, 1], [0, 3]]
    """
    rng = generator(seed, epoch)
    rows = rng.permutation(len(lengths))
    # At least four windows: with one, the same documents would share a batch in every epoch of a small corpus.
    window = size * max(1, min(WINDOW, len(rows) // (4 * size)))
    by_length = [part[np.argsort(lengths[part], kind="stable")] for part in _cut(rows, window)]
    batches = _cut(np.concatenate(by_length), size) if by_length else []
    return [batches[at] for at in rng.permutation(len(batches))]


def longest_first(lengths: np.ndarray, size: int) -> list[np.ndarray]:
    """The rows of each batch where order is free, as in ranking; longest first, to run out of memory early."""
    return _cut(np.argsort(-lengths, kind="stable"), size)


def _cut(rows: np.ndarray, size: int) -> list[np.ndarray]:
    return [rows[start : start + size] for start in range(0, len(rows), size)]


def prefetched(items: Iterable[Item], ahead: int = 4) -> Iterator[Item]:
    """The same items in the same order; a thread produces the next few while the caller works."""
    end = object()
    source = iter(items)
    pool = ThreadPoolExecutor(1, thread_name_prefix="prefetch")
    try:
        waiting = deque(pool.submit(next, source, end) for _ in range(ahead))
        while (item := waiting.popleft().result()) is not end:
            waiting.append(pool.submit(next, source, end))
            yield item  # type: ignore[misc]
    finally:
        pool.shutdown(cancel_futures=True)


# -- tensors of each batch ----------------------------------------------------------------------------------------


def padded(values: np.ndarray, starts: np.ndarray, stops: np.ndarray, pad: int, width: int = 0) -> np.ndarray:
    """Row i holds values[starts[i]:stops[i]], then `pad`: (rows, longest or `width`) int64.

    >>> padded(np.array([5, 6, 7, 8]), starts=np.array([0, 3]), stops=np.array([3, 4]), pad=-1)
    array([[ 5,  6,  7],
           [ 8, -1, -1]])
    """
    lengths = stops - starts
    inside = np.arange(lengths.max(initial=width)) < lengths[:, None]
    table = np.full(inside.shape, pad, np.int64)
    # Value j of the flat result is values[j + (start of its row in `values` - start in the result)].
    shift = starts - (np.cumsum(lengths) - lengths)
    table[inside] = values[np.arange(lengths.sum()) + np.repeat(shift, lengths)]
    return table
