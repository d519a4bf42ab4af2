"""LightXML's equations, each worked by hand on numbers small enough to check with a pencil; then its variants."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from longtail import fit
from longtail.corpus import PAD, Corpus, Documents, Splits, Texts
from longtail.encoders.learn.transformer import LearningTransformer
from longtail.encoders.pretrained import pretrained
from longtail.encoders.transformer import Transformer, TransformerReading, center_of
from longtail.errors import ConfigError
from longtail.index.clusters import Clusters
from longtail.methods.lightxml.ablations import Ranker
from longtail.methods.lightxml.settings import Config
from longtail.methods.shared.clustered.learn import Network
from longtail.methods.shared.clustered.stages import clusters_of
from longtail.methods.shared.preparation import held_out
from longtail.rankers.clustered import Bottleneck, Clustered, Discriminator, each_its_own
from longtail.rankers.label_rows import LabelRows
from longtail.rankers.learn.clustered import Heads, LearningDiscriminator
from longtail.ranking import Ranking
from longtail.train.run import Run
from longtail.train.settings import Optim
from tests.planted import WORDS, word
from tests.tiny_encoders import write_encoder

TWO = Clusters(np.array([2, 0, 1], np.int32), np.array([0, 1, 3]))  # {2}, {0, 1}


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def softplus(x: float) -> float:
    """−log σ(−x)."""
    return math.log(1 + math.exp(x))


def heads_of(beam: int) -> Heads:
    """e = (1, 2): clusters score 1 and 2; the narrow view is −e; labels 2, 0, 1 look for (1, 0), (0, 1), (1, 1)."""
    heads = Heads(2, TWO, beam, LearningDiscriminator(2, 2, TWO))
    heads.generator.weight.data, heads.generator.bias.data = torch.eye(2), torch.zeros(2)
    heads.discriminator.bottleneck.weight.data, heads.discriminator.bottleneck.bias.data = -torch.eye(2), torch.zeros(2)
    heads.discriminator.labels.table.data = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    heads.discriminator.labels.biases.data.zero_()
    return heads


E = torch.tensor([[1.0, 2.0]])
TRUE = torch.tensor([[2, PAD]])  # label 2 of the first cluster

# -- text vectors ----------------------------------------------------------------------------------------------------


def learning(start: Transformer, dropout: float = 0.1) -> LearningTransformer:
    return LearningTransformer(start, TransformerReading(), dropout)


@pytest.mark.parametrize("layers", [2, 5])  # the tiny encoder has two
def test_centred_vectors_of_the_texts_they_were_centred_by_have_no_mean(layers: int, tiny_encoder: Path):
    start = replace(pretrained(str(tiny_encoder), 16), layers=layers)
    texts = Texts.of([f"{word(at)} {word(at + 1)}" for at in range(20)])
    center = center_of(start, texts, seed=0)
    raw, centred = (
        np.concatenate([vectors for _, vectors in learning(each).export().batches(Documents(texts))])
        for each in (start, replace(start, center=center))
    )
    assert np.abs(raw.mean(axis=0)).max() > 0.1
    np.testing.assert_allclose(centred, raw - center, atol=1e-5)
    np.testing.assert_allclose(centred.mean(axis=0), 0, atol=1e-5)


# -- the equations -------------------------------------------------------------------------------------------------


def test_the_generators_loss_is_binary_cross_entropy_over_clusters():
    """(1): y_g = (1, 0), logits 1 and 2: −log σ(1) − log(1 − σ(2))."""
    heads = heads_of(1)
    heads.discriminator = None
    assert heads.loss(E, TRUE).item() == pytest.approx(softplus(-1) + softplus(2), abs=1e-5)


def test_candidates_are_labels_of_the_top_clusters_and_every_true_label():
    """(2): the second cluster is opened, labels 0 and 1; label 2 is true, so it is added."""
    heads = heads_of(1)
    opened = heads.opened(heads.generator(E))
    met = heads.discriminator.candidates(opened.numpy(), TRUE.numpy())
    assert opened.tolist() == [[1]]
    assert TWO.labels[met.labels[met.shortlist[0]]].tolist() == [2, 0, 1] and met.targets.tolist() == [[1, 0, 0]]


def test_the_discriminators_loss_is_binary_cross_entropy_over_candidates():
    """(3)-(5): ⟨E_l, −e⟩ = −1, −2, −3 for labels 2, 0, 1, and only label 2 is true."""
    loss = heads_of(1).discriminator.loss(E, torch.tensor([[1]]), TRUE)
    assert loss.item() == pytest.approx(softplus(1) + softplus(-2) + softplus(-3), abs=1e-5)


def test_the_loss_is_the_sum_of_both():
    """(6), the mean over two equal documents."""
    expected = softplus(-1) + softplus(2) + softplus(1) + softplus(-2) + softplus(-3)
    assert heads_of(1).loss(E.repeat(2, 1), TRUE.repeat(2, 1)).item() == pytest.approx(expected, abs=1e-5)


def test_a_score_is_the_product_of_label_and_cluster():
    """σ(label)·σ(cluster): label 2 in cluster 1, labels 0 and 1 in cluster 2."""
    ranking = heads_of(2).export().rank(E.numpy(), 3)
    expected = {2: sigmoid(-1) * sigmoid(1), 0: sigmoid(-2) * sigmoid(2), 1: sigmoid(-3) * sigmoid(2)}
    assert ranking.labels.tolist() == [sorted(expected, key=expected.__getitem__, reverse=True)]
    np.testing.assert_allclose(ranking.scores[0], sorted(expected.values(), reverse=True), rtol=1e-5)


def test_labels_of_clusters_that_stay_closed_are_not_ranked():
    assert heads_of(1).export().rank(E.numpy(), 3).labels.tolist() == [[0, 1, PAD]]


def test_the_generator_learns_from_its_own_loss_alone():
    """Candidates are a lookup: the discriminator's loss leaves no gradient in the generator."""
    heads = heads_of(1)
    heads.loss(E, TRUE).backward()
    alone = heads_of(1)
    alone.discriminator = None
    alone.loss(E, TRUE).backward()
    torch.testing.assert_close(heads.generator.weight.grad, alone.generator.weight.grad)


