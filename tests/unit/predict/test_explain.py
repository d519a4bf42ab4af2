"""Explanations: words that add up to the logit, for every method, on a corpus whose answer is known."""

from __future__ import annotations

import dataclasses
import json
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from scipy.special import expit

import longtail
from longtail import calibrate, combine, fit
from longtail.corpus import Corpus, Documents, Splits
from longtail.errors import ConfigError, CorpusError
from longtail.methods.shared.reranked import hinge_beliefs
from longtail.predict.explain import Explanation, Reason
from longtail.predict.predictor import Predictor
from longtail.ranking import Ranking
from tests.planted import planted_splits, word

BAG = {"bag.dim": 32, "bag.subwords": 200}
ELIAS = BAG | {
    "labels_per_cluster": 8, "walk.beam": 4, "valid_documents": 0, "optim.epochs": (4, 5),
}  # fmt: skip
LIGHTXML = BAG | {"encoder": "bag", "labels_per_cluster": 8, "beam": 6, "valid_documents": 0}
SETTINGS: dict[str, dict] = {
    "centroid": {},
    "linear": {},
    "linear of pairs": {"words.ngrams": 2},
    "linear of two deep trees": {"labels_per_cluster": 4, "branching": 4, "trees": 2},
    "decaf": BAG,
    "decaf of two instances": BAG | {"instances": 2, "bag.subwords": 0, "words.ngrams": 2},
    "lightdxml": BAG | {"beta": 0.5},
    "elias": ELIAS,
    "elias++": {f"elias.{name}": value for name, value in ELIAS.items()},
    "elias++ that reads both": {f"elias.{name}": value for name, value in ELIAS.items()} | {"reads": "both"},
    "lightxml on a bag": LIGHTXML | {"one_vs_all_up_to": 0},
    "lightxml of all labels": LIGHTXML,
}
TEXT = f"{word(510)} {word(3).upper()}, {word(7)}; {word(511)} {word(3)}"  # labels 3, twice, and 7


@cache
def planted() -> Splits:
    return planted_splits()


@cache
def trained(name: str) -> Predictor:
    return fit(name.partition(" ")[0], planted().train, **SETTINGS[name])


@pytest.fixture(scope="module", params=SETTINGS)
def fitted(request: pytest.FixtureRequest) -> Predictor:
    return trained(request.param)


def total(reason: Reason) -> float:
    return sum(each.contribution for each in reason.words) + reason.bias


# -- what every method promises ----------------------------------------------------------------------------------------


def test_contributions_and_bias_add_up_to_the_logit(fitted: Predictor):
    for text in (TEXT, word(12), f"{word(40)} {word(41)} {word(42)} unheard of", "unheard of", ""):
        for reason in fitted.explain(text, k=6).labels:
            assert not reason.approximate
            assert total(reason) == pytest.approx(reason.logit, abs=1e-4)


def test_the_planted_word_speaks_most_for_its_label(fitted: Predictor):
    right = 0
    for label in range(30):
        text = f"{word(520)} {word(label)} {word(521)}"
        [reason] = fitted.explain(text, label=f"L{label}").labels
        strongest = max(reason.words, key=lambda each: each.contribution)
        right += strongest.text == word(label)
    assert right >= 28


def test_words_are_cut_out_of_the_text_where_they_stand(fitted: Predictor):
    for reason in fitted.explain(TEXT, k=3).labels:
        assert [TEXT[each.start : each.stop] for each in reason.words] == [each.text for each in reason.words]
        assert [each.start for each in reason.words] == sorted(each.start for each in reason.words)
        assert {word(3).upper(), word(3), word(7)} <= {each.text for each in reason.words}


def test_it_explains_what_predict_suggests(fitted: Predictor):
    found = fitted.explain(TEXT, k=4)
    assert [reason.suggestion for reason in found.labels] == fitted.predict([TEXT], k=4)[0]
    assert [reason.count for reason in found.labels] == [
        int(fitted.counts[reason.suggestion.index]) for reason in found.labels
    ]
    assert all(reason.probability is None for reason in found.labels)


