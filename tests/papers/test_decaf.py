"""DECAF's equations, each worked by hand on numbers small enough to check with a pencil."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from longtail.corpus import Corpus, Documents, LabelSet
from longtail.encoders.bag import GatedBlock, TokenBag
from longtail.encoders.label_texts import TextRows
from longtail.encoders.learn.bag import Block, Gates, LearningBag
from longtail.encoders.learn.batches import BagTexts
from longtail.encoders.learn.encoder import BagSource
from longtail.features.bags import Bags, Reader
from longtail.index.clusters import Clusters
from longtail.index.partition import cluster_targets, in_cluster_order, recall_at
from longtail.methods.decaf.learn import Data, Meetings, Network, cluster_by_vectors, cluster_by_words, started
from longtail.methods.decaf.model import Instance, Scorer
from longtail.methods.decaf.settings import RANKER, VARIANTS, Config
from longtail.methods.decaf.stages import shortlists
from longtail.rankers.label_rows import LabelRows
from longtail.rankers.learn.label_rows import LearningRows
from longtail.sparse import rows_of


def bag_of(vectors: list, block: GatedBlock | None = None) -> TokenBag:
    """Features with these vectors, under a block that nothing has taught."""
    rows = np.array(vectors, np.float32)
    return TokenBag(Reader(Bags(len(rows), None), None), rows, block or GatedBlock.first(rows.shape[1]))


# Reads a bag of two tokens as the vector of their weights.
PLAIN = bag_of(np.eye(2), GatedBlock(np.zeros((2, 2), np.float32), np.zeros(2, np.float32), np.ones(2, np.float32)))


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def csr(rows: list) -> sp.csr_array:
    return sp.csr_array(np.array(rows, np.float32))


# -- embedding block -----------------------------------------------------------------------------------------------


def test_a_new_block_passes_half_of_the_bag_and_half_of_its_positive_part():
    """ℰ(r) = σ(0) r̂⁰ + σ(0) I·ReLU(r̂⁰): (2, −4) → (1 + 1, −2 + 0)."""
    assert torch.allclose(Block(2, 0.0).eval()(torch.tensor([[2.0, -4.0]])), torch.tensor([[2.0, -2.0]]), atol=1e-6)


def test_gates_weigh_both_sides_coordinate_by_coordinate():
    """σ(ln 3) = 3/4, σ(−ln 3) = 1/4."""
    gates = Gates(2)
    gates.alpha.data, gates.beta.data = torch.tensor([math.log(3), 0.0]), torch.tensor([-math.log(3), 0.0])
    mixed = gates(torch.tensor([[4.0, 4.0]]), torch.tensor([[8.0, 8.0]]))
    assert torch.allclose(mixed, torch.tensor([[3.0 + 2.0, 2.0 + 4.0]]))


def test_the_residual_layer_has_spectral_norm_one():
    """diag(3, 1) / 3: (1, 1) → (σ(0)·1 + σ(0)·1, σ(0)·1 + σ(0)·1/3)."""
    block = Block(2, 0.0)
    block.residual.parametrizations.weight.original.data = torch.diag(torch.tensor([3.0, 1.0]))
    for _ in range(50):
        block(torch.ones(1, 2))
    assert torch.allclose(block.eval()(torch.ones(1, 2)), torch.tensor([[1.0, 2 / 3]]), atol=1e-5)


def test_documents_are_cut_off_at_zero_and_label_texts_are_not():
    """x̂ = ReLU(ℰ_D(x)), ẑ¹ = ℰ_L(z), with the bag −1 of one token."""
    encoder, labels = LearningBag(bag_of([[-1, 2]]), 0.0).export(), LearningRows(1, None, Block(2, 0.0)).eval()
    sums = torch.from_numpy(encoder.before_block(rows_of(csr([[1]]))))
    np.testing.assert_allclose(labels(torch.tensor([0]), sums)[0].detach(), [[-0.5, 2.0]], rtol=1e-6)
    np.testing.assert_allclose(encoder.encode(rows_of(csr([[1]]))), [[0.0, 2.0]], rtol=1e-6)


# -- label classifiers ---------------------------------------------------------------------------------------------


def test_a_row_is_half_text_and_half_refinement_at_first():
    """w = σ(0) ℰ_L(z) + σ(0) ẑ² with ẑ² = E z = (2, −4) and ℰ_L(z) = (2, −2)."""
    sums = torch.tensor([[2.0, -4.0]])
    labels = LearningRows(1, sums.clone(), Block(2, 0.0), bias=-1.0).eval()
    rows, biases = labels(torch.tensor([0]), sums)
    assert torch.allclose(rows, torch.tensor([[2.0, -3.0]]), atol=1e-6) and biases.tolist() == [-1.0]


@pytest.mark.parametrize(
    ("parts", "expected"), [("both", [2.0, -1.5]), ("text", [2.0, -1.0]), ("refinement", [2.0, -2.0])]
)
def test_variants_of_table_6_leave_out_a_part_of_the_row(parts: str, expected: list[float]):
    rows, _ = one_label(parts).eval().labels(torch.tensor([0]), torch.tensor([[2.0, -2.0]]))
    assert torch.allclose(rows, torch.tensor([expected]), atol=1e-6)


def test_refinement_starts_at_the_label_texts_bag_or_at_random():
    texts, random = (one_label(parts).labels.table for parts in ("both", "no-init"))
    assert torch.allclose(texts, torch.tensor([[2.0, -2.0]]))
    assert random.abs().max() <= math.sqrt(6 / 2) and not torch.allclose(random, texts)


def test_the_variants_are_those_of_table_6():
    assert {name: (each.parts, each.lite) for name, each in VARIANTS.items()} == {
        "no-init": ("no-init", False), "text": ("text", False), "refinement": ("refinement", False),
        "lite": ("both", True),
    }  # fmt: skip


def test_lite_freezes_token_vectors_after_module_one():
    first, later = one_label("text"), one_label("both", frozen=True)
    assert first.encoder.vectors.requires_grad and not later.encoder.vectors.requires_grad
    assert not later.encoder.tables and later.encoder.dense, "blocks go on learning"


def data_of(documents: list, labels: list, label_texts: list, vectors: list) -> Data:
    source = BagSource(bag_of(vectors), csr(documents), csr(documents)[:0], csr(label_texts))
    return Data(source, csr(labels))


def meetings_of(data: Data, negatives: int, *more: object) -> Meetings:
    """All documents against all labels, numbered as they are."""
    rows = TextRows.one_each(np.arange(data.labels.shape[1]))
    return Meetings(data.source.with_labels(rows), data.labels, rows, negatives, *more)


def one_label(parts: str, frozen: bool = False) -> Network:
    """One token (1, −1), of the length a start has, and one label whose text has it twice."""
    data = data_of([[1]], [[1]], [[2]], [[1, -1]])
    config = Config()
    return started(data, meetings_of(data, 1), data.source.first, parts, config.dropout_of(RANKER), config, frozen)


# -- clusters ------------------------------------------------------------------------------------------------------

TWO = Clusters(np.array([2, 0, 1], np.int32), np.array([0, 1, 3]))  # {2}, {0, 1}


def test_a_cluster_is_true_of_a_document_with_any_of_its_labels():
    """ỹ_im = +1 if y_il = +1 for any l in C_m."""
    assert cluster_targets(csr([[1, 1, 0], [0, 0, 1], [0, 0, 0]]), TWO).toarray().tolist() == [[0, 1], [1, 0], [0, 0]]


def test_a_clusters_text_is_that_of_its_labels_added_up():
    """u_m = Σ z_l, length 1 as the authors make it: (1, 0) + (0, 1) → (1, 1) / √2."""
    texts = TextRows(TWO.labels, TWO.starts).summed(csr([[1, 0], [0, 1], [0, 3]])).toarray()
    np.testing.assert_allclose(texts, [[0, 1], [0.5**0.5, 0.5**0.5]], rtol=1e-6)


def test_labels_are_renumbered_in_the_order_of_their_clusters():
    assert in_cluster_order(csr([[1, 0, 1]]), TWO).toarray().tolist() == [[1, 1, 0]]


def test_labels_cluster_by_their_documents_and_without_any_by_their_text():
    """c_l = Σ E x_i.  Label 3 has no document; its text lies with labels 0 and 2."""
    truth, texts = [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0]], [[0, 1], [0, 1], [0, 1], [1, 0.05]]
    data = data_of([[1, 0.1], [0.1, 1], [1, 0]], truth, texts, np.eye(2))
    of_label = cluster_by_vectors(data.labels, data.source, data.source.first, 2, seed=0).of_label
    assert of_label[3] in (of_label[0], of_label[2]) and (of_label == of_label[1]).sum() == 2


def test_before_anything_is_learned_labels_cluster_by_the_words_of_their_documents():
    """c_l = Σ x_i: (1, 0), (0, 1), (1, 0.2) and (0.1, 1); their texts would pair them otherwise."""
    documents, texts = [[1, 0], [0, 1], [1, 0.2], [0.1, 1]], [[1, 0], [1, 0], [0, 1], [0, 1]]
    data = data_of(documents, np.eye(4), texts, np.eye(2))
    corpus = Corpus(Documents(features=csr(documents)), data.labels, LabelSet.of("abcd"))
    of_label = cluster_by_words(corpus, data.source, 2, seed=0).of_label
    assert of_label[0] == of_label[2] != of_label[1] == of_label[3]


# -- shortlist and prediction --------------------------------------------------------------------------------------


def test_recall_counts_true_labels_in_the_clusters_opened_so_far():
    """Documents with labels {0, 2} and {1}: first clusters hold 1 of 3 labels, both hold all 3."""
    held = recall_at(np.array([[0, 1], [0, 1]]), csr([[1, 0, 1], [0, 1, 0]]), TWO)
    np.testing.assert_allclose(held, [1 / 3, 1.0])


@pytest.mark.parametrize(("recall", "beam"), [(0.3, 1), (0.9, 2)])
def test_the_beam_is_as_small_as_the_recall_allows(recall: float, beam: int):
    read, truth = rows_of(csr([[1, 0], [1, 0]])), csr([[1, 0, 1], [0, 1, 0]])
    shortlister = Scorer(PLAIN, LabelRows(np.array([[2, 0], [1, 0]], np.float32), np.zeros(2, np.float32)))
    assert shortlists(read, truth, TWO, shortlister, recall).shape == (2, beam)
    easy = csr([[0, 0, 1], [0, 0, 1]])  # the first cluster holds all
    assert [shortlists(read, easy, TWO, shortlister, share).shape[1] for share in (0.99, 1.0)] == [1, 2]


def test_a_score_is_the_product_of_label_and_cluster():
    """x̂ = (1, 0); clusters score 2 and 1, labels 2, 0, 1 score 0.5, 1 and −1."""
    shortlister = Scorer(PLAIN, LabelRows(np.array([[2, 9], [1, 9]], np.float32), np.zeros(2, np.float32)))
    ranker = Scorer(PLAIN, LabelRows(np.array([[0.5, 9], [1, 9], [-1, 9]], np.float32), np.zeros(3, np.float32), TWO))
    answer = Instance(shortlister, ranker, beam=2, belief_weight=1.0).rank(rows_of(csr([[1, 0]])), k=3)
    expected = {2: sigmoid(2) * sigmoid(0.5), 0: sigmoid(1) * sigmoid(1), 1: sigmoid(1) * sigmoid(-1)}
    assert answer.labels.tolist() == [[2, 0, 1]]
    np.testing.assert_allclose(answer.scores[0], [expected[label] for label in (2, 0, 1)], rtol=1e-6)


def test_clusters_and_labels_are_each_scored_by_their_own_encoder():
    """x̂ is (1, 0) to clusters, which score 2 and 1, and (2, 0) to labels: 2, 0, 1 score 1, 2 and −2."""
    shortlister = Scorer(PLAIN, LabelRows(np.array([[2, 9], [1, 9]], np.float32), np.zeros(2, np.float32)))
    own = replace(PLAIN, vectors=2 * PLAIN.vectors)
    ranker = Scorer(own, LabelRows(np.array([[0.5, 9], [1, 9], [-1, 9]], np.float32), np.zeros(3, np.float32), TWO))
    answer = Instance(shortlister, ranker, beam=2, belief_weight=1.0).rank(rows_of(csr([[1, 0]])), k=3)
    expected = [sigmoid(2) * sigmoid(1), sigmoid(1) * sigmoid(2), sigmoid(1) * sigmoid(-2)]
    assert answer.labels[0, 2] == 1 and set(answer.labels[0, :2].tolist()) == {0, 2}
    np.testing.assert_allclose(answer.scores[0], expected, rtol=1e-6)


def test_biases_count_and_a_weighed_cluster_counts_for_less():
    """x̂ = (1, 0); clusters score 2 + 1 and 1 − 1, labels 2, 0, 1 score 0.5 − 2, 1 + 1 and −1 + 0.5; weight ¼."""
    shortlister = Scorer(PLAIN, LabelRows(np.array([[2, 9], [1, 9]], np.float32), np.array([1, -1], np.float32)))
    ranker = Scorer(
        PLAIN, LabelRows(np.array([[0.5, 9], [1, 9], [-1, 9]], np.float32), np.array([-2, 1, 0.5], np.float32), TWO)
    )
    answer = Instance(shortlister, ranker, beam=2, belief_weight=0.25).rank(rows_of(csr([[1, 0]])), k=3)
    expected = [sigmoid(2) * 0.5**0.25, sigmoid(-0.5) * 0.5**0.25, sigmoid(-1.5) * sigmoid(3) ** 0.25]
    assert answer.labels.tolist() == [[0, 1, 2]]
    np.testing.assert_allclose(answer.scores[0], expected, rtol=1e-6)


def test_labels_outside_the_opened_clusters_are_not_ranked():
    shortlister = Scorer(PLAIN, LabelRows(np.array([[2, 9], [1, 9]], np.float32), np.zeros(2, np.float32)))
    ranker = Scorer(PLAIN, LabelRows(np.ones((3, 2), np.float32), np.zeros(3, np.float32), TWO))
    assert Instance(shortlister, ranker, beam=1, belief_weight=1.0).rank(
        rows_of(csr([[1, 0]])), k=2
    ).labels.tolist() == [[2, -1]]


# -- the loss ------------------------------------------------------------------------------------------------------


class Weight(torch.nn.Module):
    """An encoder that says the weight of a document's only token; label texts it does not read."""

    def with_labels(self, texts: BagTexts) -> tuple[torch.Tensor, None]:
        return texts.weights[: texts.documents, None], None

    def drop(self, vectors: torch.Tensor) -> torch.Tensor:
        return vectors


