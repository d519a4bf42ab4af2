"""GUDN's equations, each worked by hand on numbers small enough to check with a pencil; then its variants."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from longtail import fit
from longtail.corpus import PAD, Corpus, Label, LabelSet, Splits, Texts
from longtail.encoders.learn.batches import Labelled, TokenInput, TokenTexts
from longtail.encoders.learn.encoder import NamedBags, NamedTokens
from longtail.encoders.pretrained import Pooler
from longtail.encoders.transformer import Pieces
from longtail.errors import ConfigError
from longtail.features.tokens import Subwords, Tokens
from longtail.index.clusters import Clusters
from longtail.methods.gudn import Config, as_words, warn_of_symbols
from longtail.methods.gudn.ablations import GuidedByOneHot, GuidedByPooler, OneHot
from longtail.methods.gudn.learn import (
    TEMPERATURE,
    Guided,
    NamedBatch,
    NamedBatches,
    contrast_loss,
    feature_loss,
    share_labels,
)
from longtail.methods.shared.clustered.learn import Network
from longtail.rankers.clustered import each_its_own
from longtail.rankers.learn.clustered import Heads, LearningDiscriminator
from longtail.train.run import Run
from tests.tiny_encoders import write_encoder


def softplus(x: float) -> float:
    """−log σ(−x)."""
    return math.log(1 + math.exp(x))


class Table(nn.Module):
    """An encoder that knows its first token's vector by heart: 1 is (1, 2), 2 is (3, −1)."""

    def __init__(self) -> None:
        super().__init__()
        self.vectors = nn.Parameter(torch.tensor([[0.0, 0.0], [1.0, 2.0], [3.0, -1.0]]))
        self.drop = nn.Identity()

    def forward(self, texts: TokenInput) -> Tensor:
        return self.vectors[texts.ids[:, 0]]


def guided(feature: float, link: bool, one_hot: OneHot | None = None, guide_by: str = "distance") -> Guided:
    """Two labels whose logits are the two numbers of a vector."""
    heads = Heads(2, each_its_own(2), 1, None)
    heads.generator.weight.data, heads.generator.bias.data = torch.eye(2), torch.zeros(2)
    config = Config(feature_guide=feature, guide_by=guide_by)
    network = Network(Table(), heads)
    return Guided(network, config, link) if one_hot is None else GuidedByOneHot(network, one_hot, config)


def batch_of(positives: list[list[int]]) -> NamedBatch:
    """Texts are token 1, joined label names token 2."""
    one, true = torch.ones(len(positives), 1).long(), torch.tensor(positives)
    return NamedBatch(TokenInput(one, one[:, 0]), TokenInput(2 * one, one[:, 0], uneven=True), true, true)


CLASS = softplus(-1) + softplus(2)  # E_t = (1, 2), label 0 is true
LINK = softplus(-3) + softplus(-1)  # E_l = (3, −1)
FEATURE = (2**2 + 3**2) / 2


# -- the equations -------------------------------------------------------------------------------------------------


def test_the_feature_guide_is_half_the_squared_distance_of_text_and_labels():
    """(2): 1/2n Σ ‖E_t − E_l‖² of (1, 2), (3, −1) and of two equal vectors."""
    texts, labels = torch.tensor([[1.0, 2.0], [5.0, 5.0]]), torch.tensor([[3.0, -1.0], [5.0, 5.0]])
    assert feature_loss(texts, labels).item() == pytest.approx(FEATURE / 2)


def test_a_centred_feature_guide_leaves_out_what_all_texts_differ_by():
    """Distances (−2, 3) and (0, 0) have the mean (−1, 1.5): half of it is left of each, ¼ of the square."""
    texts, labels = torch.tensor([[1.0, 2.0], [5.0, 5.0]]), torch.tensor([[3.0, -1.0], [5.0, 5.0]])
    assert feature_loss(texts, labels, centred=True).item() == pytest.approx(FEATURE / 4)
    assert feature_loss(texts + 7, labels - 2, centred=True).item() == pytest.approx(FEATURE / 4)
    assert feature_loss(texts[:1], labels[:1], centred=True).item() == pytest.approx(FEATURE)  # one is no crowd