def test_a_label_can_be_asked_for_whether_it_is_suggested_or_not(fitted: Predictor):
    [reason] = fitted.explain(TEXT, label="L59").labels
    assert reason.suggestion.id == "L59" and reason.suggestion.name == word(59)
    assert 0 <= reason.suggestion.score < 1 and total(reason) == pytest.approx(reason.logit, abs=1e-4)


def test_beliefs_are_shares_and_clusters_have_names(fitted: Predictor):
    names = {label.name for label in fitted.labels}
    for reason in fitted.explain(TEXT, k=3).labels:
        for opened in reason.clusters:
            assert 0 <= opened.belief <= 1 and 0 < len(opened.labels) <= 3 and set(opened.labels) <= names


def test_a_text_without_known_words_has_no_words_to_show(fitted: Predictor):
    for text in ("", "   ", "\x00", "🦊"):
        for reason in fitted.explain(text, k=2).labels:
            assert all(each.contribution == 0 for each in reason.words) or fitted.about.method != "linear"
            assert np.isfinite([reason.logit, reason.bias]).all()


@pytest.mark.parametrize("text", ["half a \ud83d pair", f"İ{word(3)} ΣΑΣ ß", f"{word(3)}\u0301 x", "x" * 50_000])
def test_odd_texts_are_explained(fitted: Predictor, text: str):
    for reason in fitted.explain(text, k=2).labels:
        assert total(reason) == pytest.approx(reason.logit, abs=1e-4)
        json.dumps(reason.to_json())


# -- the logit is the one that the score is made of --------------------------------------------------------------------


def test_centroid_explains_its_score():
    for reason in trained("centroid").explain(TEXT, k=3).labels:
        assert reason.logit == pytest.approx(reason.suggestion.score, abs=1e-6) and reason.bias == 0


def test_linear_explains_the_leaf_and_shows_the_path():
    model = trained("linear of two deep trees")
    [tree, _] = model.model.descents  # type: ignore[attr-defined]
    alone = dataclasses.replace(model, model=dataclasses.replace(model.model, descents=[tree]))
    for reason in alone.explain(TEXT, k=5).labels:
        assert len(reason.clusters) == tree.tree.depth - 1
        assert word(reason.suggestion.index) in [
            label for opened in reason.clusters[-1:] for label in names(alone, tree, opened.cluster)
        ]
        own = np.exp(-(max(0.0, 1 - reason.logit) ** 3))
        assert reason.suggestion.score == pytest.approx(own * reason.clusters[-1].belief ** 0.4, rel=1e-4)


def names(model: Predictor, tree: object, cluster: int) -> list[str]:
    labels = tree.tree.under(tree.tree.depth - 1, cluster)  # type: ignore[attr-defined]
    return [model.labels[label].name for label in labels.tolist()]


def test_the_trees_of_linear_are_averaged():
    model = trained("linear of two deep trees")
    alone = [
        dataclasses.replace(model, model=dataclasses.replace(model.model, descents=[tree])).explain(TEXT, label="L3")
        for tree in model.model.descents  # type: ignore[attr-defined]
    ]
    [both] = model.explain(TEXT, label="L3").labels
    assert both.logit == pytest.approx(np.mean([one.labels[0].logit for one in alone]))
    assert both.clusters == [opened for one in alone for opened in one.labels[0].clusters]


def test_decaf_scores_by_logit_and_cluster():
    model = trained("decaf")
    weight = model.model.instances[0].belief_weight  # type: ignore[attr-defined]
    for reason in model.explain(TEXT, k=4).labels:
        [opened] = reason.clusters
        assert reason.suggestion.score == pytest.approx(expit(reason.logit) * opened.belief**weight, rel=1e-4)


def test_lightxml_scores_by_logit_and_cluster():
    for reason in trained("lightxml on a bag").explain(TEXT, k=4).labels:
        [opened] = reason.clusters
        assert reason.suggestion.score == pytest.approx(expit(reason.logit) * opened.belief, rel=1e-4)
    for reason in trained("lightxml of all labels").explain(TEXT, k=4).labels:
        assert reason.clusters == [] and reason.suggestion.score == pytest.approx(expit(reason.logit), rel=1e-4)