def test_negatives_follow_the_generator():
    """Dynamic sampling: when the generator changes its mind, the same document meets other labels."""
    heads = heads_of(1)
    before = heads.opened(heads.generator(E)).tolist()
    heads.generator.weight.data = torch.tensor([[3.0, 0.0], [0.0, 1.0]])
    assert before == [[1]] and heads.opened(heads.generator(E)).tolist() == [[0]]


def test_a_small_label_set_is_plain_one_vs_all():
    """Every label its own cluster: −log σ(1) − log(1 − σ(2)), scores σ(1), σ(2)."""
    heads = Heads(2, each_its_own(2), 5, None)
    heads.generator.weight.data, heads.generator.bias.data = torch.eye(2), torch.zeros(2)
    assert heads.loss(E, torch.tensor([[0]])).item() == pytest.approx(softplus(-1) + softplus(2), abs=1e-5)
    ranking = heads.export().rank(E.numpy(), 2)
    assert ranking.labels.tolist() == [[1, 0]]
    np.testing.assert_allclose(ranking.scores[0], [sigmoid(2), sigmoid(1)], rtol=1e-6)


def test_a_label_seldom_met_does_not_start_at_a_half():
    heads = Heads(2, TWO, 1, LearningDiscriminator(2, 2, TWO))
    assert (
        heads.generator.bias.tolist() == [-4.0, -4.0]
        and heads.discriminator.labels.biases.flatten().tolist() == [-4.0] * 3
    )


def test_clusters_start_as_likely_as_they_are():
    """One of three documents has a label of the first cluster and two of the second: odds of (n + ½) to (3 − n + ½)."""
    heads = Heads(2, TWO, 1, LearningDiscriminator(2, 2, TWO))
    first, second = TWO[0][0], TWO[1][0]
    labels = sp.csr_array(([1, 1, 1], ([0, 1, 2], [first, second, second])), shape=(3, 3))
    heads.expect(labels)
    np.testing.assert_allclose(heads.generator.bias.tolist(), np.log([1.5 / 2.5, 2.5 / 1.5]), rtol=1e-6)


