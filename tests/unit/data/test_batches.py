from __future__ import annotations

import threading

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from hypothesis import given
from hypothesis import strategies as st

from longtail.corpus import PAD
from longtail.data.batches import generator, longest_first, padded, prefetched, shuffled
from longtail.encoders.learn.batches import BagTexts, Labelled, TokenTexts, positives
from longtail.features.tokens import Tokens
from longtail.sparse import rows_of

LENGTHS = st.lists(st.integers(0, 9), max_size=40).map(np.array)


@given(LENGTHS, st.integers(1, 9), st.integers(0, 3), st.integers(0, 3))
def test_an_epoch_reads_every_document_once_in_full_batches_but_one(lengths, size, seed, epoch):
    batches = shuffled(lengths, size, seed, epoch)
    assert sorted(row for batch in batches for row in batch) == list(range(len(lengths)))
    assert sorted(map(len, batches), reverse=True)[: len(lengths) // size] == [size] * (len(lengths) // size)
    assert len(batches) == -(-len(lengths) // size)


def order(seed: int, epoch: int) -> list[list[int]]:
    return [batch.tolist() for batch in shuffled(np.ones(50), 4, seed, epoch)]


def test_the_order_is_a_function_of_seed_and_epoch_alone():
    assert order(1, 2) == order(1, 2)
    assert order(1, 2) != order(1, 3)
    assert order(1, 2) != order(2, 2)


def test_documents_of_like_length_share_a_batch():
    lengths = np.random.default_rng(0).geometric(0.02, 4000)

    def tokens_with_padding(batches: list[np.ndarray]) -> int:
        return sum(len(rows) * lengths[rows].max() for rows in batches)

    chance = np.split(np.random.default_rng(1).permutation(4000), 250)
    bucketed = tokens_with_padding(shuffled(lengths, 16, seed=0, epoch=0))
    assert bucketed < 1.25 * lengths.sum() < 0.5 * tokens_with_padding(chance)


def test_batches_do_not_come_in_order_of_length():
    lengths = np.arange(1000)
    means = [lengths[rows].mean() for rows in shuffled(lengths, 10, seed=0, epoch=0)]
    assert abs(np.corrcoef(means, np.arange(len(means)))[0, 1]) < 0.3


def test_companions_change_from_epoch_to_epoch_even_in_a_small_corpus():
    lengths = np.arange(64)
    first, second = ({frozenset(rows) for rows in shuffled(lengths, 8, 0, epoch)} for epoch in (0, 1))
    assert not first & second


def test_ranking_reads_the_longest_first():
    assert [batch.tolist() for batch in longest_first(np.array([1, 5, 3, 5]), 3)] == [[1, 3, 2], [0]]


def test_places_draw_differently_even_where_they_begin_alike():
    draws = [generator(7, *key).integers(2**32) for key in ((), (0,), (0, 0), (0, 0, 0), (1,), (0, 1))]
    assert len(set(draws)) == len(draws)


@given(st.lists(st.lists(st.integers(0, 99), max_size=5), max_size=8))
def test_padding_keeps_every_row_and_nothing_else(rows):
    flat = np.array([value for row in rows for value in row], np.int32)
    stops = np.cumsum([len(row) for row in rows], dtype=np.int64)
    table = padded(flat, np.concatenate([[0], stops])[: len(rows)], stops, pad=-7)
    width = max(map(len, rows), default=0)
    assert table.tolist() == [row + [-7] * (width - len(row)) for row in rows]


def test_positives_are_the_true_labels_then_pad():
    labels = sp.csr_array(np.array([[0, 1, 1], [0, 0, 0], [1, 0, 0]]))
    assert positives(labels, np.array([2, 0, 1])).tolist() == [[0, PAD], [1, 2], [PAD, PAD]]


LABELS = sp.csr_array(np.array([[1, 0], [0, 1], [1, 1]]))


def test_a_token_batch_holds_the_documents_asked_for():
    tokens = Tokens(np.array([4, 5, 6, 7, 8, 9], np.uint16), np.array([0, 2, 2, 6]))
    documents = Labelled(TokenTexts(tokens, pad=3), LABELS)
    batch = documents.batch(np.array([2, 0, 1]), generator(0))
    assert batch.rows.tolist() == [2, 0, 1]
    assert batch.texts.ids.tolist() == [[6, 7, 8, 9], [4, 5, 3, 3], [3, 3, 3, 3]]
    assert batch.texts.ids.dtype == torch.int64
    assert batch.texts.lengths.tolist() == [4, 2, 0]
    assert batch.positives.tolist() == [[0, 1], [0, PAD], [1, PAD]]
    assert documents.lengths.tolist() == [2, 0, 4]


def test_a_token_batch_names_the_labels_whose_texts_are_wanted():
    """The encoder has read these texts before: a batch brings their numbers."""
    texts = TokenTexts(Tokens.of([[4, 5], [6]]), pad=3)
    assert texts.batch(np.array([1]), labels=np.array([7, 2], np.int32)).labels.tolist() == [7, 2]
    assert texts.batch(np.array([1])).labels is None


BAGS = rows_of(sp.csr_array(np.array([[0, 0.5, 0, 2], [0, 0, 0, 0], [1, 0, 3, 4]], np.float32)))
NAMES = rows_of(sp.csr_array(np.array([[0, 1, 0, 0], [0.6, 0, 0.8, 0]], np.float32)))


def test_a_bag_batch_holds_the_tokens_of_the_documents_asked_for():
    batch = Labelled(BagTexts(BAGS), LABELS).batch(np.array([2, 1, 0]), generator(0))
    assert batch.texts.documents == 3
    assert batch.texts.starts.tolist() == [0, 3, 3, 5]
    assert batch.texts.tokens.tolist() == [0, 2, 3, 1, 3]
    assert batch.texts.weights.tolist() == [1, 3, 4, 0.5, 2]
    assert batch.positives.tolist() == [[0, 1], [1, PAD], [0, PAD]]


def test_behind_the_documents_of_a_bag_batch_stand_the_label_texts_asked_for():
    batch = BagTexts(BAGS, NAMES).batch(np.array([0]), labels=np.array([1, 0]))
    assert batch.documents == 1 and batch.starts.tolist() == [0, 2, 4, 5]
    assert batch.tokens.tolist() == [1, 3, 0, 2, 1]
    np.testing.assert_allclose(batch.weights, [0.5, 2, 0.6, 0.8, 1])
    alone = BagTexts(BAGS, NAMES).batch(np.array([0]))
    assert alone.starts.tolist() == [0, 2]


def test_bags_are_all_as_long_as_each_other_so_that_chance_alone_makes_batches():
    assert BagTexts(BAGS).lengths.tolist() == [1, 1, 1]


def test_a_bag_batch_is_of_its_own_and_not_a_view_of_the_corpus():
    BagTexts(BAGS).batch(np.array([0])).weights.zero_()
    assert BAGS[2].tolist() == [0.5, 2, 1, 3, 4]


def test_prefetching_keeps_the_order():
    assert list(prefetched(iter(range(20)), ahead=3)) == list(range(20))


def test_prefetching_makes_the_next_while_this_one_is_in_use():
    made = threading.Semaphore(0)

    def items():
        for item in range(3):
            made.release()
            yield item

    stream = prefetched(items(), ahead=2)
    next(stream)
    assert made.acquire(timeout=5), "the first was made"
    assert made.acquire(timeout=5), "the second is made though nobody asked for it yet"
    stream.close()


def test_what_fails_while_prefetching_fails_where_it_is_used():
    def items():
        yield 1
        raise ValueError("the second document is broken")

    stream = prefetched(items())
    assert next(stream) == 1
    with pytest.raises(ValueError, match="second document"):
        next(stream)


def test_leaving_early_leaves_no_thread_behind():
    stream = prefetched(iter(range(1000)))
    next(stream)
    stream.close()
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("prefetch")]