def test_lightdxml_scores_by_logit_and_nearness():
    for reason in trained("lightdxml").explain(TEXT, k=4).labels:
        [near] = reason.clusters
        assert near.cluster == reason.suggestion.index and near.labels == [reason.suggestion.name]
        expected = 0.5 * expit(reason.logit) + 0.5 * near.belief
        assert reason.suggestion.score == pytest.approx(expected, rel=1e-4)


def test_elias_scores_by_logit_and_paths():
    model = trained("elias")
    graphed = model.model.graphed  # type: ignore[attr-defined]
    vectors = model.model.encoder.encode(model.model.encoder.read(Documents.of([TEXT])))  # type: ignore[attr-defined]
    found = graphed.index.find(vectors)
    beliefs = dict(zip(found.labels[0].tolist(), found.belief[0].tolist()))
    for reason in model.explain(TEXT, k=4).labels:
        belief = beliefs[reason.suggestion.index]
        score = expit(reason.logit) * belief**graphed.belief_weight
        assert reason.suggestion.score == pytest.approx(score, rel=1e-4)
        # Paths of a label add up to its belief, and at most three of them are shown.
        assert 0 < sum(opened.belief for opened in reason.clusters) <= belief + 1e-5 or belief == 1
        assert [opened.belief for opened in reason.clusters] == sorted(
            (opened.belief for opened in reason.clusters), reverse=True
        )


@pytest.mark.parametrize("name", ["elias++", "elias++ that reads both"])
def test_a_ranker_behind_a_proposer_is_explained_by_both(name: str):
    """logit = w · margin + (1 − w) · logit of the proposer."""
    model = trained(name).model
    documents, labels = Documents.of([TEXT]), np.array([3, 7, 50])
    proposer = model.proposer.reasons(documents, labels).words.logits  # type: ignore[attr-defined]
    [(_, vectors)] = model.proposer.batches(documents)  # type: ignore[attr-defined]
    features = model.words.rows(documents)  # type: ignore[attr-defined]
    if name.endswith("both"):
        from longtail.features.bags import beside_dense

        features = beside_dense(vectors, features)
    dense = features @ model.ranker.weights.T  # type: ignore[attr-defined]
    margins = dense.toarray()[0, labels] + model.ranker.biases[labels]  # type: ignore[attr-defined]
    for weight in (0.0, 0.3, 1.0):
        mixed = dataclasses.replace(model, ranker_weight=weight)
        words = mixed.reasons(documents, labels).words  # type: ignore[attr-defined]
        np.testing.assert_allclose(words.logits, weight * margins + (1 - weight) * proposer, atol=1e-4)
        np.testing.assert_allclose(words.values.sum(axis=1) + words.bias, words.logits, atol=1e-4)
    ranked = Ranking(labels[None].astype(np.int32), np.ones((1, 3), np.float32))
    expected = np.exp(-np.minimum(np.maximum(0, 1 - margins) ** 3, 60))
    np.testing.assert_allclose(hinge_beliefs(model.ranker, features, ranked)[0], expected, rtol=1e-3)  # type: ignore[attr-defined]


# -- several models ----------------------------------------------------------------------------------------------------


def test_an_ensemble_is_the_weighted_sum_of_its_members():
    members = trained("centroid"), trained("decaf")
    [one], [other] = (member.explain(TEXT, label="L3").labels for member in members)
    [both] = combine(members, [1, 3]).explain(TEXT, label="L3").labels
    assert both.logit == pytest.approx(0.25 * one.logit + 0.75 * other.logit)
    assert total(both) == pytest.approx(both.logit, abs=1e-4)
    assert both.clusters == one.clusters + other.clusters
    weighed = {(each.start, each.stop): 0.25 * each.contribution for each in one.words}
    for each in other.words:
        place = each.start, each.stop
        weighed[place] = weighed.get(place, 0) + 0.75 * each.contribution
    assert {(each.start, each.stop): each.contribution for each in both.words} == pytest.approx(weighed)


def test_a_calibrated_model_gives_its_probability():
    model = calibrate(fit("linear", planted().without_valid), planted().valid, k=5).model
    for reason in model.explain(TEXT, k=3).labels:
        assert reason.probability == reason.suggestion.score
    assert [reason.suggestion for reason in model.explain(TEXT, k=3).labels] == model.predict([TEXT], k=3)[0]


# -- transformers ------------------------------------------------------------------------------------------------------