# -- clusters ------------------------------------------------------------------------------------------------------


def test_labels_cluster_by_the_words_of_their_documents():
    corpus = Corpus.of(["red fox", "red wolf", "deep sea", "deep lake"], [["fox"], ["wolf"], ["sea"], ["lake"]])
    of_label = clusters_of(corpus, Config(one_vs_all_up_to=2, labels_per_cluster=2)).of_label
    by_name = dict(zip([label.name for label in corpus.label_set], of_label.tolist()))
    assert by_name["fox"] == by_name["wolf"] != by_name["sea"] == by_name["lake"]


@pytest.mark.parametrize("config", [Config(one_vs_all_up_to=3), Config(one_vs_all_up_to=0, labels_per_cluster=1)])
def test_up_to_the_threshold_every_label_is_its_own_cluster(config: Config):
    corpus = Corpus.of(["red fox", "deep sea", "tea"], [["fox"], ["sea"], ["tea"]])
    assert clusters_of(corpus, config).of_label.tolist() == [0, 1, 2]


def test_validation_is_the_official_split_cut_to_size_or_none(planted: Splits):
    official = replace(planted.train, official_valid=planted.test)
    assert [len(part) for part in held_out(official, 50, seed=0)] == [600, 50]
    assert [len(part) for part in held_out(official, 0, seed=0)] == [600, 0]


@pytest.mark.parametrize("name", ["beam", "label_dim", "labels_per_cluster", "transformer.layers"])
def test_impossible_settings_are_refused(name: str, planted: Splits):
    with pytest.raises(ConfigError, match=name):
        fit("lightxml", planted.train, **{name: 0})


@pytest.mark.parametrize("method", ["lightxml", "gudn"])
@pytest.mark.parametrize(
    ("rates", "said"),
    [
        ({"optim.row_lr": 0.0}, "row_lr = 0.* more than 0"),
        ({"optim.lr": 0.0}, "lr = 0.* more than 0"),
        ({"eps": -1e-8}, "eps = -1e-08: .*0 or more"),
        ({"dropout": 1.0}, "dropout = 1.0: it is a share"),
        ({"optim.keep": "best"}, "keep = 'best': write last, or a metric"),
    ],
    ids=str,
)
def test_impossible_rates_of_heads_are_refused(method: str, rates: dict, said: str, planted: Splits):
    with pytest.raises(ConfigError, match=said):
        fit(method, planted.train, **rates)


# -- variants and resuming, with a tiny transformer ------------------------------------------------------------------

QUICK = {
    "transformer.max_tokens": 16, "transformer.word_lr": 2e-3, "dropout": 0.2, "eps": 1e-8, "optim.row_lr": 1e-2,
    "optim.lr": 2e-3, "optim.batch_size": 16, "one_vs_all_up_to": 0, "labels_per_cluster": 8, "beam": 6,
    "label_dim": 32, "valid_documents": 0, "optim.epochs": 1,
}  # fmt: skip


def answers(
    planted: Splits, tiny_encoder: Path, run: Path | None = None, method: str = "lightxml", **settings: object
) -> Ranking:
    model = fit(method, planted.train, run=run, encoder=str(tiny_encoder), **(QUICK | settings))
    return model.rank(planted.test.documents, k=10)


@pytest.mark.parametrize("negatives", ["static", "static-twice"])
def test_static_negatives_freeze_the_text_or_read_it_twice(negatives: str, planted: Splits, tiny_encoder: Path):
    """Table 5: S has one transformer, which the discriminator leaves alone; BS has a second, which starts there."""
    trained = fit(f"lightxml/{negatives}", planted.train, encoder=str(tiny_encoder), **QUICK).model
    assert (trained.again is not None) == (negatives == "static-twice")
    if trained.again is not None:
        first, second = trained.encoder.weights, trained.again.weights
        assert any(not np.array_equal(first[name], second[name]) for name in first)


