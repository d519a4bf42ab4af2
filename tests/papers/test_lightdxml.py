"""LightDXML's equations, each worked by hand on numbers small enough to check with a pencil, and its cycle."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from longtail import fit
from longtail.corpus import PAD, Corpus, Documents, LabelSet, Splits
from longtail.encoders.bag import ResidualBlock, TokenBag
from longtail.encoders.learn.bag import LearningBag
from longtail.encoders.learn.batches import BagTexts
from longtail.errors import ConfigError
from longtail.features.bags import Bags, Reader
from longtail.index.nearest import Search, nearest_over
from longtail.methods.lightdxml.learn import (
    LabelEncoder,
    Layers,
    Meetings,
    Network,
    Pair,
    Pairs,
    centroids,
    first_layers,
)
from longtail.methods.lightdxml.model import LightDXML
from longtail.methods.lightdxml.settings import Config, LabelEncoding
from longtail.methods.lightdxml.stages import choose_beta, own_labels, with_labels_as_documents
from longtail.rankers.fusion import Fusion
from longtail.rankers.label_rows import LabelRows
from longtail.rankers.learn.label_rows import LearningRows
from longtail.ranking import Ranking
from longtail.sparse import rows_of
from longtail.train import loop
from longtail.train.run import Run

NO_CHANCE = np.random.default_rng(0)


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def csr(rows: list) -> sp.csr_array:
    return sp.csr_array(np.array(rows, np.float32))


def f32(*values: object) -> list[np.ndarray]:
    return [np.array(value, np.float32) for value in values]


# -- step 1: documents -----------------------------------------------------------------------------------------------


def bag_of(vectors: object, residual: object = None, offset: object = None) -> TokenBag:
    """Features with these vectors, under LightDXML's block."""
    (rows,) = f32(vectors)
    block = ResidualBlock.first(rows.shape[1]) if residual is None else ResidualBlock(*f32(residual, offset))
    return TokenBag(Reader(Bags(len(rows), None), None), rows, block)


def meeting_of(documents: list, *more: object) -> Meetings:
    return Meetings(BagTexts(rows_of(csr(documents))), *more)


def test_a_document_is_its_positive_bag_and_what_the_residual_layer_adds():
    """h = ReLU(2·(1, −2) + (0, 1)) = (2, 0); x̂ = h + ReLU(R h + r) = (2, 0) + ReLU((0, 6) + (−1, 1)) = (2, 7)."""
    encoder = bag_of([[1, -2], [0, 1]], [[0, 0], [3, 0]], [-1, 1])
    np.testing.assert_allclose(encoder.encode(rows_of(csr([[2, 1]]))), [[2, 7]], rtol=1e-6)


def test_a_new_network_reads_as_its_encoder_does():
    encoder = LearningBag(bag_of([[1, -2], [0.5, 1]]), 0.5).eval()
    bags = [[2, 1], [0, 3]]
    batch = meeting_of(bags, csr([[1, 0, 0], [0, 1, 0]]), np.zeros((2, 1), np.int32), 0).batch(np.arange(2), NO_CHANCE)
    exported = encoder.export().encode(rows_of(csr(bags)))
    np.testing.assert_allclose(encoder(batch.texts).detach(), exported, rtol=1e-6)
    np.testing.assert_allclose(exported, [[5, 0], [3, 6]], rtol=1e-6)  # 2h: R is the identity


def test_the_residual_layer_has_spectral_norm_one():
    encoder = LearningBag(bag_of(np.eye(2)), 0.0)
    encoder.block.residual.parametrizations.weight.original.data = torch.diag(torch.tensor([4.0, 1.0]))
    batch = meeting_of([[1, 1]], csr([[1]]), np.zeros((1, 1), np.int32), 0).batch(np.arange(1), NO_CHANCE)
    for _ in range(50):
        encoder(batch.texts)
    np.testing.assert_allclose(encoder.export().block.residual, [[1, 0], [0, 0.25]], atol=1e-5)


# -- step 2: label vectors -------------------------------------------------------------------------------------------

TWO_LAYERS = Layers(*f32([[1, 1]], [1], [[2], [-1]], [0, 1]))  # W⁽¹⁾ = (1, 1), b⁽¹⁾ = 1; W⁽²⁾ = (2, −1)ᵀ, b⁽²⁾ = (0, 1)


def test_equation_5_a_centroid_is_the_mean_of_a_labels_documents_and_zero_without_any():
    documents = np.array([[1, 3], [3, 5], [9, 9]], np.float32)
    means = centroids(documents, csr([[1, 0, 0], [1, 1, 0], [0, 0, 0]]))
    assert means.tolist() == [[2, 4], [3, 5], [0, 0]]