def test_a_contrasting_guide_asks_each_text_to_find_its_own_label_names():
    """Minus their means, texts are ±(1, −½) and names ±(1, −2): a text has the cosine 0.8 with its names, else −0.8."""
    texts, labels = torch.tensor([[2.0, 0.0], [0.0, 1.0]]), torch.tensor([[5.0, 0.0], [3.0, 4.0]])
    labels = torch.stack([labels[1], labels[0]])  # the names of the other: cosines −0.8 and 0.8
    wrong = softplus((0.8 + 0.8) / TEMPERATURE)  # of each text and of each name
    apart = torch.tensor([[0, PAD], [1, 2]])
    assert contrast_loss(texts, labels, apart).item() == pytest.approx(wrong, rel=1e-5)
    # Documents of the same label are not told apart, and moving all texts alike changes nothing.
    assert contrast_loss(texts, labels, torch.tensor([[0, 1], [1, PAD]])).item() == 0
    assert contrast_loss(texts + 7, labels - 2, apart).item() == pytest.approx(wrong, rel=1e-5)
    # Of three texts and their own names, each centred by itself.
    texts, labels = (
        torch.tensor([[2.0, 0.0], [0.0, 2.0], [-2.0, -2.0]]),
        torch.tensor([[2.0, 0.0], [0.0, 1.0], [1.0, 2.0]]),
    )
    cosines = F.normalize(texts) @ F.normalize(labels - 1).T / TEMPERATURE
    expected = (F.cross_entropy(cosines, torch.arange(3)) + F.cross_entropy(cosines.T, torch.arange(3))) / 2
    assert contrast_loss(texts, labels, torch.tensor([[0], [1], [2]])).item() == pytest.approx(
        expected.item(), rel=1e-5
    )


def test_documents_that_share_a_label_are_known():
    share = share_labels(torch.tensor([[0, 3], [3, PAD], [1, PAD], [PAD, PAD]]))
    assert share.int().tolist() == [[1, 1, 0, 0], [1, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 0]]


def test_the_contrast_takes_the_place_of_the_distance():
    """Token 1 twice beside token 2 twice: no text tells its names from the other's, log 2 each way."""
    loss = guided(3, False, guide_by="contrast").loss(batch_of([[0], [1]])).item()
    assert loss == pytest.approx((CLASS + softplus(1) + softplus(-2)) / 2 + 3 * math.log(2), abs=1e-5)


def test_the_link_guide_asks_for_no_label_whose_name_was_not_read():
    """Of labels 0 and 1 the name of label 0 was read: E_l is to be label 0 and not label 1."""
    batch = replace(batch_of([[0, 1]]), named=torch.tensor([[0, PAD]]))
    both = softplus(-1) + softplus(-2)
    assert guided(0, True).loss(batch).item() == pytest.approx(both + LINK, abs=1e-5)


def test_the_ranking_loss_is_binary_cross_entropy_of_the_text():
    """(5), and Table 3's first row: without guides nothing else is in the loss."""
    assert guided(0, False).loss(batch_of([[0]])).item() == pytest.approx(CLASS, abs=1e-5)


def test_the_link_guide_is_binary_cross_entropy_of_the_label_names_by_the_same_classifier():
    """(3), and Table 3's GUD-L."""
    assert guided(0, True).loss(batch_of([[0]])).item() == pytest.approx(CLASS + LINK, abs=1e-5)


def test_the_feature_guide_alone_is_gud_f():
    assert guided(1, False).loss(batch_of([[0]])).item() == pytest.approx(CLASS + FEATURE, abs=1e-5)


