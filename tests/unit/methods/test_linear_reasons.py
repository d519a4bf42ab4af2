"""Why `linear` scores a label: what compiled code finds on one tree, against its dense classifiers."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import longtail
from longtail.corpus import PAD, Documents
from longtail.features.bags import Bags
from longtail.methods.linear.model import Descent, Linear
from longtail.predict.predictor import Predictor
from tests.planted import planted_splits, word

LABELS = [3, 7, 59, 60, 61]  # the last two were added


@pytest.fixture(scope="module")
def model() -> Predictor:
    made = longtail.fit("linear", planted_splits().train, labels_per_cluster=4, branching=4)
    return made.add_labels([{"id": "one", "name": f"{word(500)} {word(3)}"}, {"id": "two", "name": word(501)}])


def margins(bags: Bags, level: object, documents: Documents) -> np.ndarray:
    return bags.rows(documents).toarray()[0] @ level.by_node().toarray().T + level.biases  # type: ignore[attr-defined]


def plain(linear: Linear, descent: Descent, documents: Documents, label: int) -> tuple[float, list[tuple[int, float]]]:
    """The margin of a label, and the nodes above it with their beliefs."""
    tree, added = descent.tree, descent.beside
    if label >= added.first:
        return float(margins(linear.bags, added.classifiers, documents)[label - added.first]), []
    [leaf] = np.flatnonzero(tree.labels == label)
    belief, path = 1.0, []
    for at in range(1, tree.depth):
        node = int(tree.above_labels(at)[leaf])
        margin = margins(linear.bags, descent.levels[at - 1], documents)[node]
        belief *= np.exp(-(max(0, 1 - margin) ** linear.power))
        path.append((node, belief))
    return float(margins(linear.bags, descent.levels[-1], documents)[leaf]), path


words = st.lists(st.integers(0, 520).map(word) | st.sampled_from(["unheard", ",", "3"]), max_size=12).map(" ".join)


@settings(deadline=None, max_examples=40)
@given(words)
def test_one_call_finds_what_dense_classifiers_say(model: Predictor, text: str):
    linear, documents = model.model, Documents.of([text])
    assert isinstance(linear, Linear)
    [descent] = linear.descents
    found = linear.reasons(documents, np.array(LABELS, np.int32))
    for at, label in enumerate(LABELS):
        margin, path = plain(linear, descent, documents, label)
        assert found.words.logits[at] == pytest.approx(margin, abs=1e-5)
        told = [(proposal.cluster, proposal.belief) for proposal in found.proposals(at)]
        assert [node for node, _ in told] == [node for node, _ in path]
        assert [belief for _, belief in told] == pytest.approx([belief for _, belief in path], abs=1e-5)


@settings(deadline=None, max_examples=40)
@given(words)
def test_texts_read_in_one_call_and_in_steps_have_the_same_reasons(model: Predictor, text: str):
    linear = model.model
    assert isinstance(linear, Linear)
    [explaining] = linear._explaining
    documents, labels = Documents.of([text]), np.array(LABELS, np.int32)
    found = explaining.reasons(documents, labels)
    slow, nodes, beliefs = explaining._in_steps(documents, labels)
    for field in ("starts", "stops"):
        assert getattr(found.words, field).tolist() == getattr(slow, field).tolist()
    for field in ("values", "bias", "logits"):
        np.testing.assert_allclose(getattr(found.words, field), getattr(slow, field), atol=1e-6)
    for at in range(len(labels)):
        told = [(proposal.cluster, proposal.belief) for proposal in found.proposals(at)]
        known = [pair for pair in zip(nodes[at].tolist(), beliefs[at].tolist()) if pair[0] != PAD]
        assert [node for node, _ in told] == [node for node, _ in known]
        assert [belief for _, belief in told] == pytest.approx([belief for _, belief in known], abs=1e-6)


def test_many_labels_and_a_long_text_are_explained_in_steps(model: Predictor):
    long = " ".join(word(number % 60) for number in range(2000))
    for text, k in ((word(3), 40), (long, 2)):
        for reason in model.explain(text, k=k).labels:
            assert sum(each.contribution for each in reason.words) + reason.bias == pytest.approx(
                reason.logit, abs=1e-4
            )


def test_threads_and_copies_explain_alike(model: Predictor):
    from concurrent.futures import ThreadPoolExecutor

    texts = [f"{word(number)} {word(number + 30)}" for number in range(30)]
    alone = [model.explain(text, 3).to_json() for text in texts]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda text: model.explain(text, 3).to_json(), texts)) == alone
    copied = dataclasses.replace(model, model=dataclasses.replace(model.model))  # type: ignore[type-var]
    assert [copied.explain(text, 3).to_json() for text in texts] == alone