@pytest.mark.parametrize(("relu", "expected"), [(False, [[12.0, -5.0]]), (True, [[12.0, 0.0]])])
def test_equation_4_two_linear_layers_and_the_papers_relu_if_wanted(relu: bool, expected: list):
    """μ = (2, 3): W⁽¹⁾μ + b⁽¹⁾ = 6; W⁽²⁾·6 + b⁽²⁾ = (12, −5)."""
    assert LabelEncoder(replace(TWO_LAYERS, relu=relu))(torch.tensor([[2.0, 3.0]])).tolist() == expected


def test_equation_4_two_layers_are_one():
    """W_l = W⁽²⁾W⁽¹⁾ = ((2, 2), (−1, −1)),  b_l = W⁽²⁾b⁽¹⁾ + b⁽²⁾ = (2, 0)."""
    means = torch.tensor([[1.0, 4.0], [0.5, -2.0]])
    as_one = means @ torch.tensor([[2.0, 2.0], [-1.0, -1.0]]).T + torch.tensor([2.0, 0.0])
    assert torch.allclose(LabelEncoder(TWO_LAYERS)(means), as_one)


def test_equation_2_the_loss_of_a_document_is_summed_over_its_labels():
    """x = (0, 0) with Z = (3, 0), (0, 1) and x = (1, 1) with Z = (1, 1): (ln 10 + ln 2 + ln 1) / 2."""
    identity = first_layers(2, LabelEncoding(), seed=0)
    pairs = Pairs(*f32([[0, 0], [1, 1]], [[3, 0], [0, 1], [1, 1]]), csr([[1, 1, 0], [0, 0, 1]]))
    loss = LabelEncoder(identity).loss(pairs.batch(np.arange(2), NO_CHANCE))
    assert loss.item() == pytest.approx((math.log(10) + math.log(2)) / 2, abs=1e-6)


@pytest.mark.parametrize("hidden", [1, 2, 5])
def test_layers_leave_the_mean_as_it_is_and_those_of_a_width_of_their_own_do_not(hidden: int):
    means = torch.tensor([[2.0, -3.0]])
    as_is, drawn = (first_layers(2, LabelEncoding(hidden=width), seed=1) for width in (None, hidden))
    assert torch.allclose(LabelEncoder(as_is)(means), means)
    assert drawn.first.shape == (hidden, 2) and not torch.allclose(LabelEncoder(drawn)(means), means)


def test_a_label_without_documents_points_nowhere_although_the_layers_have_offsets():
    vectors = LabelEncoder(TWO_LAYERS).vectors(np.array([[2, 3], [0, 0]], np.float32))
    assert vectors.tolist() == [[12, -5], [0, 0]]


# -- step 3: shortlists ----------------------------------------------------------------------------------------------


def test_equation_6_a_shortlist_is_the_top_k_by_cosine_each_label_once():
    """x = (1, 0): cosines 0.6, 1, 0 and 0.8 of labels of any length."""
    index = nearest_over(np.array([[3, 4], [0.1, 0], [0, 7], [8, 6]], np.float32), Search())
    found = index.find(np.array([[1, 0]], np.float32), 3)
    labels, beliefs = found.labels, found.belief
    assert labels.tolist() == [[1, 3, 0]]
    np.testing.assert_allclose(beliefs[0], [sigmoid(1), sigmoid(0.8), sigmoid(0.6)], rtol=1e-6)


# -- step 4: classifiers ---------------------------------------------------------------------------------------------


def network_of_logits() -> Network:
    """x̂ = 1 + 1 = 2, so labels 0 to 3 score 2w − 4 = −2, 0, 2, 4."""
    return Network(LearningBag(bag_of([[1]]), 0.0), LearningRows(4, torch.tensor([[1.0], [2.0], [3.0], [4.0]]))).eval()


def test_equation_7_binary_cross_entropy_over_positives_and_shortlist_alone():
    """P = {1}, S = {0, 2}: −ln(1 − σ(−2)) − ln σ(0) − ln(1 − σ(2)); label 3 is in neither."""
    truth = csr([[0, 1, 0, 0], [1, 0, 1, 1]])
    batch = meeting_of([[1], [1]], truth, np.array([[0, 2]] * 2, np.int32), 0).batch(np.array([0]), NO_CHANCE)
    assert batch.candidates[batch.shortlist[0].long()].tolist() == [0, 1, 2]
    expected = -math.log(1 - sigmoid(-2)) - math.log(sigmoid(0)) - math.log(1 - sigmoid(2))
    assert network_of_logits().loss(batch).item() == pytest.approx(expected, abs=1e-5)


