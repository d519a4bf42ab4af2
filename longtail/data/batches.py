"""Documents in batches: which rows go together, and what a model reads of them."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol, TypeVar

import numpy as np
import scipy.sparse as sp

Item = TypeVar("Item")
Batch_co = TypeVar("Batch_co", covariant=True)

WINDOW = 64  # batches whose documents are sorted by length together


class Batches(Protocol[Batch_co]):
    """Documents as one kind of model reads them: a method that reads something else writes its own."""

    @property
    def lengths(self) -> np.ndarray:
        """(documents,) how much there is to read in each; documents of like length share a batch."""

    @property
    def labels(self) -> sp.csr_array:
        """(documents, labels) what is true of each."""

    @property
    def filtered(self) -> sp.csr_array | None:
        """Pairs that validation takes out of truth and ranking, as in a Corpus."""

    def batch(self, rows: np.ndarray, rng: np.random.Generator) -> Batch_co:
        """A dataclass of tensors about the documents at `rows`; whatever is drawn comes from `rng`."""


# -- which rows go together ---------------------------------------------------------------------------------------


def generator(seed: int, *key: int) -> np.random.Generator:
    """Randomness of one place in a training, such as (epoch, batch), with nothing to store for a resume."""
    # A spawn key, because SeedSequence pads a list with zeros: [seed, 1] and [seed, 1, 0] would draw alike.
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key))


def shuffled(lengths: np.ndarray, size: int, seed: int, epoch: int) -> list[np.ndarray]:
    """The rows of each batch of an epoch: every document once, a pure function of the arguments.

    Rows are shuffled, then sorted by length within windows of many batches, so that little of a batch is
    padding; then the batches are shuffled.  Equal lengths make it a plain shuffle.

    >>> [batch.tolist() for batch in shuffled(np.ones(5), size=2, seed=0, epoch=0)]
    [[4], [2, 1], [0, 3]]
    """
    rng = generator(seed, epoch)
    rows = rng.permutation(len(lengths))
    # At least four windows: with one, the same documents would meet in every epoch of a small corpus.
    window = size * max(1, min(WINDOW, len(rows) // (4 * size)))
    by_length = [part[np.argsort(lengths[part], kind="stable")] for part in _cut(rows, window)]
    batches = _cut(np.concatenate(by_length), size) if by_length else []
    return [batches[at] for at in rng.permutation(len(batches))]


def longest_first(lengths: np.ndarray, size: int) -> list[np.ndarray]:
    """The rows of each batch when order is free, as in ranking: what does not fit in memory fails at once."""
    return _cut(np.argsort(-lengths, kind="stable"), size)


def _cut(rows: np.ndarray, size: int) -> list[np.ndarray]:
    return [rows[start : start + size] for start in range(0, len(rows), size)]


def prefetched(items: Iterable[Item], ahead: int = 4) -> Iterator[Item]:
    """The same items in the same order, the next few made in a thread while the caller works."""
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


# -- what a model reads of them -----------------------------------------------------------------------------------


def padded(values: np.ndarray, starts: np.ndarray, stops: np.ndarray, pad: int) -> np.ndarray:
    """Row i holds values[starts[i]:stops[i]], then `pad`: (rows, longest) int64.

    >>> padded(np.array([5, 6, 7, 8]), starts=np.array([0, 3]), stops=np.array([3, 4]), pad=-1)
    array([[ 5,  6,  7],
           [ 8, -1, -1]])
    """
    lengths = stops - starts
    inside = np.arange(lengths.max(initial=0)) < lengths[:, None]
    table = np.full(inside.shape, pad, np.int64)
    # Value j of the flat result comes from j + (where its row starts in `values` - where it starts in the result).
    shift = starts - (np.cumsum(lengths) - lengths)
    table[inside] = values[np.arange(lengths.sum()) + np.repeat(shift, lengths)]
    return table