@pytest.mark.parametrize("one_vs_all_up_to", [0, 1000])
def test_labels_that_start_from_their_texts_are_found_by_them_before_anything_learns(
    one_vs_all_up_to: int, planted: Splits, tiny_encoder: Path
):
    settings = QUICK | {"one_vs_all_up_to": one_vs_all_up_to, "optim.row_lr": 1e-12, "optim.lr": 1e-12}
    settings |= {"transformer.word_lr": 1e-12}
    names = Documents(planted.train.label_set.names)
    found = {
        start: fit("lightxml", planted.train, encoder=str(tiny_encoder), label_start=start, **settings).rank(names, k=1)
        for start in ("texts", "random")
    }
    hits = {start: np.mean(ranking.labels[:, 0] == np.arange(len(names))) for start, ranking in found.items()}
    assert hits["texts"] > 0.5 and hits["random"] < 0.2


@pytest.mark.parametrize(
    ("settings", "said"),
    [({"one_vs_all_up_to": 1000}, "every label is scored"), ({"beam": 99}, "clusters are opened")],
)
def test_static_negatives_are_refused_where_there_is_nothing_to_choose(
    settings: dict, said: str, planted: Splits, tiny_encoder: Path
):
    with pytest.raises(ConfigError, match=said):
        fit("lightxml/static", planted.train, encoder=str(tiny_encoder), **(QUICK | settings))


def test_a_frozen_transformer_drops_nothing(planted: Splits, tiny_encoder: Path):
    encoder = learning(pretrained(str(tiny_encoder), 16))
    recall, opened = Network(encoder, Heads(encoder.dim, TWO, 1, None)), np.zeros((1, 1))
    ranker = Ranker(encoder, LearningDiscriminator(encoder.dim, 2, TWO), recall, opened)
    assert ranker.train().encoder.training
    encoder.requires_grad_(False)
    assert not ranker.train().encoder.training and ranker.training
    assert ranker.encoder.drop.training, "its vectors are dropped all the same"
    assert not any(part.training for part in ranker.encoder.layers.modules())


def test_static_negatives_learn_too(planted: Splits, tiny_encoder: Path):
    ranking = answers(planted, tiny_encoder, method="lightxml/static", **{"optim.epochs": 4})
    truth = planted.test.labels
    first = [
        label in truth.indices[truth.indptr[row] : truth.indptr[row + 1]]
        for row, label in enumerate(ranking.labels[:, 0])
    ]
    assert np.mean(first) > 0.5


def test_a_single_layer_makes_vectors_of_one_layer(planted: Splits, tiny_encoder: Path):
    """Figure 2."""
    wide = fit("lightxml", planted.train, encoder=str(tiny_encoder), **QUICK).model
    narrow = fit("lightxml", planted.train, encoder=str(tiny_encoder), **(QUICK | {"transformer.layers": 1})).model
    assert wide.heads.generator.rows.shape[1] == 2 * narrow.heads.generator.rows.shape[1]


def test_word_vectors_may_learn_at_a_rate_of_their_own(planted: Splits, tiny_encoder: Path):
    """After one step of Adam every word of the batch has moved by its rate, a hundred times that of the rest."""
    once = QUICK | {"optim.batch_size": 600, "optim.schedule": "constant", "optim.warmup": 0.0, "optim.lr": 1e-5}
    before = fit(
        "lightxml",
        planted.train,
        encoder=str(tiny_encoder),
        **(once | {"optim.lr": 1e-12, "transformer.word_lr": 1e-12}),
    ).model
    for rate, moved in ((None, 1e-5), (1e-3, 1e-3)):
        model = fit(
            "lightxml", planted.train, encoder=str(tiny_encoder), **(once | {"transformer.word_lr": rate})
        ).model
        apart = {name: np.abs(model.encoder.weights[name] - array) for name, array in before.encoder.weights.items()}
        words = apart.pop("embeddings.word_embeddings.weight")
        assert words.max() == pytest.approx(moved, rel=0.05)
        assert max(each.max() for each in apart.values()) == pytest.approx(1e-5, rel=0.05)