def test_the_loss_is_the_sum_of_all_three_each_with_its_weight():
    """(4) and (6)."""
    assert guided(1, True).loss(batch_of([[0]])).item() == pytest.approx(CLASS + FEATURE + LINK, abs=1e-5)
    assert guided(0.5, True).loss(batch_of([[0]])).item() == pytest.approx(CLASS + 0.5 * FEATURE + LINK, abs=1e-5)


def test_guides_that_fade_lose_their_strength_evenly_and_then_are_not_read(monkeypatch: pytest.MonkeyPatch):
    """Gone after half of the training: all of both at its beginning, a fifth after four tenths of it."""
    network = guided(1, True)
    network.config = replace(network.config, guide_until=0.5)
    for done, left in ((0.0, 1.0), (0.25, 0.5), (0.4, 0.2), (0.1, 0.8)):
        network.start_batch(done)
        assert network.loss(batch_of([[0]])).item() == pytest.approx(CLASS + left * (FEATURE + LINK), abs=1e-5)
    monkeypatch.setattr(network, "read_labels", lambda batch: pytest.fail("label names were read for nothing"))
    for done in (0.5, 0.9):
        network.start_batch(done)
        assert network.loss(batch_of([[0]])).item() == pytest.approx(CLASS, abs=1e-5)


def test_guides_stay_unless_they_are_to_fade():
    network = guided(1, True)
    network.start_batch(0.9)
    assert network.loss(batch_of([[0]])).item() == pytest.approx(CLASS + FEATURE + LINK, abs=1e-5)
    off = guided(0, False)
    off.config = replace(off.config, guide_until=0.5)
    off.start_batch(0.1)
    assert off.loss(batch_of([[0]])).item() == pytest.approx(CLASS, abs=1e-5)


@pytest.mark.parametrize("share", [0.0, -0.5, 1.5])
def test_guides_fade_over_a_share_of_the_training(share: float):
    with pytest.raises(ConfigError, match="guide_until is a share of the training"):
        Config(guide_until=share)


def test_both_sides_of_the_feature_guide_learn():
    """No stop-gradient: text and label names move towards each other."""
    network = guided(1, False)
    network.loss(batch_of([[0]])).backward()
    assert network.network.encoder.vectors.grad[1:].abs().min() > 0


def test_a_document_without_labels_has_no_guide():
    """Its text is still classified: −log(1 − σ(1)) − log(1 − σ(2))."""
    both = guided(1, True).loss(batch_of([[0], [PAD]])).item()
    assert both == pytest.approx((CLASS + softplus(1) + softplus(2)) / 2 + FEATURE + LINK, abs=1e-5)
    alone = guided(1, True).loss(batch_of([[PAD]])).item()
    assert alone == pytest.approx(softplus(1) + softplus(2), abs=1e-5)


def test_one_hot_labels_go_through_a_linear_layer():
    """Table 4: E_l = Σ of the labels' rows = (1, 1) + (2, −2); FEATURE is ½‖(1, 2) − (3, −1)‖²."""
    one_hot = OneHot(3, 2)
    one_hot.rows.data = torch.tensor([[1.0, 1.0], [2.0, -2.0], [9.0, 9.0]])
    assert one_hot(torch.tensor([[0, 1], [2, PAD], [PAD, PAD]])).tolist() == [[3.0, -1.0], [9.0, 9.0], [0.0, 0.0]]
    loss = guided(1, False, one_hot).loss(batch_of([[0, 1]]))
    assert loss.item() == pytest.approx(softplus(-1) + softplus(-2) + FEATURE, abs=1e-5)
    loss.backward()
    assert one_hot.rows.grad.coalesce().indices()[0].tolist() == [0, 1]