def test_a_transformer_is_explained_by_gradients_and_says_that_this_is_approximate(tiny_encoder: Path):
    settings = {
        "encoder": str(tiny_encoder), "transformer.max_tokens": 16, "transformer.pool": "cls", "dropout": 0.2,
        "valid_documents": 0, "optim.row_lr": 1e-2, "optim.lr": 2e-3, "optim.epochs": 6, "optim.batch_size": 16,
        "one_vs_all_up_to": 0, "labels_per_cluster": 8, "beam": 6,
    }  # fmt: skip
    model = fit("lightxml", planted().train, **settings)
    found = model.explain(TEXT, k=2)
    assert {reason.suggestion.name for reason in found.labels} == {word(3), word(7)}
    for reason in found.labels:
        assert reason.approximate and total(reason) == pytest.approx(reason.logit)
        assert reason.suggestion.score == pytest.approx(expit(reason.logit) * reason.clusters[0].belief, rel=1e-3)
        strongest = max(reason.words, key=lambda each: each.contribution)
        assert strongest.text.lower() == reason.suggestion.name
    long = model.explain(" ".join([word(3)] + [word(510)] * 40), k=1).labels[0]
    assert len(long.words) == 14  # of 16 tokens two are special; what is cut off says nothing


# -- the value, and what is refused ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["linear of two deep trees", "decaf", "elias"])
def test_to_json_is_what_the_words_and_clusters_are_whether_they_were_read_before_or_not(name: str):
    unread, read = (trained(name).explain(TEXT, 3) for _ in range(2))
    for plain, reason in zip(unread.to_json()["labels"], read.labels):
        assert plain["words"] == [one._asdict() for one in reason.words] != []
        assert plain["clusters"] == [dataclasses.asdict(one) for one in reason.clusters] != []
    assert read.to_json() == unread.to_json()


def test_to_json_has_the_agreed_fields():
    found = trained("decaf").explain(TEXT, k=1)
    written = json.loads(json.dumps(found.to_json()))
    assert list(written) == ["text", "labels"] and written["text"] == TEXT
    [label] = written["labels"]
    assert list(label) == [
        "index", "id", "name", "score", "probability", "count", "logit", "bias", "approximate",
        "words", "clusters", "documents",
    ]  # fmt: skip
    assert list(label["words"][0]) == ["text", "start", "stop", "contribution"]
    assert list(label["clusters"][0]) == ["cluster", "belief", "labels"]
    assert isinstance(found, Explanation) and label["documents"] == []


@pytest.mark.parametrize("wrong", [["a list"], None, 7, b"bytes"])
def test_one_text_is_explained_at_a_time(wrong: object):
    with pytest.raises(CorpusError, match="explain takes one text"):
        trained("centroid").explain(wrong)  # type: ignore[arg-type]


def test_a_label_that_does_not_exist_is_named():
    with pytest.raises(ConfigError, match="no label of this model has the id 'nobody'"):
        trained("centroid").explain(TEXT, label="nobody")


def test_no_labels_asked_for_is_refused():
    with pytest.raises(ConfigError, match="k = 0"):
        trained("centroid").explain(TEXT, k=0)


def test_a_model_that_cannot_explain_says_so():
    class Mute:
        n_labels = 60

        def rank(self, documents: Documents, k: int) -> Ranking:
            return trained("centroid").model.rank(documents, k)

    with pytest.raises(ConfigError, match="models of centroid cannot explain"):
        dataclasses.replace(trained("centroid"), model=Mute()).explain(TEXT)


def test_a_label_without_training_documents_has_no_classifier_in_linear():
    corpus = Corpus.of(["red fox", "blue whale"] * 3, [["red"], ["blue"]] * 3)
    wider = dataclasses.replace(
        corpus,
        label_set=longtail.corpus.LabelSet.of(["blue", "red", "unseen"]),
        labels=longtail.corpus.sp.csr_array((corpus.labels.data, corpus.labels.indices, corpus.labels.indptr), (6, 3)),
    ).fingerprinted()
    [reason] = fit("linear", wider).explain("red fox", label="unseen").labels
    assert reason.logit == reason.bias == reason.suggestion.score == 0 and reason.clusters == [] and reason.count == 0