def network_of_logits() -> Network:
    """⟨x̂, w⟩ + bias is 1·w − 4 for the only token's weight 1; rows 2, 4, 6 by refinement alone."""
    labels = LearningRows(3, torch.tensor([[2.0], [4.0], [6.0]]))
    return Network(Weight(), labels, one_label("both").meetings, None).eval()


def two_documents(truth: list, negatives: int, *more: object) -> Meetings:
    return meetings_of(data_of([[1], [1]], truth, [[1]] * len(truth[0]), [[1]]), negatives, *more)


def test_the_loss_of_a_document_is_logistic_and_summed_over_the_labels_it_meets():
    """ℓ = ln(1 + e^(−y·s)) with s = −2, 0, 2 and y = −1, +1, −1."""
    meetings = two_documents([[0, 1, 0], [1, 0, 1]], 0)
    loss = network_of_logits().loss(meetings.batch(np.array([0]), np.random.default_rng(0)))
    assert loss.item() == pytest.approx(math.log(1 + math.exp(-2)) + math.log(2) + math.log(1 + math.exp(2)), abs=1e-5)


def test_the_loss_of_a_batch_is_the_mean_over_its_documents():
    """Scores −2, 0, 2 for both; the first has the middle label, the second the last."""
    meetings = two_documents([[0, 1, 0], [0, 0, 1]], 0)
    loss = network_of_logits().loss(meetings.batch(np.array([0, 1]), np.random.default_rng(0)))
    wrong, right = math.log(1 + math.exp(2)), math.log(1 + math.exp(-2))
    assert loss.item() == pytest.approx((right + math.log(2) + wrong + right + math.log(2) + right) / 2, abs=1e-5)