def test_shared_negatives_make_the_same_loss_when_every_document_meets_the_same_labels():
    truth, shortlists = csr([[0, 1, 0, 0], [0, 0, 1, 0]]), np.array([[1, 2], [1, 2]], np.int32)
    batches = (meeting_of([[1], [1]], truth, shortlists, n).batch(np.arange(2), NO_CHANCE) for n in (0, 8))
    own, shared = (network_of_logits().loss(batch).item() for batch in batches)
    assert own == pytest.approx(shared, abs=1e-6)


@pytest.mark.parametrize("negatives", [0, 4])
def test_a_true_label_is_never_a_negative_however_many_there_are(negatives: int):
    """25 true labels, all shortlisted (the authors' code takes 20 of them and uses the rest as negatives)."""
    truth = sp.csr_array(np.pad(np.ones((1, 25), np.float32), ((0, 0), (0, 15))))
    shortlists = np.arange(30, dtype=np.int32)[None]
    batch = meeting_of([[1]], truth, shortlists, negatives).batch(np.array([0]), NO_CHANCE)
    met = batch.candidates if batch.shortlist is None else batch.candidates[batch.shortlist[0].long()]
    assert np.array_equal(batch.targets[0].bool().numpy(), (met < 25).numpy())
    assert set(range(25)) <= set(met.tolist()) and len(set(met.tolist())) == len(met)


def test_shorter_rows_are_padded_and_the_padding_teaches_nothing():
    truth, shortlists = csr([[1, 1, 1, 0], [0, 0, 0, 1]]), np.array([[3, PAD], [3, PAD]], np.int32)
    batch = meeting_of([[1], [1]], truth, shortlists, 0).batch(np.arange(2), NO_CHANCE)
    assert (batch.shortlist[1] == PAD).sum() == 3
    losses = [-math.log(sigmoid(z)) for z in (-2, 0, 2)] + [-math.log(1 - sigmoid(4)), -math.log(sigmoid(4))]
    assert network_of_logits().loss(batch).item() == pytest.approx(sum(losses) / 2, abs=1e-4)


@pytest.mark.parametrize("negatives", [0, 4])
def test_a_document_without_a_shortlist_meets_what_is_true_of_it(negatives: int):
    for shortlists in (np.zeros((1, 0), np.int32), np.full((1, 3), PAD, np.int32)):
        batch = meeting_of([[1]], csr([[0, 1, 0]]), shortlists, negatives).batch(np.array([0]), NO_CHANCE)
        assert batch.candidates.tolist() == [1] and batch.targets.tolist() == [[1]]


def test_a_corpus_without_a_single_word_gets_an_answer():
    model = fit("lightdxml", Corpus.of(["!", "?"], [["a"], ["b"]]), **SMALL)
    assert model.rank(Documents.of(["!"]), k=2).labels.shape == (1, 2)


def test_gradients_of_the_label_encoder_are_the_same_every_time_on_two_threads():
    """Gradients that threads add up in whatever order they come would make two trainings with one seed differ."""
    rng, before = np.random.default_rng(0), torch.get_num_threads()
    pairs, labels, dim = 20_000, 300, 64
    layers = Layers(*f32(np.eye(dim), np.zeros(dim), np.eye(dim), np.zeros(dim)))
    documents, means = (torch.from_numpy(rng.standard_normal((count, dim), np.float32)) for count in (500, labels))
    places = (torch.from_numpy(rng.integers(most, size=pairs)) for most in (500, labels))
    batch = Pair(documents, means, *places)

    def gradient() -> torch.Tensor:
        encoder = LabelEncoder(layers)
        encoder.loss(batch).backward()
        return encoder.first.weight.grad

    torch.set_num_threads(2)
    try:
        first = gradient()
        assert all(torch.equal(first, gradient()) for _ in range(20))
    finally:
        torch.set_num_threads(before)


# -- step 6: prediction ----------------------------------------------------------------------------------------------


def one_text_model(beta: float) -> LightDXML:
    """x̂ = (2, 0) for the feature; cosines 1, 0.6, 0; classifiers score −1, 1, 3."""
    nearest = nearest_over(np.array([[2, 0], [3, 4], [0, 1]], np.float32), Search())
    return LightDXML(
        bag_of([[1, 0]]),
        nearest,
        Fusion(LabelRows(*f32([[-0.5, 9], [0.5, 9], [1.5, 9]], [0, 0, 0])), beta),
        2,
    )