def test_heads_with_a_large_epsilon_hardly_move_by_small_gradients(tiny_encoder: Path):
    """Adam's first step is lr · g / (|g| + ε): all of lr for any gradient, half of it for one of the size of ε."""
    encoder = learning(pretrained(str(tiny_encoder), 16), dropout=0.0)
    network = Network(encoder, Heads(encoder.dim, each_its_own(3), 1, None), eps=1e-4)
    groups = {group.name: group for group in network.groups(Optim(lr=0.5, row_lr=0.5))}
    row, layer = network.heads.generator.weight, encoder.dense[-1]
    for parameter in (row, layer):
        parameter.data.zero_()
        parameter.grad = torch.full_like(parameter, 1e-4)
    for name in ("heads", "encoder"):
        groups[name].optimiser.step()
    assert row.abs().max().item() == pytest.approx(0.25, rel=1e-3)
    assert layer.abs().max().item() == pytest.approx(0.5, rel=1e-3)


@pytest.mark.parametrize(
    ("network", "changed"),
    [
        (Network, {}),
        (Network, {"optim.precision": "bf16", "label_start": "texts"}),
        (Ranker, {"method": "lightxml/static", "transformer.pool": "cls"}),
        (Ranker, {"method": "lightxml/static-twice"}),
    ],
    ids=lambda value: value.__name__ if isinstance(value, type) else " ".join(map(str, value.values())),
)
def test_a_training_killed_in_the_middle_of_an_epoch_ends_with_the_same_ranking(
    network: type, changed: dict, planted: Splits, tiny_encoder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(Run, "checkpoint_every", 0)
    monkeypatch.setattr("os.fsync", lambda handle: None)
    settings = {"optim.epochs": 2, "optim.average_from": 1, "valid_documents": 60} | changed
    whole = answers(planted, tiny_encoder, tmp_path / "whole", **settings)
    learn, steps = network.loss, []

    def dying(self: torch.nn.Module, batch: object) -> torch.Tensor:
        steps.append(batch)
        if len(steps) == 20:
            raise KeyboardInterrupt
        return learn(self, batch)

    monkeypatch.setattr(network, "loss", dying)
    with pytest.raises(KeyboardInterrupt):
        answers(planted, tiny_encoder, tmp_path / "killed", **settings)
    resumed = answers(planted, tiny_encoder, tmp_path / "killed", **settings)
    assert len(steps) == 1 + 2 * 34  # no step was taken twice but the one that died
    assert np.array_equal(whole.labels, resumed.labels) and np.array_equal(whole.scores, resumed.scores)


def test_three_members_make_an_ensemble(planted: Splits, tiny_encoder: Path, tmp_path: Path):
    """Two clusterings and two families of transformer: scores are averaged."""
    from longtail.predict.ensemble import combine

    other = write_encoder(tmp_path / "roberta", WORDS, "roberta", hidden=32)
    drawn = [(tiny_encoder, 0), (tiny_encoder, 1), (other, 0)]
    members = [fit("lightxml", planted.train, encoder=str(place), seed=seed, **QUICK) for place, seed in drawn]
    one, other, _ = (member.model.heads.discriminator.labels.clusters.labels for member in members)
    assert not np.array_equal(one, other)
    *each, together = (model.rank(planted.test.documents[:1], 100) for model in (*members, combine(members)))
    score: dict[int, float] = {}
    for ranking in each:
        for label, own in zip(ranking.labels[0].tolist(), ranking.scores[0]):
            score[label] = score.get(label, 0) + own / 3
    assert together.scores[0, 0] == pytest.approx(max(score.values()), rel=1e-5)


def test_scores_of_stored_heads_need_no_torch():
    """What predicts behind the transformer is NumPy."""
    eye, none = np.eye(2, dtype=np.float32), np.zeros(2, np.float32)
    labels = LabelRows(np.ones((3, 2), np.float32), np.zeros(3, np.float32), TWO)
    heads = Clustered(LabelRows(eye, none), Discriminator(Bottleneck(eye, none), labels), 2)
    ranking = heads.rank(np.ones((1, 2), np.float32), 3)
    np.testing.assert_allclose(ranking.scores[0], sigmoid(1) * sigmoid(2), rtol=1e-6)