def test_the_pooler_of_the_authors_code_compares_what_it_makes_of_the_last_layer():
    """Mean over dimensions of (tanh(W e_t + b) − tanh(W e_l + b))², e_t = (1, 2), e_l = (3, −1), W = 1, b = (0, 1)."""
    plain = guided(1, False)
    pooler = Pooler(np.eye(2, dtype=np.float32), np.float32([0, 1]))
    by_pooler = GuidedByPooler(plain.network, pooler, plain.config, False)
    expected = ((math.tanh(1) - math.tanh(3)) ** 2 + (math.tanh(3) - math.tanh(0)) ** 2) / 2
    loss = by_pooler.loss(batch_of([[0]]))
    assert loss.item() == pytest.approx(CLASS + expected, abs=1e-5)
    loss.backward()
    assert by_pooler.pooler.weight.grad.abs().sum() > 0


def test_the_pooler_reads_the_last_cls_and_nothing_else():
    with pytest.raises(ConfigError, match=r"transformer\.pool = cls"):
        Config(guide_by="pooler", encoder="bert-base-uncased")


def test_with_clusters_both_readings_choose_their_own_candidates(monkeypatch: pytest.MonkeyPatch):
    """Text (1, 2) opens the second cluster, label names (3, −1) the first."""
    clusters, opened = Clusters(np.arange(4, dtype=np.int32), np.array([0, 2, 4])), []
    network = guided(0, True)
    heads = Heads(2, clusters, 1, LearningDiscriminator(2, 2, clusters))
    heads.generator.weight.data, heads.generator.bias.data = torch.eye(2), torch.zeros(2)
    monkeypatch.setattr(heads.discriminator, "loss", lambda x, chosen, _: opened.append(chosen.tolist()) or x.sum())
    network.network.heads = heads
    network.loss(batch_of([[0]]))
    assert opened == [[[1]], [[0]]]


# -- label names ---------------------------------------------------------------------------------------------------

PIECES = Pieces(Subwords({}), before=(101,), behind=(102,), pad=0, first=True, segment=0, max_tokens=5, longest=8)


def named(labels: list[list[int]]) -> NamedBatches:
    """Label l is called by the tokens 10·l and 10·l + 1."""
    names = Tokens.of([10 * label, 10 * label + 1] for label in range(4))
    rows = sp.csr_array(np.array(labels, np.float32))
    texts = TokenTexts(Tokens(np.arange(len(labels)), np.arange(len(labels) + 1)), pad=0)
    return NamedBatches(Labelled(texts, rows), NamedTokens(names, PIECES))


def test_label_names_are_joined_framed_and_cut():
    batch = named([[0, 1, 0, 0], [0, 0, 1, 1], [0, 0, 0, 0]]).batch(np.arange(3), np.random.default_rng(0))
    assert batch.names.ids[0].tolist() == [101, 10, 11, 102] and batch.names.lengths.tolist() == [4, 4, 2]
    # There is room for three tokens, so for one name of two, and the other label is not asked for.
    label = int(batch.named[1, 0])
    assert batch.names.ids[1].tolist() == [101, 10 * label, 10 * label + 1, 102] and label in (2, 3)
    assert batch.names.ids[2].tolist() == [101, 102, 0, 0]
    assert batch.named.tolist() == [[1, PAD], [label, PAD], [PAD, PAD]]
    assert batch.positives.tolist() == [[1, PAD], [2, 3], [PAD, PAD]]
    assert batch.names.uneven, "names are short or long, whatever the texts"


def test_label_names_of_a_bag_are_added_up_whichever_order_they_have_and_none_is_cut():
    """Names (1, 0), (0, 1) and (0.6, 0.8): of labels 0 and 1 together (1, 1) / √2."""
    bags = sp.csr_array(np.array([[1, 0], [0, 1], [0.6, 0.8]], np.float32))
    names, rows = NamedBags(bags), sp.csr_array(np.array([[1, 1, 0], [0, 0, 1], [0, 0, 0]], np.float32))
    batches = NamedBatches(Labelled(TokenTexts(Tokens.of([[1], [2], [3]]), pad=0), rows), names)
    batch = batches.batch(np.arange(3), np.random.default_rng(0))
    assert batch.names.documents == 3 and batch.names.starts.tolist() == [0, 2, 4, 4]
    np.testing.assert_allclose(batch.names.weights, [0.5**0.5, 0.5**0.5, 0.6, 0.8], rtol=1e-6)
    assert sorted(batch.named[0].tolist()) == [0, 1] and batch.named[1:].tolist() == [[2, PAD], [PAD, PAD]]