@pytest.mark.parametrize(
    ("beta", "best", "scores"),
    [
        (1.0, [1, 0], [sigmoid(1), sigmoid(-1)]),  # the classifier alone
        (0.0, [0, 1], [sigmoid(1), sigmoid(0.6)]),  # the shortlist alone
        (0.25, [1, 0], [0.25 * sigmoid(1) + 0.75 * sigmoid(0.6), 0.25 * sigmoid(-1) + 0.75 * sigmoid(1)]),
    ],
)
def test_a_score_weighs_classifier_and_cosine_by_beta(beta: float, best: list[int], scores: list[float]):
    """Label 2, which its classifier likes best, is not among the two nearest and is never ranked."""
    answer = one_text_model(beta).rank(Documents(features=csr([[1]])), k=3)
    assert answer.labels.tolist() == [[*best, PAD]]
    np.testing.assert_allclose(answer.scores[0, :2], scores, rtol=1e-6)


# -- beyond the paper ------------------------------------------------------------------------------------------------


def test_label_texts_are_documents_of_their_label():
    corpus = Corpus(Documents.of(["red fox"]), csr([[0, 1]]), LabelSet.of(["fish", "fox"]))
    wider = with_labels_as_documents(corpus, True)
    assert list(wider.documents.texts) == ["red fox", "fish", "fox"]
    assert wider.labels.toarray().tolist() == [[0, 1], [1, 0], [0, 1]]
    assert with_labels_as_documents(corpus, False) is corpus


@pytest.mark.parametrize(("read", "by_classifiers", "by_labels"), [("none", 4, 4), ("labels", 4, 7), ("all", 7, 7)])
def test_label_texts_teach_nobody_the_label_encoder_or_all(
    read: str, by_classifiers: int, by_labels: int, monkeypatch: pytest.MonkeyPatch
):
    seen = {}
    train = Run.train

    def noted(run: Run, name: str, model: torch.nn.Module, batches: Pairs, *args: object, **options: object) -> object:
        seen[name] = len(batches.lengths)
        return train(run, name, model, batches, *args, **options)

    monkeypatch.setattr(Run, "train", noted)
    texts, labels = ["aa bb", "bb cc", "cc dd", "dd aa"], [["xx"], ["yy"], ["zz"], ["xx"]]
    fit("lightdxml", Corpus.of(texts, labels), **SMALL, label_text=read)
    assert (seen["classifiers"], seen["label-encoder-0"]) == (by_classifiers, by_labels)


def test_beta_is_not_chosen_by_documents_that_are_a_labels_own_text():
    hidden = own_labels(Documents.of(["fox", "red fox"]), LabelSet.of(["fish", "fox"]), read=True)
    assert hidden.toarray().tolist() == [[0, 1], [0, 0]]


@pytest.mark.parametrize(
    "setting",
    [{"beta": 1.5}, {"shortlist": 0}, {"reindex": 0}, {"dropout": 1.0}],
)
def test_impossible_settings_are_refused(setting: dict):
    with pytest.raises(ConfigError):
        Config(**setting)


# -- step 5: the cycle -----------------------------------------------------------------------------------------------

SMALL = {
    "bag.dim": 16, "bag.subwords": 0, "optim.epochs": 5, "optim.average_from": 1, "reindex": 2, "shortlist": 20,
}  # fmt: skip


def events(run: Path) -> list[dict]:
    return [json.loads(line) for line in (run / "log.jsonl").read_text("utf-8").splitlines()]


def test_label_vectors_are_learned_at_epoch_0_and_every_so_many_and_for_the_last_weights(
    planted: Splits, tmp_path: Path
):
    """⌊5/2⌋ + 1 times while the classifiers learn (epochs 0, 2, 4), and once more for the index that predicts."""
    fit("lightdxml", planted.train, run=tmp_path, **SMALL)
    trained = [line["name"] for line in events(tmp_path) if line["event"] == "trained"]
    assert trained == [*(f"label-encoder-{turn}" for turn in range(3)), "classifiers", "label-encoder-3"]


def test_each_turn_goes_on_from_the_layers_of_the_one_before(planted: Splits, monkeypatch: pytest.MonkeyPatch):
    begun, ended = [], []
    train = Run.train

    def noted(run: Run, name: str, model: torch.nn.Module, *args: object, **options: object) -> torch.nn.Module:
        if isinstance(model, LabelEncoder):
            begun.append(model.layers().first)
        train(run, name, model, *args, **options)
        if isinstance(model, LabelEncoder):
            ended.append(model.layers().first)
        return model

    monkeypatch.setattr(Run, "train", noted)
    fit("lightdxml", planted.train, **SMALL)
    assert len(begun) == 4 and np.array_equal(begun[0], np.eye(16))
    assert all(np.array_equal(one, other) for one, other in zip(ended, begun[1:]))
    assert not np.array_equal(begun[0], ended[0])


