"""Who meets whom in a batch, and what is learned from it."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from longtail.corpus import PAD
from longtail.encoders.learn.batches import BagTexts, TokenTexts
from longtail.features.tokens import Tokens
from longtail.rankers.learn.candidates import (
    MANY,
    SIZE,
    Candidates,
    apart,
    meeting,
    meeting_loss,
    shortlist_logits,
    shortlist_logits_plainly,
    table_loss,
    table_loss_plainly,
    table_rows,
    together,
)
from longtail.sparse import rows_of

# Document 0 has labels 1 and 4, document 1 has none, document 2 has label 2.
TRUE = sp.csr_array(np.array([[0, 1, 0, 0, 1, 0], [0] * 6, [0, 0, 1, 0, 0, 0]], np.float32))


def pairs(candidates: Candidates) -> list[dict[int, float]]:
    """The target of every label that a document meets."""
    rows = []
    for row, targets in enumerate(candidates.targets):
        places = range(len(candidates.labels)) if candidates.shortlist is None else candidates.shortlist[row]
        rows.append({int(candidates.labels[p]): float(t) for p, t in zip(places, targets) if p != PAD})
    return rows


def test_together_all_documents_meet_all_true_and_drawn_labels():
    met = together(TRUE, np.array([[5, PAD], [1, 5], [PAD, PAD]]))
    assert met.labels.tolist() == [1, 2, 4, 5] and met.shortlist is None
    assert met.targets.tolist() == [[1, 0, 1, 0], [0, 0, 0, 0], [0, 1, 0, 0]]


def test_many_candidates_are_cut_to_a_multiple_of_a_size_without_losing_true_labels():
    n_labels = MANY * SIZE + 701
    true = sp.csr_array((np.ones(300), (np.arange(300) % 5, np.arange(300) * 5 % n_labels)), shape=(5, n_labels))
    drawn = np.arange(3, n_labels)
    every = set(true.indices.tolist()) | set(drawn.tolist())
    met = together(true, np.append(drawn, PAD))
    assert len(met.labels) == len(every) // SIZE * SIZE < len(every)
    assert set(true.indices.tolist()) <= set(met.labels.tolist()) <= every
    assert met.labels.tolist() == sorted(set(met.labels.tolist())) and met.targets.sum() == true.nnz


def test_all_labels_are_all_candidates():
    n_labels = MANY * SIZE + 701
    true = sp.csr_array(([1.0], ([0], [5])), shape=(1, n_labels))
    assert together(true, np.arange(n_labels)).labels.tolist() == list(range(n_labels))


def test_apart_each_meets_its_own_and_nothing_else():
    met = apart(TRUE, np.array([0, 2, 2, 4]), np.array([4, 0, 3, 2]), with_true=False)
    assert pairs(met) == [{0: 0, 4: 1}, {}, {2: 1, 3: 0}]


def test_apart_with_true_labels_loses_none_of_them():
    met = apart(TRUE, np.array([0, 2, 3, 4]), np.array([4, 0, 3, 5]), with_true=True)
    assert pairs(met) == [{0: 0, 1: 1, 4: 1}, {3: 0}, {2: 1, 5: 0}]


def test_a_label_shortlisted_twice_counts_once():
    met = apart(TRUE, np.array([0, 3, 3, 3]), np.array([4, 4, 1]), with_true=False)
    assert pairs(met) == [{1: 1, 4: 1}, {}, {}]


def test_a_batch_holds_the_bags_of_its_documents_and_then_of_its_candidates():
    bags = rows_of(sp.csr_array(np.array([[1, 0, 2], [0, 0, 0], [0, 3, 0]], np.float32)))
    documents = BagTexts(bags, rows_of(sp.csr_array(np.eye(6, dtype=np.float32)[:, :3])))
    batch = meeting(documents, np.array([2, 0]), together(TRUE[[2, 0]], np.array([0])), read_labels=True)
    read = batch.texts
    assert read.documents == 2 and batch.candidates.tolist() == [0, 1, 2, 4]
    assert read.starts.tolist() == [0, 1, 3, 4, 5, 6, 6]
    assert read.tokens.tolist() == [1, 0, 2, 0, 1, 2] and read.weights.tolist() == [3, 1, 2, 1, 1, 1]
    unread = meeting(documents, np.array([1]), together(TRUE[[1]], np.array([0])))
    assert unread.texts.starts.tolist() == [0, 0] and unread.candidates.tolist() == [0]


def test_a_batch_of_tokens_names_the_candidates_whose_texts_it_wants():
    documents = TokenTexts(Tokens.of([[5, 6], [], [7]]), pad=0)
    batch = meeting(documents, np.array([2, 0]), together(TRUE[[2, 0]], np.array([0])), read_labels=True)
    assert batch.texts.ids.tolist() == [[7, 0], [5, 6]] and batch.texts.labels.tolist() == [0, 1, 2, 4]


def test_the_loss_is_summed_over_labels_and_averaged_over_documents():
    documents, rows, biases = torch.tensor([[1.0], [2.0]]), torch.tensor([[0.0], [1.0]]), torch.tensor([0.0, -1.0])
    met = together(sp.csr_array(np.array([[1, 0], [0, 1]], np.float32)), np.array([PAD]))
    batch = meeting(BagTexts(rows_of(sp.csr_array((2, 1), dtype=np.float32))), np.array([0, 1]), met)
    # Logits [0, 0] and [0, 1], targets [1, 0] and [0, 1]: 3 · log 2 + log(1 + 1/e).
    assert meeting_loss(documents, rows, biases, batch).item() == pytest.approx((3 * np.log(2) + 0.3132617) / 2)


@settings(deadline=None, max_examples=20)
@given(seed=st.integers(0, 999), dim=st.integers(1, 20))
def test_compiled_shortlists_and_torchs_agree_in_value_and_gradient(seed: int, dim: int):
    rng = np.random.default_rng(seed)
    shortlist = torch.from_numpy(rng.integers(PAD, 7, (4, 5)).astype(np.int32))
    way = torch.from_numpy(rng.standard_normal((4, 5)).astype(np.float32))
    answers = []
    for logits in (shortlist_logits, shortlist_logits_plainly):
        torch.manual_seed(seed)
        documents, rows = nn.Parameter(torch.randn(4, dim)), nn.Parameter(torch.randn(7, dim))
        values = logits(documents, rows, shortlist)
        (values * way).sum().backward()
        answers.append((values.detach(), documents.grad, rows.grad))
    for compiled, plain in zip(*answers):
        torch.testing.assert_close(compiled, plain, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("half", [False, True])
def test_compiled_loss_of_shared_candidates_and_torchs_agree_in_value_and_gradient(half: bool):
    answers = []
    for loss in (table_loss, table_loss_plainly):
        torch.manual_seed(0)
        parts = [nn.Parameter(torch.randn(*shape)) for shape in ((5, 8), (40, 8), (40,))]
        targets = (torch.rand(5, 40) < 0.1).float()
        with torch.autocast("cpu", torch.bfloat16, enabled=half):
            value = loss(*parts, targets)
        (3 * value).backward()
        answers.append([value.detach(), *(part.grad for part in parts)])
    for compiled, plain in zip(*answers):
        tolerance = {"rtol": 0.02, "atol": 0.02} if half else {"rtol": 1e-5, "atol": 1e-6}
        torch.testing.assert_close(compiled, plain, **tolerance)


def test_rows_of_a_table_have_the_gradient_of_an_embedding():
    one, other = (nn.Parameter(torch.arange(12.0).reshape(4, 3)) for _ in range(2))
    rows = torch.tensor([0, 3])
    taken, plain = table_rows(one, rows), F.embedding(rows, other, sparse=True)
    assert torch.equal(taken, plain)
    (taken**2).sum().backward()
    (plain**2).sum().backward()
    assert one.grad.is_sparse and torch.equal(one.grad.to_dense(), other.grad.to_dense())