def test_one_name_is_read_however_long_it_is():
    batches = replace(named([[1, 0, 0, 0]]), names=NamedTokens(Tokens.of([[7, 8, 9, 10, 11]] * 4), PIECES))
    batch = batches.batch(np.arange(1), np.random.default_rng(0))
    assert batch.names.ids.tolist() == [[101, 7, 8, 9, 102]] and batch.named.tolist() == [[0]]


def test_more_tokens_of_label_names_than_the_encoder_can_read_are_refused(planted: Splits, tiny_encoder: Path):
    with pytest.raises(ConfigError, match="600 tokens of a text: this encoder reads at most 512"):
        fit("gudn", planted.train, encoder=str(tiny_encoder), **(QUICK | {"label_tokens": 600}))


def test_label_names_stand_in_an_order_that_the_seed_draws():
    batches = named([[1, 1, 1, 1]])
    batches = replace(batches, names=replace(batches.names, pieces=replace(PIECES, max_tokens=12, longest=12)))

    def drawn() -> set[tuple[int, ...]]:
        chances = map(np.random.default_rng, range(20))
        return {tuple(batches.batch(np.arange(1), chance).names.ids[0].tolist()) for chance in chances}

    orders, again = drawn(), drawn()
    assert len(orders) > 5 and orders == again


def test_names_are_read_as_words_in_the_middle_of_a_text():
    assert list(as_words(Texts.of(["ec_agreement", "tax"]))) == [" ec agreement", " tax"]


@pytest.mark.parametrize(
    ("names", "warned"),
    [
        (["08P01B", "++++", "17"], True),
        (["L1", "L2", "3", "fox"], True),
        (["fox", "deep sea", "42"], False),
        (["狐", "海", "7"], False),
        (["été", "Öl", "7"], False),
    ],
)
def test_labels_whose_names_hold_no_words_are_warned_about(names: list[str], warned: bool, tmp_path: Path):
    with (tmp_path / "log").open("w") as log:
        run = Run(tmp_path, log)
        if warned:
            with pytest.warns(UserWarning, match="label names hold no word"):
                warn_of_symbols(LabelSet.of(names), run)
        else:
            warn_of_symbols(LabelSet.of(names), run)
    assert ("warning" in (tmp_path / "log").read_text()) == warned


def test_somebody_who_watches_is_told_instead_of_warned(tmp_path: Path, recwarn: pytest.WarningsRecorder):
    said: list[str] = []
    with (tmp_path / "log").open("w") as log:
        warn_of_symbols(LabelSet.of(Label(f"{at}", f"{at}") for at in range(3)), Run(tmp_path, log, said.append))
    assert len(said) == 1 and "give the labels names" in said[0] and not recwarn.list


def test_a_negative_weight_is_refused():
    with pytest.raises(ConfigError, match="feature_guide"):
        Config(feature_guide=-1)


# -- with a tiny transformer ---------------------------------------------------------------------------------------

QUICK = {
    "transformer.max_tokens": 16, "transformer.word_lr": 2e-3, "dropout": 0.2, "eps": 1e-8, "optim.row_lr": 1e-2,
    "optim.lr": 2e-3, "optim.batch_size": 16, "valid_documents": 0, "optim.epochs": 1,
}  # fmt: skip