def test_on_its_own_shortlist_a_document_meets_only_the_labels_of_its_clusters():
    """[L̃]: clusters {0} and {1, 2}; the document opened the second, so label 0 is not in the sum."""
    starts, opened = np.array([0, 1, 3]), np.array([[1], [1]], np.int32)
    meetings = two_documents([[1, 1, 0], [0, 0, 1]], 0, starts, opened)
    batch = meetings.batch(np.array([0]), np.random.default_rng(0))
    assert batch.candidates[batch.shortlist[0]].tolist() == [1, 2] and batch.targets.tolist() == [[1, 0]]
    assert network_of_logits().loss(batch).item() == pytest.approx(math.log(2) + math.log(1 + math.exp(2)), abs=1e-5)


def test_a_label_that_no_document_has_is_nobodys_hard_negative():
    truth, starts, opened = [[1, 0, 0, 0], [0, 0, 0, 1]], np.array([0, 2, 4]), np.array([[0], [1]], np.int32)
    pool = np.array([[0, 1], [2, 3]], np.int32)
    meetings = two_documents(truth, 2, starts, opened, pool)
    for seed in range(5):  # two documents bring too few hard negatives for an easy one
        batch = meetings.batch(np.array([0, 1]), np.random.default_rng(seed))
        assert batch.candidates.tolist() == [0, 3]


def test_shared_candidates_hold_every_true_label_and_meet_every_document():
    truth, starts, opened = [[1, 0, 0, 0], [0, 0, 0, 1]], np.array([0, 2, 4]), np.array([[0], [1]], np.int32)
    meetings = two_documents(truth, 2, starts, opened, np.array([[1], [2]], np.int32))
    batch = meetings.batch(np.array([0, 1]), np.random.default_rng(0))
    assert {0, 3} <= set(batch.candidates.tolist()) and batch.shortlist is None
    assert batch.targets.sum(1).tolist() == [1, 1] and batch.targets.shape == (2, len(batch.candidates))
