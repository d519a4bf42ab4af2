"""What DECAF promises beyond the contract: resuming, labels known by their text alone, predicting without torch."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from longtail import fit
from longtail.corpus import PAD, Corpus, Documents, Label, LabelSet, Splits, Texts
from longtail.encoders.bag import GatedBlock, TokenBag
from longtail.encoders.label_texts import TextRows, row_directions
from longtail.encoders.learn.encoder import BagSource, TokenSource
from longtail.encoders.pretrained import pretrained
from longtail.encoders.transformer import TransformerReading
from longtail.features.bags import Bags, Reader
from longtail.features.tfidf import TfidfOptions
from longtail.index.clusters import Clusters
from longtail.methods.decaf.learn import Data, Meetings, Network, first_pool, started, trained
from longtail.methods.decaf.settings import Config
from longtail.ranking import Ranking
from longtail.train.loop import train
from longtail.train.optim import Optim
from longtail.train.run import Run, open_run
from tests.planted import N_LABELS, word

# Tokens frozen after module I, where words of one cluster have become alike: the ranker needs longer to part them.
FROZEN = {"optim.average_from": "none", "optim.epochs": (2, 2, 12)}
QUICK = {
    "bag.dim": 32, "bag.subwords": 0, "optim.epochs": (2, 2, 5),
    "optim.average_from": 0,
}  # fmt: skip


def ranker(planted: Splits) -> Network:
    """A ranker before its first step, with pools that will sharpen; labels are bags of their own word."""
    rng = np.random.default_rng(0)
    clusters = Clusters(np.arange(N_LABELS, dtype=np.int32), np.arange(0, N_LABELS + 1, 4))
    opened = np.stack([rng.permutation(len(clusters))[:6] for _ in range(len(planted.train))]).astype(np.int32)
    truth, texts = planted.train.labels, sp.csr_array(sp.eye_array(N_LABELS, dtype=np.float32))
    pool, rows = first_pool(clusters.starts, opened, rng), TextRows.one_each(clusters.labels)
    vectors = rng.standard_normal((N_LABELS, 8)).astype(np.float32)
    first = TokenBag(Reader(Bags(N_LABELS, None), None), vectors, GatedBlock.first(8))
    data = Data(BagSource(first, truth, truth[:0], texts), truth)
    meetings = Meetings(data.source.with_labels(rows), truth, rows, 2, clusters.starts, opened, pool)
    return started(data, meetings, first, "both", 0.2, Config())


def test_a_ranker_stopped_between_epochs_goes_on_with_the_pools_it_had(planted: Splits, tmp_path: Path):
    optim = Optim(epochs=4, batch_size=64, row_lr=0.01)
    whole, part, rest = (ranker(planted) for _ in range(3))
    with open_run(tmp_path / "whole", "decaf", {}, planted.train) as run:
        train(run, "ranker", whole, whole.meetings, optim, seed=1)
    with open_run(tmp_path / "parts", "decaf", {}, planted.train) as run:
        train(run, "ranker", part, part.meetings, optim, seed=1, until=2)
        train(run, "ranker", rest, rest.meetings, optim, seed=1)
    assert np.array_equal(rest.meetings.pool, whole.meetings.pool)
    assert np.array_equal(rest.encoder.vectors.detach(), whole.encoder.vectors.detach())


def test_on_another_device_the_pools_stay_where_batches_are_made(planted: Splits):
    network = ranker(planted)
    network.to("meta")  # the one other device that every machine has; it can hold but not compute
    assert network.encoder.vectors.device.type == "meta" and network.pool.device.type == "cpu"
    network.pool[0, 0] = 7  # as a resume does
    assert network.meetings.pool[0, 0] == 7


def test_pools_come_to_hold_the_labels_of_opened_clusters_that_score_best(planted: Splits, tmp_path: Path):
    network = ranker(planted)
    with open_run(tmp_path, "decaf", {}, planted.train) as run:
        trained(network, "ranker", Optim(epochs=2, batch_size=64), run, seed=0)
    meetings, scorer = network.meetings, network.scorer()
    meetings.sharpen(scorer, network.read)
    scores = scorer.vectors(network.read) @ scorer.rows.rows.T + scorer.rows.biases
    for row in (0, 100, 599):
        members = [label for cluster in meetings.opened[row] for label in range(4 * cluster, 4 * cluster + 4)]
        best = max(members, key=lambda label: scores[row, label])
        assert meetings.pool[row, 0] == best and set(meetings.pool[row].tolist()) <= {*members, -1}


BFLOAT16 = {"optim.precision": "bf16"}


@pytest.mark.parametrize(
    ("method", "settings"),
    [
        ("decaf", {}),
        ("decaf", {"negatives": 0}),
        ("decaf", {"instances": 2}),
        ("decaf", BFLOAT16),
        ("decaf", {"afresh": False}),
        ("decaf/lite", FROZEN),
        ("decaf/text", {}),
        ("decaf/refinement", {}),
        ("decaf/no-init", {}),
    ],
    ids=str,
)
def test_every_variant_learns_the_planted_words(planted: Splits, method: str, settings: dict):
    model = fit(method, planted.train, **(QUICK | settings))
    first = model.rank(Documents.of([word(label) for label in range(N_LABELS)]), k=1).labels[:, 0]
    assert (first == np.arange(N_LABELS)).mean() >= 0.9


def test_a_label_without_documents_is_found_by_its_text(planted: Splits):
    """The new label's name is two words that documents use for labels 3 and 4 but that no document has together."""
    train = planted.train
    wider = LabelSet.of([*train.label_set, Label("new", f"{word(3)} {word(4)}")])
    labels = sp.csr_array((train.labels.data, train.labels.indices, train.labels.indptr), shape=(len(train), 61))
    model = fit("decaf", dataclasses.replace(train, labels=labels, label_set=wider), **QUICK)
    assert N_LABELS in model.rank(Documents.of([f"{word(3)} {word(4)}"]), k=10).labels[0]