def test_nothing_of_the_guide_is_left_in_the_model(planted: Splits, tiny_encoder: Path):
    """Fields and shapes are those of a LightXML model, whatever guided it."""
    models = [
        fit(name, planted.train, encoder=str(tiny_encoder), **QUICK).model
        for name in ("gudn", "gudn/one-hot", "lightxml")
    ]
    shapes = [
        {
            **{name: array.shape for name, array in model.encoder.weights.items()},
            "heads": model.heads.generator.rows.shape,
        }
        for model in models
    ]
    assert type(models[0]) is type(models[2]) and shapes[0] == shapes[1] == shapes[2]


def test_a_guide_by_pooler_trains_and_one_without_pretrained_pooler_is_refused(
    planted: Splits, tiny_encoder: Path, tmp_path: Path
):
    released = QUICK | {"guide_by": "pooler", "transformer.pool": "cls"}
    model = fit("gudn", planted.train, encoder=str(tiny_encoder), **released).model
    assert not any("pooler" in name for name in model.encoder.weights)
    write_encoder(tmp_path / "distilbert", ["red", "fox"], "distilbert", hidden=16, layers=2)
    with pytest.raises(ConfigError, match="no pretrained pooler"):
        fit("gudn", planted.train, encoder=str(tmp_path / "distilbert"), **released)


def test_without_guides_it_is_lightxml(planted: Splits, tiny_encoder: Path):
    """Table 3's BERT: the same network from the same seed, so the same ranking to the last bit."""
    one = fit("gudn/no-guide", planted.train, encoder=str(tiny_encoder), **(QUICK | {"label_start": "random"}))
    other = fit("lightxml", planted.train, encoder=str(tiny_encoder), **QUICK)
    assert np.array_equal(*(model.rank(planted.test.documents, 10).scores for model in (one, other)))


def test_large_label_sets_learn_on_clusters(planted: Splits, tiny_encoder: Path):
    clusters = {"one_vs_all_up_to": 0, "labels_per_cluster": 8, "beam": 6, "optim.epochs": 6}
    model = fit("gudn", planted.train, encoder=str(tiny_encoder), **(QUICK | clusters))
    assert model.model.heads.discriminator is not None
    truth, first = planted.test.labels, model.rank(planted.test.documents, 1).labels[:, 0]
    right = [label in truth.indices[truth.indptr[row] : truth.indptr[row + 1]] for row, label in enumerate(first)]
    assert np.mean(right) > 0.8


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_a_training_killed_in_the_middle_of_an_epoch_ends_with_the_same_ranking(
    precision: str, planted: Splits, tiny_encoder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(Run, "checkpoint_every", 0)
    monkeypatch.setattr("os.fsync", lambda handle: None)
    settings = QUICK | {"encoder": str(tiny_encoder), "optim.precision": precision, "guide_until": 0.9}
    whole = fit("gudn", planted.train, run=tmp_path / "whole", **settings)
    learn, steps = Guided.loss, []

    def dying(self: Guided, batch: object) -> Tensor:
        steps.append(batch)
        if len(steps) == 20:
            raise KeyboardInterrupt
        return learn(self, batch)

    monkeypatch.setattr(Guided, "loss", dying)
    with pytest.raises(KeyboardInterrupt):
        fit("gudn", planted.train, run=tmp_path / "killed", **settings)
    resumed = fit("gudn", planted.train, run=tmp_path / "killed", **settings)
    one, other = (model.rank(planted.test.documents, 10) for model in (whole, resumed))
    assert np.array_equal(one.labels, other.labels) and np.array_equal(one.scores, other.scores)


def test_a_corpus_of_symbols_trains_with_a_warning(tiny_encoder: Path):
    corpus = Corpus.of(["babadu"] * 8, [["1"], ["2"]] * 4)
    with pytest.warns(UserWarning, match="will not do better than lightxml"):
        fit("gudn", corpus, encoder=str(tiny_encoder), **QUICK)