def test_held_out_documents_choose_beta_and_are_not_learned_from(planted: Splits, tmp_path: Path):
    small = SMALL | {"optim.batch_size": 50}
    model = fit("lightdxml", planted.train, run=tmp_path / "chosen", **small, valid_documents=60)
    tried = {line["beta"]: line["nDCG@5"] for line in events(tmp_path / "chosen") if line["event"] == "beta"}
    assert len(tried) > 5 and tried[model.model.fusion.beta] == max(tried.values())
    assert model.about.validation["nDCG@5"] == max(tried.values())
    given = fit("lightdxml", planted.train, run=tmp_path / "given", **small, beta=0.4)
    assert given.model.fusion.beta == 0.4 and not any(line["event"] == "beta" for line in events(tmp_path / "given"))
    read = {line["name"]: line["steps"] for line in events(tmp_path / "given") if line["event"] == "trained"}
    fewer = {line["name"]: line["steps"] for line in events(tmp_path / "chosen") if line["event"] == "trained"}
    assert read["classifiers"] == 5 * 600 / 50 and fewer["classifiers"] == 5 * math.ceil(540 / 50)


def test_pairs_that_evaluation_leaves_out_have_no_say_in_beta():
    """Labels 0 and 1 are true.  By cosine the order is 0, 2, 1; from β = 0.2 on it is 1, 2, 0, which is worth as much.
    Without label 0, which is filtered, only the second puts a true label first."""
    encoder = bag_of(np.eye(2), np.zeros((2, 2)), np.zeros(2))
    cosines, beliefs = np.array([1, 0.5, 0.9, 0]), np.array([0.001, 0.999, 0.6, 0.5])
    vectors = np.stack([cosines, np.sqrt(1 - cosines**2)], axis=1).astype(np.float32)
    rows = LabelRows(np.zeros((4, 2), np.float32), np.log(beliefs / (1 - beliefs)).astype(np.float32))
    fusion = Fusion(rows, 0.5)
    model = LightDXML(encoder, nearest_over(vectors, Search()), fusion, 4)
    documents, labels = Documents(features=sp.csr_array([[1.0, 0.0]])), sp.csr_array([[1.0, 1.0, 0.0, 0.0]])
    valid = Corpus(documents, labels, LabelSet.of("abcd"), "valid")
    run = SimpleNamespace(log=lambda *_, **__: None)
    assert choose_beta(model, valid, valid, Config(), run) == 0.0
    filtered = replace(valid, filtered=sp.csr_array([[1.0, 0.0, 0.0, 0.0]]))
    assert choose_beta(model, valid, filtered, Config(), run) == 0.2


# -- a kill at any point ---------------------------------------------------------------------------------------------


def answered(corpus: Corpus, documents: Documents, run: Path | None = None) -> Ranking:
    return fit("lightdxml", corpus, run=run, **SMALL).rank(documents, k=5)


def stopping(function: Callable, after: int) -> Callable:
    """`function`, which stops the process when it is called once too often."""
    calls = iter(range(after))

    def counted(*args: object, **options: object) -> object:
        if next(calls, None) is None:
            raise KeyboardInterrupt
        return function(*args, **options)

    return counted


STAGES = [(Run, "stage", after) for after in range(3, 7)]
TRAININGS = [(Run, "train", after) for after in (1, 3, 5, 6)]
STEPS = [(loop.Training, "learn", after) for after in (2, 17, 30)]


@pytest.fixture(scope="module")
def whole(planted: Splits) -> Ranking:
    return answered(planted.train, planted.test.documents)


@pytest.mark.parametrize(("place", "name", "after"), STAGES + TRAININGS + STEPS)
def test_a_killed_training_ends_as_one_that_was_not(
    place: type, name: str, after: int, planted: Splits, whole: Ranking, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    with monkeypatch.context() as broken, pytest.raises(KeyboardInterrupt):
        broken.setattr(place, name, stopping(getattr(place, name), after))
        answered(planted.train, planted.test.documents, tmp_path)
    resumed = answered(planted.train, planted.test.documents, tmp_path)
    assert np.array_equal(resumed.labels, whole.labels) and np.array_equal(resumed.scores, whole.scores)