def test_predicting_needs_no_torch(planted: Splits, tmp_path: Path):
    fit("decaf", Corpus.of([word(1), word(2)] * 20, [["one"], ["two"]] * 20), run=tmp_path / "run", **QUICK)
    code = (
        f"import sys, longtail; model = longtail.open({str(tmp_path / 'run' / 'model')!r});"
        f"print(model.predict([{word(2)!r}], k=1)[0][0].name, 'torch' in sys.modules)"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert answer.split() == ["two", "False"]


def test_an_empty_cluster_puts_no_label_into_the_pool():
    starts, opened = np.array([0, 2, 2, 3, 3]), np.array([[0, 1], [1, 3]])
    pool = first_pool(starts, opened, np.random.default_rng(0))
    assert set(pool[0]) == {0, 1, PAD} and set(pool[1]) == {PAD}


# -- on a transformer ------------------------------------------------------------------------------------------------

ON_A_TRANSFORMER = {
    "transformer.max_tokens": 16, "transformer.word_lr": 2e-3, "optim.batch_size": 16, "optim.average_from": "none",
    "optim.epochs": (1, 1, 2), "optim.lr": 2e-3,
}  # fmt: skip


def test_what_a_transformer_says_of_label_texts_stays_until_the_next_epoch_begins(tiny_encoder: Path):
    """Two clusters: the first holds labels 0 and 1, whose texts it reads apart and averages, the second label 2."""
    start, documents = pretrained(str(tiny_encoder), 16), Texts.of([f"{word(1)} {word(500)}", word(2)])
    names = Texts.of([word(label) for label in range(3)])
    tokens, label_tokens = start.pieces.encode(documents), start.pieces.encode(names)
    source = TokenSource(start, tokens, tokens, label_tokens, TransformerReading(), TfidfOptions(), None)
    truth = sp.csr_array(np.eye(2, dtype=np.float32))
    rows = TextRows(np.arange(3), np.array([0, 2, 3]))
    meetings = Meetings(source.with_labels(rows), truth, rows, 0)
    network = started(Data(source, truth), meetings, start, "text", 0.2, Config())
    before = start.encode(label_tokens)
    expected = row_directions(rows, before)
    network.start_epoch(0)
    with torch.no_grad():
        for parameter in network.encoder.parameters():
            parameter *= 1.2
    _, of_labels = network.encoder.with_labels(meetings.batch(np.arange(2), np.random.default_rng(0)).texts)
    np.testing.assert_allclose(of_labels, expected, atol=0.05)  # read roughly where that is faster
    assert not of_labels.requires_grad and "encoder.of_texts" in network.state_dict()
    network.start_epoch(1)
    assert np.abs(network.encoder.of_labels(torch.arange(2)).numpy() - expected).max() > 0.15


def test_a_transformer_killed_in_the_middle_of_an_epoch_ends_with_the_same_ranking(
    planted: Splits, tiny_encoder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """The vectors of label texts are those of the epoch's beginning, and a checkpoint carries them."""
    monkeypatch.setattr(Run, "checkpoint_every", 0)
    monkeypatch.setattr("os.fsync", lambda handle: None)
    some = planted.train.subset(np.arange(120), "train").fingerprinted()

    def answers(run: Path) -> Ranking:
        model = fit("decaf", some, run=run, encoder=str(tiny_encoder), **ON_A_TRANSFORMER)
        return model.rank(planted.test.documents[:40], k=10)

    learn, steps = Network.loss, []

    def counted(self: Network, batch: object) -> object:
        steps.append(batch)
        if len(steps) == 30 + 30 + 45:  # in the ranker's second epoch
            raise KeyboardInterrupt
        return learn(self, batch)

    with monkeypatch.context() as broken, pytest.raises(KeyboardInterrupt):
        broken.setattr(Network, "loss", counted)
        answers(tmp_path / "killed")
    whole, resumed = answers(tmp_path / "whole"), answers(tmp_path / "killed")
    assert np.array_equal(whole.labels, resumed.labels) and np.array_equal(whole.scores, resumed.scores)
